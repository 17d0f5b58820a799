//! Performs the requests of the runner.
//!
//! A request may restart its host ([`HostRestart`]), pass through a chain of executors, or run at
//! once: as a process, as facts and changes of this machine, or over a connection of `host`.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::mpsc as results;
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::sleep;

use super::action_runner::RunnerEvent;
use super::guard::Guard;
use super::limits::RunLimits;
use super::local_action::LocalAction;
use super::local_command::{CancelSignals, LocalCommand};
use super::output_budget::OutputSender;
use super::stdin_reader::ProgramInputSource;
use crate::host::{
    Action, ActionRequest, ActionResult, CallControl, ChainContext, ChainProgress, ChainRun,
    Command, ConnectionPool, ExecutorChain, Exit, Location, Program, RunOutput, StopLevel, Stream,
    TransferAmount, UnhandledPolicy,
};
use crate::system::env::Env;
use crate::system::machine;

/// The number of output pieces that wait before the command that writes them has to wait.
const MAX_QUEUED_PIECES: usize = 8;
/// A command whose output changes with each boot of a host.
const BOOT_ID_COMMAND: &str = "cat /proc/sys/kernel/random/boot_id";
/// The interval at which a restarting host is checked.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// The time limit of one check, since a host may go away without closing the connection.
const POLL_TIMEOUT: Duration = Duration::from_secs(10);
/// The time limit of the restart command. The host may still restart after it.
const RESTART_COMMAND_TIMEOUT: Duration = Duration::from_secs(30);

/// The receiver of the output of commands.
#[derive(Clone)]
pub(super) struct OutputSettings {
    pub(super) sender: OutputSender,
    /// True if the output of commands with `echo` is reported.
    pub(super) has_echo: bool,
}

impl OutputSettings {
    fn echo(&self) -> Option<OutputSender> {
        self.has_echo.then(|| self.sender.clone())
    }
}

/// Performs requests within the limits of the runner. Clones share all state.
#[derive(Clone)]
pub(super) struct RequestExecutor {
    pub(super) limits: Arc<RunLimits>,
    pub(super) output: OutputSettings,
    pub(super) guard: Option<Arc<Guard>>,
    pub(super) pool: Arc<ConnectionPool>,
    pub(super) permits: Arc<Semaphore>,
    pub(super) program_input: ProgramInputSource,
    pub(super) results: results::Sender<RunnerEvent>,
}

impl RequestExecutor {
    /// Performs a request: restarts the host, passes through the chain of executors, or runs at
    /// once.
    ///
    /// Output that contains a secret of the command or a password of the host is marked: it would otherwise
    /// get into logs and records.
    pub(super) async fn perform(
        &self,
        id: u64,
        mut request: ActionRequest,
        ends: CancelSignals,
    ) -> ActionResult {
        if let Some(wait) = request.restart.take() {
            let restart = HostRestart {
                executor: self,
                id,
                request,
                wait,
            };
            return Box::pin(restart.perform(ends)).await;
        }
        let released = match &request.location {
            Location::Ssh(destination) if request.closes_connection => {
                Some(Arc::clone(destination))
            }
            _ => None,
        };
        let chain = request.chain.take();
        let mut secrets = request.location.secrets();
        if let Some(chain) = &chain {
            secrets.append(&chain.secrets());
        }
        if let Action::Run(command) = &mut request.action {
            command.secrets.append(&secrets);
            secrets = command.hidden();
        }
        let mut result = match chain {
            Some(chain) => Box::pin(self.run_chain(&chain, id, request, ends)).await,
            None => self.execute(id, request, ends).await,
        };
        result.hide(&secrets);
        if let Some(destination) = released
            && !matches!(result.exit(), Exit::NeedsAnswer { .. })
        {
            self.pool.release(&destination);
        }
        result
    }

    /// Runs a request through its chain of executors.
    ///
    /// Only the action itself takes a permit: a host that waits (splay, retry) does not hold up
    /// others.
    async fn run_chain(
        &self,
        chain: &Arc<ExecutorChain>,
        id: u64,
        request: ActionRequest,
        mut ends: CancelSignals,
    ) -> ActionResult {
        let mut run = chain.begin(request.clone(), chain_start(&request));
        let not_performed = |exit| ActionResult::not_performed(&request.action, exit);
        let mut last = None;
        loop {
            let progress = run.step(last.take(), Instant::now());
            self.send_notes(id, &mut run);
            match progress {
                ChainProgress::Wait(time) => tokio::select! {
                    biased;
                    () = ends.until_cancelled() => return not_performed(Exit::Cancelled),
                    () = sleep(time) => {}
                },
                ChainProgress::Perform(request) => {
                    let act = |ends| self.execute(id, *request, ends);
                    let result = ends.run_part(None, act).await;
                    let cancelled = *result.exit() == Exit::Cancelled;
                    if cancelled {
                        return result;
                    }
                    last = Some(result);
                }
                ChainProgress::Finished(result) => return *result,
                ChainProgress::Unhandled => return not_performed(exit_without_executor(chain)),
            }
        }
    }

