//! The command `man`: prints the manual page of a command, or writes those of all commands.

use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_mangen::Man;

use crate::cli::command_words::subcommand;
use crate::cli::output::{Output, shown_path};
use crate::cli::route::RUN_HOSTS;
use crate::ops::{Failure, FailureKind};
use crate::system::fs;
use crate::text::did_you_mean;

/// The section of manual pages for commands.
const SECTION: &str = "man1";

/// Print the manual page of a command, or write the pages of all commands
#[derive(Debug, Args)]
pub(in crate::cli) struct ManArgs {
    /// The command, such as `deploy` or `secret get`; by default, the program
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
    /// Write the pages of all commands into the folder `man1` of this one, such as ~/.local/share/man
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    install: Option<PathBuf>,
}

/// Prints a page or writes all pages, and returns the exit code.
pub(in crate::cli) fn man(
    args: &ManArgs,
    mut cli: Command,
    output: &Output,
) -> Result<u8, Failure> {
    cli = cli.disable_help_subcommand(true);
    cli.build();
    match &args.install {
        Some(folder) => install(&cli, folder, output),
        None => {
            output.print_result(&page(find(&cli, &args.command)?)?);
            Ok(0)
        }
    }
}

/// Finds the command that the words name.
fn find<'a>(cli: &'a Command, words: &[String]) -> Result<&'a Command, Failure> {
    let mut command = cli;
    for word in words {
        let Some(found) = subcommand(command, word) else {
            let name = command.get_bin_name().unwrap_or("unfurl");
            let message = format!("`{name}` has no command `{word}`");
            let names = documented(command).map(Command::get_name);
            let hint = did_you_mean(word, names);
            let hint = hint.unwrap_or_else(|| format!("`{name} --help` shows the commands"));
            return Err(Failure::usage_with(message, &hint));
        };
        command = found;
    }
    Ok(command)
}

/// Returns the subcommands that have a page. `run` over hosts has its own one.
fn documented(command: &Command) -> impl Iterator<Item = &Command> {
    let is_shown = |it: &&Command| !it.is_hide_set() || it.get_name() == RUN_HOSTS;
    command.get_subcommands().filter(is_shown)
}

fn page(command: &Command) -> Result<String, Failure> {
    let mut text = Vec::new();
    let source = concat!("unfurl ", env!("CARGO_PKG_VERSION"));
    // The page of a version has no date of its own. An empty date would be left out of the line.
    let man = Man::new(command.clone())
        .source(source)
        .manual("Unfurl")
        .date(" ");
    let rendered = man.render(&mut text);
    rendered.map_err(|error| Failure::new(FailureKind::Internal, &error, None))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Writes the page of each command.
fn install(cli: &Command, folder: &Path, output: &Output) -> Result<u8, Failure> {
    let pages = folder.join(SECTION);
    let mut waiting = vec![cli];
    let mut count = 0;
    while let Some(command) = waiting.pop() {
        waiting.extend(documented(command));
        let name = Man::new(command.clone()).get_filename();
        let text = page(command)?;
        fs::write_plain(&pages.join(name), text.as_bytes(), None).map_err(|error| {
            let hint = error.hint();
            Failure::new(FailureKind::Refused, &error, hint)
        })?;
        count += 1;
    }
    let shown = shown_path(folder);
    output.print_result(&format!(
        "Manual pages in {}: {count}\n`man -M {shown} unfurl-deploy` shows one of them.\n",
        shown_path(&pages)
    ));
    Ok(0)
}
