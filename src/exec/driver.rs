//! The driver of a run: has actions performed, and hears what comes of them, of people who ask for
//! an end, and of the time. The one loop of all runs has it perform what a machine says.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::action_runner::Error;
use super::action_runner::{ActionRunner, OutputSink, RunnerEvent};
use super::limits::RunLimits;
use super::local_runner::LocalRunner;
use super::password_prompts::{PasswordPrompts, PromptDecision};
use crate::host::{
    ActionRequest, ActionResult, BecomeUser, ChainExecutor, ChainNote, ExecutorChain, Exit,
    Location, Question, Secret, Stream,
};
use crate::system::signals::{Interrupts, ListenerGuard};

/// The effect of a signal on what runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnInterrupt {
    /// What runs has so long to end by itself; a second signal ends it at once.
    Grace(Duration),
    /// What runs is ended at once.
    Cancel,
}

/// The way of what commands with `echo` write.
pub enum OutputMode {
    /// Nobody hears it.
    Discard,
    /// A sink hears it, on a thread of its own.
    Sink(Box<dyn OutputSink>),
    /// The driver tells it, see [`News::Output`].
    Events,
}

impl std::fmt::Debug for OutputMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Discard => "Unheard",
            Self::Sink(_) => "Sink",
            Self::Events => "Told",
        })
    }
}

/// News of a run.
#[derive(Debug)]
pub enum DriverEvent {
    /// An action has ended.
    Outcome(u64, ActionResult),
    /// Somebody has to be asked; [`Driver::answer`] takes the answer. Only a driver that asks for
    /// passwords tells it.
    Question(Question),
    /// What an executor does with an action, in words without secrets.
    Note(u64, ChainNote),
    /// The command of an action wrote something.
    Output(u64, Stream, Vec<u8>),
    /// Somebody asks for an end by this signal.
    Interrupt(i32),
    /// The time has come.
    Timeout,
}

/// Starts what performs actions.
type StartRunner = Box<dyn FnOnce() -> Result<Box<dyn ActionRunner>, Error>>;

/// What performs actions.
enum RunnerState {
    /// Not yet: many runs have no action.
    NotStarted(StartRunner),
    Running(Box<dyn ActionRunner>),
    /// Its start has failed.
    Failed,
}

/// An action of a driver that asks for passwords.
struct InFlightAction {
    /// The action without passwords.
    request: ActionRequest,
    /// How many answers were known when it began.
    known_answers: usize,
}

/// An action that ended with a question.
struct UnansweredAction {
    id: u64,
    action: InFlightAction,
    result: ActionResult,
    question: Question,
}

/// Passwords, and the user to act as.
struct PasswordState {
    prompts: PasswordPrompts,
    user: Option<String>,
    in_flight: HashMap<u64, InFlightAction>,
    unanswered: Option<UnansweredAction>,
}

