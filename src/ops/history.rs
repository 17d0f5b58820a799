//! Lists the jobs of an ensemble, or the tasks of one of them. Nothing is locked and nothing is
//! written, and the model need not make sense.

use super::failure::{Failure, FailureKind};
use crate::ensemble::history::{self, History, Selection};
use crate::session::{self, SessionOptions};

/// Reads what is on record of an ensemble.
pub fn history(options: &SessionOptions, selection: &Selection) -> Result<History, Failure> {
    let located = session::find(options)?.located;
    history::history(&located.manifest, located.folder(), selection).map_err(|error| {
        let hint = error.hint();
        Failure::new(FailureKind::Refused, error, hint)
    })
}
