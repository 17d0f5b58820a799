//! The result and error types of filters, tests and template functions.

use minijinja::{Error as JinjaError, ErrorKind};

/// The result of a filter or template function.
pub(super) type Result<T> = std::result::Result<T, JinjaError>;

/// Creates an engine error with the message of a filter.
pub(super) fn filter_error(problem: impl Into<String>) -> JinjaError {
    JinjaError::new(ErrorKind::InvalidOperation, problem.into())
}
