//! The decisions about due times: which one runs now, which ones get a row without a run, and when to look again.
//!
//! [`step`] is a pure function of the schedule, its log and the time. Each due time gets exactly one entry. The rules:
//!
//! - A due time whose start is at most a minute ago runs. A later one is missed: it is skipped, except that
//!   `missed: run` runs the last one of several.
//! - A due time during a run of the schedule is skipped with `overlap: skip`. With `overlap: wait` the last one of
//!   several runs when the run has ended.
//! - A run that was cut off is restarted only with `missed: run`, if no later due time has its entry, and at most twice.
//!   With `overlap: skip` the restarted run stands for due times that passed meanwhile: they are skipped.
//! - The clock may go back. A due time that has run never runs again. One that was skipped and lies in the future again
//!   counts anew: its row is revoked. Without this rule, a clock that was years ahead for a moment would end a schedule.
//! - Due times of a pause are skipped at its end, as one row.
//! - A due time after which only damaged lines are in the log may have run: it is skipped.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::due::start_of;
use super::log::{Entry, ScheduleLog};
use super::row::{Claim, Outcome, Row, RunEnd, SkippedTimes};
use super::spec::{Missed, Overlap, ScheduleSpec};

/// The delay up to which a start is on time. A later one is missed.
const GRACE: Duration = Duration::from_mins(1);
/// The number of attempts to run a due time whose runs are cut off.
const MAX_ATTEMPTS: u32 = 3;
/// The largest number of due times that one step looks at.
const MAX_DUE_TIMES: u64 = 200_000;

/// The reason of times that passed while nothing ran schedules.
pub const MISSED_REASON: &str = "missed: nothing ran schedules at that time";
/// The reason of times that passed during a pause.
pub(super) const PAUSED_REASON: &str = "the schedule was paused";
/// The reason of times that waited for the end of a run, and were followed by another one.
const REPLACED_REASON: &str = "a later due time runs in its place";
/// The reason of due times that a damaged line may be about.
const DAMAGED_REASON: &str = "the last lines of the log are damaged: this time may have run";
/// The reason of runs whose end a damaged line may be.
const UNKNOWN_END_REASON: &str =
    "the end of the run is unknown: the last lines of the log are damaged";
/// The reason of runs that their process did not end.
const CUT_OFF_REASON: &str = "the process that ran it has ended before";

/// The answer of [`step`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Step {
    /// Rows to append before anything starts. They are applied to the log already.
    pub rows: Vec<Row>,
    /// The due time to claim and to run now, with the number of the attempt.
    pub start: Option<(Timestamp, u32)>,
    /// The time of the next step; None if only the end of a run or a user's command leads to one.
    pub wake: Option<Timestamp>,
}

/// The circumstances of a decision.
#[derive(Clone, Copy)]
pub struct Look<'a> {
    pub now: Timestamp,
    /// Says if the process of a claim still runs.
    pub is_alive: &'a dyn Fn(&Claim) -> bool,
    /// The reason of due times that are missed.
    pub missed_reason: &'a str,
}

/// Decides what to do about a schedule at an instant, and applies the rows to the log.
pub fn step(spec: &ScheduleSpec, log: &mut ScheduleLog, look: &Look<'_>) -> Step {
    let is_damaged = log.has_damaged_end;
    let mut stepper = Stepper {
        spec,
        log,
        now: look.now,
        missed_reason: look.missed_reason,
        step: Step::default(),
    };
    stepper.follow_timing();
    stepper.follow_clock();
    stepper.end_dead_runs(look.is_alive, is_damaged);
    if is_damaged {
        stepper.pass_damaged_end();
    }
    if stepper.log.paused_since.is_some() {
        return stepper.step;
    }
    if !stepper.restart() {
        stepper.settle_due_times();
    }
    stepper.step
}

/// Returns the row that begins to count the due times of a schedule that no process has seen yet; None if it was seen.
///
/// A cron job sees the schedule at its first due time, which must count.
pub fn first_row(spec: &ScheduleSpec, log: &ScheduleLog, now: Timestamp) -> Option<Row> {
    let at = now.checked_sub(GRACE).unwrap_or(now);
    let timing = spec.timing.to_string().into();
    log.timing.is_none().then_some(Row::Started { at, timing })
}

