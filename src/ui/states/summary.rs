//! Results of states for output: one line per state, counts, and the summary of a run over hosts.

use std::time::Duration;

use crate::ui::host_groups::{group_hosts, host_list, without_name};
use crate::ui::paint::{Paint, Tone};
use crate::ui::words;
use crate::value::Map;

/// The result of one state for output.
#[derive(Debug, Clone, Copy)]
pub struct StateLine<'a> {
    pub id: &'a str,
    /// The function with its module, such as `pkg.installed`.
    pub function: &'a str,
    /// The object that the state manages.
    pub name: &'a str,
    /// The result (S43): true for success, false for failure, None for a change that test mode left
    /// out.
    pub result: Option<bool>,
    /// The comment of the state module.
    pub comment: &'a str,
    /// The time of day at which the state started.
    pub started: &'a str,
    pub elapsed: Duration,
    /// The changes that the state made.
    pub changes: &'a Map,
    pub warnings: &'a [String],
    /// The commands that a dry run would have run.
    pub commands: &'a [String],
}

/// The counts of results of a machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StateCounts {
    /// States that succeeded, or would succeed after a change in test mode.
    pub succeeded: usize,
    pub failed: usize,
    /// States with changes, including those that failed after a change.
    pub changed: usize,
    /// States that succeeded and have no changes.
    pub same: usize,
    /// States that would make changes in test mode.
    pub unchanged: usize,
    /// The number of warnings of all states.
    pub warnings: usize,
    /// The total duration of all states.
    pub elapsed: Duration,
}

impl StateCounts {
    pub fn of(states: &[StateLine<'_>]) -> Self {
        let mut counts = Self::default();
        for state in states {
            match state.result {
                Some(false) => counts.failed += 1,
                Some(true) | None => counts.succeeded += 1,
            }
            let is_same = state.result == Some(true) && state.changes.is_empty();
            counts.same += usize::from(is_same);
            counts.changed += usize::from(!state.changes.is_empty());
            counts.unchanged += usize::from(state.result.is_none());
            counts.warnings += state.warnings.len();
            counts.elapsed += state.elapsed;
        }
        counts
    }

    /// Returns the number of all states.
    pub fn total(&self) -> usize {
        self.succeeded + self.failed
    }
}

/// The states of one host for the summary of a run over hosts.
#[derive(Debug, Clone, Copy)]
pub struct HostStates<'a> {
    pub host: &'a str,
    pub counts: StateCounts,
    /// The words for the end of the host, such as the reason why it was lost. Empty if it reached the end.
    pub end: &'a str,
    pub has_failed: bool,
}

/// Renders the totals of a run, and a line for all hosts with the same outcome, failures first.
pub fn host_states_text(hosts: &[HostStates<'_>], paint: Paint) -> String {
    let rows = hosts.iter().map(|of| {
        let outcome = (
            !of.has_failed,
            counts_text(&of.counts, paint),
            without_name(of.end, of.host),
        );
        (of.host, outcome)
    });
    let mut groups: Vec<_> = group_hosts(rows).into_iter().collect();
    groups.sort_by_key(|((is_good, ..), _)| *is_good);
    let failed = hosts.iter().filter(|of| of.has_failed).count();
    let totals = [
        (failed, "failed", Tone::Bad),
        (hosts.len() - failed, "ok", Tone::Good),
    ];
    let mut text = format!(
        "{}: {}.\n",
        words::count(hosts.len(), "host"),
        listed(&totals, paint)
    );
    for ((_, counts, end), names) in groups {
        let end = match names.as_slice() {
            [only] => hosts
                .iter()
                .find(|of| of.host == *only)
                .map_or("", |of| of.end),
            _ => &end,
        };
        let parts = [counts.as_str(), &words::one_line(end)];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let names = paint.tone(Tone::Strong, &host_list(&names, usize::MAX));
        text.push_str(&format!("{names}: {}\n", parts.join("; ")));
    }
    text
}

/// Lists the counts of states: `1 failed, 3 changed, 2 unchanged`.
fn counts_text(counts: &StateCounts, paint: Paint) -> String {
    let rest = counts.unchanged + counts.same;
    let changed = counts.succeeded.saturating_sub(rest);
    let parts = [
        (counts.failed, "failed", Tone::Bad),
        (counts.unchanged, "would change", Tone::Warning),
        (changed, "changed", Tone::Warning),
        (counts.same, "unchanged", Tone::Good),
    ];
    listed(&parts, paint)
}

/// Lists the counts that are not 0.
fn listed(counts: &[(usize, &str, Tone)], paint: Paint) -> String {
    let words = counts.iter().filter(|(count, ..)| *count > 0);
    let words = words.map(|(count, word, tone)| paint.tone(*tone, &format!("{count} {word}")));
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::paint::without_colours;

    #[test]
    fn hosts_with_the_same_outcome_are_one_line_and_failures_come_first() {
        let counts = StateCounts {
            succeeded: 5,
            changed: 3,
            same: 2,
            ..StateCounts::default()
        };
        let names: Vec<String> = (1..=40).map(|nth| format!("web{nth}")).collect();
        let good = |host| HostStates {
            host,
            counts,
            end: "",
            has_failed: false,
        };
        let mut hosts: Vec<HostStates<'_>> = names.iter().map(|name| good(name)).collect();
        let lost = StateCounts {
            succeeded: 1,
            same: 1,
            failed: 1,
            ..StateCounts::default()
        };
        hosts.push(HostStates {
            counts: lost,
            end: "lost: db port 22 refused the connection; 3 states not reached",
            has_failed: true,
            ..good("db")
        });
        let tested = StateCounts {
            succeeded: 4,
            changed: 2,
            unchanged: 2,
            same: 2,
            ..StateCounts::default()
        };
        hosts.push(HostStates {
            counts: tested,
            ..good("test")
        });
        let plain = host_states_text(&hosts, Paint::plain());
        insta::assert_snapshot!(plain, @r"
        42 hosts: 1 failed, 41 ok.
        db: 1 failed, 1 unchanged; lost: db port 22 refused the connection; 3 states not reached
        web1–web40: 3 changed, 2 unchanged
        test: 2 would change, 2 unchanged
        ");
        assert_eq!(
            without_colours(&host_states_text(&hosts, Paint::new(true))),
            plain
        );
    }
}
