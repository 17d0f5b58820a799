//! Value parsers and output formats of the command line.
//!
//! The enums list the words that `--output` accepts. [`one_of`] lets clap parse enums of lower
//! layers, and [`duration`] parses times such as `5m`.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

use crate::name::EnumWords;
use crate::system::fs::is_dir;
use crate::text::parse_size;
use crate::value::seconds;

/// Returns a clap value parser for the words of an enum that a lower layer defines.
pub(in crate::cli) fn one_of<T: EnumWords>() -> impl TypedValueParser<Value = T> {
    let words = T::WORDS.iter();
    let words = words.map(|(_, word, help)| PossibleValue::new(*word).help(*help));
    PossibleValuesParser::new(words).try_map(|word| T::parse(&word).ok_or("unknown value"))
}

/// The formats in which a command prints its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(in crate::cli) enum OutputFormat {
    /// Text for people
    #[default]
    Text,
    /// JSON for programs
    Json,
    /// No output
    None,
}

/// The wording of plans, summaries and the status for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(in crate::cli) enum TextFormat {
    /// The texts of this program
    #[default]
    Default,
    /// The texts of Unfurl, for programs that read them
    Unfurl,
}

/// The option that selects the wording of texts.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(in crate::cli) struct TextFormatArg {
    /// The wording of the plan, the summary and the status
    #[arg(
        long = "format",
        env = "UNFURL_FORMAT",
        value_enum,
        default_value = "default",
        value_name = "FORMAT"
    )]
    pub(in crate::cli) format: TextFormat,
}

impl TextFormatArg {
    /// Returns true if the texts of Unfurl are wanted.
    pub(in crate::cli) fn is_unfurl(self) -> bool {
        self.format == TextFormat::Unfurl
    }
}

/// The formats in which a run over hosts shows its progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(in crate::cli) enum HostOutput {
    /// Text for people
    #[default]
    Text,
    /// JSON for programs
    Json,
}

/// The formats in which `validate` prints the problems it found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum ProblemFormat {
    /// Text for people
    Text,
    /// JSON for programs
    Json,
    /// SARIF 2.1.0 for code hosts and editors
    Sarif,
    /// No output
    None,
}

/// The longest accepted time: one year. Longer values are cut to it.
const MAX_DURATION: Duration = Duration::from_hours(24 * 365);

/// Parses a number of seconds, or a number with the unit `ms`, `s`, `m` or `h`.
pub(in crate::cli) fn duration(text: &str) -> Result<Duration, String> {
    let seconds = seconds(text).map_err(|error| error.to_string())?;
    Ok(Duration::try_from_secs_f64(seconds).map_or(MAX_DURATION, |time| time.min(MAX_DURATION)))
}

/// Parses a size in bytes for an option.
pub(in crate::cli) fn byte_size(text: &str) -> Result<u64, String> {
    parse_size(text)
        .ok_or_else(|| "write a number of bytes, or `64K`, `10M`, `2G`, `1T`".to_owned())
}

/// Parses the path of a folder that must exist. An empty path means none.
pub(in crate::cli) fn existing_folder(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    if text.is_empty() || is_dir(&path) {
        Ok(path)
    } else {
        Err("the folder does not exist".to_owned())
    }
}

/// Parses a limit in bytes, which must be more than 0.
pub(in crate::cli) fn limit_size(text: &str) -> Result<usize, String> {
    match byte_size(text)? {
        0 => Err("a limit of size must be more than 0".to_owned()),
        size => Ok(usize::try_from(size).unwrap_or(usize::MAX)),
    }
}

/// Parses a duration like [`duration`], but refuses 0.
pub(in crate::cli) fn positive_duration(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err("a limit of time must be more than 0".to_owned()),
        time => Ok(time),
    }
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
