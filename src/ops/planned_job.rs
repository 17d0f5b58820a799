//! Creates the engine of a job and plans it.
//!
//! [`plan_job`] is used by `deploy`, `plan` and `explain`; [`create_engine`] alone also by crash recovery.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use super::executor_chain::resolve_chain;
use super::failure::{Failure, FailureKind};
use super::input_digests;
use super::job_driver::DigestKeys;
use super::model_errors::refuse_if_stopped;
use super::outputs::check_outputs;
use super::request::JobRequest;
use super::resume;
use super::tool_states::ToolStates;
use super::unread_variables::unread_variables;
use crate::check::{UnusedIgnores, apply_ignores};
use crate::configurator;
use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::ensemble::{
    self, LogFile, RecentRecords, RecordedHistory, SavedTemplateIndex, SecretInputs,
    WorkingFolders, job_start,
};
use crate::fleet::hosts::EndpointLocator;
use crate::host::DEFAULT_TOTAL_CAPTURE_LIMIT;
use crate::job::{self, Engine, EngineParts, JobEvent, JobOptions};
use crate::name::{InstanceName, Status, TemplateName};
use crate::plan::{self, JobGoal};
use crate::secret::Keyring;
use crate::session::{
    GivenVariable, Session, installers_of, static_problems, topology_with_orphans,
};
use crate::topology::Topology;
use crate::tosca::ServiceTemplate;
use crate::value::Value;

/// A planned job with the data for its report.
#[derive(Debug)]
pub(super) struct PlannedJob {
    pub(super) engine: Engine,
    pub(super) report_context: ReportContext,
}

/// Data besides the engine that the record and the report of a job need.
#[derive(Debug)]
pub(super) struct ReportContext {
    /// The id of the last recorded job.
    pub(super) last_recorded_job: Option<String>,
    /// Warnings about inputs with new values, and about names in the user's selection that match nothing.
    pub(super) warnings: Diagnostics,
    /// The secret inputs that have other values than at the last job.
    pub(super) changed_secrets: HashSet<Arc<str>>,
    /// The keys for digests of secrets.
    pub(super) digest_keys: Arc<Keyring>,
    /// The node templates saved in earlier records.
    pub(super) saved_templates: Arc<SavedTemplateIndex>,
    pub(super) started_at: std::time::Instant,
    /// The operations planned before the start, by the keys of their targets.
    pub(super) planned: BTreeMap<String, Vec<String>>,
    pub(super) has_run: bool,
    /// The latest records, for the usual times of tasks.
    pub(super) recent_records: RecentRecords,
}

/// An engine without a plan, with the data for a record.
#[derive(Debug)]
pub(super) struct EngineSetup {
    pub(super) engine: Engine,
    last_recorded_job: Option<String>,
    digest_keys: Arc<Keyring>,
    saved_templates: Arc<SavedTemplateIndex>,
    /// The digests of the secret inputs of the last job.
    secret_inputs: Option<SecretInputs>,
    recent_records: RecentRecords,
}

/// Returns the start of the job. A clock that is behind the last recorded job adds a warning.
fn start_time(
    request: &JobRequest,
    session: &mut Session,
    history: &RecordedHistory,
    previous: Option<&str>,
) -> Result<jiff::Timestamp, Failure> {
    let base = session.manifest.base_dir();
    let start = job_start(request.start.as_deref(), history, previous, base)
        .map_err(|error| Failure::new(FailureKind::Load, error, None))?;
    if let Some(lag) = start.clock_lag {
        let lag = jiff::SignedDuration::from_secs(lag.as_secs());
        let message = format!(
            "the clock of this machine is {lag:#} behind the last recorded job; the ids of this job follow that job's"
        );
        let warning = Diagnostic::warning(message).help("check the clock: `date -u`");
        session.warnings.push(warning);
    }
    Ok(start.time)
}

/// Returns the goal of a job: that of the request, or else that of the interrupted job that it resumes.
fn goal_of(
    request: &JobRequest,
    session: &Session,
    history: &RecordedHistory,
) -> Result<JobGoal, Failure> {
    if request.resume {
        return resume::resumed_goal(request, session, history);
    }
    Ok(request.goal.clone())
}

/// Adds the nodes that install what the chosen instances need, unless it is installed.
fn add_installers(goal: &mut JobGoal, service: &ServiceTemplate, topology: &Topology) {
    if goal.workflow != plan::WorkflowKind::Deploy || goal.instances.is_empty() {
        return;
    }
    let needed = installers_of(service, |name| goal.admits(&name.as_str().into()));
    let is_missing = |name: &&TemplateName| {
        let mut installed = topology.instances_of(name).iter();
        !installed.any(|of| topology.effective(*of) == Status::Ok)
    };
    let missing = needed.into_iter().filter(is_missing);
    let names: Vec<InstanceName> = missing.map(|name| name.as_str().into()).collect();
    goal.instances.extend(names);
}

