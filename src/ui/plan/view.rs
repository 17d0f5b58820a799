//! The view of a plan, and its JSON.
//!
//! `cli::job_views` converts a plan to a [`PlanView`]. The JSON has Unfurl's format;
//! [`PlanView::json_with_reasons`] adds keys of its own.

use std::fmt::Display;
use std::path::PathBuf;

use serde_json::{Map, Value as Json, json};

use crate::diagnostic::SourcePosition;
use crate::job::{DifferenceSide, InstanceAction};
use crate::name::{NodeState, Status};
use crate::task::TaskWork;
use crate::ui::change::ChangeView;
use crate::ui::layout::Layout;
use crate::ui::{SkippedView, words};
use crate::value::Value;

/// A plan of a job, prepared for output.
#[derive(Debug, Clone, Default)]
pub struct PlanView {
    /// The workflow of the plan, such as `deploy`.
    pub workflow: String,
    /// The options that the user set, with their values.
    pub options: Vec<(String, String)>,
    /// Jobs on other ensembles that must run first.
    pub external: Vec<ExternalJob>,
    /// The planned entries, grouped by instance.
    pub nodes: Vec<PlanNode>,
    /// The instances that the job leaves alone.
    pub skipped: SkippedView,
    /// The ensemble with its environment, such as `shop/production`.
    pub ensemble: String,
    /// The instances that the job touches, in the order of the plan.
    pub instances: Vec<PlanInstance>,
    /// The inputs. The text shows those that have other values than at the last job.
    pub inputs: Vec<PlanValue>,
    /// The outputs that change.
    pub outputs: Vec<PlanValue>,
    /// The number of instances that stay as they are.
    pub unchanged: usize,
    /// The names of instances that had drifted when somebody looked last, with a note each. The text alone shows them.
    pub drifted: Vec<(String, String)>,
}

/// An instance that a job touches.
#[derive(Debug, Clone)]
pub struct PlanInstance {
    pub name: String,
    pub type_name: String,
    pub action: InstanceAction,
    /// The position of the template.
    pub place: Option<SourcePosition>,
    pub operations: Vec<PlanOperation>,
    /// The properties of a new instance. None if only the job determines the value.
    pub values: Vec<(String, Option<Value>)>,
    /// Whether operations and values are shown.
    pub is_detailed: bool,
}

/// An operation on an instance or on one of its requirements, or a state that is set.
#[derive(Debug, Clone, Default)]
pub struct PlanOperation {
    pub task: PlanTask,
    /// The requirement that the operation is for.
    pub requirement: Option<String>,
    pub work: Option<TaskWork>,
    /// The steps one of which must fail before the operation runs.
    pub condition: Option<String>,
    /// The errors that prevent the operation.
    pub errors: Vec<String>,
}

/// An input or output with its value at the last job and its value now.
#[derive(Debug, Clone)]
pub struct PlanValue {
    pub name: String,
    pub old: DifferenceSide,
    /// The new value. `Unknown` if only the job determines it.
    pub new: DifferenceSide,
    /// Whether the value is secret as a whole.
    pub is_secret: bool,
    /// The source of an input and its position in a file.
    pub source: String,
}

/// A job on another ensemble that the plan depends on.
#[derive(Debug, Clone)]
pub struct ExternalJob {
    /// The instance that the job is for.
    pub instance: String,
    /// The path of the other ensemble. `None` for a job on this one.
    pub ensemble: Option<PathBuf>,
    /// The status of the instance, if it exists.
    pub status: Option<Status>,
}

/// The planned entries for one instance.
#[derive(Debug, Clone, Default)]
pub struct PlanNode {
    pub instance: String,
    /// The name with those of the enclosing topologies; equal to `instance` at the top level.
    pub nested_name: String,
    /// The status as other instances see it.
    pub status: Option<Status>,
    /// The status of the instance itself.
    pub local_status: Option<Status>,
    /// The state in the TOSCA life cycle.
    pub state: Option<NodeState>,
    /// The creator: a change id, an instance key, true or false; null before creation.
    pub managed: Value,
    pub entries: Vec<PlanEntry>,
}

/// An entry of a plan: an operation, a group of entries, or a state change.
#[derive(Debug, Clone)]
pub enum PlanEntry {
    /// Entries that run one after the other and must all succeed.
    Group {
        /// The workflow that the entries belong to.
        workflow: Option<String>,
        sequence: Vec<Self>,
    },
    Task(PlanTask),
    /// Entries for another instance within a group, such as the operations of a relationship.
    Node(PlanNode),
    /// A node state or status that a workflow step sets.
    SetState(String),
}

