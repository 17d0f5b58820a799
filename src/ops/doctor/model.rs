//! Checks that the ensemble is found, loads, and could be planned.

use super::check::{Check, CheckState, DoctorReport};
use super::subject::Subject;
use super::trust::trust_command;
use crate::diagnostic::{Diagnostic, Diagnostics, Severity, Sources};
use crate::session::LoadErrorKind;

/// The maximum number of problems of the files that are listed.
const MAX_PROBLEMS: usize = 20;

pub(super) fn check(subject: &Subject<'_>, report: &mut DoctorReport) {
    let found = match &subject.found {
        Ok(found) => found,
        Err(error) => {
            let problems = &error.problems;
            if error.kind == LoadErrorKind::NoEnsemble {
                let message = problems.first_message();
                let none = Check::note("ensemble", "ensemble", message);
                report.push(none.fix("unfurl init hi --template hello"));
            } else {
                list("ensemble", problems, &error.sources, subject, report);
            }
            return;
        }
    };
    let manifest = found.located.manifest.display().to_string();
    report.push(Check::ok("ensemble", "ensemble", manifest));
    match &subject.loaded {
        Some(Err(error)) => {
            let warnings = &found.located.warnings;
            list("project", warnings, &found.sources, subject, report);
            list("model", &error.problems, &error.sources, subject, report);
        }
        Some(Ok(loaded)) => {
            let session = &loaded.session;
            let errors = report.count(CheckState::Error);
            let lists = [("model", &loaded.warnings), ("plan", &loaded.plan_problems)];
            for (id, problems) in lists {
                list(id, problems, &session.sources, subject, report);
            }
            if report.count(CheckState::Error) == errors {
                let templates = loaded.topology.template().nodes.len();
                let message = format!("the files have no errors; node templates: {templates}");
                report.push(Check::ok("model", "model", message));
            }
        }
        None => {}
    }
}

/// Adds the problems of files, each with its place.
fn list(
    id: &'static str,
    problems: &Diagnostics,
    sources: &Sources,
    subject: &Subject<'_>,
    report: &mut DoctorReport,
) {
    for problem in problems.iter().take(MAX_PROBLEMS) {
        report.push(of_diagnostic(id, problem, sources, subject));
    }
    if problems.len() > MAX_PROBLEMS {
        let more = problems.len() - MAX_PROBLEMS;
        let message = format!("the files have {more} more problems");
        let state = state_of(
            problems
                .iter()
                .skip(MAX_PROBLEMS)
                .map(|it| it.severity)
                .max(),
        );
        let rest = Check::new(id, state, id, message);
        report.push(rest.fix(subject.command("validate")));
    }
}

fn state_of(severity: Option<Severity>) -> CheckState {
    match severity {
        Some(Severity::Error) => CheckState::Error,
        Some(Severity::Warning) => CheckState::Warning,
        Some(Severity::Note) | None => CheckState::Note,
    }
}

fn of_diagnostic(
    id: &'static str,
    problem: &Diagnostic,
    sources: &Sources,
    subject: &Subject<'_>,
) -> Check {
    let state = state_of(Some(problem.severity));
    let check = Check::new(id, state, id, &problem.message).hint(problem.help.clone());
    let place = problem.span().and_then(|span| sources.position(span));
    if let (Some(help), Ok(found)) = (&problem.help, &subject.found)
        && help.contains("`unfurl trust FOLDER`")
    {
        return Check { place, ..check }.fix(trust_command(&found.located));
    }
    // The command that shows the text at fault helps most where a person must edit it.
    let fix = check.fix.clone();
    let fix = fix.or_else(|| place.is_some().then(|| subject.command("validate")));
    Check {
        fix,
        place,
        ..check
    }
}
