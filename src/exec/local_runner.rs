//! The runner for real actions: its own thread runs many actions at a time, here and on other
//! hosts.
//!
//! [`LocalRunner`] is the handle in the thread of the driver. It sends commands to the runner
//! thread and receives [`RunnerEvent`]s. Each action is a tokio task that uses [`RequestExecutor`].

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc as results;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::task::{JoinError, JoinSet};

use super::action_runner::Error;
use super::action_runner::{ActionRunner, RunnerEvent};
use super::guard::Guard;
use super::limits::RunLimits;
use super::local_command::{CancelSignals, sleep_until};
use super::output_budget::{OutputBudget, OutputSender};
use super::request_executor::{OutputSettings, RequestExecutor};
use super::stdin_reader::ProgramInputSource;
use crate::host::{ActionRequest, ActionResult, ConnectionPool, Exit, RunOutput};
use crate::system::signals::{Interrupts, ListenerGuard};
use crate::system::survivors;

/// Runs actions on this machine and on other hosts.
///
/// Dropping it kills all running actions.
#[derive(Debug)]
pub struct LocalRunner {
    commands: mpsc::UnboundedSender<RunnerCommand>,
    results: results::Receiver<RunnerEvent>,
    thread: Option<JoinHandle<()>>,
    output_budget: OutputBudget,
}

impl LocalRunner {
    /// Starts the thread of the runner, which discards output.
    pub fn start(limits: RunLimits) -> Result<Self, Error> {
        Self::start_thread(limits, false)
    }

    /// Starts the thread of the runner and reports output as events.
    ///
    /// The output of commands with `echo` comes before their results. A reader that does not take
    /// events slows those commands down.
    pub fn start_with_output(limits: RunLimits) -> Result<Self, Error> {
        Self::start_thread(limits, true)
    }

    fn start_thread(limits: RunLimits, has_output: bool) -> Result<Self, Error> {
        let (result_sender, results) = results::channel();
        let output_budget = OutputBudget::new();
        let output = OutputSettings {
            sender: OutputSender {
                results: result_sender.clone(),
                budget: output_budget.clone(),
            },
            has_echo: has_output,
        };
        let (commands, command_receiver) = mpsc::unbounded_channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let thread = std::thread::Builder::new()
            .name("runner".to_owned())
            .spawn(move || {
                runtime.block_on(run_loop(limits, output, command_receiver, result_sender));
                // A running name lookup would otherwise delay the end.
                runtime.shutdown_background();
            })?;
        Ok(Self {
            commands,
            results,
            thread: Some(thread),
            output_budget,
        })
    }

    /// Starts an action.
    ///
    /// Its result has the same id. No other running action may have this id.
    pub fn submit(&self, id: u64, request: ActionRequest) {
        self.send(RunnerCommand::Begin(id, Box::new(request)));
    }

    /// Cancels all running actions. Their results still come.
    pub fn cancel_all(&self) {
        self.send(RunnerCommand::CancelAll);
    }

    /// Waits for the next event.
    ///
    /// Waits forever if no action was submitted.
    pub fn recv(&self) -> Result<RunnerEvent, Error> {
        let event = self.results.recv().map_err(|_| Error::Ended)?;
        self.release_output(&event);
        Ok(event)
    }

    /// Waits for the next event, at most for the given time. None if no event came.
    pub fn recv_within(&self, time: Duration) -> Result<Option<RunnerEvent>, Error> {
        match self.results.recv_timeout(time) {
            Ok(event) => {
                self.release_output(&event);
                Ok(Some(event))
            }
            Err(results::RecvTimeoutError::Timeout) => Ok(None),
            Err(results::RecvTimeoutError::Disconnected) => Err(Error::Ended),
        }
    }

    fn release_output(&self, event: &RunnerEvent) {
        match event {
            RunnerEvent::Output(_, _, bytes) => self.output_budget.release(bytes.len()),
            RunnerEvent::Line(_, line) => self.output_budget.release(line.len()),
            _ => {}
        }
    }

    fn send(&self, order: RunnerCommand) {
        // If the thread has ended, `recv` reports it.
        self.commands.send(order).ok();
    }
}

impl ActionRunner for LocalRunner {
    fn begin(&mut self, id: u64, request: ActionRequest) -> Result<(), Error> {
        self.submit(id, request);
        Ok(())
    }

    fn next_event(&mut self, until: Option<Instant>) -> Result<Option<RunnerEvent>, Error> {
        match until {
            None => self.recv().map(Some),
            Some(end) => self.recv_within(end.saturating_duration_since(Instant::now())),
        }
    }

    fn cancel_all(&mut self) {
        Self::cancel_all(self);
    }

    /// Handles signals: running actions have [`RunLimits::interrupt_grace`] after the first one;
    /// the second one kills them.
    ///
    /// Each signal is also reported as an event.
    fn listen(&self, interrupts: &Interrupts) -> Option<ListenerGuard> {
        let orders = self.commands.clone();
        Some(interrupts.listen(move |signal, nth| {
            // After the runner has ended, nothing runs that a signal could end.
            orders.send(RunnerCommand::Interrupt(signal, nth)).ok();
        }))
    }
}

