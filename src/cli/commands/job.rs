//! `deploy`, `teardown`, `stop`, `check`, `discover` and `plan`, and what `run` shares with them.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use crate::cli::args::job::{
    ChangeDetectionArg, DirtyArg, JobArgs, JobExitCode, OutputFormat, PlanArgs, RepairArg,
};
use crate::cli::arguments::Global;
use crate::cli::commands::git;
use crate::cli::output::{Output, relative};
use crate::cli::screen::job::Screen;
use crate::cli::views::{self, Audience};
use crate::host::ChainSpec;
use crate::name::{InstanceName, OperationRef, Status};
use crate::ops::plan::Planned;
use crate::ops::{
    self, Answer, Failure, FailureKind, JobReport, JobRequest, QueryRequest, RunSettings,
    SaveSettings, SessionOptions,
};
use crate::plan::{ChangeDetection, Goal, Repair, Workflow};
use crate::runner::watch_signals;
use crate::system::signals::Interrupts;
use crate::ui::Query;
use crate::value::{Map, Value};

/// What a job is to do.
#[derive(Debug)]
pub(in crate::cli) struct Deed {
    /// The workflow.
    pub(in crate::cli) workflow: Workflow,
    /// The operation of an ad-hoc run.
    pub(in crate::cli) operation: Option<OperationRef>,
    /// The command of an ad-hoc run.
    pub(in crate::cli) command: Vec<String>,
    /// The instance on whose machine that runs.
    pub(in crate::cli) host: Option<InstanceName>,
    /// Whether it goes into the record.
    pub(in crate::cli) save: bool,
}

impl Deed {
    /// A workflow; `run` is none without something to run.
    pub(in crate::cli) fn of(workflow: Workflow) -> Result<Self, Failure> {
        if workflow == Workflow::Run {
            let message = "the workflow `run` needs a command or an operation";
            let help = "say `unfurl run -- COMMAND` or `unfurl run --operation OPERATION`";
            return Err(Failure::new(
                FailureKind::Usage,
                message,
                Some(help.to_owned()),
            ));
        }
        Ok(Self {
            workflow,
            operation: None,
            command: Vec::new(),
            host: None,
            save: true,
        })
    }
}

/// Runs the workflow of a command, or the one that `--workflow` names; gives the exit code.
pub(in crate::cli) fn run(
    workflow: Workflow,
    args: &JobArgs,
    global: &Global,
    output: &Output,
) -> u8 {
    match chosen(workflow, args) {
        Ok(deed) => perform(deed, args, global, output),
        Err(failure) => output.failure(&failure, args.any.output == OutputFormat::Json),
    }
}

/// Runs a job; gives the exit code.
pub(in crate::cli) fn perform(deed: Deed, args: &JobArgs, global: &Global, output: &Output) -> u8 {
    let json = args.any.output == OutputFormat::Json;
    let approve = args.control.approve || deed.workflow == Workflow::Check;
    let mut request = match request(deed, args, global, output) {
        Ok(request) => request,
        Err(failure) => return output.failure(&failure, json),
    };
    request.interrupts = watch_signals();
    let mut screen = Screen::new(output, approve, request.interrupts.clone());
    let report = ops::deploy::deploy(&request, &mut screen);
    screen.done();
    match report {
        Ok(report) => {
            let (query, failure) = answered(report.query.as_ref(), output);
            show(args, &report, query, failure.as_ref(), output);
            git::told(&report.commits, output);
            let code = exit_code(args.control.jobexitcode, &report);
            let code = git::exit_code(&report.commits, code);
            let code = failure
                .filter(|_| code == 0)
                .map_or(code, |it| it.kind.exit_code());
            // The process ends now: taking the job apart piece by piece would only cost time.
            std::mem::forget(report);
            code
        }
        Err(failure) => output.failure(&or_interrupted(failure, &request), json),
    }
}

/// What failed since somebody asked for an end is told as that.
fn or_interrupted(failure: Failure, request: &JobRequest) -> Failure {
    match request.interrupts.before_start() {
        Some(signal) => Failure::interrupted(signal),
        None => failure,
    }
}

