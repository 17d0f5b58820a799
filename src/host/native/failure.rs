//! Which changes have failed.

use crate::host::change::Change;
use crate::host::{Exit, RunOutput};

/// How a change ended that failed; none for one that did not.
pub(crate) fn failure(change: &Change, output: &RunOutput) -> Option<Exit> {
    let exit = &output.exit;
    let is_good = match (change, exit) {
        (Change::Run(run), Exit::Code(code)) => *code == 0 || run.good_codes.contains(code),
        _ => exit.is_ok(),
    };
    (!is_good).then(|| exit.clone())
}
