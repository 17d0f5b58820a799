//! Checks whether results of earlier jobs are missing in the record.

use super::check::{Check, DoctorReport};
use super::subject::Subject;
use crate::ensemble::RescueFile;
use crate::ops::recover::notice_of;

pub(super) fn check(subject: &Subject<'_>, report: &mut DoctorReport) {
    let Ok(found) = &subject.found else {
        return;
    };
    let before = report.checks.len();
    if let Some(message) = notice_of(found) {
        let check = Check::warning("journal", "record", message);
        report.push(check.fix(subject.command("recover")));
    }
    for (path, rescue) in RescueFile::list_for(&found.located.manifest) {
        let (job, path) = (&rescue.job, path.display());
        let message = format!("the record of job {job} could not be saved; `{path}` keeps it");
        let check = Check::warning("journal", "record", message);
        report.push(check.fix(subject.command("recover")));
    }
    let Some(loaded) = subject.ensemble().filter(|_| report.checks.len() == before) else {
        return;
    };
    let message = match loaded.session.last_job() {
        Some(job) => format!("complete up to job {job}"),
        None => "no job has run yet".to_owned(),
    };
    report.push(Check::ok("journal", "record", message));
}
