//! The commands of `unfurl schedule`: each reads or changes the logs of schedules.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use jiff::Timestamp;

use super::figures::Figures;
use super::notify::{DeliveryTime, FailedDelivery, failed_deliveries};
use super::owner::{end_leftovers, is_alive, new_claim};
use super::project_schedules::ProjectSchedules;
use super::reporter::Reporter;
use super::run::{end_rows, perform};
use super::state_folder::StateError;
use crate::ops::failure::{Failure, FailureKind};
use crate::schedule::{
    Claim, Entry, Look, MISSED_REASON, Outcome, Row, RunReport, ScheduleLog, ScheduleSpec,
    first_row, set_paused, start_of, step,
};
use crate::system::clock;
use crate::system::signals::Interrupts;

/// The time for the delivery of notices after a run. The others stay queued.
const DELIVERY_LIMIT: Duration = Duration::from_mins(1);
/// The number of due times among which the next one is searched. Times that a clock has run ahead to are settled.
const MAX_DUE_TIMES: usize = 200_000;

/// A schedule with its state.
#[derive(Debug, Clone)]
pub struct ScheduleState {
    pub spec: ScheduleSpec,
    pub log: ScheduleLog,
    /// The next due time; None for a paused schedule.
    pub next: Option<Timestamp>,
    /// The time at which the state was read.
    pub now: Timestamp,
}

/// A due time in the future.
#[derive(Debug, Clone)]
pub struct UpcomingTime {
    pub name: Arc<str>,
    pub due: Timestamp,
    /// The due time with its jitter.
    pub start: Timestamp,
    pub is_paused: bool,
}

impl From<StateError> for Failure {
    fn from(error: StateError) -> Self {
        let hint = "free space on the disk, or give the user write access to `local/schedules` of the project";
        Self::new(FailureKind::Internal, error, Some(hint.to_owned()))
    }
}

/// Returns the valid schedules with their states.
pub fn overview(loaded: &ProjectSchedules) -> Result<Vec<ScheduleState>, Failure> {
    let now = clock::now();
    let states = loaded.schedules.specs.iter().map(|spec| {
        let log = loaded.state.read(&spec.name)?;
        let mut times = spec.timing.after(now).take(MAX_DUE_TIMES);
        let next = times.find(|due| !log.is_settled(*due));
        Ok(ScheduleState {
            next: next.filter(|_| log.paused_since.is_none()),
            spec: spec.clone(),
            log,
            now,
        })
    });
    states.collect()
}

/// Returns the next due times of all schedules, or of one, in their order.
pub fn upcoming(
    loaded: &ProjectSchedules,
    name: Option<&str>,
    count: usize,
) -> Result<Vec<UpcomingTime>, Failure> {
    if let Some(name) = name {
        loaded.get(name)?;
    }
    let now = clock::now();
    let mut times = Vec::new();
    for state in overview(loaded)? {
        let spec = &state.spec;
        if name.is_some_and(|name| name != &*spec.name) {
            continue;
        }
        let due_times = spec
            .timing
            .after(now)
            .take(MAX_DUE_TIMES)
            .filter(|due| !state.log.is_settled(*due));
        times.extend(due_times.take(count).map(|due| UpcomingTime {
            name: Arc::clone(&spec.name),
            due,
            start: start_of(spec, due),
            is_paused: state.log.paused_since.is_some(),
        }));
    }
    times.sort_by(|a, b| (a.due, &a.name).cmp(&(b.due, &b.name)));
    times.truncate(count);
    Ok(times)
}

/// Returns the logs of all schedules, or of one, in the order of their due times.
pub fn read_log(
    loaded: &ProjectSchedules,
    name: Option<&str>,
) -> Result<Vec<(Arc<str>, ScheduleLog)>, Failure> {
    if let Some(name) = name {
        loaded.get(name)?;
    }
    let specs = loaded.schedules.specs.iter();
    let chosen = specs.filter(|spec| name.is_none_or(|name| name == &*spec.name));
    let logs = chosen.map(|spec| {
        let mut log = loaded.state.read(&spec.name)?;
        // A clock that went back has made later entries of earlier times.
        log.entries.sort_by_key(Entry::due);
        Ok((Arc::clone(&spec.name), log))
    });
    logs.collect()
}

/// Returns the notices of all schedules, or of one, whose last attempt to deliver failed, the oldest first.
pub fn undelivered(
    loaded: &ProjectSchedules,
    name: Option<&str>,
) -> Result<Vec<FailedDelivery>, Failure> {
    let mut failed = failed_deliveries(loaded.state.path()).map_err(StateError::from)?;
    failed.retain(|it| name.is_none_or(|name| name == it.schedule));
    Ok(failed)
}

/// Pauses a schedule or resumes it. Returns false if it was so before.
pub fn pause(loaded: &ProjectSchedules, name: &str, is_paused: bool) -> Result<bool, Failure> {
    let spec = loaded.get(name)?;
    let changed = loaded.state.change(name, |log| {
        let before = log.paused_since.is_some();
        let rows = set_paused(spec, log, clock::now(), is_paused);
        (rows, before != is_paused)
    });
    Ok(changed?)
}

/// A run that a user, cron or systemd has started, and what is said about its notices.
#[derive(Debug, Clone)]
pub struct StartedRun {
    /// None if no due time was open.
    pub report: Option<RunReport>,
    /// The sentences about notices that were not delivered, each with its schedule.
    pub messages: Vec<(Arc<str>, String)>,
}

