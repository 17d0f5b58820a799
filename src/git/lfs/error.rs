//! Why a server did not lock.

use crate::value::Secrets;

/// Why a server did not lock. `server` is its address without user and password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no server to ask.
    #[error("{0}")]
    NoServer(String),
    /// It could not be reached, or said nothing for too long.
    #[error("`{server}` cannot be reached: {reason}")]
    Unreachable {
        /// The server.
        server: String,
        /// What went wrong.
        reason: String,
        /// Whether it may have heard what it was asked.
        was_sent: bool,
    },
    /// It knows no locks.
    #[error("`{server}` has no locks of git-lfs (it answered {status})")]
    LocksUnsupported {
        /// The server.
        server: String,
        /// What it answered.
        status: u16,
    },
    /// It wants to know who asks, and takes nobody it is told.
    #[error("`{server}` does not accept who asks{}", message_suffix(.message))]
    Unauthorized {
        /// The server.
        server: String,
        /// What it said.
        message: String,
    },
    /// Who asks may not lock.
    #[error("`{server}` forbids it{}", message_suffix(.message))]
    Forbidden {
        /// The server.
        server: String,
        /// What it said.
        message: String,
    },
    /// It failed by itself.
    #[error("`{server}` answered {status}{}", message_suffix(.message))]
    Failed {
        /// The server.
        server: String,
        /// What it answered.
        status: u16,
        /// What it said.
        message: String,
    },
    /// Its answer makes no sense.
    #[error("the answer of `{server}` makes no sense: {reason}")]
    InvalidResponse {
        /// The server.
        server: String,
        /// Why not.
        reason: String,
    },
}

fn message_suffix(message: &str) -> String {
    if message.is_empty() {
        String::new()
    } else {
        format!(": {message}")
    }
}

impl Error {
    /// Says what people can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoServer(_) => {
                "give the ensemble's repository a remote, or set `lfs_lock: {url: …}`"
            }
            Self::Unreachable { .. } => "see whether the server runs and `git fetch` reaches it",
            Self::LocksUnsupported { .. } => {
                "set `lfs_lock: {url: …}` to a server that has them, or `lfs_lock: {lock: no}`"
            }
            Self::Unauthorized { .. } => {
                "store a login with a git credential helper; see whether `git lfs locks` works"
            }
            Self::Forbidden { .. } => "locking takes the right to push to the repository",
            Self::Failed { .. } | Self::InvalidResponse { .. } => {
                "try again; see what `git lfs locks` says there"
            }
        }
    }

    /// Whether a server that was asked for a lock may have given it all the same.
    pub fn may_have_locked(&self) -> bool {
        match self {
            Self::Unreachable {
                was_sent, ..
            } => *was_sent,
            Self::Failed { .. } | Self::InvalidResponse { .. } => true,
            Self::NoServer(_)
            | Self::LocksUnsupported { .. }
            | Self::Unauthorized { .. }
            | Self::Forbidden { .. } => false,
        }
    }

    /// Takes secrets out of what it tells, and what is not for a terminal.
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

/// The most characters that are shown of what a server said.
const MAX_MESSAGE_CHARS: usize = 300;

/// What a server or program said, as one short line without control characters and secrets.
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
