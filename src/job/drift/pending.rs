//! The changes of the model that no job has applied, from the plan of a deploy.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use indexmap::IndexMap;

use super::check::{name_of, status_finding, text_of};
use crate::diagnostic::Span;
use crate::drift::{Difference, DriftKind, Finding};
use crate::job::change_diff::{self, DifferenceSide};
use crate::job::instance_action::InstanceAction;
use crate::job::proposal::{Proposal, ProposedTask};
use crate::name::{InstanceName, Status};
use crate::plan::Reason;
use crate::value::Handle;

/// The record key of all inputs of the topology together. Nearly every check reads some input, so a change of another
/// one says nothing about the check.
const ALL_INPUTS: &str = "::root::inputs";

/// The changes of the model that no job has applied.
#[derive(Debug, Default)]
pub(super) struct PendingChanges {
    pub(super) findings: Vec<Finding>,
    /// The record keys of changed values that all instances can read.
    shared: HashSet<String>,
    /// The changed inputs of operations, by instance.
    inputs: HashMap<InstanceName, HashSet<String>>,
}

impl PendingChanges {
    /// Collects the changes that the plan of a deploy shows.
    pub(super) fn of(proposal: &Proposal, place: &dyn Fn(Span) -> Option<Arc<str>>) -> Self {
        let mut pending = Self::default();
        let mut seen = HashSet::new();
        let actions = proposal.instance_actions();
        for (of, task) in due_tasks(proposal) {
            let action = actions.get(&of).copied();
            if let Some(finding) = instance_finding(proposal, task, action, place) {
                pending.findings.push(finding);
            }
        }
        for step in 0..proposal.tasks.len() {
            let Some(task) = proposal.task_of(step) else {
                continue;
            };
            let is_run = task.is_included && !task.is_skipped();
            let owner = proposal.owner_of(step).filter(|_| is_run);
            let Some(owner) = owner.filter(|_| task.change.is_change()) else {
                continue;
            };
            let name = name_of(&proposal.topology, owner);
            pending.add_keys(&name, task);
            for finding in change_findings(&name, task, place) {
                if seen.insert(finding.id()) {
                    pending.findings.push(finding);
                }
            }
        }
        pending
    }

    fn add_keys(&mut self, name: &InstanceName, task: &ProposedTask) {
        let Some(comparison) = &task.comparison else {
            return;
        };
        let differences = comparison.differences.iter();
        let keys = differences.flat_map(|it| std::iter::once(&it.key).chain(&it.follows));
        for key in keys.chain(&comparison.candidates) {
            if key == ALL_INPUTS {
                continue;
            }
            if key.contains("::") {
                self.shared.insert(key.clone());
            } else {
                let own = self.inputs.entry(name.clone()).or_default();
                own.insert(key.clone());
            }
        }
    }

    /// Returns true if any of the values that a check of an instance read has changed in the model.
    ///
    /// `has_same_inputs` says that the check has the inputs of the operation that made the instance. The `command` of a
    /// check is another one than that of `configure`.
    pub(super) fn concerns(
        &self,
        name: &InstanceName,
        reads: &HashSet<String>,
        has_same_inputs: bool,
    ) -> bool {
        let own = self.inputs.get(name).filter(|_| has_same_inputs);
        reads
            .iter()
            .any(|key| self.shared.contains(key) || own.is_some_and(|inputs| inputs.contains(key)))
    }
}

/// Returns the first task of each instance that a deploy creates, removes or repairs.
fn due_tasks(proposal: &Proposal) -> IndexMap<Handle, &ProposedTask> {
    let mut due = IndexMap::new();
    for step in 0..proposal.tasks.len() {
        let owner = proposal.owner_of(step);
        let Some((owner, task)) = owner.zip(proposal.task_of(step)) else {
            continue;
        };
        let is_repair = matches!(
            task.reason,
            Reason::Add
                | Reason::Missing
                | Reason::InDoubt
                | Reason::Repair
                | Reason::Degraded
                | Reason::Prune
        );
        if is_repair && task.is_included && !task.is_skipped() {
            due.entry(owner).or_insert(task);
        }
    }
    due
}

/// Returns the finding that an instance is to be created, replaced or repaired.
fn instance_finding(
    proposal: &Proposal,
    task: &ProposedTask,
    action: Option<InstanceAction>,
    place: &dyn Fn(Span) -> Option<Arc<str>>,
) -> Option<Finding> {
    let owner = proposal.topology.source_of(task.target);
    let entity = proposal.topology.entity(owner.unwrap_or(task.target));
    let to = match action? {
        InstanceAction::Delete => Status::Absent,
        InstanceAction::Check | InstanceAction::Run | InstanceAction::Stop => return None,
        _ => Status::Ok,
    };
    let mut finding = status_finding(&entity.name, DriftKind::Pending);
    finding.difference = Difference {
        from: entity.local.map(|status| status.as_str().into()),
        to: Some(to.as_str().into()),
        lines: None,
    };
    let reason = match task.reason {
        Reason::Add => "new in the model".to_owned(),
        _ => task
            .reason_text
            .clone()
            .unwrap_or_else(|| task.reason.to_string()),
    };
    finding.reason = Some(reason.into());
    finding.place = entity.node().and_then(|node| place(node.template.span));
    Some(finding)
}

/// Returns the findings about the values that make an operation run again.
fn change_findings(
    name: &InstanceName,
    task: &ProposedTask,
    place: &dyn Fn(Span) -> Option<Arc<str>>,
) -> Vec<Finding> {
    let of = |attribute: &str, difference: Difference, span: Span| {
        let mut finding = status_finding(name, DriftKind::Pending);
        finding.subject.attribute = attribute.into();
        finding.difference = difference;
        finding.reason = task.reason_text.as_deref().map(Into::into);
        finding.place = place(span);
        finding
    };
    let comparison = task.comparison.as_ref();
    let differences = comparison.map_or(&[][..], |it| &it.differences[..]);
    if differences.is_empty() {
        // Only a digest shows that something has changed.
        return vec![of(
            &format!("operation {}", task.operation),
            Difference::default(),
            Span::NONE,
        )];
    }
    let roots = differences.iter().filter(|it| it.follows.is_empty());
    roots
        .map(|it| {
            let sides = Difference {
                from: side(&it.old),
                to: side(&it.new),
                lines: None,
            };
            of(&attribute_of(it), sides, it.span)
        })
        .collect()
}

fn attribute_of(difference: &change_diff::Difference) -> String {
    match &difference.of {
        Some(of) => format!("{of}::{}", difference.name),
        None => difference.name.clone(),
    }
}

fn side(side: &DifferenceSide) -> Option<Arc<str>> {
    match side {
        DifferenceSide::Missing => None,
        DifferenceSide::Unknown => Some("an unknown value".into()),
        DifferenceSide::Failed(why) => Some(why.as_str().into()),
        DifferenceSide::Value(value) => Some(text_of(value)),
    }
}
