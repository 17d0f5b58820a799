//! Looks up the words of a command line in its clap definition: commands, options, values of options.
//!
//! clap itself only parses whole command lines. `route` needs to know earlier which words are commands, and
//! which ones belong to a command that is passed on.

use clap::{Arg, Command};

/// Returns the option of that name, of these commands and the global ones of the program.
pub(super) struct Options<'a> {
    commands: Vec<&'a Command>,
}

impl<'a> Options<'a> {
    /// Takes the commands whose options count. The first one that has an option decides.
    pub(super) fn new(commands: impl IntoIterator<Item = &'a Command>) -> Self {
        Self {
            commands: commands.into_iter().collect(),
        }
    }

    fn arguments(&self) -> impl Iterator<Item = &'a Arg> {
        self.commands.iter().flat_map(|it| it.get_arguments())
    }

    /// Returns the option with this long name, without the dashes.
    pub(super) fn long(&self, name: &str) -> Option<&'a Arg> {
        self.arguments().find(|arg| {
            arg.get_long() == Some(name)
                || arg.get_all_aliases().is_some_and(|all| all.contains(&name))
        })
    }

    fn short(&self, letter: char) -> Option<&'a Arg> {
        self.arguments().find(|arg| arg.get_short() == Some(letter))
    }

    /// Returns the options in a word such as `--var`, `--var=a`, `-v` or `-vH`. Fails if one of them is unknown.
    pub(super) fn in_word(&self, word: &str) -> Option<Vec<&'a Arg>> {
        if let Some(long) = word.strip_prefix("--") {
            let name = long.split('=').next().unwrap_or(long);
            return Some(vec![self.long(name)?]);
        }
        let mut found = Vec::new();
        for letter in word.strip_prefix('-')?.chars() {
            let option = self.short(letter)?;
            found.push(option);
            if values_of(option) > 0 {
                break;
            }
        }
        (!found.is_empty()).then_some(found)
    }

    /// Returns how many of the words after an option are its values.
    pub(super) fn values_after(&self, word: &str) -> usize {
        if word.starts_with("--") && word.contains('=') {
            return 0;
        }
        let options = self.in_word(word).unwrap_or_default();
        let Some(last) = options.last() else {
            return 0;
        };
        let is_inside = !word.starts_with("--") && word.chars().count() > 1 + options.len();
        values_of(last).saturating_sub(usize::from(is_inside))
    }
}

/// Returns how many words an option takes as its values.
fn values_of(option: &Arg) -> usize {
    if !option.get_action().takes_values() || option.is_require_equals_set() {
        return 0;
    }
    option.get_num_args().map_or(1, |range| range.max_values())
}

/// Returns the subcommand with this name or alias.
pub(super) fn subcommand<'a>(of: &'a Command, name: &str) -> Option<&'a Command> {
    of.get_subcommands()
        .find(|it| it.get_name() == name || it.get_all_aliases().any(|alias| alias == name))
}

/// Returns true if the words after the first argument of this command belong to another program.
pub(super) fn passes_words_on(command: &Command) -> bool {
    command.get_positionals().any(Arg::is_trailing_var_arg_set)
}

/// Returns true if the next word after these belongs to a command that is passed on to another program.
///
/// The words begin with the name of this program, as `route` returns them.
pub(super) fn is_passed_on(words: &[String], cli: &Command) -> bool {
    let mut command = cli;
    let mut words = words.iter().skip(1);
    while let Some(word) = words.next() {
        if word == "--" {
            return true;
        }
        if word.starts_with('-') {
            let values = Options::new([command, cli]).values_after(word);
            words.by_ref().take(values).for_each(drop);
        } else if let Some(found) = subcommand(command, word) {
            command = found;
        } else if passes_words_on(command) {
            return true;
        }
    }
    false
}
