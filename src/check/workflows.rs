//! Checks workflows: the targets of their steps and the operations that they call.

use super::checker::Checker;
use super::members::Owner;
use super::value_place::ValuePlace;
use crate::diagnostic::{Check, Span};
use crate::name::TemplateName;
use crate::text::did_you_mean;
use crate::tosca::{Workflow, WorkflowActivity, WorkflowStep};

/// The workflows that every topology has.
const DECLARATIVE: [&str; 8] = [
    "deploy", "undeploy", "teardown", "check", "discover", "start", "stop", "run",
];

impl<'a> Checker<'a> {
    pub(super) fn workflow(&mut self, workflow: &'a Workflow) {
        for precondition in &workflow.preconditions {
            let subject = format!("a precondition of workflow `{}`", workflow.name);
            self.target(&precondition.target, precondition.span, &subject);
        }
        for step in workflow.steps.values() {
            let subject = format!("step `{}` of workflow `{}`", step.name, workflow.name);
            if !self.target(&step.target, step.value_span, &subject) {
                continue;
            }
            for activity in &step.activities {
                self.activity(step, activity, &subject);
            }
        }
    }

    /// Reports a target that does not exist. Returns whether it exists.
    fn target(&mut self, target: &str, span: Span, subject: &str) -> bool {
        let topology = self.topology;
        let exists = topology.nodes.contains_key(target)
            || topology.groups.contains_key(target)
            || topology.relationships.contains_key(target)
            || topology.nodes.values().any(|node| node.is_a(target));
        if !exists && !target.contains("{{") {
            let message =
                format!("the target `{target}` of {subject} is no node template, group or type");
            let names = topology.nodes.keys().map(TemplateName::as_str);
            let hint = did_you_mean(
                target,
                names.chain(topology.groups.keys().map(|name| &**name)),
            );
            // A file of a service template may be included in an ensemble that has the target.
            if self.machine.is_none() || target.contains('.') {
                self.warning(Check::InvalidWorkflow, message, span, target, hint);
            } else {
                self.error(Check::InvalidWorkflow, message, span, target, hint);
            }
        }
        exists
    }

    fn activity_inputs(&mut self, step: &WorkflowStep, activity: &WorkflowActivity, subject: &str) {
        let inputs = match activity {
            WorkflowActivity::CallOperation { inputs, .. }
            | WorkflowActivity::Delegate { inputs, .. }
            | WorkflowActivity::Inline { inputs, .. } => Some(inputs),
            WorkflowActivity::SetState(_) => None,
        };
        for (name, value) in inputs.into_iter().flatten() {
            let of_input = || format!("input `{name}` of {subject}");
            let place = ValuePlace::new(Owner::Other, None, step.value_span, &of_input);
            self.value(value, place);
        }
    }

    fn activity(&mut self, step: &'a WorkflowStep, activity: &'a WorkflowActivity, subject: &str) {
        self.activity_inputs(step, activity, subject);
        match activity {
            WorkflowActivity::CallOperation { operation, .. } => {
                let Some(node) = self.topology.nodes.get(&*step.target) else {
                    return;
                };
                if step.target_relationship.is_none() {
                    let called = operation.to_string();
                    self.call(&called, node, step.value_span, &|| subject.to_owned());
                }
            }
            WorkflowActivity::Inline { workflow, .. } => {
                let known = &self.topology.workflows;
                if !known.contains_key(workflow) && !DECLARATIVE.contains(&&**workflow) {
                    let message =
                        format!("{subject} runs the workflow `{workflow}`, which does not exist");
                    let hint = did_you_mean(workflow, known.keys().map(|name| &**name));
                    self.error(
                        Check::InvalidWorkflow,
                        message,
                        step.value_span,
                        workflow,
                        hint,
                    );
                }
            }
            WorkflowActivity::Delegate { .. } | WorkflowActivity::SetState(_) => {}
        }
    }
}
