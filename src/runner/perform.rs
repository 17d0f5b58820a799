//! What the runner's thread does: begins commands, reads what they write, ends them.
#![expect(
    clippy::disallowed_methods,
    reason = "the runner is the one that starts commands"
)]

use std::collections::HashMap;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc as results;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::task::{JoinError, JoinSet};

use super::elsewhere::Elsewhere;
use super::guard::Guard;
use super::local::{Heard, Limits, OutputSink};
use super::program::file_of;
use super::redact::Redactor;
use crate::host::{
    Action, ActionResult, Background, Capture, Captured, Command, Exit, Place, Pool, Request,
    RunOutput, Stream,
};
use crate::system::fault::{self, Call};
use crate::system::survivors;

/// How many pieces of output wait for a sink before the commands that write them wait.
const PIECES_WAITING: usize = 64;
/// The largest piece of output.
const PIECE: usize = 64 << 10;

/// What the thread is told.
pub(super) enum Order {
    Begin(u64, Box<Request>),
    Cancel(u64),
    CancelAll,
    /// Somebody asks for an end, for the nth time.
    Interrupt(usize),
    Stop,
}

/// What the sink's thread is told.
pub(super) enum Piece {
    Output(u64, Stream, Vec<u8>),
    /// All before this was heard.
    Heard(oneshot::Sender<()>),
}

pub(super) type Echo = Option<mpsc::Sender<Piece>>;

/// Follows orders until it is to stop, then kills all that runs.
pub(super) async fn serve(
    limits: Limits,
    sink: Option<Box<dyn OutputSink>>,
    mut orders: mpsc::UnboundedReceiver<Order>,
    results: results::Sender<Heard>,
) {
    let mut server = Server {
        echo: sink.and_then(listen),
        turns: Arc::new(Semaphore::new(
            limits.running.clamp(1, Semaphore::MAX_PERMITS),
        )),
        guard: limits.guarding.clone().map(|it| Arc::new(Guard::start(it))),
        pool: Arc::new(Pool::new(limits.connections.clone())),
        limits: Arc::new(limits),
        results,
        patience: None,
        refuses: false,
        hurry: watch::channel(false).0,
        running: JoinSet::new(),
        ids: HashMap::new(),
        cancels: HashMap::new(),
        begun: 0,
    };
    loop {
        let order = tokio::select! {
            order = orders.recv() => order,
            () = over(server.patience) => {
                server.end_all();
                continue;
            }
            Some(ended) = server.running.join_next_with_id() => {
                server.ended(ended);
                continue;
            }
        };
        match order {
            Some(Order::Begin(id, request)) => server.begin(id, *request),
            Some(Order::Cancel(id)) => cancel(server.cancels.remove(&id)),
            Some(Order::CancelAll) => cancel_all(&mut server.cancels),
            Some(Order::Interrupt(nth)) => server.interrupt(nth),
            Some(Order::Stop) | None => break,
        }
    }
    server.stop().await;
}

/// Waits until a time is over; for ever if there is none.
async fn over(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time.into()).await,
        None => std::future::pending().await,
    }
}

/// All that runs.
struct Server {
    limits: Arc<Limits>,
    echo: Echo,
    turns: Arc<Semaphore>,
    guard: Option<Arc<Guard>>,
    pool: Arc<Pool>,
    results: results::Sender<Heard>,
    /// Until when commands may go on after somebody asked for an end.
    patience: Option<Instant>,
    /// Whether no command begins any more.
    refuses: bool,
    /// Whether commands are to be killed without grace.
    hurry: watch::Sender<bool>,
    running: JoinSet<(u64, u64)>,
    /// The effects of the tasks.
    ids: HashMap<tokio::task::Id, u64>,
    /// An id may come again as soon as its result was told, before its task is seen to have ended.
    cancels: HashMap<u64, (u64, oneshot::Sender<()>)>,
    begun: u64,
}

