//! The definition of the commands that a command line names, without all the others.
//!
//! The whole definition has about a thousand options. Building it takes longer than most commands, and several
//! megabytes of memory.

use clap::{Args as _, Command};

use super::args::global::Global;
use super::args::job::{CheckArgs, JobArgs, StopArgs, TeardownArgs};
use super::args::state::{FactArgs, OpArgs, StateArgs};
use super::commands::add::AddArgs;
use super::commands::clone::CloneArgs;
use super::commands::commit::CommitArgs;
use super::commands::completions::CompletionsArgs;
use super::commands::doctor::DoctorArgs;
use super::commands::drift::DriftArgs;
use super::commands::explain::ExplainArgs;
use super::commands::export::ExportArgs;
use super::commands::forward::ForwardArgs;
use super::commands::git::{GitArgs, GitStatusArgs};
use super::commands::git_setup::GitSetupArgs;
use super::commands::history::HistoryArgs;
use super::commands::home::HomeArgs;
use super::commands::hosts::{RebootArgs, RunHostsArgs, ShellArgs};
use super::commands::import::ImportArgs;
use super::commands::init::InitArgs;
use super::commands::inventory::HostsArgs;
use super::commands::man::ManArgs;
use super::commands::merge_driver::MergeDriverArgs;
use super::commands::plan::PlanArgs;
use super::commands::recover::RecoverArgs;
use super::commands::run::RunArgs;
use super::commands::schedule::ScheduleArgs;
use super::commands::secret::SecretArgs;
use super::commands::serve::ServeArgs;
use super::commands::status::StatusArgs;
use super::commands::task::TaskArgs;
use super::commands::transfer::{GetArgs, PutArgs};
use super::commands::trust::TrustArgs;
use super::commands::validate::ValidateArgs;
use super::left_out::LeftOutArgs;
use super::route::{RUN, RUN_HOSTS};

/// Adds the arguments of a command to its definition.
type AddArguments = fn(Command) -> Command;

/// The names of commands, with their arguments. A command that is missing here is found in the whole definition.
const COMMANDS: [(&str, AddArguments); 44] = [
    ("init", InitArgs::augment_args),
    ("add", AddArgs::augment_args),
    ("import", ImportArgs::augment_args),
    ("clone", CloneArgs::augment_args),
    ("deploy", JobArgs::augment_args),
    (TEARDOWN, TeardownArgs::augment_args),
    ("stop", StopArgs::augment_args),
    ("check", CheckArgs::augment_args),
    ("drift", DriftArgs::augment_args),
    ("discover", CheckArgs::augment_args),
    ("plan", PlanArgs::augment_args),
    ("explain", ExplainArgs::augment_args),
    ("history", HistoryArgs::augment_args),
    (RUN, RunArgs::augment_args),
    (RUN_HOSTS, RunHostsArgs::augment_args),
    ("task", TaskArgs::augment_args),
    ("state", StateArgs::augment_args),
    ("op", OpArgs::augment_args),
    ("fact", FactArgs::augment_args),
    ("hosts", HostsArgs::augment_args),
    ("put", PutArgs::augment_args),
    ("get", GetArgs::augment_args),
    ("reboot", RebootArgs::augment_args),
    ("shell", ShellArgs::augment_args),
    ("forward", ForwardArgs::augment_args),
    ("status", StatusArgs::augment_args),
    ("validate", ValidateArgs::augment_args),
    ("doctor", DoctorArgs::augment_args),
    ("export", ExportArgs::augment_args),
    ("commit", CommitArgs::augment_args),
    ("git", GitArgs::augment_args),
    ("git-status", GitStatusArgs::augment_args),
    ("git-setup", GitSetupArgs::augment_args),
    ("merge-driver", MergeDriverArgs::augment_args),
    ("schedule", ScheduleArgs::augment_args),
    ("serve", ServeArgs::augment_args),
    ("secret", SecretArgs::augment_args),
    ("home", HomeArgs::augment_args),
    ("trust", TrustArgs::augment_args),
    ("recover", RecoverArgs::augment_args),
    ("runtime", LeftOutArgs::augment_args),
    ("cloudmap", LeftOutArgs::augment_args),
    ("completions", CompletionsArgs::augment_args),
    ("man", ManArgs::augment_args),
];