/// The workflow that `--workflow` names, or else that of the command.
fn chosen(workflow: Workflow, args: &JobArgs) -> Result<Deed, Failure> {
    Deed::of(args.workflow.as_deref().map_or(workflow, Workflow::parse))
}

/// What `--query` gave, or why it could not be evaluated; what it read is told.
fn answered(
    answer: Option<&Result<Answer, Failure>>,
    output: &Output,
) -> (Option<Query>, Option<Failure>) {
    match answer {
        None => (None, None),
        Some(Err(failure)) => (None, Some(failure.clone())),
        Some(Ok(answer)) => (Some(traced(answer, output)), None),
    }
}

fn traced(answer: &Answer, output: &Output) -> Query {
    for (key, value) in &answer.trace {
        output.complain(&format!("trace: {key} is {value}\n"));
    }
    Query {
        expression: answer.expression.clone(),
        result: answer.value.clone(),
    }
}

/// Shows what came of a job, and why its query could not be evaluated if so.
fn show(
    args: &JobArgs,
    report: &JobReport,
    query: Option<Query>,
    failure: Option<&Failure>,
    output: &Output,
) {
    if let Some(failure) = failure {
        output.diagnostics(&failure.problems, &failure.sources);
    }
    let timed = args.any.starttime.is_none();
    let summary = views::summary(report, query, timed);
    match args.any.output {
        OutputFormat::Json => {
            let mut summary = summary.json();
            let problems = output.json_of(&report.problems, &report.sources);
            if args.control.keep.request().is_some() {
                summary["commits"] = git::json(&report.commits);
            }
            if !problems.is_empty() {
                summary["problems"] = problems.into();
            }
            let failures = [failure, report.commits.failure.as_ref()];
            let errors = failures.into_iter().flatten();
            let errors = errors.flat_map(|it| output.json_of(&it.problems, &it.sources));
            let errors: Vec<_> = errors.collect();
            if !errors.is_empty() {
                summary["errors"] = errors.into();
            }
            output.json(&summary);
        }
        OutputFormat::Text if report.declined => output.answer("Nothing was done.\n"),
        OutputFormat::Text => {
            if report.job.aborted.is_none()
                && let Some(plan) = &report.plan
            {
                let sources = relative(&report.sources);
                let plan = views::plan(plan, &sources, Audience::Person);
                output.answer(&plan.text(output.width));
            }
            output.answer(&summary.text(output.width));
        }
        OutputFormat::None => {}
    }
}

fn exit_code(limit: JobExitCode, report: &JobReport) -> u8 {
    if let Some(signal) = report.job.interrupted {
        return u8::try_from(128 + signal).unwrap_or(130);
    }
    let status = report.job.status;
    let bad = match limit {
        JobExitCode::Error => status >= Status::Error,
        JobExitCode::Degraded => status >= Status::Degraded,
        JobExitCode::Never => false,
    };
    let kept = report.job.topology.orphans();
    let kept = kept.filter(|orphan| orphan.stays.is_some()).count();
    if bad || (kept > 0 && limit != JobExitCode::Never) {
        FailureKind::JobFailed.exit_code()
    } else if report.job.values.outputs_failed {
        FailureKind::Refused.exit_code()
    } else {
        0
    }
}

/// The job that is planned: a deploy unless another workflow is named.
pub(in crate::cli) fn plan_request(
    args: &JobArgs,
    global: &Global,
    output: &Output,
) -> Result<JobRequest, Failure> {
    request(chosen(Workflow::Deploy, args)?, args, global, output)
}

/// Shows a plan; gives the exit code.
pub(in crate::cli) fn plan(args: PlanArgs, global: &Global, output: &Output) -> u8 {
    let why = args.why;
    let args = &JobArgs::from(args);
    let json = args.any.output == OutputFormat::Json;
    let mut request = match plan_request(args, global, output) {
        Ok(request) => request,
        Err(failure) => return output.failure(&failure, json),
    };
    request.interrupts = watch_signals();
    let mut screen = Screen::new(output, true, request.interrupts.clone());
    let planned = ops::plan::plan(&request, &mut screen);
    screen.done();
    match planned {
        Ok(planned) => {
            let query = planned.answer.as_ref().map(|answer| traced(answer, output));
            show_plan(args.any.output, why, &planned, query, output);
        }
        Err(failure) => return output.failure(&or_interrupted(failure, &request), json),
    }
    0
}