impl Server {
    fn begin(&mut self, id: u64, request: Request) {
        if self.refuses {
            self.tell(
                id,
                ActionResult::not_performed(&request.action, Exit::Cancelled),
            );
            return;
        }
        let (cancel, cancelled) = oneshot::channel();
        let ends = Ends {
            cancelled,
            hurried: self.hurry.subscribe(),
        };
        self.begun += 1;
        let count = self.begun;
        self.cancels.insert(id, (count, cancel));
        let turns = Arc::clone(&self.turns);
        let results = self.results.clone();
        let work = self.work(id, request);
        let task = self.running.spawn(async move {
            let result = work.wait_turn(&turns, ends).await;
            // Nobody listens any more when the runner is being dropped.
            results.send(Heard::Ended(id, result)).ok();
            (id, count)
        });
        self.ids.insert(task.id(), id);
    }

    /// Who performs an action: a process of this machine, or the connections to others.
    fn work(&self, id: u64, request: Request) -> Work {
        let echo = self.echo.clone();
        match request {
            Request {
                place: Place::Here,
                action: Action::Run(command),
            } => Work::Here(Box::new(Running {
                id,
                echo: echo.filter(|_| command.echo),
                command,
                limits: Arc::clone(&self.limits),
                guard: self.guard.clone(),
            })),
            request => Work::Elsewhere(Box::new(Elsewhere {
                id,
                echo: echo.filter(|_| request.is_echoed()),
                request,
                pool: Arc::clone(&self.pool),
            })),
        }
    }

    /// What runs may go on for a while. Who asks twice does not want to wait: all is killed.
    fn interrupt(&mut self, nth: usize) {
        if nth > 1 {
            self.hurry.send_replace(true);
            self.end_all();
        } else if !self.refuses {
            self.patience = Some(Instant::now() + self.limits.patience);
        }
        // Whoever waits for a result is to know.
        self.results.send(Heard::Interruption).ok();
    }

    fn end_all(&mut self) {
        self.patience = None;
        self.refuses = true;
        cancel_all(&mut self.cancels);
    }

    /// Kills what runs, wherever it went, and closes all connections.
    async fn stop(mut self) {
        while let Some(ended) = self.running.try_join_next_with_id() {
            // What it left behind on purpose may live.
            self.ended(ended);
        }
        let tasks: Vec<u64> = self.ids.values().copied().collect();
        // Dropping the tasks drops their groups, which kills them.
        self.running = JoinSet::new();
        if let Some(guard) = &self.guard {
            if !tasks.is_empty() {
                let is_spared = |task| !tasks.contains(&task);
                survivors::end(guard.token(), &is_spared, Duration::ZERO);
            }
            guard.goodbye();
        }
        self.pool.close().await;
    }

    fn ended(&mut self, ended: Result<(tokio::task::Id, (u64, u64)), JoinError>) {
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
                // Whoever waits for the result must not wait for ever.
                if let Some(id) = self.ids.remove(&error.id()) {
                    let why = "the runner could not go on with it".to_owned();
                    self.tell(id, ActionResult::Run(RunOutput::not_run(Exit::Failed(why))));
                }
            }
        }
    }

    /// Answers for an action that did not run to its end.
    fn tell(&self, id: u64, result: ActionResult) {
        self.results.send(Heard::Ended(id, result)).ok();
    }
}

fn cancel_all(cancels: &mut HashMap<u64, (u64, oneshot::Sender<()>)>) {
    for (_, each) in cancels.drain() {
        cancel(Some(each));
    }
}

/// What ends a command from outside.
pub(super) struct Ends {
    pub(super) cancelled: oneshot::Receiver<()>,
    /// Whether it is to be killed without grace.
    pub(super) hurried: watch::Receiver<bool>,
}

/// An action on its way.
enum Work {
    Here(Box<Running>),
    Elsewhere(Box<Elsewhere>),
}

impl Work {
    async fn wait_turn(self, turns: &Semaphore, mut ends: Ends) -> ActionResult {
        let turn = tokio::select! {
            biased;
            _ = &mut ends.cancelled => return self.cancelled(),
            turn = turns.acquire() => turn,
        };
        let result = match self {
            Self::Here(running) => ActionResult::Run(running.run(ends).await),
            Self::Elsewhere(elsewhere) => elsewhere.perform(ends).await,
        };
        drop(turn);
        result
    }

    fn cancelled(&self) -> ActionResult {
        match self {
            Self::Here(_) => ActionResult::Run(RunOutput::not_run(Exit::Cancelled)),
            Self::Elsewhere(it) => ActionResult::not_performed(&it.request.action, Exit::Cancelled),
        }
    }
}

