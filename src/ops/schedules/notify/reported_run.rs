//! The result of a run as decisions about notices need it.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value as Json, json};

use super::desk::NoticeDesk;
use crate::schedule::{
    Claim, EnsembleOutcome, EnsembleReport, EnsembleResult, Entry, NoticedRun, Outcome, RunEnd,
    RunOutcome, RunReport, ScheduleLog, ScheduleSpec,
};

/// The age of a run, in minutes, up to which the first decision of a schedule is about that run.
const RECENT_MINUTES: i64 = 60;

/// Returns what is decided about after a run. None after a run that did nothing.
pub(in crate::ops::schedules) fn noticed_run(report: &RunReport) -> Option<NoticedRun> {
    Some(NoticedRun {
        schedule: Arc::clone(&report.schedule),
        due: report.due,
        at: report.ended,
        outcome: outcome(report.outcome, &report.reason)?,
        ensembles: report.ensembles.iter().flat_map(answers).collect(),
    })
}

/// Returns what is decided about after a run that its process did not end.
fn unfinished_run(schedule: &Arc<str>, claim: &Claim, end: &RunEnd) -> Option<NoticedRun> {
    Some(NoticedRun {
        schedule: Arc::clone(schedule),
        due: claim.due,
        at: end.at,
        outcome: outcome(end.outcome, &end.reason)?,
        ensembles: Vec::new(),
    })
}

fn outcome(outcome: Outcome, reason: &Arc<str>) -> Option<RunOutcome> {
    match outcome {
        Outcome::Done => Some(RunOutcome::Done),
        Outcome::Failed => Some(RunOutcome::Failed(Arc::clone(reason))),
        Outcome::CutOff => Some(RunOutcome::CutOff(Arc::clone(reason))),
        Outcome::Skipped => None,
    }
}

/// Returns the answers of a command. Hosts on which states would change something count as one finding.
fn answers(result: &EnsembleResult) -> Vec<EnsembleReport> {
    let has_answers = result.document.get("ensembles").is_some();
    let is_state_test = !has_answers && !result.document.is_null();
    if is_state_test
        && matches!(
            result.outcome,
            EnsembleOutcome::Drifted | EnsembleOutcome::Ok
        )
    {
        return EnsembleReport::read(&answer_of_state_test(result));
    }
    EnsembleReport::read(&result.document)
}

fn answer_of_state_test(result: &EnsembleResult) -> Json {
    let finding = json!({
        "id": "state-test",
        "kind": "outside",
        "attribute": "states",
        "to": "at least one state would change something",
        "cause": "state-test",
    });
    let findings = match result.outcome {
        EnsembleOutcome::Drifted => vec![finding],
        _ => Vec::new(),
    };
    json!({ "ensembles": [{ "name": &*result.name, "findings": findings }] })
}

/// Returns the last run if nothing was decided about it, because its process ended before. The id of the run comes first.
pub(in crate::ops::schedules) fn missed_run(
    desk: &NoticeDesk,
    spec: &ScheduleSpec,
    log: &ScheduleLog,
    now: Timestamp,
) -> Option<(Arc<str>, NoticedRun)> {
    let (claim, end) = log.entries.iter().rev().find_map(|entry| match entry {
        Entry::Run(claim, Some(end)) => Some((claim, end)),
        _ => None,
    })?;
    // Only the details of a run that failed are in the log. The next run looks again at the others.
    if !matches!(end.outcome, Outcome::CutOff | Outcome::Failed) {
        return None;
    }
    let is_later = match desk.last_run(&spec.name) {
        // Ids of runs are sorted as time is.
        Some(last) => *claim.run > *last,
        None => now.duration_since(end.at).as_mins() < RECENT_MINUTES,
    };
    let run = unfinished_run(&spec.name, claim, end).filter(|_| is_later)?;
    Some((Arc::clone(&claim.run), run))
}
