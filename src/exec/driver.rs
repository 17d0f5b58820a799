//! The driver of a run: starts actions with a runner and reports results, questions, signals and
//! timeouts.
//!
//! [`drive`] is the one loop behind all runs (jobs, tasks, states, facts): it asks a
//! [`StateMachine`] for its next step and lets the [`Driver`] perform it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::action_runner::Error;
use super::action_runner::{ActionRunner, RunnerEvent};
use super::limits::RunLimits;
use super::local_runner::LocalRunner;
use super::password_prompts::{PasswordPrompts, PromptDecision};
use crate::host::{
    ActionRequest, ActionResult, BecomeUser, ChainExecutor, ChainNote, ExecutorChain, Exit,
    Location, Passwords, Question, Secret, StatedPasswords, Stream, TransferAmount, TrialAnswers,
};
use crate::system::signals::{Interrupts, ListenerGuard};

/// The effect of the first signal on running actions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnInterrupt {
    /// Running actions may end by themselves within this time. A second signal kills them.
    Grace(Duration),
    /// Running actions are cancelled at once.
    Cancel,
}

/// The destination of the output of commands with `echo`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputMode {
    Discard,
    /// The driver reports the output as [`DriverEvent::Output`].
    Events,
}

/// An event that the driver reports to a run.
#[derive(Debug)]
pub enum DriverEvent {
    Outcome(u64, ActionResult),
    /// A question for the user; [`Driver::answer`] takes the answer.
    ///
    /// Only a driver with passwords (see [`Driver::with_passwords`]) reports questions.
    Question(Question),
    /// A note of an executor about an action, in words without secrets.
    Note(u64, ChainNote),
    /// The command of an action wrote output.
    Output(u64, Stream, Vec<u8>),
    /// A transfer has copied this amount so far.
    Progress(u64, TransferAmount),
    /// The command of an action wrote this line to its stdout.
    Line(u64, String),
    /// The user or the system requests termination with this signal.
    Interrupt(i32),
    Timeout,
}

/// Starts the runner that performs actions.
type StartRunner = Box<dyn FnOnce() -> Result<Box<dyn ActionRunner>, Error>>;

/// The runner of a driver, which starts with the first action.
enum RunnerState {
    /// Not started: many runs have no action.
    NotStarted(StartRunner),
    Running(Box<dyn ActionRunner>),
    /// The start has failed and is not tried again.
    Failed,
}

/// A running action of a driver that asks for passwords.
struct InFlightAction {
    /// The request as submitted, without passwords.
    request: ActionRequest,
    /// The answers that the action tries.
    trials: TrialAnswers,
    /// The number of accepted answers when the action started.
    known_answers: usize,
}

/// An action that ended with a question for the user.
struct UnansweredAction {
    id: u64,
    action: InFlightAction,
    result: ActionResult,
    question: Question,
}

/// The known passwords, and the user that actions run as.
struct PasswordState {
    prompts: PasswordPrompts,
    user: Option<String>,
    in_flight: HashMap<u64, InFlightAction>,
    unanswered: Option<UnansweredAction>,
    /// Actions whose question waits until an answer to a question of the same kind was tried elsewhere.
    parked: VecDeque<UnansweredAction>,
    /// True if a trial has ended since the parked actions were looked at.
    has_trial_ended: bool,
}

/// Runs actions, each identified by a tag.
///
/// The runner starts with the first action. From then on signals reach it, until the driver is
/// dropped.
pub struct Driver {
    // The first field, so that it is dropped first: signals must not reach a runner that is gone.
    signal_listener: Option<ListenerGuard>,
    runner: RunnerState,
    /// The number of actions that have started and not ended.
    running: usize,
    interrupts: Interrupts,
    on_interrupt: OnInterrupt,
    passwords: Option<PasswordState>,
    /// The chain of executors for actions that name none.
    chain: Option<Arc<ExecutorChain>>,
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driver")
            .field("on_interrupt", &self.on_interrupt)
            .finish_non_exhaustive()
    }
}

