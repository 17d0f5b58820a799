//! The forms in which answers are printed.

use std::time::Duration;

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::name::EnumWords;
use crate::value::seconds;

/// Reads one of the words of an enum that lower layers define.
pub(in crate::cli) fn one_of<T: EnumWords>() -> impl TypedValueParser<Value = T> {
    let words = T::WORDS.iter();
    let words = words.map(|(_, word, help)| PossibleValue::new(*word).help(*help));
    PossibleValuesParser::new(words).try_map(|word| T::parse(&word).ok_or("an unknown word"))
}

/// How a result is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(in crate::cli) enum OutputFormat {
    /// For people
    #[default]
    Text,
    /// For machines
    Json,
    /// Not at all
    None,
}

/// How what runs over hosts is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(in crate::cli) enum HostOutput {
    /// For people
    #[default]
    Text,
    /// For machines
    Json,
}

/// How the problems of a check are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum ProblemFormat {
    /// For people
    Text,
    /// For machines
    Json,
    /// For code hosts and editors: SARIF 2.1.0
    Sarif,
    /// Not at all
    None,
}

/// The longest time that can be asked for: a year.
const MAX_DURATION: Duration = Duration::from_hours(24 * 365);

/// A number of seconds, or one with a unit: `ms`, `s`, `m` or `h`.
pub(in crate::cli) fn duration(text: &str) -> Result<Duration, String> {
    let seconds = seconds(text).map_err(|error| error.to_string())?;
    Ok(Duration::try_from_secs_f64(seconds).map_or(MAX_DURATION, |time| time.min(MAX_DURATION)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_a_unit_or_is_in_seconds() {
        let ms = |text| duration(text).map(|time| time.as_millis());
        assert_eq!(ms("10"), Ok(10_000));
        assert_eq!(ms(" 1.5s "), Ok(1_500));
        assert_eq!(ms("250ms"), Ok(250));
        assert_eq!(ms("5m"), Ok(300_000));
        assert_eq!(ms("0"), Ok(0));
        assert_eq!(duration("1e300h"), Ok(MAX_DURATION));
        for wrong in ["", "s", "-1", "5 m", "5d", "nan", "inf", "1:30"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