/// Gives all due times up to now their rows, and changes the pause. Nothing starts.
pub fn set_paused(
    spec: &ScheduleSpec,
    log: &mut ScheduleLog,
    now: Timestamp,
    is_paused: bool,
) -> Vec<Row> {
    let mut stepper = Stepper {
        spec,
        log,
        now,
        missed_reason: MISSED_REASON,
        step: Step::default(),
    };
    stepper.follow_timing();
    stepper.follow_clock();
    if stepper.log.paused_since.is_some() == is_paused {
        return stepper.step.rows;
    }
    let running = stepper.log.running().next().cloned();
    let reason: Arc<str> = match running {
        _ if !is_paused => PAUSED_REASON.into(),
        Some(claim) => run_continues(&claim),
        None => MISSED_REASON.into(),
    };
    stepper.skip_until_now(&reason);
    stepper.add(if is_paused {
        Row::Paused { at: now }
    } else {
        Row::Resumed { at: now }
    });
    stepper.step.rows
}

fn run_continues(claim: &Claim) -> Arc<str> {
    let due = claim.due.strftime("%Y-%m-%dT%H:%M:%SZ");
    format!("the run of {due} continued").into()
}

/// Due times up to now without an entry.
#[derive(Debug, Default)]
struct DueNow {
    /// Due times before the last one, as ranges without settled times in between.
    earlier: Vec<Range>,
    last: Option<Timestamp>,
    is_complete: bool,
}

/// Some due times in a row.
#[derive(Debug, Clone, Copy)]
struct Range {
    first: Timestamp,
    last: Timestamp,
    count: u64,
}

struct Stepper<'a> {
    spec: &'a ScheduleSpec,
    log: &'a mut ScheduleLog,
    now: Timestamp,
    missed_reason: &'a str,
    step: Step,
}

