//! Chooses the start time of a job, so that its change ids come after all recorded ids.

use std::path::Path;

use super::jobs_tsv::RecordedHistory;
use super::record::job_file_name;
use crate::name::{ChangeId, ChangeIdError};
use crate::system::{clock, fs};

/// The maximum time by which the last job's id may be ahead of the clock when jobs follow each other quickly.
const MAX_CLOCK_LEAD: jiff::SignedDuration = jiff::SignedDuration::from_secs(2);

/// An error while choosing a job's start time.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StartTimeError {
    #[error(transparent)]
    NoId(#[from] ChangeIdError),
    /// The ids of the job would come before recorded ids.
    #[error(
        "could not create job: New changeId is earlier than the previous changeId: {id} < {last}. \
         Is time set correctly?"
    )]
    Earlier {
        /// The id that the job would get.
        id: ChangeId,
        last: String,
    },
    /// The ids of all later moments within reach are in use.
    #[error("could not create job: no free change id was found")]
    NoneFree,
}

/// Returns the start time of a job: `requested` (`--starttime`) or now, moved forward until its id is free.
/// `previous` is the last recorded job.
///
/// # Errors
///
/// The ids of the job would come before recorded ids.
pub(crate) fn start_time(
    requested: Option<&str>,
    history: &RecordedHistory,
    previous: Option<&str>,
    base: &Path,
) -> Result<jiff::Timestamp, StartTimeError> {
    let now = requested.is_none();
    let requested = requested.map_or_else(clock::now, parse_start);
    let last = history.last_id().map(|id| id.to_string());
    let last = last.as_deref().max(previous);
    let is_earlier = |id: ChangeId| {
        previous.is_some_and(|previous| id.prefix() < &previous[..8.min(previous.len())])
    };
    // Jobs in quick succession use ids slightly in the future.
    let soon = requested.saturating_add(MAX_CLOCK_LEAD).ok();
    let soon = soon.and_then(|soon| ChangeId::job(soon).ok());
    let follows = now && soon.is_some_and(|soon| !is_earlier(soon));
    let mut start = requested;
    for _ in 0..=u16::MAX {
        let id = ChangeId::job(start)?;
        let before = last.filter(|last| last.len() >= 8 && id.prefix() <= &last[..8]);
        let Some(last) = before else {
            if !has_log(base, start, id) {
                return Ok(start);
            }
            start = crate::name::next_tick(start);
            continue;
        };
        if is_earlier(id) && !follows {
            let last = last.to_owned();
            return Err(StartTimeError::Earlier { id, last });
        }
        start = crate::name::next_tick(start);
    }
    Err(StartTimeError::NoneFree)
}

/// Whether a job without a record used this id: its log file exists.
fn has_log(base: &Path, start: jiff::Timestamp, id: ChangeId) -> bool {
    let name = job_file_name(start, id.as_str());
    let folders = ["jobs", "planned", "failed"];
    folders
        .iter()
        .any(|folder| fs::exists(&base.join(folder).join(format!("{name}.log"))))
}

/// Parses `--starttime`: an hour of 2020-01-01, or a time in the format of records. Any other text means
/// 2020-01-01.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn start(requested: &str, previous: Option<&str>) -> Result<jiff::Timestamp, StartTimeError> {
        let history = RecordedHistory::default();
        start_time(Some(requested), &history, previous, Path::new("/nowhere"))
    }

    #[test]
    fn a_start_is_an_hour_or_a_time_in_the_form_of_records() {
        let time = |requested: &str| start(requested, None).unwrap().to_string();
        assert_eq!(time("12"), "2020-01-01T12:00:00Z");
        assert_eq!(
            time("2024-02-03-04-05-06-000007"),
            "2024-02-03T04:05:06.000007Z"
        );
    }

    #[test]
    fn a_start_before_the_last_job_is_refused() {
        let time: jiff::Timestamp = "2024-02-03T04:05:06Z".parse().unwrap();
        let last = ChangeId::job(time).unwrap();
        let error = start("12", Some(last.as_str())).unwrap_err();
        assert!(matches!(error, StartTimeError::Earlier { .. }), "{error}");
        let next = start("2024-02-03-04-05-06-000000", Some(last.as_str())).unwrap();
        assert!(next > time);
    }
}
