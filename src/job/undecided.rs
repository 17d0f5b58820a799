//! Operations that would run again only if what others set in this job changes what they read.

use std::collections::{HashMap, HashSet};

use super::engine::Engine;
use super::task::{Stage, TaskIndex};
use crate::expr::Reads;
use crate::plan::StepId;

/// An operation whose recorded reads are as they were.
#[derive(Debug)]
pub(super) struct Unchanged {
    pub(super) step: StepId,
    pub(super) task: TaskIndex,
    pub(super) reads: Reads,
}

impl Engine {
    /// Leaves out what has not changed, unless it reads what a task of this job may set: that is
    /// compared again when its turn comes.
    pub(super) fn settle_unchanged(&mut self) {
        let unchanged = std::mem::take(&mut self.unchanged);
        let candidates: HashSet<StepId> = unchanged.iter().map(|it| it.step).collect();
        let active = (0..self.plan.steps.len())
            .filter(|step| !self.done[*step] && !candidates.contains(step) && self.runs(*step));
        let mut active: Vec<StepId> = active.collect();
        let mut waits: HashMap<StepId, Vec<StepId>> = HashMap::new();
        let mut readers: HashMap<StepId, Vec<StepId>> = HashMap::new();
        if !active.is_empty() {
            for it in &unchanged {
                let on = self
                    .waits_for(it.step, it.task, &it.reads, false)
                    .on_others();
                for producer in &on {
                    readers.entry(*producer).or_default().push(it.step);
                }
                waits.insert(it.step, on);
            }
        }
        let mut undecided = HashSet::new();
        while let Some(producer) = active.pop() {
            for reader in readers.remove(&producer).unwrap_or_default() {
                if undecided.insert(reader) {
                    active.push(reader);
                }
            }
        }
        for it in &unchanged {
            if !undecided.contains(&it.step) {
                self.skip(it.step, it.task, "no change detected");
            }
        }
        for it in unchanged.iter().filter(|it| undecided.contains(&it.step)) {
            let mut on = waits.remove(&it.step).unwrap_or_default();
            on.retain(|producer| !self.done[*producer]);
            self.tasks[it.task].stage = Stage::Deferred;
            self.waiting.insert(it.step, on);
        }
        self.undecided.extend(undecided);
    }

    /// Compares again what was left open; leaves it out where it still has not changed.
    pub(super) fn stays_unchanged(&mut self, step: StepId, index: TaskIndex) -> bool {
        if !self.undecided.remove(&step) {
            return false;
        }
        let (change, reads) = self.has_changed(index);
        self.commit_reads(index, &reads);
        let changed = change.is_change();
        self.tasks[index].change = change;
        if !changed {
            self.tasks[index].stage = Stage::Skipped;
            self.tasks[index].note = Some("no change detected".to_owned());
            self.finish_step(step);
        }
        !changed
    }
}
