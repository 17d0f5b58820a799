//! The entry point of the program.
//!
//! [`main`] starts a thread with a large stack, parses the command line, runs one command and
//! returns its exit code. The same executable also runs as the guard process (`exec::guard`).

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _};
use serde_json::json;

use super::args::format::HostOutput;
use super::command_line::{Cli, Command, definition};
use super::commands::{
    add, clone, commit, completions, doctor, drift, explain, export, fact, forward, git, history,
    home, hosts, import, init, inventory, job, lock, man, merge_driver, op, plan, recover, replay,
    run, state, status, task, transfer, trust, validate,
};
use super::completion::{self, COMPLETE_COMMAND};
use super::help::arrange;
use super::limits;
use super::named_commands::definition_of_named;
use super::output::{Context, Output};
use super::prompt;
use super::route::route;
use super::usage_error;
use crate::cli::left_out;
use crate::ops::{
    Failure, FailureKind, GUARD_COMMAND, TooFewDescriptors, prepare_process, run_guard, schema,
};
use crate::plan::WorkflowKind;
use crate::secret::set_passphrase_prompt;
use crate::system::console::{self, StandardStream};
use crate::system::{env, memory};
use crate::text::is_unsafe;

/// The stack sizes to try for the main thread, in bytes.
///
/// Deep models need a deep stack. The system only allocates the pages that are really used.
const STACK_SIZES: [usize; 3] = [1 << 30, 256 << 20, 32 << 20];

/// The version of Unfurl whose file formats this program follows.
const UNFURL_VERSION: &str = "1.2.0";

/// Parses the command line, runs the command and returns the exit code.
pub fn main() -> ExitCode {
    if env::arguments()
        .get(1)
        .is_some_and(|word| word == GUARD_COMMAND)
    {
        run_guard();
        return ExitCode::SUCCESS;
    }
    if let [_, command, words @ ..] = &env::arguments()[..]
        && command == COMPLETE_COMMAND
    {
        console::write(
            StandardStream::Stdout,
            &completion::answer(words, definition()),
        )
        .ok();
        return ExitCode::SUCCESS;
    }
    memory::protect();
    for size in STACK_SIZES {
        let thread = std::thread::Builder::new()
            .name("main".to_owned())
            .stack_size(size)
            .spawn(start);
        if let Ok(thread) = thread {
            return thread.join().unwrap_or(ExitCode::from(70));
        }
    }
    start()
}

fn start() -> ExitCode {
    let (cli, is_json) = match parse_command_line(env::arguments()) {
        Ok(parsed) => parsed,
        Err(error) => {
            return print_usage(&error);
        }
    };
    // The form of all messages depends on the options.
    let output = Output::new(&cli.global);
    set_passphrase_prompt(prompt::passphrase);
    limits::apply(&cli.global);
    if let Some(folder) = cli
        .global
        .tmp
        .clone()
        .filter(|it| !it.as_os_str().is_empty())
    {
        env::set_temporary_dir(folder);
    }
    let cx = &Context {
        output,
        global: cli.global,
    };
    if let Err(error) = prepare_process() {
        let hint = TooFewDescriptors::HINT.to_owned();
        let failure = Failure::new(FailureKind::Refused, error, Some(hint));
        return ExitCode::from(cx.output.failure(&failure, is_json));
    }
    left_out::warn_unused(&cx.output);
    let checked = if works_on_projects(&cli.command) {
        left_out::refuse(&cx.global)
    } else {
        Ok(())
    };
    let done = checked.and_then(|()| run_command(cli.command, cx));
    let code = done.unwrap_or_else(|failure| cx.output.failure(&failure, is_json));
    // The result could not be written, so the command failed even if its work succeeded.
    ExitCode::from(if cx.output.has_lost_output() && code == 0 {
        70
    } else {
        code
    })
}

