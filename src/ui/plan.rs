//! Renders plans as text and as JSON.
//!
//! `cli::job_views` converts a plan to a [`PlanView`]. The JSON has Unfurl's format;
//! [`PlanView::json_with_reasons`] adds keys of its own.

use std::path::PathBuf;

use serde_json::{Map, Value as Json, json};

use super::SkippedView;
use super::change::ChangeView;
use super::words;
use crate::name::{NodeState, Status};
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
    pub fn is_empty(&self) -> bool {
        self.external.is_empty() && !self.nodes.iter().any(PlanNode::has_effect)
    }

    /// Renders the plan as text. Parts that can be cut keep to `width` columns.
    pub fn text(&self, width: u16) -> String {
        let width = usize::from(width);
        let mut text = format!("Plan for {}", self.workflow);
        let options: Vec<String> = self
            .options
            .iter()
            .map(|(name, value)| format!("{name} = {value}"))
            .collect();
        if !options.is_empty() {
            words::append(&mut text, format_args!(" ({})", options.join(", ")));
        }
        text.push_str(":\n\n");
        for job in &self.external {
            line(&mut text, 0, &job.text());
        }
        let layout = PlanLayout {
            workflow: &self.workflow,
            width,
        };
        for node in &self.nodes {
            node.write(&mut text, 0, layout);
        }
        if self.is_empty() {
            text.push_str("Nothing to do.\n");
        }
        text.push_str(&self.skipped.text());
        text
    }

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
        let external = self.external.iter().map(ExternalJob::json);
        let nodes = self.nodes.iter().filter(|node| node.has_effect());
        let nodes = external.chain(nodes.map(|node| node.json(why)));
        nodes.chain(self.skipped.plan_json()).collect()
    }
}

impl ExternalJob {
    fn text(&self) -> String {
        let instance = words::one_line(&self.instance);
        match &self.ensemble {
            Some(path) => format!("Job for \"{instance}\" in {}:", path.display()),
            None => format!("Job for \"{instance}\":"),
        }
    }

    fn json(&self) -> Json {
        let ensemble = self
            .ensemble
            .as_ref()
            .map(|path| path.display().to_string());
        let ensemble = ensemble.unwrap_or_else(|| "local".to_owned());
        let mut job = json!({ "instance": self.instance, "job_request": ensemble });
        if self.status.is_some() {
            job["status"] = words::upstream("Status", self.status).into();
        }
        job
    }
}

/// The context in which a part of a plan is rendered.
#[derive(Clone, Copy)]
struct PlanLayout<'a> {
    /// The workflow named in the heading above.
    workflow: &'a str,
    /// The width of the screen in columns.
    width: usize,
}

impl PlanNode {
    fn has_effect(&self) -> bool {
        self.entries.iter().any(PlanEntry::has_effect)
    }

    fn write(&self, text: &mut String, indent: usize, shown: PlanLayout<'_>) {
        if !self.has_effect() {
            return;
        }
        let known = [
            self.local_status.map(Status::as_str),
            self.state.map(NodeState::as_str),
            self.managed.is_truthy().then_some("managed"),
        ];
        let known: Vec<&str> = known.into_iter().flatten().collect();
        let name = words::one_line(&self.nested_name);
        let heading = match &known[..] {
            [] => format!("Node \"{name}\":"),
            known => format!("Node \"{name}\" ({}):", known.join(", ")),
        };
        line(text, indent, &heading);
        for entry in &self.entries {
            entry.write(text, indent, shown);
        }
    }

    fn json(&self, why: bool) -> Json {
        json!({
            "instance": self.instance,
            "status": words::upstream("Status", self.status),
            "state": words::upstream("NodeState", self.state),
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

    fn write(&self, text: &mut String, indent: usize, shown: PlanLayout<'_>) {
        match self {
            // The name of the plan's own workflow would repeat the heading.
            Self::Group { workflow, sequence } => {
                let name = workflow.as_deref().unwrap_or("sequence");
                let inner = if name == shown.workflow || !self.has_effect() {
                    indent
                } else {
                    line(text, indent, &format!("- {}:", words::one_line(name)));
                    indent + 4
                };
                let shown = PlanLayout {
                    workflow: name,
                    ..shown
                };
                for entry in sequence {
                    entry.write(text, inner, shown);
                }
            }
            Self::Task(task) => task.write(text, indent, shown.width),
            Self::Node(node) => node.write(text, indent, shown),
            Self::SetState(state) => line(text, indent, &format!("- set state {state}")),
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
    pub(super) fn heading(&self) -> String {
        let operation = words::one_line(&self.operation);
        let reason_text = self.reason_text.as_deref().map(words::one_line);
        let colon = if reason_text.is_some() { ": " } else { "" };
        let reason_text = reason_text.unwrap_or_default();
        format!("{operation} (reason: {}){colon}{reason_text}", self.reason)
    }

    fn write(&self, text: &mut String, indent: usize, width: usize) {
        line(text, indent, &format!("- operation {}", self.heading()));
        self.write_changes(text, indent + 3, width);
        for (_, path) in &self.rendered {
            line(text, indent + 3, &format!("rendered at {}", path.display()));
        }
        if let Some(note) = &self.note {
            line(text, indent + 3, &format!("({note})"));
        }
    }

    /// Appends the changes, one line each.
    pub(super) fn write_changes(&self, text: &mut String, indent: usize, width: usize) {
        for change in &self.changes {
            change.write(text, indent, width);
        }
        if !self.candidates.is_empty() {
            let names = words::names(&self.candidates, MAX_CANDIDATES);
            let names = names.replace(" and ", " or ");
            line(text, indent, &format!("one of {names} has changed"));
        }
        if let Some(why) = &self.unknown {
            let words = format!("what it was is not known: {}", words::one_line(why));
            line(text, indent, &words);
        }
    }

    pub(super) fn json(&self, why: bool) -> Json {
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

fn entries_json(entries: &[PlanEntry], why: bool) -> Json {
    let entries = entries.iter().filter(|entry| entry.has_effect());
    entries.map(|entry| entry.json(why)).collect()
}

fn line(text: &mut String, indent: usize, words: &str) {
    words::append(text, format_args!("{:indent$}{words}\n", ""));
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
            skipped: SkippedView::default(),
        }
    }

    #[test]
    fn the_text_names_each_operation_and_why_it_runs() {
        insta::assert_snapshot!(sample().text(100), @r#"
        Plan for deploy (force = True):

        Node "server" (pending):
        - operation create (reason: add): it does not exist yet
           rendered at /e/planned/tasks/server
           (render waiting for dependents)
        Node "outer:storage" (ok, started, managed):
        - operation configure (reason: reconfigure)
        "#);
    }

    #[test]
    fn a_group_of_another_workflow_has_its_own_line() {
        let mut plan = sample();
        plan.workflow = "restart".to_owned();
        insta::assert_snapshot!(plan.text(100), @r#"
        Plan for restart (force = True):

        Node "server" (pending):
        - deploy:
            - operation create (reason: add): it does not exist yet
               rendered at /e/planned/tasks/server
               (render waiting for dependents)
            Node "outer:storage" (ok, started, managed):
            - operation configure (reason: reconfigure)
        "#);
    }

    #[test]
    fn the_json_nests_groups_and_other_instances() {
        insta::assert_snapshot!(super::super::pretty(&sample().json()), @r#"
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
        assert_eq!(plan.text(100), "Plan for deploy:\n\nNothing to do.\n");
        assert_eq!(plan.json(), json!([]));
    }
}
