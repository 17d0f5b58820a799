//! Says of one instance what it is, why a job would do something to it or not, and what it is tied
//! to. Nothing is locked and nothing is written.

use std::sync::Arc;

use super::failure::{Failure, FailureKind};
use super::prepared::prepare;
use super::recover;
use super::request::JobRequest;
use super::view::View;
use crate::diagnostic::Sources;
use crate::ensemble::Linker;
use crate::ensemble::{Folders, JobFolders, RecordedHistory};
use crate::job::{Event, ProposedTask};
use crate::plan::{Goal, Plan};
use crate::session::{self, Session};
use crate::topology::{Subject, Topology};

pub use crate::ensemble::{Link, Links};

/// What there is to say of an instance.
#[derive(Debug)]
pub struct Explained {
    /// What it is about.
    pub subject: Subject,
    /// What the job is to reach.
    pub goal: Goal,
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
    pub dependencies: Links,
    /// What depends on it.
    pub dependents: Links,
    /// Whether it exists now.
    pub exists: bool,
}

/// Plans a job and looks at what it does to the instance of a name: its own, with those of the
/// topologies around it, or its key.
pub fn explain(
    request: &JobRequest,
    name: &str,
    view: &mut dyn View,
) -> Result<Explained, Failure> {
    let found = session::find(&request.session)?;
    if let Some(text) = recover::notice_of(&found) {
        view.notice(&text);
    }
    let mut session = session::load(found, &request.session)?;
    let history = session.history()?;
    let folders = Folders::without_trace(session.manifest.base_dir())
        .map_err(|error| Failure::new(FailureKind::Refused, error, None))?;
    let job = prepare(request, &mut session, &folders)?;
    view.warnings(&session.warnings, &session.sources);
    let mut engine = job.engine;
    let subject = Subject::find(&engine.topology, name).map_err(|error| {
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
    tell_problems(engine.take_events(), &session.sources, view);
    let reads = engine.planned_reads();
    let linker = Linker::new(&engine.topology, reads, &history);
    let (dependencies, dependents, exists) = match &subject {
        Subject::Instance(handle) => {
            let name = &engine.topology.entity(*handle).name;
            (
                linker.dependencies(*handle),
                linker.dependents(*handle),
                !drafts.contains(name),
            )
        }
        Subject::Template(_) => (Links::new(), Links::new(), false),
        Subject::Orphan(..) => (Links::new(), Links::new(), true),
    };
    let tasks = match &subject {
        Subject::Instance(handle) => engine.proposed_for(*handle),
        Subject::Template(_) | Subject::Orphan(..) => Vec::new(),
    };
    let Session { sources, .. } = session;
    Ok(Explained {
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
fn tell_problems(events: Vec<Event>, sources: &Sources, view: &mut dyn View) {
    for event in events {
        if let Event::Problem(problem) = event {
            view.problem(&problem, sources);
        }
    }
}
