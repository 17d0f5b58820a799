//! Batching: collects the changes of consecutive states into one list, to save round trips to the host.
//!
//! Each state in the batch is decided on the assumption that the states before it succeed. If one fails, the
//! engine rolls back to it, and the states after it are decided again.

use super::engine::{Engine, NextAction, StepOutcome};
use super::pending_batch::{BatchedState, Checkpoint, PendingBatch};
use super::prefetch::note_present_modes;
use super::result::ChunkStatus;
use super::running::{
    ActionOwner, CallPurpose, PendingChanges, RunDecision, RunStage, RunningState,
};
use crate::host::RunOutput;
use crate::host::change::Change;
use crate::states::{ChangeOutcome, FactCache, Mode, StateDecision, StateOutcome};

/// The keywords that keep a state out of a batch, because it needs its real result or runs in parallel.
const UNBATCHED_KEYWORDS: [&str; 3] = ["retry", "check_cmd", "parallel"];

/// The changes of a state whose success is assumed.
pub(super) struct BatchedChanges {
    pending: PendingChanges,
    steps: Vec<Change>,
    warnings: Vec<String>,
}

/// The decision whether a state joins the batch.
#[expect(
    clippy::large_enum_variant,
    reason = "the value is destructured right after it is made"
)]
pub(super) enum BatchDecision {
    /// The state joins the batch: its success is assumed, or its outcome is final without changes.
    Batched(StateOutcome, Option<Box<BatchedChanges>>),
    /// The open batch must be applied first. Then the state is decided again.
    Flush,
    /// The state runs on its own.
    Standalone,
}

impl Engine {
    /// Decides a state on the assumption that the states in the batch succeed, if it is suitable for a batch.
    pub(super) fn try_batch(
        &mut self,
        running: &mut RunningState,
        facts: &mut FactCache,
    ) -> BatchDecision {
        let fallback = if self.batch.is_open() {
            BatchDecision::Flush
        } else {
            BatchDecision::Standalone
        };
        let chunk = &self.low.chunks[running.chunk as usize];
        let is_plain = self.options.mode == Mode::Apply
            && matches!(running.purpose, CallPurpose::Run { watched: false })
            && matches!(running.stage, RunStage::Decide)
            && self.stack.len() == 1
            && self.parallel_count == 0
            && self.deferred.is_empty()
            && self.aggregates.is_empty()
            && !UNBATCHED_KEYWORDS
                .iter()
                .any(|word| chunk.keywords.contains_key(*word));
        if !is_plain || self.options.max_batch == 0 {
            return fallback;
        }
        let Ok(RunDecision::Evaluated(decision, warnings)) =
            self.decide_tracking_doubt(running, true, facts)
        else {
            return fallback;
        };
        match decision {
            StateDecision::Done(outcome)
                if outcome.result == Some(true) && outcome.more.is_empty() =>
            {
                if !self.batch.is_open() {
                    return BatchDecision::Standalone;
                }
                running.warnings = warnings;
                BatchDecision::Batched(self.settle_outcome(running, outcome), None)
            }
            StateDecision::Change(change_set) if !change_set.steps.is_empty() => {
                let ChangeOutcome::Fixed(outcome) = &change_set.finish else {
                    return fallback;
                };
                if outcome.result != Some(true) || !outcome.more.is_empty() {
                    return fallback;
                }
                running.warnings.clone_from(&warnings);
                let outcome = self.settle_outcome(running, outcome.clone());
                let batched = BatchedChanges {
                    pending: PendingChanges::of(&change_set.steps, change_set.finish),
                    steps: change_set.steps,
                    warnings,
                };
                BatchDecision::Batched(outcome, Some(Box::new(batched)))
            }
            StateDecision::Done(_) | StateDecision::Change(_) => fallback,
        }
    }

    /// Adds a state to the batch if possible. Returns the next action, if there is one, or the state itself
    /// as `Err` if it must run on its own.
    pub(super) fn step_batched(
        &mut self,
        mut running: Box<RunningState>,
        facts: &mut FactCache,
    ) -> Result<Option<NextAction>, Box<RunningState>> {
        match self.try_batch(&mut running, facts) {
            BatchDecision::Standalone => Err(running),
            BatchDecision::Flush => {
                self.running = Some(running);
                Ok(self.flush_batch().or(Some(NextAction::Wait)))
            }
            BatchDecision::Batched(outcome, changes) => {
                if !self.batch.is_open() {
                    self.batch.confirmed_count = self.results.len();
                }
                if let Some(batched) = changes {
                    let BatchedChanges {
                        pending,
                        mut steps,
                        warnings,
                    } = *batched;
                    note_present_modes(&mut steps, facts);
                    for domain in &pending.touched {
                        facts.forget(domain);
                    }
                    let mut batched_run = Box::new(RunningState::new(
                        running.chunk,
                        running.purpose,
                        running.started,
                    ));
                    batched_run.warnings = warnings;
                    let assumed = BatchedState {
                        chunk: running.chunk,
                        running: batched_run,
                        pending,
                        first_change: self.batch.changes.len(),
                        checkpoint: self.checkpoint(),
                    };
                    self.batch.states.push(assumed);
                    self.batch.changes.extend(steps);
                }
                // A state in the batch has no triggered `watch`, so no watch function runs after it.
                drop(self.complete_run(running, outcome));
                self.end_frame();
                let is_full = self.batch.states.len() >= self.options.max_batch;
                Ok(if is_full { self.flush_batch() } else { None })
            }
        }
    }

    fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            results: self.results.len(),
            position: self.position,
            number: self.number,
            progress: self.progress,
        }
    }

    /// Submits the open batch. Returns `Wait` if it was already submitted, and `None` if there is nothing to
    /// submit.
    pub(super) fn flush_batch(&mut self) -> Option<NextAction> {
        if self.batch.states.is_empty() {
            return None;
        }
        if self.batch.is_submitted {
            return Some(NextAction::Wait);
        }
        self.batch.is_submitted = true;
        let chunk = self.batch.states[0].chunk;
        Some(NextAction::Change {
            action: self.new_action(ActionOwner::Batch),
            changes: std::mem::take(&mut self.batch.changes),
            chunk,
        })
    }

    /// Whether a batch is being applied. Until it ends, no other state may start.
    pub(super) fn is_batch_in_flight(&self) -> bool {
        self.batch.is_submitted
    }

    /// Evaluates the outputs of a batch. The first state with a failed change is evaluated by its real
    /// outputs, and every state after it is rolled back.
    pub(super) fn finish_batch(&mut self, mut outputs: Vec<RunOutput>, facts: &mut FactCache) {
        let batch = std::mem::take(&mut self.batch);
        let mut start = self.now;
        let mut wrong = None;
        for (place, assumed) in batch.states.iter().enumerate() {
            for domain in &assumed.pending.touched {
                facts.forget(domain);
            }
            let steps = assumed.pending.success_codes.len();
            let end = (assumed.first_change + steps).min(outputs.len());
            let own = outputs
                .get(assumed.first_change.min(end)..end)
                .unwrap_or_default();
            if wrong.is_none() && assumed.pending.first_failure(own).is_some() {
                wrong = Some(place);
            }
            let took = own.iter().map(|output| output.elapsed).sum();
            if wrong.is_none() {
                if let Some(result) = self.results.get_mut(assumed.checkpoint.results) {
                    if place == 0 {
                        start = result.start;
                    }
                    result.start = start;
                    result.duration = took;
                }
                start = start.after(took);
            }
        }
        let Some(wrong) = wrong else {
            return;
        };
        for (_, set, tally) in batch
            .saved_tallies
            .into_iter()
            .filter(|it| it.0 > wrong)
            .rev()
        {
            self.tallies[set as usize] = tally;
        }
        let Some(assumed) = batch.states.into_iter().nth(wrong) else {
            return;
        };
        self.roll_back(assumed.checkpoint);
        let mut own = outputs.split_off(assumed.first_change.min(outputs.len()));
        own.truncate(assumed.pending.success_codes.len());
        let mut running = assumed.running;
        running.stage = RunStage::Evaluate(assumed.pending, own);
        self.push_frame(assumed.chunk);
        self.set_top(assumed.chunk);
        self.running = Some(running);
    }

    /// Restores the engine's position and drops the results recorded after the checkpoint.
    fn roll_back(&mut self, mark: Checkpoint) {
        for result in self.results.drain(mark.results..) {
            if let Some(chunk) = result.chunk {
                self.statuses[chunk as usize] = ChunkStatus::NotRun;
            }
        }
        self.position = mark.position;
        self.number = mark.number;
        self.progress = mark.progress + 1;
        self.clear_stack();
        self.running = None;
        self.batch = PendingBatch::default();
    }

    /// Advances a state that runs outside a batch.
    pub(super) fn step_standalone(
        &mut self,
        mut running: Box<RunningState>,
        facts: &mut FactCache,
    ) -> Option<NextAction> {
        if matches!(running.stage, RunStage::Decide) && running.args.is_none() {
            running.args = self.aggregate_args(&running);
        }
        match self.advance_running(&mut running, ActionOwner::Main, facts) {
            StepOutcome::Next(next) => {
                self.running = Some(running);
                Some(next)
            }
            StepOutcome::Waiting => {
                self.running = Some(running);
                Some(NextAction::Wait)
            }
            StepOutcome::Parallel => {
                self.start_parallel(running);
                None
            }
            StepOutcome::Finished(outcome) => {
                if let Some(watch_run) = self.complete_run(running, outcome) {
                    self.running = Some(watch_run);
                } else {
                    self.end_frame();
                }
                None
            }
        }
    }
}
