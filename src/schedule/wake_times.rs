//! The times at which cron or systemd starts the program, which then decides by its log whether a run is due.
//!
//! Each due time is one of these times. Times that cannot be expressed become a start in each minute.

use std::time::Duration;

use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

use super::cron_fields::CronFields;
use super::cron_line::CronLine;
use super::spec::{ScheduleSpec, Timing};

/// The rule for the starts of a schedule.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum WakeTimes {
    /// The times of a cron line on the clocks of a zone.
    Line {
        fields: CronFields,
        zone: TimeZone,
        zone_name: String,
        /// The times of day to which clocks jump over due times at the beginning of daylight saving.
        after_jumps: Vec<Time>,
    },
    /// Equal distances from midnight UTC on, which a day is a multiple of.
    Seconds(u64),
    /// Each minute: the program knows the times.
    EachMinute(EachMinuteReason),
}

/// The reason for a start in each minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EachMinuteReason {
    /// Each due time has a delay of its own.
    Jitter,
    /// Lists of numbers do not express the line.
    Rule,
    /// A day is no multiple of the interval.
    Interval,
    /// The program that starts does not know the time zone.
    Zone,
}

const DAY: u64 = 86_400;

/// The number of transitions of a zone that are looked at.
const TRANSITIONS: usize = 24;

impl WakeTimes {
    /// Returns the starts of a schedule. `now` decides which rules of daylight saving count.
    pub(super) fn of(spec: &ScheduleSpec, now: Timestamp) -> Self {
        if spec.jitter > Duration::ZERO {
            return Self::EachMinute(EachMinuteReason::Jitter);
        }
        match &spec.timing {
            Timing::Every(interval) => {
                let seconds = interval.as_secs();
                let is_even = interval.subsec_nanos() == 0 && seconds > 0;
                if is_even && DAY.is_multiple_of(seconds) {
                    Self::Seconds(seconds)
                } else {
                    Self::EachMinute(EachMinuteReason::Interval)
                }
            }
            Timing::Cron {
                line,
                zone,
                zone_name,
            } => match CronFields::of(line) {
                Some(fields) => Self::Line {
                    fields,
                    zone: zone.clone(),
                    zone_name: zone_name.to_string(),
                    after_jumps: after_jumps(line, zone, now),
                },
                None => Self::EachMinute(EachMinuteReason::Rule),
            },
        }
    }
}

impl EachMinuteReason {
    /// Returns the reason as a sentence for the comment of a file.
    pub(super) fn sentence(self) -> &'static str {
        match self {
            Self::Jitter => {
                "Each due time has its own delay, so the program is asked every minute."
            }
            Self::Rule => {
                "The cron line has rules of its own, so the program is asked every minute."
            }
            Self::Interval => {
                "A day is no multiple of the interval, so the program is asked every minute."
            }
            Self::Zone => "cron does not know the time zone, so the program is asked every minute.",
        }
    }
}

/// Returns the times of day to which the clocks of a zone jump over a time of the line.
fn after_jumps(line: &CronLine, zone: &TimeZone, now: Timestamp) -> Vec<Time> {
    let mut times = Vec::new();
    for transition in zone.following(now).take(TRANSITIONS) {
        let jump = transition.timestamp();
        let Ok(before) = jump.checked_sub(1.nanosecond()) else {
            continue;
        };
        let last = zone.to_datetime(before);
        let first = zone.to_datetime(jump);
        let skips = line.next(last).is_some_and(|next| next < first);
        if skips && !times.contains(&first.time()) {
            times.push(first.time());
        }
    }
    times.sort_unstable();
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn due_times_that_daylight_saving_skips_have_a_start() {
        let jumps = |text: &str, zone: &str| {
            let line = CronLine::parse(text).unwrap();
            let now = "2026-01-01T00:00:00Z".parse().unwrap();
            let times = after_jumps(&line, &TimeZone::get(zone).unwrap(), now);
            times
                .iter()
                .map(Time::to_string)
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(jumps("30 2 * * *", "Europe/Berlin"), "03:00:00");
        assert_eq!(jumps("30 3 * * *", "Europe/Berlin"), "");
        assert_eq!(jumps("30 2 * * *", "UTC"), "");
        assert_eq!(jumps("5 2 * * *", "Australia/Lord_Howe"), "02:30:00");
    }
}
