//! The criteria of `Match` lines: their parser and types.

use super::error::ConfigProblem;
use super::line::words;

/// A criterion, which may be negated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Criterion {
    pub(super) negated: bool,
    pub(super) kind: CriterionKind,
}

/// The condition that a criterion tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CriterionKind {
    All,
    /// `final`: this is the second evaluation, which the criterion itself requests.
    Final,
    /// `canonical`: this is the second evaluation.
    Canonical,
    /// The host to connect to matches the patterns.
    Host(String),
    /// The host as the user wrote it matches the patterns.
    OriginalHost(String),
    /// The login user on the host matches the patterns.
    User(String),
    /// The local user matches the patterns.
    LocalUser(String),
    /// The value of `Tag` matches the patterns.
    Tagged(String),
    Exec(String),
    /// A criterion that is not supported here, and never holds.
    Never,
}

/// The parsed criteria of a `Match` line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Criteria {
    pub(super) all: Vec<Criterion>,
    /// The criteria that are not supported.
    pub(super) warnings: Vec<ConfigProblem>,
}

impl Criteria {
    /// Parses the criteria after the keyword `Match`.
    pub(super) fn read(text: &str) -> Result<Self, ConfigProblem> {
        let words = words(text).ok_or(ConfigProblem::Quotes)?;
        let mut words = words.into_iter().peekable();
        let mut criteria = Self::default();
        while let Some(word) = words.next() {
            let (negated, name) = match word.strip_prefix('!') {
                Some(name) => (true, name.to_ascii_lowercase()),
                None => (false, word.to_ascii_lowercase()),
            };
            let kind = match name.as_str() {
                "all" => {
                    if criteria.all.len() > 1 || words.peek().is_some_and(|word| !word.is_empty()) {
                        return Err(ConfigProblem::AllWithOthers);
                    }
                    CriterionKind::All
                }
                "canonical" => CriterionKind::Canonical,
                "final" => CriterionKind::Final,
                _ => criteria.with_argument(&name, words.next(), &word)?,
            };
            let is_last = kind == CriterionKind::All;
            criteria.all.push(Criterion { negated, kind });
            if is_last {
                return Ok(criteria);
            }
        }
        if criteria.all.is_empty() {
            return Err(ConfigProblem::NoCriteria);
        }
        Ok(criteria)
    }

    fn with_argument(
        &mut self,
        name: &str,
        argument: Option<String>,
        word: &str,
    ) -> Result<CriterionKind, ConfigProblem> {
        let make: fn(String) -> CriterionKind = match name {
            "host" => CriterionKind::Host,
            "originalhost" => CriterionKind::OriginalHost,
            "user" => CriterionKind::User,
            "localuser" => CriterionKind::LocalUser,
            "tagged" => CriterionKind::Tagged,
            "exec" => CriterionKind::Exec,
            "localnetwork" | "sessiontype" | "command" | "version" => {
                let problem = ConfigProblem::UnsupportedCriterion(name.to_owned());
                self.warnings.push(problem);
                |_| CriterionKind::Never
            }
            _ => return Err(ConfigProblem::UnknownCriterion(word.to_owned())),
        };
        let argument = argument.filter(|argument| !argument.is_empty());
        match argument {
            Some(argument) => Ok(make(argument)),
            None => Err(ConfigProblem::NoCriterionArgument(name.to_owned())),
        }
    }
}
