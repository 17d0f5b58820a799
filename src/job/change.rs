//! What a comparison with the last record of an operation has shown.

/// What a comparison with the last record of an operation has shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum DetectedChange {
    /// Nothing that was read has changed, as far as is on record.
    #[default]
    None,
    /// What is secret cannot be compared, for the key of its digest is not here. What is not
    /// secret has not changed.
    Unknown,
    /// What these keys of the record stand for is not there any more, or cannot be evaluated.
    Keys(Vec<String>),
    /// These inputs are new, and what was read before makes use of them.
    Inputs(Vec<String>),
    /// A value is another one.
    Values,
    /// A secret is another one.
    Secrets,
}

impl DetectedChange {
    /// Whether the operation must run again.
    pub fn is_change(&self) -> bool {
        !matches!(self, Self::None | Self::Unknown)
    }
}
