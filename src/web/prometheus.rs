//! The text of `/metrics`, in the format of Prometheus.

use jiff::Timestamp;

use super::process::ProcessFigures;
use crate::schedule::{AnswerMetrics, MetricsSnapshot, ScheduleMetrics};

/// Returns a figure of an answer.
type AnswerGauge = fn(&AnswerMetrics) -> f64;

/// The content type of the format.
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The text so far.
#[derive(Debug, Default)]
struct Exposition(String);

/// The names and values of the labels of a sample.
type Labels<'a> = &'a [(&'a str, &'a str)];

/// Returns the text for a snapshot.
pub(super) fn exposition(snapshot: &MetricsSnapshot, process: ProcessFigures) -> String {
    let mut text = Exposition::default();
    text.family("unfurl_build_info", "gauge", "The version of the program.");
    let version = [("version", env!("CARGO_PKG_VERSION"))];
    text.sample("unfurl_build_info", &version, 1.0);
    text.runs(&snapshot.schedules);
    text.times(&snapshot.schedules);
    text.answers(&snapshot.schedules);
    text.notices(snapshot);
    text.process(snapshot, process);
    text.0
}

impl Exposition {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.0
            .push_str(&format!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
    }

    fn sample(&mut self, name: &str, labels: Labels<'_>, value: f64) {
        self.0.push_str(name);
        for (place, (label, value)) in labels.iter().enumerate() {
            self.0.push(if place == 0 { '{' } else { ',' });
            self.0.push_str(&format!("{label}=\"{}\"", escaped(value)));
        }
        self.0.push_str(if labels.is_empty() { "" } else { "}" });
        self.0.push_str(&format!(" {value}\n"));
    }

    fn runs(&mut self, schedules: &[ScheduleMetrics]) {
        let name = "unfurl_schedule_runs_total";
        self.family(
            name,
            "counter",
            "Due times and runs since the start, by result.",
        );
        for schedule in schedules {
            for (result, count) in &schedule.runs {
                let labels = [("schedule", &*schedule.name), ("result", result)];
                self.sample(name, &labels, count_of(*count));
            }
        }
    }

    fn times(&mut self, schedules: &[ScheduleMetrics]) {
        type Read = fn(&ScheduleMetrics) -> Option<f64>;
        let gauges: [(&str, &str, Read); 6] = [
            (
                "unfurl_schedule_last_run_timestamp_seconds",
                "The end of the last run.",
                |it| it.last_end.map(seconds),
            ),
            (
                "unfurl_schedule_last_run_duration_seconds",
                "The length of the last run.",
                |it| it.last_seconds,
            ),
            (
                "unfurl_schedule_last_look_timestamp_seconds",
                "The end of the last run that gave an answer.",
                |it| it.last_look.map(seconds),
            ),
            (
                "unfurl_schedule_next_due_timestamp_seconds",
                "The next due time.",
                |it| it.next_due.map(seconds),
            ),
            (
                "unfurl_schedule_running",
                "1 while a run of the schedule continues.",
                |it| Some(f64::from(u8::from(it.is_running))),
            ),
            (
                "unfurl_schedule_paused",
                "1 while the schedule is paused.",
                |it| Some(f64::from(u8::from(it.is_paused))),
            ),
        ];
        for (name, help, read) in gauges {
            self.family(name, "gauge", help);
            for schedule in schedules {
                if let Some(value) = read(schedule) {
                    self.sample(name, &[("schedule", &schedule.name)], value);
                }
            }
        }
    }

    fn answers(&mut self, schedules: &[ScheduleMetrics]) {
        let answers = || {
            schedules
                .iter()
                .flat_map(|schedule| schedule.answers.iter().map(|it| (&*schedule.name, it)))
        };
        let name = "unfurl_drift_findings";
        self.family(name, "gauge", "Findings that no rule ignores, by kind.");
        for (schedule, answer) in answers() {
            for (kind, count) in &answer.findings {
                let ensemble = ("ensemble", &*answer.ensemble);
                let labels = [("schedule", schedule), ensemble, ("kind", kind)];
                self.sample(name, &labels, count_of(*count));
            }
        }
        let gauges: [(&str, &str, AnswerGauge); 4] = [
            (
                "unfurl_drift_ignored_findings",
                "Findings that a rule ignores.",
                |it| count_of(it.ignored),
            ),
            (
                "unfurl_drift_looked_at",
                "Instances or states that could be looked at.",
                |it| count_of(it.looked_at),
            ),
            (
                "unfurl_drift_total",
                "All instances or states in question.",
                |it| count_of(it.total),
            ),
            (
                "unfurl_drift_answer_timestamp_seconds",
                "The time of the last answer.",
                |it| seconds(it.at),
            ),
        ];
        for (name, help, read) in gauges {
            self.family(name, "gauge", help);
            for (schedule, answer) in answers() {
                let labels = [("schedule", schedule), ("ensemble", &*answer.ensemble)];
                self.sample(name, &labels, read(answer));
            }
        }
    }

    fn notices(&mut self, snapshot: &MetricsSnapshot) {
        let name = "unfurl_notices_total";
        self.family(
            name,
            "counter",
            "Attempts to deliver notices since the start, by result.",
        );
        let notices = &snapshot.notices;
        for (result, count) in [
            ("delivered", notices.delivered),
            ("failed", notices.failed),
            ("given-up", notices.given_up),
        ] {
            self.sample(name, &[("result", result)], count_of(count));
        }
        let name = "unfurl_notices_queued";
        self.family(name, "gauge", "Notices that wait for their delivery.");
        self.sample(name, &[], count_of(notices.queued));
    }

    fn process(&mut self, snapshot: &MetricsSnapshot, process: ProcessFigures) {
        let files = process.open_files.map(|count| count_of(count as u64));
        let figures = [
            (
                "process_start_time_seconds",
                "The start of the process.",
                snapshot.started.map(seconds),
            ),
            (
                "process_resident_memory_bytes",
                "The memory of the process.",
                process.resident_bytes.map(count_of),
            ),
            (
                "process_open_fds",
                "The open descriptors of the process.",
                files,
            ),
        ];
        for (name, help, value) in figures {
            if let Some(value) = value {
                self.family(name, "gauge", help);
                self.sample(name, &[], value);
            }
        }
    }
}

/// Returns a time in seconds since 1970.
fn seconds(time: Timestamp) -> f64 {
    // Milliseconds fit into a float for 285,000 years.
    #[expect(clippy::cast_precision_loss, reason = "milliseconds are exact enough")]
    let millis = time.as_millisecond() as f64;
    millis / 1000.0
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts stay far below the limit"
)]
fn count_of(count: u64) -> f64 {
    count as f64
}

/// Returns the value of a label with the escapes of the format.
fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
