//! Implements `unfurl explain`: describes an instance, the reason why a job would change it or not, and its
//! links. Takes no lock and writes nothing.

use std::collections::HashMap;
use std::sync::Arc;

use super::drift::RecordedDrift;
use super::failure::{Failure, FailureKind};
use super::frontend::JobFrontend;
use super::planned_job::plan_job;
use super::recover;
use super::request::JobRequest;
use super::status::failures_of;
use crate::diagnostic::Sources;
use crate::ensemble::LinkFinder;
use crate::ensemble::{JobFolders, RecordedHistory, WorkingFolders};
use crate::job::{JobEvent, ProposedTask};
use crate::plan::{JobGoal, Plan};
use crate::session::{self, Session};
use crate::topology::{QuerySubject, Topology};

pub use crate::ensemble::{InstanceLink, InstanceLinks, RecordedFailure};

/// The explanation of an instance: its plan, history and links.
#[derive(Debug)]
pub struct Explanation {
    /// The explained instance, template or orphan.
    pub subject: QuerySubject,
    pub goal: JobGoal,
    pub plan: Plan,
    /// The topology with existing instances and those that the plan would create.
    pub topology: Arc<Topology>,
    /// The planned tasks for the instance and its relationships.
    pub tasks: Vec<ProposedTask>,
    /// The texts from which the job was planned.
    pub sources: Sources,
    /// The recorded results of earlier jobs.
    pub history: RecordedHistory,
    /// The instances that the subject depends on.
    pub dependencies: InstanceLinks,
    /// The instances that depend on the subject.
    pub dependents: InstanceLinks,
    /// The last failures of instances that are not ok, by their unique keys.
    pub failures: HashMap<String, RecordedFailure>,
    /// The drift that the last looks found.
    pub drift: RecordedDrift,
    /// Whether the instance exists now, and is not only planned.
    pub exists: bool,
}

/// Plans a job and explains an instance. `name` is its name, its name with the names of surrounding
/// topologies, or its key.
pub fn explain(
    request: &JobRequest,
    name: &str,
    view: &mut dyn JobFrontend,
) -> Result<Explanation, Failure> {
    let mut found = session::find(&request.session)?;
    if let Some(text) = recover::recover_unsaved(&mut found, request)? {
        view.notice(&text);
    }
    let mut session = session::load(found, &request.session)?;
    let history = session.history()?;
    let folders = WorkingFolders::without_writes(session.manifest.base_dir());
    let job = plan_job(request, &mut session, &folders)?;
    view.warnings(&session.warnings, &session.sources);
    let mut engine = job.engine;
    let subject = find_subject(&engine.topology, name)?;
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
    let (dependencies, dependents) = links_of(&subject, &linker);
    let (exists, tasks) = match &subject {
        QuerySubject::Instance(handle) => {
            let name = &engine.topology.entity(*handle).name;
            (!drafts.contains(name), engine.proposed_tasks_for(*handle))
        }
        QuerySubject::Template(_) => (false, Vec::new()),
        QuerySubject::Orphan(..) => (true, Vec::new()),
    };
    let manifest = &session.manifest;
    let failures = failures_of(&engine.topology, manifest.path(), manifest.base_dir());
    let drift = RecordedDrift::of(&session);
    for problem in &drift.problems {
        view.notice(problem);
    }
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
        failures,
        drift,
        exists,
    })
}

/// Returns the dependencies and the dependents of an instance. Other subjects have none.
fn links_of(subject: &QuerySubject, linker: &LinkFinder<'_>) -> (InstanceLinks, InstanceLinks) {
    match subject {
        QuerySubject::Instance(handle) => {
            (linker.dependencies(*handle), linker.dependents(*handle))
        }
        QuerySubject::Template(_) | QuerySubject::Orphan(..) => {
            (InstanceLinks::new(), InstanceLinks::new())
        }
    }
}

fn find_subject(topology: &Topology, name: &str) -> Result<QuerySubject, Failure> {
    QuerySubject::find(topology, name).map_err(|error| {
        let hint = error.hint();
        Failure::new(FailureKind::Refused, error, Some(hint))
    })
}

/// Shows the problems found during planning.
fn report_problems(events: Vec<JobEvent>, sources: &Sources, view: &mut dyn JobFrontend) {
    for event in events {
        if let JobEvent::Problem(problem) = event {
            view.problem(&problem, sources);
        }
    }
}
