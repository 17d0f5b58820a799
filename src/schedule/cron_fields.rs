//! The fields of a cron line as lists of numbers, for programs with other rules of writing them.

use super::cron_line::CronLine;

/// The names of months and weekdays, from their first number on.
const MONTHS: [&str; 12] = [
    "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// The fields of a cron line without the rules that only some programs have (`L`, `W`, `#`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CronFields {
    pub(super) minutes: Vec<u8>,
    pub(super) hours: Vec<u8>,
    pub(super) days: Vec<u8>,
    pub(super) months: Vec<u8>,
    /// The days of the week from 0, which is Sunday, to 6.
    pub(super) weekdays: Vec<u8>,
    pub(super) rule: DayRule,
}

/// The days that fit the day of the month and the day of the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DayRule {
    Any,
    Days,
    Weekdays,
    /// A day that fits either of both.
    Either,
    /// Both fit.
    Both,
}

impl CronFields {
    /// Reads a cron line. None if it has a rule that lists of numbers cannot express.
    pub(super) fn of(line: &CronLine) -> Option<Self> {
        let text = line.to_string().to_ascii_uppercase();
        let text = match &*text {
            "@YEARLY" | "@ANNUALLY" => "0 0 1 1 *",
            "@MONTHLY" => "0 0 1 * *",
            "@WEEKLY" => "0 0 * * 0",
            "@DAILY" | "@MIDNIGHT" => "0 0 * * *",
            "@HOURLY" => "0 * * * *",
            other => other,
        };
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields[..] else {
            return None;
        };
        let (weekday, is_both) = match weekday.strip_prefix('+') {
            Some(rest) => (rest, true),
            None => (weekday, false),
        };
        let is_star = |field: &str| matches!(field, "*" | "?");
        let mut weekdays = numbers(weekday, 0, 7, &WEEKDAYS)?;
        for number in &mut weekdays {
            *number %= 7;
        }
        weekdays.sort_unstable();
        weekdays.dedup();
        Some(Self {
            minutes: numbers(minute, 0, 59, &[])?,
            hours: numbers(hour, 0, 23, &[])?,
            days: numbers(day, 1, 31, &[])?,
            months: numbers(month, 1, 12, &MONTHS)?,
            weekdays,
            rule: match (is_star(day), is_star(weekday)) {
                (true, true) => DayRule::Any,
                (false, true) => DayRule::Days,
                (true, false) => DayRule::Weekdays,
                (false, false) if is_both => DayRule::Both,
                (false, false) => DayRule::Either,
            },
        })
    }
}

/// Returns the numbers of a field in their order. None if the field has another form.
fn numbers(field: &str, min: u8, max: u8, names: &[&str]) -> Option<Vec<u8>> {
    let mut numbers = Vec::new();
    for part in field.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, step.parse().ok().filter(|step| *step > 0)?),
            None => (part, 1),
        };
        let number = |text: &str| {
            let named = names.iter().position(|name| *name == text);
            let named = named.and_then(|place| u8::try_from(place).ok());
            let number = match named {
                Some(place) => place + min,
                None => text.parse().ok()?,
            };
            (min..=max).contains(&number).then_some(number)
        };
        let (first, last) = match range.split_once('-') {
            _ if matches!(range, "*" | "?") => (min, max),
            Some((first, last)) => (number(first)?, number(last)?),
            None if part.contains('/') => return None,
            None => (number(range)?, number(range)?),
        };
        numbers.extend((first..=last).step_by(step));
    }
    numbers.sort_unstable();
    numbers.dedup();
    (!numbers.is_empty()).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use jiff::civil::DateTime;

    use super::*;

    fn fields(text: &str) -> Option<CronFields> {
        CronFields::of(&CronLine::parse(text).unwrap())
    }

    impl CronFields {
        fn fits(&self, time: DateTime) -> bool {
            let has = |list: &[u8], number: i8| list.contains(&u8::try_from(number).unwrap());
            let day = has(&self.days, time.day());
            let weekday = has(&self.weekdays, time.weekday().to_sunday_zero_offset());
            let is_day = match self.rule {
                DayRule::Any => true,
                DayRule::Days => day,
                DayRule::Weekdays => weekday,
                DayRule::Either => day || weekday,
                DayRule::Both => day && weekday,
            };
            is_day
                && has(&self.months, time.month())
                && has(&self.hours, time.hour())
                && has(&self.minutes, time.minute())
        }
    }

    #[test]
    fn lists_of_numbers_mean_the_same_times_as_the_line() {
        for text in [
            "*/15 * * * *",
            "0 6 * * mon-fri",
            "30 4 1,15 * 5",
            "0 */5 */10 * *",
            "7 3 * feb sun",
            "0 12 * * 5-7",
            "5-20/5 1,3 31 * *",
            "0 0 13 * +fri",
            "@weekly",
            "0 0 */2 * 1",
        ] {
            let line = CronLine::parse(text).unwrap();
            let fields = fields(text).unwrap();
            let mut time: DateTime = "2026-02-20T23:59:00".parse().unwrap();
            for _ in 0..30 {
                let next = line.next(time).unwrap();
                assert!(fields.fits(next), "{text}: {next} is missing");
                // No time in between fits, looked at for up to two days.
                let mut between = time.checked_add(jiff::Span::new().minutes(1)).unwrap();
                for _ in 0..2880 {
                    if between >= next {
                        break;
                    }
                    assert!(!fields.fits(between), "{text}: {between} is too much");
                    between = between.checked_add(jiff::Span::new().minutes(1)).unwrap();
                }
                time = next;
            }
        }
    }

    #[test]
    fn rules_that_are_no_lists_are_not_converted() {
        for text in ["0 0 L * *", "0 0 15W * *", "0 0 * * 5#2", "0 0 * * 5L"] {
            assert_eq!(fields(text), None, "{text}");
        }
    }
}
