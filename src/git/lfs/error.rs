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
        asked: bool,
    },
    /// It knows no locks.
    #[error("`{server}` has no locks of git-lfs (it answered {status})")]
    NoLocks {
        /// The server.
        server: String,
        /// What it answered.
        status: u16,
    },
    /// It wants to know who asks, and takes nobody it is told.
    #[error("`{server}` does not accept who asks{}", told(.message))]
    Unauthorized {
        /// The server.
        server: String,
        /// What it said.
        message: String,
    },
    /// Who asks may not lock.
    #[error("`{server}` forbids it{}", told(.message))]
    Forbidden {
        /// The server.
        server: String,
        /// What it said.
        message: String,
    },
    /// It failed by itself.
    #[error("`{server}` answered {status}{}", told(.message))]
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
    Garbled {
        /// The server.
        server: String,
        /// Why not.
        reason: String,
    },
}

fn told(message: &str) -> String {
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
            Self::NoLocks { .. } => {
                "set `lfs_lock: {url: …}` to a server that has them, or `lfs_lock: {lock: no}`"
            }
            Self::Unauthorized { .. } => {
                "store a login with a git credential helper; see whether `git lfs locks` works"
            }
            Self::Forbidden { .. } => "locking takes the right to push to the repository",
            Self::Failed { .. } | Self::Garbled { .. } => {
                "try again; see what `git lfs locks` says there"
            }
        }
    }

    /// Whether a server that was asked for a lock may have given it all the same.
    pub fn may_have_locked(&self) -> bool {
        match self {
            Self::Unreachable { asked, .. } => *asked,
            Self::Failed { .. } | Self::Garbled { .. } => true,
            Self::NoServer(_)
            | Self::NoLocks { .. }
            | Self::Unauthorized { .. }
            | Self::Forbidden { .. } => false,
        }
    }

    /// Takes secrets out of what it tells, and what is not for a terminal.
    pub(super) fn without(self, secrets: &Secrets) -> Self {
        let clean = |text: String| clean(&text, secrets);
        match self {
            Self::NoServer(reason) => Self::NoServer(clean(reason)),
            Self::Unreachable {
                server,
                reason,
                asked,
            } => Self::Unreachable {
                server,
                reason: clean(reason),
                asked,
            },
            Self::NoLocks { .. } => self,
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
            Self::Garbled { server, reason } => Self::Garbled {
                server,
                reason: clean(reason),
            },
        }
    }
}

/// The most characters that are shown of what a server said.
const MOST_SHOWN: usize = 300;

/// What a server or program said, as one short line without control characters and secrets.
pub(super) fn clean(text: &str, secrets: &Secrets) -> String {
    let text = secrets.redact(text);
    let words: Vec<_> = text
        .split(|c: char| c.is_control() || c.is_whitespace())
        .filter(|word| !word.is_empty())
        .collect();
    let line = words.join(" ");
    match line.char_indices().nth(MOST_SHOWN) {
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
            clean(said, &["s3cret", "to", ""].into_iter().collect()),
            @"bad token [31m <<REDACTED>> for you"
        );
        assert_eq!(
            clean(&"x".repeat(1000), &Secrets::default())
                .chars()
                .count(),
            301
        );
    }
}