fn show_plan(
    format: OutputFormat,
    why: bool,
    planned: &Planned,
    query: Option<Query>,
    output: &Output,
) {
    let view = |audience| views::plan(&planned.plan, &relative(&planned.sources), audience);
    match format {
        OutputFormat::Json => {
            let view = view(Audience::Machine);
            let plan = if why {
                view.json_with_reasons()
            } else {
                view.json()
            };
            let Some(query) = query else {
                output.json(&plan);
                return;
            };
            let mut answer = serde_json::json!({ "plan": plan });
            query.add_to(&mut answer);
            output.json(&answer);
        }
        OutputFormat::Text => {
            let mut text = view(Audience::Person).text(output.width);
            if let Some(query) = query {
                text.push_str(&query.text());
            }
            output.answer(&text);
        }
        OutputFormat::None => {}
    }
}

/// Which ensemble a command is about, and in which surroundings.
pub(in crate::cli) fn session_options(
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
    deed: Deed,
    args: &JobArgs,
    global: &Global,
    output: &Output,
) -> Result<JobRequest, Failure> {
    refuse_prune(&deed.workflow, args)?;
    refuse_other_goal(args)?;
    let vars = variables(&args.any.given.var)?;
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let environment = args.any.given.use_environment.as_deref();
    let (names, options) = (&args.control.executors, &args.control.executor_opts);
    let query = args.any.query.clone();
    Ok(JobRequest {
        session: SessionOptions {
            vars,
            logfile: global.logfile.clone(),
            ..session_options(&args.ensemble, environment, global, output)
        },
        recorded_options: recorded(args, global),
        // Others may read it, so it does not repeat what was given with `--var`.
        command: format!("unfurl {} {}", deed.workflow, args.ensemble)
            .trim_end()
            .to_owned(),
        save: SaveSettings {
            record: deed.save,
            refuse_dirty: match args.control.dirty {
                DirtyArg::Abort => true,
                DirtyArg::Ok => false,
                DirtyArg::Auto => args.control.keep.request().is_some(),
            },
            check_upstream: global.upstream.check_upstream || !global.upstream.skip_upstream_check,
            commit: args.control.keep.request(),
        },
        run: RunSettings {
            executors: ChainSpec::parse(names.as_deref(), options.as_deref())?,
            grace: args.control.grace,
            parallel: args.any.parallel.map_or(4 * cores, NonZeroUsize::get),
            echo: !output.quiet,
        },
        resume: args.control.resume,
        query: query.map(|expression| QueryRequest {
            expression,
            depth: args.any.trace,
        }),
        goal: goal(deed, args),
        lock_timeout: args.control.lock_timeout,
        interrupts: Interrupts::default(),
        start: args.any.starttime.clone(),
    })
}

/// `--prune` compares all that exists with the whole model.
fn refuse_prune(workflow: &Workflow, args: &JobArgs) -> Result<(), Failure> {
    let message = match workflow {
        _ if !args.removal.prune => return Ok(()),
        Workflow::Deploy if is_filtered(args) => {
            "`--prune` looks at the whole ensemble and goes with neither `--template` nor `--instance`"
        }
        Workflow::Deploy | Workflow::Undeploy => return Ok(()),
        _ => "`--prune` goes with `deploy` and `teardown` only",
    };
    Err(Failure::new(FailureKind::Usage, message, None))
}

/// `--resume` takes what it is about from the job that it goes on with.
fn refuse_other_goal(args: &JobArgs) -> Result<(), Failure> {
    let JobArgs {
        any,
        narrow,
        compare,
        reach,
        removal,
        ..
    } = args;
    let narrowed = is_filtered(args) || narrow.force || !any.given.exclude.is_empty();
    let compared = compare.skip_new || compare.change_detection != ChangeDetectionArg::default();
    let reached = reach.check || reach.upgrade || reach.repair != RepairArg::default();
    let removed = removal.prune || removal.destroyunmanaged;
    if !args.control.resume || !(narrowed || compared || reached || removed) {
        return Ok(());
    }
    let message = "`--resume` goes on with the plan of the interrupted job, and goes with no option \
                   that makes another plan";
    let help = "leave out options such as `--instance`, `--exclude` and `--force`; without `--resume` \
                a new plan is made from what is on record";
    Err(Failure::new(
        FailureKind::Usage,
        message,
        Some(help.to_owned()),
    ))
}

