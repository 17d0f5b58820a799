//! Change ids: identifiers of 12 characters for jobs and tasks, which sort by time (rule U-i). The caller
//! supplies the time; this module reads no clock.

use std::fmt::{Display, Formatter};

/// The length of one tick of the clock in change ids, in microseconds.
pub const TICK_MICROSECONDS: i64 = 16_200;

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const PREFIX_LENGTH: usize = 8;

/// The number of a task within its job, counted from 1; 0 means the job itself. The number may exceed
/// 65,535.
pub type TaskNumber = u32;

/// The id of a job or a task: `A`, seven digits for the time and four for the task number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChangeId([u8; 12]);

/// The reason why a change id cannot be created or parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeIdError {
    /// A text that does not have the form of a change id.
    #[error("`{0}` is not a change id: `A` followed by eleven letters or digits")]
    Malformed(String),
    /// A year that does not fit: one digit counts the years from 2020.
    #[error("the year {0} does not fit in a change id, which covers 2020 to 2081")]
    Year(i16),
}

impl ChangeId {
    /// Returns the id of the job that starts at `time` (UTC).
    pub fn job(time: jiff::Timestamp) -> Result<Self, ChangeIdError> {
        let utc = time.to_zoned(jiff::tz::TimeZone::UTC);
        let year = utc.year();
        let Some(years) = usize::try_from(year - 2020)
            .ok()
            .filter(|years| *years < 62)
        else {
            return Err(ChangeIdError::Year(year));
        };
        let micros = i64::from(utc.subsec_nanosecond()) / 1000;
        let mut bytes = *b"A00000000000";
        bytes[1] = DIGITS[years];
        for (place, number) in [
            utc.month(),
            utc.day(),
            utc.hour(),
            utc.minute(),
            utc.second(),
        ]
        .into_iter()
        .enumerate()
        {
            bytes[place + 2] = DIGITS[usize::try_from(number).unwrap_or(0)];
        }
        bytes[7] = DIGITS[usize::try_from(micros / TICK_MICROSECONDS).unwrap_or(0)];
        Ok(Self(bytes))
    }

    /// Returns the id of task `number` of the job that starts at `time`.
    ///
    /// Numbers above 65,535 use the next ticks of the clock, so that ids stay unique and ordered.
    pub fn task(time: jiff::Timestamp, number: TaskNumber) -> Result<Self, ChangeIdError> {
        let mut id = Self::job(after_ticks(time, number >> 16))?;
        let low = number & 0xffff;
        for place in 0..4 {
            let digit = (low >> (12 - 4 * place)) & 0xf;
            id.0[PREFIX_LENGTH + place] = b"0123456789abcdef"[digit as usize];
        }
        Ok(id)
    }

    pub fn parse(text: &str) -> Result<Self, ChangeIdError> {
        let malformed = || ChangeIdError::Malformed(text.to_owned());
        let bytes: [u8; 12] = text.as_bytes().try_into().map_err(|_| malformed())?;
        let well_formed = bytes[0] == b'A' && bytes.iter().all(u8::is_ascii_alphanumeric);
        if well_formed {
            Ok(Self(bytes))
        } else {
            Err(malformed())
        }
    }

    /// Returns the start of the job, to the second. None if the digits are not a valid time.
    pub fn time(&self) -> Option<jiff::Timestamp> {
        let number = |place: usize| {
            let digit = DIGITS.iter().position(|digit| *digit == self.0[place])?;
            i8::try_from(digit).ok()
        };
        let year = 2020 + i16::from(number(1)?);
        let date = jiff::civil::Date::new(year, number(2)?, number(3)?).ok()?;
        let time = jiff::civil::Time::new(number(4)?, number(5)?, number(6)?, 0).ok()?;
        let utc = date.to_datetime(time).to_zoned(jiff::tz::TimeZone::UTC);
        Some(utc.ok()?.timestamp())
    }

    /// Returns the start of the job, to the tick of the clock in change ids. None if the digits are not a valid
    /// time.
    pub fn tick(&self) -> Option<jiff::Timestamp> {
        let second = self.time()?;
        let ticks = DIGITS.iter().position(|digit| *digit == self.0[7])?;
        Some(after_ticks(second, u32::try_from(ticks).ok()?))
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// Returns the first eight characters, which a job shares with its first 65,535 tasks.
    pub fn prefix(&self) -> &str {
        &self.as_str()[..PREFIX_LENGTH]
    }
}

/// Returns the start of the next tick of the clock in change ids.
pub fn next_tick(time: jiff::Timestamp) -> jiff::Timestamp {
    after_ticks(time, 1)
}

/// Returns the time that is `ticks` ticks after `time`. Each second has 62 ticks; the last one is shorter.
fn after_ticks(time: jiff::Timestamp, ticks: u32) -> jiff::Timestamp {
    if ticks == 0 {
        return time;
    }
    let second = time.as_second();
    let micros = i64::from(time.subsec_nanosecond()) / 1000;
    let total = micros / TICK_MICROSECONDS + i64::from(ticks);
    let later = jiff::Timestamp::from_second(second + total / 62).unwrap_or(time);
    let offset = jiff::SignedDuration::from_micros((total % 62) * TICK_MICROSECONDS);
    later.checked_add(offset).unwrap_or(later)
}

impl Display for ChangeId {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::fmt::Debug for ChangeId {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> jiff::Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn ids_are_those_of_the_specification() {
        let cases = [
            ("2026-11-21T07:19:42.005769Z", 0, "A6BL7Jg00000"),
            ("2026-11-21T07:19:42.005769Z", 2, "A6BL7Jg00002"),
            ("2020-01-01T01:00:00Z", 0, "A01110000000"),
            ("2024-01-31T23:33:37Z", 0, "A41VNXb00000"),
            ("2026-11-21T07:21:55.999999Z", 255, "A6BL7Ltz00ff"),
        ];
        for (time, number, id) in cases {
            assert_eq!(ChangeId::task(at(time), number).unwrap().as_str(), id);
        }
    }

    #[test]
    fn seventy_thousand_tasks_have_ordered_unique_ids() {
        for start in ["2026-11-21T07:19:42.005769Z", "2026-12-31T23:59:59.999999Z"] {
            let ids: Vec<_> = (0..200_000)
                .map(|n| ChangeId::task(at(start), n).unwrap())
                .collect();
            assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
            assert!(ids.iter().all(|id| ChangeId::parse(id.as_str()).is_ok()));
        }
    }

    #[test]
    fn an_id_tells_the_time_of_its_job() {
        let time: jiff::Timestamp = "2024-01-31T23:33:37.5Z".parse().unwrap();
        let id = ChangeId::task(time, 7).unwrap();
        assert_eq!(id.time().unwrap().to_string(), "2024-01-31T23:33:37Z");
        assert_eq!(ChangeId::parse("Azzzzzzzzzzz").unwrap().time(), None);
    }

    #[test]
    fn malformed_ids_are_refused() {
        for text in ["", "A", "B6BL7Jg00000", "A6BL7Jg0000é", "A6BL7Jg000000"] {
            assert!(ChangeId::parse(text).is_err(), "{text}");
        }
    }
}