impl Drop for LocalRunner {
    fn drop(&mut self) {
        self.output_budget.close();
        // The thread kills all running actions and ends.
        self.send(RunnerCommand::Stop);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

/// A command from the handle to the runner thread.
enum RunnerCommand {
    Begin(u64, Box<ActionRequest>),
    CancelAll,
    /// A signal requests termination; the second number counts such signals from 1.
    Interrupt(i32, usize),
    Stop,
}

/// Handles commands until `Stop`, then kills all running actions.
async fn run_loop(
    limits: RunLimits,
    output: OutputSettings,
    mut commands: mpsc::UnboundedReceiver<RunnerCommand>,
    results: results::Sender<RunnerEvent>,
) {
    let max_running = limits.max_running.clamp(1, Semaphore::MAX_PERMITS);
    let mut state = RunnerLoop {
        executor: RequestExecutor {
            permits: Arc::new(Semaphore::new(max_running)),
            results,
            output,
            guard: limits.guard.clone().map(|it| Arc::new(Guard::start(it))),
            pool: Arc::new(ConnectionPool::new(limits.connections.clone())),
            limits: Arc::new(limits),
            program_input: ProgramInputSource::default(),
        },
        interrupt_deadline: None,
        is_refusing: false,
        kill_now: watch::channel(false).0,
        running: JoinSet::new(),
        ids: HashMap::new(),
        cancels: HashMap::new(),
        started_count: 0,
    };
    loop {
        let command = tokio::select! {
            order = commands.recv() => order,
            () = sleep_until(state.interrupt_deadline) => {
                state.end_all();
                continue;
            }
            Some(ended) = state.running.join_next_with_id() => {
                state.handle_ended(ended);
                continue;
            }
        };
        match command {
            Some(RunnerCommand::Begin(id, request)) => state.begin(id, *request),
            Some(RunnerCommand::CancelAll) => cancel_all(&mut state.cancels),
            Some(RunnerCommand::Interrupt(signal, nth)) => state.interrupt(signal, nth),
            Some(RunnerCommand::Stop) | None => break,
        }
    }
    state.stop().await;
}

/// The state of the runner thread.
struct RunnerLoop {
    executor: RequestExecutor,
    /// The time at which running actions are cancelled after the first signal.
    interrupt_deadline: Option<Instant>,
    /// Whether new actions are refused, after the grace period or a second signal.
    is_refusing: bool,
    /// Whether cancelled commands are killed without grace.
    kill_now: watch::Sender<bool>,
    running: JoinSet<(u64, u64)>,
    /// The action ids of the tokio tasks.
    ids: HashMap<tokio::task::Id, u64>,
    /// The senders that cancel actions, each with the number of its start.
    ///
    /// An id may be reused as soon as its result was reported, before its tokio task is seen to
    /// have ended.
    cancels: HashMap<u64, (u64, oneshot::Sender<()>)>,
    started_count: u64,
}

impl RunnerLoop {
    fn begin(&mut self, id: u64, request: ActionRequest) {
        if self.is_refusing {
            self.send_result(
                id,
                ActionResult::not_performed(&request.action, Exit::Cancelled),
            );
            return;
        }
        let (cancel, cancelled) = oneshot::channel();
        let ends = CancelSignals {
            cancelled,
            kill_now: self.kill_now.subscribe(),
        };
        self.started_count += 1;
        let count = self.started_count;
        self.cancels.insert(id, (count, cancel));
        let executor = self.executor.clone();
        // The runtime copies a future that it spawns, so this large one is boxed.
        let task = self.running.spawn(Box::pin(async move {
            let result = executor.perform(id, request, ends).await;
            // The receiver is gone while the runner is being dropped.
            executor.results.send(RunnerEvent::Ended(id, result)).ok();
            (id, count)
        }));
        self.ids.insert(task.id(), id);
    }

    /// Handles a signal: the first one starts the grace period, the second one kills all actions.
    fn interrupt(&mut self, signal: i32, nth: usize) {
        if nth > 1 {
            self.kill_now.send_replace(true);
            self.end_all();
        } else if !self.is_refusing {
            self.interrupt_deadline = Some(Instant::now() + self.executor.limits.interrupt_grace);
        }
        // The reader of events learns of each signal.
        self.executor
            .results
            .send(RunnerEvent::Interruption(signal))
            .ok();
    }

    fn end_all(&mut self) {
        self.interrupt_deadline = None;
        self.is_refusing = true;
        cancel_all(&mut self.cancels);
    }

    /// Kills all running actions and their stray processes, and closes all connections.
    async fn stop(mut self) {
        while let Some(ended) = self.running.try_join_next_with_id() {
            // Actions that have ended may have left processes behind on purpose, which are spared.
            self.handle_ended(ended);
        }
        let tasks: Vec<u64> = self.ids.values().copied().collect();
        // Dropping the tokio tasks drops their process groups, which kills them.
        self.running = JoinSet::new();
        if let Some(guard) = &self.executor.guard {
            if !tasks.is_empty() {
                let is_spared = |task| !tasks.contains(&task);
                survivors::terminate(guard.token(), &is_spared, Duration::ZERO);
            }
            guard.close();
        }
        self.executor.pool.close().await;
    }

    fn handle_ended(&mut self, ended: Result<(tokio::task::Id, (u64, u64)), JoinError>) {
        match ended {
            Ok((task, (id, count))) => {
                self.ids.remove(&task);
                if self
                    .cancels
                    .get(&id)
                    .is_some_and(|(latest, _)| *latest == count)
                {
                    self.cancels.remove(&id);
                }
            }
            Err(error) => {
                // The reader must not wait forever for the result of a task that panicked.
                if let Some(id) = self.ids.remove(&error.id()) {
                    let why =
                        "the action was aborted by an internal error of the runner".to_owned();
                    self.send_result(id, ActionResult::Run(RunOutput::not_run(Exit::Failed(why))));
                }
            }
        }
    }

    /// Sends the result of an action that did not run to its end.
    fn send_result(&self, id: u64, result: ActionResult) {
        self.executor
            .results
            .send(RunnerEvent::Ended(id, result))
            .ok();
    }
}

fn cancel_all(cancels: &mut HashMap<u64, (u64, oneshot::Sender<()>)>) {
    for (_, (_, sender)) in cancels.drain() {
        // The action may have ended already.
        sender.send(()).ok();
    }
}
