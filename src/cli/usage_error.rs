//! Completes clap's errors about the words of a command line.
//!
//! Suggestions name commands and options that the help shows, and never hidden ones. Advice to pass an option as
//! a value is given only where a command takes other programs' words.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};

use super::command_words::subcommand;
use crate::text::most_similar;

/// Replaces the suggestions in an error. `words` are those that clap has parsed.
pub(super) fn improve(mut error: clap::Error, words: &[String], cli: &Command) -> clap::Error {
    let command = last_command(words, cli);
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let name = text(&error, ContextKind::InvalidSubcommand);
            error.remove(ContextKind::Suggested);
            error.remove(ContextKind::SuggestedSubcommand);
            if let Some(similar) = similar_command(&name, command) {
                let value = ContextValue::String(similar.to_owned());
                error.insert(ContextKind::SuggestedSubcommand, value);
            }
        }
        ErrorKind::UnknownArgument => {
            let name = text(&error, ContextKind::InvalidArg);
            error.remove(ContextKind::SuggestedArg);
            let found = similar_option(&name, command, cli);
            if found.is_some() || !takes_words(command) {
                error.remove(ContextKind::Suggested);
            }
            if let Some(found) = found {
                let value = ContextValue::String(format!("--{found}"));
                error.insert(ContextKind::SuggestedArg, value);
            } else if let Some(advice) = place_advice(&name, words, command) {
                let value = ContextValue::StyledStrs(vec![advice.into()]);
                error.insert(ContextKind::Suggested, value);
            }
        }
        ErrorKind::MissingSubcommand => {
            if let Some(ContextValue::Strings(mut names)) =
                error.remove(ContextKind::ValidSubcommand)
            {
                names.retain(|name| subcommand(command, name).is_none_or(|it| !it.is_hide_set()));
                error.insert(ContextKind::ValidSubcommand, ContextValue::Strings(names));
            }
        }
        _ => {}
    }
    let has_usage = error.get(ContextKind::Usage).is_some();
    if has_usage && error.kind() != ErrorKind::InvalidSubcommand {
        // The usage of clap would name options that only the environment sets.
        let value = ContextValue::StyledStr(usage(words, cli));
        error.insert(ContextKind::Usage, value);
    }
    error
}

/// Returns the usage of the command that the words name.
fn usage(words: &[String], cli: &Command) -> StyledStr {
    let mut cli = cli.clone();
    cli.build();
    last_command(words, &cli).clone().render_usage()
}

/// Returns the command that the first words name.
fn last_command<'a>(words: &[String], cli: &'a Command) -> &'a Command {
    let mut command = cli;
    for word in words.iter().skip(1) {
        match subcommand(command, word) {
            Some(found) => command = found,
            None => break,
        }
    }
    command
}

fn text(error: &clap::Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        _ => String::new(),
    }
}

/// Returns the visible subcommand that is meant: the most similar one, or the only one that begins like this.
fn similar_command<'a>(name: &str, of: &'a Command) -> Option<&'a str> {
    let visible = of.get_subcommands().filter(|it| !it.is_hide_set());
    let names: Vec<&str> = visible
        .flat_map(|it| std::iter::once(it.get_name()).chain(it.get_visible_aliases()))
        .collect();
    most_similar(name, names.iter().copied()).or_else(|| {
        let mut longer = names.iter().filter(|known| known.starts_with(name));
        let only = longer.next().filter(|_| name.len() > 1)?;
        longer.next().is_none().then_some(only)
    })
}

/// Returns the name of the visible long option that is meant.
fn similar_option<'a>(name: &str, command: &'a Command, cli: &'a Command) -> Option<&'a str> {
    let name = name.strip_prefix("--")?;
    let globals = cli.get_arguments().filter(|arg| arg.is_global_set());
    let visible = command
        .get_arguments()
        .chain(globals)
        .filter(|arg| !arg.is_hide_set());
    let names = visible.flat_map(|arg| arg.get_long_and_visible_aliases().unwrap_or_default());
    most_similar(name, names)
}

/// Returns true if words that look like options may be the words of another program.
fn takes_words(command: &Command) -> bool {
    let is_open = |arg: &Arg| arg.is_trailing_var_arg_set() || arg.is_last_set();
    command.get_positionals().any(is_open)
}

