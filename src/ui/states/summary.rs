//! Results of states for output: one line per state, counts, and a table of machines.

use std::time::Duration;

use crate::ui::table::{Align, Table};
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

/// Renders a table of machines with their counts and a description of how each ended.
pub fn host_table(hosts: &[(&str, StateCounts, &str)], width: u16) -> String {
    let mut table = Table::new(&["Host", "Ok", "Changed", "Failed", "Result"]);
    for column in 1..4 {
        table = table.align(column, Align::Right);
    }
    let number = |count: usize| match count {
        0 => "-".to_owned(),
        count => count.to_string(),
    };
    for (host, counts, word) in hosts {
        let changed = counts.changed.max(counts.unchanged);
        table.row([
            (*host).to_owned(),
            number(counts.succeeded),
            number(changed),
            number(counts.failed),
            (*word).to_owned(),
        ]);
    }
    table.render(width)
}
