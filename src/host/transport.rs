//! Starts commands at another location: on an SSH host, in a local container, or in a container on
//! a host.

use std::process::Stdio;
use std::sync::Arc;

use russh::client::Msg;
use russh::{Channel, Pty};
use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;

use super::channel_io::{ChannelEvent, ChannelIo};
use super::local_home::local_home;
use super::script::{START_ARGV, START_COMMAND, loader_input};
use super::ssh::{ConnectFailure, KILL_TIMEOUT, Lease, OpenShell, ShellPlace, display_name};
use super::ssh_program::{SSH_PROGRAM, ssh_words};
use super::{CapturedOutput, ConnectionPool, Destination, Exit, Location, Route};
use crate::system::limit_hints::start_problem;
use crate::text::quote_words;

/// The type, width and height of a command's terminal, and its modes.
///
/// Input is not echoed, and line ends stay as they are without a terminal.
const PTY_TERMINAL: (&str, u32, u32) = ("xterm", 80, 24);
const PTY_MODES: [(Pty, u32); 2] = [(Pty::ECHO, 0), (Pty::ONLCR, 0)];

/// Returns the words of a shell in the container that the words of a command enter.
pub fn container_shell(container_command: &[String], has_terminal: bool) -> Vec<String> {
    let mut words = entry_words(container_command, has_terminal);
    words.push("/bin/sh".to_owned());
    words
}

/// Returns the words that enter a container, with a terminal in it or without one.
fn entry_words(container_command: &[String], pty: bool) -> Vec<String> {
    let word = |word: &String| match word.as_str() {
        "-i" if pty => "-it".to_owned(),
        word => word.to_owned(),
    };
    container_command.iter().map(word).collect()
}

/// The means to start commands at one location.
pub(super) struct Transport {
    pool: ConnectionPool,
    /// The SSH host; none for the local machine.
    host: Option<Arc<Destination>>,
    /// The command that enters the container, such as `docker exec -i NAME`; empty for no
    /// container.
    container_command: Vec<String>,
    /// The name of the location in messages.
    pub(super) name: String,
}

impl Transport {
    pub(super) fn new(pool: &ConnectionPool, location: &Location) -> Self {
        let (base, words) = location.container_command();
        let destination = match base {
            Location::Ssh(destination) => Some(destination),
            Location::Local | Location::Container(_) => None,
        };
        let name = match (location, destination) {
            (Location::Ssh(_), Some(destination)) => display_name(destination),
            _ => format!("`{location}`"),
        };
        Self {
            pool: pool.clone(),
            host: destination.cloned(),
            container_command: words,
            name,
        }
    }

    /// Whether the location is a container.
    pub(super) fn is_container(&self) -> bool {
        !self.container_command.is_empty()
    }

    /// Returns true if a program of this machine reaches the location: `ssh`, or that of a container.
    pub(super) fn is_program(&self) -> bool {
        self.is_container() || self.program_reason().is_some()
    }

    /// Returns the reason why the program `ssh` reaches the host, if it does.
    fn program_reason(&self) -> Option<String> {
        self.pool.program_reason(&self.host.as_ref()?.address)
    }

    /// Opens a session on the host.
    ///
    /// None if a program of the local machine reaches the location. The program `ssh` does so if it may have the
    /// algorithms that are missing here.
    pub(super) async fn session(&self) -> Option<Result<(Lease, Channel<Msg>), Exit>> {
        let host = self.host.as_ref()?;
        if self.pool.program_reason(&host.address).is_some() {
            return None;
        }
        match self.pool.session(host).await {
            Err(failure @ ConnectFailure::Unsupported { .. })
                if !matches!(host.route, Route::Jumps(_)) =>
            {
                self.pool.use_program(&host.address, failure.to_string());
                None
            }
            opened => Some(opened.map_err(Exit::from)),
        }
    }

    /// Returns the exit of a command that the location refused to run.
    pub(super) fn refusal(&self) -> Exit {
        Exit::Failed(format!("{} refused to run a command", self.name))
    }

    /// Returns the exit of a program whose end is unknown, because the connection was lost.
    pub(super) fn loss(&self, program: &str) -> Exit {
        let name = &self.name;
        Exit::Failed(format!(
            "the connection to {name} was lost while `{program}` ran"
        ))
    }

    /// Returns the exit of a command at a location that its program cannot enter.
    pub(super) fn unentered(&self, stderr: &CapturedOutput) -> Exit {
        let text = stderr.text();
        let message = text.lines().rfind(|line| !line.trim().is_empty());
        let message = message.unwrap_or("no reason was given");
        if let Some(reason) = self.program_reason() {
            let exit =
                format!("{reason}; the program `ssh` cannot reach the host either: {message}");
            return Exit::Unreachable(exit);
        }
        Exit::Unreachable(format!("{} cannot be entered: {message}", self.name))
    }

    /// Returns the key under which idle shells of this location are kept.
    fn shell_place(&self, user: Option<&str>) -> ShellPlace {
        let mut place = ShellPlace {
            address: self.host.as_ref().map(|host| host.address.clone()),
            container: self.container_command.clone(),
            user: user.map(str::to_owned),
        };
        if self.program_reason().is_some() {
            // Such a shell has no connection of this program, and belongs to the settings that `ssh` got.
            let host = self.host.as_deref();
            let words = host.and_then(|host| ssh_words(host, "", false));
            place.container.splice(0..0, words.into_iter().flatten());
            place.address = None;
        }
        place
    }

