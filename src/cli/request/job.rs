//! Builds the request of a job from the options of the command line.
//!
//! [`request`] checks which options go together and fills a [`JobRequest`] for `ops`.

use std::num::NonZeroUsize;

use crate::cli::args::job::{CommitRecordArgs, DirtyArg, JobArgs, JobExitCode};
use crate::cli::output::Context;
use crate::cli::request::given_values::GivenValues;
use crate::cli::request::session::session_options;
use crate::ensemble::CommitRequest;
use crate::host::ChainSpec;
use crate::job::ProposalExtent;
use crate::name::{EnumWords as _, TemplateName};
use crate::ops::{Failure, JobRequest, QueryRequest, RunSettings, SaveSettings, SessionOptions};
use crate::plan::{AdHoc, ChangeDetection, JobGoal, Removal, Repair, WorkflowKind};
use crate::system::signals::Interrupts;
use crate::value::{Map, Value};

/// The workflow, or the ad-hoc operation or command, that a job runs.
#[derive(Debug)]
pub(in crate::cli) struct JobSpec {
    pub(in crate::cli) workflow: WorkflowKind,
    /// The operation or command of `unfurl run`; empty for other workflows.
    pub(in crate::cli) ad_hoc: AdHoc,
    /// The job is saved in the record of the ensemble if this is set.
    pub(in crate::cli) save: bool,
}

impl JobSpec {
    /// Returns the job of a workflow.
    ///
    /// Fails for the workflow `run`, which needs a command or an operation.
    pub(in crate::cli) fn from_workflow(workflow: WorkflowKind) -> Result<Self, Failure> {
        if workflow == WorkflowKind::Run {
            let message = "the workflow `run` needs a command or an operation";
            let help = "use `unfurl run -- COMMAND` or `unfurl run --operation OPERATION`";
            return Err(Failure::usage_with(message, help));
        }
        Ok(Self {
            workflow,
            ad_hoc: AdHoc::default(),
            save: true,
        })
    }
}

impl CommitRecordArgs {
    /// Returns what to commit after the job. `--push` implies `--commit`.
    pub(in crate::cli) fn request(&self) -> Option<CommitRequest> {
        (self.commit || self.push).then(|| CommitRequest {
            message: self
                .message
                .clone()
                .filter(|message| !message.trim().is_empty()),
            push: self.push,
        })
    }
}

/// Returns the job of the workflow named by `--workflow`, or else of the command's workflow.
pub(in crate::cli) fn job_spec(workflow: WorkflowKind, args: &JobArgs) -> Result<JobSpec, Failure> {
    JobSpec::from_workflow(
        args.workflow
            .workflow
            .as_deref()
            .map_or(workflow, WorkflowKind::parse),
    )
}

/// Builds the request of a job that is only planned: `deploy`, unless `--workflow` names another
/// one.
pub(in crate::cli) fn plan_request(args: &JobArgs, cx: &Context) -> Result<JobRequest, Failure> {
    request(job_spec(WorkflowKind::Deploy, args)?, args, cx)
}

/// Builds the request of a job.
pub(in crate::cli) fn request(
    spec: JobSpec,
    args: &JobArgs,
    cx: &Context,
) -> Result<JobRequest, Failure> {
    check_prune(&spec.workflow, args)?;
    check_resume_options(args)?;
    let given = GivenValues::read(&args.any.inputs.var, &args.any.inputs.var_file, cx)?;
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let environment = args.any.inputs.use_environment.as_deref();
    let (names, options) = (&args.control.executors, &args.control.executor_opts);
    let query = args.any.query.clone();
    Ok(JobRequest {
        accepts_unknown_operation: args.control.jobexitcode == JobExitCode::Never,
        session: SessionOptions {
            vars: given.variables,
            var_files: given.files,
            logfile: cx.global.logfile.clone(),
            locked: args.any.inputs.locked,
            ..session_options(&args.ensemble.ensemble, environment, cx)
        },
        recorded_options: recorded_options(args, cx),
        // Other users may read this text in the lock, so it omits the values of `--var`.
        command: format!("unfurl {} {}", spec.workflow, args.ensemble.ensemble)
            .trim_end()
            .to_owned(),
        save: save_settings(spec.save, args, cx),
        run: RunSettings {
            executors: ChainSpec::parse(names.as_deref(), options.as_deref())?,
            grace: args.control.grace,
            parallel: args.any.parallel.map_or(4 * cores, NonZeroUsize::get),
            echo: !cx.output.quiet,
            capture: args.control.capture.map(|size| size as u64),
        },
        resume: args.control.resume,
        save_inputs: args.control.keep.save_inputs,
        reveal: args.any.reveal.clone(),
        adopted: Vec::new(),
        query: query.map(|expression| QueryRequest {
            expression,
            depth: args.any.trace,
        }),
        goal: goal(spec, args),
        extent: if args.any.detail {
            ProposalExtent::Full
        } else {
            ProposalExtent::Brief
        },
        lock_timeout: args.control.lock_timeout,
        interrupts: Interrupts::default(),
        start: args.any.starttime.clone(),
    })
}

