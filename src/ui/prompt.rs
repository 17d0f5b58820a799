//! Asks for approval.

use std::io::{BufRead, Result, Write};

/// Asks a question on `output` and reads the answer from `input`; only `y` and `yes` approve. The
/// end of the input is a no.
pub fn approved(question: &str, input: &mut dyn BufRead, output: &mut dyn Write) -> Result<bool> {
    write!(output, "{question} [yN] ")?;
    output.flush()?;
    let mut answer = String::new();
    let read = input.read_line(&mut answer)?;
    if read == 0 {
        writeln!(output)?;
    }
    let answer = answer.trim();
    Ok(answer.eq_ignore_ascii_case("y") || answer.eq_ignore_ascii_case("yes"))
}

/// Asks a question that nobody should answer by habit: only the whole word `yes` is one.
pub fn confirmed(question: &str, input: &mut dyn BufRead, output: &mut dyn Write) -> Result<bool> {
    write!(output, "{question} [type yes] ")?;
    output.flush()?;
    let mut answer = String::new();
    if input.read_line(&mut answer)? == 0 {
        writeln!(output)?;
    }
    Ok(answer.trim().eq_ignore_ascii_case("yes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(answer: &str) -> (bool, String) {
        let mut shown = Vec::new();
        let yes = approved("proceed with job?", &mut answer.as_bytes(), &mut shown).unwrap();
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
            let said = confirmed("again?", &mut answer.as_bytes(), &mut shown).unwrap();
            assert_eq!(said, yes, "{answer}");
        }
    }

    #[test]
    fn the_end_of_the_input_is_a_no() {
        assert_eq!(ask(""), (false, "proceed with job? [yN] \n".to_owned()));
    }
}
