//! The criteria of `Match` lines.

use super::error::ConfigProblem;
use super::line::words;

/// One criterion, and whether it must not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Criterion {
    pub(super) negated: bool,
    pub(super) kind: CriterionKind,
}

/// What must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CriterionKind {
    /// Everything does.
    All,
    /// The configuration is read for the second time, which this asks for.
    Final,
    /// The configuration is read for the second time.
    Canonical,
    /// The host that is connected to is like these.
    Host(String),
    /// The host that was asked for is like these.
    OriginalHost(String),
    /// The user there is like these.
    User(String),
    /// The user here is like these.
    LocalUser(String),
    /// `Tag` is like these.
    Tagged(String),
    /// A command succeeds.
    Exec(String),
    /// Nothing that is known here.
    Never,
}

/// What a `Match` line says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Criteria {
    pub(super) all: Vec<Criterion>,
    /// What is not supported.
    pub(super) warnings: Vec<ConfigProblem>,
}

impl Criteria {
    /// Reads what stands behind `Match`.
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
