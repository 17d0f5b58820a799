//! When a job starts: its ids must come after all that are recorded.

use std::path::Path;

use super::failure::{Failure, FailureKind};
use super::request::JobRequest;
use crate::ensemble::{self, RecordedHistory};
use crate::name::ChangeId;
use crate::system::{clock, fs};

/// How far the id of the last job may be ahead of the clock where jobs follow each other at once.
const AT_ONCE: jiff::SignedDuration = jiff::SignedDuration::from_secs(2);

/// When the job starts: its ids must come after all that are recorded.
pub(super) fn start_time(
    request: &JobRequest,
    history: &RecordedHistory,
    previous: Option<&str>,
    base: &Path,
) -> Result<jiff::Timestamp, Failure> {
    let asked = request
        .start
        .as_deref()
        .map_or_else(clock::now, parse_start);
    let last = history.last_id().map(|id| id.to_string());
    let last = last.as_deref().max(previous);
    let refuse = |message: String| Failure::new(FailureKind::Load, message, None);
    let is_earlier = |id: ChangeId| {
        previous.is_some_and(|previous| id.prefix() < &previous[..8.min(previous.len())])
    };
    // Jobs that follow each other at once take ids of the moments to come.
    let soon = asked.saturating_add(AT_ONCE).ok();
    let soon = soon.and_then(|soon| ChangeId::job(soon).ok());
    let follows = request.start.is_none() && soon.is_some_and(|soon| !is_earlier(soon));
    let mut start = asked;
    for _ in 0..=u16::MAX {
        let id = ChangeId::job(start).map_err(|error| refuse(error.to_string()))?;
        let before = last.filter(|last| last.len() >= 8 && id.prefix() <= &last[..8]);
        let Some(last) = before else {
            if !has_log(base, start, id) {
                return Ok(start);
            }
            start = crate::name::next_tick(start);
            continue;
        };
        if is_earlier(id) && !follows {
            return Err(refuse(format!(
                "could not create job: New changeId is earlier than the previous changeId: {id} < \
                 {last}. Is time set correctly?"
            )));
        }
        start = crate::name::next_tick(start);
    }
    Err(refuse(
        "could not create job: no free change id was found".to_owned(),
    ))
}

/// Whether a job that left no other trace had this id: its log is there.
fn has_log(base: &Path, start: jiff::Timestamp, id: ChangeId) -> bool {
    let name = ensemble::job_file_name(start, id.as_str());
    let folders = ["jobs", "planned", "failed"];
    folders
        .iter()
        .any(|folder| fs::exists(&base.join(folder).join(format!("{name}.log"))))
}

/// `--starttime`: an hour of 2020-01-01, or a time in the form of records.
fn parse_start(text: &str) -> jiff::Timestamp {
    let epoch = jiff::civil::date(2020, 1, 1);
    let utc = |time: jiff::civil::DateTime| {
        time.to_zoned(jiff::tz::TimeZone::UTC)
            .map(|zoned| zoned.timestamp())
            .unwrap_or_default()
    };
    if let Ok(hour) = text.parse::<i8>() {
        return utc(epoch.at(hour.clamp(0, 23), 0, 0, 0));
    }
    let (seconds, micros) = text.rsplit_once('-').unwrap_or((text, "0"));
    let parsed = jiff::civil::DateTime::strptime("%Y-%m-%d-%H-%M-%S", seconds);
    match (parsed, micros.parse::<i64>()) {
        (Ok(time), Ok(micros)) => {
            let span = jiff::SignedDuration::from_micros(micros);
            utc(time).checked_add(span).unwrap_or_default()
        }
        _ => utc(epoch.at(0, 0, 0, 0)),
    }
}
