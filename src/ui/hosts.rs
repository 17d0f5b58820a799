//! Renders events of runs over hosts.
//!
//! [`HostLines`] turns events into lines prefixed with their host, [`HostSummary`] collects the
//! table at the end, and [`host_event`] gives JSON lines instead.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::table::{Align, Table};
use super::words;
use crate::host::Stream;
use crate::tasks::{HostEnd, HostEvent, HostOutcome};
use crate::text::{Delivery, OutputFilter};

/// The name shown in place of a host for a task without hosts (F19).
const LOCAL_ONLY: &str = "<local-only>";
/// The number of hosts up to which the table also lists those without problems.
const MAX_ROWS: usize = 50;

/// The stream that a line is printed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputChannel {
    /// The standard output, for the output of commands.
    Stdout,
    Stderr,
}

/// A complete line for one of the output streams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostLine {
    pub channel: OutputChannel,
    pub text: String,
}

/// The level of detail shown while tasks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HostDetail {
    /// The output of commands, and errors.
    #[default]
    Output,
    /// Also the start of tasks and their steps.
    Steps,
}

/// The streams on which the output of commands keeps its colours.
#[derive(Debug, Clone, Copy, Default)]
pub struct HostColours {
    pub stdout: bool,
    pub stderr: bool,
}

impl HostColours {
    fn of(self, stream: Stream) -> bool {
        match stream {
            Stream::Stdout => self.stdout,
            Stream::Stderr => self.stderr,
        }
    }
}

/// Turns events into lines that name their host (F65).
#[derive(Debug, Default)]
pub struct HostLines {
    detail: HostDetail,
    coloured: HostColours,
    filters: HashMap<(Option<Arc<str>>, Stream), OutputFilter>,
}

impl HostLines {
    /// Creates a converter with a level of detail.
    pub fn new(detail: HostDetail) -> Self {
        Self {
            detail,
            ..Self::default()
        }
    }

    /// Keeps the colours of commands on some streams.
    #[must_use]
    pub fn coloured(mut self, coloured: HostColours) -> Self {
        self.coloured = coloured;
        self
    }

    /// Returns the lines to print for an event.
    pub fn event(&mut self, event: &HostEvent) -> Vec<HostLine> {
        let steps = self.detail == HostDetail::Steps;
        match event {
            HostEvent::Output {
                host,
                stream,
                bytes,
            } => self.output(host.as_ref(), *stream, bytes),
            HostEvent::HostStarted {
                task,
                host: Some(host),
            } if steps => vec![stderr_line(&format!("[{host}] task `{task}` begins"))],
            HostEvent::Step { host, text } if steps => {
                vec![stderr_line(&format!("[{}] {text}", name_of(host.as_ref())))]
            }
            HostEvent::HostFinished(end) => {
                let mut lines = self.flush(end.host.as_ref());
                lines.extend(outcome_line(end).as_deref().map(stderr_line));
                lines
            }
            HostEvent::InputNeeded { host, question } => {
                let host = name_of(host.as_ref());
                vec![stderr_line(&format!("[{host}] needs {question}"))]
            }
            HostEvent::Message { host, text } => lines_of(
                name_of(host.as_ref()),
                Stream::Stdout,
                &OutputFilter::plain(text),
            ),
            HostEvent::Warning(text) => vec![stderr_line(&format!("warning: {text}"))],
            HostEvent::Error(text) => vec![stderr_line(&format!("error: {text}"))],
            HostEvent::TaskStarted { .. }
            | HostEvent::HostStarted { .. }
            | HostEvent::Step { .. }
            | HostEvent::TaskFinished { .. } => Vec::new(),
        }
    }

    fn output(&mut self, host: Option<&Arc<str>>, stream: Stream, bytes: &[u8]) -> Vec<HostLine> {
        let has_colours = self.coloured.of(stream);
        let filter = self.filters.entry((host.cloned(), stream));
        let filter = filter.or_insert_with(|| OutputFilter::new(has_colours, Delivery::Lines));
        lines_of(name_of(host), stream, &filter.push(bytes))
    }

    /// Returns the buffered incomplete lines of a host.
    fn flush(&mut self, host: Option<&Arc<str>>) -> Vec<HostLine> {
        let rest = [Stream::Stdout, Stream::Stderr].map(|stream| {
            let filter = self.filters.remove(&(host.cloned(), stream));
            let rest = filter.map(|mut filter| filter.finish());
            lines_of(name_of(host), stream, &rest.unwrap_or_default())
        });
        rest.concat()
    }
}

fn name_of(host: Option<&Arc<str>>) -> &str {
    host.map_or(LOCAL_ONLY, |host| host)
}

