//! Renders the states of a machine like Salt's highstate outputter.
//!
//! Each state is a block or a single line, depending on [`StateDetail`]; a summary follows.

use std::fmt::Write as _;
use std::time::Duration;

use super::nested::nested;
use super::summary::{StateCounts, StateLine};
use crate::name::EnumWords;
use crate::ui::words::one_line;
use crate::value::Value;

/// The column at which the values of a block start.
const INDENT: usize = 14;

/// The level of detail for each state (Salt's `state_output`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StateDetail {
    /// A full block for each state.
    #[default]
    Full,
    /// A single line for each state.
    Terse,
    /// A full block for failed states, one line for others.
    Mixed,
    /// A full block for failed or changed states, one line for others.
    Changes,
}

impl EnumWords for StateDetail {
    const WORDS: &'static [(Self, &'static str, &'static str)] = &[
        (Self::Full, "full", "Every state as a block"),
        (Self::Terse, "terse", "Every state as one line"),
        (
            Self::Mixed,
            "mixed",
            "Failed states as a block, others as one line",
        ),
        (
            Self::Changes,
            "changes",
            "Failed or changed states as a block, others as one line",
        ),
    ];
}

/// Renders the states of a machine under its name, followed by the summary.
///
/// Unless `verbose` is set, successful states without changes are left out.
pub fn state_lines(
    machine: &str,
    states: &[StateLine<'_>],
    detail: StateDetail,
    verbose: bool,
) -> String {
    let mut text = format!("{}:\n", one_line(machine));
    for state in states {
        let is_quiet = state.result == Some(true) && state.changes.is_empty();
        if is_quiet && !verbose {
            continue;
        }
        let is_short = match detail {
            StateDetail::Full => false,
            StateDetail::Terse => true,
            StateDetail::Mixed => state.result != Some(false),
            StateDetail::Changes => state.result != Some(false) && state.changes.is_empty(),
        };
        if is_short {
            terse(state, &mut text);
        } else {
            block(state, &mut text);
        }
    }
    text.push_str(&state_summary(machine, &StateCounts::of(states)));
    text
}

fn block(state: &StateLine<'_>, text: &mut String) {
    text.push_str("----------\n");
    field("ID", state.id, text);
    field("Function", state.function, text);
    if state.name != state.id {
        field("Name", state.name, text);
    }
    field("Result", result_word(state.result), text);
    field("Comment", state.comment, text);
    field("Started", state.started, text);
    field("Duration", &milliseconds(state.elapsed), text);
    text.push_str("     Changes:   \n");
    if !state.changes.is_empty() {
        nested(&Value::from(state.changes.clone()), INDENT, text);
    }
    if !state.commands.is_empty() {
        field("Commands", &state.commands.join("\n"), text);
    }
    for warning in state.warnings {
        field("Warnings", warning, text);
    }
}

/// Appends a field of a block. Further lines of its value are indented below the first.
fn field(name: &str, words: &str, text: &mut String) {
    let mut lines = words.lines();
    let first = lines.next().unwrap_or("");
    let first = one_line(first);
    let line = format!("{name:>12}: {first}");
    text.push_str(line.trim_end_matches('\n'));
    text.push('\n');
    for line in lines {
        text.extend(std::iter::repeat_n(' ', INDENT));
        text.push_str(&one_line(line));
        text.push('\n');
    }
}

fn terse(state: &StateLine<'_>, text: &mut String) {
    let word = match state.result {
        Some(false) => "Failed",
        None => "Differs",
        Some(true) if state.changes.is_empty() => "Clean",
        Some(true) => "Changed",
    };
    let StateLine {
        name,
        function,
        started,
        ..
    } = state;
    let name = one_line(name);
    let elapsed = milliseconds(state.elapsed);
    text.push_str("  Name: ");
    text.push_str(&name);
    text.push_str(" - Function: ");
    text.push_str(function);
    let _ = writeln!(
        text,
        " - Result: {word} - Started: {started} - Duration: {elapsed}"
    );
}

fn result_word(result: Option<bool>) -> &'static str {
    match result {
        Some(true) => "True",
        Some(false) => "False",
        None => "None",
    }
}

/// Formats a duration in milliseconds with up to three decimals.
fn milliseconds(elapsed: Duration) -> String {
    let text = format!("{:.3}", elapsed.as_secs_f64() * 1000.0);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text} ms")
}

/// Renders the summary of a machine: the counts of results and the total time (S46).
pub fn state_summary(machine: &str, counts: &StateCounts) -> String {
    let mut parts = Vec::new();
    for (word, count) in [("unchanged", counts.unchanged), ("changed", counts.changed)] {
        if count > 0 {
            parts.push(format!("{word}={count}"));
        }
    }
    let parts = if parts.is_empty() {
        String::new()
    } else {
        format!(" ({})", parts.join(", "))
    };
    let digits = [
        counts.succeeded,
        counts.failed,
        counts.warnings,
        counts.total(),
    ];
    let width = digits.map(|it| it.to_string().len()).into_iter().max();
    let width = width.unwrap_or(1);
    let mut text = format!("\nSummary for {}\n", one_line(machine));
    let rule = "-".repeat(11 + width);
    let _ = writeln!(text, "{rule}");
    let _ = writeln!(text, "Succeeded: {:>width$}{parts}", counts.succeeded);
    let _ = writeln!(text, "Failed:    {:>width$}", counts.failed);
    if counts.warnings > 0 {
        let _ = writeln!(text, "Warnings:  {:>width$}", counts.warnings);
    }
    let _ = writeln!(text, "{rule}");
    let _ = writeln!(
        text,
        "Total states run: {:>it$}",
        counts.total(),
        it = width + 4
    );
    let _ = writeln!(text, "Total run time: {}", run_time(counts.elapsed));
    text
}

fn run_time(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    if seconds >= 1.0 {
        format!("{seconds:>7.3} s")
    } else {
        format!("{:>7.3} ms", seconds * 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Map;

    fn line<'a>(id: &'a str, result: Option<bool>, changes: &'a Map) -> StateLine<'a> {
        StateLine {
            id,
            function: "cmd.run",
            name: "echo hi",
            result,
            comment: "one\ntwo",
            started: "10:11:12.000001",
            elapsed: Duration::from_micros(10_846),
            changes,
            warnings: &[],
            commands: &[],
        }
    }

    #[test]
    fn states_are_shown_as_salt_shows_them() {
        let none = Map::new();
        let changes: Map = [("retcode".into(), 0.into())].into_iter().collect();
        let states = [
            line("a", Some(true), &changes),
            line("b", Some(false), &none),
            line("c", Some(true), &none),
        ];
        insta::assert_snapshot!(state_lines("web1", &states, StateDetail::Changes, true), @r"
        web1:
        ----------
                  ID: a
            Function: cmd.run
                Name: echo hi
              Result: True
             Comment: one
                      two
             Started: 10:11:12.000001
            Duration: 10.846 ms
             Changes:   
                      ----------
                      retcode:
                          0
        ----------
                  ID: b
            Function: cmd.run
                Name: echo hi
              Result: False
             Comment: one
                      two
             Started: 10:11:12.000001
            Duration: 10.846 ms
             Changes:   
          Name: echo hi - Function: cmd.run - Result: Clean - Started: 10:11:12.000001 - Duration: 10.846 ms

        Summary for web1
        ------------
        Succeeded: 2 (changed=1)
        Failed:    1
        ------------
        Total states run:     3
        Total run time:  32.538 ms
        ");
    }
}
