//! The log of deliveries beside the logs of schedules: one line per attempt.

use std::collections::HashMap;
use std::path::Path;

use jiff::Timestamp;

use super::delivery::{DeliveryEvent, DeliveryOutcome, GIVEN_UP};
use crate::system::fs::{self, Appender};

/// The name of the log.
const NAME: &str = "notices.tsv";

/// The name of the log before.
const OLD_NAME: &str = "notices.old.tsv";

/// The mode of the log.
const MODE: u32 = 0o600;

/// The size from which on a new log begins. The one before is kept.
const MAX_BYTES: u64 = 1 << 20;

/// Adds an event. The columns are time, schedule, result, attempt, id, target, title, reason.
pub(super) fn append(schedules: &Path, event: &DeliveryEvent) -> Result<(), fs::Error> {
    let path = schedules.join(NAME);
    if fs::stat_of(&path).is_ok_and(|stat| stat.size > MAX_BYTES) {
        fs::rename(&path, &schedules.join(OLD_NAME))?;
    }
    let reason = match &event.outcome {
        DeliveryOutcome::Delivered => String::new(),
        DeliveryOutcome::Postponed { next, reason } => format!("{reason}; next attempt at {next}"),
        DeliveryOutcome::GivenUp { reason } => reason.clone(),
    };
    let fields = [
        event.at.to_string(),
        event.schedule.to_string(),
        event.outcome.word().to_owned(),
        event.attempts.to_string(),
        event.id.to_string(),
        event.target.clone(),
        event.title.clone(),
        reason,
    ];
    let fields = fields.map(|field| field.replace(char::is_control, " "));
    let line = format!("{}\n", fields.join("\t"));
    Appender::open(&path, MODE)?.append(line.as_bytes())
}

/// A notice whose last attempt failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedDelivery {
    /// The time of the last attempt.
    pub at: Timestamp,
    pub schedule: String,
    /// True if no further attempt is made.
    pub is_given_up: bool,
    pub attempts: u32,
    pub id: String,
    pub target: String,
    pub title: String,
    pub reason: String,
}

/// Returns the notices whose last attempt failed, the oldest first.
pub(in crate::ops::schedules) fn failed_deliveries(
    schedules: &Path,
) -> Result<Vec<FailedDelivery>, fs::Error> {
    let mut last: HashMap<String, Option<FailedDelivery>> = HashMap::new();
    for name in [OLD_NAME, NAME] {
        let bytes = match fs::read_within(&schedules.join(name), 4 * MAX_BYTES) {
            Err(error) if error.is_not_found() => continue,
            bytes => bytes?,
        };
        for line in String::from_utf8_lossy(&bytes).lines() {
            if let Some((id, failed)) = parse(line) {
                last.insert(id, failed);
            }
        }
    }
    let mut failed: Vec<FailedDelivery> = last.into_values().flatten().collect();
    failed.sort_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id)));
    Ok(failed)
}

/// Reads a line. Returns the id of the notice, and the failure if the attempt failed.
fn parse(line: &str) -> Option<(String, Option<FailedDelivery>)> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [at, schedule, word, attempts, id, target, title, reason] = fields[..] else {
        return None;
    };
    if word == DeliveryOutcome::Delivered.word() {
        return Some((id.to_owned(), None));
    }
    let failed = FailedDelivery {
        at: at.parse().ok()?,
        schedule: schedule.to_owned(),
        is_given_up: word == GIVEN_UP,
        attempts: attempts.parse().ok()?,
        id: id.to_owned(),
        target: target.to_owned(),
        title: title.to_owned(),
        reason: reason.to_owned(),
    };
    Some((id.to_owned(), Some(failed)))
}