/// Returns a message as one line, in which control characters are escaped.
fn stderr_line(text: &str) -> HostLine {
    HostLine {
        channel: OutputChannel::Stderr,
        text: format!("{}\n", words::one_line(text)),
    }
}

/// Returns the lines of filtered output.
fn lines_of(host: &str, stream: Stream, text: &str) -> Vec<HostLine> {
    let channel = match stream {
        Stream::Stdout => OutputChannel::Stdout,
        Stream::Stderr => OutputChannel::Stderr,
    };
    let host = words::one_line(host);
    let line = |line: &str| HostLine {
        channel,
        text: format!("[{host}] {line}\n"),
    };
    text.lines().map(line).collect()
}

/// Returns the line for a failed or unreachable host.
///
/// A tolerated failure was already reported as a warning.
fn outcome_line(end: &HostEnd) -> Option<String> {
    let host = name_of(end.host.as_ref());
    match &end.outcome {
        HostOutcome::Failed {
            reason,
            tolerated: false,
            ..
        } => {
            let task = &end.task;
            Some(format!("error: [{host}] `{task}` failed: {reason}"))
        }
        HostOutcome::Unreachable { reason, tolerated } => {
            let level = if *tolerated { "warning" } else { "error" };
            Some(format!("{level}: [{host}] {reason}"))
        }
        HostOutcome::Failed { .. }
        | HostOutcome::Ok
        | HostOutcome::Changed
        | HostOutcome::Skipped { .. } => None,
    }
}

/// Returns an event as a JSON object, printed as one line. None for events that are not shown.
pub fn host_event(event: &HostEvent) -> Option<Json> {
    let host = |host: &Option<Arc<str>>| json!(host.as_deref());
    Some(match event {
        HostEvent::TaskStarted { task, hosts, width } => {
            let hosts: Vec<&str> = hosts.iter().map(AsRef::as_ref).collect();
            json!({"event": "task", "task": &**task, "hosts": hosts, "width": width})
        }
        HostEvent::HostStarted { task, host: on } => {
            json!({"event": "begin", "task": &**task, "host": host(on)})
        }
        HostEvent::Step { host: on, text } => {
            json!({"event": "step", "host": host(on), "text": text})
        }
        HostEvent::Output {
            host: on,
            stream,
            bytes,
        } => json!({
            "event": "output", "host": host(on), "stream": stream,
            "text": String::from_utf8_lossy(bytes),
        }),
        HostEvent::HostFinished(end) => {
            let mut line = json!({"event": "end", "task": &*end.task, "host": host(&end.host)});
            if let (Some(line), Json::Object(outcome)) = (line.as_object_mut(), outcome_json(end)) {
                line.extend(outcome);
            }
            line
        }
        HostEvent::InputNeeded { host: on, question } => json!({
            "event": "needed", "host": host(on), "message": format!("needs {question}"),
        }),
        HostEvent::Message { host: on, text } => {
            json!({"event": "message", "host": host(on), "message": text})
        }
        HostEvent::Warning(text) => json!({"event": "warning", "message": text}),
        HostEvent::Error(text) => json!({"event": "error", "message": text}),
        HostEvent::TaskFinished { .. } => return None,
    })
}

fn outcome_json(end: &HostEnd) -> Json {
    let seconds = (end.elapsed.as_secs_f64() * 1000.0).round() / 1000.0;
    let word = OutcomeWord::of(&end.outcome).text();
    match &end.outcome {
        HostOutcome::Ok | HostOutcome::Changed => json!({"outcome": word, "seconds": seconds}),
        HostOutcome::Skipped { reason } => {
            json!({"outcome": word, "reason": reason, "seconds": seconds})
        }
        HostOutcome::Unreachable { reason, tolerated } => json!({
            "outcome": word, "reason": reason, "tolerated": tolerated, "seconds": seconds,
        }),
        HostOutcome::Failed {
            reason,
            last_line,
            tolerated,
        } => json!({
            "outcome": word, "reason": reason, "lastLine": last_line, "tolerated": tolerated,
            "seconds": seconds,
        }),
    }
}

/// An outcome reduced to one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OutcomeWord {
    Ok,
    Changed,
    Failed,
    Skipped,
    Unreachable,
}

impl OutcomeWord {
    const ALL: [Self; 5] = [
        Self::Ok,
        Self::Changed,
        Self::Failed,
        Self::Skipped,
        Self::Unreachable,
    ];

    fn of(outcome: &HostOutcome) -> Self {
        match outcome {
            HostOutcome::Ok => Self::Ok,
            HostOutcome::Changed => Self::Changed,
            HostOutcome::Failed { .. } => Self::Failed,
            HostOutcome::Skipped { .. } => Self::Skipped,
            HostOutcome::Unreachable { .. } => Self::Unreachable,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Changed => "changed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Unreachable => "unreachable",
        }
    }
}