fn cancel(sender: Option<(u64, oneshot::Sender<()>)>) {
    if let Some((_, sender)) = sender {
        // It may have ended meanwhile.
        sender.send(()).ok();
    }
}

/// Starts the thread in which the sink hears.
fn listen(mut sink: Box<dyn OutputSink>) -> Echo {
    let (sender, mut pieces) = mpsc::channel(PIECES_WAITING);
    let thread = std::thread::Builder::new().name("echo".to_owned());
    let started = thread.spawn(move || {
        while let Some(piece) = pieces.blocking_recv() {
            match piece {
                Piece::Output(id, stream, bytes) => sink.output(id, stream, &bytes),
                Piece::Heard(tell) => drop(tell.send(())),
            }
        }
    });
    started.is_ok().then_some(sender)
}

/// The processes of one command; they die with this value unless they may live.
struct Group {
    id: Pid,
    kill_on_drop: bool,
}

fn signal_group(group: Pid, signal: Signal) {
    // The last of them may have ended meanwhile.
    killpg(group, signal).ok();
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.kill_on_drop {
            signal_group(self.id, Signal::SIGKILL);
        }
    }
}

/// One command on its way.
struct Running {
    id: u64,
    command: Command,
    limits: Arc<Limits>,
    echo: Echo,
    guard: Option<Arc<Guard>>,
}

impl Running {
    async fn run(mut self, ends: Ends) -> RunOutput {
        let start = Instant::now();
        let mut child = match self.spawn() {
            Ok(child) => child,
            Err(exit) => return RunOutput::not_run(exit),
        };
        let id = child.id();
        if let (Some(guard), Some(id)) = (&self.guard, id) {
            guard.begun(self.id, id);
        }
        let mut group = Group {
            id: Pid::from_raw(id.and_then(|id| i32::try_from(id).ok()).unwrap_or(i32::MAX)),
            kill_on_drop: true,
        };
        let feeding = feed(child.stdin.take(), self.command.stdin.take());
        let mut stdout = Reading::of(child.stdout.take(), &self.command);
        let mut stderr = Reading::of(child.stderr.take(), &self.command);
        let exit = {
            let reading = async {
                tokio::join!(
                    feeding,
                    stdout.read_all((self.id, Stream::Stdout), &self.echo),
                    stderr.read_all((self.id, Stream::Stderr), &self.echo),
                );
            };
            tokio::pin!(reading);
            let ending = self.until_end(&mut child, group.id, ends);
            tokio::pin!(ending);
            let mut all_read = false;
            let exit = loop {
                tokio::select! {
                    exit = &mut ending => break exit,
                    () = &mut reading, if !all_read => all_read = true,
                }
            };
            self.end_what_is_left(&exit, &mut group).await;
            if !all_read {
                // What left the group may hold the pipes open for ever.
                tokio::time::timeout(self.limits.drain, &mut reading)
                    .await
                    .ok();
            }
            exit
        };
        self.wait_until_heard().await;
        RunOutput {
            exit,
            stdout: stdout.finish(),
            stderr: stderr.finish(),
            elapsed: start.elapsed(),
        }
    }

    /// Ends what the command left behind, unless that may live.
    async fn end_what_is_left(&self, exit: &Exit, group: &mut Group) {
        let by_itself = matches!(exit, Exit::Code(_) | Exit::Signal(_));
        let may_live = by_itself && self.command.background == Background::Keep;
        group.kill_on_drop = !may_live;
        if !may_live {
            signal_group(group.id, Signal::SIGKILL);
        }
        let Some(guard) = &self.guard else {
            return;
        };
        if !by_itself {
            // What left its group, too. To look for it takes some milliseconds.
            let (guard, id) = (Arc::clone(guard), self.id);
            let end = move || survivors::end(guard.token(), &|task| task != id, Duration::ZERO);
            tokio::task::spawn_blocking(end).await.ok();
        }
        guard.ended(self.id, may_live);
    }

