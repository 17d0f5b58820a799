//! The scheduler: keeps track of which steps are done and which wait, and selects the next step.

use std::collections::{HashMap, HashSet};

use super::admission::{Admission, Admissions};
use super::order::{StepOrdering, StepRound};
use super::steps::Steps;
use super::wait_set::AwaitedAttribute;
use crate::dag::ReadyQueue;
use crate::plan::{GroupId, StepId};
use crate::value::Handle;

/// The rank of steps for instances added by the job, which run after the first round.
pub(crate) const ADDED_RANK: u8 = 1;
/// The rank of steps that wait for attributes set by others.
pub(crate) const LATE_RANK: u8 = 2;
/// The rank of steps whose awaited attributes did not change.
pub(crate) const STALLED_RANK: u8 = 4;

/// The scheduling state of a job's steps.
#[derive(Debug, Default)]
pub(crate) struct Scheduler {
    queue: ReadyQueue<StepId>,
    done: Vec<bool>,
    /// The open steps that act on each entity.
    producers: HashMap<Handle, Vec<StepId>>,
    /// The steps that each deferred step waits for.
    waiting: HashMap<StepId, Vec<StepId>>,
    /// Steps that run with the current values because the steps they wait for also wait for them.
    released: HashSet<StepId>,
    /// The live attributes that each deferred step read, with their values at that time.
    awaited: HashMap<StepId, Vec<AwaitedAttribute>>,
    /// Steps whose recorded inputs are compared again when they are due.
    pending_comparison: HashSet<StepId>,
    admissions: Admissions,
    /// Groups with all steps done that were not reported yet.
    settled_groups: Vec<GroupId>,
}

impl Scheduler {
    /// Adds the next step of the plan.
    pub(crate) fn add_step(&mut self, target: Handle) {
        let step = self.done.len();
        self.done.push(false);
        self.producers.entry(target).or_default().push(step);
    }

    pub(crate) fn is_done(&self, step: StepId) -> bool {
        self.done[step]
    }

    /// Returns the number of queued steps that are not done.
    pub(crate) fn remaining(&self) -> usize {
        self.queue.unfinished()
    }

    fn ordering<'a>(&'a self, steps: &'a dyn Steps) -> StepOrdering<'a> {
        StepOrdering {
            steps,
            done: &self.done,
            waiting: &self.waiting,
        }
    }

    /// Builds the queue from the rendered plan.
    ///
    /// Steps of a group follow each other. An instance follows the instances it requires, or precedes
    /// them if it is removed. A deferred step follows the steps that set the attributes it reads.
    pub(crate) fn build(&mut self, steps: &dyn Steps) {
        let units = steps.units(0);
        let ordering = self.ordering(steps);
        let turns = ordering.step_rounds(&units);
        let all = 0..self.done.len();
        let mut order: Vec<StepId> = all.filter(|step| ordering.is_open(*step)).collect();
        order.sort_by_key(|step| turns[*step]);
        let place = positions(&order);
        let mut edges = ordering.sequence_edges(&units);
        edges.extend(ordering.requirement_edges(&units, &place));
        for step in &order {
            let is_first = turns[*step] == StepRound::First;
            self.queue
                .add_ranked(*step, if is_first { 0 } else { LATE_RANK });
        }
        let is_forward = |step: &StepId, on: &StepId| {
            let both = place.get(on).zip(place.get(step));
            both.is_some_and(|(on, step)| on < step)
        };
        for (step, on) in edges {
            if is_forward(&step, &on) {
                self.queue.add_dependency(step, on);
            }
        }
        for (step, producers) in &self.waiting {
            for on in producers {
                self.queue.add_dependency(*step, *on);
            }
        }
    }