/// Prints an error of the command line, or help that was requested, and returns the exit code.
fn print_usage(error: &clap::Error) -> ExitCode {
    let (stream, code) = if error.use_stderr() {
        (StandardStream::Stderr, 2)
    } else {
        (StandardStream::Stdout, 0)
    };
    let text = error.render();
    // The message may quote arguments, whose control characters must not count as its own style.
    let has_unsafe_argument = env::arguments().iter().any(|word| word.contains(is_unsafe));
    let printed = if stream.has_colours() && !has_unsafe_argument {
        console::write_styled(stream, &text.ansi().to_string())
    } else {
        console::write(stream, &text.to_string())
    };
    // If even the usage cannot be printed, the exit code still reports the error.
    drop(printed);
    ExitCode::from(code)
}

/// Parses words into a command line. Also returns whether `--output json` is given.
fn parse_command_line(words: Vec<String>) -> Result<(Cli, bool), clap::Error> {
    let named = definition_of_named(&words).and_then(|mut named| {
        let words = route(words.clone(), &named);
        named.try_get_matches_from_mut(words).ok()
    });
    let mut matches = match named {
        Some(matches) => matches,
        None => match_all(words)?,
    };
    let mut own = &matches;
    while let Some((_, below)) = own.subcommand() {
        own = below;
    }
    let output = own.try_get_raw("output").ok().flatten();
    let is_json = output.is_some_and(|mut words| words.any(|word| word == "json"));
    let is_json = is_json || left_out::asks_for_json(own);
    let cli = Cli::from_arg_matches_mut(&mut matches);
    Ok((
        cli.map_err(|error| error.format(&mut definition()))?,
        is_json,
    ))
}

/// Matches the words with the whole definition, whose help and errors are complete.
fn match_all(words: Vec<String>) -> Result<clap::ArgMatches, clap::Error> {
    let all = Cli::command();
    let words = route(words, &all);
    let all = arrange(all);
    let parsed = all.clone().try_get_matches_from(&words);
    parsed.map_err(|error| usage_error::improve(error, &words, &all))
}

/// Returns true for a command that works on projects or machines: variables for other runtimes would change its effect.
fn works_on_projects(command: &Command) -> bool {
    !matches!(
        command,
        Command::Version { .. }
            | Command::Completions(_)
            | Command::Man(_)
            | Command::Schema { .. }
            | Command::MergeDriver(_)
    )
}

