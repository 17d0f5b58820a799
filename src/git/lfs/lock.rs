//! A lock as its server describes it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The maximum difference, in seconds, between two timestamps of the same lock. Some servers read the clock
/// more than once while creating it.
const TIMESTAMP_TOLERANCE: i64 = 2;

/// A lock as its server describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LfsLock {
    /// The id. Some servers use the same id for all locks of one path.
    pub id: String,
    /// The locked path, relative to the root of the repository. The file need not exist.
    pub path: String,
    /// The owner's name on the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The creation time in RFC 3339 format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locked_at: Option<String>,
}

/// The result of a request for a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockOutcome {
    /// The server granted the lock.
    Acquired(LfsLock),
    /// Another user holds the lock. The lock is present if the server described it.
    HeldByOther(Option<LfsLock>),
}

impl LfsLock {
    /// Whether both describe the same lock, and not a later lock on the same path.
    pub fn is_same(&self, other: &Self) -> bool {
        self.id == other.id
            && self.path == other.path
            && self.owner == other.owner
            && is_same_time(self.locked_at.as_deref(), other.locked_at.as_deref())
    }
}

fn is_same_time(one: Option<&str>, other: Option<&str>) -> bool {
    let parsed = |text: Option<&str>| text.and_then(|text| text.parse::<Timestamp>().ok());
    match (parsed(one), parsed(other)) {
        (Some(one), Some(other)) => {
            one.as_second().abs_diff(other.as_second()) <= TIMESTAMP_TOLERANCE.unsigned_abs()
        }
        _ => one == other,
    }
}

impl std::fmt::Display for LfsLock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let owner = self.owner.as_deref().unwrap_or("another user");
        write!(f, "{owner}")?;
        let Some(since) = &self.locked_at else {
            return Ok(());
        };
        match since.parse::<Timestamp>() {
            Ok(time) => write!(f, " since {}", time.strftime("%Y-%m-%d %H:%M:%S UTC")),
            Err(_) => write!(f, " since {since}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(since: &str) -> LfsLock {
        LfsLock {
            id: "1".into(),
            path: "a".into(),
            owner: Some("ann".into()),
            locked_at: Some(since.into()),
        }
    }

    #[test]
    fn a_lock_made_later_for_the_same_path_is_another() {
        let first = lock("2026-11-21T19:00:00Z");
        assert!(first.is_same(&lock("2026-11-21T20:00:01.5+01:00")));
        assert!(!first.is_same(&lock("2026-11-21T19:00:03Z")));
        assert!(!first.is_same(&lock("today")));
        assert!(lock("today").is_same(&lock("today")));
    }

    #[test]
    fn a_lock_says_who_holds_it_and_since_when() {
        insta::assert_snapshot!(lock("2026-11-21T20:00:00+01:00"), @"ann since 2026-11-21 19:00:00 UTC");
        let unknown = LfsLock {
            owner: None,
            locked_at: None,
            ..lock("")
        };
        insta::assert_snapshot!(unknown, @"another user");
    }
}
