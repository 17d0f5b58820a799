//! The scheduler: which steps are done, which wait for which, and which comes next.

use std::collections::{HashMap, HashSet};

use super::admission::{Admission, Admissions};
use super::order::{Ordering, Turn};
use super::steps::Steps;
use super::waits::Awaited;
use crate::dag::ReadyQueue;
use crate::plan::{GroupId, StepId};
use crate::value::Handle;

/// The rank of steps for instances that the job has added: after the first round.
pub(crate) const ADDED: u8 = 1;
/// The rank of steps that wait for what others set.
pub(crate) const LATE: u8 = 2;
/// The rank of steps that waited for what then did not change.
pub(crate) const STRAGGLES: u8 = 4;

/// The steps of a job on their way.
#[derive(Debug, Default)]
pub(crate) struct Scheduler {
    queue: ReadyQueue<StepId>,
    done: Vec<bool>,
    /// The steps that act on an entity and have not ended.
    producers: HashMap<Handle, Vec<StepId>>,
    /// The steps that a deferred step waits for.
    waiting: HashMap<StepId, Vec<StepId>>,
    /// Steps that go on with what there is, since what they wait for waits for them.
    released: HashSet<StepId>,
    /// The live attributes that a deferred step read, with their values then.
    awaited: HashMap<StepId, Vec<Awaited>>,
    /// Steps whose recorded reads are compared again when their turn comes.
    undecided: HashSet<StepId>,
    admissions: Admissions,
    /// The groups of which all steps are done, until somebody asks.
    settled_groups: Vec<GroupId>,
}

impl Scheduler {
    /// Adds the next step of the plan.
    pub(crate) fn add_step(&mut self, target: Handle) {
        let step = self.done.len();
        self.done.push(false);
        self.producers.entry(target).or_default().push(step);
    }

    /// Whether a step is done.
    pub(crate) fn is_done(&self, step: StepId) -> bool {
        self.done[step]
    }

    /// How many steps are queued and not done.
    pub(crate) fn left(&self) -> usize {
        self.queue.left()
    }

    fn ordering<'a>(&'a self, steps: &'a dyn Steps) -> Ordering<'a> {
        Ordering {
            steps,
            done: &self.done,
            waiting: &self.waiting,
        }
    }

    /// Builds the queue once the plan is rendered. Steps of a group follow each other; an
    /// instance follows what it requires (before it, where things are removed); a deferred step
    /// follows those that set what it reads.
    pub(crate) fn build(&mut self, steps: &dyn Steps) {
        let units = steps.units(0);
        let ordering = self.ordering(steps);
        let turns = ordering.turns(&units);
        let all = 0..self.done.len();
        let mut order: Vec<StepId> = all.filter(|step| ordering.is_open(*step)).collect();
        order.sort_by_key(|step| turns[*step]);
        let place = places(&order);
        let mut edges = ordering.sequence_edges(&units);
        edges.extend(ordering.requirement_edges(&units, &place));
        for step in &order {
            let is_first = turns[*step] == Turn::First;
            self.queue
                .add_ranked(*step, if is_first { 0 } else { LATE });
        }
        let is_forward = |step: &StepId, on: &StepId| {
            let both = place.get(on).zip(place.get(step));
            both.is_some_and(|(on, step)| on < step)
        };
        for (step, on) in edges {
            if is_forward(&step, &on) {
                self.queue.wait(step, on);
            }
        }
        for (step, producers) in &self.waiting {
            for on in producers {
                self.queue.wait(*step, *on);
            }
        }
    }

