//! A job that was planned, on its way to its record.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::executors;
use super::failure::{Failure, FailureKind};
use super::hands::DigestKeys;
use super::request::JobRequest;
use super::resume;
use crate::configurator;
use crate::diagnostic::Diagnostics;
use crate::ensemble::{self, Folders, KeptIndex, LogFile, RecordedHistory, start_time};
use crate::fleet::hosts::Machines;
use crate::job::{self, Engine, JobOptions, Parts};
use crate::plan;
use crate::session::Session;
use crate::session::topology_with_orphans;

/// A job that was planned.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) engine: Engine,
    pub(super) around: Around,
}

/// The things around a job that its record and its report need.
#[derive(Debug)]
pub(super) struct Around {
    /// The last job on record.
    pub(super) history_last: Option<String>,
    /// What the user named and nothing has.
    pub(super) without_effect: Diagnostics,
    /// The templates that earlier records keep.
    pub(super) kept_templates: Arc<KeptIndex>,
    /// When the planning began.
    pub(super) began: std::time::Instant,
    /// What was planned before anything ran: operations by the keys of their targets.
    pub(super) planned: BTreeMap<String, Vec<String>>,
    /// Whether tasks were started.
    pub(super) ran: bool,
}

/// An engine that has nothing to do yet, with what it takes to put a job on record.
#[derive(Debug)]
pub(super) struct Idle {
    pub(super) engine: Engine,
    history_last: Option<String>,
    kept_templates: Arc<KeptIndex>,
}

/// Makes the engine of a job: it knows what exists and what was recorded.
pub(super) fn engine(
    request: &JobRequest,
    session: &mut Session,
    folders: &Folders,
) -> Result<Idle, Failure> {
    let history = session.history()?;
    let kept_templates = history.kept_templates();
    let goal = if request.resume {
        resume::goal(request, session, &history)?
    } else {
        request.goal.clone()
    };
    let mut topology = topology_with_orphans(session, goal.removal.prune, &history)?;
    job::mark_left(&mut topology, &history);
    let previous = last_job(session, &history);
    let base = session.manifest.base_dir();
    let start = start_time(
        request.start.as_deref(),
        &history,
        previous.as_deref(),
        base,
    )
    .map_err(|error| Failure::new(FailureKind::Load, error, None))?;
    let world = Arc::new(session.world(folders.planned_root().to_path_buf()));
    let topology = Arc::new(topology);
    let environment = session.variables(&topology, &world)?;
    let chain = executors::chain_of(request, session, &topology, &world, &environment)?;
    let mut world = Arc::into_inner(world)
        .unwrap_or_else(|| session.world(folders.planned_root().to_path_buf()));
    world.variables.clone_from(&environment);
    let topology = Arc::into_inner(topology)
        .ok_or_else(|| Failure::new(FailureKind::Internal, "the topology is still in use", None))?;
    let options = JobOptions {
        goal,
        ensemble: session.identity(),
        start,
        parallel: request.run.parallel,
        base_dir: session.manifest.base_dir().to_path_buf(),
        echo: request.run.echo,
        environment: environment.into_iter().collect(),
        chain,
        vars: request.session.vars.clone(),
    };
    let parts = Parts {
        topology,
        world: Arc::new(world),
        choose: configurator::choose,
        history: Box::new(history),
        keys: Box::new(DigestKeys::of(session)),
        places: Box::new(Machines::new(
            session.found.env.clone(),
            session.manifest.base_dir().to_path_buf(),
        )),
    };
    Ok(Idle {
        engine: Engine::new(parts, options),
        history_last: previous,
        kept_templates,
    })
}

/// The last job that the records or the ensemble know.
fn last_job(session: &Session, history: &RecordedHistory) -> Option<String> {
    let recorded = history.last_job().map(|id| id.to_string());
    recorded.max(session.last_job())
}

/// Plans a job.
pub(super) fn prepare(
    request: &JobRequest,
    session: &mut Session,
    folders: &Folders,
) -> Result<Prepared, Failure> {
    let began = std::time::Instant::now();
    request.go_on()?;
    let Idle {
        mut engine,
        history_last,
        kept_templates,
    } = engine(request, session, folders)?;
    request.go_on()?;
    let plan = engine.plan();
    let topology = &engine.topology;
    let plan = plan.map_err(|error| {
        let kind = match error {
            plan::Error::UnknownExcluded(_) => FailureKind::Usage,
            _ => FailureKind::Load,
        };
        let problem = plan::refusal(error, topology);
        Failure::with_places(kind, problem, session.sources.clone())
    })?;
    let without_effect = plan::without_effect(&engine.options.goal, &plan, topology);
    session.warnings.append(without_effect.clone());
    engine.adopt(plan).map_err(|error| {
        Failure::new(
            FailureKind::Load,
            format!("could not create job: {error}"),
            None,
        )
    })?;
    Ok(Prepared {
        engine,
        around: Around {
            history_last,
            without_effect,
            kept_templates,
            began,
            planned: BTreeMap::new(),
            ran: false,
        },
    })
}

impl Prepared {
    /// Puts the log of a plan where plans are.
    pub(super) fn settle_log(&self, log: LogFile, base: &Path) {
        if let Ok(id) = self.engine.id() {
            let name = ensemble::job_file_name(self.engine.options.start, id.as_str());
            log.settle(&base.join("planned"), &name);
        }
    }
}
