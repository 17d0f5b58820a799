//! Texts that explain to users why a task is in the plan.

use super::evaluation::Evaluation;
use super::task::Task;
use crate::name::{OperationName, Status};
use crate::plan::{Reason, WorkflowKind};
use crate::topology::Entity;

impl Evaluation<'_> {
    /// Returns the reason for a task as a phrase. None if the reason's name suffices.
    pub(super) fn reason_text(&self, task: &Task) -> Option<String> {
        let owner = self
            .topology
            .source_of(task.spec.target)
            .unwrap_or(task.spec.target);
        let entity = self.topology.entity(owner);
        Some(match &task.spec.reason {
            Reason::Add if entity.last_change().is_none() => "it does not exist yet".to_owned(),
            Reason::Add | Reason::Missing | Reason::Degraded | Reason::Repair => {
                let found = self.options.goal.found.get(&entity.name);
                found.map_or_else(
                    || status_text(entity),
                    |status| format!("it has drifted and is {status}"),
                )
            }
            Reason::InDoubt => {
                let doubt = entity.in_doubt.as_ref();
                let doubt = doubt.map_or("an operation", OperationName::as_str);
                format!("a job crashed during `{doubt}`, so the effect is unknown")
            }
            Reason::Upgrade => return task.outdated.clone(),
            Reason::Force => "`--force`".to_owned(),
            Reason::Prune => "the model no longer needs it".to_owned(),
            Reason::Connect => {
                let imported = entity.node().and_then(|node| node.imported.as_deref());
                format!("it represents `{}`", imported.unwrap_or("another instance"))
            }
            Reason::Check => self.check_reason_text(entity),
            Reason::Discover => "its template says `directives: [discover]`".to_owned(),
            Reason::Workflow(name) => return self.workflow_reason_text(name, entity),
            Reason::Step(name) => {
                let workflow = self.options.goal.workflow.as_str();
                format!("step `{name}` of the workflow `{workflow}`")
            }
            Reason::Reconfigure if self.follows_create(task) => {
                "`create` runs again before it".to_owned()
            }
            Reason::Reconfigure | Reason::Run | Reason::Subtask(_) => return None,
        })
    }

    /// Whether a task runs only because an earlier operation is repeated.
    fn follows_create(&self, task: &Task) -> bool {
        let decided = task
            .spec
            .step
            .is_some_and(|step| self.plan.decided.contains(&step));
        decided && !task.change.is_change()
    }

    fn check_reason_text(&self, entity: &Entity) -> String {
        let directive = entity
            .node()
            .is_some_and(|node| node.template.has_directive("check"));
        if directive {
            "its template says `directives: [check]`".to_owned()
        } else if self.options.goal.check {
            "`--check`".to_owned()
        } else {
            status_text(entity)
        }
    }

    /// Returns the text for an operation of a workflow other than the job's.
    fn workflow_reason_text(&self, name: &str, entity: &Entity) -> Option<String> {
        let deploys = self.options.goal.workflow == WorkflowKind::Deploy;
        match name {
            "check" if deploys => Some(self.check_reason_text(entity)),
            "discover" if deploys => Some("its template says `directives: [discover]`".to_owned()),
            "connect" if deploys => {
                let imported = entity.node()?.imported.as_deref()?;
                Some(format!("it represents `{imported}`"))
            }
            _ => None,
        }
    }
}

/// Returns a phrase with an entity's status and the id of its last change.
fn status_text(entity: &Entity) -> String {
    let status = entity.local.unwrap_or(Status::Unknown);
    match entity.last_change() {
        Some(change) if status == Status::Unknown => {
            format!("its last operation did not succeed ({change})")
        }
        Some(change) => format!("status is {status} since {change}"),
        None => format!("status is {status}"),
    }
}
