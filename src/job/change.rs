//! The result of change detection for an operation.

/// The result of comparing an operation's inputs with its last record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum DetectedChange {
    /// No value that the operation read has changed.
    #[default]
    None,
    /// Secrets cannot be compared because the key of their digest is missing. Other values have not
    /// changed.
    Unknown,
    /// The values of these record keys no longer exist or cannot be evaluated.
    Keys(Vec<String>),
    /// These inputs are new, and values that were read before now use them.
    Inputs(Vec<String>),
    /// A value that is not secret has changed.
    Values,
    /// A value that is secret has changed.
    Secrets,
}

impl DetectedChange {
    /// Whether the operation must run again.
    pub fn is_change(&self) -> bool {
        !matches!(self, Self::None | Self::Unknown)
    }
}
