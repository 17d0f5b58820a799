//! Checks an ensemble and reports every problem.

use super::failure::{Failure, FailureKind};
use super::session::{self, SessionOptions};
use crate::diagnostic::{Diagnostic, Diagnostics, Sources};
use crate::plan;

/// Checks an ensemble; gives the warnings that it deserves, or fails with all problems.
pub fn validate(options: &SessionOptions) -> Result<(Diagnostics, Sources), Failure> {
    let found = session::find(options)?;
    let refused = |failure| Failure {
        kind: FailureKind::Refused,
        ..failure
    };
    let options = SessionOptions {
        check_unused: true,
        ..options.clone()
    };
    let mut session = session::load(found, &options).map_err(refused)?;
    let topology = session.topology().map_err(refused)?;
    plan::refuse_cycles(&topology).map_err(|error| {
        let sources = session.sources.clone();
        Failure::with_places(FailureKind::Refused, Diagnostic::from(error), sources)
    })?;
    Ok((session.warnings, session.sources))
}
