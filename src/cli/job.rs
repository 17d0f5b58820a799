//! `deploy`, `teardown`, `stop`, `check`, `discover` and `plan`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use super::arguments::{
    ChangeDetectionArg, Global, JobArgs, JobExitCode, OutputFormat, PlanArgs, RepairArg,
};
use super::output::{Output, relative};
use super::screen::Screen;
use super::views::{self, Audience};
use crate::name::Status;
use crate::ops::{self, Failure, FailureKind, JobReport, JobRequest, SessionOptions};
use crate::plan::{ChangeDetection, Goal, Repair, Workflow};
use crate::ui::Query;
use crate::value::{Map, Value};

/// Runs a job; gives the exit code.
pub(super) fn run(workflow: Workflow, args: &JobArgs, global: &Global, output: &Output) -> u8 {
    let json = args.output == OutputFormat::Json;
    let approve = args.approve || workflow == Workflow::Check;
    let request =
        chosen(workflow, args).and_then(|workflow| request(workflow, args, global, output));
    let request = match request {
        Ok(request) => request,
        Err(failure) => return output.failure(&failure, json),
    };
    let mut screen = Screen::new(output, approve);
    let report = ops::deploy::deploy(&request, &mut screen);
    screen.done();
    match report {
        Ok(mut report) => {
            let query = match evaluate(args.query.as_deref(), &mut report) {
                Ok(query) => query,
                Err(failure) => return output.failure(&failure, json),
            };
            show(args, &report, query, output);
            let code = exit_code(args.jobexitcode, &report);
            // The process ends now: taking the job apart piece by piece would only cost time.
            std::mem::forget(report);
            code
        }
        Err(failure) => output.failure(&failure, json),
    }
}

/// The workflow that `--workflow` names, or else that of the command; a command that is itself
/// the name of a workflow takes no other.
fn chosen(workflow: Workflow, args: &JobArgs) -> Result<Workflow, Failure> {
    match args.workflow.as_deref().map(Workflow::parse) {
        None => Ok(workflow),
        Some(named) if named == workflow || workflow == Workflow::Deploy => Ok(named),
        Some(named) => {
            let message =
                format!("`--workflow {named}` contradicts the command, which is `{workflow}`");
            let help = format!("say `unfurl deploy --workflow {named}`");
            Err(Failure::new(FailureKind::Usage, message, Some(help)))
        }
    }
}

fn evaluate(query: Option<&str>, report: &mut JobReport) -> Result<Option<Query>, Failure> {
    let Some(expression) = query else {
        return Ok(None);
    };
    let result = report.query(expression)?;
    Ok(Some(Query {
        expression: expression.to_owned(),
        result,
    }))
}

fn show(args: &JobArgs, report: &JobReport, query: Option<Query>, output: &Output) {
    let timed = args.starttime.is_none();
    let Some(summary) = views::summary(report, query, timed) else {
        return;
    };
    match args.output {
        OutputFormat::Json => {
            let mut summary = summary.json();
            let problems = output.json_of(&report.problems, &report.sources);
            if !problems.is_empty() {
                summary["problems"] = problems.into();
            }
            output.json(&summary);
        }
        OutputFormat::Text if report.declined => output.answer("Nothing was done.\n"),
        OutputFormat::Text => {
            if !report.ran && report.engine.aborted.is_none() {
                let sources = relative(&report.sources);
                let plan = views::plan(&report.engine, &sources, Audience::Person);
                output.answer(&plan.text(output.width));
            }
            output.answer(&summary.text(output.width));
        }
        OutputFormat::None => {}
    }
}

fn exit_code(limit: JobExitCode, report: &JobReport) -> u8 {
    if let Some(signal) = report.engine.interrupted {
        return u8::try_from(128 + signal).unwrap_or(130);
    }
    let status = report.engine.status();
    let bad = match limit {
        JobExitCode::Error => status >= Status::Error,
        JobExitCode::Degraded => status >= Status::Degraded,
        JobExitCode::Never => false,
    };
    if bad {
        FailureKind::JobFailed.exit_code()
    } else if report.outputs_failed {
        FailureKind::Refused.exit_code()
    } else {
        0
    }
}

/// The job that is planned: a deploy unless another workflow is named.
pub(super) fn plan_request(
    args: &JobArgs,
    global: &Global,
    output: &Output,
) -> Result<JobRequest, Failure> {
    let workflow = chosen(Workflow::Deploy, args)?;
    request(workflow, args, global, output)
}

/// Shows a plan; gives the exit code.
pub(super) fn plan(args: &PlanArgs, global: &Global, output: &Output) -> u8 {
    let PlanArgs { job: args, why } = args;
    let json = args.output == OutputFormat::Json;
    let request = match plan_request(args, global, output) {
        Ok(request) => request,
        Err(failure) => return output.failure(&failure, json),
    };
    let mut screen = Screen::new(output, true);
    let planned = ops::plan::plan(&request, &mut screen);
    screen.done();
    let planned = match planned {
        Ok(planned) => planned,
        Err(failure) => return output.failure(&failure, json),
    };
    let view = |audience| views::plan(&planned.engine, &relative(&planned.sources), audience);
    match args.output {
        OutputFormat::Json if *why => output.json(&view(Audience::Machine).json_with_reasons()),
        OutputFormat::Json => output.json(&view(Audience::Machine).json()),
        OutputFormat::Text => output.answer(&view(Audience::Person).text(output.width)),
        OutputFormat::None => {}
    }
    0
}

