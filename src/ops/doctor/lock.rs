//! Checks the local lock of the ensemble.

use super::check::{Check, CheckState, DoctorReport};
use super::subject::Subject;
use crate::lock::{Lock, LockState};

pub(super) fn check(subject: &Subject<'_>, report: &mut DoctorReport) {
    let Ok(found) = &subject.found else {
        return;
    };
    let state = match Lock::state(found.path()) {
        Ok(state) => state,
        Err(error) => {
            report.push(Check::error("lock", "lock", &error).hint(error.hint()));
            return;
        }
    };
    let (severity, help, command) = match &state {
        LockState::Free | LockState::Ours => (CheckState::Ok, None, None),
        LockState::Held { .. } => (
            CheckState::Warning,
            Some("wait for the job; `--lock-timeout 5m` lets the next job wait"),
            Some("lock list"),
        ),
        LockState::Stale(_) => (
            CheckState::Note,
            Some("the next job takes the lock over"),
            Some("lock break"),
        ),
        LockState::Unreadable | LockState::Irregular(_) => {
            (CheckState::Error, None, Some("lock break --force"))
        }
    };
    let mut check = Check::new("lock", severity, "lock", state.describe());
    check.help = help.map(str::to_owned);
    check.fix = command.map(|command| subject.command(command));
    report.push(check);
}
