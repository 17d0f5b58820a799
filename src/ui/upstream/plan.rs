//! Renders a plan with the words of Unfurl.

use std::fmt::Display;
use std::path::PathBuf;

use super::super::plan::{ExternalJob, PlanEntry, PlanNode, PlanTask, PlanView};
use super::super::words;
use crate::name::{NodeState, Status};

/// Renders a plan as Unfurl does: instances with their operations, in the order in which they run.
pub fn plan_text(plan: &PlanView) -> String {
    let mut text = format!("Plan for {}", plan.workflow);
    let options = plan.options.iter();
    let options: Vec<String> = options
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    if !options.is_empty() {
        words::append(&mut text, format_args!(" ({})", options.join(",")));
    }
    text.push_str(":\n\n");
    for job in &plan.external {
        external_job(&mut text, job);
    }
    let mut list = OperationList::default();
    for node in &plan.nodes {
        list.node(node);
    }
    text.push_str(&list.text);
    if plan.external.is_empty() && list.count == 0 {
        text.push_str("Nothing to do.\n");
    }
    text
}

fn external_job(text: &mut String, job: &ExternalJob) {
    let instance = words::one_line(&job.instance);
    match &job.ensemble {
        None => words::append(text, format_args!("Job for \"{instance}\":\n")),
        Some(path) => words::append(
            text,
            format_args!(" External jobs on {}:\n    {instance}\n", path.display()),
        ),
    }
}

/// The operations of a plan as text. Groups are not shown; an instance is named again where the
/// instance before was another one.
#[derive(Default)]
struct OperationList {
    text: String,
    /// The number of operations.
    count: usize,
    /// The heading of the last instance.
    heading: Option<String>,
}

impl OperationList {
    fn node(&mut self, node: &PlanNode) {
        for entry in &node.entries {
            self.entry(node, entry);
        }
    }

    fn entry(&mut self, node: &PlanNode, entry: &PlanEntry) {
        match entry {
            PlanEntry::Group { sequence, .. } => {
                for entry in sequence {
                    self.entry(node, entry);
                }
            }
            PlanEntry::Node(inner) => self.node(inner),
            PlanEntry::Task(task) => self.task(node, task),
            PlanEntry::SetState(state) => self.line(node, format_args!("- set state {state}")),
        }
    }

    fn task(&mut self, node: &PlanNode, task: &PlanTask) {
        let operation = words::one_line(&task.operation);
        let reason = words::one_line(&task.reason);
        let operation = format_args!("- operation {operation} (reason: {reason})").to_string();
        self.line(node, operation);
        let rendered = task.rendered.iter().map(|(_, path): &(_, PathBuf)| path);
        for path in rendered {
            let place = words::one_line(&path.display().to_string()).into_owned();
            words::append(&mut self.text, format_args!("   rendered at {place}\n"));
        }
        if let Some(note) = &task.note {
            let note = words::one_line(note);
            words::append(&mut self.text, format_args!("   ({note})\n"));
        }
    }

    fn line(&mut self, node: &PlanNode, line: impl Display) {
        self.count += 1;
        let heading = heading(node);
        if self.heading.as_ref() != Some(&heading) {
            words::append(&mut self.text, format_args!("{heading}\n"));
            self.heading = Some(heading);
        }
        words::append(&mut self.text, format_args!("{line}\n"));
    }
}

fn heading(node: &PlanNode) -> String {
    let known = [
        node.local_status.map(Status::as_str),
        node.state.map(NodeState::as_str),
        node.managed.is_truthy().then_some("managed"),
    ];
    let known: Vec<&str> = known.into_iter().flatten().collect();
    let name = words::one_line(&node.nested_name);
    format!("Node \"{name}\" ({}):", known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::super::SkippedView;
    use super::*;

    fn task(operation: &str, reason: &str) -> PlanTask {
        PlanTask {
            operation: operation.to_owned(),
            reason: reason.to_owned(),
            reason_text: Some("a sentence for people".to_owned()),
            ..PlanTask::default()
        }
    }

    #[test]
    fn operations_are_listed_below_their_instances_without_groups() {
        let storage = PlanNode {
            nested_name: "outer:storage".to_owned(),
            local_status: Some(Status::Ok),
            state: Some(NodeState::Started),
            managed: "A6BL7Jg00001".into(),
            entries: vec![PlanEntry::Task(task("configure", "reconfigure"))],
            ..PlanNode::default()
        };
        let create = PlanTask {
            rendered: vec![("tasks".to_owned(), "/e/planned/tasks/server".into())],
            note: Some("render waiting for dependents".to_owned()),
            ..task("create", "add")
        };
        let server = PlanNode {
            nested_name: "server".to_owned(),
            local_status: Some(Status::Pending),
            entries: vec![PlanEntry::Group {
                workflow: Some("deploy".to_owned()),
                sequence: vec![
                    PlanEntry::Task(create),
                    PlanEntry::Node(storage),
                    PlanEntry::Task(task("start", "add")),
                ],
            }],
            ..PlanNode::default()
        };
        let plan = PlanView {
            workflow: "deploy".to_owned(),
            options: [("force", "True"), ("dryrun", "True")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec(),
            nodes: vec![server],
            skipped: SkippedView::default(),
            ..PlanView::default()
        };
        insta::assert_snapshot!(plan_text(&plan), @r#"
        Plan for deploy (force = True,dryrun = True):

        Node "server" (pending):
        - operation create (reason: add)
           rendered at /e/planned/tasks/server
           (render waiting for dependents)
        Node "outer:storage" (ok, started, managed):
        - operation configure (reason: reconfigure)
        Node "server" (pending):
        - operation start (reason: add)
        "#);
    }

    #[test]
    fn an_empty_plan_says_that_nothing_is_to_do() {
        let plan = PlanView {
            workflow: "deploy".to_owned(),
            ..PlanView::default()
        };
        assert_eq!(plan_text(&plan), "Plan for deploy:\n\nNothing to do.\n");
    }
}