    /// Queues steps that were added to the plan while the job runs, starting with an item.
    ///
    /// They also wait for open steps on the instances that theirs require.
    pub(crate) fn extend(&mut self, first_item: usize, steps: &dyn Steps) {
        let units = steps.units(first_item);
        let ordering = self.ordering(steps);
        let new = units.iter().flatten().copied();
        let new: Vec<StepId> = new.filter(|step| ordering.is_open(*step)).collect();
        let place = positions(&new);
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
            self.queue.add_ranked(*step, ADDED_RANK);
        }
        for (step, on) in edges {
            self.queue.add_dependency(step, on);
        }
    }

    /// Returns the pairs of an open step and another one that it waits for.
    pub(crate) fn dependencies(&self) -> impl Iterator<Item = (StepId, StepId)> {
        self.queue.dependencies()
    }

    /// Takes the next step that is ready.
    pub(crate) fn pop(&mut self) -> Option<StepId> {
        self.queue.pop()
    }

    /// Whether any step is ready to run.
    pub(crate) fn has_ready(&self) -> bool {
        self.queue.has_ready()
    }

    /// Returns the rank of the next ready step.
    pub(crate) fn next_rank(&self) -> Option<u8> {
        self.queue.next_rank()
    }

    /// Returns the queued steps that were not taken.
    pub(crate) fn queued(&self) -> impl Iterator<Item = StepId> {
        self.queue.queued()
    }

    /// Returns a taken step to the queue, with its current waits.
    pub(crate) fn requeue(&mut self, step: StepId) {
        self.queue.put_back(step);
        for on in self.waiting.get(&step).into_iter().flatten() {
            self.queue.add_dependency(step, *on);
        }
    }

    /// Returns a step that gains nothing by waiting to the queue. The step and the rest of its group run
    /// after all others.
    pub(crate) fn requeue_last(&mut self, step: StepId, steps: &dyn Steps) {
        self.queue.set_rank(step, STALLED_RANK);
        let group = steps.group(step).map(|group| steps.steps_of(group));
        let after = group.into_iter().flatten().filter(|other| *other > step);
        for other in after {
            self.queue.set_rank(other, STALLED_RANK + 1);
        }
        self.queue.put_back(step);
    }

    /// Whether a waiting step can still let other steps go first.
    pub(crate) fn may_wait(&self, step: StepId) -> bool {
        self.queue.has_ready() && self.queue.rank(step) < STALLED_RANK
    }

    /// Marks a step as done for the queue and for the readers of its attributes.
    pub(crate) fn finish(&mut self, step: StepId, steps: &dyn Steps) {
        if std::mem::replace(&mut self.done[step], true) {
            return;
        }
        self.queue.mark_done(step);
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

    /// Takes the groups that became settled since the last call.
    pub(crate) fn take_settled_groups(&mut self) -> Vec<GroupId> {
        std::mem::take(&mut self.settled_groups)
    }

    /// Decides whether a step that is due runs.
    pub(crate) fn admission(&mut self, step: StepId, steps: &dyn Steps) -> Admission {
        let group = steps.group(step);
        group.map_or(Admission::Runs, |group| self.admissions.of(group, steps))
    }

    /// Returns the open steps that act on an entity.
    pub(crate) fn open_steps(&self, of: Handle, steps: &dyn Steps) -> Vec<StepId> {
        let open = self.producers.get(&of).into_iter().flatten().copied();
        open.filter(|step| !self.done[*step] && steps.runs(*step))
            .collect()
    }

    /// Returns the open steps on a step's own target: the preceding ones and, for an attribute without
    /// value, those of other groups.
    pub(crate) fn own_steps_before(
        &self,
        step: StepId,
        is_null: bool,
        steps: &dyn Steps,
    ) -> Vec<StepId> {
        let group = steps.group(step);
        let mut open = self.open_steps(steps.target(step), steps);
        open.retain(|other| {
            let other_group = is_null && steps.group(*other) != group;
            *other < step || (other_group && *other != step)
        });
        open
    }

    /// Whether no other step that may complete the workflow on the target is open.
    pub(crate) fn is_last_final(&self, step: StepId, steps: &dyn Steps) -> bool {
        let open = self
            .producers
            .get(&steps.target(step))
            .into_iter()
            .flatten();
        let mut others = open.filter(|other| **other != step && !self.done[**other]);
        !others.any(|other| steps.plan().steps[*other].is_final && steps.runs(*other))
    }

    /// Makes a step wait for other steps and for changes of attributes.
    pub(crate) fn defer(&mut self, step: StepId, on: Vec<StepId>, awaited: Vec<AwaitedAttribute>) {
        self.waiting.insert(step, on);
        self.awaited.insert(step, awaited);
    }

    /// Makes a step wait for other steps.
    pub(crate) fn wait(&mut self, step: StepId, on: Vec<StepId>) {
        self.waiting.insert(step, on);
    }

    /// Returns the steps that a step waits for, done or not.
    pub(crate) fn waits_for(&self, step: StepId) -> &[StepId] {
        self.waiting.get(&step).map_or(&[], Vec::as_slice)
    }

    /// Returns the attributes that a deferred step waits for. None if the step is not deferred.
    pub(crate) fn awaited(&self, step: StepId) -> Option<&[AwaitedAttribute]> {
        self.awaited.get(&step).map(Vec::as_slice)
    }

    /// Whether any open step of an instance waits for a step of another, which then goes first.
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

    /// Defers the decision whether a step runs until it is due and the steps it waits for have ended.
    pub(crate) fn defer_comparison(&mut self, step: StepId, mut on: Vec<StepId>) {
        on.retain(|producer| !self.done[*producer]);
        self.waiting.insert(step, on);
        self.pending_comparison.insert(step);
    }

    /// Returns whether the comparison of a step was deferred, and clears this.
    pub(crate) fn take_pending_comparison(&mut self, step: StepId) -> bool {
        self.pending_comparison.remove(&step)
    }

    /// Whether a step runs with the current values.
    pub(crate) fn is_released(&self, step: StepId) -> bool {
        self.released.contains(&step)
    }

    /// Whether a step in a cycle of waits can be released, because the steps before it in its group have
    /// ended.
    pub(crate) fn may_be_released(&self, step: StepId, steps: &dyn Steps) -> bool {
        let group = steps.group(step).map(|group| steps.steps_of(group));
        let before = group.into_iter().flatten();
        let mut before = before.take_while(|other| *other != step);
        !self.released.contains(&step) && before.all(|other| self.done[other])
    }

    /// Lets a step run although steps it waits for have not ended.
    pub(crate) fn release(&mut self, step: StepId) {
        self.waiting.remove(&step);
        self.released.insert(step);
        self.queue.release(step);
    }
}

