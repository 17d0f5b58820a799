//! Asks yes-or-no questions on given streams and reads the answers.
//!
//! `cli::prompt` calls these functions on a separate thread, so that a signal can end the wait.

use std::io::{BufRead, Result, Write};

/// Asks for approval on `output` and reads the answer from `input`.
///
/// Only `y` and `yes` approve. The end of the input counts as "no".
pub fn read_approval(
    question: &str,
    input: &mut dyn BufRead,
    output: &mut dyn Write,
) -> Result<bool> {
    let answer = read_answer(&format!("{question} [yN] "), input, output)?;
    Ok(answer == "y" || answer == "yes")
}

/// Asks for confirmation of something dangerous. Only the full word `yes` confirms.
pub fn read_confirmation(
    question: &str,
    input: &mut dyn BufRead,
    output: &mut dyn Write,
) -> Result<bool> {
    Ok(read_answer(&format!("{question} [type yes] "), input, output)? == "yes")
}

/// Returns the answer in lower case. Empty at the end of the input.
fn read_answer(question: &str, input: &mut dyn BufRead, output: &mut dyn Write) -> Result<String> {
    output.write_all(question.as_bytes())?;
    output.flush()?;
    let mut answer = String::new();
    if input.read_line(&mut answer)? == 0 {
        writeln!(output)?;
    }
    Ok(answer.trim().to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(answer: &str) -> (bool, String) {
        let mut shown = Vec::new();
        let yes = read_approval("proceed with job?", &mut answer.as_bytes(), &mut shown).unwrap();
        (yes, String::from_utf8(shown).unwrap())
    }

    #[test]
    fn only_yes_approves() {
        for (answer, yes) in [
            ("y\n", true),
            ("Yes\n", true),
            ("\n", false),
            ("n\n", false),
        ] {
            assert_eq!(ask(answer), (yes, "proceed with job? [yN] ".to_owned()));
        }
    }

    #[test]
    fn a_letter_does_not_confirm() {
        for (answer, yes) in [("y\n", false), ("yes\n", true), ("", false)] {
            let mut shown = Vec::new();
            let said = read_confirmation("again?", &mut answer.as_bytes(), &mut shown).unwrap();
            assert_eq!(said, yes, "{answer}");
        }
    }

    #[test]
    fn the_end_of_the_input_is_a_no() {
        assert_eq!(ask(""), (false, "proceed with job? [yN] \n".to_owned()));
    }
}
