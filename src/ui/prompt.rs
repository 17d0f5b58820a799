//! Asks yes-or-no questions on given streams and reads the answers.
//!
//! `cli::prompt` calls these functions on a separate thread, so that a signal can end the wait.

use std::io::{BufRead, Result, Write};

use super::action::{count_actions, planned_counts};
use super::words;
use crate::job::InstanceAction;

/// The number of names up to which a question lists all of them.
const MAX_NAMES: usize = 5;

/// The answer to a yes-or-no question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Yes,
    No,
    /// The input had ended before an answer came.
    Missing,
}

/// Asks for approval on `output` and reads the answer from `input`.
///
/// Only `y` and `yes` approve, in upper or lower case.
pub fn read_approval(
    question: &str,
    input: &mut dyn BufRead,
    output: &mut dyn Write,
) -> Result<Answer> {
    read_answer(
        &format!("{question} [yes/no] "),
        &["y", "yes"],
        input,
        output,
    )
}

/// Asks for confirmation of something dangerous. Only the full word `yes` confirms.
pub fn read_confirmation(
    question: &str,
    input: &mut dyn BufRead,
    output: &mut dyn Write,
) -> Result<Answer> {
    read_answer(&format!("{question} [type yes] "), &["yes"], input, output)
}

/// Asks a question that one of some words in lower case affirms.
fn read_answer(
    question: &str,
    affirmative: &[&str],
    input: &mut dyn BufRead,
    output: &mut dyn Write,
) -> Result<Answer> {
    output.write_all(question.as_bytes())?;
    output.flush()?;
    let mut answer = String::new();
    if input.read_line(&mut answer)? == 0 {
        writeln!(output)?;
        return Ok(Answer::Missing);
    }
    let answer = answer.trim().to_ascii_lowercase();
    if affirmative.contains(&answer.as_str()) {
        Ok(Answer::Yes)
    } else {
        Ok(Answer::No)
    }
}

/// Words the question whether a job may run: ``create 3, delete 1 (db) in `prod`?``.
///
/// `actions` has the name of each instance and the effect on it. Instances that are deleted are named. `unrunnable`
/// counts the operations that cannot run.
pub fn job_question(
    actions: &[(String, InstanceAction)],
    unrunnable: usize,
    is_dry_run: bool,
    place: &str,
) -> String {
    let counts = count_actions(actions.iter().map(|(_, action)| *action));
    let parts = counts.iter().map(|count| {
        let names = actions.iter().filter(|(_, action)| *action == count.0);
        let names: Vec<&str> = names.map(|(name, _)| name.as_str()).collect();
        let destroys = matches!(count.0, InstanceAction::Delete | InstanceAction::Replace);
        match planned_counts(&[*count]) {
            words if destroys => format!("{words} ({})", listed(&names)),
            words => words,
        }
    });
    let parts: Vec<String> = parts.collect();
    let parts = if parts.is_empty() {
        "run the job".to_owned()
    } else {
        parts.join(", ")
    };
    let dry = if is_dry_run { "dry run: " } else { "" };
    let note = match unrunnable {
        0 => String::new(),
        count => format!(" ({} cannot run)", words::count(count, "operation")),
    };
    format!("{dry}{parts} in `{}`{note}?", words::one_line(place))
}

/// Words the question whether states may run: `run pkg.installed nginx on web1, web2?`.
///
/// Many targets are counted.
pub fn states_question(what: &str, targets: &[&str]) -> String {
    let targets = if targets.len() > MAX_NAMES {
        words::count(targets.len(), "host")
    } else {
        targets.join(", ")
    };
    format!(
        "{} on {}?",
        words::one_line(what),
        words::one_line(&targets)
    )
}

/// Lists names, and counts those after the first few.
fn listed(names: &[&str]) -> String {
    let shown = names.iter().take(MAX_NAMES);
    let shown: Vec<_> = shown.map(|name| words::one_line(name)).collect();
    match names.len() - shown.len() {
        0 => shown.join(", "),
        hidden => format!("{} and {hidden} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(answer: &str) -> (Answer, String) {
        let mut shown = Vec::new();
        let said = read_approval("go?", &mut answer.as_bytes(), &mut shown).unwrap();
        (said, String::from_utf8(shown).unwrap())
    }

    #[test]
    fn only_yes_approves() {
        for (answer, said) in [
            ("y\n", Answer::Yes),
            ("Yes\n", Answer::Yes),
            ("YES", Answer::Yes),
            ("\n", Answer::No),
            ("n\n", Answer::No),
            ("yess\n", Answer::No),
        ] {
            assert_eq!(ask(answer), (said, "go? [yes/no] ".to_owned()));
        }
    }

    #[test]
    fn a_letter_does_not_confirm() {
        for (answer, expected) in [
            ("y\n", Answer::No),
            ("yes\n", Answer::Yes),
            ("", Answer::Missing),
        ] {
            let mut shown = Vec::new();
            let said = read_confirmation("again?", &mut answer.as_bytes(), &mut shown).unwrap();
            assert_eq!(said, expected, "{answer}");
        }
    }

    #[test]
    fn the_end_of_the_input_is_no_answer() {
        assert_eq!(ask(""), (Answer::Missing, "go? [yes/no] \n".to_owned()));
    }

    #[test]
    fn the_question_of_a_job_counts_its_effects_and_names_deletions() {
        use InstanceAction::{Change, Create, Delete, Replace};
        let question = |actions: &[(&str, InstanceAction)], is_dry_run| {
            let actions = actions
                .iter()
                .map(|(name, action)| ((*name).to_owned(), *action));
            job_question(&actions.collect::<Vec<_>>(), 0, is_dry_run, "prod")
        };
        let three = [("a", Create), ("b", Change), ("c", Create), ("d", Create)];
        insta::assert_snapshot!(question(&three, false), @"create 3, change 1 in `prod`?");
        insta::assert_snapshot!(question(&three[..1], true), @"dry run: create 1 in `prod`?");
        let gone = [("db", Delete), ("web", Replace), ("cache\n", Delete)];
        insta::assert_snapshot!(question(&gone, false), @"replace 1 (web), delete 2 (db, cache ) in `prod`?");
        let many: Vec<(&str, InstanceAction)> = "abcdefg"
            .split("")
            .filter(|it| !it.is_empty())
            .map(|it| (it, Delete))
            .collect();
        insta::assert_snapshot!(question(&many, false), @"delete 7 (a, b, c, d, e and 2 more) in `prod`?");
        insta::assert_snapshot!(question(&[], false), @"run the job in `prod`?");
    }

    #[test]
    fn the_question_of_states_names_their_targets() {
        let what = "run pkg.installed nginx";
        insta::assert_snapshot!(states_question(what, &["web1", "web2"]), @"run pkg.installed nginx on web1, web2?");
        insta::assert_snapshot!(states_question(what, &["w"; 6]), @"run pkg.installed nginx on 6 hosts?");
    }
}