/// A planned operation with its reason and the changes that cause it.
#[derive(Debug, Clone, Default)]
pub struct PlanTask {
    pub operation: String,
    /// The reason for which the operation runs.
    pub reason: String,
    /// The folders rendered for the operation, by kind.
    pub rendered: Vec<(String, PathBuf)>,
    /// A note such as `render waiting for dependents`.
    pub note: Option<String>,
    /// A sentence that explains the reason.
    pub reason_text: Option<String>,
    /// The changes since the operation last ran.
    pub changes: Vec<ChangeView>,
    /// Keys at least one of which has changed, if it is unknown which.
    pub candidates: Vec<String>,
    /// The reason for which changes or old values are unknown.
    pub unknown: Option<String>,
}

/// The maximum number of candidate keys that the text names.
const MAX_CANDIDATES: usize = 8;

impl PlanView {
    /// Returns the plan as JSON in Unfurl's format: a list of instances with their entries.
    pub fn json(&self) -> Json {
        self.json_with(false)
    }

    /// Returns the plan as JSON with the reasons and changes of each task, under keys that Unfurl
    /// does not have. `inputs` is one more entry at the end.
    pub fn json_with_reasons(&self, inputs: Option<Json>) -> Json {
        let mut plan = self.json_with(true);
        if let (Some(entries), Some(inputs)) = (plan.as_array_mut(), inputs) {
            entries.push(inputs);
        }
        plan
    }

    fn json_with(&self, why: bool) -> Json {
        let external = self.external.iter().map(|job| job.json(why));
        let nodes = self.nodes.iter().filter(|node| node.has_effect());
        let nodes = external.chain(nodes.map(|node| node.json(why)));
        nodes.chain(self.skipped.plan_json(why)).collect()
    }
}

impl ExternalJob {
    fn json(&self, why: bool) -> Json {
        let ensemble = self
            .ensemble
            .as_ref()
            .map(|path| path.display().to_string());
        let ensemble = ensemble.unwrap_or_else(|| "local".to_owned());
        let mut job = json!({ "instance": self.instance, "job_request": ensemble });
        if self.status.is_some() {
            job["status"] = word("Status", self.status, why);
        }
        job
    }
}

impl PlanNode {
    fn has_effect(&self) -> bool {
        self.entries.iter().any(PlanEntry::has_effect)
    }

    fn json(&self, why: bool) -> Json {
        json!({
            "instance": self.instance,
            "status": word("Status", self.status, why),
            "state": word("NodeState", self.state, why),
            "managed": self.managed,
            "plan": entries_json(&self.entries, why),
        })
    }
}

impl PlanEntry {
    fn has_effect(&self) -> bool {
        match self {
            Self::Group { sequence, .. } => sequence.iter().any(Self::has_effect),
            Self::Node(node) => node.has_effect(),
            Self::Task(_) | Self::SetState(_) => true,
        }
    }

    fn json(&self, why: bool) -> Json {
        match self {
            Self::Group { workflow, sequence } => {
                let sequence = entries_json(sequence, why);
                match workflow {
                    Some(workflow) => json!({ "workflow": workflow, "sequence": sequence }),
                    None => json!({ "sequence": sequence }),
                }
            }
            Self::Task(task) => task.json(why),
            Self::Node(node) => node.json(why),
            Self::SetState(state) => json!({"set_state": state}),
        }
    }
}

impl PlanTask {
    /// Returns the operation and its reason on one line.
    pub(in crate::ui) fn heading(&self) -> String {
        let operation = words::one_line(&self.operation);
        let reason_text = self.reason_text.as_deref().map(words::one_line);
        let colon = if reason_text.is_some() { ": " } else { "" };
        let reason_text = reason_text.unwrap_or_default();
        format!("{operation} (reason: {}){colon}{reason_text}", self.reason)
    }

    /// Appends the changes, one line each.
    pub(in crate::ui) fn write_changes(&self, text: &mut String, indent: usize, layout: Layout) {
        for change in &self.changes {
            change.write(text, indent, layout);
        }
        if !self.candidates.is_empty() {
            let names = words::names(&self.candidates, MAX_CANDIDATES);
            let names = names.replace(" and ", " or ");
            words::append(
                text,
                format_args!("{:indent$}one of {names} has changed\n", ""),
            );
        }
        if let Some(why) = &self.unknown {
            let why = words::one_line(why);
            words::append(
                text,
                format_args!("{:indent$}what it was is not known: {why}\n", ""),
            );
        }
    }

