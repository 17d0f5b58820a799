//! Tells apart the two commands called `run`: one on instances, one over hosts.
//!
//! Their options differ, so each is parsed, and prints its help, on its own. [`split_variables`] prepares the
//! options `--var` of all commands.

/// The name under which clap parses `run` over hosts.
pub(super) const RUN_HOSTS: &str = "run-hosts";

/// Global options with a value. The value is not the command.
const WITH_VALUE: [&str; 10] = [
    "--home",
    "--loglevel",
    "--logfile",
    "--tmp",
    "--runtime",
    "--version-check",
    "--allow",
    "--max-text",
    "--max-value",
    "--eval-timeout",
];
/// Long options that choose hosts and so select `run` over hosts.
const HOST_OPTIONS: [&str; 3] = ["--hosts", "--roles", "--hosts-file"];

/// The option for variables. Its value is two words, or one word `NAME=VALUE`.
const VARIABLE_OPTION: &str = "--var";

/// Makes two words of `NAME=VALUE` after `--var`.
///
/// The words of a command that `run` starts stay as they are.
pub(super) fn split_variables(words: Vec<String>) -> Vec<String> {
    let command = command_index(&words).and_then(|index| words.get(index));
    let takes_command = command.is_some_and(|name| name == "run" || name == RUN_HOSTS);
    let start = command_index(&words).map_or(words.len(), |index| index + 1);
    let mut split = Vec::with_capacity(words.len() + 1);
    let mut words = words.into_iter();
    split.extend(words.by_ref().take(start));
    let mut after_option = false;
    while let Some(word) = words.next() {
        let is_option = word.starts_with('-');
        if word == "--" || (takes_command && !is_option && !after_option) {
            split.push(word);
            break;
        }
        let joined = word
            .strip_prefix(VARIABLE_OPTION)
            .and_then(|rest| rest.strip_prefix('='));
        let (pair, is_variable) = match joined {
            Some(pair) => (Some(pair.to_owned()), true),
            None if word == VARIABLE_OPTION => (words.next(), true),
            None => (None, false),
        };
        if is_variable {
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
        } else {
            split.push(word);
        }
        // The words of a variable are complete, so another word begins something else.
        after_option = is_option && !is_variable;
    }
    split.extend(words);
    split
}

fn is_variable_name(text: &str) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    !text.is_empty() && !text.starts_with('-') && text.chars().all(is_letter)
}

/// Renames a `run` that chooses hosts to [`RUN_HOSTS`] in the words of a command line.
pub(super) fn route(mut words: Vec<String>) -> Vec<String> {
    if let Some(index) = command_index(&words)
        && words[index] == "run"
        && chooses_hosts(&words[index + 1..])
    {
        RUN_HOSTS.clone_into(&mut words[index]);
    }
    words
}

/// Returns the index of the command in the words.
fn command_index(words: &[String]) -> Option<usize> {
    let mut index = 1;
    while let Some(word) = words.get(index) {
        if !word.starts_with('-') {
            return Some(index);
        }
        index += if WITH_VALUE.contains(&word.as_str()) {
            2
        } else {
            1
        };
    }
    None
}

/// Whether one of the words is an option that chooses hosts.
///
/// Options end at `--` and at a word that cannot be the value of an option.
fn chooses_hosts(words: &[String]) -> bool {
    let mut after_option = false;
    for word in words {
        let is_option = word.starts_with('-');
        if word == "--" || !(is_option || after_option) {
            return false;
        }
        if is_host_option(word) {
            return true;
        }
        after_option = is_option;
    }
    false
}

fn is_host_option(word: &str) -> bool {
    if let Some(long) = word.strip_prefix("--") {
        let name = long.split('=').next().unwrap_or(long);
        return HOST_OPTIONS.iter().any(|known| known[2..] == *name);
    }
    // Short options can be combined: `-PH a,b`. The flags before `H` or `R` take no value.
    let Some(short) = word.strip_prefix('-') else {
        return false;
    };
    let flags = short.trim_start_matches(['P', 'w', 'A', 'a', 'k', 'v', 'q']);
    flags.starts_with(['H', 'R'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routed(line: &str) -> String {
        let words = line.split(' ').map(str::to_owned).collect();
        route(words).join(" ")
    }

    #[test]
    fn a_run_that_chooses_hosts_is_one_over_hosts() {
        for line in [
            "unfurl run -H a -- uptime",
            "unfurl run -PHa,b -- uptime",
            "unfurl --home run run --roles=web -- uptime",
            "unfurl -v run -w -n 3 -R web uptime",
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
                "u --home var deploy --var a -",
            ),
            ("u deploy --var", "u deploy --var"),
            ("u deploy --var {a=b} c", "u deploy --var {a=b} c"),
            ("u", "u"),
        ] {
            let words = line.split(' ').map(str::to_owned).collect();
            assert_eq!(split_variables(words).join(" "), expected, "{line}");
        }
    }

    #[test]
    fn all_else_stays_as_it_is() {
        for line in [
            "unfurl run -- curl -H x",
            "unfurl run curl -H x",
            "unfurl run -i H -- uptime",
            "unfurl deploy -H",
            "unfurl",
            "unfurl --home run",
        ] {
            assert_eq!(routed(line), line);
        }
    }
}