/// The results of one host: a row of the summary table.
#[derive(Debug, Clone, Default)]
struct HostRow {
    counts: [usize; 5],
    elapsed: Duration,
    /// The reason of the last failed, skipped or unreachable outcome.
    note: String,
}

impl HostRow {
    fn count(&self, word: OutcomeWord) -> usize {
        self.counts[word as usize]
    }

    fn runs(&self) -> usize {
        self.counts.iter().sum()
    }

    fn is_quiet(&self) -> bool {
        self.count(OutcomeWord::Ok) + self.count(OutcomeWord::Changed) == self.runs()
    }
}

/// Collects the results of each host.
#[derive(Debug, Default)]
pub struct HostSummary {
    order: Vec<Arc<str>>,
    rows: HashMap<Arc<str>, HostRow>,
}

impl HostSummary {
    /// Updates the results with an event.
    pub fn event(&mut self, event: &HostEvent) {
        let end = match event {
            HostEvent::TaskStarted { hosts, .. } => {
                // The rows follow the order of the hosts, not that in which they end.
                for host in hosts {
                    self.add(host);
                }
                return;
            }
            HostEvent::HostFinished(end) => end,
            _ => return,
        };
        let name: Arc<str> = name_of(end.host.as_ref()).into();
        self.add(&name);
        let row = self.rows.entry(name).or_default();
        row.counts[OutcomeWord::of(&end.outcome) as usize] += 1;
        row.elapsed += end.elapsed;
        match &end.outcome {
            HostOutcome::Failed {
                reason, last_line, ..
            } => {
                row.note = match last_line {
                    Some(line) => format!("{reason}: {line}"),
                    None => reason.clone(),
                }
            }
            HostOutcome::Skipped { reason } | HostOutcome::Unreachable { reason, .. } => {
                row.note.clone_from(reason);
            }
            HostOutcome::Ok | HostOutcome::Changed => {}
        }
    }

    /// Adds a row for a host unless it has one.
    fn add(&mut self, name: &Arc<str>) {
        if !self.rows.contains_key(name) {
            self.order.push(Arc::clone(name));
            self.rows.insert(Arc::clone(name), HostRow::default());
        }
    }

    fn total(&self, word: OutcomeWord) -> usize {
        self.rows.values().map(|row| row.count(word)).sum()
    }

    /// Returns the totals as text, such as `3 ok, 1 failed.`
    pub fn totals_text(&self) -> String {
        let counts = OutcomeWord::ALL.map(|word| (self.total(word), word.text()));
        let counts: Vec<String> = counts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        if counts.is_empty() {
            return "Nothing ran.".to_owned();
        }
        counts.join(", ") + "."
    }

    /// Renders a table with a row per host.
    ///
    /// With many hosts, those without problems are only counted.
    pub fn table(&self, width: u16) -> String {
        let many = self.order.len() > MAX_ROWS;
        let shown = self.order.iter().filter_map(|name| {
            let row = &self.rows[name];
            (!many || !row.is_quiet()).then_some((name, row))
        });
        let shown: Vec<(&Arc<str>, &HostRow)> = shown.collect();
        let table = if shown.is_empty() {
            String::new()
        } else if self.rows.values().all(|row| row.runs() == 1) {
            Self::results(&shown).render(width)
        } else {
            Self::counts(&shown).render(width)
        };
        let quiet = match self.order.len() - shown.len() {
            0 => String::new(),
            quiet => {
                let hosts = words::count(quiet, "host");
                format!("No problems on {hosts} not shown above.\n")
            }
        };
        format!("{table}{quiet}{}\n", self.totals_text())
    }

    /// Returns a table with one outcome per host, for runs of a single task.
    fn results(rows: &[(&Arc<str>, &HostRow)]) -> Table {
        let mut table = Table::new(&["Host", "Result", "Time", "Why"]).align(2, Align::Right);
        for (name, row) in rows {
            let word = OutcomeWord::ALL
                .into_iter()
                .find(|word| row.count(*word) > 0);
            let word = word.map_or("", OutcomeWord::text);
            table.row([name.as_ref(), word, &words::seconds(row.elapsed), &row.note]);
        }
        table
    }

    /// Returns a table with the counts of outcomes per host.
    fn counts(rows: &[(&Arc<str>, &HostRow)]) -> Table {
        let headings = [
            "Host",
            "Ok",
            "Changed",
            "Failed",
            "Skipped",
            "Unreachable",
            "Time",
            "Why",
        ];
        let mut table = Table::new(&headings);
        for column in 1..headings.len() - 1 {
            table = table.align(column, Align::Right);
        }
        for (name, row) in rows {
            let counts = row.counts.map(|count| count.to_string());
            let mut cells = vec![name.to_string()];
            cells.extend(counts);
            cells.extend([words::seconds(row.elapsed), row.note.clone()]);
            table.row(cells);
        }
        table
    }

