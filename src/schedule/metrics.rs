//! The figures of a process that runs schedules, for its metrics server.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use serde_json::Value as Json;

use super::notice::EnsembleReport;

/// The figures that a process keeps up to date and a metrics server reads.
pub type SharedMetrics = Arc<Mutex<MetricsSnapshot>>;

/// The figures at an instant.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MetricsSnapshot {
    /// The start of the process.
    pub started: Option<Timestamp>,
    /// The time at which the process last looked at all schedules.
    pub last_beat: Option<Timestamp>,
    pub schedules: Vec<ScheduleMetrics>,
    pub notices: NoticeMetrics,
}

/// The figures of a schedule.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScheduleMetrics {
    pub name: Arc<str>,
    /// The number of due times and runs since the start of the process, by the word for their result.
    pub runs: BTreeMap<String, u64>,
    /// The end and the length of the last run.
    pub last_end: Option<Timestamp>,
    pub last_seconds: Option<f64>,
    /// The end of the last run that gave an answer.
    pub last_look: Option<Timestamp>,
    pub next_due: Option<Timestamp>,
    pub is_running: bool,
    pub is_paused: bool,
    /// True while the log cannot be written, so that nothing runs.
    pub is_broken: bool,
    /// The last answer about each ensemble.
    pub answers: Vec<AnswerMetrics>,
}

/// The figures of an answer about an ensemble.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerMetrics {
    pub ensemble: Arc<str>,
    pub at: Timestamp,
    /// The number of findings that no rule ignores, by kind.
    pub findings: BTreeMap<&'static str, u64>,
    pub ignored: u64,
    pub looked_at: u64,
    pub total: u64,
}

/// The number of attempts to deliver notices since the start of the process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NoticeMetrics {
    pub delivered: u64,
    /// Attempts that will be repeated.
    pub failed: u64,
    pub given_up: u64,
    /// The number of notices that wait now.
    pub queued: u64,
}

impl MetricsSnapshot {
    /// Returns the figures of a schedule, which are added if there are none.
    pub fn schedule(&mut self, name: &str) -> &mut ScheduleMetrics {
        let place = self.schedules.iter().position(|it| &*it.name == name);
        let place = place.unwrap_or_else(|| {
            self.schedules.push(ScheduleMetrics {
                name: name.into(),
                ..ScheduleMetrics::default()
            });
            self.schedules.len() - 1
        });
        &mut self.schedules[place]
    }
}

impl ScheduleMetrics {
    /// Adds to the number of due times and runs with a result.
    pub fn add(&mut self, result: &str, count: u64) {
        *self.runs.entry(result.to_owned()).or_default() += count;
    }

    /// Takes the answers of the document that `unfurl drift --output json` prints. Answers about other ensembles stay.
    pub fn add_answers(&mut self, document: &Json, at: Timestamp) {
        let documents = document.get("ensembles").and_then(Json::as_array);
        let documents = documents.into_iter().flatten();
        for (answer, report) in documents.zip(EnsembleReport::read(document)) {
            if report.problem.is_some() {
                continue;
            }
            let number = |key: &str| answer.get(key).and_then(Json::as_u64).unwrap_or_default();
            let (findings, ignored) = report.counts();
            self.answers.retain(|it| it.ensemble != report.name);
            self.answers.push(AnswerMetrics {
                ensemble: report.name,
                at,
                findings,
                ignored,
                looked_at: number("looked_at"),
                total: number("total"),
            });
        }
        self.answers.sort_by(|a, b| a.ensemble.cmp(&b.ensemble));
    }
}
