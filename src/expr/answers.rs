//! The answers that one request of an evaluator has had so far. A request is evaluated again after
//! each effect, and must then go the same way.

use std::any::Any;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indexmap::IndexMap;

use crate::value::Handle;

use super::ports::{Answer, Effect, EffectError, Place};

/// A question whose answer may differ from one moment to the next.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Question {
    /// The result of an effect.
    Effect(Effect),
    /// An attribute that is evaluated in another ensemble.
    Elsewhere(Handle, Arc<str>),
    /// An aspect of a file or folder.
    File(Aspect, PathBuf),
    /// The path of a program.
    Program(String),
    /// The path of a named directory.
    Directory(Place, String),
    /// So many random bytes.
    Random(usize),
    /// The time.
    Now,
}

/// An aspect of a file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Aspect {
    Contents,
    Exists,
    IsDir,
    IsLink,
    IsMount,
    Entries,
    RealPath,
    TreeDigest,
    ContentDigest,
}

/// The answers to the questions of one request, each in the order in which they were asked: the
/// same question may have another answer the next time.
#[derive(Debug, Default)]
pub(super) struct Answers(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    is_open: bool,
    told: IndexMap<Question, Told>,
    /// The answers that this evaluation has used, in order.
    used: Vec<Spot>,
    /// The effect that the evaluation needs before it can go on.
    need: Option<Effect>,
    /// The answer to the effect that was performed last.
    last: Option<Spot>,
}

/// The place of an answer: that of its question, and its own among the answers to it.
type Spot = (usize, usize);

/// All answers to one question.
#[derive(Debug, Default)]
struct Told {
    replies: Vec<Reply>,
    /// The place of the reply that is used next.
    next: usize,
}

#[derive(Debug)]
struct Reply {
    value: Arc<dyn Any + Send + Sync>,
    /// Whether an evaluation has used it.
    is_used: bool,
    /// Whether a value that is remembered came from it, so that nobody asks for it again.
    is_spent: bool,
}

/// A request; going out of scope ends it.
#[must_use]
pub(super) struct Request<'a>(&'a Answers);

impl Drop for Request<'_> {
    fn drop(&mut self) {
        *self.0.state() = State::default();
    }
}

/// An evaluation that does not go the way it went before.
#[derive(Debug)]
pub(super) struct Strayed;

impl Answers {
    /// Begins a request, if not within another one.
    pub(super) fn begin(&self) -> Option<Request<'_>> {
        let mut state = self.state();
        if state.is_open {
            return None;
        }
        state.is_open = true;
        Some(Request(self))
    }

    /// Whether the evaluation cannot go on without an effect. Its values must not be remembered.
    pub(super) fn is_waiting(&self) -> bool {
        self.state().need.is_some()
    }

    /// The answer to a question: the one that it had before in this request, or else a new one.
    pub(super) fn recall<T: Clone + Send + Sync + 'static>(
        &self,
        question: Question,
        ask: impl FnOnce() -> T,
    ) -> T {
        let known = self.recall_some(question, || Some(ask()));
        known.expect("the answer is always kept")
    }

    /// As [`Answers::recall`], for questions that have an answer only now and then.
    pub(super) fn recall_some<T: Clone + Send + Sync + 'static>(
        &self,
        question: Question,
        ask: impl FnOnce() -> Option<T>,
    ) -> Option<T> {
        {
            let mut state = self.state();
            if !state.is_open || state.need.is_some() {
                drop(state);
                return ask();
            }
            if let Some(known) = state.next::<T>(&question) {
                return Some(known);
            }
        }
        let answer = ask()?;
        let mut state = self.state();
        let place = state.keep(question, Arc::new(answer.clone()));
        state.use_up(place);
        Some(answer)
    }

    /// The answer to an effect. If there is none yet, the effect is put down as the need of the
    /// evaluation, unless it has one already.
    pub(super) fn answer(&self, effect: Effect) -> Option<Result<Answer, EffectError>> {
        let mut state = self.state();
        if !state.is_open || state.need.is_some() {
            return None;
        }
        let question = Question::Effect(effect);
        let known = state.next(&question);
        if known.is_none()
            && let Question::Effect(effect) = question
        {
            state.need = Some(effect);
        }
        known
    }

    /// Ends an evaluation: takes the effect that it needs, and prepares for the next one.
    pub(super) fn take_need(&self) -> Result<Option<Effect>, Strayed> {
        let mut state = self.state();
        state.used.clear();
        state.told.values_mut().for_each(|told| told.next = 0);
        let Some(effect) = state.need.take() else {
            return Ok(None);
        };
        match state.last.take() {
            Some((question, place)) if !state.told[question].replies[place].is_used => Err(Strayed),
            _ => Ok(Some(effect)),
        }
    }

    /// Adds the answer to an effect.
    pub(super) fn put(&self, effect: Effect, answer: Result<Answer, EffectError>) {
        let mut state = self.state();
        let place = state.keep(Question::Effect(effect), Arc::new(answer));
        state.last = Some(place);
    }

    /// How many answers this evaluation has used.
    pub(super) fn mark(&self) -> usize {
        self.state().used.len()
    }

    /// Takes the answers that were used since a mark out of the request: the value that came from
    /// them is remembered, and will not be evaluated again.
    pub(super) fn spend(&self, mark: usize) {
        let mut state = self.state();
        while state.used.len() > mark {
            if let Some((question, place)) = state.used.pop() {
                let reply = &mut state.told[question].replies[place];
                reply.is_spent = true;
                reply.value = Arc::new(());
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The next answer to a question that this evaluation has not used.
    fn next<T: Clone + 'static>(&mut self, question: &Question) -> Option<T> {
        if self.told.is_empty() {
            return None;
        }
        let (index, _, told) = self.told.get_full_mut(question)?;
        while told.replies.get(told.next).is_some_and(|it| it.is_spent) {
            told.next += 1;
        }
        let place = told.next;
        let known = told.replies.get(place)?.value.downcast_ref::<T>().cloned();
        self.use_up((index, place));
        known
    }

    /// Adds an answer after all others to the same question.
    fn keep(&mut self, question: Question, value: Arc<dyn Any + Send + Sync>) -> Spot {
        let entry = self.told.entry(question);
        let index = entry.index();
        let told = entry.or_default();
        told.replies.push(Reply {
            value,
            is_used: false,
            is_spent: false,
        });
        (index, told.replies.len() - 1)
    }

    /// Notes that the evaluation uses an answer.
    fn use_up(&mut self, (index, place): Spot) {
        let told = &mut self.told[index];
        told.replies[place].is_used = true;
        told.next = place + 1;
        self.used.push((index, place));
    }
}
