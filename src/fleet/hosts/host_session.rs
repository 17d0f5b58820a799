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
    StatedPasswords, TrialAnswers,
};
use crate::system::signals::Interrupts;

/// An interactive session with a connected host.
#[derive(Debug)]
pub struct HostSession {
    session: InteractiveSession,
    host: Arc<Destination>,
    interrupts: Interrupts,
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
        let destination = match location.map_err(|error| refused(error.to_string()))? {
            Location::Ssh(destination) => destination,
            Location::Local | Location::Container(_) => {
                let message = format!(
                    "this command logs in to a host over SSH, but `{host}` is not reached over SSH"
                );
                let hint = format!("`unfurl run -H {host} -- COMMAND` runs a command there");
                return Err(Error::new(ErrorKind::Refused, message, Some(hint)));
            }
        };
        let session = InteractiveSession::new(interrupts).map_err(|error| {
            let message = format!("could not start the connection: {error}");
            Error::new(ErrorKind::Internal, message, None)
        })?;
        let mut session = Self {
            session,
            host: destination,
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

    /// Opens the login shell and waits for its end; `kind` is the terminal type (`TERM`).
    ///
    /// Returns the exit code of the shell, or 128 plus the signal that requested termination.
    pub fn shell(&self, kind: &str) -> Result<u8, Error> {
        self.exit_code(&self.session.shell(&self.host, kind))
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