/// Has actions performed, each with a tag by which it is known again. What performs them starts
/// with the first one; signals reach it from then on, until the driver is dropped.
pub struct Driver {
    // Dropped first: a signal is told to what is there.
    signal_listener: Option<ListenerGuard>,
    runner: RunnerState,
    /// How many actions have begun and not ended.
    running: usize,
    interrupts: Interrupts,
    on_interrupt: OnInterrupt,
    passwords: Option<PasswordState>,
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
        start: impl FnOnce() -> Result<Box<dyn ActionRunner>, Error> + 'static,
    ) -> Self {
        Self {
            signal_listener: None,
            runner: RunnerState::NotStarted(Box::new(start)),
            running: 0,
            interrupts,
            on_interrupt,
            passwords: None,
        }
    }

    /// A driver whose actions are performed by this process.
    pub fn local(
        interrupts: Interrupts,
        on_interrupt: OnInterrupt,
        limits: RunLimits,
        output: OutputMode,
    ) -> Self {
        let patience = match on_interrupt {
            OnInterrupt::Grace(time) => time,
            OnInterrupt::Cancel => limits.interrupt_grace,
        };
        let limits = RunLimits {
            interrupt_grace: patience,
            ..limits
        };
        Self::new(interrupts, on_interrupt, move || {
            Ok(Box::new(match output {
                OutputMode::Discard => LocalRunner::start(limits, None)?,
                OutputMode::Sink(sink) => LocalRunner::start(limits, Some(sink))?,
                OutputMode::Events => LocalRunner::start_with_output(limits)?,
            }))
        })
    }

    /// The same driver, which keeps the passwords that machines ask for, gives them to all actions
    /// and lets actions begin again once somebody has answered. The actions are those of another
    /// user of the machine if there is one.
    #[must_use]
    pub fn with_passwords(mut self, user: Option<String>) -> Self {
        self.passwords = Some(PasswordState {
            prompts: PasswordPrompts::default(),
            user,
            in_flight: HashMap::new(),
            unanswered: None,
        });
        self
    }

    /// The effect of a signal on what runs.
    pub fn on_interrupt(&self) -> OnInterrupt {
        self.on_interrupt
    }

    /// Takes note of the signal that asked for an end, if one did: it may have come while nobody
    /// waited for news, or before anything was performed.
    pub fn take_interrupt(&self) -> Option<i32> {
        self.interrupts.acknowledge()
    }

    /// Begins an action. Its outcome comes with the same tag, which no other action that runs has.
    pub fn submit(&mut self, tag: u64, request: ActionRequest) -> Result<(), Error> {
        let request = match &mut self.passwords {
            Some(passwords) => passwords.track(tag, request),
            None => request,
        };
        self.runner()?.begin(tag, request)?;
        self.running += 1;
        Ok(())
    }

    /// Waits for the next news, until a time if there is one.
    pub fn next(&mut self, until: Option<Instant>) -> Result<DriverEvent, Error> {
        let unanswered = self.passwords.as_mut().and_then(|it| it.unanswered.take());
        if let Some(UnansweredAction { id, result, .. }) = unanswered {
            return Ok(DriverEvent::Outcome(id, result));
        }
        loop {
            let event = match self.runner()?.next_event(until)? {
                None => DriverEvent::Timeout,
                Some(RunnerEvent::Note(id, note)) => DriverEvent::Note(id, note),
                Some(RunnerEvent::Output(id, stream, bytes)) => {
                    DriverEvent::Output(id, stream, bytes)
                }
                Some(RunnerEvent::Interruption(signal)) => {
                    if self.on_interrupt == OnInterrupt::Cancel {
                        self.cancel_all();
                    }
                    DriverEvent::Interrupt(signal)
                }
                Some(RunnerEvent::Ended(id, result)) => match self.handle_ended(id, result)? {
                    Some(event) => event,
                    None => continue,
                },
            };
            return Ok(event);
        }
    }

    /// Takes the answer to the question that was told last: the action that asked it begins again.
    /// If nobody answers, its outcome is the next news.
    pub fn answer(&mut self, answer: Option<Secret>) -> Result<(), Error> {
        let Some(passwords) = &mut self.passwords else {
            return Ok(());
        };
        let Some(unanswered) = passwords.unanswered.take() else {
            return Ok(());
        };
        let is_answered = answer.is_some();
        passwords
            .prompts
            .record_answer(&unanswered.question, answer);
        if is_answered {
            return self.submit(unanswered.id, unanswered.action.request);
        }
        passwords.unanswered = Some(unanswered);
        Ok(())
    }

    /// Ends all actions early; their outcomes still come.
    pub fn cancel_all(&mut self) {
        if let RunnerState::Running(performer) = &mut self.runner {
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
                Ok(DriverEvent::Outcome(tag, result)) => outcomes.push((tag, result)),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        outcomes
    }

    /// Whether the outcome of an action is still to come.
    fn is_running(&self) -> bool {
        let has_unanswered = |passwords: &PasswordState| passwords.unanswered.is_some();
        self.running > 0 || self.passwords.as_ref().is_some_and(has_unanswered)
    }

    /// The news of an action that has ended; none if it begins again.
    fn handle_ended(
        &mut self,
        id: u64,
        result: ActionResult,
    ) -> Result<Option<DriverEvent>, Error> {
        self.running = self.running.saturating_sub(1);
        let Some(passwords) = &mut self.passwords else {
            return Ok(Some(DriverEvent::Outcome(id, result)));
        };
        let action = passwords.in_flight.remove(&id);
        let (Some(action), Exit::NeedsAnswer { question, .. }) = (action, result.exit()) else {
            return Ok(Some(DriverEvent::Outcome(id, result)));
        };
        match passwords.prompts.decide(question, action.known_answers) {
            PromptDecision::Retry => {
                self.submit(id, action.request)?;
                Ok(None)
            }
            PromptDecision::Prompt => {
                let question = question.clone();
                passwords.unanswered = Some(UnansweredAction {
                    id,
                    action,
                    result,
                    question: question.clone(),
                });
                Ok(Some(DriverEvent::Question(question)))
            }
            PromptDecision::Fail => Ok(Some(DriverEvent::Outcome(id, result))),
        }
    }

    /// What performs actions, started with the first one. From then on signals end neither helper
    /// programs nor this process.
    fn runner(&mut self) -> Result<&mut dyn ActionRunner, Error> {
        if let RunnerState::NotStarted(_) = &self.runner {
            let not_started = std::mem::replace(&mut self.runner, RunnerState::Failed);
            if let RunnerState::NotStarted(start) = not_started {
                let performer = start()?;
                self.interrupts.mark_started();
                self.signal_listener = performer.listen(&self.interrupts);
                self.runner = RunnerState::Running(performer);
            }
        }
        match &mut self.runner {
            RunnerState::Running(performer) => Ok(&mut **performer),
            RunnerState::NotStarted(_) | RunnerState::Failed => Err(Error::Ended),
        }
    }
}