    /// Queues the steps of the plan from an item on, which came to it while the job runs: they
    /// also wait for what is left to do on the instances that theirs require.
    pub(crate) fn extend(&mut self, first_item: usize, steps: &dyn Steps) {
        let units = steps.units(first_item);
        let ordering = self.ordering(steps);
        let new = units.iter().flatten().copied();
        let new: Vec<StepId> = new.filter(|step| ordering.is_open(*step)).collect();
        let place = places(&new);
        let mut edges = ordering.sequence_edges(&units);
        edges.extend(ordering.requirement_edges(&units, &place));
        edges.retain(|(step, on)| place.get(on) < place.get(step));
        for unit in &units {
            let Some(first) = unit.iter().find(|step| place.contains_key(*step)) else {
                continue;
            };
            let required = steps.required(steps.instance(*first));
            let open = required.iter().filter_map(|it| self.producers.get(it));
            let earlier = open.flatten().filter(|step| !place.contains_key(*step));
            edges.extend(earlier.map(|on| (*first, *on)));
        }
        for step in &new {
            let on = self.waiting.get(step).into_iter().flatten();
            edges.extend(on.map(|on| (*step, *on)));
        }
        for step in &new {
            self.queue.add_ranked(*step, ADDED);
        }
        for (step, on) in edges {
            self.queue.wait(step, on);
        }
    }

    /// Takes the next step that waits for nothing.
    pub(crate) fn pop(&mut self) -> Option<StepId> {
        self.queue.pop()
    }

    /// Whether a step waits for nothing.
    pub(crate) fn has_ready(&self) -> bool {
        self.queue.has_ready()
    }

    /// The rank of the next step that waits for nothing.
    pub(crate) fn next_rank(&self) -> Option<u8> {
        self.queue.next_rank()
    }

    /// The steps that were queued and not taken.
    pub(crate) fn queued(&self) -> impl Iterator<Item = StepId> {
        self.queue.queued()
    }

    /// Puts a step back that was taken, to come again once it waits for nothing.
    pub(crate) fn put_back(&mut self, step: StepId) {
        self.queue.put_back(step);
        for on in self.waiting.get(&step).into_iter().flatten() {
            self.queue.wait(step, *on);
        }
    }

    /// Puts a step back that gets nothing by waiting: it comes after all others, and so does the
    /// rest of its group.
    pub(crate) fn put_back_last(&mut self, step: StepId, steps: &dyn Steps) {
        self.queue.set_rank(step, STRAGGLES);
        let group = steps.group(step).map(|group| steps.steps_of(group));
        let after = group.into_iter().flatten().filter(|other| *other > step);
        for other in after {
            self.queue.set_rank(other, STRAGGLES + 1);
        }
        self.queue.put_back(step);
    }

    /// Whether others than a step that waits come first still.
    pub(crate) fn may_wait(&self, step: StepId) -> bool {
        self.queue.has_ready() && self.queue.rank(step) < STRAGGLES
    }

    /// Marks a step as done, for the queue and for those that read what it sets.
    pub(crate) fn finish(&mut self, step: StepId, steps: &dyn Steps) {
        if std::mem::replace(&mut self.done[step], true) {
            return;
        }
        self.queue.done(step);
        if let Some(group) = steps.group(step)
            && self.is_settled(group, steps)
        {
            self.settled_groups.push(group);
        }
        if let Some(open) = self.producers.get_mut(&steps.target(step)) {
            open.retain(|other| *other != step);
        }
    }

    /// Whether all steps of a group are done.
    fn is_settled(&self, group: GroupId, steps: &dyn Steps) -> bool {
        let mut all = steps.steps_of(group).into_iter();
        all.all(|step| self.done[step] || !steps.runs(step))
    }

    /// The groups of which all steps were done since the last call.
    pub(crate) fn take_settled_groups(&mut self) -> Vec<GroupId> {
        std::mem::take(&mut self.settled_groups)
    }

    /// Whether a step whose turn has come runs.
    pub(crate) fn admission(&mut self, step: StepId, steps: &dyn Steps) -> Admission {
        let group = steps.group(step);
        group.map_or(Admission::Runs, |group| self.admissions.of(group, steps))
    }

    /// The steps that act on an entity and have not ended.
    pub(crate) fn open_steps(&self, of: Handle, steps: &dyn Steps) -> Vec<StepId> {
        let open = self.producers.get(&of).into_iter().flatten().copied();
        open.filter(|step| !self.done[*step] && steps.runs(*step))
            .collect()
    }

