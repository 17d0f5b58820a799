//! Checks what a path names and reports every problem.

use super::failure::Failure;
use crate::session::SessionOptions;
use crate::session::validate;

pub use crate::session::validate::Checked;

/// Checks an ensemble, a project, a service template or a CSAR. Changes nothing.
pub fn validate(options: &SessionOptions) -> Result<Vec<Checked>, Failure> {
    Ok(validate::validate(options)?)
}
