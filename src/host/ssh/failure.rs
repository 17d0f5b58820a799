//! Why a host is not reached, in words that name it.

use std::path::PathBuf;
use std::time::Duration;

use crate::host::Destination;
use crate::host::Exit;
use crate::host::Question;

/// Why a host is not reached. It is shared by all that waited for the connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::host) enum ConnectFailure {
    /// The name stands for no address. It is not tried again (F44).
    #[error("the name `{name}` cannot be looked up: {why}")]
    Lookup {
        /// The name.
        name: String,
        /// What the system said.
        why: String,
    },
    /// Nobody was logged in within the time.
    #[error("timed out connecting to {host} after {}{}", seconds(*time), tries(*count))]
    TimedOut {
        /// The host and its port.
        host: String,
        /// How long one attempt may take.
        time: Duration,
        /// How often it was tried.
        count: u32,
    },
    /// Nobody listens there.
    #[error("{host} refused the connection{}", tries(*count))]
    Refused {
        /// The host and its port.
        host: String,
        /// How often it was tried.
        count: u32,
    },
    /// The connection failed otherwise.
    #[error("could not connect to {host}: {why}{}", tries(*count))]
    Broken {
        /// The host and its port.
        host: String,
        /// What went wrong.
        why: String,
        /// How often it was tried.
        count: u32,
    },
    /// It speaks nothing that we speak. It is not tried again.
    #[error("{host} cannot be talked to: {why}")]
    Incompatible {
        /// The host and its port.
        host: String,
        /// What is missing.
        why: String,
    },
    /// Its key is not trusted.
    #[error(
        "the key of {host} is not known: {kind} {fingerprint}; check it, then trust it with \
         `--accept-new-host-keys`"
    )]
    UnknownKey {
        /// The host and its port.
        host: String,
        /// The algorithm of the key.
        kind: String,
        /// Its fingerprint.
        fingerprint: String,
    },
    /// It has another key than before.
    #[error(
        "the key of {host} has changed: it shows {kind} {fingerprint}, but {}:{line} has another; \
         somebody may be in between, or the host was set up anew: if so, delete that line",
        file.display()
    )]
    ChangedKey {
        /// The host and its port.
        host: String,
        /// The algorithm of the key.
        kind: String,
        /// Its fingerprint.
        fingerprint: String,
        /// The file that has another key.
        file: PathBuf,
        /// The line of the file, from 1.
        line: usize,
    },
    /// Its key must not be trusted.
    #[error("the key of {host} is revoked by {}:{line}", file.display())]
    RevokedKey {
        /// The host and its port.
        host: String,
        /// The file that says so.
        file: PathBuf,
        /// The line of the file, from 1.
        line: usize,
    },
    /// A new key could not be written down.
    #[error("could not add the key of {host} to `{}`: {why}", file.display())]
    KeyNotSaved {
        /// The host and its port.
        host: String,
        /// The file.
        file: PathBuf,
        /// What the system said.
        why: String,
    },
    /// Nothing that there is lets the user in.
    #[error("{host} did not let in `{user}`: {why}")]
    LoginRefused {
        /// The host and its port.
        host: String,
        /// The user.
        user: String,
        /// What was tried, and what the host takes.
        why: String,
    },
    /// Something must be asked first.
    #[error("{}", Exit::from(self.clone()))]
    NeedsAnswer {
        /// What.
        question: Question,
        /// Whether there was an answer, which was refused.
        refused: bool,
    },
    /// The host that leads there was not reached.
    #[error("could not reach {host}: {failure}")]
    Jump {
        /// The host and its port.
        host: String,
        /// What happened on the way.
        failure: Box<Self>,
    },
    /// All connections are being closed.
    #[error("the connections are being closed")]
    Closing,
}

impl ConnectFailure {
    /// Whether another attempt may help.
    pub(super) fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::TimedOut { .. } | Self::Refused { .. } | Self::Broken { .. }
        )
    }

    /// The same, after so many attempts.
    pub(super) fn with_attempts(mut self, tries: u32) -> Self {
        if let Self::TimedOut { count, .. }
        | Self::Refused { count, .. }
        | Self::Broken { count, .. } = &mut self
        {
            *count = tries;
        }
        self
    }
}

impl From<ConnectFailure> for Exit {
    fn from(failure: ConnectFailure) -> Self {
        match failure {
            ConnectFailure::NeedsAnswer { question, refused } => {
                Self::NeedsAnswer { question, refused }
            }
            ConnectFailure::Jump { failure, .. }
                if matches!(*failure, ConnectFailure::NeedsAnswer { .. }) =>
            {
                Self::from(*failure)
            }
            ConnectFailure::Closing => Self::Cancelled,
            other => Self::Unreachable(other.to_string()),
        }
    }
}

/// How messages name a host and its port: as the user wrote it, and where that is.
pub(in crate::host) fn display_name(destination: &Destination) -> String {
    let Destination { name, address, .. } = destination;
    let host = &address.host;
    if name.contains(host.as_str()) {
        format!("{host} port {}", address.port)
    } else {
        format!("{name} ({host}) port {}", address.port)
    }
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f32())
}

fn tries(count: u32) -> String {
    match count {
        0 | 1 => String::new(),
        count => format!(" (tried {count} times)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Address;

    #[test]
    fn a_message_names_the_host_and_how_often_it_was_tried() {
        let address = Address::parse("me@web:2222", "", 22).unwrap();
        let host = display_name(&Destination::new("me@web:2222", address.clone()));
        let failure = ConnectFailure::TimedOut {
            host,
            time: Duration::from_secs(10),
            count: 1,
        };
        insta::assert_snapshot!(failure.clone().with_attempts(3), @"timed out connecting to web port 2222 after 10 s (tried 3 times)");
        insta::assert_snapshot!(failure, @"timed out connecting to web port 2222 after 10 s");
        let refused = ConnectFailure::Refused {
            host: display_name(&Destination::new("front", address)),
            count: 1,
        };
        insta::assert_snapshot!(refused, @"front (web) port 2222 refused the connection");
    }

    #[test]
    fn a_question_on_the_way_stays_a_question() {
        let question = Question::Login("me@gate:22".into());
        let failure = ConnectFailure::Jump {
            host: "web port 22".into(),
            failure: Box::new(ConnectFailure::NeedsAnswer {
                question: question.clone(),
                refused: false,
            }),
        };
        let asked = Exit::NeedsAnswer {
            question,
            refused: false,
        };
        assert_eq!(Exit::from(failure), asked);
    }
}