/// Returns the position of each step in an order.
fn positions(order: &[StepId]) -> HashMap<StepId, usize> {
    order.iter().copied().zip(0..).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::{FakeSteps, drain, ready};
    use super::*;
    use crate::value::Value;

    #[test]
    fn the_steps_of_an_instance_come_in_their_order() {
        let mut steps = FakeSteps::default();
        steps.add_unit(1, 3);
        let mut scheduler = steps.queued();
        assert_eq!(ready(&mut scheduler), [0]);
        scheduler.finish(0, &steps);
        assert_eq!(ready(&mut scheduler), [1]);
    }

    #[test]
    fn the_turns_of_an_instance_come_one_after_the_other() {
        let mut steps = FakeSteps::default();
        steps.add_unit(1, 1);
        steps.add_unit(1, 1);
        assert_eq!(ready(&mut steps.queued()), [0]);
    }

    #[test]
    fn independent_instances_are_ready_at_the_same_time() {
        let mut steps = FakeSteps::default();
        steps.add_unit(1, 2);
        steps.add_unit(2, 2);
        assert_eq!(ready(&mut steps.queued()), [0, 2]);
    }

    #[test]
    fn an_instance_follows_the_one_that_it_requires() {
        let mut steps = FakeSteps::default();
        let host = steps.add_unit(1, 2);
        let app = steps.add_unit(2, 1);
        steps.require(2, 1);
        let mut scheduler = steps.queued();
        assert_eq!(ready(&mut scheduler), [host[0]]);
        scheduler.finish(host[0], &steps);
        assert_eq!(ready(&mut scheduler), [host[1]]);
        scheduler.finish(host[1], &steps);
        assert_eq!(ready(&mut scheduler), app);
    }

    #[test]
    fn a_requirement_through_an_instance_without_steps_counts() {
        let mut steps = FakeSteps::default();
        steps.add_unit(1, 1);
        steps.add_unit(3, 1);
        steps.require(3, 2);
        steps.require(2, 1);
        assert_eq!(ready(&mut steps.queued()), [0]);
    }

    #[test]
    fn an_instance_is_removed_before_the_one_that_it_requires() {
        let mut steps = FakeSteps::default();
        let app = steps.add_unit(2, 1);
        let host = steps.add_unit(1, 1);
        steps.require(2, 1);
        steps.removes = true;
        let mut scheduler = steps.queued();
        assert_eq!(ready(&mut scheduler), app);
        scheduler.finish(app[0], &steps);
        assert_eq!(ready(&mut scheduler), host);
    }

    #[test]
    fn a_deferred_step_comes_after_those_that_set_what_it_reads() {
        let mut steps = FakeSteps::default();
        let reader = steps.add_unit(1, 1);
        let producer = steps.add_unit(2, 1);
        steps.deferred.insert(reader[0]);
        let mut scheduler = steps.scheduler();
        scheduler.defer(reader[0], producer.clone(), Vec::new());
        scheduler.build(&steps);
        assert_eq!(drain(&mut scheduler, &steps), [producer[0], reader[0]]);
    }

    #[test]
    fn steps_of_the_second_round_come_after_all_of_the_first() {
        let mut steps = FakeSteps::default();
        let late = steps.add_unit(1, 1);
        steps.add_unit(2, 1);
        steps.add_unit(3, 1);
        steps.deferred.insert(late[0]);
        let mut scheduler = steps.queued();
        assert_eq!(drain(&mut scheduler, &steps), [1, 2, late[0]]);
    }

    #[test]
    fn what_requires_a_late_instance_is_late_as_well() {
        let mut steps = FakeSteps::default();
        let host = steps.add_unit(1, 1);
        let app = steps.add_unit(2, 1);
        let other = steps.add_unit(3, 1);
        steps.require(2, 1);
        steps.deferred.insert(host[0]);
        let mut scheduler = steps.queued();
        let expected = [other[0], host[0], app[0]];
        assert_eq!(drain(&mut scheduler, &steps), expected);
    }

    #[test]
    fn a_step_that_is_left_out_does_not_break_the_chain() {
        let mut steps = FakeSteps::default();
        steps.add_unit(1, 3);
        steps.skipped.insert(1);
        let mut scheduler = steps.queued();
        assert_eq!(ready(&mut scheduler), [0]);
        scheduler.finish(0, &steps);
        assert_eq!(ready(&mut scheduler), [2]);
        assert_eq!(scheduler.remaining(), 1);
    }

    #[test]
    fn a_step_that_is_done_is_not_queued() {
        let mut steps = FakeSteps::default();
        steps.add_unit(1, 2);
        let mut scheduler = steps.scheduler();
        scheduler.finish(0, &steps);
        scheduler.build(&steps);
        assert_eq!(drain(&mut scheduler, &steps), [1]);
    }

    #[test]
    fn a_step_that_is_put_back_waits_for_what_it_was_found_to_read() {
        let mut steps = FakeSteps::default();
        steps.add_unit(1, 1);
        steps.add_unit(2, 1);
        let mut scheduler = steps.queued();
        assert_eq!(scheduler.pop(), Some(0));
        scheduler.wait(0, vec![1]);
        scheduler.requeue(0);
        assert_eq!(ready(&mut scheduler), [1]);
        scheduler.finish(1, &steps);
        assert_eq!(ready(&mut scheduler), [0]);
    }

    #[test]
    fn a_step_that_gets_nothing_by_waiting_comes_last() {
        let mut steps = FakeSteps::default();
        steps.add_unit(1, 1);
        steps.add_unit(2, 1);
        steps.add_unit(3, 1);
        steps.deferred.insert(2);
        let mut scheduler = steps.queued();
        assert_eq!(scheduler.pop(), Some(0));
        assert!(scheduler.may_wait(0));
        scheduler.requeue_last(0, &steps);
        assert_eq!(drain(&mut scheduler, &steps), [1, 2, 0]);
    }

    #[test]
    fn a_step_that_came_last_once_waits_no_longer() {
        let mut steps = FakeSteps::default();
        steps.add_unit(1, 1);
        steps.add_unit(2, 1);
        let mut scheduler = steps.queued();
        assert_eq!(scheduler.pop(), Some(0));
        scheduler.requeue_last(0, &steps);
        assert!(!scheduler.may_wait(0));
    }

    #[test]
    fn a_released_step_waits_for_nobody() {
        let mut steps = FakeSteps::default();
        steps.add_unit(1, 1);
        steps.add_unit(2, 1);
        let mut scheduler = steps.scheduler();
        scheduler.wait(0, vec![1]);
        scheduler.wait(1, vec![0]);
        scheduler.build(&steps);
        assert!(!scheduler.has_ready());
        scheduler.release(0);
        assert!(scheduler.is_released(0) && scheduler.waits_for(0).is_empty());
        assert_eq!(drain(&mut scheduler, &steps), [0, 1]);
    }

    #[test]
    fn a_step_is_released_once_and_only_after_those_before_it_in_its_group() {
        let mut steps = FakeSteps::default();
        steps.add_unit(1, 2);
        let mut scheduler = steps.queued();
        assert!(!scheduler.may_be_released(1, &steps));
        scheduler.finish(0, &steps);
        assert!(scheduler.may_be_released(1, &steps));
        scheduler.release(1);
        assert!(!scheduler.may_be_released(1, &steps));
    }

    #[test]
    fn open_steps_are_those_of_the_job_that_are_not_done() {
        let mut steps = FakeSteps::default();
        steps.add_unit(1, 3);
        steps.skipped.insert(1);
        let mut scheduler = steps.queued();
        scheduler.finish(0, &steps);
        assert_eq!(scheduler.open_steps(Handle(1), &steps), [2]);
        assert!(scheduler.open_steps(Handle(2), &steps).is_empty());
    }

    #[test]
    fn a_step_reads_what_earlier_steps_of_its_target_set() {
        let mut steps = FakeSteps::default();
        steps.add_unit(1, 2);
        steps.add_unit(1, 1);
        let scheduler = steps.queued();
        assert_eq!(scheduler.own_steps_before(1, false, &steps), [0]);
    }

    #[test]
    fn an_attribute_without_a_value_may_be_set_by_a_later_turn_of_the_target() {
        let mut steps = FakeSteps::default();
        steps.add_unit(1, 2);
        steps.add_unit(1, 1);
        let scheduler = steps.queued();
        assert_eq!(scheduler.own_steps_before(1, true, &steps), [0, 2]);
        assert_eq!(scheduler.own_steps_before(0, true, &steps), [2]);
    }

    #[test]
    fn the_last_final_step_of_a_target_completes_it() {
        let mut steps = FakeSteps::default();
        steps.add_unit(1, 1);
        steps.add_unit(1, 1);
        steps.set_final(0);
        steps.set_final(1);
        let mut scheduler = steps.queued();
        assert!(!scheduler.is_last_final(0, &steps));
        scheduler.finish(0, &steps);
        assert!(scheduler.is_last_final(1, &steps));
    }

    #[test]
    fn a_group_is_settled_once_with_its_last_step() {
        let mut steps = FakeSteps::default();
        steps.add_unit(1, 3);
        steps.skipped.insert(2);
        let mut scheduler = steps.queued();
        scheduler.finish(0, &steps);
        assert!(scheduler.take_settled_groups().is_empty());
        scheduler.finish(1, &steps);
        scheduler.finish(1, &steps);
        assert_eq!(scheduler.take_settled_groups(), [0]);
        assert!(scheduler.take_settled_groups().is_empty());
    }

    #[test]
    fn steps_that_join_a_running_job_wait_for_what_is_left_on_required_instances() {
        let mut steps = FakeSteps::default();
        let host = steps.add_unit(1, 1);
        let mut scheduler = steps.queued();
        let first = steps.item_count();
        let added = steps.add_unit(2, 1);
        steps.require(2, 1);
        scheduler.add_step(Handle(2));
        scheduler.extend(first, &steps);
        assert_eq!(ready(&mut scheduler), host);
        scheduler.finish(host[0], &steps);
        assert_eq!(ready(&mut scheduler), added);
    }

    #[test]
    fn steps_that_join_a_running_job_come_after_the_first_round_and_before_late_ones() {
        let mut steps = FakeSteps::default();
        let late = steps.add_unit(1, 1);
        let early = steps.add_unit(2, 1);
        steps.deferred.insert(late[0]);
        let mut scheduler = steps.queued();
        let first = steps.item_count();
        let added = steps.add_unit(3, 1);
        scheduler.add_step(Handle(3));
        scheduler.extend(first, &steps);
        assert_eq!(scheduler.next_rank(), Some(0));
        let expected = [early[0], added[0], late[0]];
        assert_eq!(drain(&mut scheduler, &steps), expected);
    }

    #[test]
    fn a_deferred_comparison_is_taken_only_once() {
        let mut steps = FakeSteps::default();
        steps.add_unit(1, 1);
        steps.add_unit(2, 1);
        let mut scheduler = steps.scheduler();
        scheduler.finish(1, &steps);
        scheduler.defer_comparison(0, vec![1]);
        assert!(scheduler.waits_for(0).is_empty(), "step 1 is done");
        assert!(scheduler.take_pending_comparison(0));
        assert!(!scheduler.take_pending_comparison(0));
    }

    #[test]
    fn an_instance_waits_on_another_while_its_waiting_step_is_open() {
        let mut steps = FakeSteps::default();
        steps.add_unit(1, 1);
        steps.add_unit(2, 1);
        let mut scheduler = steps.queued();
        scheduler.wait(0, vec![1]);
        assert!(scheduler.instance_waits_on(Handle(1), Handle(2), &steps));
        assert!(!scheduler.instance_waits_on(Handle(2), Handle(1), &steps));
        scheduler.finish(0, &steps);
        assert!(!scheduler.instance_waits_on(Handle(1), Handle(2), &steps));
    }

    #[test]
    fn the_attributes_that_a_deferred_step_waits_for_are_kept_with_their_values() {
        let mut steps = FakeSteps::default();
        steps.add_unit(1, 1);
        let mut scheduler = steps.scheduler();
        assert_eq!(scheduler.awaited(0), None);
        let awaited = AwaitedAttribute {
            of: Handle(2),
            name: "port".into(),
            value: Value::from(80),
        };
        scheduler.defer(0, vec![0], vec![awaited.clone()]);
        assert_eq!(scheduler.awaited(0), Some(&[awaited][..]));
    }

    proptest! {
        /// Each instance requires only instances with smaller numbers, so cycles cannot occur.
        #[test]
        fn every_step_comes_once_and_after_those_that_it_requires(
            picks in prop::collection::vec((any::<u8>(), 1_usize..4), 1..30),
        ) {
            let mut steps = FakeSteps::default();
            let mut turns = Vec::new();
            for (number, (pick, count)) in picks.iter().enumerate() {
                let instance = u32::try_from(number).unwrap();
                turns.push(steps.add_unit(instance, *count));
                if number > 0 {
                    steps.require(instance, u32::from(*pick) % instance);
                }
            }
            let order = drain(&mut steps.queued(), &steps);
            let place = positions(&order);
            prop_assert_eq!(place.len(), turns.iter().map(Vec::len).sum::<usize>());
            prop_assert_eq!(place.len(), order.len());
            for (number, turn) in turns.iter().enumerate() {
                prop_assert!(turn.windows(2).all(|pair| place[&pair[0]] < place[&pair[1]]));
                if number > 0 {
                    let required = &turns[usize::from(picks[number].0) % number];
                    prop_assert!(place[&required[required.len() - 1]] < place[&turn[0]]);
                }
            }
        }
    }
}
