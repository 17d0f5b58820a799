//! The answer of a drift run about one ensemble, and the verdict over several of them.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;

use super::finding::{DriftKind, Finding, FindingId};

/// The reason why an ensemble could not be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadProblem {
    /// The ensemble cannot be loaded.
    Invalid(Arc<str>),
    /// Another job works on the ensemble.
    Locked(Arc<str>),
}

/// A row of equal answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerRow {
    /// The time of the first of them.
    pub since: Timestamp,
    /// The number of answers, at least 1.
    pub count: u32,
}

/// The differences between two answers in a row. Empty if no earlier answer is known and nothing was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transitions {
    /// Findings that the last answer did not have.
    pub new: Vec<FindingId>,
    /// Findings whose values or kind are others than in the last answer.
    pub changed: Vec<FindingId>,
    /// Findings of the last answer that are gone, as they were.
    pub gone: Vec<Finding>,
    /// The row of equal answers that this answer continues, with this answer. None if something changed.
    pub row: Option<AnswerRow>,
}

/// The answer about one ensemble, or about the hosts of a command.
#[derive(Debug, Clone)]
pub struct DriftAnswer {
    /// The name under which people know the ensemble.
    pub name: Arc<str>,
    /// The manifest. None for an answer about hosts.
    pub manifest: Option<PathBuf>,
    pub environment: Option<Arc<str>>,
    /// The time at which looking began.
    pub at: Timestamp,
    /// All findings, ignored ones too, in the order of the instances.
    pub findings: Vec<Finding>,
    /// The instances or states without a finding, as far as they have names.
    pub clean: Vec<Arc<str>>,
    /// The number of instances or states that could be looked at.
    pub looked_at: usize,
    /// The number of all instances or states in question.
    pub total: usize,
    /// Findings about the ignore rules themselves: expired, unused or invalid.
    pub rule_problems: Vec<Arc<str>>,
    /// The differences from the last recorded answer. None if the answer was not compared.
    pub transitions: Option<Transitions>,
    /// The reason why nothing was looked at.
    pub problem: Option<LoadProblem>,
}

/// The result of a drift run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Nothing drifted, and everything could be looked at.
    Clean,
    /// Nothing drifted as far as is known, but something could not be determined.
    CannotTell,
    /// An ensemble cannot be loaded, and nothing drifted.
    Invalid,
    /// Something drifted from outside, and no rule ignores it.
    Drifted,
}

impl Verdict {
    /// Returns the exit code: 0 without drift, 3 with drift, 1 if something could not be determined, 64 if an ensemble
    /// cannot be loaded.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Clean => 0,
            Self::CannotTell => 1,
            Self::Drifted => 3,
            Self::Invalid => 64,
        }
    }
}

impl DriftAnswer {
    /// Returns an answer without findings, about nothing yet.
    pub fn empty(name: Arc<str>, environment: Option<Arc<str>>, at: Timestamp) -> Self {
        Self {
            name,
            manifest: None,
            environment,
            at,
            findings: Vec::new(),
            clean: Vec::new(),
            looked_at: 0,
            total: 0,
            rule_problems: Vec::new(),
            transitions: None,
            problem: None,
        }
    }

    pub fn verdict(&self) -> Verdict {
        let has = |test: &dyn Fn(&Finding) -> bool| self.findings.iter().any(test);
        let cannot_tell =
            |it: &Finding| it.kind == DriftKind::CannotTell && it.ignored_by.is_none();
        if has(&Finding::is_alarm) {
            return Verdict::Drifted;
        }
        match &self.problem {
            Some(LoadProblem::Invalid(_)) => Verdict::Invalid,
            Some(LoadProblem::Locked(_)) => Verdict::CannotTell,
            // A rule with a mistake may hide drift, so the answer is not clean.
            None if has(&cannot_tell) || !self.rule_problems.is_empty() => Verdict::CannotTell,
            None => Verdict::Clean,
        }
    }
}

/// Returns the verdict over several answers: the worst.
pub fn verdict(answers: &[DriftAnswer]) -> Verdict {
    let verdicts = answers.iter().map(DriftAnswer::verdict);
    verdicts.max().unwrap_or(Verdict::Clean)
}
