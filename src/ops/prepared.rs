//! A job that was planned, on its way to its record.

use std::path::Path;
use std::sync::Arc;

use super::departed;
use super::failure::{Failure, FailureKind};
use super::hands::DigestKeys;
use super::log::JobLog;
use super::session::{JobRequest, Session};
use super::start_time::start_time;
use super::unknown;
use super::view::JobReport;
use super::watch::Watch;
use crate::configurator;
use crate::diagnostic::Diagnostics;
use crate::ensemble::{self, Folders, JobFacts, KeptIndex, Record};
use crate::git::Repository;
use crate::job::{self, Engine, JobOptions, Parts};
use crate::plan;
use crate::system::clock;
use crate::value::canonical_sha256;

/// A job that was planned.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) engine: Engine,
    history_last: Option<String>,
    /// What the user named and nothing has.
    without_effect: Diagnostics,
    kept_templates: Arc<KeptIndex>,
    began: std::time::Instant,
    pub(super) ran: bool,
}

/// Plans a job.
pub(super) fn prepare(
    request: &JobRequest,
    session: &mut Session,
    folders: &Folders,
) -> Result<Prepared, Failure> {
    let began = std::time::Instant::now();
    let history = session.history()?;
    let kept_templates = history.kept_templates();
    let mut topology = departed::topology(session, request.goal.prune, &history)?;
    job::mark_begun(&mut topology, &history);
    let previous = history
        .last_job()
        .map(|id| id.to_string())
        .max(session.last_job());
    let base = session.manifest.base_dir();
    let start = start_time(request, &history, previous.as_deref(), base)?;
    let world = Arc::new(session.world(folders.planned_root().to_path_buf()));
    let topology = Arc::new(topology);
    let environment = session.variables(&topology, &world)?;
    let mut world = Arc::into_inner(world)
        .unwrap_or_else(|| session.world(folders.planned_root().to_path_buf()));
    world.variables.clone_from(&environment);
    let topology = Arc::into_inner(topology)
        .ok_or_else(|| Failure::new(FailureKind::Internal, "the topology is still in use", None))?;
    let options = JobOptions {
        goal: request.goal.clone(),
        start,
        parallel: request.parallel,
        base_dir: session.manifest.base_dir().to_path_buf(),
        echo: request.echo,
        environment: environment.into_iter().collect(),
        vars: request.session.vars.clone(),
    };
    let parts = Parts {
        topology,
        world: Arc::new(world),
        choose: configurator::choose,
        history: Box::new(history),
        keys: Box::new(DigestKeys::of(session)),
    };
    let mut engine = Engine::new(parts, options);
    let topology = Arc::clone(&engine.topology);
    let plan = plan::plan(&topology, &request.goal, &engine)
        .map_err(|error| unknown::refusal(error, &topology, &session.sources))?;
    let without_effect = unknown::without_effect(&request.goal, &plan, &topology);
    session.warnings.append(without_effect.clone());
    drop(topology);
    engine.adopt(plan).map_err(|error| {
        Failure::new(
            FailureKind::Load,
            format!("could not create job: {error}"),
            None,
        )
    })?;
    Ok(Prepared {
        engine,
        history_last: previous,
        without_effect,
        kept_templates,
        began,
        ran: false,
    })
}

impl Prepared {
    /// Saves what the job did.
    pub(super) fn publish(
        &mut self,
        session: &Session,
        request: &JobRequest,
    ) -> Result<(), Failure> {
        let spec = session
            .manifest
            .root()
            .get("spec")
            .map(crate::yaml::Node::to_value);
        let facts = JobFacts {
            previous: self.history_last.clone(),
            options: request.recorded_options.clone(),
            start_commit: head_of(session.manifest.base_dir()),
            spec_digest: canonical_sha256(&spec.unwrap_or_default())[..40].to_owned(),
            kept_templates: Arc::clone(&self.kept_templates),
            // The id of a job that follows another at once is of a moment later.
            ended: clock::now().max(self.engine.options.start),
        };
        keep_out_of_git(session.manifest.base_dir());
        let record = Record::of(&session.manifest, &mut self.engine, &facts);
        let Some(record) = record.map_err(|error| internal(&error))? else {
            return Ok(());
        };
        record.publish(&session.manifest).map_err(|error| {
            let hint = "the job's journal in `jobs/` keeps what it did; \
                        make room or give permission, and look there before you run it again";
            let message = format!("the job has run, but its record cannot be saved: {error}");
            Failure::new(FailureKind::Internal, message, Some(hint.to_owned()))
        })
    }

    /// Puts the log of a plan where plans are.
    pub(super) fn settle_log(&self, log: JobLog, base: &Path) {
        if let Ok(id) = self.engine.id() {
            let name = ensemble::job_file_name(self.engine.options.start, id.as_str());
            log.settle(&base.join("planned"), &name);
        }
    }

    /// Ends the job: its log goes where it belongs.
    pub(super) fn finish(
        mut self,
        session: &Session,
        mut watch: Watch<'_>,
        declined: bool,
    ) -> Result<JobReport, Failure> {
        let (outputs, outputs_failed) = self.engine.checked_outputs();
        watch.all(&self.engine.take_events());
        let id = self.engine.id().map_err(|error| internal(&error))?;
        let name = ensemble::job_file_name(self.engine.options.start, id.as_str());
        let failed = self.engine.status() == crate::name::Status::Error;
        let folder = if declined || self.engine.options.goal.dry_run {
            "planned"
        } else if failed {
            "failed"
        } else {
            "jobs"
        };
        watch
            .log
            .settle(&session.manifest.base_dir().join(folder), &name);
        let mut problems = self.without_effect;
        problems.append(watch.problems);
        Ok(JobReport {
            engine: self.engine,
            outputs,
            outputs_failed,
            problems,
            sources: watch.sources,
            elapsed: self.began.elapsed(),
            declined,
            ran: self.ran,
        })
    }
}

fn internal(error: &dyn std::error::Error) -> Failure {
    Failure::new(FailureKind::Internal, error, None)
}

fn head_of(base: &Path) -> Option<String> {
    Repository::discover(base)
        .ok()
        .flatten()?
        .head()
        .ok()
        .flatten()
}

/// What never belongs to git; the patterns of older projects miss it.
const KEPT_OUT: [(&str, &str); 5] = [
    ("**/planned/", "planned/x/y"),
    ("**/jobs/", "jobs/x"),
    ("**/failed/", "failed/x/y"),
    ("*.lock.owner", "ensemble.yaml.lock.owner"),
    ("**/local/digest.key", "local/digest.key"),
];

fn keep_out_of_git(base: &Path) {
    if let Ok(Some(repository)) = Repository::discover(base) {
        for (pattern, probe) in KEPT_OUT {
            // A repository that cannot be written is no reason to stop a job that has run.
            repository.ensure_excluded(pattern, &base.join(probe)).ok();
        }
    }
}
