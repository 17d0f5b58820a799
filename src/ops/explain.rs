//! Says of one instance what it is, why a job would do something to it or not, and what it is tied
//! to. Nothing is locked and nothing is written.

use std::sync::Arc;

use super::failure::{Failure, FailureKind};
use super::frontend::JobFrontend;
use super::planned_job::plan_job;
use super::recover;
use super::request::JobRequest;
use crate::diagnostic::Sources;
use crate::ensemble::LinkFinder;
use crate::ensemble::{JobFolders, RecordedHistory, WorkingFolders};
use crate::job::{JobEvent, ProposedTask};
use crate::plan::{JobGoal, Plan};
use crate::session::{self, Session};
use crate::topology::{QuerySubject, Topology};

pub use crate::ensemble::{InstanceLink, InstanceLinks};

/// What there is to say of an instance.
#[derive(Debug)]
pub struct Explanation {
    /// What it is about.
    pub subject: QuerySubject,
    /// What the job is to reach.
    pub goal: JobGoal,
    /// The plan.
    pub plan: Plan,
    /// What exists, and what the plan would create.
    pub topology: Arc<Topology>,
    /// The tasks for the instance and its relationships.
    pub tasks: Vec<ProposedTask>,
    /// The texts that it was planned from.
    pub sources: Sources,
    /// What earlier jobs recorded.
    pub history: RecordedHistory,
    /// What it depends on.
    pub dependencies: InstanceLinks,
    /// What depends on it.
    pub dependents: InstanceLinks,
    /// Whether it exists now.
    pub exists: bool,
}

/// Plans a job and looks at what it does to the instance of a name: its own, with those of the
/// topologies around it, or its key.
pub fn explain(
    request: &JobRequest,
    name: &str,
    view: &mut dyn JobFrontend,
) -> Result<Explanation, Failure> {
    let found = session::find(&request.session)?;
    if let Some(text) = recover::notice_of(&found) {
        view.notice(&text);
    }
    let mut session = session::load(found, &request.session)?;
    let history = session.history()?;
    let folders = WorkingFolders::in_temporary_folder(session.manifest.base_dir())
        .map_err(|error| Failure::new(FailureKind::Refused, error, None))?;
    let job = plan_job(request, &mut session, &folders)?;
    view.warnings(&session.warnings, &session.sources);
    let mut engine = job.engine;
    let subject = QuerySubject::find(&engine.topology, name).map_err(|error| {
        let hint = error.hint();
        Failure::new(FailureKind::Refused, error, Some(hint))
    })?;
    let drafts: Vec<_> = engine
        .plan
        .drafts
        .iter()
        .map(|it| it.name.clone())
        .collect();
    engine.render(&mut JobFolders::new(folders));
    report_problems(engine.take_events(), &session.sources, view);
    let reads = engine.planned_reads();
    let linker = LinkFinder::new(&engine.topology, reads, &history);
    let (dependencies, dependents, exists) = match &subject {
        QuerySubject::Instance(handle) => {
            let name = &engine.topology.entity(*handle).name;
            (
                linker.dependencies(*handle),
                linker.dependents(*handle),
                !drafts.contains(name),
            )
        }
        QuerySubject::Template(_) => (InstanceLinks::new(), InstanceLinks::new(), false),
        QuerySubject::Orphan(..) => (InstanceLinks::new(), InstanceLinks::new(), true),
    };
    let tasks = match &subject {
        QuerySubject::Instance(handle) => engine.proposed_tasks_for(*handle),
        QuerySubject::Template(_) | QuerySubject::Orphan(..) => Vec::new(),
    };
    let Session { sources, .. } = session;
    Ok(Explanation {
        subject,
        goal: engine.options.goal,
        plan: engine.plan,
        topology: engine.topology,
        tasks,
        sources,
        history,
        dependencies,
        dependents,
        exists,
    })
}

/// Tells the problems that planning met.
fn report_problems(events: Vec<JobEvent>, sources: &Sources, view: &mut dyn JobFrontend) {
    for event in events {
        if let JobEvent::Problem(problem) = event {
            view.problem(&problem, sources);
        }
    }
}
