//! The forms in which answers are printed.

use clap::ValueEnum;

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
