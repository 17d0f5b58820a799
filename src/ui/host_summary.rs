//! The summary of a run over hosts: totals first, then hosts with the same outcome together.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::host_groups::{group_hosts, host_list, without_name};
use super::paint::{Paint, Tone};
use super::words;
use crate::tasks::{HostEvent, HostOutcome};

/// The name shown in place of a host for a task without hosts (F19).
const LOCAL_ONLY: &str = "<local-only>";
/// The number of names and ranges of hosts that a line about hosts without problems lists.
const MAX_LISTED: usize = 12;

/// Returns the name of a host for output.
pub(super) fn name_of(host: Option<&Arc<str>>) -> &str {
    host.map_or(LOCAL_ONLY, |host| host)
}

/// An outcome reduced to one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutcomeWord {
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

    /// The words in the order in which people look for them: problems first.
    const BY_SEVERITY: [Self; 5] = [
        Self::Failed,
        Self::Unreachable,
        Self::Skipped,
        Self::Changed,
        Self::Ok,
    ];

    pub(super) fn of(outcome: &HostOutcome) -> Self {
        match outcome {
            HostOutcome::Ok => Self::Ok,
            HostOutcome::Changed => Self::Changed,
            HostOutcome::Failed { .. } => Self::Failed,
            HostOutcome::Skipped { .. } => Self::Skipped,
            HostOutcome::Unreachable { .. } => Self::Unreachable,
        }
    }

    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Changed => "changed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Unreachable => "unreachable",
        }
    }

    fn tone(self) -> Tone {
        match self {
            Self::Ok => Tone::Good,
            Self::Changed | Self::Skipped => Tone::Warning,
            Self::Failed | Self::Unreachable => Tone::Bad,
        }
    }
}

/// The number of outcomes of each kind, indexed by [`OutcomeWord`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct OutcomeCounts([usize; 5]);

impl OutcomeCounts {
    fn of(self, word: OutcomeWord) -> usize {
        self.0[word as usize]
    }

    /// Lists the counts, problems first: `1 failed, 3 ok`.
    fn text(self, paint: Paint) -> String {
        let words = OutcomeWord::BY_SEVERITY.into_iter();
        let words = words.filter(|word| self.of(*word) > 0);
        let words = words
            .map(|word| paint.tone(word.tone(), &format!("{} {}", self.of(word), word.text())));
        match words.collect::<Vec<_>>() {
            words if words.is_empty() => "nothing ran".to_owned(),
            words => words.join(", "),
        }
    }

    /// Returns the place of a group with these counts: failures first.
    fn severity(self) -> usize {
        let worst = OutcomeWord::BY_SEVERITY.into_iter();
        worst.take_while(|word| self.of(*word) == 0).count()
    }

    fn is_quiet(self) -> bool {
        let quiet = self.of(OutcomeWord::Ok) + self.of(OutcomeWord::Changed);
        quiet == self.0.iter().sum::<usize>()
    }
}

