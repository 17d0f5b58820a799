//! [`OnDrift`]: the reaction to drift.

use crate::name::EnumWords;

/// The reaction to the drift of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnDrift {
    /// Report it.
    #[default]
    Report,
    /// Report it, and show the command that repairs it.
    Ask,
    /// Repair it without a question.
    Repair,
}

impl EnumWords for OnDrift {
    const WORDS: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Report, "report", "Report the drift"),
        (
            Self::Ask,
            "ask",
            "Report the drift with the command that repairs it",
        ),
        (
            Self::Repair,
            "repair",
            "Repair the drift without a question",
        ),
    ];
}
