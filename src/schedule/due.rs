//! The due times of a schedule.
//!
//! A time that daylight saving repeats is due once, at its first pass. A time that daylight saving skips is due at
//! the instant at which the clock jumps. Several such times of one gap are one due time.

use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use sha2::{Digest as _, Sha256};

use super::cron_line::CronLine;
use super::spec::{ScheduleSpec, Timing};

/// The largest number of cron times to pass over. A clock that goes back by a whole day repeats 1,440 of them.
const MAX_STEPS: usize = 3_000;

/// The due times of a schedule after an instant, in their order.
#[derive(Debug, Clone)]
pub struct DueTimes<'a> {
    timing: &'a Timing,
    after: Timestamp,
}

impl Timing {
    /// Returns the due times after an instant.
    pub fn after(&self, after: Timestamp) -> DueTimes<'_> {
        DueTimes {
            timing: self,
            after,
        }
    }

    /// Returns the first due time after an instant; None at the end of the calendar.
    pub fn next(&self, after: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Every(interval) => next_multiple(*interval, after),
            Self::Cron { line, zone, .. } => next_of_line(line, zone, after),
        }
    }
}

impl Iterator for DueTimes<'_> {
    type Item = Timestamp;

    fn next(&mut self) -> Option<Timestamp> {
        self.after = self.timing.next(self.after)?;
        Some(self.after)
    }
}

/// Returns the first multiple of an interval since 1970 after an instant. The anchor is fixed, so that a restart does
/// not shift the due times.
fn next_multiple(interval: Duration, after: Timestamp) -> Option<Timestamp> {
    let interval = i64::try_from(interval.as_millis()).ok()?.max(1);
    let passed = after.as_millisecond().div_euclid(interval);
    let next = passed.checked_add(1)?.checked_mul(interval)?;
    Timestamp::from_millisecond(next).ok()
}

fn next_of_line(line: &CronLine, zone: &TimeZone, after: Timestamp) -> Option<Timestamp> {
    let mut civil = zone.to_datetime(after);
    for _ in 0..MAX_STEPS {
        civil = line.next(civil)?;
        let instant = instant_of(civil, zone)?;
        if instant > after {
            return Some(instant);
        }
    }
    None
}

/// Returns the instant of a time on the wall clocks of a zone.
fn instant_of(civil: DateTime, zone: &TimeZone) -> Option<Timestamp> {
    match zone.to_ambiguous_timestamp(civil).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(civil).ok(),
        AmbiguousOffset::Fold { before, .. } => before.to_timestamp(civil).ok(),
        AmbiguousOffset::Gap { after, .. } => {
            // The later offset places a skipped time before the jump, within its length.
            let before_jump = after.to_timestamp(civil).ok()?;
            zone.following(before_jump)
                .next()
                .map(|jump| jump.timestamp())
        }
    }
}

