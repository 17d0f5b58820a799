//! How a command is started somewhere else: on a host, in a container of this machine, or in one
//! of a host; and the streams that come from it.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::Signal;
use russh::client::Msg;
use russh::{Channel, ChannelMsg, ChannelReadHalf, ChannelWriteHalf, Pty, Sig};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::process::{Child, ChildStderr, ChildStdout};
use tokio::time::timeout;

use super::script::{START, START_WORDS, loaded};
use super::ssh::{Connections, KILLING, Lane, Lease, NoSession, Opener, run_text, shown};
use super::{Destination, Exit, Place, Stream, quoted};

/// The terminal that a command gets, as wide and high as the first ones were. What it reads is not
/// shown again, and lines end as they do without a terminal.
const TERMINAL: (&str, u32, u32) = ("xterm", 80, 24);
const MODES: [(Pty, u32); 2] = [(Pty::ECHO, 0), (Pty::ONLCR, 0)];
/// The largest piece of an output, in bytes.
const PIECE: usize = 32 << 10;
/// The number of an extended stream that is the standard error.
const STDERR: u32 = 1;
/// How long outputs are still read after a command ended, when what it left behind holds them.
pub(super) const DRAIN: Duration = Duration::from_millis(500);

/// The way to a place.
pub(super) struct Way {
    pool: Arc<Connections>,
    /// The connections to the host; none for this machine.
    lane: Option<Arc<Lane>>,
    /// The words that lead on from there into containers.
    words: Vec<String>,
    /// The place as messages name it.
    pub(super) name: String,
}

/// A command that was started, and now reads its script.
pub(super) struct Started {
    pub(super) wire: Wire,
    pub(super) input: Input,
    /// Kept as long as it runs.
    pub(super) lease: Option<Lease>,
}

/// Ends what was started.
pub(super) struct Killer<'a> {
    pub(super) way: &'a Way,
    pub(super) lease: Option<&'a Lease>,
}

impl Way {
    pub(super) fn new(pool: &Arc<Connections>, place: &Place) -> Self {
        let mut words = Vec::new();
        let mut base = place;
        while let Place::Container(container) = base {
            let enter = [&container.engine, "exec", "-i", &container.name];
            // The outermost engine comes first.
            words.splice(0..0, enter.map(str::to_owned));
            base = &container.on;
        }
        let destination = match base {
            Place::Ssh(destination) => Some(destination),
            Place::Here | Place::Container(_) => None,
        };
        let name = match (place, destination) {
            (Place::Ssh(_), Some(destination)) => shown(destination),
            _ => format!("`{place}`"),
        };
        Self {
            pool: Arc::clone(pool),
            lane: destination.map(|it: &Arc<Destination>| pool.lane(it)),
            words,
            name,
        }
    }

    /// Whether it leads into a container.
    pub(super) fn is_container(&self) -> bool {
        !self.words.is_empty()
    }

    /// Opens a session on the host, if it leads to one.
    pub(super) async fn session(&self) -> Option<Result<(Lease, Channel<Msg>), Exit>> {
        let lane = self.lane.as_ref()?;
        let opened = lane.session(&self.pool).await;
        Some(opened.map_err(Exit::from))
    }

    /// Starts the shell that reads a script.
    pub(super) async fn start(&self, pty: bool) -> Result<Started, Exit> {
        let Some(session) = self.session().await else {
            return self.spawn();
        };
        let (lease, channel) = session?;
        let begun = async {
            if lease.connection.forwards_agent() {
                channel.agent_forward(false).await?;
            }
            if pty {
                let (name, width, height) = TERMINAL;
                let asked = channel.request_pty(false, name, width, height, 0, 0, &MODES);
                asked.await?;
            }
            channel.exec(true, self.line(pty)).await
        };
        if begun.await.is_err() {
            let name = &self.name;
            let lost = format!("the connection to {name} was lost before the command began");
            return Err(Exit::Failed(lost));
        }
        let (wire, input) = Wire::session(channel);
        Ok(Started {
            wire,
            input,
            lease: Some(lease),
        })
    }

