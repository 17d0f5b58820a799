//! Shows the progress and the results of states on machines.
//!
//! [`StatesScreen`] implements the port `StatesView` of `fleet::states`; [`show`] and
//! [`report_json`] print the results.

use std::collections::HashMap;

use serde_json::{Map as JsonMap, Value as Json, json};

use crate::cli::args::format::HostOutput;
use crate::cli::output::Output;
use crate::cli::screen::hosts::HostScreen;
use crate::fleet::states::{MachineEnd, MachineReport, StatesReport, StatesView};
use crate::fleet::tasks::HostsView as _;
use crate::host::change::Change;
use crate::host::{Question, Secret};
use crate::job::LogLevel;
use crate::states::{StateResult, to_value};
use crate::system::signals::Interrupts;
use crate::ui::{Progress, StateCounts, StateDetail, StateLine, host_table, state_lines};

/// The view of a run of states: shows progress and asks for passwords.
pub(in crate::cli) struct StatesScreen<'a> {
    output: &'a Output,
    host_screen: HostScreen<'a>,
    progress: Progress,
    is_shown: bool,
}

impl<'a> StatesScreen<'a> {
    pub(in crate::cli) fn new(output: &'a Output, interrupts: Interrupts) -> Self {
        Self {
            output,
            host_screen: HostScreen::new(output, HostOutput::Text, interrupts),
            progress: Progress::silent(),
            is_shown: output.terminal && !output.quiet,
        }
    }
}

impl StatesView for StatesScreen<'_> {
    fn run_started(&mut self, _machines: usize, states: usize) {
        if self.is_shown {
            self.progress = Progress::on_stderr(states as u64);
        }
    }

    fn state_started(&mut self, machine: &str, state: &str) {
        self.progress.started(&format!("{machine}: {state}"));
        self.output
            .message(LogLevel::Verbose, &format!("[{machine}] {state}"));
    }

    fn state_finished(&mut self, machine: &str, state: &str) {
        self.progress.finished(&format!("{machine}: {state}"));
    }

    fn prompt_secret(&mut self, question: &Question) -> Option<Secret> {
        self.host_screen.prompt_secret(question)
    }
}

/// The level of detail in which results of states are shown.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::cli) struct StateDisplay {
    pub(in crate::cli) detail: StateDetail,
    pub(in crate::cli) verbose: bool,
}

/// Prints the results of all machines as text.
pub(in crate::cli) fn show(
    report: &StatesReport,
    shown: StateDisplay,
    over_hosts: bool,
    output: &Output,
) {
    let mut text = String::new();
    let mut rows: Vec<(&str, StateCounts, String)> = Vec::new();
    for machine in &report.machines {
        let started: Vec<String> = machine
            .results
            .iter()
            .map(|result| result.start.time_of_day())
            .collect();
        let functions: HashMap<u32, String> = machine
            .results
            .iter()
            .map(|result| (result.number, format!("{}.{}", result.state, result.fun)))
            .collect();
        let commands: Vec<Vec<String>> = machine.results.iter().map(commands).collect();
        let lines: Vec<StateLine<'_>> = machine
            .results
            .iter()
            .zip(started.iter().zip(&commands))
            .map(|(result, (started, commands))| StateLine {
                commands,
                ..line(result, &functions[&result.number], started)
            })
            .collect();
        if !lines.is_empty() {
            text.push_str(&state_lines(
                &machine.name,
                &lines,
                shown.detail,
                shown.verbose,
            ));
        }
        rows.push((&machine.name, StateCounts::of(&lines), end_text(machine)));
    }
    output.print_result(&text);
    if over_hosts {
        let rows: Vec<(&str, StateCounts, &str)> = rows
            .iter()
            .map(|(name, counts, word)| (*name, *counts, word.as_str()))
            .collect();
        output.print_stderr(&host_table(&rows, output.width));
    } else if let Some(machine) = report.machines.first()
        && let MachineEnd::Lost(reason) = &machine.end
    {
        output.message(LogLevel::Error, reason);
    }
    if let Some(reason) = &report.stopped {
        output.message(LogLevel::Error, &format!("the run was stopped: {reason}"));
    }
}

fn line<'a>(result: &'a StateResult, function: &'a str, started: &'a str) -> StateLine<'a> {
    StateLine {
        id: &result.id,
        function,
        name: &result.name,
        result: result.outcome.result,
        comment: &result.outcome.comment,
        started,
        elapsed: result.duration,
        changes: &result.outcome.changes,
        warnings: &result.outcome.warnings,
        commands: &[],
    }
}

/// Returns the commands that a dry run would have run.
fn commands(result: &StateResult) -> Vec<String> {
    let steps = result.outcome.steps.iter();
    let mut commands: Vec<String> = steps.map(Change::command).collect();
    if result.doubtful {
        commands.push(
            "# depends on earlier changes, so it can only be decided in a real run".to_owned(),
        );
    }
    commands
}

/// Describes in words how the run of a machine ended.
fn end_text(machine: &MachineReport) -> String {
    let left = machine.not_reached();
    let not_reached = match left {
        0 => String::new(),
        1 => "; 1 state not reached".to_owned(),
        left => format!("; {left} states not reached"),
    };
    let word = match &machine.end {
        MachineEnd::Lost(reason) => format!("lost: {reason}"),
        MachineEnd::Refused(_) => "does not compile".to_owned(),
        MachineEnd::Stopped => "stopped".to_owned(),
        MachineEnd::Done if machine.has_failed() => "failed".to_owned(),
        MachineEnd::Done => "ok".to_owned(),
    };
    word + &not_reached
}

/// Returns the results of a machine as JSON, with the commands of a dry run.
fn results_json(machine: &MachineReport) -> Json {
    let mut all = json!(to_value(&machine.results));
    for result in &machine.results {
        let commands = commands(result);
        if !commands.is_empty() {
            all[result.key()]["commands"] = commands.into();
        }
    }
    all
}

/// Returns the results as JSON: the map of a single machine, or of all machines by name (S43).
pub(in crate::cli) fn report_json(report: &StatesReport, over_hosts: bool) -> Json {
    let of = results_json;
    if !over_hosts && let [machine] = report.machines.as_slice() {
        return match &machine.end {
            MachineEnd::Lost(reason) => json!({ "error": reason, "results": of(machine) }),
            _ => of(machine),
        };
    }
    let hosts: JsonMap<String, Json> = report
        .machines
        .iter()
        .map(|machine| {
            let mut about = json!({
                "ok": !machine.has_failed(),
                "notReached": machine.not_reached(),
                "results": of(machine),
            });
            if let MachineEnd::Lost(reason) = &machine.end {
                about["error"] = reason.as_str().into();
            }
            (machine.name.to_string(), about)
        })
        .collect();
    json!({
        "hosts": hosts,
        "totals": {
            "hosts": report.machines.len(),
            "failed": report.machines.iter().filter(|it| it.has_failed()).count(),
        },
        "stopped": report.stopped,
        "exitCode": report.exit_code,
    })
}