    /// Takes an idle shell of a user, if there is one; of the user of the location if none is named.
    pub(super) fn take_shell(&self, user: Option<&str>) -> Option<OpenShell> {
        let place = self.shell_place(user);
        let host = self.host.as_ref().filter(|_| place.address.is_some());
        self.pool.take_shell(&place, host)
    }

    /// Keeps an idle shell open for further scripts.
    pub(super) fn keep_shell(&self, user: Option<&str>, shell: OpenShell) {
        self.pool.keep_shell(self.shell_place(user), shell);
    }

    /// Starts the shell that reads a script.
    pub(super) async fn start(&self, pty: bool) -> Result<OpenShell, Exit> {
        match self.session().await {
            Some(session) => self.exec(session?, &self.start_line(pty), pty).await,
            None => self.spawn(pty),
        }
    }

    /// Sends the text of a raw command to the SSH server.
    ///
    /// Fails for a location that is not an SSH host.
    pub(super) async fn start_raw(&self, text: &str, pty: bool) -> Result<OpenShell, Exit> {
        match self.session().await {
            Some(session) if !self.is_container() => self.exec(session?, text, pty).await,
            None if self.host.is_some() && !self.is_container() => self.spawn_line(text, pty),
            _ => Err(Exit::Failed(format!(
                "{} is not reached over SSH, so a command cannot be raw there",
                self.name
            ))),
        }
    }

    /// Executes a command line in a session.
    async fn exec(
        &self,
        (lease, channel): (Lease, Channel<Msg>),
        line: &str,
        pty: bool,
    ) -> Result<OpenShell, Exit> {
        let started = async {
            if lease.connection.forwards_agent() {
                channel.agent_forward(false).await?;
            }
            if pty {
                let (name, width, height) = PTY_TERMINAL;
                let request = channel.request_pty(false, name, width, height, 0, 0, &PTY_MODES);
                request.await?;
            }
            channel.exec(true, line).await
        };
        if started.await.is_err() {
            let name = &self.name;
            let lost = format!("the connection to {name} was lost before the command started");
            return Err(Exit::Failed(lost));
        }
        let (channel_io, input) = ChannelIo::from_session(channel);
        Ok(OpenShell {
            channel_io,
            input,
            lease: Some(lease),
        })
    }

    /// Returns the command line for the login shell of the host.
    fn start_line(&self, pty: bool) -> String {
        if self.container_command.is_empty() {
            return START_COMMAND.to_owned();
        }
        let words = entry_words(&self.container_command, pty);
        let start = quote_words(START_ARGV);
        format!("exec {} {start}", quote_words(words))
    }

    /// Starts the shell with a program of the local machine, or on that machine. A container has no terminal there.
    fn spawn(&self, pty: bool) -> Result<OpenShell, Exit> {
        if self.host.is_some() {
            return self.spawn_line(&self.start_line(pty), pty);
        }
        let start = START_ARGV.map(str::to_owned);
        self.spawn_words(&[self.container_command.as_slice(), &start].concat())
    }

    /// Runs a command line on the host with the program `ssh`.
    fn spawn_line(&self, line: &str, pty: bool) -> Result<OpenShell, Exit> {
        let host = self.host.as_deref();
        let Some(words) = host.and_then(|host| ssh_words(host, line, pty)) else {
            return Err(self.refusal());
        };
        self.spawn_words(&words).map_err(|exit| match exit {
            Exit::NotFound(_) => Exit::Unreachable(format!(
                "{}; the program `{SSH_PROGRAM}`, which may have them, was not found",
                self.program_reason().unwrap_or_default()
            )),
            exit => exit,
        })
    }

    fn spawn_words(&self, words: &[String]) -> Result<OpenShell, Exit> {
        let Some((program, words)) = words.split_first() else {
            return Err(self.refusal());
        };
        let mut command = tokio::process::Command::new(program);
        if self.host.is_none() && !self.is_container() {
            // Relative paths of files on this machine start at the home of the user, as on hosts.
            command.current_dir(local_home());
        }
        let spawned = command
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn();
        match spawned {
            Ok(child) => {
                let (channel_io, input) = ChannelIo::from_process(child);
                Ok(OpenShell {
                    channel_io,
                    input,
                    lease: None,
                })
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(Exit::NotFound(format!("`{program}` was not found")))
            }
            Err(error) => {
                let message = start_problem(&format!("`{program}`"), &error);
                Err(Exit::Failed(message))
            }
        }
    }

    /// Runs a script beside the command of a lease, such as a [`super::script::kill_script`] that
    /// ends it.
    ///
    /// Returns when the script has run or cannot run.
    pub(super) async fn run_beside(&self, lease: Option<&Lease>, text: &str) {
        if let Some(lease) = lease {
            let line = self.start_line(false);
            return self.pool.run_beside(lease, &line, text).await;
        }
        let Ok(OpenShell {
            mut channel_io,
            mut input,
            ..
        }) = self.spawn(false)
        else {
            return;
        };
        let running = async {
            // Errors are ignored: a container that has ended has no processes to end.
            input.write_all(&loader_input(text)).await.ok();
            input.shutdown().await.ok();
            drop(input);
            while !matches!(channel_io.next_event().await, ChannelEvent::End) {}
        };
        timeout(KILL_TIMEOUT, running).await.ok();
        channel_io.close().await;
    }
}
