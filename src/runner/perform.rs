//! What the runner's thread does: begins commands, reads what they write, ends them.
#![expect(
    clippy::disallowed_methods,
    reason = "the runner is the one that starts commands"
)]

use std::collections::HashMap;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc as results;
use std::task::Poll;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin};
use tokio::signal::unix;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::task::{JoinError, JoinSet};

use super::local::{Limits, OutputSink};
use super::program::file_of;
use super::redact::Redactor;
use crate::host::{
    Action, ActionResult, Background, Capture, Captured, Command, Exit, RunOutput, Stream,
};

/// How many pieces of output wait for a sink before the commands that write them wait.
const PIECES_WAITING: usize = 64;
/// The largest piece of output.
const PIECE: usize = 64 << 10;

/// What the thread is told.
pub(super) enum Order {
    Begin(u64, Box<Action>),
    Cancel(u64),
    CancelAll,
}

/// What the sink's thread is told.
enum Piece {
    Output(u64, Stream, Vec<u8>),
    /// All before this was heard.
    Heard(oneshot::Sender<()>),
}

type Echo = Option<mpsc::Sender<Piece>>;

/// Follows orders until nobody can give any, then kills all that runs.
pub(super) async fn serve(
    limits: Limits,
    sink: Option<Box<dyn OutputSink>>,
    mut orders: mpsc::UnboundedReceiver<Order>,
    results: results::Sender<(u64, ActionResult)>,
    interrupted: Arc<AtomicI32>,
) {
    let mut signals = Signals::listen();
    let mut server = Server {
        echo: sink.and_then(listen),
        turns: Arc::new(Semaphore::new(
            limits.running.clamp(1, Semaphore::MAX_PERMITS),
        )),
        limits: Arc::new(limits),
        results,
        interrupted,
        hurry: watch::channel(false).0,
        running: JoinSet::new(),
        ids: HashMap::new(),
        cancels: HashMap::new(),
        begun: 0,
    };
    loop {
        let order = tokio::select! {
            order = orders.recv() => order,
            number = signals.next() => {
                server.interrupt(number);
                continue;
            }
            Some(ended) = server.running.join_next_with_id() => {
                server.ended(ended);
                continue;
            }
        };
        match order {
            Some(Order::Begin(id, action)) => server.begin(id, *action),
            Some(Order::Cancel(id)) => cancel(server.cancels.remove(&id)),
            Some(Order::CancelAll) => cancel_all(&mut server.cancels),
            // Dropping the tasks drops their groups, which kills them.
            None => return,
        }
    }
}

/// All that runs.
struct Server {
    limits: Arc<Limits>,
    echo: Echo,
    turns: Arc<Semaphore>,
    results: results::Sender<(u64, ActionResult)>,
    interrupted: Arc<AtomicI32>,
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
    fn begin(&mut self, id: u64, action: Action) {
        if self.interrupted.load(Ordering::SeqCst) != 0 {
            self.tell(id, Exit::Cancelled);
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
        let (limits, turns) = (Arc::clone(&self.limits), Arc::clone(&self.turns));
        let (echo, results) = (self.echo.clone(), self.results.clone());
        let task = self.running.spawn(async move {
            let output = perform(id, action, limits, echo, (&turns, ends)).await;
            // Nobody listens any more when the runner is being dropped.
            results.send((id, ActionResult::Run(output))).ok();
            (id, count)
        });
        self.ids.insert(task.id(), id);
    }

    /// Who asks twice does not want to wait: all that runs is killed.
    fn interrupt(&mut self, number: i32) {
        if self.interrupted.swap(number, Ordering::SeqCst) != 0 {
            self.hurry.send_replace(true);
        }
        cancel_all(&mut self.cancels);
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
                    self.tell(id, Exit::Failed(why));
                }
            }
        }
    }

    /// Answers for an action that did not run to its end.
    fn tell(&self, id: u64, exit: Exit) {
        let output = RunOutput::not_run(exit);
        self.results.send((id, ActionResult::Run(output))).ok();
    }
}

fn cancel_all(cancels: &mut HashMap<u64, (u64, oneshot::Sender<()>)>) {
    for (_, each) in cancels.drain() {
        cancel(Some(each));
    }
}

/// What ends a command from outside.
struct Ends {
    cancelled: oneshot::Receiver<()>,
    /// Whether it is to be killed without grace.
    hurried: watch::Receiver<bool>,
}

/// The signals by which people and systems ask for an end.
struct Signals(Vec<(Signal, unix::Signal)>);

impl Signals {
    fn listen() -> Self {
        let asked = [
            (Signal::SIGINT, unix::SignalKind::interrupt()),
            (Signal::SIGTERM, unix::SignalKind::terminate()),
            (Signal::SIGHUP, unix::SignalKind::hangup()),
            (Signal::SIGQUIT, unix::SignalKind::quit()),
        ];
        let heard = asked
            .into_iter()
            .filter_map(|(signal, kind)| Some((signal, unix::signal(kind).ok()?)));
        Self(heard.collect())
    }

    /// The number of the next signal.
    async fn next(&mut self) -> i32 {
        std::future::poll_fn(|context| {
            for (signal, heard) in &mut self.0 {
                if heard.poll_recv(context).is_ready() {
                    return Poll::Ready(*signal as i32);
                }
            }
            Poll::Pending
        })
        .await
    }
}

async fn perform(
    id: u64,
    action: Action,
    limits: Arc<Limits>,
    echo: Echo,
    (turns, ends): (&Semaphore, Ends),
) -> RunOutput {
    let Action::Run(command) = action;
    let echo = echo.filter(|_| command.echo);
    let running = Running {
        id,
        command,
        limits,
        echo,
    };
    running.wait_turn(turns, ends).await
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
}

impl Running {
    async fn wait_turn(self, turns: &Semaphore, mut ends: Ends) -> RunOutput {
        let turn = tokio::select! {
            biased;
            _ = &mut ends.cancelled => return RunOutput::not_run(Exit::Cancelled),
            turn = turns.acquire() => turn,
        };
        let output = self.run(ends).await;
        drop(turn);
        output
    }

    async fn run(mut self, ends: Ends) -> RunOutput {
        let start = Instant::now();
        let mut child = match self.spawn() {
            Ok(child) => child,
            Err(exit) => return RunOutput::not_run(exit),
        };
        let mut group = Group {
            id: Pid::from_raw(
                child
                    .id()
                    .and_then(|id| i32::try_from(id).ok())
                    .unwrap_or(i32::MAX),
            ),
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
            let by_itself = matches!(exit, Exit::Code(_) | Exit::Signal(_));
            group.kill_on_drop = !(by_itself && self.command.background == Background::Keep);
            if group.kill_on_drop {
                signal_group(group.id, Signal::SIGKILL);
            }
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
        let mut command = tokio::process::Command::from(command);
        command.kill_on_drop(true).spawn().map_err(|error| {
            let name = self.command.program.name();
            Exit::Failed(format!("could not run `{name}`: {error}"))
        })
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

async fn show((id, stream): (u64, Stream), bytes: Vec<u8>, echo: &mpsc::Sender<Piece>) {
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