/// Returns the place for an option that stands before the command that takes it.
fn place_advice(option: &str, words: &[String], at: &Command) -> Option<String> {
    let mut commands = words.iter().filter_map(|word| subcommand(at, word));
    let command = commands.next().filter(|it| !it.is_hide_set())?;
    let long = option.strip_prefix("--")?;
    let takes = command
        .get_arguments()
        .any(|arg| arg.get_long() == Some(long));
    let name = command.get_name();
    takes.then(|| format!("write '{option}' after '{name}'"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command_line::definition;
    use crate::cli::route::route;

    fn answer(line: &str) -> String {
        let cli = definition();
        let words = line.split(' ').map(str::to_owned).collect();
        let words = route(words, &cli);
        let error = cli.clone().try_get_matches_from(&words).unwrap_err();
        improve(error, &words, &cli).render().to_string()
    }

    #[test]
    fn a_misspelt_command_suggests_one_that_the_help_shows() {
        insta::assert_snapshot!(answer("unfurl deplyo"), @"
        error: unrecognized subcommand 'deplyo'

          tip: a similar subcommand exists: 'deploy'

        Usage: unfurl [OPTIONS] <COMMAND>

        For more information, try '--help'.
        ");
        for (line, expected) in [
            ("unfurl tear", "'teardown'"),
            ("unfurl -v plna", "'plan'"),
            ("unfurl --output json plna", "'plan'"),
            ("unfurl lock brek", "'break'"),
            ("unfurl state aply", "'apply'"),
            ("unfurl state show-lwo", "'show-low'"),
            ("unfurl secret gett", "'get'"),
            ("unfurl srve", "'serve'"),
            ("unfurl schedule lst", "'list'"),
        ] {
            let answer = answer(line);
            assert!(
                answer.contains(&format!("subcommand exists: {expected}\n")),
                "{line}: {answer}"
            );
        }
        for line in [
            "unfurl undeplo",
            "unfurl run-hostz",
            "unfurl runtme",
            "unfurl cloudmp",
        ] {
            assert!(!answer(line).contains("tip:"), "{line}: {}", answer(line));
        }
    }

    #[test]
    fn a_missing_command_lists_those_that_the_help_shows() {
        let answer = answer("unfurl -v");
        let list = answer.lines().find(|line| line.contains("[subcommands:"));
        let list = list.unwrap_or_else(|| panic!("{answer}"));
        assert!(list.contains(" deploy,"), "{answer}");
        for hidden in ["run-hosts", "runtime", "cloudmap"] {
            assert!(!list.contains(hidden), "{answer}");
        }
    }

    #[test]
    fn the_usage_in_an_error_is_that_of_the_command() {
        insta::assert_snapshot!(answer("unfurl --home x history replay"), @"
        error: the following required arguments were not provided:
          <JOB>

        Usage: unfurl history replay [OPTIONS] <JOB>

        For more information, try '--help'.
        ");
        let answer = answer("unfurl --home x --use-environment prod plan");
        assert!(
            answer.contains("Usage: unfurl [OPTIONS] <COMMAND>\n"),
            "{answer}"
        );
    }

    #[test]
    fn a_misspelt_option_suggests_one_that_the_help_shows() {
        for (line, expected) in [
            (
                "unfurl deploy --aprove",
                "tip: a similar argument exists: '--approve'\n",
            ),
            (
                "unfurl plan --verbos",
                "tip: a similar argument exists: '--verbose'\n",
            ),
            (
                "unfurl lock list --outptu json",
                "tip: a similar argument exists: '--output'\n",
            ),
            (
                "unfurl run --operatoin x",
                "tip: a similar argument exists: '--operation'\n",
            ),
            (
                "unfurl run -H a --sudp ls",
                "tip: a similar argument exists: '--sudo'\n",
            ),
            (
                "unfurl --approve deploy",
                "tip: write '--approve' after 'deploy'\n",
            ),
            (
                "unfurl run --colour ls",
                "tip: to pass '--colour' as a value, use '-- --colour'\n",
            ),
        ] {
            let answer = answer(line);
            assert!(answer.contains(expected), "{line}: {answer}");
        }
        for line in [
            "unfurl deploy --foo",
            "unfurl deploy --runtim x",
            "unfurl plan -X",
            "unfurl --hosts a",
        ] {
            assert!(!answer(line).contains("tip:"), "{line}: {}", answer(line));
        }
    }
}
