//! The forms in which answers are printed.

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::name::Words;

/// Reads one of the words of an enum that lower layers define.
pub(in crate::cli) fn one_of<T: Words>() -> impl TypedValueParser<Value = T> {
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
