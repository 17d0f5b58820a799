//! The way in from the program.

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};

use super::arguments::{Cli, Command};
use super::commands::{
    check, commit, completions, deploy, discover, explain, export, fact, forward, get, git,
    git_status, history, lock, man, merge_driver, op, plan, put, reboot, recover, run, run_hosts,
    schema, shell, state, status, stop, task, teardown, validate, version,
};
use super::output::Output;
use super::route::route;
use crate::ops::{GUARD_COMMAND, stand_guard};
use crate::system::env;

/// Deep models need a deep stack; memory is used only where the stack really grows.
const STACK_SIZES: [usize; 3] = [1 << 30, 256 << 20, 32 << 20];

/// Parses the command line, runs the command and gives the exit code.
pub fn main() -> ExitCode {
    if env::arguments()
        .get(1)
        .is_some_and(|word| word == GUARD_COMMAND)
    {
        stand_guard();
        return ExitCode::SUCCESS;
    }
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

/// Makes the heap of this thread large at once: the C library grows that of any thread but the
/// first page by page, with a system call for each.
fn widen_heap() {
    // The first one only tells the C library that blocks of this size belong on the heap.
    for size in [31 << 20, 30 << 20] {
        drop(std::hint::black_box(Vec::<u8>::with_capacity(size)));
    }
}

fn start() -> ExitCode {
    widen_heap();
    let words = route(env::arguments());
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(error) => {
            let code = if error.use_stderr() { 2 } else { 0 };
            // Where not even the usage can be shown, the exit code still tells.
            error.print().ok();
            return ExitCode::from(code);
        }
    };
    let output = Output::new(&cli.global);
    let global = &cli.global;
    let code = match cli.command {
        Command::Deploy(args) => deploy::deploy(args, global, &output),
        Command::Teardown(args) => teardown::teardown(args, global, &output),
        Command::Stop(args) => stop::stop(args, global, &output),
        Command::Check(args) => check::check(args, global, &output),
        Command::Discover(args) => discover::discover(args, global, &output),
        Command::Plan(args) => plan::plan(args, global, &output),
        Command::Run(args) => run::run(args, global, &output),
        Command::RunHosts(args) => run_hosts::run_hosts(&args, global, &output),
        Command::Put(args) => put::put(&args, global, &output),
        Command::Get(args) => get::get(&args, global, &output),
        Command::Reboot(args) => reboot::reboot(&args, global, &output),
        Command::Shell(args) => shell::shell(&args, global, &output),
        Command::Forward(args) => forward::forward(&args, global, &output),
        Command::Task(args) => task::task(&args, Cli::command, global, &output),
        Command::State(args) => state::state(&args, global, &output),
        Command::Fact(args) => fact::fact(&args, global, &output),
        Command::Op(args) => op::op(&args, global, &output),
        Command::Explain(args) => explain::explain(args, global, &output),
        Command::History(args) => history::history(&args, global, &output),
        Command::Status(args) => status::status(&args, global, &output),
        Command::Validate(args) => validate::validate(&args, global, &output),
        Command::Export(args) => export::export(&args, global, &output),
        Command::Commit(args) => commit::commit(&args, global, &output),
        Command::Git(args) => git::git(&args, global, &output),
        Command::GitStatus(args) => git_status::git_status(&args, global, &output),
        Command::MergeDriver(args) => merge_driver::merge_driver(&args, &output),
        Command::Schema { of } => schema::schema(of, &output),
        Command::Lock { action } => lock::lock(&action, global, &output),
        Command::Recover(args) => recover::recover(&args, global, &output),
        Command::Version { semver } => version::version(semver, &output),
        Command::Completions { shell } => {
            completions::completions(shell, &mut Cli::command(), &output)
        }
        Command::Man => man::man(Cli::command(), &output),
    };
    // What was asked for did not get out, whatever became of it.
    ExitCode::from(if output.has_lost() && code == 0 {
        70
    } else {
        code
    })
}
