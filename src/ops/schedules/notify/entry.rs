//! A notice that waits for its delivery, as a file has it. Keys of webhooks are no part of it.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::schedule::Notice;

/// A waiting notice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct QueuedNotice {
    pub(super) id: String,
    pub(super) schedule: String,
    /// The id of the rule whose target gets the notice.
    pub(super) rule: String,
    /// The times are texts as in all files of schedules.
    created: String,
    next: String,
    /// The number of failed attempts.
    pub(super) attempts: u32,
    /// The reason of the last failure.
    pub(super) last_error: Option<String>,
    pub(super) title: String,
    pub(super) text: String,
    pub(super) body: Json,
}

impl QueuedNotice {
    pub(super) fn new(notice: Notice, now: Timestamp) -> Self {
        Self {
            id: notice.id.to_string(),
            schedule: notice.schedule.to_string(),
            rule: notice.rule.to_string(),
            created: now.to_string(),
            next: now.to_string(),
            attempts: 0,
            last_error: None,
            title: notice.title,
            text: notice.text,
            body: notice.body,
        }
    }

    /// Returns the time at which the notice was queued. A damaged time is long ago.
    pub(super) fn created(&self) -> Timestamp {
        self.created.parse().unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// Returns the time of the next attempt. A damaged time is long ago.
    pub(super) fn next(&self) -> Timestamp {
        self.next.parse().unwrap_or(Timestamp::UNIX_EPOCH)
    }

    pub(super) fn postpone(&mut self, next: Timestamp) {
        self.next = next.to_string();
    }

    /// Returns the notice as programs get it: a JSON document with a line end.
    pub(super) fn document(&self) -> Vec<u8> {
        format!("{}\n", self.body).into_bytes()
    }

    /// Returns the schedule and the rule, which stand for the target.
    pub(super) fn target_key(&self) -> (Arc<str>, Arc<str>) {
        (self.schedule.as_str().into(), self.rule.as_str().into())
    }
}
