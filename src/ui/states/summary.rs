//! How states of machines went, in numbers.

use std::time::Duration;

use crate::ui::table::{Align, Table};
use crate::value::Map;

/// What became of a state.
#[derive(Debug, Clone, Copy)]
pub struct StateLine<'a> {
    /// Its ID.
    pub id: &'a str,
    /// Its function, with the module.
    pub function: &'a str,
    /// What it is about.
    pub name: &'a str,
    /// How it went (S43).
    pub result: Option<bool>,
    /// What happened.
    pub comment: &'a str,
    /// When it began: the time of day.
    pub started: &'a str,
    /// How long it took.
    pub elapsed: Duration,
    /// What it changed.
    pub changes: &'a Map,
    /// What is odd.
    pub warnings: &'a [String],
    /// What a dry run would do, as commands.
    pub commands: &'a [String],
}

/// How many states of a machine went how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StateCounts {
    /// Those that did not fail.
    pub succeeded: usize,
    /// Those that failed.
    pub failed: usize,
    /// Those that changed something, or failed after they did.
    pub changed: usize,
    /// Those that a dry run would change.
    pub unchanged: usize,
    /// How many warnings there are.
    pub warnings: usize,
    /// How long they took together.
    pub elapsed: Duration,
}

impl StateCounts {
    /// Counts states.
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

    /// All of them.
    pub fn total(&self) -> usize {
        self.succeeded + self.failed
    }
}

/// A table of machines: each with its name, its counts and a word on how it ended.
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
