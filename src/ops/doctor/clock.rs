//! Checks that the clock of this machine has not moved back since the last job.

use super::check::{Check, DoctorReport};
use super::subject::Subject;
use crate::ensemble::job_start;
use crate::system::clock;

pub(super) fn check(subject: &Subject<'_>, report: &mut DoctorReport) {
    let Some(loaded) = subject.ensemble() else {
        return;
    };
    let session = &loaded.session;
    let history = match session.history() {
        Ok(history) => history,
        Err(error) => {
            for problem in &error.problems {
                let check = Check::error("history", "record", &problem.message);
                report.push(check.hint(problem.help.clone()));
            }
            return;
        }
    };
    let last = session.last_job();
    let start = job_start(None, &history, last.as_deref(), session.manifest.base_dir());
    match start.map(|start| start.clock_lag) {
        Ok(None) => report.push(Check::ok(
            "clock",
            "clock",
            clock::now().strftime("%F %T UTC"),
        )),
        Ok(Some(lag)) => {
            let seconds = lag.as_secs();
            let message = format!("the clock is {seconds} s behind the last job on record");
            let help = "set the clock of this machine; jobs run anyway and get later ids";
            let check = Check::warning("clock", "clock", message).help(help);
            report.push(check.fix("timedatectl set-ntp true"));
        }
        Err(error) => report.push(Check::error("clock", "clock", error)),
    }
}
