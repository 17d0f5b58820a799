//! The state of running evaluations: the reads so far, the attributes and inputs under evaluation, the
//! nesting depth and the number of steps. The evaluator and the template engine report to it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indexmap::IndexSet;

use crate::value::{Marks, Value};

use super::budget::{self, BudgetGuard};
use super::effect::Effect;
use super::error::Error;
use super::memo::AttributeSlot;
use super::reads::{Read, Reads};
use super::requested_writes::RequestedWrites;

/// The state of the running evaluations. The lock is never held during an evaluation.
#[derive(Debug)]
pub(super) struct Tracker {
    state: Mutex<TrackerState>,
    limit: usize,
}

#[derive(Debug, Default)]
struct TrackerState {
    /// The frames of nested evaluations; the first one belongs to the caller.
    frames: Vec<ReadFrame>,
    slots: HashSet<AttributeSlot>,
    task_slots: HashSet<AttributeSlot>,
    inputs: HashSet<(usize, String)>,
    depth: usize,
    /// The number of nested evaluations that callers started, and the steps that they took so far.
    nested_evaluations: usize,
    steps: usize,
    notes: RenderNotes,
}

/// The direct reads and the memo entries used by one evaluation.
#[derive(Debug, Default)]
pub(super) struct ReadFrame {
    pub(super) reads: Reads,
    pub(super) slots: IndexSet<AttributeSlot>,
}

/// The maximum number of texts of data that are noted for one template.
const MAX_DATA_TEXTS: usize = 1000;

/// Observations during the rendering of a template.
#[derive(Debug, Default, Clone)]
pub(super) struct RenderNotes {
    /// The marks of the values that the template accessed.
    pub(super) marks: Marks,
    /// The texts of the data that the template accessed.
    pub(super) data_texts: Vec<Arc<str>>,
    /// The last external value that the template accessed.
    pub(super) external: Option<Value>,
    /// The error that stopped the rendering; the engine keeps only its text.
    pub(super) error: Option<Error>,
    /// The message about the last lookup that found no value.
    pub(super) missing: Option<String>,
}

/// A guard for one level of nesting, which ends when the guard is dropped.
#[must_use]
pub(super) struct DepthGuard<'a>(&'a Tracker);

impl Drop for DepthGuard<'_> {
    fn drop(&mut self) {
        self.0.state().depth -= 1;
    }
}

/// The maximum number of items that paths and loops may visit in one outermost evaluation.
const MAX_STEPS: usize = if cfg!(test) { 200_000 } else { 1_000_000 };

/// A guard for one evaluation that a caller started; it ends when the guard is dropped.
#[must_use]
pub(super) struct EvaluationGuard<'a> {
    tracker: &'a Tracker,
    _budget: BudgetGuard,
}

