//! Deferred comparison: unchanged operations that must be compared again because another task of the job
//! may change their inputs.

use std::collections::{HashMap, HashSet};

use super::engine::Engine;
use super::render::NO_CHANGE;
use super::schedule::Steps as _;
use super::task::TaskIndex;
use super::task_stage::TaskStage;
use crate::expr::Reads;
use crate::plan::StepId;

/// An operation whose recorded inputs have not changed so far.
#[derive(Debug)]
pub(super) struct UnchangedStep {
    pub(super) step: StepId,
    pub(super) task: TaskIndex,
    pub(super) reads: Reads,
}

impl Engine {
    /// Skips unchanged operations, except those that read attributes which a task of this job may set.
    ///
    /// The latter are compared again when they are due.
    pub(super) fn skip_unchanged(&mut self, unchanged: &[UnchangedStep]) {
        let candidates: HashSet<StepId> = unchanged.iter().map(|it| it.step).collect();
        let steps = self.job_steps();
        let open = (0..self.plan.steps.len()).filter(|step| !self.scheduler.is_done(*step));
        let active = open.filter(|step| !candidates.contains(step) && steps.runs(*step));
        let mut active: Vec<StepId> = active.collect();
        let mut waits: HashMap<StepId, Vec<StepId>> = HashMap::new();
        let mut readers: HashMap<StepId, Vec<StepId>> = HashMap::new();
        if !active.is_empty() {
            for it in unchanged {
                let on = self
                    .wait_set(it.step, it.task, &it.reads, false)
                    .on_others();
                for producer in &on {
                    readers.entry(*producer).or_default().push(it.step);
                }
                waits.insert(it.step, on);
            }
        }
        let mut deferred = HashSet::new();
        while let Some(producer) = active.pop() {
            for reader in readers.remove(&producer).unwrap_or_default() {
                if deferred.insert(reader) {
                    active.push(reader);
                }
            }
        }
        for it in unchanged {
            if !deferred.contains(&it.step) {
                self.skip(it.step, it.task, NO_CHANGE);
            }
        }
        for it in unchanged.iter().filter(|it| deferred.contains(&it.step)) {
            let on = waits.remove(&it.step).unwrap_or_default();
            self.ledger.tasks[it.task].stage = TaskStage::Deferred;
            self.scheduler.defer_comparison(it.step, on);
        }
    }

    /// Repeats the deferred comparison of a step and returns whether it is still unchanged. A step that
    /// was not deferred counts as changed.
    pub(super) fn is_still_unchanged(&mut self, step: StepId, index: TaskIndex) -> bool {
        if !self.scheduler.take_pending_comparison(step) {
            return false;
        }
        let (change, reads) = self.compare(index);
        self.commit_reads(index, &reads);
        let is_change = change.is_change();
        self.ledger.tasks[index].change = change;
        !is_change
    }
}
