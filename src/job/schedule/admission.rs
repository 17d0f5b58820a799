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
