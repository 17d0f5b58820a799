//! Errors of filters.

use minijinja::{Error as JinjaError, ErrorKind};

/// What a filter or function gives.
pub(super) type Result<T> = std::result::Result<T, JinjaError>;

/// An error of a filter.
pub(super) fn filter_error(problem: impl Into<String>) -> JinjaError {
    JinjaError::new(ErrorKind::InvalidOperation, problem.into())
}
