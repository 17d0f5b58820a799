//! Brings the words of a command line into the form that clap parses.
//!
//! 1. Global options and `--output` before the command move behind it, so that both places are equal.
//! 2. The two commands called `run` are told apart: one on instances, one over hosts. Their options differ, so
//!    each is parsed, and prints its help, on its own.
//! 3. `--var NAME=VALUE` becomes two words.
//!
//! The words after `--`, and those of a command that is passed on, stay as they are.

use clap::Command;

use super::command_words::{Options, passes_words_on, subcommand};

/// The name under which clap parses `run` over hosts.
pub(super) const RUN_HOSTS: &str = "run-hosts";

/// The name of both commands `run`.
pub(super) const RUN: &str = "run";

/// The names of options that choose hosts and so select `run` over hosts.
const HOST_OPTIONS: [&str; 3] = ["hosts", "roles", "hosts_file"];

/// The option for variables. Its value is two words, or one word `NAME=VALUE`.
const VARIABLE_OPTION: &str = "--var";

/// The option for the format of the result, which each command declares on its own.
const OUTPUT_OPTION: &str = "--output";

/// The command that clap adds to print help.
const HELP_COMMAND: &str = "help";

/// The words that ask for help.
const HELP_OPTIONS: [&str; 2] = ["--help", "-h"];

/// Returns the words of a command line in the form that clap parses. `cli` is the definition of the program.
pub(super) fn route(words: Vec<String>, cli: &Command) -> Vec<String> {
    let mut words = words.into_iter().peekable();
    let mut path: Vec<String> = words.by_ref().take(1).collect();
    let mut moved = Vec::new();
    let mut command = cli;
    while command.has_subcommands() {
        let globals = Options::new([cli]);
        while let Some(word) = words.next_if(|word| is_movable(word, &globals)) {
            let values = match word.as_str() {
                OUTPUT_OPTION => 1,
                word => globals.values_after(word),
            };
            moved.push(word);
            moved.extend(words.by_ref().take(values));
        }
        // An unknown word comes first, so that clap reports the word and not an option.
        let name = words.next_if(|word| !word.starts_with('-') && word != HELP_COMMAND);
        let Some(name) = name else {
            break;
        };
        let found = subcommand(command, &name);
        path.push(name);
        match found {
            Some(found) => command = found,
            None => break,
        }
    }
    let mut rest: Vec<String> = words.collect();
    if command.get_name() == RUN
        && let Some(run_hosts) = subcommand(cli, RUN_HOSTS)
    {
        let options = Options::new([run_hosts, command, cli]);
        if chooses_hosts(&rest, &options) {
            if let Some(help) = asks_for_help(&rest) {
                rest = vec![help];
            }
            path.pop();
            path.push(RUN_HOSTS.to_owned());
            command = run_hosts;
        }
    }
    path.extend(moved);
    path.extend(split_variables(
        rest,
        command,
        &Options::new([command, cli]),
    ));
    path
}

/// Returns true for a word that may stand before the command and after it.
fn is_movable(word: &str, globals: &Options<'_>) -> bool {
    let is_output = word
        .strip_prefix(OUTPUT_OPTION)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('='));
    let are_global = || {
        let options = globals.in_word(word);
        options.is_some_and(|options| options.iter().all(|option| option.is_global_set()))
    };
    is_output || (word.starts_with('-') && are_global())
}

/// Makes two words of `NAME=VALUE` after `--var`.
fn split_variables(words: Vec<String>, command: &Command, options: &Options<'_>) -> Vec<String> {
    if options.long(&VARIABLE_OPTION[2..]).is_none() {
        return words;
    }
    let mut split = Vec::with_capacity(words.len() + 1);
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let is_option = word.starts_with('-');
        if word == "--" || (passes_words_on(command) && !is_option) {
            split.push(word);
            break;
        }
        let joined = word
            .strip_prefix(VARIABLE_OPTION)
            .and_then(|rest| rest.strip_prefix('='));
        let pair = match joined {
            Some(pair) => Some(pair.to_owned()),
            None if word == VARIABLE_OPTION => words.next(),
            None => {
                let values = options.values_after(&word);
                split.push(word);
                split.extend(words.by_ref().take(values));
                continue;
            }
        };
        split.push(VARIABLE_OPTION.to_owned());
        match pair.as_deref().map(|pair| (pair, pair.split_once('='))) {
            Some((_, Some((name, value)))) if is_variable_name(name) => {
                split.extend([name.to_owned(), value.to_owned()]);
            }
            Some((name, _)) => {
                split.push(name.to_owned());
                split.extend(words.next());
            }
            None => {}
        }
    }
    split.extend(words);
    split
}

fn is_variable_name(text: &str) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    !text.is_empty() && !text.starts_with('-') && text.chars().all(is_letter)
}

