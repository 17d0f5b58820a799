//! The processes that claim due times.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::schedule::{Claim, ScheduleSpec};
use crate::system::process_identity::{ProcessIdentity, ProcessState};
use crate::system::survivors;

/// The time after the time limit of a run at which a process of another machine counts as dead.
const SLACK: Duration = Duration::from_mins(5);
/// The time that the commands of a dead process get to end.
const END_GRACE: Duration = Duration::from_secs(3);

/// Returns a claim of this process.
pub(super) fn new_claim(due: Timestamp, attempt: u32, at: Timestamp, is_manual: bool) -> Claim {
    let owner = serde_json::to_string(&ProcessIdentity::of_this_process());
    Claim {
        due,
        at,
        run: ulid::Ulid::generate().to_string().into(),
        attempt,
        is_manual,
        owner: owner.unwrap_or_default().into(),
    }
}

/// Returns true unless the process of a claim has provably ended. `own` are the runs of this process.
pub(super) fn is_alive(
    claim: &Claim,
    spec: &ScheduleSpec,
    own: &[Arc<str>],
    folder: &Path,
    now: Timestamp,
) -> bool {
    let Ok(identity) = serde_json::from_str::<ProcessIdentity>(&claim.owner) else {
        return false;
    };
    if identity == ProcessIdentity::of_this_process() {
        return own.contains(&claim.run);
    }
    match identity.state(folder) {
        ProcessState::Running => true,
        ProcessState::Ended => false,
        ProcessState::Unknown => {
            let age = now.duration_since(claim.at);
            age.is_negative() || age.unsigned_abs() < spec.time_limit + SLACK
        }
    }
}

/// Ends the commands that the dead process of a run has left.
pub(super) fn end_leftovers(run: &str) {
    survivors::terminate(run, &|_| false, END_GRACE);
}
