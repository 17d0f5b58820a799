//! Conditions of groups: steps that run depending on the result of others (`on_success` and `on_failure`
//! of workflows).

use std::collections::HashMap;

use super::steps::Steps;
use crate::plan::{GroupId, PlanItem, RunCondition};

/// Whether a step runs, as decided when the steps before it have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    Runs,
    /// The step on which this one depends has failed.
    Blocked,
    /// The failure that the step handles has not occurred.
    NotNeeded,
}

/// The admissions of groups decided so far.
#[derive(Debug, Default)]
pub(super) struct Admissions(HashMap<GroupId, Admission>);

impl Admissions {
    /// Decides whether a group runs, together with the groups that this depends on.
    ///
    /// Works without recursion because steps may form long chains.
    pub(super) fn of(&mut self, group: GroupId, steps: &dyn Steps) -> Admission {
        let mut stack = vec![group];
        while let Some(at) = stack.last().copied() {
            let mut unknown = group_dependencies(at, steps);
            unknown.retain(|other| !self.0.contains_key(other));
            if unknown.is_empty() || stack.len() > steps.plan().groups.len() {
                let admission = self.decide(at, steps);
                self.0.insert(at, admission);
                stack.pop();
            } else {
                stack.extend(unknown);
            }
        }
        self.cached_admission(group)
    }

    fn cached_admission(&self, group: GroupId) -> Admission {
        let known = self.0.get(&group).copied();
        known.unwrap_or(Admission::Runs)
    }

    fn decide(&self, group: GroupId, steps: &dyn Steps) -> Admission {
        let group = &steps.plan().groups[group];
        let outer = group
            .parent
            .map_or(Admission::Runs, |parent| self.cached_admission(parent));
        if outer != Admission::Runs {
            return outer;
        }
        match &group.condition {
            RunCondition::Always => Admission::Runs,
            RunCondition::Succeeded(before) => match self.cached_admission(*before) {
                Admission::Runs if has_failed(*before, steps) => Admission::Blocked,
                other => other,
            },
            RunCondition::Failed(causes) => {
                let mut causes = causes.iter().map(|(cause, _)| *cause);
                let failed = causes.any(|cause| {
                    self.cached_admission(cause) == Admission::Runs && has_failed(cause, steps)
                });
                if failed {
                    Admission::Runs
                } else {
                    Admission::NotNeeded
                }
            }
        }
    }
}

fn group_dependencies(group: GroupId, steps: &dyn Steps) -> Vec<GroupId> {
    let group = &steps.plan().groups[group];
    let mut needed: Vec<GroupId> = group.parent.into_iter().collect();
    match &group.condition {
        RunCondition::Always => {}
        RunCondition::Succeeded(before) => needed.push(*before),
        RunCondition::Failed(causes) => needed.extend(causes.iter().map(|(cause, _)| *cause)),
    }
    needed
}

/// Whether any task of a group has failed.
fn has_failed(group: GroupId, steps: &dyn Steps) -> bool {
    let mut stack = vec![group];
    while let Some(group) = stack.pop() {
        for item in &steps.plan().groups[group].items {
            match item {
                PlanItem::Group(inner) => stack.push(*inner),
                PlanItem::Step(step) if steps.has_failed(*step) => return true,
                PlanItem::Step(_) => {}
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::testing::FakeSteps;
    use super::*;

    /// Returns a step in a group, and another group whose condition depends on the first.
    fn after(when: impl Fn(GroupId) -> RunCondition) -> (FakeSteps, GroupId) {
        let mut steps = FakeSteps::default();
        steps.add_unit(1, 1);
        let group = steps.add_group(None, when(0));
        steps.add_step(group, 2);
        (steps, group)
    }

    fn admission(steps: &FakeSteps, group: GroupId) -> Admission {
        Admissions::default().of(group, steps)
    }

    fn on_failure(cause: GroupId) -> RunCondition {
        RunCondition::Failed(vec![(cause, "cause".into())])
    }

    #[test]
    fn a_group_without_conditions_runs() {
        let (steps, group) = after(|_| RunCondition::Always);
        assert_eq!(admission(&steps, group), Admission::Runs);
    }

    #[test]
    fn a_group_is_blocked_where_the_one_before_it_failed() {
        let (mut steps, group) = after(RunCondition::Succeeded);
        assert_eq!(admission(&steps, group), Admission::Runs);
        steps.failed.insert(0);
        assert_eq!(admission(&steps, group), Admission::Blocked);
    }

    #[test]
    fn a_group_for_failures_runs_only_after_one() {
        let (mut steps, group) = after(on_failure);
        assert_eq!(admission(&steps, group), Admission::NotNeeded);
        steps.failed.insert(0);
        assert_eq!(admission(&steps, group), Admission::Runs);
    }

    #[test]
    fn a_group_within_one_that_does_not_run_does_not_run_either() {
        let (mut steps, group) = after(on_failure);
        let inner = steps.add_group(Some(group), RunCondition::Always);
        assert_eq!(admission(&steps, inner), Admission::NotNeeded);
    }

    #[test]
    fn a_failure_within_an_inner_group_is_one_of_the_outer() {
        let mut steps = FakeSteps::default();
        let outer = steps.add_group(None, RunCondition::Always);
        let inner = steps.add_inner_group(outer);
        let step = steps.add_step(inner, 1);
        let after = steps.add_group(None, RunCondition::Succeeded(outer));
        steps.failed.insert(step);
        assert_eq!(admission(&steps, after), Admission::Blocked);
    }

    #[test]
    fn a_group_after_a_dropped_one_is_dropped() {
        let (mut steps, group) = after(on_failure);
        let next = steps.add_group(None, RunCondition::Succeeded(group));
        assert_eq!(admission(&steps, next), Admission::NotNeeded);
    }

    #[test]
    fn groups_that_follow_each_other_in_a_long_chain_are_decided_without_recursion() {
        let mut steps = FakeSteps::default();
        let mut last = steps.add_group(None, RunCondition::Always);
        let step = steps.add_step(last, 1);
        for _ in 0..100_000 {
            last = steps.add_group(None, RunCondition::Succeeded(last));
        }
        assert_eq!(admission(&steps, last), Admission::Runs);
        steps.failed.insert(step);
        assert_eq!(admission(&steps, last), Admission::Blocked);
    }
}