impl Driver {
    /// Creates a driver. `start` starts its runner when the first action is submitted.
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
            chain: None,
        }
    }

    /// Makes actions that name no chain of executors pass through this one.
    #[must_use]
    pub fn with_chain(mut self, chain: Option<Arc<ExecutorChain>>) -> Self {
        self.chain = chain;
        self
    }

    /// Creates a driver whose actions this process runs with a [`LocalRunner`].
    pub fn local(
        interrupts: Interrupts,
        on_interrupt: OnInterrupt,
        limits: RunLimits,
        output: OutputMode,
    ) -> Self {
        let grace = match on_interrupt {
            OnInterrupt::Grace(time) => time,
            OnInterrupt::Cancel => limits.interrupt_grace,
        };
        let limits = RunLimits {
            interrupt_grace: grace,
            ..limits
        };
        Self::new(interrupts, on_interrupt, move || {
            Ok(Box::new(match output {
                OutputMode::Discard => LocalRunner::start(limits)?,
                OutputMode::Events => LocalRunner::start_with_output(limits)?,
            }))
        })
    }

    /// Makes the driver ask for passwords and use them.
    ///
    /// The run begins with the `known` passwords. An action that failed for want of a password starts again once it is
    /// answered, and an answer that its host accepts is applied to all later actions. With a `user`, actions run as that
    /// user.
    #[must_use]
    pub fn with_passwords(mut self, user: Option<String>, known: Passwords) -> Self {
        self.passwords = Some(PasswordState {
            prompts: PasswordPrompts::new(known),
            user,
            in_flight: HashMap::new(),
            unanswered: None,
            parked: VecDeque::new(),
            has_trial_ended: false,
        });
        self
    }

    /// Returns the effect of a signal on running actions.
    pub fn on_interrupt(&self) -> OnInterrupt {
        self.on_interrupt
    }

    /// Acknowledges the first signal and returns it, if one came.
    ///
    /// The signal may have come while the run did not wait for events, or before the runner
    /// started.
    pub fn take_interrupt(&self) -> Option<i32> {
        self.interrupts.acknowledge()
    }

    /// Starts an action.
    ///
    /// Its outcome has the same tag. No other running action may have this tag.
    pub fn submit(&mut self, tag: u64, request: ActionRequest) -> Result<(), Error> {
        self.submit_with(tag, request, TrialAnswers::default())
    }

    fn submit_with(
        &mut self,
        tag: u64,
        request: ActionRequest,
        trials: TrialAnswers,
    ) -> Result<(), Error> {
        let request = match &mut self.passwords {
            Some(passwords) => passwords.track(tag, request, trials),
            None => request,
        };
        let request = ActionRequest {
            chain: request.chain.or_else(|| self.chain.clone()),
            ..request
        };
        self.runner()?.begin(tag, request)?;
        self.running += 1;
        Ok(())
    }

    /// Waits for the next event, at most until the given time.
    pub fn next(&mut self, until: Option<Instant>) -> Result<DriverEvent, Error> {
        let unanswered = self.passwords.as_mut().and_then(|it| it.unanswered.take());
        if let Some(UnansweredAction { id, result, .. }) = unanswered {
            return Ok(DriverEvent::Outcome(id, result));
        }
        loop {
            if let Some(event) = self.resume_parked()? {
                return Ok(event);
            }
            let event = match self.runner()?.next_event(until)? {
                None => DriverEvent::Timeout,
                Some(RunnerEvent::Note(id, note)) => DriverEvent::Note(id, note),
                Some(RunnerEvent::Output(id, stream, bytes)) => {
                    DriverEvent::Output(id, stream, bytes)
                }
                Some(RunnerEvent::Progress(id, amount)) => DriverEvent::Progress(id, amount),
                Some(RunnerEvent::Line(id, line)) => DriverEvent::Line(id, line),
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

    /// Takes the answer to the last question and starts the action again.
    ///
    /// Without an answer, the outcome of the action is the next event.
    pub fn answer(&mut self, answer: Option<Secret>) -> Result<(), Error> {
        let Some(passwords) = &mut self.passwords else {
            return Ok(());
        };
        let Some(unanswered) = passwords.unanswered.take() else {
            return Ok(());
        };
        let Some(answer) = answer else {
            passwords.prompts.close();
            passwords.unanswered = Some(unanswered);
            return Ok(());
        };
        let InFlightAction {
            request,
            mut trials,
            ..
        } = unanswered.action;
        trials.add(&unanswered.question, answer);
        self.submit_with(unanswered.id, request, trials)
    }

    /// Cancels all running actions. Their outcomes still come.
    pub fn cancel_all(&mut self) {
        if let RunnerState::Running(runner) = &mut self.runner {
            runner.cancel_all();
        }
    }

    /// Cancels all running actions and waits for their outcomes.
    ///
    /// Returns the outcomes of the actions that had started. Stops waiting if the runner has ended.
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
        let has_unanswered = |passwords: &PasswordState| {
            passwords.unanswered.is_some() || !passwords.parked.is_empty()
        };
        self.running > 0 || self.passwords.as_ref().is_some_and(has_unanswered)
    }

    /// Returns the event for an ended action. None if the action starts again.
    fn handle_ended(
        &mut self,
        id: u64,
        result: ActionResult,
    ) -> Result<Option<DriverEvent>, Error> {
        self.running = self.running.saturating_sub(1);
        let Some(passwords) = &mut self.passwords else {
            return Ok(Some(DriverEvent::Outcome(id, result)));
        };
        let Some(mut action) = passwords.in_flight.remove(&id) else {
            return Ok(Some(DriverEvent::Outcome(id, result)));
        };
        passwords.has_trial_ended |= !action.trials.is_empty();
        passwords.prompts.settle(&mut action.trials, result.exit());
        let Exit::NeedsAnswer { question, .. } = result.exit() else {
            return Ok(Some(DriverEvent::Outcome(id, result)));
        };
        let question = question.clone();
        self.handle_question(UnansweredAction {
            id,
            action,
            result,
            question,
        })
    }

    /// Returns the event for an action that needs an answer. None if the action starts again, or waits for another.
    fn handle_question(
        &mut self,
        unanswered: UnansweredAction,
    ) -> Result<Option<DriverEvent>, Error> {
        let Some(passwords) = &mut self.passwords else {
            return Ok(Some(DriverEvent::Outcome(unanswered.id, unanswered.result)));
        };
        let question = &unanswered.question;
        if passwords.is_tried_elsewhere(question) {
            passwords.parked.push_back(unanswered);
            return Ok(None);
        }
        match passwords
            .prompts
            .decide(question, unanswered.action.known_answers)
        {
            PromptDecision::Retry => {
                let InFlightAction {
                    request, trials, ..
                } = unanswered.action;
                self.submit_with(unanswered.id, request, trials)?;
                Ok(None)
            }
            PromptDecision::Prompt => {
                let question = question.clone();
                passwords.unanswered = Some(unanswered);
                Ok(Some(DriverEvent::Question(question)))
            }
            PromptDecision::Fail => {
                Ok(Some(DriverEvent::Outcome(unanswered.id, unanswered.result)))
            }
        }
    }

    /// Goes on with the actions that waited for the trial of an answer, once it has ended.
    ///
    /// Returns the first event of these actions; the others keep their order.
    fn resume_parked(&mut self) -> Result<Option<DriverEvent>, Error> {
        let waiting = self.passwords.as_ref().filter(|it| it.has_trial_ended);
        let count = waiting.map_or(0, |it| it.parked.len());
        for _ in 0..count {
            let parked = self.passwords.as_mut().and_then(|it| it.parked.pop_front());
            let Some(parked) = parked else {
                break;
            };
            if let Some(event) = self.handle_question(parked)? {
                return Ok(Some(event));
            }
        }
        if let Some(passwords) = &mut self.passwords {
            passwords.has_trial_ended = false;
        }
        Ok(None)
    }

    /// Returns the runner, started if necessary.
    ///
    /// From its start on, signals end neither helper programs nor this process: the runner handles
    /// them.
    fn runner(&mut self) -> Result<&mut dyn ActionRunner, Error> {
        if let RunnerState::NotStarted(_) = &self.runner {
            let not_started = std::mem::replace(&mut self.runner, RunnerState::Failed);
            if let RunnerState::NotStarted(start) = not_started {
                let runner = start()?;
                self.interrupts.mark_started();
                self.signal_listener = runner.listen(&self.interrupts);
                self.runner = RunnerState::Running(runner);
            }
        }
        match &mut self.runner {
            RunnerState::Running(performer) => Ok(&mut **performer),
            RunnerState::NotStarted(_) | RunnerState::Failed => Err(Error::Ended),
        }
    }
}

impl PasswordState {
    /// Remembers a starting action and returns it with the known passwords.
    fn track(&mut self, tag: u64, request: ActionRequest, trials: TrialAnswers) -> ActionRequest {
        let completed = self.with_passwords(&request, &trials);
        let known_answers = self.prompts.accepted_count();
        self.in_flight.insert(
            tag,
            InFlightAction {
                request,
                trials,
                known_answers,
            },
        );
        completed
    }

    /// Returns true if a running action tries an answer to a question of this kind.
    fn is_tried_elsewhere(&self, question: &Question) -> bool {
        let mut running = self.in_flight.values();
        running.any(|action| action.trials.tries_kind_of(question))
    }

    /// Returns the action with the known passwords and the `sudo` executor of the configured user.
    fn with_passwords(&self, request: &ActionRequest, trials: &TrialAnswers) -> ActionRequest {
        let known = self.prompts.passwords();
        let stated = StatedPasswords::default();
        let location = match &request.location {
            Location::Ssh(destination) => {
                Location::Ssh(Arc::new(known.apply(destination, &stated, trials)))
            }
            location => location.clone(),
        };
        let user = self.user.as_ref().or(request.become_user.as_ref());
        let chain = user.cloned().map(|user| {
            let password = match &location {
                Location::Ssh(destination) => destination.sudo_password.clone(),
                Location::Local | Location::Container(_) => {
                    trials.sudo().or(known.local_sudo(&stated)).cloned()
                }
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

/// The next step of a state machine.
#[derive(Debug)]
pub enum MachineStep {
    /// Start this action. Its result comes with the same tag.
    Perform(u64, Box<ActionRequest>),
    /// Ask for the next step again at once, after a check for signals.
    Continue,
    /// Wait for an event, at most until the given time.
    Wait(Option<Instant>),
    End,
}

/// A run as a state machine: decides which actions to perform and takes their results.
///
/// Performs nothing itself. [`drive`] connects it to a [`Driver`].
pub trait StateMachine {
    /// The view that shows the run and asks the user.
    type View: ?Sized;
    /// The error that stops the run.
    type Error: From<Error>;

    /// Returns the next step.
    ///
    /// A returned action has started before this is called again.
    fn next(&mut self, view: &mut Self::View) -> Result<MachineStep, Self::Error>;

    /// Takes the result of an action.
    fn complete(
        &mut self,
        tag: u64,
        result: ActionResult,
        view: &mut Self::View,
    ) -> Result<(), Self::Error>;

    /// Handles a signal that requests termination.
    ///
    /// Called before each step, and when the signal comes during a wait.
    fn interrupt(&mut self, signal: i32);

    /// Handles the end of a wait whose time is over.
    fn wake(&mut self) {}

    /// Shows a note of an executor about an action, in words without secrets.
    fn note(&mut self, _tag: u64, _note: ChainNote, _view: &mut Self::View) {}

    /// Takes a line that the command of an action wrote to its stdout.
    fn line(&mut self, _tag: u64, _line: &str) {}

    /// Shows output that the command of an action wrote.
    fn output(&mut self, _tag: u64, _written: (Stream, Vec<u8>), _view: &mut Self::View) {}

    /// Shows the amount that a transfer has copied.
    fn progress(&mut self, _tag: u64, _amount: TransferAmount, _view: &mut Self::View) {}

    /// Asks the user for a secret. None without an answer.
    fn prompt_secret(&mut self, _question: &Question, _view: &mut Self::View) -> Option<Secret> {
        None
    }
}

/// Runs a state machine to its end.
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

/// Passes an event of the driver to the state machine.
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
        DriverEvent::Progress(tag, amount) => machine.progress(tag, amount, view),
        DriverEvent::Line(tag, line) => machine.line(tag, &line),
        DriverEvent::Timeout => machine.wake(),
        DriverEvent::Interrupt(signal) => machine.interrupt(signal),
    }
    Ok(())
}
