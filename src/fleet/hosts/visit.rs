//! A person on a single host: a shell there, or ports that lead through it (spec/hosts.md F66).

use std::sync::Arc;

use super::known::KnownHosts;
use crate::exec::{Asking, Visit};
use crate::fleet::{Error, ErrorKind};
use crate::host::helpers::Book as _;
use crate::host::{Destination, Exit, Forward, Place, Question, Secret, Tries};
use crate::system::signals::Interrupts;

/// A host that is connected to.
#[derive(Debug)]
pub struct HostVisit {
    visit: Visit,
    host: Arc<Destination>,
    interrupts: Interrupts,
}

impl HostVisit {
    /// Connects to a host, as a user if neither it nor what is known of it names one. `ask` is
    /// asked for passwords, each three times at most.
    pub fn begin(
        host: &str,
        user: Option<&str>,
        known: &KnownHosts,
        interrupts: &Interrupts,
        ask: &mut dyn FnMut(&Question) -> Option<Secret>,
    ) -> Result<Self, Error> {
        let refused = |message: String| Error::new(ErrorKind::Refused, message, None);
        let place = known.place(host, user);
        let destination = match place.map_err(|error| refused(error.to_string()))? {
            Place::Ssh(destination) => destination,
            Place::Here | Place::Container(_) => {
                return Err(refused(format!("`{host}` is no host that SSH leads to")));
            }
        };
        let visit = Visit::new(interrupts).map_err(|error| {
            let message = format!("could not begin to connect: {error}");
            Error::new(ErrorKind::Internal, message, None)
        })?;
        let mut visited = Self {
            visit,
            host: destination,
            interrupts: interrupts.clone(),
        };
        visited.connect(ask)?;
        Ok(visited)
    }

    fn connect(&mut self, ask: &mut dyn FnMut(&Question) -> Option<Secret>) -> Result<(), Error> {
        let mut asking = Asking::default();
        loop {
            let host = Arc::new(asking.passwords().apply(&self.host));
            let (question, was_refused) = match self.visit.reach(&host) {
                Ok(()) => {
                    self.host = host;
                    return Ok(());
                }
                Err(Exit::Asked { question, refused }) => (question, refused),
                Err(exit) => return Err(self.failure(&exit)),
            };
            if !asking.may_ask(&question) {
                let reason = format!("{question} was refused {} times", Tries::MAX);
                return Err(self.failure(&Exit::Failed(reason)));
            }
            let Some(answer) = ask(&question) else {
                let reason = if was_refused {
                    format!("{question} was refused")
                } else {
                    format!("needs {question}, and nobody answers")
                };
                return Err(self.failure(&Exit::Failed(reason)));
            };
            asking.answered(&question, Some(answer));
        }
    }

    /// Opens the login shell there and goes along with it until it ends; `kind` is that of the
    /// terminal. Gives the exit code: that of the shell, or of the signal that asked for an end.
    pub fn shell(&self, kind: &str) -> Result<u8, Error> {
        self.ended(&self.visit.shell(&self.host, kind))
    }

    /// Lets ports lead elsewhere until somebody asks for an end; each is told with its number once
    /// it does. Gives the exit code of the signal that asked for the end.
    pub fn forward(
        &self,
        forwards: &[Forward],
        told: &mut dyn FnMut(&Forward, u16),
    ) -> Result<u8, Error> {
        self.ended(&self.visit.forward(&self.host, forwards, told))
    }

    fn ended(&self, exit: &Exit) -> Result<u8, Error> {
        let code = match (exit, self.interrupts.first()) {
            (Exit::Cancelled, Some(signal)) => Some(128 + signal),
            _ => exit.code(),
        };
        // Beyond 255 the system knows none.
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
