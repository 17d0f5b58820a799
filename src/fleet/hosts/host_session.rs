//! Interactive use of a single host: a shell, or forwarded ports (rule F66).
//!
//! Connects and asks for passwords, then leaves the session to `exec::InteractiveSession`.

use std::sync::Arc;

use super::fleet_hosts::FleetHosts;
use crate::exec::{InteractiveSession, PasswordPrompts};
use crate::fleet::{Error, ErrorKind};
use crate::host::services::HostResolver as _;
use crate::host::{
    AttemptCounter, Destination, Exit, Forward, Location, Passwords, Question, Secret,
    StatedPasswords, TrialAnswers, container_shell,
};
use crate::system::signals::Interrupts;
use crate::text::quote_words;

/// An interactive session with a connected host.
#[derive(Debug)]
pub struct HostSession {
    session: InteractiveSession,
    host: Arc<Destination>,
    /// The words that enter a container on the host; none for the host itself.
    container_command: Vec<String>,
    interrupts: Interrupts,
}

/// Returns the words of the program that is a shell on this machine or in a container on it. None for a shell that is
/// reached over SSH.
///
/// `shell` is the shell of the user; in a container it is `/bin/sh`.
pub fn local_shell(
    host: &str,
    hosts: &FleetHosts,
    shell: &str,
    has_terminal: bool,
) -> Result<Option<Vec<String>>, Error> {
    let location = hosts.locate(host, None);
    let location =
        location.map_err(|error| Error::new(ErrorKind::Refused, error.to_string(), None))?;
    let (Location::Local, container_command) = location.container_command() else {
        return Ok(None);
    };
    if container_command.is_empty() {
        return Ok(Some(vec![shell.to_owned()]));
    }
    Ok(Some(container_shell(&container_command, has_terminal)))
}

impl HostSession {
    /// Connects to a host.
    ///
    /// `user` counts if neither the host string nor the known data names a user. `ask` is called
    /// for passwords that are not among those of `passwords`, at most three times each.
    pub fn open(
        host: &str,
        user: Option<&str>,
        hosts: &FleetHosts,
        interrupts: &Interrupts,
        passwords: Passwords,
        ask: &mut dyn FnMut(&Question) -> Option<Secret>,
    ) -> Result<Self, Error> {
        let refused = |message: String| Error::new(ErrorKind::Refused, message, None);
        let location = hosts.locate(host, user);
        let location = location.map_err(|error| refused(error.to_string()))?;
        let (Location::Ssh(destination), container_command) = location.container_command() else {
            let message = format!(
                "this command logs in to a host over SSH, but `{host}` is not reached over SSH"
            );
            let hint = format!("`unfurl run -H {host} -- COMMAND` runs a command there");
            return Err(Error::new(ErrorKind::Refused, message, Some(hint)));
        };
        let session = InteractiveSession::new(interrupts).map_err(|error| {
            let message = format!("could not start the connection: {error}");
            Error::new(ErrorKind::Internal, message, None)
        })?;
        let mut session = Self {
            session,
            host: Arc::clone(destination),
            container_command,
            interrupts: interrupts.clone(),
        };
        session.connect(passwords, ask)?;
        Ok(session)
    }

    fn connect(
        &mut self,
        passwords: Passwords,
        ask: &mut dyn FnMut(&Question) -> Option<Secret>,
    ) -> Result<(), Error> {
        let mut prompts = PasswordPrompts::new(passwords);
        let (stated, mut trials) = (StatedPasswords::default(), TrialAnswers::default());
        loop {
            let host = Arc::new(prompts.passwords().apply(&self.host, &stated, &trials));
            let (question, was_refused) = match self.session.reach(&host) {
                Ok(()) => {
                    self.host = host;
                    return Ok(());
                }
                Err(Exit::NeedsAnswer { question, refused }) => (question, refused),
                Err(exit) => return Err(self.failure(&exit)),
            };
            trials.count_refusal(&question, was_refused);
            if !prompts.may_prompt(&question) {
                let reason = format!("{question} was refused {} times", AttemptCounter::MAX);
                return Err(self.failure(&Exit::Failed(reason)));
            }
            let Some(answer) = ask(&question) else {
                let reason = if was_refused {
                    format!("{question} was refused")
                } else {
                    format!("needs {question}, but no answer was given")
                };
                return Err(self.failure(&Exit::Failed(reason)));
            };
            trials.add(&question, answer);
        }
    }

    /// Opens the login shell, or a shell in the container, and waits for its end; `kind` is the terminal type (`TERM`),
    /// if the standard input is a terminal.
    ///
    /// Returns the exit code of the shell, or 128 plus the signal that requested termination.
    pub fn shell(&self, kind: &str, has_terminal: bool) -> Result<u8, Error> {
        let kind = has_terminal.then_some(kind);
        let is_container = !self.container_command.is_empty();
        let command = is_container
            .then(|| quote_words(container_shell(&self.container_command, has_terminal)));
        self.exit_code(&self.session.shell(&self.host, kind, command))
    }

    /// Forwards ports until a signal requests termination.
    ///
    /// Calls `on_open` for each opened port and returns 128 plus the signal.
    pub fn forward(
        &self,
        forwards: &[Forward],
        on_open: &mut dyn FnMut(&Forward, u16),
    ) -> Result<u8, Error> {
        self.exit_code(&self.session.forward(&self.host, forwards, on_open))
    }

    fn exit_code(&self, exit: &Exit) -> Result<u8, Error> {
        let code = match (exit, self.interrupts.first()) {
            (Exit::Cancelled, Some(signal)) => Some(128 + signal),
            _ => exit.code(),
        };
        // An exit code is one byte for the system.
        code.map(|code| u8::try_from(code & 0xff).unwrap_or(u8::MAX))
            .ok_or_else(|| self.failure(exit))
    }

    fn failure(&self, exit: &Exit) -> Error {
        if let (Exit::Cancelled, Some(signal)) = (exit, self.interrupts.first()) {
            return Error::interrupted(signal);
        }
        let message = format!("[{}] {exit}", self.host.name);
        Error::new(ErrorKind::Refused, message, None)
    }
}