    fn send_notes(&self, id: u64, run: &mut ChainRun) {
        for note in run.take_notes() {
            // The receiver is gone while the runner is being dropped.
            self.results.send(RunnerEvent::Note(id, note)).ok();
        }
    }

    /// Waits for a permit, then runs the action here or on another machine.
    async fn execute(
        &self,
        id: u64,
        request: ActionRequest,
        mut ends: CancelSignals,
    ) -> ActionResult {
        let permit = tokio::select! {
            biased;
            () = ends.until_cancelled() => {
                return ActionResult::not_performed(&request.action, Exit::Cancelled);
            }
            turn = self.permits.acquire() => turn,
        };
        let (limits, guard) = (Arc::clone(&self.limits), self.guard.clone());
        let echo = self.output.echo();
        let result = match request {
            ActionRequest {
                location: Location::Local,
                action: Action::Run(command),
                ..
            } => {
                let part = command.program_input;
                let running = LocalCommand {
                    id,
                    input: part.map(|part| self.program_input.spool().reader(part)),
                    echo: echo.filter(|_| command.echo),
                    lines: command.reports_lines.then(|| self.output.sender.clone()),
                    command,
                    limits,
                    guard,
                };
                ActionResult::Run(Box::pin(running.run(ends)).await)
            }
            ActionRequest {
                location: Location::Local,
                action: action @ (Action::Read(_) | Action::Change(_) | Action::Private(_)),
                ..
            } => {
                let native = LocalAction {
                    id,
                    action,
                    limits,
                    guard,
                };
                Box::pin(native.perform(ends)).await
            }
            request => {
                let echo = echo.filter(|_| request.is_echoed());
                Box::pin(self.execute_remote(id, echo, &request, ends)).await
            }
        };
        drop(permit);
        result
    }

    /// Runs an action on another machine, or a transfer, over a connection.
    async fn execute_remote(
        &self,
        id: u64,
        echo: Option<OutputSender>,
        request: &ActionRequest,
        ends: CancelSignals,
    ) -> ActionResult {
        let (stop, stopped) = watch::channel(StopLevel::No);
        let (pieces, shown) = match &echo {
            Some(echo) => {
                let (pieces, receiver) = mpsc::channel(MAX_QUEUED_PIECES);
                let shown = echo_pieces(id, &request.action, receiver, echo);
                (Some(pieces), Some(shown))
            }
            None => (None, None),
        };
        let is_transfer = matches!(request.action, Action::Put(_) | Action::Get(_));
        let reports = is_transfer && self.output.has_echo;
        let (amounts, progress) = reports.then(|| mpsc::channel(MAX_QUEUED_PIECES)).unzip();
        let call = CallControl {
            stop: stopped,
            output_sender: pieces,
            progress_sender: amounts,
            program_input: reads_program_input(&request.action).then(|| self.program_input.spool()),
        };
        let showing = async {
            if let Some(shown) = shown {
                shown.await;
            }
        };
        let reporting = async {
            if let Some(progress) = progress {
                self.report_progress(id, progress).await;
            }
        };
        let performing = async {
            let login = request.login.as_deref();
            let (location, action) = (&request.location, &request.action);
            let performed = self.pool.perform_as(location, login, action, call);
            tokio::join!(performed, showing, reporting).0
        };
        tokio::select! {
            result = performing => result,
            never = forward_cancellation(ends, stop) => match never {},
        }
    }

    /// Reports the amounts that a transfer has copied.
    async fn report_progress(&self, id: u64, mut amounts: mpsc::Receiver<TransferAmount>) {
        while let Some(amount) = amounts.recv().await {
            // The receiver is gone while the runner is being dropped.
            self.results.send(RunnerEvent::Progress(id, amount)).ok();
        }
    }
}

fn reads_program_input(action: &Action) -> bool {
    matches!(action, Action::Run(command) if command.program_input.is_some())
}

/// Reports the output of a remote command, with secrets redacted.
async fn echo_pieces(
    id: u64,
    action: &Action,
    mut pieces: mpsc::Receiver<(Stream, Vec<u8>)>,
    echo: &OutputSender,
) {
    let Action::Run(command) = action else {
        return;
    };
    let (mut out, mut err) = command.redactors();
    while let Some((stream, bytes)) = pieces.recv().await {
        let redactor = match stream {
            Stream::Stdout => &mut out,
            Stream::Stderr => &mut err,
        };
        echo.send(id, stream, redactor.push(&bytes)).await;
    }
    echo.send(id, Stream::Stdout, out.finish()).await;
    echo.send(id, Stream::Stderr, err.finish()).await;
}

/// Passes a cancellation on to the connection. Never returns.
async fn forward_cancellation(ends: CancelSignals, stop: watch::Sender<StopLevel>) -> Infallible {
    let CancelSignals {
        cancelled,
        mut kill_now,
    } = ends;
    if cancelled.await.is_ok() {
        stop.send_replace(StopLevel::Gently);
        if kill_now.wait_for(|hurried| *hurried).await.is_ok() {
            stop.send_replace(StopLevel::AtOnce);
        }
    }
    std::future::pending().await
}

