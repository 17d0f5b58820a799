//! The reason why an attempt to deliver a notice failed.

/// The reason why a notice was not delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DeliveryError {
    pub(super) message: String,
    /// True if another attempt cannot succeed.
    pub(super) is_final: bool,
}

impl DeliveryError {
    /// Creates an error after which another attempt follows.
    pub(super) fn passing(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            is_final: false,
        }
    }

    /// Creates an error that another attempt would repeat.
    pub(super) fn lasting(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            is_final: true,
        }
    }
}
