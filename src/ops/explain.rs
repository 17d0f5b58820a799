//! Says of one instance what it is, why a job would do something to it or not, and what it is tied
//! to. Nothing is locked and nothing is written.

use std::sync::Arc;

use super::failure::{Failure, FailureKind};
use super::hands::JobFolders;
use super::prepared::prepare;
use super::recover;
use super::request::JobRequest;
use super::view::View;
use crate::diagnostic::Sources;
use crate::ensemble::Linker;
use crate::ensemble::{Folders, RecordedHistory};
use crate::job::{Event, ProposedTask};
use crate::name::TemplateName;
use crate::plan::{Goal, Plan};
use crate::session::{self, Session};
use crate::text::did_you_mean;
use crate::topology::Topology;
use crate::value::{Handle, Value};

pub use crate::ensemble::{Link, Links};

/// What is explained.
#[derive(Debug, Clone)]
pub enum Subject {
    /// An instance that exists, or would after the job.
    Instance(Handle),
    /// A template without an instance.
    Template(TemplateName),
    /// A recorded instance whose template is not in the model any more: its name and record.
    Orphan(Arc<str>, Value),
}

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
    let subject = find(&engine.topology, name)?;
    let drafts: Vec<_> = engine
        .plan
        .drafts
        .iter()
        .map(|it| it.name.clone())
        .collect();
    engine.render(&mut JobFolders::new(folders));
    for event in engine.take_events() {
        if let Event::Problem(problem) = event {
            view.problem(&problem, &session.sources);
        }
    }
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

fn find(topology: &Topology, name: &str) -> Result<Subject, Failure> {
    let bare = name.strip_prefix("::").unwrap_or(name);
    let nested = bare.replace(":::", ":");
    if let Some(handle) = topology.find(&nested) {
        return Ok(Subject::Instance(handle));
    }
    let nodes = topology.nodes();
    let local = nodes.iter().copied();
    let local: Vec<Handle> = local
        .filter(|node| topology.entity(*node).local_name() == bare)
        .collect();
    match local.as_slice() {
        [one] => return Ok(Subject::Instance(*one)),
        [] => {}
        [first, ..] => {
            let message = format!(
                "{} instances of nested topologies are named `{bare}`",
                local.len()
            );
            let example = &topology.entity(*first).name;
            let hint = format!("name one with the topologies around it, such as `{example}`");
            return Err(Failure::new(FailureKind::Refused, message, Some(hint)));
        }
    }
    if let Some((template, _)) = topology.template().nodes.get_key_value(nested.as_str()) {
        return Ok(Subject::Template(template.clone()));
    }
    let mut orphans = topology.orphans();
    if let Some(orphan) = orphans.find(|orphan| orphan.name.as_str() == nested) {
        return Ok(Subject::Orphan(orphan.name.shared(), orphan.record()));
    }
    let instances = nodes
        .iter()
        .map(|node| topology.entity(*node).name.as_str());
    let templates = topology.template().nodes.keys().map(TemplateName::as_str);
    let similar = did_you_mean(bare, instances.chain(templates));
    let hint = similar.unwrap_or_else(|| "`unfurl status` lists all instances".to_owned());
    let message = format!("there is no instance and no template `{name}`");
    Err(Failure::new(FailureKind::Refused, message, Some(hint)))
}
