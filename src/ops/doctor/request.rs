//! The request for the checks.

use crate::session::SessionOptions;

/// The options of the command.
#[derive(Debug, Clone, Default)]
pub struct DoctorRequest {
    pub session: SessionOptions,
    /// Whether servers and hosts are asked, too.
    pub online: bool,
    /// Whether the next job is to commit its record.
    pub commit: bool,
}