    /// Returns the summary as the last JSON object of the stream.
    pub fn json(&self, exit_code: u8) -> Json {
        let mut totals = serde_json::Map::new();
        totals.insert("event".to_owned(), json!("summary"));
        for word in OutcomeWord::ALL {
            totals.insert(word.text().to_owned(), json!(self.total(word)));
        }
        totals.insert("hosts".to_owned(), json!(self.order.len()));
        totals.insert("exitCode".to_owned(), json!(exit_code));
        Json::Object(totals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(host: &str, stream: Stream, text: &str) -> HostEvent {
        HostEvent::Output {
            host: Some(host.into()),
            stream,
            bytes: text.into(),
        }
    }

    fn end(host: &str, task: &str, outcome: HostOutcome) -> HostEvent {
        HostEvent::HostFinished(HostEnd {
            task: task.into(),
            host: Some(host.into()),
            outcome,
            elapsed: Duration::from_millis(1250),
        })
    }

    fn failed() -> HostOutcome {
        HostOutcome::Failed {
            reason: "exit code 3".into(),
            last_line: Some("no space left".into()),
            tolerated: false,
        }
    }

    fn unreachable() -> HostOutcome {
        HostOutcome::Unreachable {
            reason: "c port 22 refused the connection".into(),
            tolerated: true,
        }
    }

    #[test]
    fn each_line_names_its_host_also_when_it_comes_in_pieces() {
        let mut lines = HostLines::default();
        let events = [
            output("a", Stream::Stdout, "one\ntw"),
            output("b", Stream::Stdout, "\x1b[31mred\r\n"),
            output("a", Stream::Stderr, "oh\n"),
            output("a", Stream::Stdout, "o\nthree"),
            end("a", "t", failed()),
            end("c", "t", unreachable()),
        ];
        let lines: Vec<HostLine> = events.iter().flat_map(|it| lines.event(it)).collect();
        let text = |channel| -> String {
            let lines = lines.iter().filter(|line| line.channel == channel);
            lines.map(|line| line.text.as_str()).collect()
        };
        insta::assert_snapshot!(text(OutputChannel::Stdout), @r"
        [a] one
        [b] red
        [a] two
        [a] three
        ");
        insta::assert_snapshot!(text(OutputChannel::Stderr), @r"
        [a] oh
        error: [a] `t` failed: exit code 3
        warning: [c] c port 22 refused the connection
        ");
    }

    #[test]
    fn the_table_says_what_came_of_each_host() {
        let mut summary = HostSummary::default();
        for event in [
            end("a", "t", HostOutcome::Ok),
            end("b", "t", failed()),
            end("c", "t", unreachable()),
        ] {
            summary.event(&event);
        }
        insta::assert_snapshot!(summary.table(80), @r"
        ────────────────────────────────────────────────────────────────
         Host   Result        Time     Why
        ────────────────────────────────────────────────────────────────
         a      ok            1.250s
         b      failed        1.250s   exit code 3: no space left
         c      unreachable   1.250s   c port 22 refused the connection
        ────────────────────────────────────────────────────────────────
        1 ok, 1 failed, 1 unreachable.
        ");
        summary.event(&end("a", "u", HostOutcome::Changed));
        insta::assert_snapshot!(summary.table(100), @r"
        ──────────────────────────────────────────────────────────────────────────────────────────────────
         Host   Ok   Changed   Failed   Skipped   Unreachable   Time     Why
        ──────────────────────────────────────────────────────────────────────────────────────────────────
         a       1         1        0         0             0   2.500s
         b       0         0        1         0             0   1.250s   exit code 3: no space left
         c       0         0        0         0             1   1.250s   c port 22 refused the connection
        ──────────────────────────────────────────────────────────────────────────────────────────────────
        1 ok, 1 changed, 1 failed, 1 unreachable.
        ");
        assert_eq!(summary.json(1)["failed"], 1);
    }

    #[test]
    fn of_many_hosts_only_those_are_shown_that_need_a_look() {
        let mut summary = HostSummary::default();
        for host in 0..1000 {
            summary.event(&end(&format!("h{host}"), "t", HostOutcome::Ok));
        }
        summary.event(&end("b", "t", failed()));
        insta::assert_snapshot!(summary.table(80), @r"
        ─────────────────────────────────────────────────────
         Host   Result   Time     Why
        ─────────────────────────────────────────────────────
         b      failed   1.250s   exit code 3: no space left
        ─────────────────────────────────────────────────────
        No problems on 1000 hosts not shown above.
        1000 ok, 1 failed.
        ");
    }
}
