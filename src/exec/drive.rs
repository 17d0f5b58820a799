//! The one loop of all runs: has performed what a machine says, and tells it what came of it.

use std::time::Instant;

use super::driver::{Driver, News};
use super::error::Error;
use crate::host::{ActionResult, Note, Question, Request, Secret, Stream};

/// The next step of a machine.
#[derive(Debug)]
pub enum Next {
    /// This action begins; its result comes with the same tag.
    Perform(u64, Box<Request>),
    /// There is more to do, unless somebody asked for an end meanwhile.
    Again,
    /// Nothing until there are news, or until a time.
    Wait(Option<Instant>),
    /// All has come to its end.
    End,
}

/// A state machine: says what is to be performed, and is told what came of it. Performs nothing
/// itself.
pub trait Machine {
    /// The one who is shown what happens, and who is asked.
    type View: ?Sized;
    /// Why it cannot go on.
    type Error: From<Error>;

    /// Says what is next. An action that it gives has begun before it is asked again.
    fn next(&mut self, view: &mut Self::View) -> Result<Next, Self::Error>;

    /// Takes the result of an action.
    fn complete(
        &mut self,
        tag: u64,
        result: ActionResult,
        view: &mut Self::View,
    ) -> Result<(), Self::Error>;

    /// Hears that somebody asked for an end by this signal, as often as it is looked for signals.
    fn interrupt(&mut self, signal: i32);

    /// Hears that the time has come that it waited for.
    fn wake(&mut self) {}

    /// Hears what an executor does with an action, in words without secrets.
    fn note(&mut self, _tag: u64, _note: Note, _view: &mut Self::View) {}

    /// Hears what the command of an action wrote.
    fn output(&mut self, _tag: u64, _written: (Stream, Vec<u8>), _view: &mut Self::View) {}

    /// Asks somebody for a secret; none if nobody answers.
    fn ask(&mut self, _question: &Question, _view: &mut Self::View) -> Option<Secret> {
        None
    }
}

/// Runs a machine until it has come to its end.
pub fn drive<M: Machine>(
    machine: &mut M,
    driver: &mut Driver,
    view: &mut M::View,
) -> Result<(), M::Error> {
    loop {
        if let Some(signal) = driver.interrupted() {
            machine.interrupt(signal);
        }
        match machine.next(view)? {
            Next::Perform(tag, request) => driver.submit(tag, *request)?,
            Next::Again => {}
            Next::Wait(until) => hear(machine, driver.next(until)?, driver, view)?,
            Next::End => return Ok(()),
        }
    }
}

/// Tells a machine the news.
fn hear<M: Machine>(
    machine: &mut M,
    news: News,
    driver: &mut Driver,
    view: &mut M::View,
) -> Result<(), M::Error> {
    match news {
        News::Outcome(tag, result) => machine.complete(tag, result, view)?,
        News::Question(question) => driver.answer(machine.ask(&question, view))?,
        News::Note(tag, note) => machine.note(tag, note, view),
        News::Output(tag, stream, bytes) => machine.output(tag, (stream, bytes), view),
        News::Timeout => machine.wake(),
        // The machine hears of the signal before it says what is next.
        News::Interrupt => {}
    }
    Ok(())
}