    /// What the login shell of the host is told.
    fn line(&self, pty: bool) -> String {
        if self.words.is_empty() {
            return START.to_owned();
        }
        let terminal = if pty { "-it" } else { "-i" };
        let word = |word: &String| match word.as_str() {
            "-i" => terminal.to_owned(),
            word => quoted(word),
        };
        let words: Vec<String> = self.words.iter().map(word).collect();
        let start = START_WORDS.map(quoted);
        format!("exec {} {}", words.join(" "), start.join(" "))
    }

    /// Starts the same on this machine, which gives no terminals to containers.
    fn spawn(&self) -> Result<Started, Exit> {
        let Some((program, words)) = self.words.split_first() else {
            let why = "commands of this machine do not come here".to_owned();
            return Err(Exit::Failed(why));
        };
        let spawned = tokio::process::Command::new(program)
            .args(words)
            .args(START_WORDS)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn();
        match spawned {
            Ok(child) => {
                let (wire, input) = Wire::process(child);
                Ok(Started {
                    wire,
                    input,
                    lease: None,
                })
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(Exit::NotFound(format!("`{program}` was not found")))
            }
            Err(error) => Err(Exit::Failed(format!("could not run `{program}`: {error}"))),
        }
    }
}

impl Killer<'_> {
    /// Sends what [`super::script::killing`] makes of a signal, a mark and a process, and comes
    /// back when that is done, or cannot be done.
    pub(super) async fn run(&self, text: &str) {
        match (&self.way.lane, self.lease) {
            (Some(lane), Some(lease)) => self.on_host(lane, lease, text).await,
            _ => self.here(text).await,
        }
    }

    async fn on_host(&self, lane: &Lane, lease: &Lease, text: &str) {
        let line = self.way.line(false);
        match run_text(&lease.connection, &line, text).await {
            Ok(()) | Err(NoSession::Lost) => return,
            Err(NoSession::Refused) => {}
        }
        // The host allows this connection no session beside the one that is to end.
        let opener = Opener {
            keys: &self.way.pool.keys,
            opening: &self.way.pool.opening,
            ways: &self.way.pool,
        };
        if let Ok(connection) = opener.open(&lane.destination).await {
            // There is no other way left.
            run_text(&connection, &line, text).await.ok();
            connection.close().await;
        }
    }

    async fn here(&self, text: &str) {
        let Ok(Started {
            mut wire,
            mut input,
            ..
        }) = self.way.spawn()
        else {
            return;
        };
        let running = async {
            // A container that is gone has nothing to end.
            input.write_all(&loaded(text)).await.ok();
            input.shutdown().await.ok();
            drop(input);
            while !matches!(wire.next().await, Event::End) {}
        };
        timeout(KILLING, running).await.ok();
        wire.close().await;
    }
}

/// What a command writes to us, or how it ended.
#[derive(Debug)]
pub(super) enum Event {
    /// It wrote something.
    Output(Stream, Vec<u8>),
    /// It ended with this code.
    Code(i32),
    /// A signal ended it.
    Signal(i32),
    /// It was not begun.
    Refused,
    /// Nothing more comes.
    End,
}

/// Where a command reads from.
pub(super) type Input = Box<dyn AsyncWrite + Send + Unpin>;

/// The streams that come from a command.
pub(super) enum Wire {
    /// A session of a connection.
    Session {
        read: ChannelReadHalf,
        write: ChannelWriteHalf<Msg>,
    },
    /// A program of this machine.
    Process {
        child: Box<Child>,
        stdout: Option<ChildStdout>,
        stderr: Option<ChildStderr>,
        has_ended: bool,
    },
}

impl Wire {
    /// The streams of a session.
    pub(super) fn session(channel: Channel<Msg>) -> (Self, Input) {
        let (read, write) = channel.split();
        let input = Box::new(Box::pin(write.make_writer()));
        (Self::Session { read, write }, input)
    }

