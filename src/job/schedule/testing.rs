//! Fake steps for tests of the scheduler.

use std::collections::{HashMap, HashSet};

use super::scheduler::Scheduler;
use super::steps::Steps;
use crate::plan::{
    GroupId, Plan, PlanItem, PlanStep, Reason, RunCondition, StepActivity, StepGroup, StepId,
    StepTarget,
};
use crate::value::Handle;

/// Steps in groups, with one group for each workflow run on an instance.
#[derive(Debug, Default)]
pub(super) struct FakeSteps {
    plan: Plan,
    instances: Vec<Handle>,
    pub(super) skipped: HashSet<StepId>,
    pub(super) deferred: HashSet<StepId>,
    pub(super) failed: HashSet<StepId>,
    pub(super) removes: bool,
    requires: HashMap<Handle, Vec<Handle>>,
}

impl FakeSteps {
    /// Adds a group of steps for an instance at the end of the plan, and returns the steps.
    pub(super) fn add_unit(&mut self, instance: u32, steps: usize) -> Vec<StepId> {
        let group = self.add_group(None, RunCondition::Always);
        self.plan.items.push(PlanItem::Group(group));
        (0..steps).map(|_| self.add_step(group, instance)).collect()
    }

    /// Adds a group that does not belong to any item yet.
    pub(super) fn add_group(&mut self, parent: Option<GroupId>, when: RunCondition) -> GroupId {
        self.plan.groups.push(StepGroup {
            target: StepTarget::Node("any".into()),
            workflow: "deploy".into(),
            items: Vec::new(),
            parent,
            condition: when,
        });
        self.plan.groups.len() - 1
    }

    pub(super) fn add_inner_group(&mut self, outer: GroupId) -> GroupId {
        let group = self.add_group(Some(outer), RunCondition::Always);
        self.plan.groups[outer].items.push(PlanItem::Group(group));
        group
    }

    /// Adds a step to a group.
    pub(super) fn add_step(&mut self, group: GroupId, instance: u32) -> StepId {
        let step = self.plan.steps.len();
        self.plan.steps.push(PlanStep {
            target: StepTarget::Node("any".into()),
            activity: StepActivity::SetState("started".into()),
            reason: Reason::Add,
            start_state: None,
            group: Some(group),
            is_final: false,
            critical: false,
        });
        self.plan.groups[group].items.push(PlanItem::Step(step));
        self.instances.push(Handle(instance));
        step
    }

    /// Returns the number of items, to be read before adding a group to a running job.
    pub(super) fn item_count(&self) -> usize {
        self.plan.items.len()
    }

    pub(super) fn set_final(&mut self, step: StepId) {
        self.plan.steps[step].is_final = true;
    }

    pub(super) fn require(&mut self, instance: u32, required: u32) {
        let all = self.requires.entry(Handle(instance)).or_default();
        all.push(Handle(required));
    }

    /// Returns a scheduler that knows all steps but has not queued them.
    pub(super) fn scheduler(&self) -> Scheduler {
        let mut scheduler = Scheduler::default();
        for instance in &self.instances {
            scheduler.add_step(*instance);
        }
        scheduler
    }

    /// Returns a scheduler with all steps queued.
    pub(super) fn queued(&self) -> Scheduler {
        let mut scheduler = self.scheduler();
        scheduler.build(self);
        scheduler
    }
}

impl Steps for FakeSteps {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn target(&self, step: StepId) -> Handle {
        self.instances[step]
    }

    fn instance(&self, step: StepId) -> Handle {
        self.instances[step]
    }

    fn runs(&self, step: StepId) -> bool {
        !self.skipped.contains(&step)
    }

    fn is_deferred(&self, step: StepId) -> bool {
        self.deferred.contains(&step)
    }

    fn has_failed(&self, step: StepId) -> bool {
        self.failed.contains(&step)
    }

    fn removes(&self, _step: StepId) -> bool {
        self.removes
    }

    fn required(&self, instance: Handle) -> Vec<Handle> {
        self.requires.get(&instance).cloned().unwrap_or_default()
    }

    fn exclusive_key(&self, _step: StepId) -> Option<Handle> {
        None
    }
}

/// Takes all steps in order, finishing each before taking the next.
pub(super) fn drain(scheduler: &mut Scheduler, steps: &FakeSteps) -> Vec<StepId> {
    let mut order = Vec::new();
    while let Some(step) = scheduler.pop() {
        scheduler.finish(step, steps);
        order.push(step);
    }
    order
}

/// Takes all steps that are ready.
pub(super) fn ready(scheduler: &mut Scheduler) -> Vec<StepId> {
    std::iter::from_fn(|| scheduler.pop()).collect()
}
