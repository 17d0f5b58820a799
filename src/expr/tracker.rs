//! Where an evaluation stands: what it read so far, what is under evaluation, how deep it is.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use indexmap::IndexSet;

use crate::value::Value;

use super::error::Error;
use super::memo::AttributeSlot;
use super::reads::{Read, Reads};

/// Where an evaluation stands. The lock is never held while something is evaluated.
#[derive(Debug)]
pub(super) struct Tracker {
    state: Mutex<TrackerState>,
    limit: usize,
}

#[derive(Debug, Default)]
struct TrackerState {
    /// What is being evaluated within what; the first frame is that of the caller.
    frames: Vec<ReadFrame>,
    slots: HashSet<AttributeSlot>,
    task_slots: HashSet<AttributeSlot>,
    inputs: HashSet<(usize, String)>,
    depth: usize,
    /// How many evaluations that somebody asked for are within each other, and the steps they took.
    nested_evaluations: usize,
    steps: usize,
    notes: RenderNotes,
}

/// What one evaluation read itself.
#[derive(Debug, Default)]
pub(super) struct ReadFrame {
    pub(super) reads: Reads,
    pub(super) slots: IndexSet<AttributeSlot>,
}

/// What a template came across while it was rendered.
#[derive(Debug, Default, Clone)]
pub(super) struct RenderNotes {
    /// Whether a sensitive value was at hand.
    pub(super) sensitive: bool,
    /// The last external value.
    pub(super) external: Option<Value>,
    /// The error that stopped the rendering, which the engine knows as text only.
    pub(super) error: Option<Error>,
    /// What was looked up last and is not there.
    pub(super) missing: Option<String>,
}

/// One level of depth; going out of scope ends it.
#[must_use]
pub(super) struct DepthGuard<'a>(&'a Tracker);

impl Drop for DepthGuard<'_> {
    fn drop(&mut self) {
        self.0.state().depth -= 1;
    }
}

/// How many items paths and loops may come by until the answer to one question is found.
const MAX_STEPS: usize = if cfg!(test) { 200_000 } else { 1_000_000 };

/// The answering of one question; going out of scope ends it.
#[must_use]
pub(super) struct EvaluationGuard<'a>(&'a Tracker);

impl Drop for EvaluationGuard<'_> {
    fn drop(&mut self) {
        self.0.state().nested_evaluations -= 1;
    }
}

impl Tracker {
    pub(super) fn new(limit: usize) -> Self {
        let frames = vec![ReadFrame::default()];
        let state = TrackerState {
            frames,
            ..TrackerState::default()
        };
        Self {
            state: Mutex::new(state),
            limit,
        }
    }

    /// Goes one level deeper, unless that is too deep.
    pub(super) fn enter_level(&self) -> Result<DepthGuard<'_>, Error> {
        let mut state = self.state();
        if state.depth >= self.limit {
            return Err(Error::TooDeep { limit: self.limit });
        }
        state.depth += 1;
        Ok(DepthGuard(self))
    }

    /// Begins to answer a question, if not within another one: with all the steps it may take.
    pub(super) fn begin_evaluation(&self) -> EvaluationGuard<'_> {
        let mut state = self.state();
        if state.nested_evaluations == 0 {
            state.steps = 0;
        }
        state.nested_evaluations += 1;
        EvaluationGuard(self)
    }

    /// Takes so many steps, unless that is too many.
    pub(super) fn count_steps(&self, count: usize) -> Result<(), Error> {
        let mut state = self.state();
        state.steps = state.steps.saturating_add(count);
        if state.steps > MAX_STEPS {
            return Err(Error::TooLong { limit: MAX_STEPS });
        }
        Ok(())
    }

    /// Adds a read to the present frame.
    pub(super) fn record_read(&self, read: Read, value: Option<Value>) {
        self.state().frame().reads.add(read, value);
    }

    /// Adds reads to the present frame.
    pub(super) fn record_reads(&self, reads: &Reads) {
        self.state().frame().reads.append(reads);
    }

    /// Notes that the present frame uses a remembered slot.
    pub(super) fn record_slot(&self, slot: &AttributeSlot) {
        let mut state = self.state();
        let slots = &mut state.frame().slots;
        if !slots.contains(slot) {
            slots.insert(slot.clone());
        }
    }

    /// Begins a frame for a slot, unless the slot is under evaluation already.
    pub(super) fn begin_slot(&self, slot: &AttributeSlot) -> bool {
        let mut state = self.state();
        if !state.slots.insert(slot.clone()) {
            return false;
        }
        state.frames.push(ReadFrame::default());
        true
    }

    /// Whether something that will be remembered is under evaluation.
    pub(super) fn is_in_slot(&self) -> bool {
        !self.state().slots.is_empty()
    }

    /// Begins the evaluation of an attribute that will not be remembered, unless it is under
    /// evaluation already. What it reads counts for whoever asked.
    pub(super) fn begin_task_slot(&self, slot: &AttributeSlot) -> bool {
        self.state().task_slots.insert(slot.clone())
    }

    /// Ends the evaluation of an attribute that will not be remembered.
    pub(super) fn end_task_slot(&self, slot: &AttributeSlot) {
        self.state().task_slots.remove(slot);
    }

    /// Ends the frame of a slot.
    pub(super) fn end_slot(&self, slot: &AttributeSlot) -> ReadFrame {
        let mut state = self.state();
        state.slots.remove(slot);
        state.pop()
    }

    /// Begins a frame for an input, unless it is under evaluation already.
    pub(super) fn begin_input(&self, of: usize, name: &str) -> bool {
        let mut state = self.state();
        if !state.inputs.insert((of, name.to_owned())) {
            return false;
        }
        state.frames.push(ReadFrame::default());
        true
    }

    /// Ends the frame of an input.
    pub(super) fn end_input(&self, of: usize, name: &str) -> ReadFrame {
        let mut state = self.state();
        state.inputs.remove(&(of, name.to_owned()));
        state.pop()
    }

    /// Begins a frame of no slot.
    pub(super) fn begin_frame(&self) {
        self.state().frames.push(ReadFrame::default());
    }

    /// Ends the present frame.
    pub(super) fn end_frame(&self) -> ReadFrame {
        self.state().pop()
    }

    /// Takes what the present frame read.
    pub(super) fn take_reads(&self) -> Reads {
        let mut state = self.state();
        let frame = std::mem::take(state.frame());
        frame.reads
    }

    /// Begins the notes of a template; gives those of the template around it.
    pub(super) fn begin_notes(&self) -> RenderNotes {
        std::mem::take(&mut self.state().notes)
    }

    /// Ends the notes of a template.
    pub(super) fn end_notes(&self, outer: RenderNotes) -> RenderNotes {
        std::mem::replace(&mut self.state().notes, outer)
    }

    /// Changes the notes of the present template.
    pub(super) fn update_notes(&self, change: impl FnOnce(&mut RenderNotes)) {
        change(&mut self.state().notes);
    }

    /// Notes that something sensitive was read.
    pub(super) fn note_sensitive(&self) {
        self.state().notes.sensitive = true;
    }

    fn state(&self) -> MutexGuard<'_, TrackerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TrackerState {
    fn frame(&mut self) -> &mut ReadFrame {
        if self.frames.is_empty() {
            self.frames.push(ReadFrame::default());
        }
        self.frames
            .last_mut()
            .expect("there is a frame, pushed above if need be")
    }

    fn pop(&mut self) -> ReadFrame {
        self.frames.pop().unwrap_or_default()
    }
}
