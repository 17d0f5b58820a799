//! The five fields of a cron line. A wrong field is named.

use std::fmt::{Display, Formatter};
use std::sync::Arc;

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::civil::DateTime;

/// The names of the fields in their order.
const FIELDS: [&str; 5] = [
    "minute",
    "hour",
    "day of the month",
    "month",
    "day of the week",
];

/// The bounds and an example of each field.
const HINTS: [&str; 5] = [
    "a minute is 0-59, `*/15` or a list such as `0,30`",
    "an hour is 0-23, `*/6` or a range such as `8-18`",
    "a day of the month is 1-31 or `L` for the last",
    "a month is 1-12 or jan-dec",
    "a day of the week is 0-7 (Sunday is 0 and 7) or mon-sun",
];

/// A cron line that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CronLine {
    text: Arc<str>,
    cron: Cron,
}

/// The reason why a text is no cron line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CronLineError {
    #[error("the cron line `{line}` has {found} fields, not five")]
    Fields { line: String, found: usize },
    /// The field is wrong by itself.
    #[error("the {name} `{text}` of the cron line is wrong")]
    Field {
        name: &'static str,
        text: String,
        hint: &'static str,
    },
    #[error("`{0}` is no cron line")]
    Nickname(String),
    /// No day has all of these fields, such as 30 February.
    #[error("the cron line `{0}` is never due")]
    Never(String),
}

impl CronLineError {
    /// Returns the sentence about what to write instead.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Field { hint, .. } => hint,
            Self::Never(_) => "no day fits the month, the day of the month and the day of the week",
            Self::Fields { .. } | Self::Nickname(_) => {
                "write minute, hour, day of the month, month and day of the week, as in `15 6 * * mon-fri`, or `@daily`"
            }
        }
    }
}

/// The aliases of cron lines.
const NICKNAMES: [&str; 7] = [
    "@yearly",
    "@annually",
    "@monthly",
    "@weekly",
    "@daily",
    "@midnight",
    "@hourly",
];

impl CronLine {
    /// Reads a cron line with five fields, or an alias such as `@daily`.
    pub fn parse(text: &str) -> Result<Self, CronLineError> {
        let text = text.trim();
        let fields: Vec<&str> = text.split_whitespace().collect();
        if text.starts_with('@') {
            if !NICKNAMES.contains(&&*text.to_ascii_lowercase()) {
                return Err(CronLineError::Nickname(text.to_owned()));
            }
        } else if fields.len() != FIELDS.len() {
            return Err(CronLineError::Fields {
                line: text.to_owned(),
                found: fields.len(),
            });
        }
        let cron = parser()
            .parse(text)
            .map_err(|_| wrong_field(text, &fields))?;
        let line = Self {
            text: text.into(),
            cron,
        };
        // A start of a leap-year cycle: a line that is due on 29 February is due within eight years.
        let start = DateTime::constant(2000, 1, 1, 0, 0, 0, 0);
        match line.next(start) {
            Some(_) => Ok(line),
            None => Err(CronLineError::Never(text.to_owned())),
        }
    }

    /// Returns the first time on the wall clock after another at which the line is due.
    pub fn next(&self, after: DateTime) -> Option<DateTime> {
        self.cron.find_next_occurrence(&after, false).ok()
    }
}

impl Display for CronLine {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

fn parser() -> CronParser {
    CronParser::builder()
        .seconds(Seconds::Disallowed)
        .year(Year::Disallowed)
        .build()
}

/// Returns the first field that is wrong by itself.
fn wrong_field(text: &str, fields: &[&str]) -> CronLineError {
    for (place, field) in fields.iter().enumerate().take(FIELDS.len()) {
        let mut alone = ["*"; FIELDS.len()];
        alone[place] = field;
        if parser().parse(&alone.join(" ")).is_err() {
            return CronLineError::Field {
                name: FIELDS[place],
                text: (*field).to_owned(),
                hint: HINTS[place],
            };
        }
    }
    CronLineError::Nickname(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_field_is_named() {
        let message = |text: &str| CronLine::parse(text).unwrap_err().to_string();
        assert_eq!(
            message("61 * * * *"),
            "the minute `61` of the cron line is wrong"
        );
        assert_eq!(
            message("0 24 * * *"),
            "the hour `24` of the cron line is wrong"
        );
        assert_eq!(
            message("0 0 32 * *"),
            "the day of the month `32` of the cron line is wrong"
        );
        assert_eq!(
            message("0 0 * foo *"),
            "the month `foo` of the cron line is wrong"
        );
        assert_eq!(
            message("0 0 * * moon"),
            "the day of the week `moon` of the cron line is wrong"
        );
        assert_eq!(
            message("0 0 * *"),
            "the cron line `0 0 * *` has 4 fields, not five"
        );
        assert_eq!(
            message("0 0 0 * * *"),
            "the cron line `0 0 0 * * *` has 6 fields, not five"
        );
        assert_eq!(message(""), "the cron line `` has 0 fields, not five");
        assert_eq!(message("@often"), "`@often` is no cron line");
        assert_eq!(
            message("0 0 30 2 *"),
            "the cron line `0 0 30 2 *` is never due"
        );
        for text in ["*/15 8-18 * * mon-fri", "@daily", "0 0 29 2 *", "0 6 L * *"] {
            assert!(CronLine::parse(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn no_text_panics() {
        for text in [
            "* * * * *#",
            "@",
            "0-0/0 * * * *",
            "é é é é é",
            "99999999999999 * * * *",
            "? ? ? ? ?",
            "L L L L L",
        ] {
            drop(CronLine::parse(text));
        }
    }
}
