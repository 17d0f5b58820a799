//! The results of the checks: one [`Check`] for each fact, and the verdict over all of them.

use std::collections::HashSet;

use crate::diagnostic::SourcePosition;

/// The state of a check, from harmless to serious.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckState {
    Ok,
    /// A fact that is good to know and needs no action.
    Note,
    /// A job can run, but probably not as wanted.
    Warning,
    /// A job would be refused or would fail.
    Error,
}

impl CheckState {
    /// Returns the word for the state.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// The kind of the check, which stays the same in later versions.
    pub id: &'static str,
    pub state: CheckState,
    /// The thing that was checked.
    pub subject: String,
    pub message: String,
    /// Advice for which there is no command.
    pub help: Option<String>,
    /// The command that fixes the problem.
    pub fix: Option<String>,
    /// The place in a file that is at fault.
    pub place: Option<SourcePosition>,
}

impl Check {
    #[expect(
        clippy::needless_pass_by_value,
        reason = "callers pass both errors and texts"
    )]
    pub(super) fn new(
        id: &'static str,
        state: CheckState,
        subject: impl Into<String>,
        message: impl ToString,
    ) -> Self {
        Self {
            id,
            state,
            subject: subject.into(),
            message: message.to_string(),
            help: None,
            fix: None,
            place: None,
        }
    }

    pub(super) fn ok(id: &'static str, subject: impl Into<String>, message: impl ToString) -> Self {
        Self::new(id, CheckState::Ok, subject, message)
    }

    pub(super) fn note(
        id: &'static str,
        subject: impl Into<String>,
        message: impl ToString,
    ) -> Self {
        Self::new(id, CheckState::Note, subject, message)
    }

    pub(super) fn warning(
        id: &'static str,
        subject: impl Into<String>,
        message: impl ToString,
    ) -> Self {
        Self::new(id, CheckState::Warning, subject, message)
    }

    pub(super) fn error(
        id: &'static str,
        subject: impl Into<String>,
        message: impl ToString,
    ) -> Self {
        Self::new(id, CheckState::Error, subject, message)
    }

    /// Sets the command that fixes the problem.
    pub(super) fn fix(mut self, command: impl Into<String>) -> Self {
        self.fix = Some(command.into());
        self
    }

    /// Sets advice in words.
    pub(super) fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    /// Sets the hint of an error: as advice, and its command as the fix if it names one.
    pub(super) fn hint(mut self, hint: Option<String>) -> Self {
        if let Some(hint) = hint {
            self.fix = command_in(&hint).or(self.fix);
            self.help = Some(hint);
        }
        self
    }
}

/// The first words of commands that hints name.
const PROGRAMS: [&str; 7] = [
    "unfurl ", "git ", "chmod ", "chown ", "rm ", "ulimit ", "pip ",
];

/// Returns the first command in backquotes that a hint names, unless a person must complete it.
fn command_in(hint: &str) -> Option<String> {
    let quoted = hint.split('`').skip(1).step_by(2);
    let mut commands = quoted.filter(|text| PROGRAMS.iter().any(|it| text.starts_with(it)));
    let is_blank = |word: &str| word.len() > 1 && word.bytes().all(|b| b.is_ascii_uppercase());
    let first = commands.next()?;
    (!first.split_whitespace().any(is_blank)).then(|| first.to_owned())
}

/// All results, in the order in which they are shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DoctorReport {
    pub checks: Vec<Check>,
    /// Whether there was an ensemble to check.
    pub has_ensemble: bool,
    /// The checks so far, so that none is listed twice.
    seen: HashSet<(&'static str, &'static str, String, String)>,
}

impl DoctorReport {
    pub(super) fn new(has_ensemble: bool) -> Self {
        Self {
            has_ensemble,
            ..Self::default()
        }
    }

    pub(super) fn push(&mut self, check: Check) {
        let (subject, message) = (check.subject.clone(), check.message.clone());
        let key = (check.id, check.state.as_str(), subject, message);
        if self.seen.insert(key) {
            self.checks.push(check);
        }
    }

    /// Returns the most serious state.
    pub fn state(&self) -> CheckState {
        let states = self.checks.iter().map(|check| check.state);
        states.max().unwrap_or(CheckState::Ok)
    }

    /// Returns the number of checks with a state.
    pub fn count(&self, state: CheckState) -> usize {
        let checks = self.checks.iter();
        checks.filter(|check| check.state == state).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_of_a_hint_is_the_fix() {
        let table = [
            "if you trust it, run `unfurl trust /a/b`",
            "end it first: `git merge --continue` or `git merge --abort`",
            "check out a branch: `git switch NAME`",
            "make sure that no git process runs there, and delete `/a/b`",
            "install git",
        ]
        .map(|hint| command_in(hint).unwrap_or_else(|| "none".to_owned()));
        insta::assert_snapshot!(table.join("\n"), @"
        unfurl trust /a/b
        git merge --continue
        none
        none
        none
        ");
    }

    #[test]
    fn the_worst_check_decides() {
        let mut report = DoctorReport::default();
        assert_eq!(report.state(), CheckState::Ok);
        report.push(Check::note("a", "a", "a"));
        report.push(Check::warning("a", "a", "a"));
        report.push(Check::warning("a", "a", "a"));
        assert_eq!(report.state(), CheckState::Warning);
        assert_eq!(report.count(CheckState::Warning), 1);
    }
}