    /// The streams of a program.
    pub(super) fn process(mut child: Child) -> (Self, Input) {
        let input: Input = match child.stdin.take() {
            Some(pipe) => Box::new(pipe),
            None => Box::new(tokio::io::sink()),
        };
        let wire = Self::Process {
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
            child: Box::new(child),
            has_ended: false,
        };
        (wire, input)
    }

    /// The next that comes. May be dropped and called again.
    pub(super) async fn next(&mut self) -> Event {
        match self {
            Self::Session { read, .. } => loop {
                let Some(message) = read.wait().await else {
                    return Event::End;
                };
                if let Some(event) = event_of(message) {
                    return event;
                }
            },
            Self::Process {
                child,
                stdout,
                stderr,
                has_ended,
            } => loop {
                let (stream, bytes) = tokio::select! {
                    bytes = piece(stdout.as_mut()), if stdout.is_some() => (Stream::Stdout, bytes),
                    bytes = piece(stderr.as_mut()), if stderr.is_some() => (Stream::Stderr, bytes),
                    status = child.wait(), if !*has_ended => {
                        *has_ended = true;
                        let status = status.ok();
                        let signal = status.and_then(|status| status.signal());
                        let code = status.and_then(|status| status.code());
                        return match signal {
                            Some(signal) => Event::Signal(signal),
                            None => Event::Code(code.unwrap_or(1)),
                        };
                    }
                    else => return Event::End,
                };
                match (bytes, stream) {
                    (Some(bytes), _) => return Event::Output(stream, bytes),
                    (None, Stream::Stdout) => *stdout = None,
                    (None, Stream::Stderr) => *stderr = None,
                }
            },
        }
    }

    /// Closes the streams and waits until the other side knows.
    pub(super) async fn close(mut self) {
        match &mut self {
            Self::Session { read, write } => {
                let all = async {
                    write.close().await.ok();
                    while read.wait().await.is_some() {}
                };
                // A host that is gone does not answer.
                timeout(DRAIN, all).await.ok();
            }
            Self::Process { child, .. } => {
                child.start_kill().ok();
                child.wait().await.ok();
            }
        }
    }
}

fn event_of(message: ChannelMsg) -> Option<Event> {
    Some(match message {
        ChannelMsg::Data { data } => Event::Output(Stream::Stdout, data.to_vec()),
        ChannelMsg::ExtendedData { data, ext: STDERR } => {
            Event::Output(Stream::Stderr, data.to_vec())
        }
        ChannelMsg::ExitStatus { exit_status } => {
            Event::Code(i32::try_from(exit_status).unwrap_or(i32::MAX))
        }
        ChannelMsg::ExitSignal { signal_name, .. } => Event::Signal(number_of(&signal_name)),
        ChannelMsg::Failure => Event::Refused,
        ChannelMsg::Close => Event::End,
        _ => return None,
    })
}

pub(super) fn number_of(signal: &Sig) -> i32 {
    let named = match signal {
        Sig::ABRT => Signal::SIGABRT,
        Sig::ALRM => Signal::SIGALRM,
        Sig::FPE => Signal::SIGFPE,
        Sig::HUP => Signal::SIGHUP,
        Sig::ILL => Signal::SIGILL,
        Sig::INT => Signal::SIGINT,
        Sig::PIPE => Signal::SIGPIPE,
        Sig::QUIT => Signal::SIGQUIT,
        Sig::SEGV => Signal::SIGSEGV,
        Sig::TERM => Signal::SIGTERM,
        Sig::USR1 => Signal::SIGUSR1,
        Sig::Custom(name) => {
            let name = name.split('@').next().unwrap_or(name);
            let found = format!("SIG{name}").parse();
            found.unwrap_or(Signal::SIGKILL)
        }
        Sig::KILL => Signal::SIGKILL,
    };
    named as i32
}

async fn piece(pipe: Option<&mut (impl AsyncRead + Unpin)>) -> Option<Vec<u8>> {
    let pipe = pipe?;
    let mut buffer = Vec::with_capacity(PIECE);
    match pipe.read_buf(&mut buffer).await {
        Ok(1..) => Some(buffer),
        Ok(0) | Err(_) => None,
    }
}
