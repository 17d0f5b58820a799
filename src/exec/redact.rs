//! Takes secrets out of output that is shown while it is written.

use crate::host::{Command, Question};
use crate::value::REDACTED;

/// The most bytes kept back while waiting for the end of a line.
const KEPT_BACK: usize = 64 << 10;

/// Replaces the secrets of one command in one of its outputs, line by line: a secret that arrives
/// in two pieces is found, too.
#[derive(Debug)]
pub(super) struct Redactor {
    secrets: Vec<Vec<u8>>,
    /// What is written for us alone.
    marks: Vec<Vec<u8>>,
    kept_back: Vec<u8>,
}

impl Redactor {
    pub(super) fn of(command: &Command) -> Self {
        Self {
            secrets: command.secret_lines().map(Vec::from).collect(),
            marks: marks_of(command),
            kept_back: Vec::new(),
        }
    }

    /// What of the output may be shown after these bytes came.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        if self.secrets.is_empty() && self.marks.is_empty() {
            return bytes.to_vec();
        }
        self.kept_back.extend_from_slice(bytes);
        let line_end = self.kept_back.iter().rposition(|byte| *byte == b'\n');
        let end = match line_end {
            Some(end) => end + 1,
            None if self.kept_back.len() > KEPT_BACK => self.kept_back.len(),
            None => 0,
        };
        let rest = self.kept_back.split_off(end);
        let whole = std::mem::replace(&mut self.kept_back, rest);
        self.redacted(whole)
    }

    /// What was kept back, once nothing more comes.
    pub(super) fn end(&mut self) -> Vec<u8> {
        let rest = std::mem::take(&mut self.kept_back);
        self.redacted(rest)
    }

    fn redacted(&self, text: Vec<u8>) -> Vec<u8> {
        let secrets = self.secrets.iter();
        let text = secrets.fold(text, |text, secret| replace(text, secret, REDACTED));
        let marks = self.marks.iter();
        marks.fold(text, |text, mark| replace(text, mark, ""))
    }
}

/// The questions of those that let a command begin.
fn marks_of(command: &Command) -> Vec<Vec<u8>> {
    let marks = command.answers.iter().filter(|answer| {
        matches!(answer.question, Question::Become(_)) && !answer.prompt.is_empty()
    });
    marks.map(|answer| answer.prompt.clone().into()).collect()
}

fn replace(text: Vec<u8>, secret: &[u8], by: &str) -> Vec<u8> {
    let mut shown = Vec::new();
    let mut found = false;
    let mut rest = text.as_slice();
    while let Some(at) = rest.windows(secret.len()).position(|part| part == secret) {
        shown.extend_from_slice(&rest[..at]);
        shown.extend_from_slice(by.as_bytes());
        found = true;
        rest = &rest[at + secret.len()..];
    }
    if !found {
        return text;
    }
    shown.extend_from_slice(rest);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Program;

    fn redactor(secrets: &[&str]) -> Redactor {
        let mut command = Command::new(Program::Argv(vec!["true".to_owned()]), "/");
        command.secrets = secrets.iter().map(|&secret| secret.to_owned()).collect();
        Redactor::of(&command)
    }

    fn shown(redactor: &mut Redactor, pieces: &[&str]) -> String {
        let mut shown: Vec<u8> = Vec::new();
        for piece in pieces {
            shown.extend(redactor.push(piece.as_bytes()));
        }
        shown.extend(redactor.end());
        String::from_utf8(shown).unwrap_or_default()
    }

    #[test]
    fn a_secret_in_two_pieces_is_found() {
        let shown = shown(
            &mut redactor(&["hunter2"]),
            &["a\nit is hun", "ter2, ", "hunter2"],
        );
        assert_eq!(shown, "a\nit is <<REDACTED>>, <<REDACTED>>");
    }

    #[test]
    fn a_secret_inside_of_another_leaves_no_rest() {
        let mut redactor = redactor(&["hunter2", "hunter2-long", "ab"]);
        let shown = shown(&mut redactor, &["login hunter2-long, then hunter2 ab"]);
        assert_eq!(shown, "login <<REDACTED>>, then <<REDACTED>> ab");
    }

    #[test]
    fn each_line_of_a_secret_is_one() {
        let mut redactor = redactor(&["-----BEGIN-----\nabcdefghij\n"]);
        assert_eq!(
            shown(&mut redactor, &["key abcdefghij\n", "ok"]),
            "key <<REDACTED>>\nok"
        );
    }

    #[test]
    fn output_without_secrets_is_passed_on_at_once() {
        assert_eq!(redactor(&[]).push(b"1 of 3 ..."), b"1 of 3 ...");
    }
}
