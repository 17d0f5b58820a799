//! Chooses the start time of a job, so that its change ids come after all recorded ids.

use std::path::Path;

use super::jobs_tsv::RecordedHistory;
use super::record::job_file_name;
use super::record_time::parse_stamp;
use crate::name::{ChangeId, ChangeIdError, next_tick};
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
    /// `--starttime` is not a time.
    #[error(
        "`{0}` is not a start time: write an hour from 0 to 23, a time such as `2026-02-03-04-05-06-000007`, or \
         one such as `2026-02-03T04:05:06Z`"
    )]
    Unreadable(String),
    /// The ids of all later moments within reach are in use.
    #[error("could not create job: no free change id was found")]
    NoneFree,
}

/// The start of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JobStart {
    pub(crate) time: jiff::Timestamp,
    /// The time by which the clock is behind the last recorded job, if that is noticeable.
    pub(crate) clock_lag: Option<jiff::SignedDuration>,
}

/// Returns the start of a job: `requested` (`--starttime`), or now and not before the last recorded id. The start
/// is moved forward until its id is free. `previous` is the last recorded job.
///
/// # Errors
///
/// `requested` is not a time, or the ids of the job would come before recorded ids.
pub(crate) fn job_start(
    requested: Option<&str>,
    history: &RecordedHistory,
    previous: Option<&str>,
    base: &Path,
) -> Result<JobStart, StartTimeError> {
    let last = history.last_id().map(|id| id.to_string());
    let last = last.as_deref().max(previous);
    if let Some(requested) = requested {
        let time = free_start(parse_start(requested)?, last, previous, base)?;
        let clock_lag = None;
        return Ok(JobStart { time, clock_lag });
    }
    let now = clock::now();
    let last_time = last.and_then(|last| ChangeId::parse(last).ok()?.tick());
    let start = last_time.map_or(now, |last| now.max(next_tick(last)));
    let lag = last_time.map(|last| last.duration_since(now));
    Ok(JobStart {
        time: free_start(start, last, previous, base)?,
        // Jobs in quick succession use ids slightly in the future.
        clock_lag: lag.filter(|lag| *lag > MAX_CLOCK_LEAD),
    })
}

/// Moves a start forward until its id is free.
fn free_start(
    mut start: jiff::Timestamp,
    last: Option<&str>,
    previous: Option<&str>,
    base: &Path,
) -> Result<jiff::Timestamp, StartTimeError> {
    let is_earlier = |id: ChangeId| {
        previous.is_some_and(|previous| id.prefix() < &previous[..8.min(previous.len())])
    };
    for _ in 0..=u16::MAX {
        let id = ChangeId::job(start)?;
        let before = last.filter(|last| last.len() >= 8 && id.prefix() <= &last[..8]);
        let Some(last) = before else {
            if !has_log(base, start, id) {
                return Ok(start);
            }
            start = next_tick(start);
            continue;
        };
        if is_earlier(id) {
            let last = last.to_owned();
            return Err(StartTimeError::Earlier { id, last });
        }
        start = next_tick(start);
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

/// Parses `--starttime`: an hour of 2020-01-01, a time in the format of records, or a time of ISO 8601, which is
/// in UTC unless it names an offset.
fn parse_start(text: &str) -> Result<jiff::Timestamp, StartTimeError> {
    let unreadable = || StartTimeError::Unreadable(text.to_owned());
    let utc = |time: jiff::civil::DateTime| {
        let zoned = time.to_zoned(jiff::tz::TimeZone::UTC);
        zoned.map(|zoned| zoned.timestamp()).ok()
    };
    let hour = || {
        let hour = text
            .parse::<i8>()
            .ok()
            .filter(|hour| (0..24).contains(hour))?;
        utc(jiff::civil::date(2020, 1, 1).at(hour, 0, 0, 0))
    };
    let of_iso = || {
        let with_offset = text.parse::<jiff::Timestamp>().ok();
        with_offset.or_else(|| utc(text.parse::<jiff::civil::DateTime>().ok()?))
    };
    hour()
        .or_else(|| parse_stamp(text))
        .or_else(of_iso)
        .ok_or_else(unreadable)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(requested: &str, previous: Option<&str>) -> Result<jiff::Timestamp, StartTimeError> {
        let history = RecordedHistory::default();
        let start = job_start(Some(requested), &history, previous, Path::new("/nowhere"))?;
        Ok(start.time)
    }

    #[test]
    fn a_start_is_an_hour_or_a_time() {
        let time = |requested: &str| match start(requested, None) {
            Ok(time) => time.to_string(),
            Err(StartTimeError::Unreadable(_)) => "refused".to_owned(),
            Err(error) => error.to_string(),
        };
        let table = [
            "12",
            "24",
            "-1",
            "2024-02-03-04-05-06-000007",
            "2024-02-03-04-05-06-7",
            "2024-02-03-04-05-06-1234567",
            "2024-02-03-04-05-06--1",
            "2024-02-03-04-05-06",
            "2024-02-03T04:05:06Z",
            "2024-02-03T04:05:06.5+01:00",
            "2024-02-03 04:05",
            "2024-02-03",
            "now",
            "",
        ]
        .map(|text| format!("{text} => {}", time(text)));
        insta::assert_snapshot!(table.join("\n"), @"
        12 => 2020-01-01T12:00:00Z
        24 => refused
        -1 => refused
        2024-02-03-04-05-06-000007 => 2024-02-03T04:05:06.000007Z
        2024-02-03-04-05-06-7 => 2024-02-03T04:05:06.7Z
        2024-02-03-04-05-06-1234567 => refused
        2024-02-03-04-05-06--1 => refused
        2024-02-03-04-05-06 => refused
        2024-02-03T04:05:06Z => 2024-02-03T04:05:06Z
        2024-02-03T04:05:06.5+01:00 => 2024-02-03T03:05:06.5Z
        2024-02-03 04:05 => 2024-02-03T04:05:00Z
        2024-02-03 => 2024-02-03T00:00:00Z
        now => refused
         => refused
        ");
    }

    #[test]
    fn a_requested_start_before_the_last_job_is_refused() {
        let time: jiff::Timestamp = "2024-02-03T04:05:06Z".parse().unwrap();
        let last = ChangeId::job(time).unwrap();
        let error = start("12", Some(last.as_str())).unwrap_err();
        assert!(matches!(error, StartTimeError::Earlier { .. }), "{error}");
        let next = start("2024-02-03-04-05-06-000000", Some(last.as_str())).unwrap();
        assert!(next > time);
    }

    #[test]
    fn a_clock_that_is_behind_continues_the_ids() {
        let history = RecordedHistory::default();
        for years in [1, 9] {
            let ahead = jiff::SignedDuration::from_hours(years * 365 * 24);
            let last = ChangeId::job(clock::now() + ahead).unwrap();
            let start = job_start(None, &history, Some(last.as_str()), Path::new("/nowhere"));
            let start = start.unwrap();
            assert!(ChangeId::job(start.time).unwrap().prefix() > last.prefix());
            assert!(start.time.duration_since(last.tick().unwrap()) < MAX_CLOCK_LEAD);
            let lag = start.clock_lag.unwrap();
            assert!((ahead - lag).abs() < MAX_CLOCK_LEAD, "{lag}");
        }
        let start = job_start(None, &history, None, Path::new("/nowhere")).unwrap();
        assert_eq!(start.clock_lag, None);
    }
}
