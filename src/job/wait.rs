//! What a task must wait for: steps that may still set what it reads.

use super::engine::Engine;
use super::observe::{is_declared, is_live, may_be_set};
use super::render::{Awaited, Rendering};
use super::task::{Stage, TaskIndex};
use crate::expr::Reads;
use crate::name::Status;
use crate::plan::{StepId, Workflow};
use crate::value::{Handle, Value};

/// The steps that may still set attributes which a task has read.
#[derive(Debug, Default)]
pub(super) struct Waits {
    /// Those of other instances.
    steps: Vec<StepId>,
    /// Those of its own target.
    own: Vec<StepId>,
    awaited: Vec<Awaited>,
    /// Whether the task must be looked at again only because steps before it come first anyway.
    is_sure: bool,
}

impl Waits {
    /// The steps of other instances, each once.
    pub(super) fn on_others(mut self) -> Vec<StepId> {
        self.steps.sort_unstable();
        self.steps.dedup();
        self.steps
    }

    /// What that means for a step; none where it can go on.
    pub(super) fn into_rendering(mut self, step: StepId) -> Option<Rendering> {
        self.steps.append(&mut self.own);
        self.steps.sort_unstable();
        self.steps.dedup();
        if self.steps.is_empty() {
            return None;
        }
        let all_before = self.steps.iter().all(|on| *on < step);
        Some(if all_before && !self.is_sure {
            Rendering::Follows(self.steps)
        } else {
            Rendering::Waits(self.steps, self.awaited)
        })
    }
}

impl Engine {
    /// The steps that may still set a live attribute among those that a task read.
    ///
    /// An attribute that is set, or declared, makes the task wait until the steps of its instance
    /// have ended, in the second round. One that only an open type lets somebody set, and those
    /// of the task's own target, are read again after the steps before this one, in its place.
    pub(super) fn waits_for(
        &self,
        step: StepId,
        index: TaskIndex,
        reads: &Reads,
        failed: bool,
    ) -> Waits {
        let mut waits = Waits::default();
        if self.tasks[index]
            .group
            .is_some_and(|g| &*self.plan.groups[g].workflow == "undeploy")
        {
            return waits;
        }
        let own = self.tasks[index].target;
        for read in self.live_reads(index, reads) {
            let declared = is_declared(&self.topology, read.of, &read.name);
            if read.of == own {
                if declared || !failed {
                    waits.own.extend(self.own_steps_before(step, own, &read));
                }
                continue;
            }
            let open = self.open_steps(read.of);
            if !open.is_empty() {
                let entity = self.topology.entity(read.of);
                waits.is_sure |= declared || entity.attributes.contains_key(&read.name);
                waits.steps.extend(open);
                waits.awaited.push(read);
            }
        }
        waits
    }

    /// The live attributes among those that a task read, directly and through others, and those
    /// that were not there but may be set.
    fn live_reads(&self, index: TaskIndex, reads: &Reads) -> Vec<Awaited> {
        let nested = self.evaluator_for(index).closure(reads, usize::MAX);
        let absent = self.memo.absent(reads, usize::MAX).into_iter();
        let absent = absent.filter(|(of, name)| may_be_set(&self.topology, *of, name));
        let absent = absent.map(|(of, name)| (of, name, Value::Null));
        let all = absent.chain(nested);
        let live = all.filter(|(of, name, _)| is_live(&self.topology, *of, name) == Some(true));
        live.map(|(of, name, value)| Awaited { of, name, value })
            .collect()
    }

    /// Whether a deferred step that follows a failed one could not be rendered, since it reads
    /// what belongs to instances that do not work.
    pub(super) fn lacks(&mut self, step: StepId, index: TaskIndex) -> bool {
        if self.tasks[index].stage != Stage::Deferred {
            return false;
        }
        let (rendered, reads) = self.with_view(index, true, |view| {
            self.tasks[index].configurator.render(view)
        });
        let own = self.tasks[index].target;
        let others = self.live_reads(index, &reads).into_iter();
        let mut others = others.filter(|read| read.of != own);
        let lacks = rendered.is_err()
            || self.awaited.contains_key(&step)
            || others.any(|read| !self.works(read.of));
        if !lacks {
            self.commit_reads(index, &reads);
        }
        lacks
    }

    /// Whether a step waited for one that never ran.
    pub(super) fn waited_in_vain(&self, step: StepId) -> bool {
        let on = self.waiting.get(&step).into_iter().flatten();
        let mut tasks = on
            .filter_map(|on| self.task_of[*on])
            .map(|on| &self.tasks[on]);
        tasks.any(|task| {
            let outcome = task.outcome.as_ref().filter(|_| !task.entered);
            outcome.is_some_and(|outcome| outcome.status.is_none())
        })
    }

    /// Whether an instance works by itself, or together with what it depends on.
    pub(super) fn works(&self, of: Handle) -> bool {
        let local = self.topology.entity(of).local;
        local.is_some_and(Status::is_operational) || self.topology.is_operational(of)
    }

    /// The steps that act on an entity and have not ended.
    fn open_steps(&self, of: Handle) -> Vec<StepId> {
        let open = self.producers.get(&of).into_iter().flatten().copied();
        open.filter(|step| !self.done[*step] && self.runs(*step))
            .collect()
    }

    /// The other open steps of a step's own target: those before it, and where the attribute has
    /// no value yet those of other groups.
    fn own_steps_before(&self, step: StepId, own: Handle, read: &Awaited) -> Vec<StepId> {
        let group = self.plan.steps[step].group;
        let mut open = self.open_steps(own);
        open.retain(|other| {
            let elsewhere = read.value.is_null() && self.plan.steps[*other].group != group;
            *other < step || (elsewhere && *other != step)
        });
        open
    }

    /// Whether a step that waits for others, which wait for it, can go on with what there is: those
    /// before it in its group have ended, and what it reads belongs to what works.
    pub(super) fn can_go_on(&self, step: StepId) -> bool {
        let group = self.plan.steps[step].group;
        let before = group.map(|group| self.steps_of(group)).unwrap_or_default();
        let mut before = before.into_iter().take_while(|other| *other != step);
        if self.released.contains(&step) || before.any(|other| !self.done[other]) {
            return false;
        }
        let deploys = self.options.goal.workflow == Workflow::Deploy;
        let awaited = self.awaited.get(&step).into_iter().flatten();
        !deploys || awaited.into_iter().all(|read| self.works(read.of))
    }

    /// Lets a step go on although others that it waits for have not ended.
    pub(super) fn release(&mut self, step: StepId) {
        self.waiting.remove(&step);
        self.released.insert(step);
        self.queue.release(step);
    }
}
