//! The command `state`: applies or tests Salt state files, and shows the compiled trees.

use std::io::IsTerminal as _;

use serde_json::{Map as JsonMap, Value as Json, json};

use crate::cli::args::format::HostOutput;
use crate::cli::args::state::{ApplyArgs, RunOptions, ShowArgs, StateAction, StateArgs};
use crate::cli::commands::state_doc::doc;
use crate::cli::output::Context;
use crate::cli::prompt;
use crate::cli::request::states::{THIS_MACHINE, request_of_files, require_target};
use crate::cli::screen::states::{StateDisplay, StatesScreen, report_json, show};
use crate::fleet::states::{
    CompiledMachine, StateSelection, StatesRequest, apply_states, compile_all,
};
use crate::name::EnumWords as _;
use crate::ops::{Failure, FailureKind};
use crate::states::CompiledStates;
use crate::system::signals::Interrupts;
use crate::ui::{
    Align, Answer, StateDetail, Table, TableLayout, nested, read_approval, states_question,
};
use crate::value::Value;

/// Runs a subcommand of `state` and returns the exit code.
pub(in crate::cli) fn state(args: &StateArgs, cx: &Context) -> Result<u8, Failure> {
    match &args.action {
        StateAction::Apply(args) => apply(args, args.run.dryrun, cx),
        StateAction::Test(args) => apply(args, true, cx),
        StateAction::ShowHigh(args) => show_trees(args, StateTreeView::High, cx),
        StateAction::ShowLow(args) => show_trees(args, StateTreeView::Low, cx),
        StateAction::ShowOrder(args) => show_trees(args, StateTreeView::Order, cx),
        StateAction::ShowTop(args) => show_trees(args, StateTreeView::Top, cx),
        StateAction::Graph(args) => show_trees(args, StateTreeView::Graph, cx),
        StateAction::Doc(args) => doc(args, cx),
    }
}

fn apply(args: &ApplyArgs, test: bool, cx: &Context) -> Result<u8, Failure> {
    let mut request = request_of_files(&args.states, &args.run, &args.hosts, cx)?;
    request.test = test;
    let command = "state apply";
    if !test {
        require_target(command, &args.states.tree, &args.hosts)?;
    }
    run(command, &request, &args.run, cx)
}

/// Applies states, prints the results, and returns the exit code.
///
/// Asks first, unless it is a test run or the user has approved already.
pub(in crate::cli) fn run(
    command: &str,
    request: &StatesRequest,
    options: &RunOptions,
    cx: &Context,
) -> Result<u8, Failure> {
    if !request.test
        && !options.approve
        && !is_approved(command, question_of(request), &request.interrupts, cx)?
    {
        match options.shown.output {
            HostOutput::Json => cx.output.json(&json!({ "status": "declined" })),
            HostOutput::Text => cx
                .output
                .print_result("Nothing was done: the run was not approved.\n"),
        }
        return Ok(FailureKind::Refused.exit_code());
    }
    let mut screen = StatesScreen::new(&cx.output, request.interrupts.clone());
    let report = apply_states(request, &mut screen);
    drop(screen);
    let report = report?;
    if options.shown.output == HostOutput::Json {
        cx.output
            .json(&report_json(&report, request.has_named_hosts));
    } else {
        let shown = display_options(request, options);
        show(&report, shown, request.has_named_hosts, &cx.output);
    }
    Ok(report.exit_code)
}

/// Fails unless the user has approved that states run, now or with an option.
pub(in crate::cli) fn require_approval(
    command: &str,
    request: &StatesRequest,
    approve: bool,
    cx: &Context,
) -> Result<(), Failure> {
    if approve {
        return Ok(());
    }
    require_yes(command, question_of(request), &request.interrupts, cx)
}

/// Asks a question about a run. Fails unless the answer is yes.
pub(in crate::cli) fn require_yes(
    command: &str,
    question: String,
    interrupts: &Interrupts,
    cx: &Context,
) -> Result<(), Failure> {
    if is_approved(command, question, interrupts, cx)? {
        return Ok(());
    }
    let message = "nothing was done: the run was not approved";
    Err(Failure::new(FailureKind::Refused, message, None))
}

/// Returns the question whether states may run.
fn question_of(request: &StatesRequest) -> String {
    states_question(&described(&request.source.selection), &targets(request))
}