/// Runs a command and returns the exit code.
fn run_command(command: Command, cx: &Context) -> Result<u8, Failure> {
    match command {
        Command::Init(args) => init::init(&args, cx),
        Command::Add(args) => add::add(&args, cx),
        Command::Import(args) => import::import(&args, cx),
        Command::Clone(args) => clone::clone(&args, cx),
        Command::Deploy(args) => job::run(WorkflowKind::Deploy, &args, cx),
        Command::Teardown(args) => job::run(WorkflowKind::Undeploy, &args.into(), cx),
        Command::Stop(args) => job::run(WorkflowKind::Stop, &args.into(), cx),
        Command::Check(args) => job::run(WorkflowKind::Check, &args.into(), cx),
        Command::Drift(args) => drift::run(&args, cx),
        Command::Discover(args) => job::run(WorkflowKind::Discover, &args.into(), cx),
        Command::Plan(args) => plan::plan(args, cx),
        Command::Run(args) => run::run(args, cx),
        Command::RunHosts(args) => hosts::run_hosts(&args, cx),
        Command::Put(args) => transfer::put(&args, cx),
        Command::Get(args) => transfer::get(&args, cx),
        Command::Reboot(args) => hosts::reboot(&args, cx),
        Command::Shell(args) => hosts::shell(&args, cx),
        Command::Forward(args) => forward::forward(&args, cx),
        Command::Task(args) => task::task(&args, definition, cx),
        Command::State(args) => state::state(&args, cx),
        Command::Fact(args) => fact::fact(&args, cx),
        Command::Hosts(args) => inventory::list_hosts(&args, cx),
        Command::Op(args) => op::op(&args, cx),
        Command::Explain(args) => explain::explain(args, cx),
        Command::History(args) => match &args.action {
            Some(history::HistoryAction::Replay(args)) => replay::replay(args, cx),
            None => history::history(&args, cx),
        },
        Command::Status(args) => status::status(&args, cx),
        Command::Validate(args) => validate::validate(&args, cx),
        Command::Doctor(args) => Ok(doctor::doctor(&args, cx)),
        Command::Export(args) => export::export(&args, cx),
        Command::Commit(args) => commit::commit(&args, cx),
        Command::Git(args) => git::git(&args, cx),
        Command::GitStatus(args) => git::git_status(&args, cx),
        Command::GitSetup(args) => super::commands::git_setup::git_setup(&args, cx),
        Command::MergeDriver(args) => merge_driver::merge_driver(&args, cx),
        Command::Schema { of } => Ok(print_schema(of, &cx.output)),
        Command::Lock { action } => lock::lock(&action, cx),
        Command::Schedule(args) => super::commands::schedule::schedule(&args, cx),
        Command::Serve(args) => super::commands::serve::serve(&args, cx),
        Command::Secret(args) => super::commands::secret::secret(&args, cx),
        Command::Home(args) => home::home(&args, cx),
        Command::Trust(args) => trust::trust(&args, cx),
        Command::Recover(args) => recover::recover(&args, cx),
        Command::Version {
            output: HostOutput::Json,
            ..
        } => Ok(version_json(&cx.output)),
        Command::Version { semver, remote, .. } => Ok(version(semver, remote, &cx.output)),
        Command::Runtime(_) => Err(left_out::LeftOutCommand::Runtime.failure()),
        Command::Cloudmap(_) => Err(left_out::LeftOutCommand::CloudMap.failure()),
        Command::Completions(args) => completions::completions(&args, cx),
        Command::Man(args) => man::man(&args, definition(), &cx.output),
    }
}

/// Prints a schema and returns the exit code.
fn print_schema(of: schema::SchemaKind, output: &Output) -> u8 {
    output.json(&schema::schema(of));
    0
}

/// Prints the version and returns the exit code. `remote` also names the version of the runtime.
fn version(semver: bool, remote: bool, output: &Output) -> u8 {
    if semver {
        output.print_result(&format!("{UNFURL_VERSION}\n"));
    } else {
        let own = env!("CARGO_PKG_VERSION");
        output.print_result(&format!(
            "unfurl version {own} (compatible with {UNFURL_VERSION})\n"
        ));
    }
    if remote {
        output.print_result(
            "Remote: none; this version runs every job, because there is no other runtime\n",
        );
    }
    0
}

/// Prints all versions as JSON and returns the exit code.
fn version_json(output: &Output) -> u8 {
    output.json(&json!({
        "version": env!("CARGO_PKG_VERSION"),
        "compatibleWith": UNFURL_VERSION,
        // There is no other runtime.
        "remote": null,
    }));
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks_for_json(line: &str) -> bool {
        let words = line.split(' ').map(str::to_owned).collect();
        parse_command_line(words).unwrap().1
    }

    #[test]
    fn a_command_line_says_whether_it_asks_for_json() {
        for line in [
            "unfurl deploy --output json",
            "unfurl lock list --output=json",
            "unfurl state apply --output json",
            "unfurl validate --output json here",
            "unfurl runtime --init . --output json",
            "unfurl cloudmap --output=json --sync local",
        ] {
            assert!(asks_for_json(line), "{line}");
        }
        for line in [
            "unfurl deploy",
            "unfurl plan --output none",
            "unfurl validate --output sarif",
            "unfurl git log --output json",
            "unfurl export --format model-json",
            "unfurl version",
        ] {
            assert!(!asks_for_json(line), "{line}");
        }
    }
}
