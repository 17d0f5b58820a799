//! The way in which a service is kept, as results tell it.

use super::way::{Status, Way};
use crate::converge::Outcome;

/// A plain process is said to be one: no init looks after it.
pub(super) fn process_note(status: &Status) -> &'static str {
    match status.way {
        Some(Way::Process) => " (as a plain process, no init runs here)",
        _ => "",
    }
}

/// Adds the way to an outcome, if it is not the usual one.
pub(super) fn with_way(mut outcome: Outcome, status: &Status) -> Outcome {
    if let Some(way) = status.way.filter(|way| *way != Way::Systemd) {
        outcome.more.insert("way".into(), way.name().into());
    }
    outcome
}