/// Whether only some instances or templates are meant.
fn is_filtered(args: &JobArgs) -> bool {
    args.narrow.template.is_some() || !args.any.instance.is_empty()
}

fn goal(deed: Deed, args: &JobArgs) -> Goal {
    let (instances, excluded) = (args.any.instance.iter(), args.any.given.exclude.iter());
    let mut instances: Vec<InstanceName> = instances.map(|name| name.as_str().into()).collect();
    if instances.is_empty() {
        instances.extend(deed.host.clone());
    }
    Goal {
        workflow: deed.workflow,
        template: args.narrow.template.as_deref().map(Into::into),
        instances,
        excluded: excluded.map(|name| name.as_str().into()).collect(),
        force: args.narrow.force,
        skip_new: args.compare.skip_new,
        repair: match args.reach.repair {
            RepairArg::Error => Repair::Error,
            RepairArg::Degraded => Repair::Degraded,
            RepairArg::None => Repair::None,
        },
        change_detection: match args.compare.change_detection {
            ChangeDetectionArg::Skip => ChangeDetection::Skip,
            ChangeDetectionArg::Always => ChangeDetection::Always,
            ChangeDetectionArg::Evaluate => ChangeDetection::Evaluate,
        },
        upgrade: args.reach.upgrade,
        check: args.reach.check,
        prune: args.removal.prune,
        destroy_unmanaged: args.removal.destroyunmanaged,
        dry_run: args.any.dryrun,
        operation: deed.operation,
        command: deed.command,
        operation_host: deed.host,
        redo_in_doubt: args.control.redo_in_doubt,
        ..Goal::default()
    }
}

/// The home project: that of the option or the environment, else `~/.unfurl_home` where it exists.
pub(in crate::cli) fn home(global: &Global, output: &Output) -> Option<PathBuf> {
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
    for (name, names) in [
        ("instances", &args.any.instance),
        ("exclude", &args.any.given.exclude),
    ] {
        if !names.is_empty() {
            let names = names.iter().map(|name| Value::from(name.as_str()));
            options.insert(name.into(), Value::list(names));
        }
    }
    let words = [
        ("template", &args.narrow.template),
        ("use_environment", &args.any.given.use_environment),
        ("starttime", &args.any.starttime),
    ];
    for (name, word) in words {
        if let Some(word) = word {
            options.insert(name.into(), Value::from(word.as_str()));
        }
    }
    let flags = [
        ("force", args.narrow.force),
        ("check", args.reach.check),
        ("prune", args.removal.prune),
        ("destroyunmanaged", args.removal.destroyunmanaged),
        ("upgrade", args.reach.upgrade),
        ("dryrun", args.any.dryrun),
        ("skip_new", args.compare.skip_new),
        ("commit", args.control.keep.request().is_some()),
    ];
    for (name, set) in flags {
        if set {
            options.insert(name.into(), Value::Bool(true));
        }
    }
    for (name, choice) in choices(args) {
        if let Some(choice) = choice {
            options.insert(name.into(), Value::from(choice));
        }
    }
    options
}

/// The options that are a choice of words, where the user chose another than what is usual.
fn choices(args: &JobArgs) -> [(&'static str, Option<&'static str>); 3] {
    let repair = match args.reach.repair {
        RepairArg::Error => None,
        RepairArg::Degraded => Some("degraded"),
        RepairArg::None => Some("none"),
    };
    let change_detection = match args.compare.change_detection {
        ChangeDetectionArg::Evaluate => None,
        ChangeDetectionArg::Skip => Some("skip"),
        ChangeDetectionArg::Always => Some("always"),
    };
    let dirty = match args.control.dirty {
        DirtyArg::Auto => None,
        DirtyArg::Ok => Some("ok"),
        DirtyArg::Abort => Some("abort"),
    };
    [
        ("repair", repair),
        ("change_detection", change_detection),
        ("dirty", dirty),
    ]
}
