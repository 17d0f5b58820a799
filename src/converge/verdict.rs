//! What a state function says, and what became of a state.

use std::fmt::{Debug, Formatter};

use super::facts::{Facts, Halt};
use crate::host::RunOutput;
use crate::host::change::Change;
use crate::value::Map;

/// Under this key of [`Outcome::more`], `environ.setenv` says what it has set.
pub(crate) const ENVIRON: &str = "__environ__";

/// What became of a state, or would.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// True if all is as described, false if not, none if it would be changed (S43, S44).
    pub result: Option<bool>,
    /// What was changed, or would be, in Salt's shape.
    pub changes: Map,
    /// What happened in words.
    pub comment: String,
    /// What is odd about it.
    pub warnings: Vec<String>,
    /// Whether a changed `watch` is passed over.
    pub skip_watch: bool,
    /// More keys of the result, such as `pchanges`.
    pub more: Map,
    /// What a dry run would have done.
    pub steps: Vec<Change>,
}

impl Outcome {
    /// All was as described.
    pub fn same(comment: impl Into<String>) -> Self {
        Self {
            result: Some(true),
            comment: comment.into(),
            ..Self::default()
        }
    }

    /// It cannot be.
    pub fn failed(comment: impl Into<String>) -> Self {
        Self {
            result: Some(false),
            comment: comment.into(),
            ..Self::default()
        }
    }

    /// It was brought about.
    pub fn changed(changes: Map, comment: impl Into<String>) -> Self {
        Self {
            result: Some(true),
            changes,
            comment: comment.into(),
            ..Self::default()
        }
    }

    /// It would be brought about.
    pub fn would(changes: Map, comment: impl Into<String>) -> Self {
        Self {
            result: None,
            changes,
            comment: comment.into(),
            ..Self::default()
        }
    }
}

/// What a state function says.
#[expect(
    clippy::large_enum_variant,
    reason = "each is taken apart as soon as it is made"
)]
#[derive(Debug)]
pub enum Verdict {
    /// There is nothing to change.
    Done(Outcome),
    /// There is something to change.
    Act(Deed),
}

/// What a state function would change.
pub struct Deed {
    /// What a dry run says (S44): the result is none, or true for what cannot be told.
    pub predicted: Outcome,
    /// What is changed, in this order, until one fails.
    pub steps: Vec<Change>,
    /// What became of it.
    pub finish: Finish,
}

/// What became of changes.
#[expect(
    clippy::large_enum_variant,
    reason = "each is taken apart as soon as it is made"
)]
pub enum Finish {
    /// This, if all succeeded; else it failed with the complaint of the one that did not, and
    /// the changes are empty.
    Then(Outcome),
    /// What this says of the results so far (fewer than steps if one failed); it may need facts
    /// that are read after the changes.
    Ask(Box<Judge>),
}

/// Says what became of changes.
pub type Judge = dyn Fn(&[RunOutput], &Facts) -> Result<Outcome, Halt> + Send + Sync;

impl Debug for Finish {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Then(outcome) => f.debug_tuple("Then").field(outcome).finish(),
            Self::Ask(_) => f.write_str("Ask"),
        }
    }
}

impl Debug for Deed {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Deed")
            .field("predicted", &self.predicted)
            .field("steps", &self.steps)
            .field("finish", &self.finish)
            .finish()
    }
}
