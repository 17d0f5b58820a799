//! The command `drift`: compares model, record and reality, and changes nothing.

use std::num::NonZeroUsize;
use std::time::Duration;

use clap::{Args, Subcommand};

use crate::cli::args::format::duration;
use crate::cli::args::job::{
    CommonJobArgs, ControlArgs, EnsembleArg, JobArgs, PlanInputs, ScopeArgs,
};
use crate::cli::commands::drift_accept::{self, DriftAcceptArgs};
use crate::cli::commands::drift_hosts::{DriftHostArgs, drifted_hosts};
use crate::cli::commands::drift_log;
use crate::cli::commands::drift_output::{DriftDetail, DriftOutput, show};
use crate::cli::commands::drift_repair::{self, RepairArgs, RepairedEnsemble};
use crate::cli::commands::job::prefer_interrupt;
use crate::cli::output::Context;
use crate::cli::request::drift::check_request;
use crate::cli::screen::job::JobScreen;
use crate::drift::{DriftAnswer, verdict};
use crate::name::{InstanceName, TemplateName};
use crate::ops::drift::{DriftRequest, RepairScope, drift};
use crate::ops::{Failure, FailureKind, watch_signals};
use crate::system::signals::Interrupts;
use crate::text::shlex_quote;
use crate::ui::{NextCommands, drift_json};

/// Compare model, record and reality, and change nothing: exit with 3 if something drifted
///
/// Exit codes: 0 no drift; 3 something drifted from outside and no rule ignores it; 1 nothing drifted, but something
/// could not be determined; 64 an ensemble cannot be loaded.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(in crate::cli) struct DriftArgs {
    #[command(subcommand)]
    command: Option<DriftCommand>,
    #[command(flatten)]
    repair: RepairArgs,
    /// The ensembles: files, folders, aliases or names of the project; by default that of the current folder
    #[arg(value_name = "ENSEMBLE")]
    ensembles: Vec<String>,
    /// Select this instance only; may be given more than once
    #[arg(short, long, value_name = "NAME")]
    instance: Vec<InstanceName>,
    /// Select only this node template and its requirements
    #[arg(long, value_name = "NAME")]
    template: Option<TemplateName>,
    #[command(flatten)]
    inputs: PlanInputs,
    /// Also show findings that a rule ignores, with the rule
    #[arg(long)]
    all: bool,
    /// Show long differences and long lists in full
    #[arg(long)]
    detail: bool,
    /// Show the recorded answers and their changes, newest first, instead of looking
    #[arg(long, conflicts_with_all = ["repair", "all", "detail", "instance", "template", "exclude"])]
    log: bool,
    /// Number of rows that `--log` shows; 0 for all [default: 20]
    #[arg(short = 'n', long, value_name = "N", requires = "log")]
    limit: Option<usize>,
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    output: DriftOutput,
    #[command(flatten)]
    hosts: DriftHostArgs,
    /// Maximum number of checks at the same time
    #[arg(long, env = "UNFURL_PARALLEL", value_name = "N")]
    parallel: Option<NonZeroUsize>,
    /// Time to wait for the ensemble's lock if a job holds it: `10` or `10s`, `5m`, `1h`
    #[arg(long, env = "UNFURL_LOCK_TIMEOUT", value_name = "DURATION", value_parser = duration, default_value = "0")]
    lock_timeout: Duration,
    /// Time that running checks get after the first Ctrl-C or TERM; the second kills them
    #[arg(long, env = "UNFURL_GRACE", value_name = "DURATION", value_parser = duration, default_value = "30s")]
    grace: Duration,
}

/// The subcommands of `drift`.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum DriftCommand {
    /// Write an ignore rule for findings into the ensemble, so that they raise no alarm
    Accept(DriftAcceptArgs),
}

/// Looks for drift, shows the answers and returns the exit code.
pub(in crate::cli) fn run(args: &DriftArgs, cx: &Context) -> Result<u8, Failure> {
    if let Some(DriftCommand::Accept(accept)) = &args.command {
        return drift_accept::run(accept, cx);
    }
    if args.log {
        let environment = args.inputs.use_environment.as_deref();
        let ensembles = ensembles(args)?;
        return drift_log::show(&ensembles, environment, args.limit, args.output, cx);
    }
    let interrupts = watch_signals();
    let request = drift_request(args, &interrupts, cx)?;
    let mut screen = JobScreen::new(&cx.output, true, interrupts.clone());
    let answers = drift(&request, &mut screen);
    screen.clear_progress();
    let mut answers = answers.map_err(|failure| match request.jobs.first() {
        Some(first) => prefer_interrupt(failure, first),
        None => failure,
    })?;
    let environment = args.inputs.use_environment.as_deref();
    if let Some(of_hosts) = args.hosts.look(environment, &interrupts, cx)? {
        answers.push(of_hosts);
    }
    if args.repair.repair {
        return repair(args, answers, &request, &interrupts, cx);
    }
    let next = next_commands(args)?;
    show(&answers, args.output, detail(args, Some(&next)), cx);
    Ok(verdict(&answers).exit_code())
}

fn detail<'a>(args: &DriftArgs, next: Option<&'a NextCommands>) -> DriftDetail<'a> {
    DriftDetail {
        with_ignored: args.all,
        is_full: args.detail,
        next,
    }
}