impl PasswordState {
    /// Keeps an action that begins, and gives it with the passwords that are known.
    fn track(&mut self, tag: u64, request: ActionRequest) -> ActionRequest {
        let whole = self.with_passwords(&request);
        let since = self.prompts.answer_count();
        self.in_flight.insert(
            tag,
            InFlightAction {
                request,
                known_answers: since,
            },
        );
        whole
    }

    /// The action with the passwords that are known, as the user that it is for.
    fn with_passwords(&self, request: &ActionRequest) -> ActionRequest {
        let known = self.prompts.passwords();
        let location = match &request.location {
            Location::Ssh(destination) => Location::Ssh(Arc::new(known.apply(destination))),
            location => location.clone(),
        };
        let chain = self.user.clone().map(|user| {
            let password = match &location {
                Location::Ssh(destination) => known.sudo(&destination.address).cloned(),
                Location::Local | Location::Container(_) => None,
            };
            let sudo = ChainExecutor::Sudo(BecomeUser { user, password });
            Arc::new(ExecutorChain::new(vec![sudo]))
        });
        ActionRequest {
            location,
            chain,
            ..request.clone()
        }
    }
}

/// The next step of a machine.
#[derive(Debug)]
pub enum MachineStep {
    /// This action begins; its result comes with the same tag.
    Perform(u64, Box<ActionRequest>),
    /// There is more to do, unless somebody asked for an end meanwhile.
    Continue,
    /// Nothing until there are news, or until a time.
    Wait(Option<Instant>),
    /// All has come to its end.
    End,
}

/// A state machine: says what is to be performed, and is told what came of it. Performs nothing
/// itself.
pub trait StateMachine {
    /// The one who is shown what happens, and who is asked.
    type View: ?Sized;
    /// Why it cannot go on.
    type Error: From<Error>;

    /// Says what is next. An action that it gives has begun before it is asked again.
    fn next(&mut self, view: &mut Self::View) -> Result<MachineStep, Self::Error>;

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
    fn note(&mut self, _tag: u64, _note: ChainNote, _view: &mut Self::View) {}

    /// Hears what the command of an action wrote.
    fn output(&mut self, _tag: u64, _written: (Stream, Vec<u8>), _view: &mut Self::View) {}

    /// Asks somebody for a secret; none if nobody answers.
    fn prompt_secret(&mut self, _question: &Question, _view: &mut Self::View) -> Option<Secret> {
        None
    }
}

/// Runs a machine until it has come to its end.
pub fn drive<M: StateMachine>(
    machine: &mut M,
    driver: &mut Driver,
    view: &mut M::View,
) -> Result<(), M::Error> {
    loop {
        if let Some(signal) = driver.take_interrupt() {
            machine.interrupt(signal);
        }
        match machine.next(view)? {
            MachineStep::Perform(tag, request) => driver.submit(tag, *request)?,
            MachineStep::Continue => {}
            MachineStep::Wait(until) => dispatch_event(machine, driver.next(until)?, driver, view)?,
            MachineStep::End => return Ok(()),
        }
    }
}

/// Tells a machine the news.
fn dispatch_event<M: StateMachine>(
    machine: &mut M,
    event: DriverEvent,
    driver: &mut Driver,
    view: &mut M::View,
) -> Result<(), M::Error> {
    match event {
        DriverEvent::Outcome(tag, result) => machine.complete(tag, result, view)?,
        DriverEvent::Question(question) => driver.answer(machine.prompt_secret(&question, view))?,
        DriverEvent::Note(tag, note) => machine.note(tag, note, view),
        DriverEvent::Output(tag, stream, bytes) => machine.output(tag, (stream, bytes), view),
        DriverEvent::Timeout => machine.wake(),
        DriverEvent::Interrupt(signal) => machine.interrupt(signal),
    }
    Ok(())
}
