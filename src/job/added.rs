//! Instances that tasks add while the job runs: what has to be done for them joins the plan.

use super::engine::Engine;
use super::event::Error;
use super::event::Level;
use super::schedule::ADDED;
use super::world::Folders;
use crate::plan::{Goal, Item, Plan, plan_added};
use crate::value::Handle;

/// How often instances that were added may have others added.
const MOST_ROUNDS: usize = 1000;

impl Engine {
    /// Whether it is the turn of what was added: all steps of the first round have started.
    pub(super) fn is_turn_of_added(&self) -> bool {
        !self.added.is_empty() && self.scheduler.next_rank().is_none_or(|rank| rank >= ADDED)
    }

    /// Plans and renders what the instances that tasks have added need, and queues it.
    pub(super) fn plan_added(&mut self, folders: &mut dyn Folders) -> Result<(), Error> {
        self.rounds += 1;
        if self.rounds > MOST_ROUNDS {
            self.added.clear();
            let text = format!("instances add instances more than {MOST_ROUNDS} times");
            self.say(Level::Error, text.clone());
            self.ledger.aborted = Some(text);
        }
        for added in std::mem::take(&mut self.added) {
            // In upstream this is a job of its own, which takes a number.
            self.ledger.next_number();
            let names = added.iter();
            let goal = Goal {
                workflow: self.options.goal.workflow.clone(),
                instances: names
                    .map(|of| self.topology.entity(*of).name.clone())
                    .collect(),
                dry_run: self.options.goal.dry_run,
                ..Goal::default()
            };
            let added = added.iter().copied();
            let added: Vec<Handle> = added
                .filter(|of| self.topology.entity(*of).node().is_some())
                .collect();
            let plan = plan_added(&self.topology, &goal, &added);
            self.extend(plan, folders)?;
        }
        Ok(())
    }

    fn extend(&mut self, plan: Plan, folders: &mut dyn Folders) -> Result<(), Error> {
        let (steps, groups) = (self.plan.steps.len(), self.plan.groups.len());
        let items = self.plan.items.len();
        let moved = |item: Item| match item {
            Item::Step(step) => Item::Step(step + steps),
            Item::Group(group) => Item::Group(group + groups),
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
        self.plan.left.extend(plan.left);
        for (name, status) in plan.statuses {
            if let Some(of) = self.topology.find(name.as_str()) {
                self.topology_mut().set_local(of, Some(status));
            }
        }
        for step in steps..self.plan.steps.len() {
            self.add_task_of(step)?;
            if let Some(task) = self.steps.tasks[step] {
                self.ledger.tasks[task].spec.follows = true;
            }
        }
        self.render_steps(steps, folders);
        let (scheduler, job_steps) = self.schedule();
        scheduler.extend(items, &job_steps);
        Ok(())
    }
}
