//! The driver of a run: has actions performed, and hears what comes of them, of people who ask for
//! an end, and of the time. The one loop of all runs has it perform what a machine says.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::asking::{Asking, Step};
use super::limits::Limits;
use super::local::Local;
use super::perform::Error;
use super::perform::{Heard, OutputSink, Perform};
use crate::host::{
    ActionResult, Become, Chain, Executor, Exit, Note, Place, Question, Request, Secret, Stream,
};
use crate::system::signals::{Interrupts, Listening};

/// The effect of a signal on what runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnInterrupt {
    /// What runs has so long to end by itself; a second signal ends it at once.
    Grace(Duration),
    /// What runs is ended at once.
    Cancel,
}

/// The way of what commands with `echo` write.
pub enum Output {
    /// Nobody hears it.
    Unheard,
    /// A sink hears it, on a thread of its own.
    Sink(Box<dyn OutputSink>),
    /// The driver tells it, see [`News::Output`].
    Told,
}

impl std::fmt::Debug for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Unheard => "Unheard",
            Self::Sink(_) => "Sink",
            Self::Told => "Told",
        })
    }
}

/// News of a run.
#[derive(Debug)]
pub enum News {
    /// An action has ended.
    Outcome(u64, ActionResult),
    /// Somebody has to be asked; [`Driver::answer`] takes the answer. Only a driver that asks for
    /// passwords tells it.
    Question(Question),
    /// What an executor does with an action, in words without secrets.
    Note(u64, Note),
    /// The command of an action wrote something.
    Output(u64, Stream, Vec<u8>),
    /// Somebody asks for an end by this signal.
    Interrupt(i32),
    /// The time has come.
    Timeout,
}

/// Starts what performs actions.
type Start = Box<dyn FnOnce() -> Result<Box<dyn Perform>, Error>>;

/// What performs actions.
enum Performer {
    /// Not yet: many runs have no action.
    Waits(Start),
    Runs(Box<dyn Perform>),
    /// Its start has failed.
    Failed,
}

/// An action of a driver that asks for passwords.
struct Flight {
    /// The action without passwords.
    request: Request,
    /// How many answers were known when it began.
    since: usize,
}

/// An action that ended with a question.
struct Asked {
    id: u64,
    flight: Flight,
    result: ActionResult,
    question: Question,
}

/// Passwords, and the user to act as.
struct Passwords {
    asking: Asking,
    user: Option<String>,
    flights: HashMap<u64, Flight>,
    asked: Option<Asked>,
}

/// Has actions performed, each with a tag by which it is known again. What performs them starts
/// with the first one; signals reach it from then on, until the driver is dropped.
pub struct Driver {
    // Dropped first: a signal is told to what is there.
    listening: Option<Listening>,
    performer: Performer,
    /// How many actions have begun and not ended.
    running: usize,
    interrupts: Interrupts,
    on_interrupt: OnInterrupt,
    passwords: Option<Passwords>,
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driver")
            .field("on_interrupt", &self.on_interrupt)
            .finish_non_exhaustive()
    }
}

impl Driver {
    /// A driver whose actions are performed by what `start` starts with the first one.
    pub fn new(
        interrupts: Interrupts,
        on_interrupt: OnInterrupt,
        start: impl FnOnce() -> Result<Box<dyn Perform>, Error> + 'static,
    ) -> Self {
        Self {
            listening: None,
            performer: Performer::Waits(Box::new(start)),
            running: 0,
            interrupts,
            on_interrupt,
            passwords: None,
        }
    }

    /// A driver whose actions are performed by this process.
    pub fn here(
        interrupts: Interrupts,
        on_interrupt: OnInterrupt,
        limits: Limits,
        output: Output,
    ) -> Self {
        let patience = match on_interrupt {
            OnInterrupt::Grace(time) => time,
            OnInterrupt::Cancel => limits.patience,
        };
        let limits = Limits { patience, ..limits };
        Self::new(interrupts, on_interrupt, move || {
            Ok(Box::new(match output {
                Output::Unheard => Local::start(limits, None)?,
                Output::Sink(sink) => Local::start(limits, Some(sink))?,
                Output::Told => Local::start_telling(limits)?,
            }))
        })
    }

    /// The same driver, which keeps the passwords that machines ask for, gives them to all actions
    /// and lets actions begin again once somebody has answered. The actions are those of another
    /// user of the machine if there is one.
    #[must_use]
    pub fn with_passwords(mut self, user: Option<String>) -> Self {
        self.passwords = Some(Passwords {
            asking: Asking::default(),
            user,
            flights: HashMap::new(),
            asked: None,
        });
        self
    }

    /// The effect of a signal on what runs.
    pub fn on_interrupt(&self) -> OnInterrupt {
        self.on_interrupt
    }

    /// Takes note of the signal that asked for an end, if one did: it may have come while nobody
    /// waited for news, or before anything was performed.
    pub fn interrupted(&self) -> Option<i32> {
        self.interrupts.heed()
    }

    /// Begins an action. Its outcome comes with the same tag, which no other action that runs has.
    pub fn submit(&mut self, tag: u64, request: Request) -> Result<(), Error> {
        let request = match &mut self.passwords {
            Some(passwords) => passwords.begin(tag, request),
            None => request,
        };
        self.performer()?.begin(tag, request)?;
        self.running += 1;
        Ok(())
    }

