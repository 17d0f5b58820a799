//! Runs all checks in the order in which their results are shown.

use super::check::DoctorReport;
use super::request::DoctorRequest;
use super::subject::Subject;
use super::{
    clock, disk, environment, git, home, hosts, journals, limits, lock, model, permissions,
    programs, remote_lock, repositories, trust,
};

/// The checks. Each adds its results to the report.
const CHECKS: [fn(&Subject<'_>, &mut DoctorReport); 15] = [
    model::check,
    environment::check,
    home::check,
    trust::check,
    programs::check,
    hosts::check,
    repositories::check,
    git::check,
    remote_lock::check,
    lock::check,
    journals::check,
    clock::check,
    permissions::check,
    disk::check,
    limits::check,
];

/// Checks the ensemble that the options select, or only this machine if there is none.
pub fn examine(request: &DoctorRequest) -> DoctorReport {
    let subject = Subject::find(request);
    let mut report = DoctorReport::new(subject.has_ensemble());
    for check in CHECKS {
        check(&subject, &mut report);
    }
    report
}
