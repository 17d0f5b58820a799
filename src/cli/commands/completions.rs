//! The command `completions`: prints or installs the script that completes command lines in a shell.

use clap::{Args, Subcommand};

use crate::cli::args::format::one_of;
use crate::cli::completion::{Shell, install, script};
use crate::cli::output::{Context, Output};
use crate::ops::Failure;

/// Print or install the completion of command lines for a shell
///
/// The shell then completes commands, options and their values, instances, templates, tasks, hosts, jobs and other
/// names of the project.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    override_usage = "unfurl completions <bash|zsh|fish>\n       unfurl completions install [bash|zsh|fish]"
)]
pub(in crate::cli) struct CompletionsArgs {
    /// Print the script for this shell
    #[arg(value_parser = one_of::<Shell>())]
    shell: Option<Shell>,
    #[command(subcommand)]
    action: Option<CompletionsAction>,
}

/// The subcommands of `completions`.
#[derive(Debug, Subcommand)]
enum CompletionsAction {
    /// Write the script to the folder from which the shell loads it
    Install {
        /// The shell; by default, the one that the variable `SHELL` names
        #[arg(value_parser = one_of::<Shell>())]
        shell: Option<Shell>,
    },
}

/// Prints or installs a completion script and returns the exit code.
pub(in crate::cli) fn completions(args: &CompletionsArgs, cx: &Context) -> Result<u8, Failure> {
    match (&args.action, args.shell) {
        (Some(CompletionsAction::Install { shell }), _) => install(*shell, &cx.output),
        (None, Some(shell)) => Ok(print(shell, &cx.output)),
        (None, None) => Err(Failure::usage_with(
            "`completions` needs the name of a shell",
            "`unfurl completions install` sets up your shell; `unfurl completions bash`, `zsh` or `fish` prints a script",
        )),
    }
}

fn print(shell: Shell, output: &Output) -> u8 {
    output.print_result(script(shell));
    0
}
