//! Errors in connecting to a host, with messages that name the host.

use std::path::PathBuf;
use std::time::Duration;

use crate::host::Destination;
use crate::host::Exit;
use crate::host::Question;

/// The reasons why a host cannot be connected to.
///
/// The error is cloned for every caller that waited for the connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::host) enum ConnectFailure {
    /// The host name has no address. This is not retried (F44).
    #[error("the name `{name}` cannot be looked up: {why}")]
    Lookup { name: String, why: String },
    /// The login was not complete within the time limit.
    #[error("timed out connecting to {host} after {}{}", seconds(*time), attempts_text(*count))]
    TimedOut {
        host: String,
        /// The time limit of one attempt.
        time: Duration,
        count: u32,
    },
    /// The host refused the TCP connection.
    #[error("{host} refused the connection{}", attempts_text(*count))]
    Refused { host: String, count: u32 },
    /// The host closed the connection before the login.
    #[error(
        "could not connect to {host}: the host closed the connection before the login{}{}",
        if *is_dropped { "; it may have too many connections without a login (`MaxStartups`)" } else { "" },
        attempts_text(*count)
    )]
    Closed {
        host: String,
        /// The host closed the connection before it named its version.
        is_dropped: bool,
        count: u32,
    },
    /// The connection failed for another reason.
    #[error("could not connect to {host}: {why}{}", attempts_text(*count))]
    Broken {
        host: String,
        why: String,
        count: u32,
    },
    /// The host supports no common protocol or algorithm. This is not retried.
    #[error("no SSH connection to {host} is possible: {why}")]
    Incompatible {
        host: String,
        /// The protocol or algorithm that is missing.
        why: String,
    },
    /// The host has only algorithms that this program lacks. The program `ssh` may have them.
    #[error("no SSH connection to {host} is possible: {why}")]
    Unsupported {
        host: String,
        /// The algorithms that are missing.
        why: String,
    },
    /// The host proves its identity with SHA-1 only. This is not retried.
    #[error(
        "no SSH connection to {host} is possible: the host signs with SHA-1 (`ssh-rsa`) only, which \
         can be forged; update its SSH server, or accept it with the line \
         `HostKeyAlgorithms +ssh-rsa` in the section of this host in `~/.ssh/config`"
    )]
    OnlySha1 { host: String },
    /// No known hosts file lists the host.
    #[error(
        "the key of {host} is not known: {kind} {fingerprint}; check it, then trust it with \
         `--accept-new-host-keys`"
    )]
    UnknownKey {
        host: String,
        kind: String,
        fingerprint: String,
    },
    /// The host has another key than before.
    #[error(
        "the key of {host} has changed: the host shows {kind} {fingerprint}, but {}:{line} has \
         another key; this may be an attack, or the host was reinstalled: if so, delete that line",
        file.display()
    )]
    ChangedKey {
        host: String,
        kind: String,
        /// The fingerprint of the new key.
        fingerprint: String,
        /// The file that lists the old key.
        file: PathBuf,
        /// The line in the file, counted from 1.
        line: usize,
    },
    /// The host key is marked as revoked.
    #[error("the key of {host} is revoked by {}:{line}", file.display())]
    RevokedKey {
        host: String,
        /// The file with the `@revoked` line.
        file: PathBuf,
        /// The line in the file, counted from 1.
        line: usize,
    },
    /// A new host key could not be saved.
    #[error("could not add the key of {host} to `{}`: {why}", file.display())]
    KeyNotSaved {
        host: String,
        file: PathBuf,
        why: String,
    },
    /// The host did not accept any credential.
    #[error("{host} refused the login of `{user}`: {why}")]
    LoginRefused {
        host: String,
        user: String,
        /// The credentials tried, and the methods that the host accepts.
        why: String,
    },
    /// The login needs an answer from the user.
    #[error("{}", Exit::from(self.clone()))]
    NeedsAnswer {
        question: Question,
        /// Whether an answer was given and rejected.
        refused: bool,
    },
    /// The connection to a jump host failed.
    #[error("could not reach {host}: {failure}")]
    Jump {
        /// The final host and its port.
        host: String,
        /// The failure of the jump host.
        failure: Box<Self>,
    },
    /// The connection pool is being closed.
    #[error("the connections are being closed")]
    Closing,
}

impl ConnectFailure {
    /// Whether another attempt to connect may succeed.
    pub(super) fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::TimedOut { .. }
                | Self::Refused { .. }
                | Self::Closed { .. }
                | Self::Broken { .. }
        )
    }

    /// Sets the number of attempts that the message reports.
    pub(super) fn with_attempts(mut self, attempts: u32) -> Self {
        if let Self::TimedOut { count, .. }
        | Self::Refused { count, .. }
        | Self::Closed { count, .. }
        | Self::Broken { count, .. } = &mut self
        {
            *count = attempts;
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

/// Returns the host and port for messages: the host string of the user, plus the address if it
/// differs.
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

fn attempts_text(count: u32) -> String {
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
