//! The run of a schedule: the choice of its ensembles, and the command for each.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use super::child::{self, CommandContext};
use super::ensembles::{KnownEnsemble, candidates, matching};
use super::project_schedules::ProjectSchedules;
use crate::schedule::{
    Claim, EnsembleOutcome, EnsembleResult, Outcome, Row, RunEnd, RunReport, ScheduleLog,
    ScheduleSpec, outcome_of, select,
};
use crate::system::clock;

/// Runs a claimed due time to its end. `stop` ends the run early: it then counts as cut off.
pub(super) fn perform(
    loaded: &ProjectSchedules,
    spec: &ScheduleSpec,
    claim: &Claim,
    stop: &Arc<AtomicBool>,
) -> RunReport {
    let cx = CommandContext {
        root: &loaded.project.root,
        globals: &loaded.globals,
        run: &claim.run,
        stop,
    };
    let (results, left_out) = if spec.action.is_per_ensemble() {
        over_ensembles(loaded, spec, &cx)
    } else {
        (vec![child::run(spec, None, spec.time_limit, &cx)], 0)
    };
    let (mut outcome, mut reason) = outcome_of(&results, left_out);
    let is_incomplete = results
        .iter()
        .any(|it| it.outcome == EnsembleOutcome::NotRun);
    if stop.load(Ordering::SeqCst) && is_incomplete {
        (outcome, reason) = (Outcome::CutOff, format!("a signal ended the run: {reason}"));
    }
    RunReport {
        schedule: Arc::clone(&spec.name),
        due: claim.due,
        started: claim.at,
        ended: clock::now(),
        outcome,
        reason: reason.into(),
        ensembles: results,
    }
}

/// Returns the row for the end of a run. Empty if the log has the end already.
pub(super) fn end_rows(log: &ScheduleLog, claim: &Claim, report: &RunReport) -> Vec<Row> {
    let is_open = log.running().any(|open| open.run == claim.run);
    let end = is_open.then(|| RunEnd {
        run: Arc::clone(&claim.run),
        at: report.ended,
        outcome: report.outcome,
        reason: Arc::clone(&report.reason),
        details: report.details().to_string().into(),
    });
    end.into_iter().map(Row::End).collect()
}

/// Runs the command for each chosen ensemble. Returns the results and the number of recently deployed ensembles.
fn over_ensembles(
    loaded: &ProjectSchedules,
    spec: &ScheduleSpec,
    cx: &CommandContext<'_>,
) -> (Vec<EnsembleResult>, usize) {
    let deadline = Instant::now() + spec.time_limit;
    let matched = matching(spec, &loaded.project);
    let known = candidates(&matched.ensembles, spec, &loaded.state);
    let selection = select(
        &known,
        clock::now(),
        spec.at_most,
        spec.unless_deployed_within,
    );
    let failed = |(pattern, text): (Arc<str>, String)| EnsembleResult {
        name: pattern,
        outcome: EnsembleOutcome::Failed,
        exit: None,
        message: text.into(),
        document: Json::Null,
    };
    let mut results: Vec<_> = matched.unmatched.into_iter().map(failed).collect();
    let mut checked = loaded.state.checked(&spec.name);
    checked.retain(|manifest, _| {
        let mut known = matched.ensembles.iter();
        known.any(|it| it.manifest.display().to_string() == *manifest)
    });
    let limit = selection.chosen.len();
    let mut answered = 0;
    // An ensemble that is locked gives its place to the next one, so that it cannot keep others from their turn.
    for place in selection.chosen.into_iter().chain(selection.later) {
        if answered == limit {
            break;
        }
        let ensemble = &matched.ensembles[place];
        let remaining = deadline.saturating_duration_since(Instant::now());
        if remaining < Duration::from_millis(10) || cx.stop.load(Ordering::SeqCst) {
            let is_stopped = cx.stop.load(Ordering::SeqCst);
            results.push(not_run(ensemble, is_stopped));
            answered += 1;
            continue;
        }
        let result = child::run(spec, Some(ensemble), remaining, cx);
        if result.outcome == EnsembleOutcome::NotRun {
            answered += 1;
        } else if result.outcome != EnsembleOutcome::Locked {
            checked.insert(ensemble.manifest.display().to_string(), clock::now());
            answered += 1;
        }
        results.push(result);
    }
    // Without the file, the order of the next run is another one, which is no reason to fail.
    loaded.state.save_checked(&spec.name, &checked).ok();
    (results, selection.fresh.len())
}

fn not_run(ensemble: &KnownEnsemble, is_stopped: bool) -> EnsembleResult {
    let reason = if is_stopped {
        "a signal ended the run before"
    } else {
        "the time limit of the run was over before"
    };
    EnsembleResult {
        name: Arc::clone(&ensemble.name),
        outcome: EnsembleOutcome::NotRun,
        exit: None,
        message: reason.into(),
        document: Json::Null,
    }
}
