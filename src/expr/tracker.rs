//! Where an evaluation stands: what it read so far, what is under evaluation, how deep it is.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use indexmap::IndexSet;

use crate::value::Value;

use super::error::Error;
use super::memo::Slot;
use super::reads::{Read, Reads};

/// Where an evaluation stands. The lock is never held while something is evaluated.
#[derive(Debug)]
pub(super) struct Tracker {
    state: Mutex<State>,
    limit: usize,
}

#[derive(Debug, Default)]
struct State {
    /// What is being evaluated within what; the first frame is that of the caller.
    frames: Vec<Frame>,
    slots: HashSet<Slot>,
    apart: HashSet<Slot>,
    inputs: HashSet<(usize, String)>,
    depth: usize,
    /// How many evaluations that somebody asked for are within each other, and the steps they took.
    runs: usize,
    steps: usize,
    notes: Notes,
}

/// What one evaluation read itself.
#[derive(Debug, Default)]
pub(super) struct Frame {
    pub(super) reads: Reads,
    pub(super) slots: IndexSet<Slot>,
}

/// What a template came across while it was rendered.
#[derive(Debug, Default, Clone)]
pub(super) struct Notes {
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
pub(super) struct Level<'a>(&'a Tracker);

impl Drop for Level<'_> {
    fn drop(&mut self) {
        self.0.state().depth -= 1;
    }
}

/// How many items paths and loops may come by until the answer to one question is found.
const STEPS: usize = if cfg!(test) { 200_000 } else { 1_000_000 };

/// The answering of one question; going out of scope ends it.
#[must_use]
pub(super) struct Run<'a>(&'a Tracker);

impl Drop for Run<'_> {
    fn drop(&mut self) {
        self.0.state().runs -= 1;
    }
}

impl Tracker {
    pub(super) fn new(limit: usize) -> Self {
        let frames = vec![Frame::default()];
        let state = State {
            frames,
            ..State::default()
        };
        Self {
            state: Mutex::new(state),
            limit,
        }
    }

    /// Goes one level deeper, unless that is too deep.
    pub(super) fn enter(&self) -> Result<Level<'_>, Error> {
        let mut state = self.state();
        if state.depth >= self.limit {
            return Err(Error::TooDeep { limit: self.limit });
        }
        state.depth += 1;
        Ok(Level(self))
    }

    /// Begins to answer a question, if not within another one: with all the steps it may take.
    pub(super) fn run(&self) -> Run<'_> {
        let mut state = self.state();
        if state.runs == 0 {
            state.steps = 0;
        }
        state.runs += 1;
        Run(self)
    }

    /// Takes so many steps, unless that is too many.
    pub(super) fn step(&self, count: usize) -> Result<(), Error> {
        let mut state = self.state();
        state.steps = state.steps.saturating_add(count);
        if state.steps > STEPS {
            return Err(Error::TooLong { limit: STEPS });
        }
        Ok(())
    }

    /// Adds a read to the present frame.
    pub(super) fn read(&self, read: Read, value: Option<Value>) {
        self.state().frame().reads.add(read, value);
    }

    /// Adds reads to the present frame.
    pub(super) fn reads(&self, reads: &Reads) {
        self.state().frame().reads.append(reads);
    }

    /// Notes that the present frame uses a remembered slot.
    pub(super) fn uses(&self, slot: &Slot) {
        let mut state = self.state();
        let slots = &mut state.frame().slots;
        if !slots.contains(slot) {
            slots.insert(slot.clone());
        }
    }

    /// Begins a frame for a slot, unless the slot is under evaluation already.
    pub(super) fn begin(&self, slot: &Slot) -> bool {
        let mut state = self.state();
        if !state.slots.insert(slot.clone()) {
            return false;
        }
        state.frames.push(Frame::default());
        true
    }

    /// Whether something that will be remembered is under evaluation.
    pub(super) fn is_in_slot(&self) -> bool {
        !self.state().slots.is_empty()
    }

    /// Begins the evaluation of an attribute that will not be remembered, unless it is under
    /// evaluation already. What it reads counts for whoever asked.
    pub(super) fn begin_apart(&self, slot: &Slot) -> bool {
        self.state().apart.insert(slot.clone())
    }

    /// Ends the evaluation of an attribute that will not be remembered.
    pub(super) fn end_apart(&self, slot: &Slot) {
        self.state().apart.remove(slot);
    }

    /// Ends the frame of a slot.
    pub(super) fn end(&self, slot: &Slot) -> Frame {
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
        state.frames.push(Frame::default());
        true
    }

    /// Ends the frame of an input.
    pub(super) fn end_input(&self, of: usize, name: &str) -> Frame {
        let mut state = self.state();
        state.inputs.remove(&(of, name.to_owned()));
        state.pop()
    }

    /// Begins a frame of no slot.
    pub(super) fn begin_frame(&self) {
        self.state().frames.push(Frame::default());
    }

    /// Ends the present frame.
    pub(super) fn end_frame(&self) -> Frame {
        self.state().pop()
    }

    /// Takes what the present frame read.
    pub(super) fn take(&self) -> Reads {
        let mut state = self.state();
        let frame = std::mem::take(state.frame());
        frame.reads
    }

    /// Begins the notes of a template; gives those of the template around it.
    pub(super) fn begin_notes(&self) -> Notes {
        std::mem::take(&mut self.state().notes)
    }

    /// Ends the notes of a template.
    pub(super) fn end_notes(&self, outer: Notes) -> Notes {
        std::mem::replace(&mut self.state().notes, outer)
    }

    /// Changes the notes of the present template.
    pub(super) fn note(&self, change: impl FnOnce(&mut Notes)) {
        change(&mut self.state().notes);
    }

    /// Notes that something sensitive was read.
    pub(super) fn note_sensitive(&self) {
        self.state().notes.sensitive = true;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn frame(&mut self) -> &mut Frame {
        if self.frames.is_empty() {
            self.frames.push(Frame::default());
        }
        self.frames
            .last_mut()
            .expect("there is a frame, pushed above if need be")
    }

    fn pop(&mut self) -> Frame {
        self.frames.pop().unwrap_or_default()
    }
}
