//! Renders events of runs over hosts.
//!
//! [`HostLines`] turns events into lines prefixed with their host, and [`host_event`] gives JSON lines
//! instead.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::host_summary::{OutcomeWord, name_of};
use super::words;
use crate::host::Stream;
use crate::tasks::{HostEnd, HostEvent, HostOutcome};
use crate::text::{Delivery, OutputFilter};
use crate::value::Value;

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
            HostEvent::StepFinished { host } => self.flush(host.as_ref()),
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
            | HostEvent::Progress { .. }
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
        HostEvent::Progress { host: on, amount } => {
            let mut line = json!({"event": "progress", "host": host(on), "bytes": amount.bytes});
            if amount.total > 0 {
                line["total"] = amount.total.into();
            }
            line
        }
        HostEvent::HostFinished(end) => {
            let mut line = json!({"event": "end", "task": &*end.task, "host": host(&end.host)});
            if let (Some(line), Json::Object(outcome)) = (line.as_object_mut(), outcome_json(end)) {
                line.extend(outcome);
                if !end.registered.is_empty() {
                    line.insert(
                        "registered".to_owned(),
                        json!(Value::from(end.registered.clone())),
                    );
                }
                if !end.returned.is_null() {
                    line.insert("returned".to_owned(), json!(end.returned));
                }
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
        HostEvent::StepFinished { .. } | HostEvent::TaskFinished { .. } => return None,
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::value::Map;

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
            registered: Map::new(),
            returned: Value::Null,
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
}