/// The command that has a second name, and that name.
const TEARDOWN: &str = "teardown";
const UNDEPLOY: &str = "undeploy";

/// Returns a definition of the program that has only the commands named by a word; None if no word names one.
///
/// Words that it parses are parsed to the same values by the whole definition. Its help and its errors lack the other
/// commands, the descriptions and the order of the options.
pub(super) fn definition_of_named(words: &[String]) -> Option<Command> {
    let is_named = |name: &str| {
        words
            .iter()
            .any(|word| word == name || (name == TEARDOWN && word == UNDEPLOY))
    };
    // `route` decides which of both commands `run` a line means.
    let mut named = COMMANDS
        .iter()
        .filter(|(name, _)| is_named(name) || (*name == RUN_HOSTS && is_named(RUN)))
        .map(|(name, add_arguments)| command(name, *add_arguments))
        .peekable();
    named.peek()?;
    let program = Global::augment_args(Command::new(env!("CARGO_PKG_NAME")));
    // A word may be the value of an option instead.
    Some(program.subcommands(named).subcommand_required(true))
}

fn command(name: &'static str, add_arguments: AddArguments) -> Command {
    let command = add_arguments(Command::new(name));
    if name == TEARDOWN {
        command.alias(UNDEPLOY)
    } else {
        command
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::command_line::Cli;

    /// Describes the parts of a command that decide how words are parsed.
    fn described(command: &Command) -> String {
        let arguments: Vec<_> = command.get_arguments().collect();
        let groups: Vec<_> = command.get_groups().collect();
        let subcommands: Vec<_> = command.get_subcommands().map(described).collect();
        let aliases: Vec<_> = command.get_all_aliases().collect();
        let flags = (
            command.is_subcommand_required_set(),
            command.is_arg_required_else_help_set(),
            command.is_allow_external_subcommands_set(),
            command.is_args_conflicts_with_subcommands_set(),
            command.is_subcommand_negates_reqs_set(),
            command.is_trailing_var_arg_set(),
        );
        format!("{aliases:?} {arguments:#?} {groups:#?} {flags:?} {subcommands:#?}")
    }

    #[test]
    fn a_named_command_takes_the_arguments_of_the_whole_definition() {
        let whole = Cli::command();
        let mut missing = Vec::new();
        for command in whole.get_subcommands() {
            let name = command.get_name();
            let words = ["unfurl".to_owned(), name.to_owned()];
            let Some(named) = definition_of_named(&words) else {
                missing.push(name);
                continue;
            };
            let found = named.find_subcommand(name).unwrap();
            assert_eq!(described(found), described(command), "{name}");
        }
        assert_eq!(missing, ["schema", "lock", "version"]);
    }

    #[test]
    fn words_that_name_no_command_need_the_whole_definition() {
        for words in [
            &["unfurl"][..],
            &["unfurl", "--help"],
            &["unfurl", "deplyo"],
        ] {
            let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
            assert!(definition_of_named(&words).is_none(), "{words:?}");
        }
    }

    #[test]
    fn the_name_of_a_command_as_the_value_of_an_option_names_none() {
        let words = ["unfurl", "--home", "deploy"].map(str::to_owned);
        let mut named = definition_of_named(&words).unwrap();
        assert!(named.try_get_matches_from_mut(words).is_err());
    }

    #[test]
    fn a_second_name_is_known_and_other_words_add_nothing() {
        let words = ["unfurl", "undeploy", "ensemble"].map(str::to_owned);
        let named = definition_of_named(&words).unwrap();
        let names: Vec<_> = named.get_subcommands().map(Command::get_name).collect();
        assert_eq!(names, [TEARDOWN]);
        assert!(named.find_subcommand(UNDEPLOY).is_some());
    }
}
