//! A session: performs the requests of a runner. Some restart a host, some go through a chain of
//! executors, and all others act at once: as a process, as facts and changes of this machine, or
//! over a connection.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::mpsc as results;
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::time::sleep;

use super::action_runner::RunnerEvent;
use super::guard::Guard;
use super::limits::RunLimits;
use super::local_action::LocalAction;
use super::local_command::{CancelSignals, EchoMessage, EchoSender, LocalCommand, send_output};
use crate::host::{
    Action, ActionRequest, ActionResult, CallControl, ChainContext, ChainProgress, ChainRun,
    Command, ConnectionPool, ExecutorChain, Exit, Location, Program, RunOutput, StopLevel, Stream,
    UnhandledPolicy,
};
use crate::system::env::Env;
use crate::system::machine;

/// How many pieces of output wait before the command that writes them waits.
const MAX_QUEUED_PIECES: usize = 8;
/// Prints what is another text after each start of a host.
const BOOT_ID_COMMAND: &str = "cat /proc/sys/kernel/random/boot_id";
/// How often it is looked whether the host is there again.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// How long a look may take: the host may be gone without a word.
const POLL_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the command may take that restarts the host; afterwards it may still do so.
const RESTART_COMMAND_TIMEOUT: Duration = Duration::from_secs(30);

/// Performs requests, as far as limits allow.
#[derive(Clone)]
pub(super) struct RequestExecutor {
    pub(super) limits: Arc<RunLimits>,
    pub(super) echo: EchoSender,
    pub(super) guard: Option<Arc<Guard>>,
    pub(super) pool: Arc<ConnectionPool>,
    pub(super) permits: Arc<Semaphore>,
    pub(super) results: results::Sender<RunnerEvent>,
}