/// Which ensemble a command is about, and in which surroundings.
pub(super) fn session_options(
    ensemble: &str,
    environment: Option<&str>,
    global: &Global,
    output: &Output,
) -> SessionOptions {
    SessionOptions {
        ensemble: ensemble.to_owned(),
        environment: environment.map(str::to_owned),
        home: home(global, output),
        allowed: global.allow.clone(),
        ..SessionOptions::default()
    }
}

fn request(
    workflow: Workflow,
    args: &JobArgs,
    global: &Global,
    output: &Output,
) -> Result<JobRequest, Failure> {
    refuse_prune(&workflow, args)?;
    let vars = variables(&args.var)?;
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    Ok(JobRequest {
        session: SessionOptions {
            vars,
            logfile: global.logfile.clone(),
            ..session_options(
                &args.ensemble,
                args.use_environment.as_deref(),
                global,
                output,
            )
        },
        recorded_options: recorded(args, global),
        // Others may read it, so it does not repeat what was given with `--var`.
        command: format!("unfurl {workflow} {}", args.ensemble)
            .trim_end()
            .to_owned(),
        goal: goal(workflow, args),
        start: args.starttime.clone(),
        parallel: args.parallel.map_or(4 * cores, NonZeroUsize::get),
        echo: !output.quiet,
    })
}

/// `--prune` compares all that exists with the whole model.
fn refuse_prune(workflow: &Workflow, args: &JobArgs) -> Result<(), Failure> {
    let message = match workflow {
        _ if !args.prune => return Ok(()),
        Workflow::Deploy if args.template.is_some() || !args.instance.is_empty() => {
            "`--prune` looks at the whole ensemble and goes with neither `--template` nor `--instance`"
        }
        Workflow::Deploy | Workflow::Undeploy => return Ok(()),
        _ => "`--prune` goes with `deploy` and `teardown` only",
    };
    Err(Failure::new(FailureKind::Usage, message, None))
}

fn goal(workflow: Workflow, args: &JobArgs) -> Goal {
    Goal {
        workflow,
        template: args.template.as_deref().map(Into::into),
        instances: args
            .instance
            .iter()
            .map(|name| name.as_str().into())
            .collect(),
        force: args.force,
        skip_new: args.skip_new,
        repair: match args.repair {
            RepairArg::Error => Repair::Error,
            RepairArg::Degraded => Repair::Degraded,
            RepairArg::None => Repair::None,
        },
        change_detection: match args.change_detection {
            ChangeDetectionArg::Skip => ChangeDetection::Skip,
            ChangeDetectionArg::Always => ChangeDetection::Always,
            ChangeDetectionArg::Evaluate => ChangeDetection::Evaluate,
        },
        check: args.check,
        prune: args.prune,
        destroy_unmanaged: args.destroyunmanaged,
        dry_run: args.dryrun,
        operation: None,
        command: Vec::new(),
    }
}

/// The home project: that of the option or the environment, else `~/.unfurl_home` where it exists.
pub(super) fn home(global: &Global, output: &Output) -> Option<PathBuf> {
    match global.home.as_deref() {
        Some("") => None,
        Some(path) => Some(PathBuf::from(path)),
        None => {
            let home = PathBuf::from(output.variable("HOME")?).join(".unfurl_home");
            crate::system::fs::is_dir(&home).then_some(home)
        }
    }
}

fn variables(flat: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let mut variables: Vec<(String, String)> = Vec::new();
    for pair in flat.chunks_exact(2) {
        if variables.iter().any(|(name, _)| *name == pair[0]) {
            let message = format!("`--var {}` is given twice", pair[0]);
            return Err(Failure::new(FailureKind::Usage, message, None));
        }
        variables.push((pair[0].clone(), pair[1].clone()));
    }
    Ok(variables)
}

/// The options that the user set, as the record keeps them.
fn recorded(args: &JobArgs, global: &Global) -> Map {
    let mut options = Map::new();
    if global.quiet {
        options.insert("verbose".into(), Value::Int(-1));
    } else if global.verbose > 0 {
        options.insert("verbose".into(), Value::Int(i64::from(global.verbose)));
    }
    if !args.instance.is_empty() {
        let names = args.instance.iter().map(|name| Value::from(name.as_str()));
        options.insert("instances".into(), Value::list(names));
    }
    if let Some(template) = &args.template {
        options.insert("template".into(), Value::from(template.as_str()));
    }
    let flags = [
        ("force", args.force),
        ("check", args.check),
        ("prune", args.prune),
        ("destroyunmanaged", args.destroyunmanaged),
        ("dryrun", args.dryrun),
        ("skip_new", args.skip_new),
    ];
    for (name, set) in flags {
        if set {
            options.insert(name.into(), Value::Bool(true));
        }
    }
    match args.repair {
        RepairArg::Error => {}
        RepairArg::Degraded => drop(options.insert("repair".into(), Value::from("degraded"))),
        RepairArg::None => drop(options.insert("repair".into(), Value::from("none"))),
    }
    match args.change_detection {
        ChangeDetectionArg::Evaluate => {}
        ChangeDetectionArg::Skip => {
            options.insert("change_detection".into(), Value::from("skip"));
        }
        ChangeDetectionArg::Always => {
            options.insert("change_detection".into(), Value::from("always"));
        }
    }
    options
}