/// Creates the engine of a job with the existing instances and the recorded history.
pub(super) fn create_engine(
    request: &JobRequest,
    session: &mut Session,
    folders: &WorkingFolders,
) -> Result<EngineSetup, Failure> {
    let history = session.history()?;
    let kept_templates = history.saved_templates();
    let secret_inputs = history.secret_inputs().cloned();
    let recent_records = history.recent_records();
    let digest_keys = Arc::new(digest_keys(session, &history));
    let mut goal = goal_of(request, session, &history)?;
    let topology = existing_topology(session, &goal, &history)?;
    add_installers(&mut goal, &session.service, &topology);
    let previous = last_job(session, &history);
    let start = start_time(request, session, &history, previous.as_deref())?;
    let system_context = Arc::new(session.system_context(folders.planned_root().to_path_buf()));
    let variables = session.variables(&topology, &system_context)?;
    let environment = variables.values;
    let all = environment.to_map();
    let chain = resolve_chain(request, session, &topology, &system_context, &all)?;
    let mut system_context = Arc::into_inner(system_context)
        .unwrap_or_else(|| session.system_context(folders.planned_root().to_path_buf()));
    system_context.set_variables(&environment);
    let topology = sole_owner(topology)?;
    let options = JobOptions {
        goal,
        ensemble: session.identity(),
        start,
        parallel: request.run.parallel,
        base_dir: session.manifest.base_dir().to_path_buf(),
        echo: request.run.echo,
        capture: request.run.capture.unwrap_or(DEFAULT_TOTAL_CAPTURE_LIMIT),
        environment,
        chain,
        adopted: request.adopted.clone(),
        vars: job_variables(session),
    };
    let parts = EngineParts {
        topology,
        local_context: Arc::new(system_context),
        choose: configurator::choose,
        history: Box::new(history),
        keys: Box::new(DigestKeys(Arc::clone(&digest_keys))),
        host_locator: Box::new(host_locator(session)),
        states: Box::new(ToolStates::of(session)),
        environment_writes: variables.writes,
    };
    Ok(EngineSetup {
        engine: Engine::new(parts, options),
        last_recorded_job: previous,
        digest_keys,
        saved_templates: kept_templates,
        secret_inputs,
        recent_records,
    })
}

/// Returns the existing instances, those without templates too, with the statuses that a look found.
fn existing_topology(
    session: &mut Session,
    goal: &JobGoal,
    history: &RecordedHistory,
) -> Result<Arc<Topology>, Failure> {
    let mut topology = topology_with_orphans(session, goal.removal.prune, history)?;
    job::mark_unfinished_instances(&mut topology, history);
    job::apply_found_statuses(&mut topology, &goal.found);
    Ok(Arc::new(topology))
}

fn sole_owner(topology: Arc<Topology>) -> Result<Topology, Failure> {
    Arc::into_inner(topology)
        .ok_or_else(|| Failure::new(FailureKind::Internal, "the topology is still in use", None))
}

/// Returns the variables that expressions of tasks see: the `--var` options. Those of sensitive inputs are
/// sensitive.
fn job_variables(session: &Session) -> Vec<(String, Value)> {
    let inputs = &session.service.topology.inputs;
    let is_secret = |name: &str| {
        let input = name
            .strip_prefix("input_")
            .and_then(|name| inputs.get(name));
        input.is_some_and(|input| input.is_sensitive())
    };
    let variable = |given: &GivenVariable| {
        let text = Value::str(given.text.as_str());
        (
            given.name.clone(),
            text.sensitive_if(is_secret(&given.name)),
        )
    };
    session.options.vars.iter().map(variable).collect()
}

/// Returns the keys for digests of secrets. New records continue the salt of the last one.
fn digest_keys(session: &Session, history: &RecordedHistory) -> Keyring {
    let base = session.manifest.base_dir();
    let passwords = session.location.keys.passwords();
    let keys = Keyring::new(session.location.env.all(), base).with_passwords(passwords);
    keys.continue_salt(history.digest_salt().unwrap_or_default());
    keys
}

/// Returns the locator of the hosts on which the job runs.
fn host_locator(session: &Session) -> EndpointLocator {
    let base_dir = session.manifest.base_dir().to_path_buf();
    EndpointLocator::new(session.location.env.clone(), base_dir)
}