/// Returns what is recorded and committed. `recorded` tells whether jobs of this kind have a record.
fn save_settings(recorded: bool, args: &JobArgs, cx: &Context) -> SaveSettings {
    let commit = args.control.keep.request();
    let upstream = &cx.global.upstream;
    SaveSettings {
        record: recorded && !skips_saving(cx),
        refuse_dirty: match args.control.dirty {
            DirtyArg::Abort => true,
            DirtyArg::Ok => false,
            DirtyArg::Auto => commit.is_some(),
        },
        check_upstream: upstream.check_upstream || !upstream.skip_upstream_check,
        commit,
    }
}

/// Returns true if the user's environment asks for jobs without a record.
///
/// With `never`, Unfurl saves dry runs, too. Here they are always saved, beside the ensemble.
fn skips_saving(cx: &Context) -> bool {
    let asked = cx.output.variable("UNFURL_SKIP_SAVE");
    asked.is_some_and(|word| !word.is_empty() && word != "never")
}

/// Refuses `--prune` where it cannot work: it compares all instances with the whole model.
fn check_prune(workflow: &WorkflowKind, args: &JobArgs) -> Result<(), Failure> {
    let message = match workflow {
        _ if !args.removal.prune => return Ok(()),
        WorkflowKind::Deploy if is_filtered(args) => {
            "`--prune` applies to the whole ensemble and cannot be used with `--template` or `--instance`"
        }
        WorkflowKind::Deploy | WorkflowKind::Undeploy => return Ok(()),
        _ => "`--prune` can only be used with `deploy` and `teardown`",
    };
    Err(Failure::usage(message))
}

/// Refuses options that change the plan together with `--resume`, which continues a stored plan.
fn check_resume_options(args: &JobArgs) -> Result<(), Failure> {
    let JobArgs {
        any,
        narrow,
        compare,
        reach,
        removal,
        ..
    } = args;
    let narrowed = is_filtered(args) || narrow.force || !any.inputs.exclude.is_empty();
    let compared = compare.skip_new || compare.change_detection != ChangeDetection::default();
    let reached = reach.check || reach.upgrade || reach.repair != Repair::default();
    let removed = removal.prune || removal.destroyunmanaged;
    if !args.control.resume || !(narrowed || compared || reached || removed) {
        return Ok(());
    }
    let message = "`--resume` continues the plan of the interrupted job, so options that change the plan \
                   cannot be used with it";
    let help = "leave out options such as `--instance`, `--exclude` and `--force`; without `--resume`, \
                a new plan is made from the recorded state";
    Err(Failure::usage_with(message, help))
}

/// Returns true if the options select only some instances or templates.
fn is_filtered(args: &JobArgs) -> bool {
    args.narrow.template.is_some() || !args.any.instance.is_empty()
}

fn goal(spec: JobSpec, args: &JobArgs) -> JobGoal {
    let mut instances = args.any.instance.clone();
    if instances.is_empty() {
        instances.extend(spec.ad_hoc.host.clone());
    }
    JobGoal {
        workflow: spec.workflow,
        template: args.narrow.template.clone(),
        instances,
        excluded: args.any.inputs.exclude.iter().cloned().collect(),
        force: args.narrow.force,
        skip_new: args.compare.skip_new,
        repair: args.reach.repair,
        change_detection: args.compare.change_detection,
        upgrade: args.reach.upgrade,
        check: args.reach.check,
        removal: Removal {
            prune: args.removal.prune,
            unmanaged: args.removal.destroyunmanaged,
        },
        dry_run: args.any.dryrun,
        ad_hoc: spec.ad_hoc,
        redo_in_doubt: args.control.redo_in_doubt,
        ..JobGoal::default()
    }
}

/// Returns the options that the user set, in the form in which the job record stores them.
fn recorded_options(args: &JobArgs, Context { global, .. }: &Context) -> Map {
    let mut options = Map::new();
    if global.quiet {
        options.insert("verbose".into(), Value::Int(-1));
    } else if global.verbose > 0 {
        options.insert("verbose".into(), Value::Int(i64::from(global.verbose)));
    }
    for (name, names) in [
        ("instances", &args.any.instance),
        ("exclude", &args.any.inputs.exclude),
    ] {
        if !names.is_empty() {
            let names = names.iter().map(|name| Value::from(name.shared()));
            options.insert(name.into(), Value::list(names));
        }
    }
    let words = [
        (
            "template",
            args.narrow.template.as_ref().map(TemplateName::as_str),
        ),
        (
            "use_environment",
            args.any.inputs.use_environment.as_deref(),
        ),
        ("starttime", args.any.starttime.as_deref()),
    ];
    for (name, word) in words {
        if let Some(word) = word {
            options.insert(name.into(), Value::from(word));
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
    for (name, choice) in chosen_words(args) {
        if let Some(choice) = choice {
            options.insert(name.into(), Value::from(choice));
        }
    }
    options
}

/// Returns the options with a choice of words that differ from their defaults.
fn chosen_words(args: &JobArgs) -> [(&'static str, Option<&'static str>); 3] {
    let (repair, compared) = (args.reach.repair, args.compare.change_detection);
    let repair = (repair != Repair::default()).then(|| repair.as_str());
    let change_detection = (compared != ChangeDetection::default()).then(|| compared.as_str());
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
