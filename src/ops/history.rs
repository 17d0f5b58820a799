//! Implements `unfurl history`: lists the jobs of an ensemble, or the tasks of one job. Takes no lock, writes
//! nothing, and works even if the model is invalid.

use super::failure::{Failure, FailureKind};
use crate::ensemble::history::{self, History, Selection};
use crate::session::{self, SessionOptions};

/// Reads the history of the selected ensemble.
pub fn history(options: &SessionOptions, selection: &Selection) -> Result<History, Failure> {
    let located = session::find(options)?.located;
    history::history(&located.manifest, located.folder(), selection).map_err(|error| {
        let hint = error.hint();
        Failure::new(FailureKind::Refused, error, hint)
    })
}