impl RequestExecutor {
    /// Performs a request: restarts a host if it asks for that, else goes through its chain if it
    /// has one, else acts.
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
        match request.chain.take() {
            Some(chain) => self.run_chain(&chain, id, request, ends).await,
            None => self.execute(id, request, ends).await,
        }
    }

    /// Takes a request through a chain: waits, and does what the chain says. Only what acts takes a
    /// turn: hosts that wait do not hold up others.
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
            // Nobody listens any more when the runner is being dropped.
            self.results.send(RunnerEvent::Note(id, note)).ok();
        }
    }

    /// Does the work of a request once it is its turn: here, or elsewhere.
    async fn execute(
        &self,
        id: u64,
        request: ActionRequest,
        mut ends: CancelSignals,
    ) -> ActionResult {
        let turn = tokio::select! {
            biased;
            () = ends.until_cancelled() => {
                return ActionResult::not_performed(&request.action, Exit::Cancelled);
            }
            turn = self.permits.acquire() => turn,
        };
        let (limits, guard) = (Arc::clone(&self.limits), self.guard.clone());
        let echo = self.echo.clone();
        let result = match request {
            ActionRequest {
                location: Location::Local,
                action: Action::Run(command),
                ..
            } => {
                let running = LocalCommand {
                    id,
                    echo: echo.filter(|_| command.echo),
                    command,
                    limits,
                    guard,
                };
                ActionResult::Run(Box::pin(running.run(ends)).await)
            }
            ActionRequest {
                location: Location::Local,
                action: action @ (Action::Read(_) | Action::Change(_)),
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
        drop(turn);
        result
    }

    /// Has the connections do the work of a request on another machine, or of a transfer.
    async fn execute_remote(
        &self,
        id: u64,
        echo: EchoSender,
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
        let call = CallControl {
            stop: stopped,
            output_sender: pieces,
        };
        let showing = async {
            if let Some(shown) = shown {
                shown.await;
            }
        };
        let performing = async {
            let performed = self.pool.perform(&request.location, &request.action, call);
            tokio::join!(performed, showing).0
        };
        tokio::select! {
            result = performing => result,
            never = forward_cancellation(ends, stop) => match never {},
        }
    }
}

/// Shows what the command of an action writes elsewhere, without its secrets.
async fn echo_pieces(
    id: u64,
    action: &Action,
    mut pieces: mpsc::Receiver<(Stream, Vec<u8>)>,
    echo: &mpsc::Sender<EchoMessage>,
) {
    let Action::Run(command) = action else {
        return;
    };
    let mut out = command.redactor();
    let mut err = command.redactor();
    while let Some((stream, bytes)) = pieces.recv().await {
        let redactor = match stream {
            Stream::Stdout => &mut out,
            Stream::Stderr => &mut err,
        };
        send_output(id, stream, redactor.push(&bytes), echo).await;
    }
    send_output(id, Stream::Stdout, out.end(), echo).await;
    send_output(id, Stream::Stderr, err.end(), echo).await;
    // The result does not come before all of it was heard.
    let (flushed, receiver) = oneshot::channel();
    if echo.send(EchoMessage::Flush(flushed)).await.is_ok() {
        receiver.await.ok();
    }
}

/// Tells the connections when the action is to end; never ends by itself.
async fn forward_cancellation(ends: CancelSignals, stop: watch::Sender<StopLevel>) -> Infallible {
    let CancelSignals {
        cancelled,
        kill_now: mut hurried,
    } = ends;
    if cancelled.await.is_ok() {
        stop.send_replace(StopLevel::Gently);
        if hurried.wait_for(|hurried| *hurried).await.is_ok() {
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

/// How an action ends that no executor has performed.
fn exit_without_executor(chain: &ExecutorChain) -> Exit {
    match chain.on_unhandled {
        UnhandledPolicy::Warn => Exit::Code(0),
        UnhandledPolicy::Fail => Exit::Failed("no executor ran the function".to_owned()),
    }
}

/// A command that restarts its host, which is waited for until it is there again (spec/hosts.md
/// F64).
struct HostRestart<'s> {
    executor: &'s RequestExecutor,
    id: u64,
    request: ActionRequest,
    /// How long it may take after the command.
    wait: Duration,
}

impl HostRestart<'_> {
    /// Performs it. It succeeds once the host has started anew.
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
            let why = "only hosts that SSH leads to are restarted".to_owned();
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
            // It may go down before it says how that went.
            Exit::Code(0) | Exit::Signal(_) | Exit::Failed(_) | Exit::TimedOut => {}
            _ => return ordered,
        }
        output(self.wait_for_restart(&before, &mut ends).await)
    }

    /// Waits until the host has started anew.
    async fn wait_for_restart(&self, before: &str, ends: &mut CancelSignals) -> Exit {
        let deadline = Instant::now() + self.wait;
        let mut why = "it has not gone down".to_owned();
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
                Ok(_) => "it has not gone down".clone_into(&mut why),
                Err(Exit::Cancelled) if has_passed(deadline) => {}
                Err(Exit::Cancelled) => return Exit::Cancelled,
                // While it starts it may refuse anything.
                Err(exit) => why = exit.to_string(),
            }
        }
    }

    /// Which start of the host it is; or why that cannot be told.
    async fn boot_id(
        &self,
        deadline: Option<Instant>,
        ends: &mut CancelSignals,
    ) -> Result<String, Exit> {
        let mut command = Command::new(Program::shell(BOOT_ID_COMMAND), "");
        command.time_limit = Some(POLL_TIMEOUT);
        let request = ActionRequest {
            host: self.request.host.clone(),
            ..ActionRequest::at(self.request.location.clone(), Action::Run(command))
        };
        match self.perform_before(request, deadline, ends).await {
            ActionResult::Run(output) if output.exit.is_ok() => {
                let text = output.stdout.text().trim().to_owned();
                let none = || Exit::Failed("it does not tell its boot id".to_owned());
                Some(text).filter(|text| !text.is_empty()).ok_or_else(none)
            }
            result => Err(match result.exit() {
                Exit::Code(code) => {
                    Exit::Failed(format!("could not read its boot id: exit code {code}"))
                }
                exit => exit.clone(),
            }),
        }
    }

    /// Performs one action, until the deadline at most. What ends all of it ends that.
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