    /// Waits for the next news, until a time if there is one.
    pub fn next(&mut self, until: Option<Instant>) -> Result<News, Error> {
        let unanswered = self.passwords.as_mut().and_then(|it| it.asked.take());
        if let Some(Asked { id, result, .. }) = unanswered {
            return Ok(News::Outcome(id, result));
        }
        loop {
            let news = match self.performer()?.hear(until)? {
                None => News::Timeout,
                Some(Heard::Note(id, note)) => News::Note(id, note),
                Some(Heard::Wrote(id, stream, bytes)) => News::Output(id, stream, bytes),
                Some(Heard::Interruption(signal)) => {
                    if self.on_interrupt == OnInterrupt::Cancel {
                        self.cancel_all();
                    }
                    News::Interrupt(signal)
                }
                Some(Heard::Ended(id, result)) => match self.ended(id, result)? {
                    Some(news) => news,
                    None => continue,
                },
            };
            return Ok(news);
        }
    }

    /// Takes the answer to the question that was told last: the action that asked it begins again.
    /// If nobody answers, its outcome is the next news.
    pub fn answer(&mut self, answer: Option<Secret>) -> Result<(), Error> {
        let Some(passwords) = &mut self.passwords else {
            return Ok(());
        };
        let Some(asked) = passwords.asked.take() else {
            return Ok(());
        };
        let is_answered = answer.is_some();
        passwords.asking.answered(&asked.question, answer);
        if is_answered {
            return self.submit(asked.id, asked.flight.request);
        }
        passwords.asked = Some(asked);
        Ok(())
    }

    /// Ends all actions early; their outcomes still come.
    pub fn cancel_all(&mut self) {
        if let Performer::Runs(performer) = &mut self.performer {
            performer.cancel_all();
        }
    }

    /// Ends all actions early and waits for them, as long as anything is heard. Gives the outcomes
    /// that were still to come: those of actions that have begun.
    pub fn end_all(&mut self) -> Vec<(u64, ActionResult)> {
        self.cancel_all();
        let mut outcomes = Vec::new();
        while self.is_running() {
            match self.next(None) {
                Ok(News::Outcome(tag, result)) => outcomes.push((tag, result)),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        outcomes
    }

    /// Whether the outcome of an action is still to come.
    fn is_running(&self) -> bool {
        let asks = |passwords: &Passwords| passwords.asked.is_some();
        self.running > 0 || self.passwords.as_ref().is_some_and(asks)
    }

    /// The news of an action that has ended; none if it begins again.
    fn ended(&mut self, id: u64, result: ActionResult) -> Result<Option<News>, Error> {
        self.running = self.running.saturating_sub(1);
        let Some(passwords) = &mut self.passwords else {
            return Ok(Some(News::Outcome(id, result)));
        };
        let flight = passwords.flights.remove(&id);
        let (Some(flight), Exit::Asked { question, .. }) = (flight, result.exit()) else {
            return Ok(Some(News::Outcome(id, result)));
        };
        match passwords.asking.step(question, flight.since) {
            Step::Begin => {
                self.submit(id, flight.request)?;
                Ok(None)
            }
            Step::Ask => {
                let question = question.clone();
                passwords.asked = Some(Asked {
                    id,
                    flight,
                    result,
                    question: question.clone(),
                });
                Ok(Some(News::Question(question)))
            }
            Step::Fail => Ok(Some(News::Outcome(id, result))),
        }
    }

    /// What performs actions, started with the first one. From then on signals end neither helper
    /// programs nor this process.
    fn performer(&mut self) -> Result<&mut dyn Perform, Error> {
        if let Performer::Waits(_) = &self.performer {
            let waits = std::mem::replace(&mut self.performer, Performer::Failed);
            if let Performer::Waits(start) = waits {
                let performer = start()?;
                self.interrupts.starts();
                self.listening = performer.listen(&self.interrupts);
                self.performer = Performer::Runs(performer);
            }
        }
        match &mut self.performer {
            Performer::Runs(performer) => Ok(&mut **performer),
            Performer::Waits(_) | Performer::Failed => Err(Error::Gone),
        }
    }
}

impl Passwords {
    /// Keeps an action that begins, and gives it with the passwords that are known.
    fn begin(&mut self, tag: u64, request: Request) -> Request {
        let whole = self.complete(&request);
        let since = self.asking.answers();
        self.flights.insert(tag, Flight { request, since });
        whole
    }

    /// The action with the passwords that are known, as the user that it is for.
    fn complete(&self, request: &Request) -> Request {
        let known = self.asking.passwords();
        let place = match &request.place {
            Place::Ssh(destination) => Place::Ssh(Arc::new(known.apply(destination))),
            place => place.clone(),
        };
        let chain = self.user.clone().map(|user| {
            let password = match &place {
                Place::Ssh(destination) => known.sudo(&destination.address).cloned(),
                Place::Here | Place::Container(_) => None,
            };
            let sudo = Executor::Sudo(Become { user, password });
            Arc::new(Chain::new(vec![sudo]))
        });
        Request {
            place,
            chain,
            ..request.clone()
        }
    }
}

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

    /// Hears that somebody asked for an end by this signal: before each step, and when it comes
    /// during a wait.
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
        News::Interrupt(signal) => machine.interrupt(signal),
    }
    Ok(())
}
