//! Renders the results of `unfurl doctor`: one line per check, with advice and a command below a problem.

use super::words::{count, one_line};

/// The width of the column with the states.
const STATE_WIDTH: usize = 8;

/// The result of a check as text.
#[derive(Debug, Clone, Copy)]
pub struct CheckLine<'a> {
    /// The state as a word.
    pub state: &'a str,
    pub subject: &'a str,
    pub message: &'a str,
    /// The place in a file, as `path:line:column`.
    pub place: Option<&'a str>,
    pub help: Option<&'a str>,
    /// The command that fixes the problem.
    pub fix: Option<&'a str>,
}

/// All results.
#[derive(Debug, Clone)]
pub struct DoctorView<'a> {
    pub lines: Vec<CheckLine<'a>>,
    /// The numbers of errors and of warnings.
    pub errors: usize,
    pub warnings: usize,
    pub has_ensemble: bool,
}

impl DoctorView<'_> {
    /// Renders the checks. The last line is the verdict.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for line in &self.lines {
            let (subject, message) = (one_line(line.subject), one_line(line.message));
            text.push_str(&format!(
                "{:STATE_WIDTH$} {subject}: {message}\n",
                line.state
            ));
            let more = [("at", line.place), ("help", line.help), ("fix", line.fix)];
            for (word, part) in more {
                if let Some(part) = part {
                    let part = one_line(part);
                    text.push_str(&format!("{:STATE_WIDTH$} {word}: {part}\n", ""));
                }
            }
        }
        text.push_str(&format!("{}\n", self.verdict()));
        text
    }

    /// Returns the verdict as a sentence.
    pub fn verdict(&self) -> String {
        let subject = if self.has_ensemble {
            "this ensemble"
        } else {
            "a first project"
        };
        let warnings = count(self.warnings, "warning");
        match (self.errors, self.warnings) {
            (0, 0) => format!("Ready for {subject}: no problems were found."),
            (0, _) => format!("Ready for {subject}, with {warnings}."),
            (errors, 0) => format!("Not ready for {subject}: {}.", count(errors, "error")),
            (errors, _) => {
                let errors = count(errors, "error");
                format!("Not ready for {subject}: {errors}, {warnings}.")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_ends_with_the_command_that_fixes_it() {
        let line = CheckLine {
            state: "ok",
            subject: "git",
            message: "git version 2.47.3",
            place: None,
            help: None,
            fix: None,
        };
        let wrong = CheckLine {
            state: "error",
            subject: "key",
            message: "other users can use\nit",
            place: Some("ensemble.yaml:3:7"),
            help: Some("keep it"),
            fix: Some("chmod 600 key"),
        };
        let mut view = DoctorView {
            lines: vec![line, wrong],
            errors: 1,
            warnings: 2,
            has_ensemble: true,
        };
        insta::assert_snapshot!(view.text(), @"
        ok       git: git version 2.47.3
        error    key: other users can use it
                 at: ensemble.yaml:3:7
                 help: keep it
                 fix: chmod 600 key
        Not ready for this ensemble: 1 error, 2 warnings.
        ");
        view.errors = 0;
        assert_eq!(view.verdict(), "Ready for this ensemble, with 2 warnings.");
        (view.warnings, view.has_ensemble) = (0, false);
        assert_eq!(
            view.verdict(),
            "Ready for a first project: no problems were found."
        );
    }
}
