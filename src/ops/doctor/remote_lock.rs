//! Checks the remote lock on a git-lfs server, if the environment configures one.

use super::check::{Check, CheckState, DoctorReport};
use super::subject::Subject;
use crate::lock::{LockMode, remote_lock_status};
use crate::ops::remote_lock;

pub(super) fn check(subject: &Subject<'_>, report: &mut DoctorReport) {
    let (Ok(found), Some(loaded)) = (&subject.found, subject.ensemble()) else {
        return;
    };
    let environment = &loaded.session.environment;
    let mode = environment.remote_lock.mode;
    if mode == LockMode::No {
        return;
    }
    let state = if mode == LockMode::Require {
        CheckState::Error
    } else {
        CheckState::Warning
    };
    let location = match remote_lock::location(found, &loaded.session.manifest, environment) {
        Ok(location) => location,
        Err(error) => {
            let hint = error.hint().to_owned();
            let check = Check::new("remote-lock", state, "remote lock", &error);
            report.push(check.fix("git remote add origin URL").hint(Some(hint)));
            return;
        }
    };
    let (name, server) = location.name_and_server();
    let message = format!("`{name}` on `{server}`");
    if !subject.request.online {
        let message = format!("{message}; not asked (`--online` does)");
        report.push(Check::ok("remote-lock", "remote lock", message));
        return;
    }
    let status = remote_lock_status(Ok(location));
    let message = status.describe();
    let lock = |state| Check::new("remote-lock", state, "remote lock", &message);
    report.push(match &status.holder {
        Ok(None) => lock(CheckState::Ok),
        Ok(Some(_)) if status.is_ours => lock(CheckState::Note).fix(subject.command("lock break")),
        Ok(Some(_)) => lock(CheckState::Warning).fix(subject.command("lock list")),
        Err(_) => lock(state).fix(subject.command("lock list")),
    });
}