/// Returns the last job known to the records or the manifest.
fn last_job(session: &Session, history: &RecordedHistory) -> Option<String> {
    let recorded = history.last_job().map(|id| id.to_string());
    recorded.max(session.last_job())
}

/// Returns the problem of templates that require each other. A plan shows them; a deploy would wait forever.
pub(super) fn circular_requirements(engine: &Engine) -> Option<Diagnostic> {
    let is_deploy = engine.options.goal.workflow == plan::WorkflowKind::Deploy;
    let circle = plan::refuse_cycles(&engine.topology).err();
    circle.filter(|_| is_deploy).map(Diagnostic::from)
}

fn planning_failure(error: plan::Error, topology: &Topology, session: &Session) -> Failure {
    let kind = match error {
        plan::Error::UnknownExcluded(_) => FailureKind::Usage,
        _ => FailureKind::Load,
    };
    let problem = plan::diagnose_error(error, topology);
    Failure::with_sources(kind, problem, session.sources.clone())
}

fn unusable_plan(error: &job::Error) -> Failure {
    let message = format!("could not create job: {error}");
    Failure::new(FailureKind::Load, message, None)
}

/// Creates the engine and plans the job.
pub(super) fn plan_job(
    request: &JobRequest,
    session: &mut Session,
    folders: &WorkingFolders,
) -> Result<PlannedJob, Failure> {
    let began = std::time::Instant::now();
    request.check_interrupt()?;
    refuse_if_stopped(&request.goal.workflow, session)?;
    let EngineSetup {
        mut engine,
        last_recorded_job: history_last,
        digest_keys,
        saved_templates: kept_templates,
        secret_inputs,
        recent_records,
    } = create_engine(request, session, folders)?;
    check_outputs(&request.reveal, &engine.topology)?;
    request.check_interrupt()?;
    let plan = engine.plan();
    let topology = &engine.topology;
    let plan = plan.map_err(|error| planning_failure(error, topology, session))?;
    let mut changed_secrets = HashSet::new();
    let accepts_unknown = request.accepts_unknown_operation;
    let mut warnings = plan::unknown_names(&engine.options.goal, &plan, topology, accepts_unknown);
    if warnings.stop_loading() {
        let sources = session.sources.clone();
        return Err(Failure::with_sources(FailureKind::Load, warnings, sources));
    }
    warnings.append(unread_variables(session));
    if session.has_recorded_inputs() {
        let now = engine.inputs();
        changed_secrets =
            input_digests::changed_secrets(secret_inputs.as_ref(), &now, &digest_keys);
        warnings.append(session.changed_inputs(&now, &changed_secrets));
    }
    session.warnings.append(warnings.clone());
    if engine.options.goal.workflow.as_str() == "deploy" {
        let found = static_problems(session);
        session.warnings.append(found);
        let found = std::mem::take(&mut session.warnings);
        session.warnings = apply_ignores(found, &session.sources, UnusedIgnores::Accept);
    }
    engine
        .adopt_plan(plan)
        .map_err(|error| unusable_plan(&error))?;
    Ok(PlannedJob {
        engine,
        report_context: ReportContext {
            last_recorded_job: history_last,
            warnings,
            changed_secrets,
            digest_keys,
            saved_templates: kept_templates,
            started_at: began,
            planned: BTreeMap::new(),
            has_run: false,
            recent_records,
        },
    })
}

/// Returns the problems of a model without those that events of rendering report at the same places.
pub(super) fn unreported(problems: &Diagnostics, events: &[JobEvent]) -> Diagnostics {
    let mut reported: Vec<Span> = Vec::new();
    for event in events {
        if let JobEvent::Problem(problem) = event {
            reported.extend(problem.labels.iter().map(|label| label.span));
        }
    }
    let is_within = |inner: Span, outer: &Span| {
        inner.source == outer.source && inner.start >= outer.start && inner.end <= outer.end
    };
    let is_reported = |problem: &Diagnostic| {
        let span = problem.span().filter(|_| problem.contained);
        span.is_some_and(|span| reported.iter().any(|outer| is_within(span, outer)))
    };
    let left = problems.iter().filter(|problem| !is_reported(problem));
    left.cloned().collect()
}

impl PlannedJob {
    /// Moves the log of a plan to the folder `planned`.
    pub(super) fn move_log(&self, log: LogFile, base: &Path) {
        if let Ok(id) = self.engine.id() {
            let name = ensemble::job_file_name(self.engine.options.start, id.as_str());
            log.move_to(base, "planned", &name);
        }
    }
}
