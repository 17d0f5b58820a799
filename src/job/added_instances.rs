//! Instances that tasks add while the job runs: their steps are planned and appended to the running plan.

use super::engine::Engine;
use super::event::Error;
use super::event::LogLevel;
use super::ports::TaskFolders;
use super::schedule::ADDED_RANK;
use crate::plan::{JobGoal, Plan, PlanItem, plan_added};
use crate::value::Handle;

/// The maximum number of rounds in which added instances may add further ones.
const MAX_ROUNDS: usize = 1000;

impl Engine {
    /// Whether the added instances are to be planned now, because all steps of the first round have
    /// started.
    pub(super) fn are_added_instances_due(&self) -> bool {
        !self.added_instances.is_empty()
            && self
                .scheduler
                .next_rank()
                .is_none_or(|rank| rank >= ADDED_RANK)
    }

    /// Plans, renders and queues the steps for instances that tasks have added.
    pub(super) fn plan_added_instances(
        &mut self,
        folders: &mut dyn TaskFolders,
    ) -> Result<(), Error> {
        self.added_rounds += 1;
        if self.added_rounds > MAX_ROUNDS {
            self.added_instances.clear();
            let text = format!(
                "added instances have added further instances more than {MAX_ROUNDS} times; check \
                 the `resultTemplate` of their operations"
            );
            self.log(LogLevel::Error, text.clone());
            self.ledger.aborted = Some(text);
        }
        for added in std::mem::take(&mut self.added_instances) {
            // Unfurl (Python) runs these as a job of their own, which consumes a task number.
            self.ledger.next_number();
            let names = added.iter();
            let goal = JobGoal {
                workflow: self.options.goal.workflow.clone(),
                instances: names
                    .map(|of| self.topology.entity(*of).name.clone())
                    .collect(),
                dry_run: self.options.goal.dry_run,
                ..JobGoal::default()
            };
            let added = added.iter().copied();
            let added: Vec<Handle> = added
                .filter(|of| self.topology.entity(*of).node().is_some())
                .collect();
            let plan = plan_added(&self.topology, &goal, &added);
            self.extend_plan(plan, folders)?;
        }
        Ok(())
    }

    fn extend_plan(&mut self, plan: Plan, folders: &mut dyn TaskFolders) -> Result<(), Error> {
        let (steps, groups) = (self.plan.steps.len(), self.plan.groups.len());
        let items = self.plan.items.len();
        let moved = |item: PlanItem| match item {
            PlanItem::Step(step) => PlanItem::Step(step + steps),
            PlanItem::Group(group) => PlanItem::Group(group + groups),
        };
        for mut step in plan.steps {
            step.group = step.group.map(|group| group + groups);
            self.plan.steps.push(step);
        }
        for mut group in plan.groups {
            group.items = group.items.into_iter().map(moved).collect();
            self.plan.groups.push(group);
        }
        self.plan.items.extend(plan.items.into_iter().map(moved));
        self.plan.no_action.extend(plan.no_action);
        for (name, status) in plan.statuses {
            if let Some(of) = self.topology.find(name.as_str()) {
                self.topology_mut().set_local(of, Some(status));
            }
        }
        for step in steps..self.plan.steps.len() {
            self.add_task_of(step)?;
            if let Some(task) = self.steps.tasks[step] {
                self.ledger.tasks[task].spec.is_for_added = true;
            }
        }
        self.render_steps(steps, folders);
        let (scheduler, job_steps) = self.schedule();
        scheduler.extend(items, &job_steps);
        Ok(())
    }
}