impl Drop for EvaluationGuard<'_> {
    fn drop(&mut self) {
        self.tracker.state().nested_evaluations -= 1;
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

    /// Enters a level of nesting. Returns an error beyond the limit.
    pub(super) fn enter_level(&self) -> Result<DepthGuard<'_>, Error> {
        let mut state = self.state();
        if state.depth >= self.limit {
            return Err(Error::TooDeep { limit: self.limit });
        }
        state.depth += 1;
        Ok(DepthGuard(self))
    }

    /// Starts an evaluation for a caller. An outermost evaluation resets the number of steps.
    pub(super) fn begin_evaluation(&self) -> EvaluationGuard<'_> {
        let mut state = self.state();
        if state.nested_evaluations == 0 {
            state.steps = 0;
        }
        state.nested_evaluations += 1;
        EvaluationGuard {
            tracker: self,
            _budget: budget::begin(),
        }
    }

    /// Adds steps. Returns an error beyond the limit or beyond the budget of time.
    pub(super) fn count_steps(&self, count: usize) -> Result<(), Error> {
        budget::check()?;
        let mut state = self.state();
        state.steps = state.steps.saturating_add(count);
        if state.steps > MAX_STEPS {
            return Err(Error::TooLong { limit: MAX_STEPS });
        }
        Ok(())
    }

    /// Adds a read to the current frame.
    pub(super) fn record_read(&self, read: Read, value: Option<Value>) {
        self.state().frame().reads.add(read, value);
    }

    /// Returns true if the current frame has a read.
    pub(super) fn has_read(&self, read: &Read) -> bool {
        self.state().frame().reads.contains(read)
    }

    /// Adds a collection of reads to the current frame.
    pub(super) fn record_reads(&self, reads: &Reads) {
        self.state().frame().reads.append(reads);
    }

    /// Adds a requested write to the current frame.
    pub(super) fn record_write(&self, effect: Arc<Effect>) {
        self.state().frame().reads.writes_mut().add(effect);
    }

    /// Adds the writes that another evaluation requested to the current frame.
    pub(super) fn record_writes(&self, writes: &RequestedWrites) {
        if !writes.is_empty() {
            self.state().frame().reads.writes_mut().append(writes);
        }
    }

    /// Records that the current frame uses a memoized slot.
    pub(super) fn record_slot(&self, slot: &AttributeSlot) {
        let mut state = self.state();
        let slots = &mut state.frame().slots;
        if !slots.contains(slot) {
            slots.insert(slot.clone());
        }
    }

    /// Starts a frame for a slot. Returns false if the slot is already under evaluation.
    pub(super) fn begin_slot(&self, slot: &AttributeSlot) -> bool {
        let mut state = self.state();
        if !state.slots.insert(slot.clone()) {
            return false;
        }
        state.frames.push(ReadFrame::default());
        true
    }

    /// Whether the evaluation of a memoized slot is running.
    pub(super) fn is_in_slot(&self) -> bool {
        !self.state().slots.is_empty()
    }

    /// Starts the evaluation of an attribute that is not memoized. Returns false if it is already running.
    ///
    /// The reads count for the frame of the caller.
    pub(super) fn begin_task_slot(&self, slot: &AttributeSlot) -> bool {
        self.state().task_slots.insert(slot.clone())
    }

    /// Ends the evaluation of an attribute that is not memoized.
    pub(super) fn end_task_slot(&self, slot: &AttributeSlot) {
        self.state().task_slots.remove(slot);
    }

    pub(super) fn end_slot(&self, slot: &AttributeSlot) -> ReadFrame {
        let mut state = self.state();
        state.slots.remove(slot);
        state.pop()
    }

    /// Starts a frame for an input. Returns false if the input is already under evaluation.
    pub(super) fn begin_input(&self, of: usize, name: &str) -> bool {
        let mut state = self.state();
        if !state.inputs.insert((of, name.to_owned())) {
            return false;
        }
        state.frames.push(ReadFrame::default());
        true
    }

    pub(super) fn end_input(&self, of: usize, name: &str) -> ReadFrame {
        let mut state = self.state();
        state.inputs.remove(&(of, name.to_owned()));
        state.pop()
    }

    /// Starts a frame that belongs to no slot.
    pub(super) fn begin_frame(&self) {
        self.state().frames.push(ReadFrame::default());
    }

    /// Ends the current frame and returns its reads.
    pub(super) fn end_frame(&self) -> ReadFrame {
        self.state().pop()
    }

    /// Takes the reads of the current frame.
    pub(super) fn take_reads(&self) -> Reads {
        let mut state = self.state();
        let frame = std::mem::take(state.frame());
        frame.reads
    }

    /// Starts the notes of a template and returns those of the enclosing template.
    pub(super) fn begin_notes(&self) -> RenderNotes {
        std::mem::take(&mut self.state().notes)
    }

    /// Ends the notes of a template, restores those of the enclosing one, and returns the ended notes.
    pub(super) fn end_notes(&self, outer: RenderNotes) -> RenderNotes {
        std::mem::replace(&mut self.state().notes, outer)
    }

    pub(super) fn update_notes(&self, change: impl FnOnce(&mut RenderNotes)) {
        change(&mut self.state().notes);
    }

    /// Returns true if the template that is being rendered has accessed a sensitive value.
    pub(super) fn has_noted_sensitive(&self) -> bool {
        self.state().notes.marks.sensitive
    }

    /// Notes that the template accessed a sensitive value.
    pub(super) fn note_sensitive(&self) {
        self.state().notes.marks.sensitive = true;
    }

    /// Notes the marks of a value that the template accessed.
    pub(super) fn note_marks(&self, value: &Value) {
        let marks = value.marks();
        if marks == Marks::default() {
            return;
        }
        let mut state = self.state();
        let notes = &mut state.notes;
        notes.marks.sensitive |= marks.sensitive;
        notes.marks.data |= marks.data;
        if marks.data {
            add_texts(value, false, &mut notes.data_texts);
        }
    }

    /// Notes that the template accessed data, and returns the value without the mark.
    pub(super) fn note_data(&self, value: Value) -> Value {
        if !value.has_data() {
            return value;
        }
        let mut state = self.state();
        state.notes.marks.data = true;
        add_texts(&value, false, &mut state.notes.data_texts);
        value.without_data()
    }

    /// Whether the template has accessed data so far.
    pub(super) fn has_data(&self) -> bool {
        self.state().notes.marks.data
    }

    /// Whether a text is part of a text of data that the template has accessed.
    pub(super) fn is_part_of_data(&self, text: &str) -> bool {
        let state = self.state();
        let texts = &state.notes.data_texts;
        texts.len() >= MAX_DATA_TEXTS || texts.iter().any(|data| data.contains(text))
    }

    fn state(&self) -> MutexGuard<'_, TrackerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds the texts of the data in a value, including the keys of maps, up to the maximum number.
fn add_texts(value: &Value, is_data: bool, texts: &mut Vec<Arc<str>>) {
    if texts.len() >= MAX_DATA_TEXTS {
        return;
    }
    match value {
        Value::Data(inner) => add_texts(inner, true, texts),
        Value::Sensitive(inner) => add_texts(inner, is_data, texts),
        Value::Str(text) if is_data => texts.push(Arc::clone(text)),
        Value::List(items) => {
            for item in items.iter() {
                add_texts(item, is_data, texts);
            }
        }
        Value::Map(map) => {
            for (key, item) in map.iter() {
                if is_data {
                    texts.push(Arc::clone(key));
                }
                add_texts(item, is_data, texts);
            }
        }
        _ => {}
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
