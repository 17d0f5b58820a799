//! Answers what can follow in an unfinished command line.

use std::ffi::OsString;
use std::sync::mpsc;
use std::time::Duration;

use clap::Command;
use clap_complete::engine::{CompletionCandidate, complete};

use super::known_names::{NameSources, with_names};
use super::scripts::Shell;
use super::words::{Candidate, last_command, split, write};
use crate::cli::command_words::is_passed_on;
use crate::cli::route::route;
use crate::name::EnumWords as _;
use crate::system::env;

/// The first word of a call by a shell's script.
pub(in crate::cli) const COMPLETE_COMMAND: &str = "complete-words";

/// The time after which a shell gets no answer, so that a key is never without effect for long.
const TIME_LIMIT: Duration = Duration::from_secs(2);

/// The stack of the thread that loads the ensemble, in bytes. The system only allocates what is used.
const STACK_SIZE: usize = 256 << 20;

/// Returns the candidates for a shell. `words` are those after [`COMPLETE_COMMAND`], `cli` is the definition of the
/// program.
///
/// The answer is empty after any error: a message would disturb the line that is typed.
pub(in crate::cli) fn answer(words: &[String], cli: Command) -> String {
    let Some((shell, words)) = words.split_first() else {
        return String::new();
    };
    let Some(shell) = Shell::parse(shell) else {
        return String::new();
    };
    let (words, part) = match (shell, words) {
        (Shell::Bash, [line, part]) => (last_command(split(line)), part.clone()),
        (Shell::Zsh | Shell::Fish, [dashes, words @ ..]) if dashes == "--" => {
            (words.to_vec(), String::new())
        }
        _ => return String::new(),
    };
    let typed = words.last().cloned().unwrap_or_default();
    let (sender, receiver) = mpsc::channel();
    let thread = std::thread::Builder::new()
        .name("completion".to_owned())
        .stack_size(STACK_SIZE)
        .spawn(move || sender.send(candidates(words, cli)).ok());
    let found = thread
        .ok()
        .and_then(|_| receiver.recv_timeout(TIME_LIMIT).ok());
    write(shell, &found.unwrap_or_default(), &typed, &part)
}

/// Returns the candidates for the last of the words.
fn candidates(mut words: Vec<String>, cli: Command) -> Vec<Candidate> {
    let Some(typed) = words.pop().filter(|_| !words.is_empty()) else {
        return Vec::new();
    };
    let mut words = route(words, &cli);
    if is_passed_on(&words, &cli) {
        return Vec::new();
    }
    // The words after `man` are those of a command, as after `help`.
    if words.len() > 1 && words[1] == "man" && !typed.starts_with('-') {
        "help".clone_into(&mut words[1]);
    }
    let sources = NameSources::of(&words, &cli);
    words.push(typed.clone());
    let index = words.len() - 1;
    let mut command = with_names(cli, &sources);
    let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
    let here = env::current_dir().ok();
    let found = complete(&mut command, words, index, here.as_deref()).unwrap_or_default();
    let mut all: Vec<Candidate> = found
        .iter()
        .filter(|candidate| !candidate.is_hide_set())
        .filter_map(candidate)
        .collect();
    // Options are offered to those who type a dash.
    if typed.is_empty() {
        all.retain(|it| !it.text.starts_with('-'));
    }
    all
}

fn candidate(found: &CompletionCandidate) -> Option<Candidate> {
    let text = found.get_value().to_str()?.to_owned();
    let about = found.get_help().map(ToString::to_string);
    let about = about.unwrap_or_default();
    let about = about.lines().next().unwrap_or_default().replace('\t', " ");
    Some(Candidate { text, about })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command_line::definition;

    fn texts(line: &str) -> Vec<String> {
        let found = candidates(split(line), definition());
        found.into_iter().map(|it| it.text).collect()
    }

    #[test]
    fn commands_and_options_are_completed_without_hidden_ones() {
        assert_eq!(texts("unfurl depl"), ["deploy"]);
        assert_eq!(texts("unfurl -v --output json depl"), ["deploy"]);
        assert_eq!(texts("unfurl run-"), [""; 0]);
        assert_eq!(texts("unfurl undep"), [""; 0]);
        assert_eq!(texts("unfurl lock br"), ["break"]);
        assert_eq!(texts("unfurl deploy --appr"), ["--approve"]);
        assert_eq!(texts("unfurl deploy --output "), ["text", "json", "none"]);
        let sudo = ["--sudo", "--sudo-password-file", "--sudo-password-command"];
        assert_eq!(texts("unfurl run -H a --sud"), sudo);
        assert_eq!(texts("unfurl run --operat"), ["--operation"]);
        assert_eq!(texts("unfurl completions z"), ["zsh"]);
        assert_eq!(texts("unfurl man depl"), ["deploy"]);
        assert_eq!(texts("unfurl man secret ge"), ["get"]);
        assert_eq!(texts("unfurl man --inst"), ["--install"]);
    }

    #[test]
    fn a_passed_on_command_is_not_completed() {
        assert_eq!(texts("unfurl run -- ls --out"), [""; 0]);
        assert_eq!(texts("unfurl git log --out"), [""; 0]);
    }

    #[test]
    fn broken_calls_get_an_empty_answer() {
        for words in [
            &[][..],
            &["tcsh", "x", "y"],
            &["bash"],
            &["bash", "a"],
            &["zsh", "x"],
            &["fish", "--"],
        ] {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            assert_eq!(answer(&words, definition()), "", "{words:?}");
        }
    }
}