/// The results of one host.
#[derive(Debug, Clone, Default)]
struct HostRow {
    counts: OutcomeCounts,
    elapsed: Duration,
    /// The reason of the last failed, skipped or unreachable outcome.
    note: String,
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
        row.counts.0[OutcomeWord::of(&end.outcome) as usize] += 1;
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
        self.rows.values().map(|row| row.counts.of(word)).sum()
    }

    /// Renders the totals, and a line for all hosts with the same outcome, failures first.
    pub fn text(&self, paint: Paint) -> String {
        let rows = self.order.iter().map(|name| {
            let row = &self.rows[name];
            (&**name, (row.counts, without_name(&row.note, name)))
        });
        let mut groups: Vec<_> = group_hosts(rows).into_iter().collect();
        groups.sort_by_key(|((counts, _), _)| counts.severity());
        let totals = OutcomeCounts(OutcomeWord::ALL.map(|word| self.total(word)));
        let mut text = match self.order.len() {
            0 => return "Nothing ran.\n".to_owned(),
            1 => String::new(),
            hosts => format!("{}: {}.\n", words::count(hosts, "host"), totals.text(paint)),
        };
        for ((counts, note), hosts) in groups {
            let max = if counts.is_quiet() {
                MAX_LISTED
            } else {
                usize::MAX
            };
            let names = paint.tone(Tone::Strong, &host_list(&hosts, max));
            let note = match hosts.as_slice() {
                [only] => self.rows[*only].note.clone(),
                _ => note,
            };
            let note = if note.is_empty() {
                note
            } else {
                format!(": {}", words::one_line(&note))
            };
            let (counts, time) = (counts.text(paint), self.time_text(&hosts, paint));
            text.push_str(&format!("{names}: {counts}{time}{note}\n"));
        }
        text
    }

    /// Returns the time that hosts took, from the shortest to the longest.
    fn time_text(&self, hosts: &[&str], paint: Paint) -> String {
        let times = || hosts.iter().map(|name| self.rows[*name].elapsed);
        let (shortest, longest) = (times().min(), times().max());
        let text = |time: Option<Duration>| words::seconds(time.unwrap_or_default());
        let (shortest, longest) = (text(shortest), text(longest));
        let text = if shortest == longest {
            format!(" in {longest}")
        } else {
            format!(" in {shortest} to {longest}")
        };
        paint.tone(Tone::Dim, &text)
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
    use super::super::paint::without_colours;
    use super::*;
    use crate::tasks::HostEnd;

    fn end(host: &str, task: &str, outcome: HostOutcome) -> HostEvent {
        HostEvent::HostFinished(HostEnd {
            task: task.into(),
            host: Some(host.into()),
            outcome,
            elapsed: Duration::from_millis(1250),
            registered: crate::value::Map::new(),
            returned: crate::value::Value::Null,
        })
    }

    fn failed(line: &str) -> HostOutcome {
        HostOutcome::Failed {
            reason: "exit code 3".into(),
            last_line: Some(line.into()),
            tolerated: false,
        }
    }

    fn unreachable(host: &str) -> HostOutcome {
        HostOutcome::Unreachable {
            reason: format!("{host} port 22 refused the connection"),
            tolerated: true,
        }
    }

    /// Returns the text, and asserts that colours do not change its words.
    fn text(summary: &HostSummary) -> String {
        let plain = summary.text(Paint::plain());
        let coloured = summary.text(Paint::new(true));
        assert_ne!(coloured, plain);
        assert_eq!(without_colours(&coloured), plain);
        plain
    }

    #[test]
    fn hosts_with_the_same_outcome_are_one_block_and_failures_come_first() {
        let mut summary = HostSummary::default();
        for host in 1..=40 {
            summary.event(&end(&format!("web{host}"), "t", HostOutcome::Changed));
        }
        for host in ["db", "cache", "queue"] {
            summary.event(&end(host, "t", failed("no space left")));
            summary.event(&end(
                &format!("x-{host}"),
                "t",
                unreachable(&format!("x-{host}")),
            ));
        }
        summary.event(&end("mail", "t", failed("no route")));
        summary.event(&end("mail", "u", HostOutcome::Ok));
        insta::assert_snapshot!(text(&summary), @r"
        47 hosts: 4 failed, 3 unreachable, 40 changed, 1 ok.
        db, cache, queue: 1 failed in 1.250s: exit code 3: no space left
        mail: 1 failed, 1 ok in 2.500s: exit code 3: no route
        x-db, x-cache, x-queue: 1 unreachable in 1.250s: HOST port 22 refused the connection
        web1–web40: 1 changed in 1.250s
        ");
        assert_eq!(summary.json(1)["failed"], 4);
    }

    #[test]
    fn a_single_host_has_one_line() {
        let mut summary = HostSummary::default();
        insta::assert_snapshot!(summary.text(Paint::plain()), @"Nothing ran.");
        summary.event(&end("c", "t", unreachable("c")));
        insta::assert_snapshot!(text(&summary), @"c: 1 unreachable in 1.250s: c port 22 refused the connection");
    }

    #[test]
    fn of_many_hosts_without_problems_only_some_are_listed() {
        let mut summary = HostSummary::default();
        for host in 0..1000 {
            summary.event(&end(&format!("h{}", 2 * host), "t", HostOutcome::Ok));
        }
        summary.event(&end("b", "t", failed("\x1b[31mred")));
        insta::assert_snapshot!(text(&summary), @r"
        1001 hosts: 1 failed, 1000 ok.
        b: 1 failed in 1.250s: exit code 3: \u001b[31mred
        h0, h2, h4, h6, h8, h10, h12, h14, h16, h18, h20, h22 and 988 more: 1 ok in 1.250s
        ");
    }
}