fn chain_start(request: &ActionRequest) -> ChainContext {
    ChainContext {
        host: request.host.clone().unwrap_or_default(),
        rank: request.rank,
        token: ulid::Ulid::generate().to_string(),
        environment: Env::of_this_process(),
        local_name: machine::hostname(),
    }
}

/// Returns the exit of an action that no executor of the chain has run.
fn exit_without_executor(chain: &ExecutorChain) -> Exit {
    match chain.on_unhandled {
        UnhandledPolicy::Warn => Exit::Code(0),
        UnhandledPolicy::Fail => Exit::Failed(
            "no executor of the chain ran the action; end the chain with `direct`".to_owned(),
        ),
    }
}

/// A command that restarts its host, followed by a wait until the host is up again (rule F64).
struct HostRestart<'s> {
    executor: &'s RequestExecutor,
    id: u64,
    request: ActionRequest,
    /// The time that the restart may take after the command.
    wait: Duration,
}

impl HostRestart<'_> {
    /// Runs the command and waits. Succeeds once the host has booted again.
    async fn perform(mut self, mut ends: CancelSignals) -> ActionResult {
        let start = Instant::now();
        let output = |exit| {
            let output = RunOutput::not_run(exit);
            let elapsed = start.elapsed();
            ActionResult::Run(RunOutput { elapsed, ..output })
        };
        let (Location::Ssh(_), Action::Run(command)) =
            (&self.request.location, &mut self.request.action)
        else {
            let why = "only hosts that are reached over SSH can be restarted".to_owned();
            return output(Exit::Failed(why));
        };
        let limit = command.time_limit.unwrap_or(RESTART_COMMAND_TIMEOUT);
        command.time_limit = Some(limit.min(RESTART_COMMAND_TIMEOUT));
        let before = match self.boot_id(None, &mut ends).await {
            Ok(before) => before,
            Err(exit) => return output(exit),
        };
        let ordered = self
            .perform_before(self.request.clone(), None, &mut ends)
            .await;
        match ordered.exit() {
            // The host may go down before it reports the exit of the command.
            Exit::Code(0) | Exit::Signal(_) | Exit::Failed(_) | Exit::TimedOut => {}
            _ => return ordered,
        }
        output(self.wait_for_restart(&before, &mut ends).await)
    }

    /// Waits until the boot id of the host has changed.
    async fn wait_for_restart(&self, before: &str, ends: &mut CancelSignals) -> Exit {
        let deadline = Instant::now() + self.wait;
        let mut why = "the boot id has not changed".to_owned();
        loop {
            let remaining = deadline.saturating_duration_since(Instant::now());
            if remaining.is_zero() {
                let wait = self.wait.as_secs();
                return Exit::Failed(format!("did not restart within {wait} s: {why}"));
            }
            tokio::select! {
                biased;
                () = ends.until_cancelled() => return Exit::Cancelled,
                () = sleep(POLL_INTERVAL.min(remaining)) => {}
            }
            match self.boot_id(Some(deadline), ends).await {
                Ok(now) if now != before => return Exit::Code(0),
                Ok(_) => "the boot id has not changed".clone_into(&mut why),
                Err(Exit::Cancelled) if has_passed(deadline) => {}
                Err(Exit::Cancelled) => return Exit::Cancelled,
                // A booting host may fail in any way.
                Err(exit) => why = exit.to_string(),
            }
        }
    }

    /// Returns the boot id of the host.
    async fn boot_id(
        &self,
        deadline: Option<Instant>,
        ends: &mut CancelSignals,
    ) -> Result<String, Exit> {
        let mut command = Command::new(Program::shell(BOOT_ID_COMMAND), "");
        command.time_limit = Some(POLL_TIMEOUT);
        let request = ActionRequest {
            host: self.request.host.clone(),
            ..ActionRequest::new(self.request.location.clone(), Action::Run(command))
        };
        match self.perform_before(request, deadline, ends).await {
            ActionResult::Run(output) if output.exit.is_ok() => {
                let text = output.stdout.text().trim().to_owned();
                let none = || {
                    Exit::Failed(
                        "the host printed no boot id (/proc/sys/kernel/random/boot_id)".to_owned(),
                    )
                };
                Some(text).filter(|text| !text.is_empty()).ok_or_else(none)
            }
            result => Err(match result.exit() {
                Exit::Code(code) => Exit::Failed(format!(
                    "could not read the boot id of the host: exit code {code}"
                )),
                exit => exit.clone(),
            }),
        }
    }

    /// Performs one action, at most until the deadline. Cancelling the restart cancels it.
    async fn perform_before(
        &self,
        request: ActionRequest,
        deadline: Option<Instant>,
        ends: &mut CancelSignals,
    ) -> ActionResult {
        let perform = |ends| Box::pin(self.executor.perform(self.id, request, ends));
        ends.run_part(deadline, perform).await
    }
}

fn has_passed(deadline: Instant) -> bool {
    Instant::now() >= deadline
}