/// Runs a schedule now and waits for its end, then delivers notices for a limited time. With `if_due`, runs the schedule
/// only if a due time is open.
pub fn run_now(
    loaded: &ProjectSchedules,
    name: &str,
    if_due: bool,
    interrupts: &Interrupts,
) -> Result<StartedRun, Failure> {
    let spec = loaded.get(name)?;
    let stop = Arc::new(AtomicBool::new(false));
    interrupts.mark_started();
    let listened = Arc::clone(&stop);
    let listening = interrupts.listen(move |_, _| {
        listened.store(true, std::sync::atomic::Ordering::SeqCst);
    });
    end_leftovers_of(loaded, spec)?;
    let claimed = if if_due {
        claim_due(loaded, spec, interrupts)?
    } else {
        Some(claim_now(loaded, spec)?)
    };
    let mut reporter = Reporter::new(loaded, Figures::default());
    let report = claimed.map(|claim| {
        let report = perform(loaded, spec, &claim, &stop);
        reporter.ending(&claim, &report);
        let state = &loaded.state;
        state.change(name, |log| (end_rows(log, &claim, &report), ()))?;
        Ok::<_, StateError>(report)
    });
    let report = report.transpose()?;
    drop(listening);
    for spec in &loaded.schedules.specs {
        let log = loaded.state.read(&spec.name)?;
        reporter.look(spec, &log, clock::now());
    }
    let time = DeliveryTime {
        limit: DELIVERY_LIMIT,
        is_patient: if_due,
    };
    Ok(StartedRun {
        report,
        messages: reporter.deliver(time, interrupts),
    })
}

/// Ends what dead processes have left of runs of a schedule.
fn end_leftovers_of(loaded: &ProjectSchedules, spec: &ScheduleSpec) -> Result<(), Failure> {
    let log = loaded.state.read(&spec.name)?;
    let now = clock::now();
    let dead = log
        .running()
        .filter(|claim| !is_alive(claim, spec, &[], loaded.state.path(), now));
    dead.for_each(|claim| end_leftovers(&claim.run));
    Ok(())
}

/// Claims a run without a due time.
fn claim_now(loaded: &ProjectSchedules, spec: &ScheduleSpec) -> Result<Claim, Failure> {
    let folder = loaded.state.path();
    let claimed = loaded.state.change(&spec.name, |log| {
        let now = clock::now();
        let alive = |claim: &Claim| is_alive(claim, spec, &[], folder, now);
        let running = log.running().find(|claim| alive(claim)).cloned();
        if let Some(claim) = running {
            return (Vec::new(), Err(claim));
        }
        let claim = new_claim(now, 1, now, true);
        (vec![Row::Claim(claim.clone())], Ok(claim))
    });
    claimed?.map_err(|running| {
        let since = running.at.strftime("%Y-%m-%dT%H:%M:%SZ");
        let message = format!(
            "a run of the schedule `{}` continues since {since}",
            spec.name
        );
        let hint = "wait for its end; `unfurl schedule log` shows it";
        Failure::new(FailureKind::Locked, message, Some(hint.into()))
    })
}

/// Claims the open due time of a schedule; waits for the end of its jitter. Returns None if no due time is open.
fn claim_due(
    loaded: &ProjectSchedules,
    spec: &ScheduleSpec,
    interrupts: &Interrupts,
) -> Result<Option<Claim>, Failure> {
    loop {
        let (claim, start) = try_claim(loaded, spec)?;
        let now = clock::now();
        // A due time that has come starts within its jitter.
        let is_open = |start: Timestamp| {
            spec.timing
                .next(start - spec.jitter)
                .is_some_and(|due| due <= now)
        };
        match start.filter(|start| claim.is_none() && *start > now && is_open(*start)) {
            Some(start) => {
                if interrupts.wait((start.duration_since(now)).unsigned_abs()) {
                    return Ok(None);
                }
            }
            None => return Ok(claim),
        }
    }
}

/// Lets the schedule decide about its due times. Returns the claim, and the time of the next start.
pub(super) fn try_claim(
    loaded: &ProjectSchedules,
    spec: &ScheduleSpec,
) -> Result<(Option<Claim>, Option<Timestamp>), StateError> {
    let folder = loaded.state.path();
    loaded.state.change(&spec.name, |log| {
        let now = clock::now();
        let first = first_row(spec, log, now);
        first.iter().cloned().for_each(|row| log.apply(row));
        let look = Look {
            now,
            is_alive: &|claim| is_alive(claim, spec, &[], folder, now),
            missed_reason: MISSED_REASON,
        };
        let step = step(spec, log, &look);
        let mut rows: Vec<Row> = first.into_iter().chain(step.rows).collect();
        let claim = step
            .start
            .map(|(due, attempt)| new_claim(due, attempt, now, false));
        rows.extend(claim.clone().map(Row::Claim));
        (rows, (claim, step.wake))
    })
}

/// Returns the exit code for the report of a run: 0 if it is done or was skipped, else 1.
pub fn exit_code(report: &RunReport) -> u8 {
    match report.outcome {
        Outcome::Done | Outcome::Skipped => 0,
        Outcome::Failed | Outcome::CutOff => 1,
    }
}