/// Asks whether a command may change hosts. Fails if nobody can be asked.
fn is_approved(
    command: &str,
    question: String,
    interrupts: &Interrupts,
    cx: &Context,
) -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        let message = format!(
            "`{command}` changes hosts and needs approval, but the standard input is no terminal"
        );
        let hint = "`--approve` runs without asking; `--dryrun` shows the changes and makes none";
        return Err(Failure::new(
            FailureKind::Refused,
            message,
            Some(hint.into()),
        ));
    }
    let answer = prompt::yes_or_no(question, read_approval, interrupts, &cx.output);
    match interrupts.first() {
        Some(signal) => Err(Failure::interrupted(signal)),
        None => Ok(answer == Answer::Yes),
    }
}

/// Returns the hosts of a run as the command line names them.
fn targets(request: &StatesRequest) -> Vec<&str> {
    if !request.has_named_hosts {
        return vec![THIS_MACHINE];
    }
    request.hosts.iter().map(|host| &*host.name).collect()
}

/// Describes the states of a run for a question. Arguments may be secret, so only the name is shown.
fn described(selection: &StateSelection) -> String {
    match selection {
        StateSelection::Top => "apply the states of the top file".to_owned(),
        StateSelection::Sls(names) => format!("apply {}", names.join(", ")),
        StateSelection::Single {
            function,
            arguments,
        } => match arguments.get("name") {
            Some(name) => format!("run {function} {}", name.redacted()),
            None => format!("run {function}"),
        },
    }
}

/// Decides how results are shown: by the command line, or else by the minion configuration.
fn display_options(request: &StatesRequest, options: &RunOptions) -> StateDisplay {
    let configured = &request.source.options;
    let word = configured.get("state_output").and_then(Value::as_str);
    let detail = options.shown.state_output;
    let detail = detail.or_else(|| word.and_then(StateDetail::parse));
    let verbose = configured.get("state_verbose").map(Value::reveal);
    StateDisplay {
        detail: detail.unwrap_or_default(),
        verbose: verbose.is_none_or(Value::is_truthy),
    }
}

/// The form of the compiled states that a `show` command prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum StateTreeView {
    High,
    Low,
    Order,
    Top,
    Graph,
}

impl StateTreeView {
    fn of(self, compiled: &CompiledStates) -> Value {
        match self {
            Self::High => compiled.show_high().clone(),
            Self::Low => compiled.show_low(),
            Self::Order => compiled.show_order(),
            Self::Top => compiled.show_top().clone(),
            Self::Graph => compiled.graph(),
        }
    }
}

/// Compiles the states, prints them, and returns the exit code. Changes nothing.
fn show_trees(args: &ShowArgs, view: StateTreeView, cx: &Context) -> Result<u8, Failure> {
    let run = RunOptions::default();
    let request = request_of_files(&args.states, &run, &args.hosts, cx)?;
    let over_hosts = request.has_named_hosts;
    let mut screen = StatesScreen::new(&cx.output, request.interrupts.clone());
    let machines = compile_all(&request, &mut screen)?;
    drop(screen);
    if args.output == HostOutput::Json {
        cx.output.json(&trees_json(&machines, view, over_hosts));
        return Ok(0);
    }
    for CompiledMachine { name, compiled } in &machines {
        cx.output
            .print_result(&tree_text(name, compiled, view, cx.output.table_layout()));
    }
    Ok(0)
}

fn trees_json(machines: &[CompiledMachine], view: StateTreeView, over_hosts: bool) -> Json {
    let of = |machine: &CompiledMachine| json!(view.of(&machine.compiled).redacted());
    if !over_hosts && let [machine] = machines {
        return of(machine);
    }
    let all: JsonMap<String, Json> = machines
        .iter()
        .map(|machine| (machine.name.to_string(), of(machine)))
        .collect();
    all.into()
}

fn tree_text(
    name: &str,
    compiled: &CompiledStates,
    view: StateTreeView,
    layout: TableLayout,
) -> String {
    match view {
        StateTreeView::Graph => return compiled.dot(),
        StateTreeView::Order => {
            let mut table =
                Table::new(&["#", "Function", "ID", "Name", "SLS", "Order"]).dispensable(&[5, 4]);
            table = table.align(0, Align::Right).align(5, Align::Right);
            for (nth, index) in compiled.run_order().iter().enumerate() {
                let chunk = &compiled.low.chunks[*index as usize];
                let other_name = if chunk.name == chunk.id {
                    ""
                } else {
                    &chunk.name
                };
                table.row([
                    (nth + 1).to_string(),
                    format!("{}.{}", chunk.state, chunk.fun),
                    chunk.id.to_string(),
                    other_name.to_owned(),
                    chunk.sls.to_string(),
                    chunk.order.to_string(),
                ]);
            }
            return format!("{name}:\n{}", table.render(layout));
        }
        StateTreeView::High | StateTreeView::Low | StateTreeView::Top => {}
    }
    let mut text = format!("{name}:\n");
    nested(&view.of(compiled), 4, &mut text);
    text
}
