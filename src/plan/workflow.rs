//! Imperative workflows: those that the model declares step by step.

use std::sync::Arc;

use super::error::Error;
use super::operation::find;
use super::planner::{Planner, Subject};
use super::sequence::Sequence;
use super::step::{Activity, GroupId, Item, Reason, Step, Target};
use crate::tosca::{Workflow, WorkflowActivity, WorkflowStep};

/// How deeply workflows may call each other.
const MAX_DEPTH: usize = 100;

impl Planner<'_> {
    /// Adds all steps of a workflow of the model, for each instance that they match.
    pub(super) fn custom(&mut self, name: &str) -> Result<(), Error> {
        let workflow = self.topology.template().workflows.get(name).cloned();
        let workflow = workflow.ok_or_else(|| Error::UnknownWorkflow(name.to_owned()))?;
        for step in initial_steps(&workflow) {
            for subject in self.matching(step) {
                self.steps(&workflow, vec![step], &subject, None, 0);
            }
        }
        Ok(())
    }

    /// Uses the model's own workflow of a name where it has steps for an instance; says whether.
    pub(super) fn generate_custom(&mut self, subject: &Subject, name: &str) -> bool {
        let Some(workflow) = self.topology.template().workflows.get(name).cloned() else {
            return false;
        };
        let steps = initial_steps(&workflow);
        let steps: Vec<_> = steps.into_iter().filter(|s| applies(s, subject)).collect();
        if steps.is_empty() {
            return false;
        }
        let target = Target::Node(subject.name.clone());
        let group = self.open(target, name, None);
        self.steps(&workflow, steps, subject, Some(group), 0);
        self.mark_final(group);
        true
    }

    fn steps(
        &mut self,
        workflow: &Workflow,
        steps: Vec<&WorkflowStep>,
        subject: &Subject,
        group: Option<GroupId>,
        depth: usize,
    ) {
        let mut queue = steps;
        let mut done = 0;
        while let Some(step) = queue.pop() {
            done += 1;
            if done > workflow.steps.len() * MAX_DEPTH {
                return;
            }
            self.step(workflow, step, subject, group, depth);
            let next = step
                .on_success
                .iter()
                .filter_map(|name| workflow.steps.get(name));
            queue.extend(next);
        }
    }

    fn step(
        &mut self,
        workflow: &Workflow,
        step: &WorkflowStep,
        subject: &Subject,
        parent: Option<GroupId>,
        depth: usize,
    ) {
        let target = Target::Node(subject.name.clone());
        let group = self.open(target.clone(), &workflow.name, parent);
        for activity in &step.activities {
            match activity {
                WorkflowActivity::CallOperation { operation, .. } => {
                    let operations = &subject.template.operations;
                    let (interface, name) =
                        (operation.interface.as_str(), operation.operation.as_str());
                    if let Some(operation) = find(operations, interface, name) {
                        let reason = Reason::Step(Arc::clone(&step.name));
                        self.push_operation(target.clone(), operation, reason, Some(group));
                    }
                }
                WorkflowActivity::SetState(state) => {
                    self.push(set_state(&target, state), Some(group));
                }
                WorkflowActivity::Delegate { workflow: name, .. } => {
                    let reason = Some(Reason::Workflow(Arc::clone(name)));
                    let sequence = Sequence {
                        group: Some(group),
                        reason,
                        workflow: Arc::clone(name),
                    };
                    self.declarative(subject, &sequence);
                }
                WorkflowActivity::Inline { workflow: name, .. } if depth < MAX_DEPTH => {
                    let inner = self.topology.template().workflows.get(name).cloned();
                    let Some(inner) = inner else { continue };
                    let steps = initial_steps(&inner);
                    let steps = steps.into_iter().filter(|s| applies(s, subject)).collect();
                    self.steps(&inner, steps, subject, Some(group), depth + 1);
                }
                WorkflowActivity::Inline { .. } => {}
            }
        }
    }

    /// Marks the last operation of a group as the one that completes the workflow.
    fn mark_final(&mut self, group: GroupId) {
        let mut items = self.plan.groups[group].items.clone();
        while let Some(item) = items.pop() {
            match item {
                Item::Group(inner) => items.extend(&self.plan.groups[inner].items),
                Item::Step(step) => {
                    let step = &mut self.plan.steps[step];
                    step.is_final = !matches!(step.activity, Activity::SetState(_));
                    if step.is_final {
                        return;
                    }
                }
            }
        }
    }

    fn matching(&self, step: &WorkflowStep) -> Vec<Subject> {
        let nodes = self
            .topology
            .nodes()
            .into_iter()
            .map(|handle| self.subject(handle));
        nodes
            .filter(|subject| {
                applies(step, subject) && self.admits(subject) && self.is_meant(subject)
            })
            .collect()
    }

    /// Whether a subject is of the template that `--template` names, or part of what stands in for
    /// it.
    fn is_meant(&self, subject: &Subject) -> bool {
        let template = self.goal.template.as_ref();
        template.is_none_or(|template| subject.template.is_or_is_in(template))
    }
}

fn applies(step: &WorkflowStep, subject: &Subject) -> bool {
    *step.target == *subject.template.name.as_str() || subject.template.is_a(&step.target)
}

/// The steps that no other step leads to.
fn initial_steps(workflow: &Workflow) -> Vec<&WorkflowStep> {
    let follows = |name: &Arc<str>| {
        let mut others = workflow.steps.values();
        others.any(|other| other.on_success.contains(name) || other.on_failure.contains(name))
    };
    workflow
        .steps
        .values()
        .filter(|step| !follows(&step.name))
        .collect()
}

fn set_state(target: &Target, state: &Arc<str>) -> Step {
    Step {
        target: target.clone(),
        activity: Activity::SetState(Arc::clone(state)),
        reason: Reason::Workflow(Arc::clone(state)),
        start_state: None,
        group: None,
        is_final: false,
        critical: false,
    }
}