    /// The other open steps of a step's own target: those before it, and, for an attribute without
    /// a value, those of other groups.
    pub(crate) fn own_steps_before(
        &self,
        step: StepId,
        is_null: bool,
        steps: &dyn Steps,
    ) -> Vec<StepId> {
        let group = steps.group(step);
        let mut open = self.open_steps(steps.target(step), steps);
        open.retain(|other| {
            let elsewhere = is_null && steps.group(*other) != group;
            *other < step || (elsewhere && *other != step)
        });
        open
    }

    /// Whether a step ended last among those of its target that may complete what is done to it.
    pub(crate) fn is_last_final(&self, step: StepId, steps: &dyn Steps) -> bool {
        let open = self
            .producers
            .get(&steps.target(step))
            .into_iter()
            .flatten();
        let mut others = open.filter(|other| **other != step && !self.done[**other]);
        !others.any(|other| steps.plan().steps[*other].is_final && steps.runs(*other))
    }

    /// Lets a step wait for others, and for attributes to get other values.
    pub(crate) fn defer(&mut self, step: StepId, on: Vec<StepId>, awaited: Vec<Awaited>) {
        self.waiting.insert(step, on);
        self.awaited.insert(step, awaited);
    }

    /// Lets a step wait for others.
    pub(crate) fn wait(&mut self, step: StepId, on: Vec<StepId>) {
        self.waiting.insert(step, on);
    }

    /// The steps that a step waits for, done or not.
    pub(crate) fn waits_for(&self, step: StepId) -> &[StepId] {
        self.waiting.get(&step).map_or(&[], Vec::as_slice)
    }

    /// The attributes that a deferred step waits for; none if it was not deferred.
    pub(crate) fn awaited(&self, step: StepId) -> Option<&[Awaited]> {
        self.awaited.get(&step).map(Vec::as_slice)
    }

    /// Whether an instance has steps that wait for one of another: then the other goes first.
    pub(crate) fn instance_waits_on(
        &self,
        instance: Handle,
        other: Handle,
        steps: &dyn Steps,
    ) -> bool {
        let open = self.producers.get(&instance).map_or(&[][..], Vec::as_slice);
        let mut open = open.iter().filter(|step| !self.done[**step]);
        open.any(|step| {
            let on = self.waits_for(*step);
            on.iter().any(|producer| steps.target(*producer) == other)
        })
    }

    /// Leaves open whether a step runs, until its turn comes and those that it waits for have ended.
    pub(crate) fn leave_undecided(&mut self, step: StepId, mut on: Vec<StepId>) {
        on.retain(|producer| !self.done[*producer]);
        self.waiting.insert(step, on);
        self.undecided.insert(step);
    }

    /// Says once whether it was left open if a step runs.
    pub(crate) fn take_undecided(&mut self, step: StepId) -> bool {
        self.undecided.remove(&step)
    }

    /// Whether a step goes on with what there is.
    pub(crate) fn is_released(&self, step: StepId) -> bool {
        self.released.contains(&step)
    }

    /// Whether a step that waits for others, which wait for it, can be released: those before it in
    /// its group have ended.
    pub(crate) fn may_be_released(&self, step: StepId, steps: &dyn Steps) -> bool {
        let group = steps.group(step).map(|group| steps.steps_of(group));
        let before = group.into_iter().flatten();
        let mut before = before.take_while(|other| *other != step);
        !self.released.contains(&step) && before.all(|other| self.done[other])
    }

    /// Lets a step go on although others that it waits for have not ended.
    pub(crate) fn release(&mut self, step: StepId) {
        self.waiting.remove(&step);
        self.released.insert(step);
        self.queue.release(step);
    }
}

/// The places of steps in an order.
fn places(order: &[StepId]) -> HashMap<StepId, usize> {
    order.iter().copied().zip(0..).collect()
}
