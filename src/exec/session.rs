//! A session: performs the requests of a runner. Some restart a host, some go through a chain of
//! executors, and all others act at once: as a process, as facts and changes of this machine, or
//! over a connection.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::mpsc as results;
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::time::sleep;

use super::guard::Guard;
use super::limits::Limits;
use super::native::Native;
use super::perform::Heard;
use super::running::{Echo, Ends, Piece, Running, show};
use crate::host::{
    Action, ActionResult, Call, Chain, ChainProgress, ChainRun, Command, Exit, Nobody, Place, Pool,
    Program, Request, RunOutput, Start, Stop, Stream,
};
use crate::system::env::Env;
use crate::system::machine;

/// How many pieces of output wait before the command that writes them waits.
const PIECES_WAITING: usize = 8;
/// Prints what is another text after each start of a host.
const BOOT_ID: &str = "cat /proc/sys/kernel/random/boot_id";
/// How often it is looked whether the host is there again.
const LOOK: Duration = Duration::from_secs(2);
/// How long a look may take: the host may be gone without a word.
const LOOKING: Duration = Duration::from_secs(10);
/// How long the command may take that restarts the host; afterwards it may still do so.
const ORDERING: Duration = Duration::from_secs(30);

/// Performs requests, as far as limits allow.
#[derive(Clone)]
pub(super) struct Session {
    pub(super) limits: Arc<Limits>,
    pub(super) echo: Echo,
    pub(super) guard: Option<Arc<Guard>>,
    pub(super) pool: Arc<Pool>,
    pub(super) turns: Arc<Semaphore>,
    pub(super) results: results::Sender<Heard>,
}

impl Session {
    /// Performs a request: restarts a host if it asks for that, else goes through its chain if it
    /// has one, else acts.
    pub(super) async fn perform(&self, id: u64, mut request: Request, ends: Ends) -> ActionResult {
        if let Some(wait) = request.restart.take() {
            let restart = Restart {
                session: self,
                id,
                request,
                wait,
            };
            return Box::pin(restart.perform(ends)).await;
        }
        match request.chain.take() {
            Some(chain) => self.go_through(&chain, id, request, ends).await,
            None => self.act(id, request, ends).await,
        }
    }

    /// Takes a request through a chain: waits, and does what the chain says. Only what acts takes a
    /// turn: hosts that wait do not hold up others.
    async fn go_through(
        &self,
        chain: &Arc<Chain>,
        id: u64,
        request: Request,
        mut ends: Ends,
    ) -> ActionResult {
        let mut run = chain.begin(request.clone(), start_of(&request));
        let not_performed = |exit| ActionResult::not_performed(&request.action, exit);
        let mut last = None;
        loop {
            let progress = run.step(last.take(), Instant::now());
            self.tell(id, &mut run);
            match progress {
                ChainProgress::Wait(time) => tokio::select! {
                    biased;
                    () = ends.until_cancelled() => return not_performed(Exit::Cancelled),
                    () = sleep(time) => {}
                },
                ChainProgress::Do(request) => {
                    let act = |ends| self.act(id, *request, ends);
                    let result = ends.part(None, act).await;
                    let cancelled = *result.exit() == Exit::Cancelled;
                    if cancelled {
                        return result;
                    }
                    last = Some(result);
                }
                ChainProgress::Done(result) => return *result,
                ChainProgress::Nothing => return not_performed(exit_of_nobody(chain)),
            }
        }
    }

    fn tell(&self, id: u64, run: &mut ChainRun) {
        for note in run.take_notes() {
            // Nobody listens any more when the runner is being dropped.
            self.results.send(Heard::Note(id, note)).ok();
        }
    }

    /// Does the work of a request once it is its turn: here, or elsewhere.
    async fn act(&self, id: u64, request: Request, mut ends: Ends) -> ActionResult {
        let turn = tokio::select! {
            biased;
            () = ends.until_cancelled() => {
                return ActionResult::not_performed(&request.action, Exit::Cancelled);
            }
            turn = self.turns.acquire() => turn,
        };
        let (limits, guard) = (Arc::clone(&self.limits), self.guard.clone());
        let echo = self.echo.clone();
        let result = match request {
            Request {
                place: Place::Here,
                action: Action::Run(command),
                ..
            } => {
                let running = Running {
                    id,
                    echo: echo.filter(|_| command.echo),
                    command,
                    limits,
                    guard,
                };
                ActionResult::Run(Box::pin(running.run(ends)).await)
            }
            Request {
                place: Place::Here,
                action: action @ (Action::Read(_) | Action::Change(_)),
                ..
            } => {
                let native = Native {
                    id,
                    action,
                    limits,
                    guard,
                };
                Box::pin(native.perform(ends)).await
            }
            request => {
                let echo = echo.filter(|_| request.is_echoed());
                Box::pin(self.act_elsewhere(id, echo, &request, ends)).await
            }
        };
        drop(turn);
        result
    }