/// Returns the words for the commands that people type after the answer.
fn next_commands(args: &DriftArgs) -> Result<NextCommands, Failure> {
    let option = |name: &str, value: &str| format!("{name} {}", shlex_quote(value));
    let instances = args.instance.iter().map(|it| option("-i", it.as_str()));
    let template = args
        .template
        .iter()
        .map(|it| option("--template", it.as_str()));
    let excluded = args.inputs.exclude.iter();
    let excluded = excluded.map(|it| option("--exclude", it.as_str()));
    let environment = args.inputs.use_environment.iter();
    Ok(NextCommands {
        ensembles: ensembles(args)?,
        selection: instances.chain(template).chain(excluded).collect(),
        environment: environment
            .map(|it| option("--use-environment", it))
            .collect(),
    })
}

/// Repairs the drift that was found, and shows the answers of the looks after it.
fn repair(
    args: &DriftArgs,
    mut answers: Vec<DriftAnswer>,
    request: &DriftRequest,
    interrupts: &Interrupts,
    cx: &Context,
) -> Result<u8, Failure> {
    if args.output == DriftOutput::Text {
        show(&answers, args.output, detail(args, None), cx);
    }
    let scope = match (args.all, args.repair.by_policy) {
        (true, _) => RepairScope::All,
        (false, true) => RepairScope::ByPolicy,
        (false, false) => RepairScope::Alarms,
    };
    let of_hosts = answers.split_off(request.jobs.len()).pop();
    let jobs: Vec<JobArgs> = ensembles(args)?
        .iter()
        .map(|ensemble| {
            let is_text = args.output == DriftOutput::Text;
            drift_repair::repair_job_args(job_args(ensemble, args), &args.repair, is_text)
        })
        .collect();
    let settings = (scope, args.repair.approve);
    let repaired = drift_repair::repair_all(answers, &request.jobs, &jobs, settings, cx)?;
    let hosts = match of_hosts {
        Some(answer) => Some(repair_hosts(answer, args, interrupts, cx)?),
        None => None,
    };
    let answers = repaired.iter().map(|it| it.answer.clone());
    let answers = answers.chain(hosts.as_ref().map(|(answer, _)| answer.clone()));
    let answers: Vec<_> = answers.collect();
    match args.output {
        DriftOutput::Json => {
            let mut json = drift_json(&answers);
            for (place, repaired) in repaired.iter().enumerate() {
                json["ensembles"][place]["repair"] = repaired.json();
            }
            cx.output.json(&json);
        }
        DriftOutput::Text => {
            let texts = repaired.iter().map(RepairedEnsemble::text);
            cx.output.print_result(&texts.collect::<String>());
            if let Some((answer, _)) = &hosts {
                let answers = std::slice::from_ref(answer);
                show(answers, args.output, detail(args, None), cx);
            }
        }
        format => show(&answers, format, detail(args, None), cx),
    }
    let of_ensembles = drift_repair::exit_code(&repaired);
    let Some((answer, failed)) = hosts.filter(|_| of_ensembles == 0) else {
        return Ok(of_ensembles);
    };
    Ok(match failed {
        Some(code) => code,
        None => answer.verdict().exit_code(),
    })
}

/// Runs the states on the hosts that have drifted, and looks at all hosts again.
///
/// Returns the last answer, and the exit code of the run if it was declined or failed.
fn repair_hosts(
    answer: DriftAnswer,
    args: &DriftArgs,
    interrupts: &Interrupts,
    cx: &Context,
) -> Result<(DriftAnswer, Option<u8>), Failure> {
    let drifted = drifted_hosts(&answer, args.all);
    if drifted.is_empty() || args.repair.by_policy {
        return Ok((answer, None));
    }
    let is_text = args.output == DriftOutput::Text;
    let approve = args.repair.approve;
    let code = args
        .hosts
        .repair(&drifted, (approve, is_text), interrupts, cx)?;
    if code == FailureKind::Refused.exit_code() {
        return Ok((answer, Some(code)));
    }
    let environment = args.inputs.use_environment.as_deref();
    let after = args.hosts.look(environment, interrupts, cx)?;
    Ok((
        after.unwrap_or(answer),
        Some(code).filter(|code| *code != 0),
    ))
}

/// Returns the ensembles that the user names; an empty name for the one of the current folder. Empty if the user names
/// hosts alone.
fn ensembles(args: &DriftArgs) -> Result<Vec<String>, Failure> {
    Ok(match &args.ensembles[..] {
        [] if args.hosts.names_hosts()? => Vec::new(),
        [] => vec![String::new()],
        named => named.to_vec(),
    })
}

fn drift_request(
    args: &DriftArgs,
    interrupts: &Interrupts,
    cx: &Context,
) -> Result<DriftRequest, Failure> {
    let ensembles = ensembles(args)?;
    let jobs = ensembles.iter().map(|ensemble| {
        let mut job = check_request(&job_args(ensemble, args), cx)?;
        job.interrupts = interrupts.clone();
        Ok(job)
    });
    Ok(DriftRequest {
        jobs: jobs.collect::<Result<_, Failure>>()?,
        record: true,
    })
}

/// Returns the options of the check job of an ensemble.
fn job_args(ensemble: &str, args: &DriftArgs) -> JobArgs {
    let inputs = PlanInputs {
        exclude: args.inputs.exclude.clone(),
        var: args.inputs.var.clone(),
        var_file: args.inputs.var_file.clone(),
        use_environment: args.inputs.use_environment.clone(),
        locked: args.inputs.locked,
    };
    JobArgs {
        ensemble: EnsembleArg {
            ensemble: ensemble.to_owned(),
        },
        any: CommonJobArgs {
            instance: args.instance.clone(),
            inputs,
            parallel: args.parallel,
            ..CommonJobArgs::default()
        },
        control: ControlArgs {
            lock_timeout: args.lock_timeout,
            grace: args.grace,
            ..ControlArgs::default()
        },
        narrow: ScopeArgs {
            template: args.template.clone(),
            force: false,
        },
        ..JobArgs::default()
    }
}