/// Returns the instant at which the run of a due time starts: the due time and its jitter. The jitter follows from
/// the schedule's name and the due time, so that it is the same after a restart and on each server.
pub fn start_of(spec: &ScheduleSpec, due: Timestamp) -> Timestamp {
    let bound = u64::try_from(spec.jitter.as_millis()).unwrap_or(u64::MAX);
    if bound == 0 {
        return due;
    }
    let text = format!("{}\n{}", spec.name, due.as_millisecond());
    let digest = Sha256::digest(text.as_bytes());
    let number = digest
        .iter()
        .take(8)
        .fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    let delay = Duration::from_millis(number % bound.saturating_add(1).max(1));
    due.checked_add(delay).unwrap_or(due)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(line: &str, zone: &str) -> Timing {
        Timing::Cron {
            line: Box::new(CronLine::parse(line).unwrap()),
            zone: TimeZone::get(zone).unwrap(),
            zone_name: zone.into(),
        }
    }

    fn shown(timing: &Timing, after: &str, count: usize) -> String {
        let Timing::Cron { zone, .. } = timing else {
            panic!()
        };
        let after: Timestamp = after.parse().unwrap();
        let times = timing.after(after).take(count);
        let times: Vec<String> = times
            .map(|due| zone.to_datetime(due).to_string() + &zone.to_offset(due).to_string())
            .collect();
        times.join("\n")
    }

    #[test]
    fn a_time_that_daylight_saving_skips_runs_at_the_next_instant() {
        let daily = line("30 2 * * *", "Europe/Berlin");
        insta::assert_snapshot!(shown(&daily, "2026-03-28T00:00:00Z", 3), @"
        2026-03-28T02:30:00+01
        2026-03-29T03:00:00+02
        2026-03-30T02:30:00+02
        ");
        let often = line("*/20 * * * *", "Europe/Berlin");
        insta::assert_snapshot!(shown(&often, "2026-03-29T00:30:00Z", 3), @"
        2026-03-29T01:40:00+01
        2026-03-29T03:00:00+02
        2026-03-29T03:20:00+02
        ");
        // Lord Howe Island moves its clocks by half an hour.
        let half = line("15 2 * * *", "Australia/Lord_Howe");
        insta::assert_snapshot!(shown(&half, "2026-10-03T00:00:00Z", 2), @"
        2026-10-04T02:30:00+11
        2026-10-05T02:15:00+11
        ");
        // Samoa left out a whole day.
        let samoa = line("0 12 * * *", "Pacific/Apia");
        insta::assert_snapshot!(shown(&samoa, "2011-12-29T12:00:00Z", 3), @"
        2011-12-29T12:00:00-10
        2011-12-31T00:00:00+14
        2011-12-31T12:00:00+14
        ");
    }

    #[test]
    fn a_time_that_daylight_saving_repeats_runs_once() {
        let daily = line("30 2 * * *", "Europe/Berlin");
        insta::assert_snapshot!(shown(&daily, "2026-10-24T12:00:00Z", 2), @"
        2026-10-25T02:30:00+02
        2026-10-26T02:30:00+01
        ");
        let hourly = line("30 * * * *", "America/New_York");
        insta::assert_snapshot!(shown(&hourly, "2026-11-01T04:00:00Z", 3), @"
        2026-11-01T00:30:00-04
        2026-11-01T01:30:00-04
        2026-11-01T02:30:00-05
        ");
    }

    #[test]
    fn an_interval_counts_from_a_fixed_time() {
        let every = Timing::Every(Duration::from_mins(15));
        let next = |after: &str| every.next(after.parse().unwrap()).unwrap().to_string();
        assert_eq!(next("2026-03-01T10:07:00Z"), "2026-03-01T10:15:00Z");
        assert_eq!(next("2026-03-01T10:15:00Z"), "2026-03-01T10:30:00Z");
        assert_eq!(next("1969-12-31T23:50:01Z"), "1970-01-01T00:00:00Z");
        assert_eq!(every.next(Timestamp::MAX), None);
    }

    #[test]
    fn due_times_grow_and_never_repeat_in_any_zone() {
        for zone in [
            "UTC",
            "Europe/Berlin",
            "America/New_York",
            "Australia/Lord_Howe",
            "Africa/Cairo",
            "Asia/Kathmandu",
        ] {
            for text in ["*/15 * * * *", "30 1-3 * * *", "0 0 * * *", "59 23 L * *"] {
                let timing = line(text, zone);
                let mut last = Timestamp::from_second(1_767_225_600).unwrap();
                for due in timing.after(last).take(3_000) {
                    assert!(due > last, "{text} {zone} {due}");
                    // Each instant between two due times leads to the later one.
                    let middle =
                        Timestamp::from_second(i64::midpoint(last.as_second(), due.as_second()))
                            .unwrap();
                    assert_eq!(timing.next(middle), Some(due), "{text} {zone}");
                    last = due;
                }
            }
        }
    }

    #[test]
    fn the_jitter_is_bounded_and_stays_the_same() {
        let mut spec = crate::schedule::spec::tests::spec();
        spec.jitter = Duration::from_mins(1);
        let mut delays = std::collections::BTreeSet::new();
        for second in 0..500 {
            let due = Timestamp::from_second(second * 3600).unwrap();
            let delay = start_of(&spec, due).duration_since(due);
            assert!(!delay.is_negative() && delay.unsigned_abs() <= spec.jitter);
            assert_eq!(start_of(&spec, due), due + delay);
            delays.insert(delay.as_millis());
        }
        assert!(delays.len() > 400);
    }
}
