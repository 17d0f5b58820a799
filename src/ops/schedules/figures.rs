//! The figures of a server for its metrics.

use std::sync::PoisonError;

use jiff::Timestamp;

use super::notify::{DeliveryEvent, DeliveryOutcome};
use crate::schedule::{
    MetricsSnapshot, Outcome, Row, RunReport, ScheduleLog, ScheduleMetrics, ScheduleSpec,
    SharedMetrics,
};
use crate::system::clock;

/// The figures, which are kept only if somebody reads them.
#[derive(Debug, Clone, Default)]
pub(super) struct Figures(Option<SharedMetrics>);

impl Figures {
    pub(super) fn new(shared: Option<SharedMetrics>) -> Self {
        let figures = Self(shared);
        figures.change(|snapshot| snapshot.started = Some(clock::now()));
        figures
    }

    fn change(&self, change: impl FnOnce(&mut MetricsSnapshot)) {
        if let Some(shared) = &self.0 {
            change(&mut shared.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    fn of(&self, schedule: &str, change: impl FnOnce(&mut ScheduleMetrics)) {
        self.change(|snapshot| change(snapshot.schedule(schedule)));
    }

    /// Takes the schedules that there are. Figures of others are removed.
    pub(super) fn loaded(&self, specs: &[ScheduleSpec]) {
        self.change(|snapshot| {
            let is_known = |it: &ScheduleMetrics| specs.iter().any(|spec| spec.name == it.name);
            snapshot.schedules.retain(is_known);
            for spec in specs {
                snapshot.schedule(&spec.name);
            }
        });
    }

    /// Takes the state of a schedule after a decision, and the rows of that decision.
    pub(super) fn looked(&self, spec: &ScheduleSpec, log: &ScheduleLog, rows: &[Row]) {
        self.of(&spec.name, |figures| {
            figures.is_paused = log.paused_since.is_some();
            figures.is_running = log.running().next().is_some();
            let next = spec.timing.next(clock::now());
            figures.next_due = next.filter(|_| !figures.is_paused);
            for row in rows {
                match row {
                    Row::Skipped(skipped) => {
                        figures.add(Outcome::Skipped.word(), skipped.count);
                    }
                    Row::End(end) => figures.add(end.outcome.word(), 1),
                    _ => {}
                }
            }
        });
    }

    /// Takes the report of a run of this server.
    pub(super) fn ended(&self, report: &RunReport) {
        self.of(&report.schedule, |figures| {
            figures.add(report.outcome.word(), 1);
            figures.is_running = false;
            figures.last_end = Some(report.ended);
            let length = report.ended.duration_since(report.started);
            figures.last_seconds = Some(length.as_secs_f64());
            if report.outcome == Outcome::Done {
                figures.last_look = Some(report.ended);
            }
            for result in &report.ensembles {
                figures.add_answers(&result.document, report.ended);
            }
        });
    }

    pub(super) fn delivered(&self, event: &DeliveryEvent) {
        self.change(|snapshot| {
            let notices = &mut snapshot.notices;
            let count = match event.outcome {
                DeliveryOutcome::Delivered => &mut notices.delivered,
                DeliveryOutcome::Postponed { .. } => &mut notices.failed,
                DeliveryOutcome::GivenUp { .. } => &mut notices.given_up,
            };
            *count += 1;
        });
    }

    /// Takes the number of waiting notices.
    pub(super) fn queued(&self, count: usize) {
        self.change(|snapshot| snapshot.notices.queued = count as u64);
    }

    /// Takes the time at which the server last looked at all schedules.
    pub(super) fn beat(&self, now: Timestamp) {
        self.change(|snapshot| snapshot.last_beat = Some(now));
    }

    /// Takes whether the log of a schedule can be written.
    pub(super) fn broken(&self, schedule: &str, is_broken: bool) {
        self.of(schedule, |figures| figures.is_broken = is_broken);
    }
}
