//! Shows the progress and the results of states on machines.
//!
//! [`StatesScreen`] implements the port `StatesView` of `fleet::states`; [`show`] and
//! [`report_json`] print the results.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Map as JsonMap, Value as Json, json};

use crate::cli::args::format::HostOutput;
use crate::cli::display::Display;
use crate::cli::output::Output;
use crate::cli::screen::hosts::HostScreen;
use crate::cli::screen::views;
use crate::fleet::states::{MachineEnd, MachineReport, StatesReport, StatesView};
use crate::fleet::tasks::HostsView as _;
use crate::host::change::Change;
use crate::host::{Question, Secret};
use crate::job::LogLevel;
use crate::states::{StateResult, to_value};
use crate::system::signals::Interrupts;
use crate::ui::words;
use crate::ui::{
    FinishedTask, HostStates, Paint, ProgressEvent, StateCounts, StateDetail, StateLine, TaskEnd,
    group_hosts, host_list, host_states_text, state_lines,
};

/// The view of a run of states: shows progress and asks for passwords.
pub(in crate::cli) struct StatesScreen<'a> {
    output: &'a Output,
    host_screen: HostScreen<'a>,
    /// The display on a terminal, once the run has started.
    display: Option<Display>,
    /// The numbers of the states that run.
    running: HashMap<(String, String), usize>,
    started: usize,
}

impl<'a> StatesScreen<'a> {
    pub(in crate::cli) fn new(output: &'a Output, interrupts: Interrupts) -> Self {
        Self {
            output,
            host_screen: HostScreen::new(output, HostOutput::Text, interrupts),
            display: None,
            running: HashMap::new(),
            started: 0,
        }
    }
}

impl StatesView for StatesScreen<'_> {
    fn run_started(&mut self, _machines: usize, states: usize) {
        if !views::has_live_terminal(self.output) {
            return;
        }
        let (view, terminal_use) = views::states_view(self.output);
        self.display = Display::start(view, terminal_use);
        if let Some(display) = &self.display {
            display.send(ProgressEvent::JobStarted {
                id: String::new(),
                workflow: "states".to_owned(),
                tasks: states,
            });
        }
    }

    fn state_started(&mut self, machine: &str, state: &str) {
        let text = format!("[{machine}] {state}");
        let Some(display) = &self.display else {
            self.output.message(LogLevel::Verbose, &text);
            return;
        };
        if self.output.level <= LogLevel::Verbose {
            display.send(ProgressEvent::Message {
                level: LogLevel::Verbose,
                text,
                styled: None,
            });
        }
        self.started += 1;
        let key = (machine.to_owned(), state.to_owned());
        self.running.insert(key, self.started);
        display.send(ProgressEvent::TaskStarted {
            task: self.started,
            instance: machine.to_owned(),
            operation: state.to_owned(),
            usual: None,
        });
    }

    fn state_finished(&mut self, machine: &str, state: &str) {
        let Some(display) = &self.display else { return };
        let key = (machine.to_owned(), state.to_owned());
        let task = self.running.remove(&key).unwrap_or_default();
        let (instance, operation) = key;
        display.send(ProgressEvent::TaskFinished(FinishedTask {
            task,
            instance,
            operation,
            // The results are printed at the end, the failed ones too.
            end: TaskEnd::Success,
            changed: false,
            elapsed: Duration::ZERO,
            errors: Vec::new(),
            place: None,
        }));
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

/// Prints the results of all machines as text. Machines with the same results are one block.
pub(in crate::cli) fn show(
    report: &StatesReport,
    shown: StateDisplay,
    over_hosts: bool,
    output: &Output,
) {
    let by_name: HashMap<&str, &MachineReport> =
        report.machines.iter().map(|it| (&*it.name, it)).collect();
    let results = report.machines.iter().map(|machine| {
        let block = block_text(machine, "", shown, Timing::Hidden);
        (&*machine.name, (!machine.has_failed(), block))
    });
    let mut groups: Vec<_> = group_hosts(results).into_iter().collect();
    groups.sort_by_key(|((is_good, _), _)| *is_good);
    let text = groups.iter().filter_map(|(_, names)| {
        let machine = by_name.get(names.first()?)?;
        Some(block_text(
            machine,
            &host_list(names, usize::MAX),
            shown,
            Timing::Shown,
        ))
    });
    output.print_result(&text.collect::<String>());
    if over_hosts {
        let ends: Vec<String> = report.machines.iter().map(end_text).collect();
        let rows = report.machines.iter().zip(&ends);
        let rows: Vec<HostStates<'_>> = rows
            .map(|(machine, end)| HostStates {
                host: &machine.name,
                counts: with_lines(machine, Timing::Hidden, StateCounts::of),
                end,
                has_failed: machine.has_failed(),
            })
            .collect();
        output.print_styled_stderr(&host_states_text(&rows, Paint::new(output.colour)));
    } else if let Some(machine) = report.machines.first()
        && let MachineEnd::Lost(reason) = &machine.end
    {
        output.message(LogLevel::Error, reason);
    }
    if let Some(reason) = &report.stopped {
        output.message(LogLevel::Error, &format!("the run was stopped: {reason}"));
    }
}

/// Whether the text of states has their times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Timing {
    Shown,
    Hidden,
}

/// Renders the states of a machine under a title. Empty if no state was reached.
fn block_text(machine: &MachineReport, title: &str, shown: StateDisplay, timing: Timing) -> String {
    with_lines(machine, timing, |lines| {
        if lines.is_empty() {
            return String::new();
        }
        state_lines(title, lines, shown.detail, shown.verbose)
    })
}

/// Calls a function with the results of a machine.
fn with_lines<T>(
    machine: &MachineReport,
    timing: Timing,
    call: impl FnOnce(&[StateLine<'_>]) -> T,
) -> T {
    let texts = machine.results.iter().map(|result| {
        let started = result.start.time_of_day();
        let function = format!("{}.{}", result.state, result.fun);
        (started, function, commands(result))
    });
    let texts: Vec<_> = texts.collect();
    let lines = machine.results.iter().zip(&texts);
    let lines = lines.map(|(result, (started, function, commands))| StateLine {
        commands,
        ..match timing {
            Timing::Shown => line(result, function, started),
            Timing::Hidden => StateLine {
                elapsed: Duration::ZERO,
                ..line(result, function, "")
            },
        }
    });
    call(&lines.collect::<Vec<_>>())
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

/// Describes in words how the run of a machine ended. Empty if it reached all states.
fn end_text(machine: &MachineReport) -> String {
    let left = machine.not_reached();
    let not_reached = match left {
        0 => String::new(),
        left => format!("{} not reached", words::count(left, "state")),
    };
    let word = match &machine.end {
        MachineEnd::Lost(reason) => format!("lost: {reason}"),
        MachineEnd::Refused(_) => "does not compile".to_owned(),
        MachineEnd::Stopped => "stopped".to_owned(),
        MachineEnd::Done => String::new(),
    };
    match (word.is_empty(), not_reached.is_empty()) {
        (true, _) => not_reached,
        (false, true) => word,
        (false, false) => format!("{word}; {not_reached}"),
    }
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