    pub(in crate::ui) fn json(&self, why: bool) -> Json {
        let folders = self.rendered.iter();
        let rendered: Map<String, Json> = folders
            .map(|(kind, path)| (kind.clone(), path.display().to_string().into()))
            .collect();
        let mut task = json!({
            "operation": self.operation,
            "reason": self.reason,
            "rendered": rendered,
        });
        if !why {
            return task;
        }
        let texts = [
            ("because", &self.reason_text),
            ("note", &self.note),
            ("unknown", &self.unknown),
        ];
        for (key, text) in texts {
            if let Some(text) = text {
                task[key] = text.as_str().into();
            }
        }
        if !self.changes.is_empty() {
            task["changes"] = self.changes.iter().map(ChangeView::json).collect();
        }
        if !self.candidates.is_empty() {
            task["oneOf"] = self.candidates.clone().into();
        }
        task
    }
}

/// Returns a word as JSON: plain, or as Unfurl writes words of this kind.
fn word(kind: &str, word: Option<impl Display>, is_plain: bool) -> Json {
    if is_plain {
        word.map_or(Json::Null, |word| word.to_string().into())
    } else {
        words::upstream(kind, word).into()
    }
}

fn entries_json(entries: &[PlanEntry], why: bool) -> Json {
    let entries = entries.iter().filter(|entry| entry.has_effect());
    entries.map(|entry| entry.json(why)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(operation: &str, reason: &str) -> PlanEntry {
        PlanEntry::Task(PlanTask {
            operation: operation.to_owned(),
            reason: reason.to_owned(),
            ..PlanTask::default()
        })
    }

    fn sample() -> PlanView {
        let storage = PlanNode {
            instance: "storage".to_owned(),
            nested_name: "outer:storage".to_owned(),
            status: Some(Status::Ok),
            local_status: Some(Status::Ok),
            state: Some(NodeState::Started),
            managed: "A6BL7Jg00001".into(),
            entries: vec![task("configure", "reconfigure")],
        };
        let server = PlanNode {
            instance: "server".to_owned(),
            nested_name: "server".to_owned(),
            status: Some(Status::Pending),
            local_status: Some(Status::Pending),
            entries: vec![PlanEntry::Group {
                workflow: Some("deploy".to_owned()),
                sequence: vec![
                    PlanEntry::Task(PlanTask {
                        operation: "create".to_owned(),
                        reason: "add".to_owned(),
                        rendered: vec![("tasks".to_owned(), "/e/planned/tasks/server".into())],
                        note: Some("render waiting for dependents".to_owned()),
                        reason_text: Some("it does not exist yet".to_owned()),
                        ..PlanTask::default()
                    }),
                    PlanEntry::Node(storage),
                ],
            }],
            ..PlanNode::default()
        };
        PlanView {
            workflow: "deploy".to_owned(),
            options: vec![("force".to_owned(), "True".to_owned())],
            external: Vec::new(),
            nodes: vec![server],
            ..PlanView::default()
        }
    }

    #[test]
    fn the_json_nests_groups_and_other_instances() {
        insta::assert_snapshot!(crate::ui::pretty(&sample().json()), @r#"
        [
          {
            "instance": "server",
            "status": "Status.pending",
            "state": "None",
            "managed": null,
            "plan": [
              {
                "workflow": "deploy",
                "sequence": [
                  {
                    "operation": "create",
                    "reason": "add",
                    "rendered": {
                      "tasks": "/e/planned/tasks/server"
                    }
                  },
                  {
                    "instance": "storage",
                    "status": "Status.ok",
                    "state": "NodeState.started",
                    "managed": "A6BL7Jg00001",
                    "plan": [
                      {
                        "operation": "configure",
                        "reason": "reconfigure",
                        "rendered": {}
                      }
                    ]
                  }
                ]
              }
            ]
          }
        ]
        "#);
    }

    #[test]
    fn with_reasons_the_json_has_plain_words() {
        let json = sample().json_with_reasons(None);
        assert_eq!(json[0]["status"], "pending");
        assert_eq!(json[0]["state"], Json::Null);
        assert_eq!(json[0]["plan"][0]["sequence"][1]["state"], "started");
    }

    #[test]
    fn a_plan_whose_groups_are_empty_does_nothing() {
        let mut plan = PlanView {
            workflow: "deploy".to_owned(),
            ..PlanView::default()
        };
        let sequence = Vec::new();
        plan.nodes.push(PlanNode {
            entries: vec![PlanEntry::Group {
                workflow: None,
                sequence,
            }],
            ..PlanNode::default()
        });
        assert_eq!(plan.json(), json!([]));
    }
}