    /// Has the connections do the work of a request on another machine, or of a transfer.
    async fn act_elsewhere(
        &self,
        id: u64,
        echo: Echo,
        request: &Request,
        ends: Ends,
    ) -> ActionResult {
        let (stop, stopped) = watch::channel(Stop::No);
        let (pieces, shown) = match &echo {
            Some(echo) => {
                let (pieces, heard) = mpsc::channel(PIECES_WAITING);
                let shown = show_pieces(id, &request.action, heard, echo);
                (Some(pieces), Some(shown))
            }
            None => (None, None),
        };
        let call = Call {
            stop: stopped,
            pieces,
        };
        let showing = async {
            if let Some(shown) = shown {
                shown.await;
            }
        };
        let performing = async {
            let performed = self.pool.perform(&request.place, &request.action, call);
            tokio::join!(performed, showing).0
        };
        tokio::select! {
            result = performing => result,
            never = hand_on(ends, stop) => match never {},
        }
    }
}

/// Shows what the command of an action writes elsewhere, without its secrets.
async fn show_pieces(
    id: u64,
    action: &Action,
    mut pieces: mpsc::Receiver<(Stream, Vec<u8>)>,
    echo: &mpsc::Sender<Piece>,
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
        show(id, stream, redactor.push(&bytes), echo).await;
    }
    show(id, Stream::Stdout, out.end(), echo).await;
    show(id, Stream::Stderr, err.end(), echo).await;
    // The result does not come before all of it was heard.
    let (tell, heard) = oneshot::channel();
    if echo.send(Piece::Heard(tell)).await.is_ok() {
        heard.await.ok();
    }
}

/// Tells the connections when the action is to end; never ends by itself.
async fn hand_on(ends: Ends, stop: watch::Sender<Stop>) -> Infallible {
    let Ends {
        cancelled,
        mut hurried,
    } = ends;
    if cancelled.await.is_ok() {
        stop.send_replace(Stop::Gently);
        if hurried.wait_for(|hurried| *hurried).await.is_ok() {
            stop.send_replace(Stop::AtOnce);
        }
    }
    std::future::pending().await
}

fn start_of(request: &Request) -> Start {
    Start {
        host: request.host.clone().unwrap_or_default(),
        rank: request.rank,
        token: ulid::Ulid::generate().to_string(),
        environment: Env::of_this_process(),
        machine: machine::hostname(),
    }
}

/// How an action ends that no executor has performed.
fn exit_of_nobody(chain: &Chain) -> Exit {
    match chain.nobody {
        Nobody::Warns => Exit::Code(0),
        Nobody::Fails => Exit::Failed("no executor ran the function".to_owned()),
    }
}

/// A command that restarts its host, which is waited for until it is there again (spec/hosts.md
/// F64).
struct Restart<'s> {
    session: &'s Session,
    id: u64,
    request: Request,
    /// How long it may take after the command.
    wait: Duration,
}

impl Restart<'_> {
    /// Performs it. It succeeds once the host has started anew.
    async fn perform(mut self, mut ends: Ends) -> ActionResult {
        let start = Instant::now();
        let output = |exit| {
            let output = RunOutput::not_run(exit);
            let elapsed = start.elapsed();
            ActionResult::Run(RunOutput { elapsed, ..output })
        };
        let (Place::Ssh(_), Action::Run(command)) = (&self.request.place, &mut self.request.action)
        else {
            let why = "only hosts that SSH leads to are restarted".to_owned();
            return output(Exit::Failed(why));
        };
        let limit = command.time_limit.unwrap_or(ORDERING);
        command.time_limit = Some(limit.min(ORDERING));
        let before = match self.boot_id(None, &mut ends).await {
            Ok(before) => before,
            Err(exit) => return output(exit),
        };
        let ordered = self.one(self.request.clone(), None, &mut ends).await;
        match ordered.exit() {
            // It may go down before it says how that went.
            Exit::Code(0) | Exit::Signal(_) | Exit::Failed(_) | Exit::TimedOut => {}
            _ => return ordered,
        }
        output(self.comes_back(&before, &mut ends).await)
    }

    /// Waits until the host has started anew.
    async fn comes_back(&self, before: &str, ends: &mut Ends) -> Exit {
        let deadline = Instant::now() + self.wait;
        let mut why = "it has not gone down".to_owned();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let wait = self.wait.as_secs();
                return Exit::Failed(format!("did not restart within {wait} s: {why}"));
            }
            tokio::select! {
                biased;
                () = ends.until_cancelled() => return Exit::Cancelled,
                () = sleep(LOOK.min(left)) => {}
            }
            match self.boot_id(Some(deadline), ends).await {
                Ok(now) if now != before => return Exit::Code(0),
                Ok(_) => "it has not gone down".clone_into(&mut why),
                Err(Exit::Cancelled) if is_over(deadline) => {}
                Err(Exit::Cancelled) => return Exit::Cancelled,
                // While it starts it may refuse anything.
                Err(exit) => why = exit.to_string(),
            }
        }
    }

    /// Which start of the host it is; or why that cannot be told.
    async fn boot_id(&self, deadline: Option<Instant>, ends: &mut Ends) -> Result<String, Exit> {
        let mut command = Command::new(Program::shell(BOOT_ID), "");
        command.time_limit = Some(LOOKING);
        let request = Request {
            host: self.request.host.clone(),
            ..Request::at(self.request.place.clone(), Action::Run(command))
        };
        match self.one(request, deadline, ends).await {
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
    async fn one(
        &self,
        request: Request,
        deadline: Option<Instant>,
        ends: &mut Ends,
    ) -> ActionResult {
        let perform = |ends| Box::pin(self.session.perform(self.id, request, ends));
        ends.part(deadline, perform).await
    }
}

fn is_over(deadline: Instant) -> bool {
    Instant::now() >= deadline
}
