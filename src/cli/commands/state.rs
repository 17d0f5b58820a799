//! `state`.

use crate::cli::args::format::HostOutput;
use crate::cli::args::state::{ApplyArgs, RunOptions, StateAction, StateArgs};
use crate::cli::commands::state_show::{View, show as show_compiled};
use crate::cli::output::Context;
use crate::cli::request::states::request_of_files;
use crate::cli::screen::states::{Shown, StatesScreen, for_machines, show};
use crate::fleet::states::StatesRequest;
use crate::fleet::states::perform;
use crate::name::Words as _;
use crate::ops::Failure;
use crate::ui::StateDetail;
use crate::value::Value;

/// Does what is asked of states; gives the exit code.
pub(in crate::cli) fn state(args: &StateArgs, cx: &Context) -> Result<u8, Failure> {
    match &args.action {
        StateAction::Apply(args) => apply(args, args.run.dryrun, cx),
        StateAction::Test(args) => apply(args, true, cx),
        StateAction::ShowHigh(args) => show_compiled(args, View::High, cx),
        StateAction::ShowLow(args) => show_compiled(args, View::Low, cx),
        StateAction::ShowOrder(args) => show_compiled(args, View::Order, cx),
        StateAction::ShowTop(args) => show_compiled(args, View::Top, cx),
        StateAction::Graph(args) => show_compiled(args, View::Graph, cx),
    }
}

fn apply(args: &ApplyArgs, test: bool, cx: &Context) -> Result<u8, Failure> {
    let mut asked = request_of_files(&args.what, &args.run, &args.hosts, cx)?;
    asked.test = test;
    run(&asked, &args.run, cx)
}

/// Runs states and shows what came of them; gives the exit code.
pub(in crate::cli) fn run(
    asked: &StatesRequest,
    options: &RunOptions,
    cx: &Context,
) -> Result<u8, Failure> {
    let mut screen = StatesScreen::new(&cx.output, asked.interrupts.clone());
    let report = perform(asked, &mut screen);
    drop(screen);
    let report = report?;
    if options.shown.output == HostOutput::Json {
        cx.output.json(&for_machines(&report, asked.over_hosts));
    } else {
        let shown = shown(asked, options);
        show(&report, shown, asked.over_hosts, &cx.output);
    }
    Ok(report.exit_code)
}

/// How results are shown: as the command line says, else as the configuration does.
fn shown(asked: &StatesRequest, options: &RunOptions) -> Shown {
    let configured = &asked.tree.options;
    let word = configured.get("state_output").and_then(Value::as_str);
    let detail = options.shown.state_output;
    let detail = detail.or_else(|| word.and_then(StateDetail::parse));
    let verbose = configured.get("state_verbose").map(Value::reveal);
    Shown {
        detail: detail.unwrap_or_default(),
        verbose: verbose.is_none_or(Value::is_truthy),
    }
}
