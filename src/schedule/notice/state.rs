//! The problems that a target knows. A small file keeps them between two runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The problems that were seen for a rule, and those that its target knows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotifiedState {
    /// The problems by their keys.
    #[serde(default)]
    pub(super) problems: BTreeMap<String, KnownProblem>,
    /// True after silence was noticed, until something looks again.
    #[serde(default)]
    pub(super) is_silent: bool,
}

/// A problem of the last answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KnownProblem {
    pub(super) class: ProblemClass,
    /// The ensemble, if the problem belongs to one.
    pub(super) ensemble: Option<String>,
    /// The instance and the host of a finding.
    pub(super) instance: Option<String>,
    pub(super) host: Option<String>,
    /// The digest of the content.
    pub(super) digest: String,
    /// The number of sightings in a row with this content.
    pub(super) count: u32,
    /// The digest of the content that the target knows; None if the target does not know the problem.
    pub(super) notified: Option<String>,
    /// True if a rule ignores the finding.
    pub(super) is_ignored: bool,
    /// True if a rule ignored the finding at an earlier time, and the target does not know that the rule has ended.
    #[serde(default)]
    pub(super) was_ignored: bool,
    /// The problem in a line for people.
    pub(super) line: String,
    /// The id of the finding.
    pub(super) id: Option<String>,
}

/// The class of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ProblemClass {
    /// A difference.
    Finding,
    /// An expired, unused or wrong ignore rule.
    IgnoreRule,
    /// A finding that says that something could not be determined.
    CannotTell,
    /// An ensemble that cannot be loaded.
    Ensemble,
    /// A failed or cut off run.
    Run,
}

impl ProblemClass {
    /// Returns true if the problem belongs to the occasion `change`, false if to `failure`.
    pub(super) fn is_change(self) -> bool {
        matches!(self, Self::Finding | Self::IgnoreRule)
    }
}