    fn spawn(&self) -> Result<Child, Exit> {
        let file = file_of(&self.command)?;
        let argv = self.command.program.argv();
        let has_input = self.command.stdin.is_some();
        let mut command = std::process::Command::new(file);
        command
            .arg0(&argv[0])
            .args(&argv[1..])
            .current_dir(&self.command.cwd)
            .env_clear()
            .envs(self.command.env.iter().map(|(name, value)| (name, value)))
            .envs(self.command.program.variable())
            .process_group(0)
            .stdin(if has_input {
                Stdio::piped()
            } else {
                Stdio::null()
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(guard) = &self.guard {
            let value = survivors::value(guard.token(), self.id);
            command.env(survivors::VARIABLE, value);
        }
        let mut command = tokio::process::Command::from(command);
        command.kill_on_drop(true).env_remove(fault::VARIABLE);
        let name = self.command.program.name();
        fault::call(Call::Spawn(name), || command.spawn())
            .map_err(|error| Exit::Failed(format!("could not run `{name}`: {error}")))
    }

    /// Waits for the command to end by itself, or ends it in time.
    async fn until_end(&self, child: &mut Child, group: Pid, ends: Ends) -> Exit {
        let Ends {
            cancelled,
            mut hurried,
        } = ends;
        let too_long = async {
            match self.command.time_limit {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        let cancelled = async {
            if cancelled.await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        let why = tokio::select! {
            biased;
            status = child.wait() => return exit_of(status),
            () = cancelled => Exit::Cancelled,
            () = too_long => Exit::TimedOut,
        };
        for signal in [Signal::SIGINT, Signal::SIGTERM] {
            signal_group(group, signal);
            let ended = tokio::time::timeout(self.limits.grace, child.wait());
            tokio::select! {
                ended = ended => if ended.is_ok() {
                    return why;
                },
                _ = hurried.wait_for(|hurried| *hurried) => break,
            }
        }
        signal_group(group, Signal::SIGKILL);
        // Even a process stuck in the kernel must not hold the job for ever.
        tokio::time::timeout(self.limits.grace.max(Duration::from_secs(1)), child.wait())
            .await
            .ok();
        why
    }

    async fn wait_until_heard(&self) {
        if let Some(echo) = &self.echo {
            let (tell, told) = oneshot::channel();
            if echo.send(Piece::Heard(tell)).await.is_ok() {
                told.await.ok();
            }
        }
    }
}

fn exit_of(status: std::io::Result<ExitStatus>) -> Exit {
    match status {
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => Exit::Code(code),
            (None, Some(signal)) => Exit::Signal(signal),
            (None, None) => Exit::Failed("it ended in a way the system does not tell".to_owned()),
        },
        Err(error) => Exit::Failed(format!("could not wait for it: {error}")),
    }
}

async fn feed(pipe: Option<ChildStdin>, bytes: Option<Vec<u8>>) {
    if let (Some(mut pipe), Some(bytes)) = (pipe, bytes) {
        // A command need not read its input.
        pipe.write_all(&bytes).await.ok();
    }
}

pub(super) async fn show((id, stream): (u64, Stream), bytes: Vec<u8>, echo: &mpsc::Sender<Piece>) {
    if !bytes.is_empty() {
        echo.send(Piece::Output(id, stream, bytes)).await.ok();
    }
}

/// An output that is being read.
struct Reading<P> {
    pipe: Option<P>,
    capture: Capture,
    redactor: Redactor,
}

impl<P: AsyncRead + Unpin> Reading<P> {
    fn of(pipe: Option<P>, command: &Command) -> Self {
        Self {
            pipe,
            capture: Capture::new(command.kept_bytes),
            redactor: Redactor::of(command),
        }
    }

    async fn read_all(&mut self, from: (u64, Stream), echo: &Echo) {
        let Some(mut pipe) = self.pipe.take() else {
            return;
        };
        let mut buffer = Vec::with_capacity(4 << 10);
        while let Ok(count @ 1..) = pipe.read_buf(&mut buffer).await {
            self.capture.push(&buffer);
            if let Some(echo) = echo {
                show(from, self.redactor.push(&buffer), echo).await;
            }
            // A busy pipe gets a larger buffer; a thousand quiet ones stay small.
            let full = count == buffer.capacity() && count < PIECE;
            buffer.clear();
            if full {
                buffer.reserve(2 * count);
            }
        }
        if let Some(echo) = echo {
            show(from, self.redactor.end(), echo).await;
        }
    }

    fn finish(self) -> Captured {
        self.capture.finish()
    }
}
