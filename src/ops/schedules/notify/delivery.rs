//! An attempt to deliver a notice, and its result.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::delivery_error::DeliveryError;
use super::entry::QueuedNotice;
use super::secret_access::SecretAccess;
use super::{mail, program, webhook};
use crate::schedule::NoticeTarget;

/// The result of an attempt, for logs and metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryEvent {
    pub at: Timestamp,
    pub schedule: Arc<str>,
    /// The id of the notice.
    pub id: Arc<str>,
    /// The target in words.
    pub target: String,
    /// The title of the notice.
    pub title: String,
    /// The number of attempts so far.
    pub attempts: u32,
    pub outcome: DeliveryOutcome,
}

/// The word for an attempt after which no other is made.
pub(super) const GIVEN_UP: &str = "given up";

/// The outcome of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryOutcome {
    Delivered,
    /// The attempt failed, and another one follows.
    Postponed {
        next: Timestamp,
        reason: String,
    },
    /// No further attempt is made.
    GivenUp {
        reason: String,
    },
}

impl DeliveryOutcome {
    /// Returns the word for the outcome in logs.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Postponed { .. } => "postponed",
            Self::GivenUp { .. } => GIVEN_UP,
        }
    }
}

/// Makes one attempt, which ends after `limit`.
pub(super) fn deliver(
    notice: &QueuedNotice,
    target: &NoticeTarget,
    secrets: &SecretAccess,
    limit: Duration,
) -> Result<(), DeliveryError> {
    match target {
        NoticeTarget::Command(words) => {
            let words = words.iter().map(ToString::to_string);
            program::run(words.collect(), notice.document(), secrets.project(), limit)
        }
        NoticeTarget::Webhook(target) => webhook::post(notice, target, secrets, limit),
        NoticeTarget::Mail(target) => {
            let words = [&*target.sendmail, "-t", "-i"].map(str::to_owned);
            let mail = mail::message(notice, target);
            program::run(words.to_vec(), mail.into_bytes(), secrets.project(), limit)
        }
    }
}
