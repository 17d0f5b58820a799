//! Steps that run depending on how others end: `on_success` and `on_failure` of workflows.

use std::collections::HashMap;

use super::steps::Steps;
use crate::plan::{GroupId, Item, When};

/// Whether a step is part of the job once those before it have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It runs.
    Runs,
    /// What it follows has failed.
    Blocked,
    /// What it is for has not happened.
    Dropped,
}

/// Whether groups run, as far as that is known.
#[derive(Debug, Default)]
pub(super) struct Admissions(HashMap<GroupId, Admission>);

impl Admissions {
    /// Decides whether a group runs, and those before it that this depends on. Uses no recursion:
    /// steps may follow each other in long chains.
    pub(super) fn of(&mut self, group: GroupId, steps: &dyn Steps) -> Admission {
        let mut stack = vec![group];
        while let Some(at) = stack.last().copied() {
            let mut unknown = needed_by(at, steps);
            unknown.retain(|other| !self.0.contains_key(other));
            if unknown.is_empty() || stack.len() > steps.plan().groups.len() {
                let admission = self.decide(at, steps);
                self.0.insert(at, admission);
                stack.pop();
            } else {
                stack.extend(unknown);
            }
        }
        self.known(group)
    }

    fn known(&self, group: GroupId) -> Admission {
        let known = self.0.get(&group).copied();
        known.unwrap_or(Admission::Runs)
    }

    fn decide(&self, group: GroupId, steps: &dyn Steps) -> Admission {
        let group = &steps.plan().groups[group];
        let outer = group
            .parent
            .map_or(Admission::Runs, |parent| self.known(parent));
        if outer != Admission::Runs {
            return outer;
        }
        match &group.when {
            When::Always => Admission::Runs,
            When::Succeeded(before) => match self.known(*before) {
                Admission::Runs if has_failed(*before, steps) => Admission::Blocked,
                other => other,
            },
            When::Failed(causes) => {
                let mut causes = causes.iter().map(|(cause, _)| *cause);
                let failed = causes
                    .any(|cause| self.known(cause) == Admission::Runs && has_failed(cause, steps));
                if failed {
                    Admission::Runs
                } else {
                    Admission::Dropped
                }
            }
        }
    }
}

fn needed_by(group: GroupId, steps: &dyn Steps) -> Vec<GroupId> {
    let group = &steps.plan().groups[group];
    let mut needed: Vec<GroupId> = group.parent.into_iter().collect();
    match &group.when {
        When::Always => {}
        When::Succeeded(before) => needed.push(*before),
        When::Failed(causes) => needed.extend(causes.iter().map(|(cause, _)| *cause)),
    }
    needed
}

/// Whether a task of a group has failed.
fn has_failed(group: GroupId, steps: &dyn Steps) -> bool {
    let mut stack = vec![group];
    while let Some(group) = stack.pop() {
        for item in &steps.plan().groups[group].items {
            match item {
                Item::Group(inner) => stack.push(*inner),
                Item::Step(step) if steps.has_failed(*step) => return true,
                Item::Step(_) => {}
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::testing::FakeSteps;
    use super::*;

    /// A step, and a group with another one that depends on how the first ends.
    fn after(when: impl Fn(GroupId) -> When) -> (FakeSteps, GroupId) {
        let mut steps = FakeSteps::default();
        steps.add_turn(1, 1);
        let group = steps.add_group(None, when(0));
        steps.add_step(group, 2);
        (steps, group)
    }

    fn admission(steps: &FakeSteps, group: GroupId) -> Admission {
        Admissions::default().of(group, steps)
    }

    fn on_failure(cause: GroupId) -> When {
        When::Failed(vec![(cause, "cause".into())])
    }

    #[test]
    fn a_group_without_conditions_runs() {
        let (steps, group) = after(|_| When::Always);
        assert_eq!(admission(&steps, group), Admission::Runs);
    }

    #[test]
    fn a_group_is_blocked_where_the_one_before_it_failed() {
        let (mut steps, group) = after(When::Succeeded);
        assert_eq!(admission(&steps, group), Admission::Runs);
        steps.failed.insert(0);
        assert_eq!(admission(&steps, group), Admission::Blocked);
    }

    #[test]
    fn a_group_for_failures_runs_only_after_one() {
        let (mut steps, group) = after(on_failure);
        assert_eq!(admission(&steps, group), Admission::Dropped);
        steps.failed.insert(0);
        assert_eq!(admission(&steps, group), Admission::Runs);
    }

    #[test]
    fn a_group_within_one_that_does_not_run_does_not_run_either() {
        let (mut steps, group) = after(on_failure);
        let inner = steps.add_group(Some(group), When::Always);
        assert_eq!(admission(&steps, inner), Admission::Dropped);
    }

    #[test]
    fn a_failure_within_an_inner_group_is_one_of_the_outer() {
        let mut steps = FakeSteps::default();
        let outer = steps.add_group(None, When::Always);
        let inner = steps.add_inner_group(outer);
        let step = steps.add_step(inner, 1);
        let after = steps.add_group(None, When::Succeeded(outer));
        steps.failed.insert(step);
        assert_eq!(admission(&steps, after), Admission::Blocked);
    }

    #[test]
    fn a_group_after_a_dropped_one_is_dropped() {
        let (mut steps, group) = after(on_failure);
        let next = steps.add_group(None, When::Succeeded(group));
        assert_eq!(admission(&steps, next), Admission::Dropped);
    }

    #[test]
    fn groups_that_follow_each_other_in_a_long_chain_are_decided_without_recursion() {
        let mut steps = FakeSteps::default();
        let mut last = steps.add_group(None, When::Always);
        let step = steps.add_step(last, 1);
        for _ in 0..100_000 {
            last = steps.add_group(None, When::Succeeded(last));
        }
        assert_eq!(admission(&steps, last), Admission::Runs);
        steps.failed.insert(step);
        assert_eq!(admission(&steps, last), Admission::Blocked);
    }
}
