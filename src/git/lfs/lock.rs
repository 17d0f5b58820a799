//! A lock as its server describes it.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::system::clock;

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
    /// The server locked another path than the requested one.
    OtherPath(LfsLock),
}

/// A lock that was looked up because the answer to the request for it was lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundLock {
    pub lock: LfsLock,
    /// True if the lock belongs to this user.
    pub is_own: bool,
    /// The server's time minus the time of this machine; `None` if the server did not tell its time.
    clock_difference: Option<SignedDuration>,
}

/// The maximum difference, in seconds, between the times of a request and of its lock. Servers tell their time in
/// whole seconds.
const LOCK_TIME_TOLERANCE: i64 = 3;

/// The same if the server does not tell its time.
const UNKNOWN_CLOCK_TOLERANCE: i64 = 5;

impl FoundLock {
    /// Creates the description of a lock that was found now.
    pub(super) fn new(lock: LfsLock, is_own: bool, server_time: Option<Timestamp>) -> Self {
        let now = clock::now();
        Self {
            lock,
            is_own,
            clock_difference: server_time.map(|time| time.duration_since(now)),
        }
    }

    /// Describes a lock whose owner may be this or another user.
    pub fn of_unknown_owner(lock: LfsLock) -> Self {
        Self::new(lock, false, None)
    }

    /// Returns true if the lock was created by a request of this user that was sent and lost between these times.
    pub fn is_from(&self, sent: Timestamp, lost: Timestamp) -> bool {
        let locked_at = self.lock.locked_at.as_deref();
        let Some(locked_at) = locked_at.and_then(|time| time.parse::<Timestamp>().ok()) else {
            return false;
        };
        let tolerance = match self.clock_difference {
            Some(_) => LOCK_TIME_TOLERANCE,
            None => UNKNOWN_CLOCK_TOLERANCE,
        };
        let difference = self.clock_difference.unwrap_or_default().as_secs();
        let locked_at = locked_at.as_second().saturating_sub(difference);
        let earliest = sent.as_second().saturating_sub(tolerance);
        let latest = lost.as_second().saturating_add(tolerance);
        self.is_own && (earliest..=latest).contains(&locked_at)
    }
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
    fn a_found_lock_is_from_a_request_if_owner_and_time_match() {
        let time = |text: &str| text.parse::<Timestamp>().unwrap();
        let (sent, lost) = (time("2026-11-21T19:00:00Z"), time("2026-11-21T19:01:00Z"));
        let found = |locked_at: &str, is_own, difference: Option<i64>| FoundLock {
            lock: lock(locked_at),
            is_own,
            clock_difference: difference.map(SignedDuration::from_secs),
        };
        assert!(found("2026-11-21T19:00:59Z", true, Some(0)).is_from(sent, lost));
        assert!(!found("2026-11-21T19:00:59Z", false, Some(0)).is_from(sent, lost));
        assert!(!found("2026-11-21T18:59:55Z", true, Some(0)).is_from(sent, lost));
        assert!(found("2026-11-21T18:59:55Z", true, None).is_from(sent, lost));
        assert!(!found("2026-11-21T19:01:10Z", true, None).is_from(sent, lost));
        // The server's clock is a day ahead.
        assert!(found("2026-11-22T19:00:30Z", true, Some(86_400)).is_from(sent, lost));
        assert!(!found("2026-11-21T19:00:30Z", true, Some(86_400)).is_from(sent, lost));
        assert!(!found("today", true, Some(0)).is_from(sent, lost));
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