/// Returns true if one of the words is an option that chooses hosts.
///
/// Options end at `--` and at a word that is not the value of an option.
fn chooses_hosts(words: &[String], options: &Options<'_>) -> bool {
    let mut index = 0;
    while let Some(word) = words.get(index) {
        if word == "--" || !word.starts_with('-') {
            return false;
        }
        let found = options.in_word(word).unwrap_or_default();
        let is_host = |name: &str| HOST_OPTIONS.contains(&name);
        if found.iter().any(|option| is_host(option.get_id().as_str())) {
            return true;
        }
        index += 1 + options.values_after(word);
    }
    false
}

/// Returns the option that asks for help, if the words before `--` and the command have one.
///
/// In `run -H --help`, clap would take it for a missing value.
fn asks_for_help(words: &[String]) -> Option<String> {
    let mut options = words.iter().take_while(|word| *word != "--");
    let asked = options.find(|word| HELP_OPTIONS.contains(&word.as_str()));
    let begins = words.iter().position(|word| !word.starts_with('-'));
    let place = words.iter().position(|word| Some(word) == asked)?;
    begins
        .is_none_or(|begins| place < begins)
        .then(|| asked.cloned())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command_line::definition;

    fn routed(line: &str) -> String {
        let words = line.split(' ').map(str::to_owned).collect();
        route(words, &definition()).join(" ")
    }

    #[test]
    fn a_run_that_chooses_hosts_is_one_over_hosts() {
        for line in [
            "unfurl run -H a -- uptime",
            "unfurl run -PHa,b -- uptime",
            "unfurl --home run run --roles=web -- uptime",
            "unfurl -v run -w -n 3 -R web uptime",
            "unfurl run -v -H a uptime",
            "unfurl run --var a b --hosts-file f uptime",
        ] {
            assert!(routed(line).contains(RUN_HOSTS), "{line}");
        }
    }

    #[test]
    fn a_variable_is_two_words_or_one() {
        for (line, expected) in [
            ("u deploy --var input_a=@f e", "u deploy --var input_a @f e"),
            ("u deploy --var=a=b=c", "u deploy --var a b=c"),
            (
                "u deploy --var a b=c --var d= e",
                "u deploy --var a b=c --var d  e",
            ),
            ("u deploy e --var a=b -v", "u deploy e --var a b -v"),
            (
                "u run -i x --var a=b -- c --var d=e",
                "u run -i x --var a b -- c --var d=e",
            ),
            ("u run --var a=b c --var d=e", "u run --var a b c --var d=e"),
            (
                "u --home var deploy --var a=-",
                "u deploy --home var --var a -",
            ),
            ("u deploy --var", "u deploy --var"),
            ("u deploy --var {a=b} c", "u deploy --var {a=b} c"),
            ("u", "u"),
        ] {
            assert_eq!(routed(line), expected, "{line}");
        }
    }

    #[test]
    fn all_else_stays_as_it_is() {
        for line in [
            "unfurl run -- curl -H x",
            "unfurl run curl -H x",
            "unfurl run -i H -- uptime",
            "unfurl run -v curl -H x",
            "unfurl run --save curl -R x",
            "unfurl run -- ls -v",
            "unfurl run ls --output json",
            "unfurl git log -q --output=a",
            "unfurl op cmd.run --var=a=b",
            "unfurl --help deploy",
            "unfurl --nope deploy",
            "unfurl help -v",
            "unfurl deploy -H",
            "unfurl",
            "unfurl --home run",
        ] {
            assert_eq!(routed(line), line);
        }
    }

    #[test]
    fn options_of_all_commands_may_stand_before_the_command() {
        for (line, expected) in [
            ("unfurl --output json plan e", "unfurl plan --output json e"),
            (
                "unfurl -v --output=json lock list",
                "unfurl lock list -v --output=json",
            ),
            (
                "unfurl lock --output json list e",
                "unfurl lock list --output json e",
            ),
            ("unfurl -v deploy -v", "unfurl deploy -v -v"),
            (
                "unfurl -qv --home h state -v apply",
                "unfurl state apply -qv --home h -v",
            ),
            ("unfurl -v deplyo", "unfurl deplyo -v"),
            (
                "unfurl -v run -H a -- ls -v",
                "unfurl run-hosts -v -H a -- ls -v",
            ),
            (
                "unfurl -q run -- -v --output x",
                "unfurl run -q -- -v --output x",
            ),
            (
                "unfurl --output json git log -q",
                "unfurl git --output json log -q",
            ),
            ("unfurl -v", "unfurl -v"),
        ] {
            assert_eq!(routed(line), expected, "{line}");
        }
    }

    #[test]
    fn help_of_run_over_hosts_needs_no_host() {
        for (line, expected) in [
            ("unfurl run -H --help", "unfurl run-hosts --help"),
            ("unfurl run -R -h", "unfurl run-hosts -h"),
            ("unfurl run -H a --help", "unfurl run-hosts -H a --help"),
            (
                "unfurl run -H a -- ls --help",
                "unfurl run-hosts -H a -- ls --help",
            ),
            ("unfurl run --help", "unfurl run --help"),
        ] {
            assert_eq!(routed(line), expected, "{line}");
        }
    }
}
