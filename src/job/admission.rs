//! Steps that run depending on how others end: `on_success` and `on_failure` of workflows.

use super::engine::Engine;
use crate::plan::{GroupId, Item, StepId, When};

/// Whether a step is part of the job once those before it have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admission {
    /// It runs.
    Runs,
    /// What it follows has failed.
    Blocked,
    /// What it is for has not happened.
    Dropped,
}

impl Engine {
    /// Whether a step whose turn has come runs.
    pub(super) fn admission(&mut self, step: StepId) -> Admission {
        let group = self.plan.steps[step].group;
        group.map_or(Admission::Runs, |group| self.admission_of(group))
    }

    /// Whether a step runs only where another has failed.
    pub(super) fn is_conditional(&self, step: StepId) -> bool {
        let group = self.plan.steps[step].group;
        group.is_some_and(|group| self.plan.is_conditional(group))
    }

    /// Uses no recursion: steps may follow each other in long chains.
    fn admission_of(&mut self, group: GroupId) -> Admission {
        let mut stack = vec![group];
        while let Some(at) = stack.last().copied() {
            let unknown = self.needed_by(at);
            let unknown: Vec<_> = unknown
                .into_iter()
                .filter(|other| !self.admissions.contains_key(other))
                .collect();
            if unknown.is_empty() || stack.len() > self.plan.groups.len() {
                let admission = self.decide(at);
                self.admissions.insert(at, admission);
                stack.pop();
            } else {
                stack.extend(unknown);
            }
        }
        self.known(group)
    }

    fn needed_by(&self, group: GroupId) -> Vec<GroupId> {
        let group = &self.plan.groups[group];
        let mut needed: Vec<GroupId> = group.parent.into_iter().collect();
        match &group.when {
            When::Always => {}
            When::Succeeded(before) => needed.push(*before),
            When::Failed(causes) => needed.extend(causes.iter().map(|(cause, _)| *cause)),
        }
        needed
    }

    fn known(&self, group: GroupId) -> Admission {
        let known = self.admissions.get(&group).copied();
        known.unwrap_or(Admission::Runs)
    }

    fn decide(&self, group: GroupId) -> Admission {
        let group = &self.plan.groups[group];
        let outer = group
            .parent
            .map_or(Admission::Runs, |parent| self.known(parent));
        if outer != Admission::Runs {
            return outer;
        }
        match &group.when {
            When::Always => Admission::Runs,
            When::Succeeded(before) => match self.known(*before) {
                Admission::Runs if self.has_failed(*before) => Admission::Blocked,
                other => other,
            },
            When::Failed(causes) => {
                let mut causes = causes.iter().map(|(cause, _)| *cause);
                let failed = causes
                    .any(|cause| self.known(cause) == Admission::Runs && self.has_failed(cause));
                if failed {
                    Admission::Runs
                } else {
                    Admission::Dropped
                }
            }
        }
    }

    /// Whether a task of a group has failed.
    fn has_failed(&self, group: GroupId) -> bool {
        let mut stack = vec![group];
        while let Some(group) = stack.pop() {
            for item in &self.plan.groups[group].items {
                match item {
                    Item::Group(inner) => stack.push(*inner),
                    Item::Step(step) => {
                        let task = self.task_of[*step];
                        if task.is_some_and(|task| self.tasks[task].has_failed()) {
                            return true;
                        }
                    }
                }
            }
        }
        false
    }
}