impl Stepper<'_> {
    fn add(&mut self, row: Row) {
        self.log.apply(row.clone());
        self.step.rows.push(row);
    }

    /// Begins to count with a new schedule, or with a timing that was changed.
    fn follow_timing(&mut self) {
        let timing: Arc<str> = self.spec.timing.to_string().into();
        if self.log.timing.as_ref() != Some(&timing) {
            self.add(Row::Started {
                at: self.now,
                timing,
            });
        }
    }

    /// Counts due times without a run anew if the clock went back behind them.
    ///
    /// Without a change of the clock, the position is never later than now.
    fn follow_clock(&mut self) {
        if self
            .log
            .position
            .is_none_or(|position| position <= self.now)
        {
            return;
        }
        let revoked = self.log.skipped_across(self.now);
        self.add(Row::Revoked { after: self.now });
        // The part of the range that has passed keeps its row.
        if let Some(mut kept) = revoked {
            let times = self
                .spec
                .timing
                .after(kept.first)
                .take_while(|due| *due <= self.now);
            let (count, last) = times.fold((1, kept.first), |(count, _), due| (count + 1, due));
            (kept.count, kept.last) = (count, last);
            self.add(Row::Skipped(kept));
        }
    }

    /// Gives each claim of a dead process its end. A run whose own end may be a damaged line never restarts.
    fn end_dead_runs(&mut self, is_alive: &dyn Fn(&Claim) -> bool, is_damaged: bool) {
        let (outcome, reason) = if is_damaged {
            (Outcome::Failed, UNKNOWN_END_REASON)
        } else {
            (Outcome::CutOff, CUT_OFF_REASON)
        };
        let dead: Vec<Arc<str>> = self
            .log
            .running()
            .filter(|claim| !is_alive(claim))
            .map(|claim| Arc::clone(&claim.run))
            .collect();
        for run in dead {
            self.add(Row::End(RunEnd {
                run,
                at: self.now,
                outcome,
                reason: reason.into(),
                details: "".into(),
            }));
        }
    }

    /// Skips the due times that damaged lines at the end of the log may be about, and counts on from now.
    fn pass_damaged_end(&mut self) {
        let is_paused = self.log.paused_since.is_some();
        let reason = if is_paused {
            PAUSED_REASON
        } else {
            DAMAGED_REASON
        };
        self.skip_until_now(&reason.into());
        self.add(Row::Started {
            at: self.now,
            timing: self.spec.timing.to_string().into(),
        });
    }

    /// Skips all due times up to now without an entry.
    fn skip_until_now(&mut self, reason: &Arc<str>) {
        loop {
            let due_times = self.due_times();
            let is_complete = due_times.is_complete;
            self.skip_all(due_times, false, reason);
            if is_complete {
                return;
            }
        }
    }

    /// Restarts the last run if it was cut off and the schedule says so.
    fn restart(&mut self) -> bool {
        if self.spec.missed != Missed::Run || self.log.running().next().is_some() {
            return false;
        }
        let Some((claim, Some(end))) = self.log.last_run() else {
            return false;
        };
        let is_last = matches!(self.log.entries.last(), Some(Entry::Run(last, _)) if last == claim);
        let is_cut_off = end.outcome == Outcome::CutOff && !claim.is_manual;
        if !is_last || !is_cut_off || claim.attempt >= MAX_ATTEMPTS {
            return false;
        }
        self.step.start = Some((claim.due, claim.attempt + 1));
        if self.spec.overlap == Overlap::Skip {
            let due_times = self.due_times();
            self.skip_all(due_times, true, &self.missed_reason.into());
        }
        self.step.wake = self.next_start();
        true
    }

    fn settle_due_times(&mut self) {
        let due_times = self.due_times();
        if !due_times.is_complete {
            self.skip_all(due_times, true, &self.missed_reason.into());
            self.step.wake = Some(self.now);
            return;
        }
        let running = self.log.running().next().cloned();
        match (running, self.spec.overlap) {
            (Some(claim), Overlap::Skip) => {
                self.skip_all(due_times, false, &run_continues(&claim));
            }
            // The end of the run leads to the next step.
            (Some(_), Overlap::Wait) if due_times.last.is_some() => return,
            (Some(_), Overlap::Wait) => {}
            (None, _) => self.start_last(due_times),
        }
        self.step.wake = self.next_start();
    }

    /// Starts the last of the due times unless it is missed; the earlier ones get rows without a run.
    fn start_last(&mut self, mut due_times: DueNow) {
        let Some(last) = due_times.last.take() else {
            return;
        };
        let has_waited = self.has_waited(last);
        for range in due_times.earlier {
            let waited = self.has_waited(range.first);
            let reason = if waited {
                REPLACED_REASON
            } else {
                self.missed_reason
            };
            self.skip(range, !waited, &reason.into());
        }
        let start = start_of(self.spec, last);
        let is_on_time = self.now.duration_since(start).unsigned_abs() <= GRACE;
        if is_on_time || has_waited || self.spec.missed == Missed::Run {
            self.step.start = Some((last, 1));
            return;
        }
        let range = Range {
            first: last,
            last,
            count: 1,
        };
        self.skip(range, true, &self.missed_reason.into());
    }

    /// Returns true if a due time fell into the last run, and waited for its end.
    fn has_waited(&self, due: Timestamp) -> bool {
        let Some((claim, Some(end))) = self.log.last_run() else {
            return false;
        };
        let start = start_of(self.spec, due);
        self.spec.overlap == Overlap::Wait
            && end.outcome != Outcome::CutOff
            && (claim.at..=end.at).contains(&start)
    }

    fn skip_all(&mut self, due_times: DueNow, is_missed: bool, reason: &Arc<str>) {
        let last = due_times.last.map(|due| Range {
            first: due,
            last: due,
            count: 1,
        });
        for range in due_times.earlier.into_iter().chain(last) {
            self.skip(range, is_missed, reason);
        }
    }

    fn skip(&mut self, range: Range, is_missed: bool, reason: &Arc<str>) {
        let Range { first, last, count } = range;
        self.add(Row::Skipped(SkippedTimes {
            first,
            last,
            count,
            at: self.now,
            is_missed,
            reason: Arc::clone(reason),
        }));
    }

    /// Returns the time from which on due times have no entry, except those that are settled.
    fn position(&self) -> Timestamp {
        self.log.position.unwrap_or(self.now)
    }

    /// Returns the due times without an entry whose start has come.
    fn due_times(&self) -> DueNow {
        let mut found = DueNow {
            is_complete: true,
            ..DueNow::default()
        };
        // Only a clock that went back leaves settled times after the position.
        let may_be_settled = self.log.has_entries_after(self.position());
        let mut open: Option<Range> = None;
        let mut is_after_gap = false;
        let times = self.spec.timing.after(self.position());
        for (number, due) in (0..).zip(times) {
            if due > self.now || start_of(self.spec, due) > self.now {
                break;
            }
            if may_be_settled && self.log.is_settled(due) {
                is_after_gap = true;
                continue;
            }
            if let Some(earlier) = found.last.replace(due) {
                let range = open.get_or_insert(Range {
                    first: earlier,
                    last: earlier,
                    count: 0,
                });
                range.last = earlier;
                range.count += 1;
                if is_after_gap {
                    found.earlier.extend(open.take());
                }
            }
            is_after_gap = false;
            if number >= MAX_DUE_TIMES {
                found.is_complete = false;
                break;
            }
        }
        found.earlier.extend(open);
        found
    }

    /// Returns the start of the next due time without an entry.
    fn next_start(&self) -> Option<Timestamp> {
        let mut after = self.position();
        if let Some((started, _)) = self.step.start {
            after = after.max(started);
        }
        let may_be_settled = self.log.has_entries_after(after);
        let limit = usize::try_from(MAX_DUE_TIMES).unwrap_or(usize::MAX);
        let mut times = self.spec.timing.after(after).take(limit);
        let due = times.find(|due| !may_be_settled || !self.log.is_settled(*due))?;
        Some(start_of(self.spec, due))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::super::row::CUT_LINE_END;
    use super::*;
    use crate::diagnostic::Sources;
    use crate::schedule::Schedules;
    use crate::yaml::{Limits, parse};

    fn spec(fields: &str) -> ScheduleSpec {
        let text = format!("a: {{action: drift, {fields}}}");
        let mut sources = Sources::default();
        let id = sources.add("unfurl.yaml", text.clone(), None);
        let document = parse(&sources, id, &Limits::default()).unwrap();
        Schedules::read(&document).specs.remove(0)
    }

    fn time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    /// A log with a server or several, and with a clock that the test sets.
    struct Trial {
        spec: ScheduleSpec,
        log: ScheduleLog,
        text: String,
        now: Timestamp,
        /// The run of the server that is alive.
        alive: Option<Arc<str>>,
        claims: BTreeMap<Timestamp, u32>,
        runs: u32,
        start: Timestamp,
        has_gone_back: bool,
    }

    impl Trial {
        fn new(fields: &str, now: &str) -> Self {
            Self {
                spec: spec(fields),
                log: ScheduleLog::default(),
                text: String::new(),
                now: time(now),
                alive: None,
                claims: BTreeMap::new(),
                runs: 0,
                start: time(now),
                has_gone_back: false,
            }
        }

        fn append(&mut self, rows: &[Row]) {
            for row in rows {
                self.text.push_str(&row.to_line());
            }
        }

        /// Lets the server look at the schedule once.
        fn step(&mut self) -> Step {
            let alive = self.alive.clone();
            let is_alive = |claim: &Claim| alive.as_ref() == Some(&claim.run);
            let look = Look {
                now: self.now,
                is_alive: &is_alive,
                missed_reason: MISSED_REASON,
            };
            let step = step(&self.spec, &mut self.log, &look);
            self.append(&step.rows);
            if let Some((due, attempt)) = step.start {
                self.runs += 1;
                let run: Arc<str> = self.runs.to_string().into();
                *self.claims.entry(due).or_default() += 1;
                assert_eq!(self.claims[&due], attempt, "{due} was claimed twice");
                let row = Row::Claim(Claim {
                    due,
                    at: self.now,
                    run: Arc::clone(&run),
                    attempt,
                    is_manual: false,
                    owner: "".into(),
                });
                self.log.apply(row.clone());
                self.append(&[row]);
                self.alive = Some(run);
            }
            step
        }

        fn end(&mut self) {
            if let Some(run) = self.alive.take() {
                let row = Row::End(RunEnd {
                    run,
                    at: self.now,
                    outcome: Outcome::Done,
                    reason: "".into(),
                    details: "".into(),
                });
                self.log.apply(row.clone());
                self.append(&[row]);
            }
        }

        /// Kills the server and starts another, which reads the log.
        fn kill(&mut self) {
            self.alive = None;
            self.log = ScheduleLog::parse(&self.text);
            if self.log.is_large(self.text.len()) {
                self.text = self.log.compacted();
                self.log = ScheduleLog::parse(&self.text);
            }
        }

        fn advance(&mut self, seconds: i64) {
            self.has_gone_back |= seconds < 0;
            self.now = Timestamp::from_second(self.now.as_second() + seconds).unwrap();
        }

        /// Checks that each due time up to now has exactly one entry, and later ones at most one.
        fn check(&self) {
            let mut rows: BTreeMap<Timestamp, u32> = BTreeMap::new();
            for entry in &self.log.entries {
                let first = Timestamp::from_second(entry.due().as_second() - 1).unwrap();
                let times = self.spec.timing.after(first);
                let times: Vec<_> = times.take_while(|due| *due <= entry.last_due()).collect();
                assert_eq!(
                    times.len() as u64,
                    entry.count(),
                    "{entry:?}\n{}",
                    self.text
                );
                for due in &times {
                    *rows.entry(*due).or_default() += 1;
                }
            }
            let doubled = rows.iter().find(|(_, count)| **count > 1);
            assert_eq!(doubled, None, "{}", self.text);
            let due = self
                .spec
                .timing
                .after(self.start)
                .take_while(|due| *due <= self.now);
            for due in due {
                let is_waiting = start_of(&self.spec, due) > self.now
                    || (self.spec.overlap == Overlap::Wait && self.alive.is_some());
                assert!(
                    rows.contains_key(&due) || is_waiting,
                    "{due} has no row\n{}",
                    self.text
                );
            }
            assert_eq!(ScheduleLog::parse(&self.text).entries, self.log.entries);
            let mut pairs = self.log.entries.windows(2);
            let is_in_order = pairs.all(|pair| pair[0].last_due() < pair[1].due());
            assert!(is_in_order || self.has_gone_back, "{}", self.text);
        }
    }

    #[test]
    fn a_due_time_runs_once_and_the_next_one_is_awaited() {
        let mut trial = Trial::new("every: 15m", "2026-03-01T10:07:00Z");
        let step = trial.step();
        assert_eq!(
            (step.start, step.wake),
            (None, Some(time("2026-03-01T10:15:00Z")))
        );
        trial.now = time("2026-03-01T10:15:00.2Z");
        assert_eq!(trial.step().start, Some((time("2026-03-01T10:15:00Z"), 1)));
        assert_eq!(trial.step().start, None);
        trial.end();
        assert_eq!(trial.step().wake, Some(time("2026-03-01T10:30:00Z")));
        trial.check();
    }

    #[test]
    fn times_of_a_downtime_are_skipped_or_the_last_one_runs() {
        let mut trial = Trial::new("every: 15m", "2026-03-01T10:07:00Z");
        trial.step();
        trial.now = time("2026-03-01T12:07:00Z");
        assert_eq!(trial.step().start, None);
        insta::assert_snapshot!(trial.log.summary(), @"2026-03-01T10:15:00Z and 7 more: skipped");
        let mut trial = Trial::new("every: 15m, missed: run", "2026-03-01T10:07:00Z");
        trial.step();
        trial.now = time("2026-03-01T12:07:00Z");
        assert_eq!(trial.step().start, Some((time("2026-03-01T12:00:00Z"), 1)));
        trial.end();
        trial.check();
        insta::assert_snapshot!(trial.log.summary(), @"
        2026-03-01T10:15:00Z and 6 more: skipped
        2026-03-01T12:00:00Z: done
        ");
    }

    #[test]
    fn a_due_time_during_a_run_is_skipped_or_waits() {
        let mut trial = Trial::new("every: 1m", "2026-03-01T10:00:30Z");
        trial.step();
        for _ in 0..5 {
            trial.advance(40);
            trial.step();
        }
        trial.end();
        insta::assert_snapshot!(trial.log.summary(), @"
        2026-03-01T10:01:00Z: done
        2026-03-01T10:02:00Z and 1 more: skipped
        ");
        trial.check();
        let mut trial = Trial::new("every: 1m, overlap: wait", "2026-03-01T10:00:30Z");
        trial.step();
        for _ in 0..5 {
            trial.advance(40);
            trial.step();
        }
        trial.end();
        trial.advance(5);
        assert_eq!(trial.step().start, Some((time("2026-03-01T10:03:00Z"), 1)));
        trial.end();
        trial.check();
        let replaced =
            matches!(&trial.log.entries[1], Entry::Skipped(it) if &*it.reason == REPLACED_REASON);
        assert!(replaced, "{}", trial.text);
    }

    #[test]
    fn a_run_that_was_cut_off_restarts_only_if_the_schedule_says_so() {
        for (fields, attempts, last) in [
            ("every: 1h", 1, "cut off"),
            ("every: 1h, missed: run", 3, "cut off"),
        ] {
            let mut trial = Trial::new(fields, "2026-03-01T09:59:59Z");
            trial.step();
            trial.advance(1);
            for _ in 0..5 {
                trial.step();
                trial.kill();
                trial.advance(1);
            }
            trial.step();
            let due = time("2026-03-01T10:00:00Z");
            assert_eq!((trial.claims[&due], trial.log.entries.len()), (attempts, 1));
            assert_eq!(trial.log.entries[0].word(), last);
            trial.check();
        }
    }

    #[test]
    fn a_pause_gives_its_due_times_one_row() {
        let mut trial = Trial::new("every: 1m", "2026-03-01T10:00:30Z");
        trial.step();
        let rows = set_paused(&trial.spec, &mut trial.log, trial.now, true);
        trial.append(&rows);
        trial.advance(3600);
        assert_eq!(trial.step(), Step::default());
        let rows = set_paused(&trial.spec, &mut trial.log, trial.now, false);
        trial.append(&rows);
        trial.step();
        insta::assert_snapshot!(trial.log.summary(), @"2026-03-01T10:01:00Z and 59 more: skipped");
        trial.check();
    }

    #[test]
    fn a_clock_that_was_in_the_future_loses_no_due_time() {
        let mut trial = Trial::new("every: 1h", "2026-03-01T10:30:00Z");
        trial.step();
        trial.now = time("2040-03-01T10:30:00Z");
        trial.step();
        trial.now = time("2026-03-01T10:59:00Z");
        assert_eq!(trial.step().wake, Some(time("2026-03-01T11:00:00Z")));
        trial.now = time("2026-03-01T11:00:00Z");
        assert_eq!(trial.step().start, Some((time("2026-03-01T11:00:00Z"), 1)));
        // The clock goes back over the run: the time is not due again.
        trial.end();
        trial.now = time("2026-03-01T10:59:59Z");
        assert_eq!(trial.step().wake, Some(time("2026-03-01T12:00:00Z")));
        trial.check();
    }

    #[test]
    fn a_clock_that_was_years_ahead_for_a_moment_does_not_end_a_schedule() {
        // The first look, and a run, happen in the wrong year.
        let mut trial = Trial::new("every: 1h", "2040-03-01T09:59:59Z");
        trial.step();
        trial.advance(1);
        assert!(trial.step().start.is_some());
        trial.end();
        trial.now = time("2026-03-01T10:30:00Z");
        assert_eq!(trial.step().wake, Some(time("2026-03-01T11:00:00Z")));
        // The clock is wrong during a run: the due times that it skips count anew.
        trial.now = time("2026-03-01T11:00:00Z");
        assert!(trial.step().start.is_some());
        trial.now = time("2031-03-01T11:00:00Z");
        trial.step();
        trial.now = time("2026-03-01T11:59:59Z");
        trial.end();
        trial.step();
        trial.advance(1);
        assert_eq!(trial.step().start, Some((time("2026-03-01T12:00:00Z"), 1)));
    }

    #[test]
    fn times_between_runs_of_a_clock_that_was_ahead_get_their_rows() {
        let mut trial = Trial::new("every: 1h", "2026-03-01T11:59:59Z");
        trial.step();
        trial.advance(1);
        assert!(trial.step().start.is_some());
        trial.end();
        trial.advance(-9000);
        trial.step();
        trial.advance(9001);
        trial.step();
        insta::assert_snapshot!(trial.log.summary(), @"
        2026-03-01T12:00:00Z: done
        2026-03-01T10:00:00Z and 1 more: skipped
        ");
        trial.start = time("2026-03-01T09:30:00Z");
        trial.check();
    }

    #[test]
    fn a_due_time_that_a_damaged_line_may_be_about_is_skipped() {
        let mut trial = Trial::new("every: 1h, missed: run", "2026-03-01T09:59:59Z");
        trial.step();
        trial.advance(1);
        trial.step();
        trial.end();
        // The line of the claim, and that of the end, are damaged in turn.
        for (kept, expected) in [(1, "skipped"), (2, "failed")] {
            let mut lines: Vec<&str> = trial.text.lines().collect();
            assert_eq!(lines.len(), 3, "{}", trial.text);
            lines.truncate(kept);
            let text = lines.join("\n") + "\nd\u{e4}m\u{e4}ged\n";
            let mut later = Trial::new("every: 1h, missed: run", "2026-03-01T10:00:09Z");
            (later.log, later.text) = (ScheduleLog::parse(&text), text);
            assert_eq!(later.step().start, None);
            assert_eq!(later.log.entries[0].word(), expected, "{}", later.text);
            later.kill();
            assert_eq!((later.step().start, later.log.damaged), (None, 1));
            later.now = time("2026-03-01T11:00:00Z");
            assert_eq!(later.step().start, Some((later.now, 1)));
        }
    }

    #[test]
    fn a_line_that_a_crash_has_cut_off_is_no_row() {
        let mut trial = Trial::new("every: 1h", "2026-03-01T09:59:59Z");
        trial.step();
        trial.text +=
            "missed\t2026-03-01T08:00:00Z\t2026-03-01T09:00:00Z\t2\t2026-03-01T09:00:00Z\tx";
        trial.kill();
        trial.text += CUT_LINE_END;
        trial.advance(1);
        assert!(trial.step().start.is_some());
        assert_eq!((trial.log.damaged, trial.log.has_damaged_end), (1, false));
        trial.check();
    }

    #[test]
    fn a_changed_timing_counts_from_its_change() {
        let mut trial = Trial::new("cron: 0 2 * * *", "2026-03-01T10:00:00Z");
        trial.step();
        trial.advance(3600);
        trial.spec = spec("every: 1m");
        trial.step();
        assert_eq!(trial.log.entries, []);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// The clock jumps forwards, backwards and over both changes of daylight saving, runs end or last, servers are
        /// killed, and the schedule is paused.
        #[test]
        fn every_due_time_has_exactly_one_row(
            timing in prop::sample::select(vec![
                "every: 7m", "every: 13m, jitter: 5m", "cron: '*/20 * * * *', timezone: Europe/Berlin", "cron: '5,35 * * * *', timezone: Australia/Lord_Howe",
                "cron: '30 1-3 * * *', timezone: America/New_York", "cron: '15 2 * * *', timezone: Australia/Lord_Howe, jitter: 10m",
            ]),
            overlap in prop::sample::select(vec!["skip", "wait"]),
            missed in prop::sample::select(vec!["skip", "run"]),
            day in prop::sample::select(vec!["2026-03-08T05:00:00Z", "2026-03-28T23:00:00Z", "2026-10-24T22:00:00Z", "2026-11-01T04:00:00Z", "2026-04-04T14:00:00Z", "2026-10-03T14:00:00Z"]),
            moves in prop::collection::vec((0..14_u8, 0..4000_i64), 1..80),
        ) {
            let fields = format!("{timing}, overlap: {overlap}, missed: {missed}");
            let mut trial = Trial::new(&fields, day);
            trial.step();
            for (kind, size) in moves {
                match kind {
                    0..=4 => trial.advance(size / 10),
                    5 => trial.advance(size * 10),
                    6 => trial.advance(-size),
                    7 | 8 => trial.end(),
                    9 => trial.kill(),
                    10 => {
                        let is_paused = trial.log.paused_since.is_none();
                        let rows = set_paused(&trial.spec.clone(), &mut trial.log, trial.now, is_paused);
                        trial.append(&rows);
                    }
                    11 => trial.advance(size * 20),
                    12 => trial.advance(-size * 20),
                    _ => {}
                }
                let again = trial.step();
                // A second server that looks at the same time has nothing to do.
                let second = trial.step();
                prop_assert!(second.start.is_none() && second.rows.is_empty(), "{second:?}");
                prop_assert!(again.wake.is_none_or(|wake| wake > trial.now) || !again.rows.is_empty());
                trial.start = trial.start.min(trial.now);
                if trial.log.paused_since.is_none() {
                    trial.check();
                }
            }
        }
    }
}
