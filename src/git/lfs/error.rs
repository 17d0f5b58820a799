//! Errors of git-lfs lock requests, with hints. Messages of servers are redacted and shortened here.

use crate::value::Secrets;

/// An error of a lock request. `server` is the address without user and password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No server is configured or it cannot be used.
    #[error("{0}")]
    NoServer(String),
    /// The server could not be reached or did not respond in time.
    #[error("`{server}` cannot be reached: {reason}")]
    Unreachable {
        server: String,
        reason: String,
        /// Whether the request may have reached the server, so that it may have been executed.
        was_sent: bool,
    },
    /// The server does not support locks.
    #[error("`{server}` does not support git-lfs locks (status {status})")]
    LocksUnsupported {
        server: String,
        /// The HTTP status or its equivalent.
        status: u16,
    },
    /// The server requires a login and accepts none of the available ones.
    #[error("`{server}` rejected the login{}", message_suffix(.message))]
    Unauthorized { server: String, message: String },
    /// The user has no permission to lock.
    #[error("`{server}` denied the permission to lock or unlock{}", message_suffix(.message))]
    Forbidden { server: String, message: String },
    /// The server reported an internal failure.
    #[error("`{server}` answered with status {status}{}", message_suffix(.message))]
    Failed {
        server: String,
        /// The HTTP status or its equivalent.
        status: u16,
        message: String,
    },
    /// The response cannot be parsed or contradicts the request.
    #[error("the response of `{server}` is invalid: {reason}")]
    InvalidResponse { server: String, reason: String },
}

fn message_suffix(message: &str) -> String {
    if message.is_empty() {
        String::new()
    } else {
        format!(": {message}")
    }
}

impl Error {
    /// Returns a hint on how to fix the problem.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoServer(_) => {
                "give the ensemble's repository a remote, or set `lfs_lock: {url: …}`"
            }
            Self::Unreachable { .. } => {
                "check that the server runs and that `git fetch` reaches it"
            }
            Self::LocksUnsupported { .. } => {
                "set `lfs_lock: {url: …}` to a server that supports locks, or set `lfs_lock: \
                 {lock: no}`"
            }
            Self::Unauthorized { .. } => {
                "store a login with a git credential helper; `git lfs locks` shows whether it works"
            }
            Self::Forbidden { .. } => "locks require the permission to push to the repository",
            Self::Failed { .. } | Self::InvalidResponse { .. } => {
                "try again; run `git lfs locks` in the repository for details"
            }
        }
    }

    /// Whether the server may have created the requested lock despite the error.
    pub fn may_have_locked(&self) -> bool {
        match self {
            Self::Unreachable { was_sent, .. } => *was_sent,
            Self::Failed { .. } | Self::InvalidResponse { .. } => true,
            Self::NoServer(_)
            | Self::LocksUnsupported { .. }
            | Self::Unauthorized { .. }
            | Self::Forbidden { .. } => false,
        }
    }

    /// Removes secrets and control characters from the error's texts.
    pub(super) fn redacted(self, secrets: &Secrets) -> Self {
        let clean = |text: String| sanitize(&text, secrets);
        match self {
            Self::NoServer(reason) => Self::NoServer(clean(reason)),
            Self::Unreachable {
                server,
                reason,
                was_sent,
            } => Self::Unreachable {
                server,
                reason: clean(reason),
                was_sent,
            },
            Self::LocksUnsupported { .. } => self,
            Self::Unauthorized { server, message } => Self::Unauthorized {
                server,
                message: clean(message),
            },
            Self::Forbidden { server, message } => Self::Forbidden {
                server,
                message: clean(message),
            },
            Self::Failed {
                server,
                status,
                message,
            } => Self::Failed {
                server,
                status,
                message: clean(message),
            },
            Self::InvalidResponse { server, reason } => Self::InvalidResponse {
                server,
                reason: clean(reason),
            },
        }
    }
}

/// The maximum number of characters shown of a server's message.
const MAX_MESSAGE_CHARS: usize = 300;

/// Returns the message of a server or program as one short line without control characters and secrets.
pub(super) fn sanitize(text: &str, secrets: &Secrets) -> String {
    let text = secrets.redact(text);
    let words: Vec<_> = text
        .split(|c: char| c.is_control() || c.is_whitespace())
        .filter(|word| !word.is_empty())
        .collect();
    let line = words.join(" ");
    match line.char_indices().nth(MAX_MESSAGE_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_is_shown_without_secrets_in_one_line() {
        let said = "bad token\u{1b}[31m s3cret\r\nfor you";
        insta::assert_snapshot!(
            sanitize(said, &["s3cret", "to", ""].into_iter().collect()),
            @"bad token [31m <<REDACTED>> for you"
        );
        assert_eq!(
            sanitize(&"x".repeat(1000), &Secrets::default())
                .chars()
                .count(),
            301
        );
    }
}
