//! Imperative workflows: those that the model declares step by step.

use std::collections::HashSet;
use std::sync::Arc;

use indexmap::IndexMap;

use super::error::Error;
use super::operation::find_operation;
use super::planner::{PlannedInstance, Planner};
use super::sequence::StepSequence;
use super::step::{GroupId, PlanItem, PlanStep, Reason, RunCondition, StepActivity, StepTarget};
use crate::name::OperationRef;
use crate::tosca::{
    NodeTemplate, Operation, Workflow, WorkflowActivity, WorkflowStep, all_clauses_hold,
};
use crate::value::{Handle, Map, Value};

/// The maximum depth of workflows that call each other.
const MAX_DEPTH: usize = 100;

/// A step that is still to be planned, with the condition under which it runs.
struct QueuedStep<'a> {
    step: &'a WorkflowStep,
    condition: RunCondition,
}

impl Planner<'_> {
    /// Adds all steps of a workflow of the model, for each instance that they match.
    pub(super) fn plan_custom_workflow(&mut self, name: &str) -> Result<(), Error> {
        let workflow = self.topology.template().workflows.get(name).cloned();
        let workflow = workflow.ok_or_else(|| Error::UnknownWorkflow(name.to_owned()))?;
        for step in initial_steps(&workflow) {
            for subject in self.matching_instances(step) {
                self.steps(&workflow, vec![step], &subject, None, 0);
            }
        }
        Ok(())
    }

    /// Plans the model's own workflow of a name if it has steps for the instance and its preconditions
    /// hold. Returns whether it does.
    pub(super) fn generate_custom(&mut self, subject: &PlannedInstance, name: &str) -> bool {
        let Some(workflow) = self.topology.template().workflows.get(name).cloned() else {
            return false;
        };
        let steps = initial_steps(&workflow);
        let steps: Vec<_> = steps
            .into_iter()
            .filter(|step| self.applies(step, subject))
            .collect();
        if steps.is_empty() || !self.may_start(&workflow) {
            return false;
        }
        if name == "check" {
            // A check has no target status, so it needs no group.
            self.steps(&workflow, steps, subject, None, 0);
            return true;
        }
        let target = StepTarget::Node(subject.name.clone());
        let group = self.open_group(target, name, None);
        self.steps(&workflow, steps, subject, Some(group), 0);
        self.mark_final(group);
        true
    }

    fn steps(
        &mut self,
        workflow: &Workflow,
        steps: Vec<&WorkflowStep>,
        subject: &PlannedInstance,
        group: Option<GroupId>,
        depth: usize,
    ) {
        let always = |step| QueuedStep {
            step,
            condition: RunCondition::Always,
        };
        let mut queue: Vec<QueuedStep<'_>> = steps.into_iter().map(always).collect();
        // Steps that other steps name in `on_failure`. Each is planned once, after all others.
        let mut recovery: IndexMap<&str, Vec<(GroupId, Arc<str>)>> = IndexMap::new();
        let mut recovered = 0;
        let mut done = 0;
        loop {
            let Some(turn) = queue.pop() else {
                let Some((name, failed)) = recovery.get_index(recovered) else {
                    return;
                };
                recovered += 1;
                let condition = RunCondition::Failed(failed.clone());
                let step = workflow.steps.get(*name);
                queue.extend(step.map(|step| QueuedStep { step, condition }));
                continue;
            };
            done += 1;
            if done > workflow.steps.len() * MAX_DEPTH {
                return;
            }
            let step = turn.step;
            if !self.is_satisfied(&step.filter, subject) {
                continue;
            }
            let own = self.step(workflow, turn, subject, group, depth);
            for name in &step.on_failure {
                let causes = recovery.entry(&**name).or_default();
                causes.push((own, Arc::clone(&step.name)));
            }
            let next = step.on_success.iter();
            let next = next.filter_map(|name| workflow.steps.get(name));
            queue.extend(next.map(|step| QueuedStep {
                step,
                condition: RunCondition::Succeeded(own),
            }));
        }
    }

    fn step(
        &mut self,
        workflow: &Workflow,
        turn: QueuedStep<'_>,
        subject: &PlannedInstance,
        parent: Option<GroupId>,
        depth: usize,
    ) -> GroupId {
        let step = turn.step;
        let target = StepTarget::Node(subject.name.clone());
        let group = self.open_group(target.clone(), &workflow.name, parent);
        self.plan.groups[group].condition = turn.condition;
        for activity in &step.activities {
            match activity {
                WorkflowActivity::CallOperation { operation, inputs } => {
                    if let Some(operation) = self.called_operation(subject, step, operation, inputs)
                    {
                        let reason = Reason::Step(Arc::clone(&step.name));
                        self.push_operation(target.clone(), operation, reason, Some(group));
                    }
                }
                WorkflowActivity::SetState(state) => {
                    self.push_step(set_state(&target, state), Some(group));
                }
                WorkflowActivity::Delegate { workflow: name, .. } => {
                    let reason = Some(Reason::Workflow(Arc::clone(name)));
                    let sequence = StepSequence {
                        group: Some(group),
                        reason,
                        workflow: Arc::clone(name),
                    };
                    self.declarative(subject, &sequence);
                }
                WorkflowActivity::Inline { workflow: name, .. } if depth < MAX_DEPTH => {
                    let inner = self.topology.template().workflows.get(name).cloned();
                    let Some(inner) = inner.filter(|inner| self.may_start(inner)) else {
                        continue;
                    };
                    let steps = initial_steps(&inner);
                    let steps = steps.into_iter().filter(|step| self.applies(step, subject));
                    let steps = steps.collect();
                    self.steps(&inner, steps, subject, Some(group), depth + 1);
                }
                WorkflowActivity::Inline { .. } => {}
            }
        }
        group
    }

    /// Returns the operation that a step calls, with the step's inputs and host.
    fn called_operation(
        &self,
        subject: &PlannedInstance,
        step: &WorkflowStep,
        reference: &OperationRef,
        inputs: &Map,
    ) -> Option<Arc<Operation>> {
        let operations = &subject.template.operations;
        let (interface, name) = (reference.interface.as_str(), reference.operation.as_str());
        let mut found = find_operation(operations, interface, name, self.goal.dry_run)?;
        if !inputs.is_empty() || step.operation_host.is_some() {
            let own = Arc::make_mut(&mut found);
            for (name, value) in inputs {
                own.inputs.insert(Arc::clone(name), value.clone());
            }
            if let (Some(host), Some(implementation)) =
                (&step.operation_host, &mut own.implementation)
            {
                implementation.operation_host = Some(Arc::clone(host));
            }
        }
        Some(found)
    }

    /// Marks the last unconditional operation of a group as the one that completes its workflow.
    fn mark_final(&mut self, group: GroupId) {
        let mut stack = vec![PlanItem::Group(group)];
        while let Some(item) = stack.pop() {
            match item {
                PlanItem::Group(inner) => {
                    if !self.plan.is_conditional(inner) {
                        stack.extend(&self.plan.groups[inner].items);
                    }
                }
                PlanItem::Step(step) => {
                    if let StepActivity::Operation { .. } = self.plan.steps[step].activity {
                        self.plan.steps[step].is_final = true;
                        return;
                    }
                }
            }
        }
    }

    fn matching_instances(&self, step: &WorkflowStep) -> Vec<PlannedInstance> {
        let nodes = self.topology.nodes().into_iter();
        let subjects = nodes.map(|handle| self.subject(handle));
        subjects
            .filter(|subject| {
                self.applies(step, subject) && self.admits(subject) && self.is_selected(subject)
            })
            .collect()
    }

    /// Whether a subject belongs to the template of `--template` or is nested in it.
    fn is_selected(&self, subject: &PlannedInstance) -> bool {
        let template = self.goal.template.as_ref();
        template.is_none_or(|template| subject.template.is_or_is_nested_in(template))
    }

    fn applies(&self, step: &WorkflowStep, subject: &PlannedInstance) -> bool {
        let name = subject.template.name.as_str();
        *step.target == *name
            || subject.template.is_a(&step.target)
            || self.is_member(&step.target, name)
    }

    /// Whether a template is a member of a group of the model, directly or through nested groups.
    fn is_member(&self, group: &str, name: &str) -> bool {
        let groups = &self.topology.template().groups;
        let mut seen = HashSet::new();
        let mut open = vec![group];
        while let Some(group) = open.pop().and_then(|name| groups.get_key_value(name)) {
            let (group, members) = (group.0, &group.1.members);
            if members.iter().any(|member| **member == *name) {
                return true;
            }
            if seen.insert(group) {
                let inner = members
                    .iter()
                    .filter(|member| groups.contains_key(&***member));
                open.extend(inner.map(|member| &**member));
            }
        }
        false
    }

    /// Whether the preconditions of a workflow hold.
    fn may_start(&self, workflow: &Workflow) -> bool {
        workflow.preconditions.iter().all(|precondition| {
            let targets: Vec<_> = self.topology.template().nodes.values().collect();
            let mut targets = targets.into_iter().filter(|node| {
                let name = node.name.as_str();
                *precondition.target == *name || self.is_member(&precondition.target, name)
            });
            let mut found = false;
            let met = targets.all(|node| {
                found = true;
                let instance = self.topology.instances_of(&node.name).first().copied();
                all_clauses_hold(&precondition.conditions, &|name| {
                    self.known_value(node, instance, name)
                })
            });
            found && met
        })
    }

    fn is_satisfied(&self, clauses: &[Value], subject: &PlannedInstance) -> bool {
        all_clauses_hold(clauses, &|name| {
            self.known_value(&subject.template, subject.handle, name)
        })
    }

    /// Returns the value of an attribute as known before evaluation: the recorded value or the one
    /// written in the model.
    fn known_value(
        &self,
        template: &NodeTemplate,
        instance: Option<Handle>,
        name: &str,
    ) -> Option<Value> {
        let entity = instance.map(|handle| self.topology.entity(handle));
        let recorded = entity.and_then(|entity| {
            let attribute = entity.attributes.get(name);
            attribute.or_else(|| entity.properties.get(name))
        });
        let written = || {
            let property = template.properties.get(name);
            let declared = template.attributes.get(name);
            let default = || declared.and_then(|attribute| attribute.default.as_ref());
            property.map(|property| &property.value).or_else(default)
        };
        recorded.or_else(written).cloned()
    }
}

/// Returns the steps that no other step leads to.
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

fn set_state(target: &StepTarget, state: &Arc<str>) -> PlanStep {
    PlanStep {
        target: target.clone(),
        activity: StepActivity::SetState(Arc::clone(state)),
        reason: Reason::Workflow(Arc::clone(state)),
        start_state: None,
        group: None,
        is_final: false,
        critical: false,
    }
}
