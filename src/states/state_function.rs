//! State functions: modules of them, how one is called, what it says, and how it is taken back.

use std::fmt::{Debug, Formatter};

use super::fact_cache::{FactCache, Halt};
use super::low_data::{ChunkIndex, LowData};
use super::module_context::ModuleContext;
use crate::host::RunOutput;
use crate::host::change::Change;
use crate::value::Map;

/// Under this key of [`Outcome::more`], `environ.setenv` says what it has set.
pub(crate) const ENVIRON_KEY: &str = "__environ__";

/// A state module: a row of the table.
#[derive(Debug)]
pub struct StateModule {
    /// Its name, such as `file`.
    pub name: &'static str,
    /// Its functions, by name.
    pub functions: &'static [StateFunction],
    /// What is called when something that a state watches has changed (S23). Without one, `watch`
    /// is `require`.
    pub watch: Option<StateFn>,
    /// Makes one call of the arguments of several (S40); the first does the work of all.
    pub aggregate: Option<Aggregate>,
}

/// A function of a state module.
#[derive(Debug)]
pub struct StateFunction {
    /// Its name, such as `managed`.
    pub name: &'static str,
    /// Decides.
    pub run: StateFn,
    /// The arguments that must be given, beside `name`: words with spaces between them.
    required: &'static str,
    /// The arguments that may be given; `*` stands for any. Others are warned of.
    optional: &'static str,
    /// How it is taken back.
    pub reverse: Reverse,
}

impl StateFunction {
    /// A function without arguments and with nothing to take back.
    pub(crate) const fn new(name: &'static str, run: StateFn) -> Self {
        Self {
            name,
            run,
            required: "",
            optional: "",
            reverse: Reverse::NoOp,
        }
    }

    /// With these arguments that must be given.
    pub(crate) const fn requires(self, required: &'static str) -> Self {
        Self { required, ..self }
    }

    /// With these arguments that may be given.
    pub(crate) const fn options(self, optional: &'static str) -> Self {
        Self { optional, ..self }
    }

    /// Taken back by this function of the module.
    pub(crate) const fn reversed_by(self, function: &'static str) -> Self {
        let reverse = Reverse::By(function);
        Self { reverse, ..self }
    }

    /// Not taken back, for this reason.
    pub(crate) const fn irreversible(self, reason: &'static str) -> Self {
        let reverse = Reverse::Irreversible(reason);
        Self { reverse, ..self }
    }

    /// The arguments that must be given, beside `name`.
    pub fn required(&self) -> impl Iterator<Item = &'static str> {
        self.required.split_whitespace()
    }

    /// The arguments that may be given; `*` stands for any.
    pub fn optional(&self) -> impl Iterator<Item = &'static str> {
        self.optional.split_whitespace()
    }

    /// Whether this argument is in the table.
    pub fn takes(&self, key: &str) -> bool {
        self.required().chain(self.optional()).any(|it| it == key)
    }

    /// Whether any argument may be given.
    pub fn takes_any(&self) -> bool {
        self.takes("*")
    }
}

/// Decides what a state needs. It has no effect: it reads facts and says.
pub type StateFn = fn(&StateCall<'_>, &FactCache) -> Result<StateDecision, Halt>;

/// Joins the arguments of calls of one module into those of the first; none if they cannot be
/// joined.
pub type Aggregate = fn(&[&Map]) -> Option<Map>;

/// How a state is taken back when what it describes is deleted.
#[derive(Debug, Clone, Copy)]
pub enum Reverse {
    /// By this function of the module, with the same name and arguments.
    By(&'static str),
    /// There is nothing to take back: it changes nothing.
    NoOp,
    /// It cannot be: why.
    Irreversible(&'static str),
}

/// The state modules that there are.
pub type ModuleTable = &'static [&'static StateModule];

/// A call of a state function.
#[derive(Debug, Clone, Copy)]
pub struct StateCall<'a> {
    /// The module.
    pub state: &'a str,
    /// The function.
    pub fun: &'a str,
    /// What it is about.
    pub name: &'a str,
    /// The ID it was declared under.
    pub id: &'a str,
    /// The SLS it was declared in.
    pub sls: &'a str,
    /// Its arguments.
    pub args: &'a Map,
    /// Whether nothing is changed (S44).
    pub mode: Mode,
    /// What it knows beside facts.
    pub context: &'a ModuleContext,
    /// The compiled tree that it is a chunk of, and which one; none if it is called by itself.
    /// `file.directory` keeps what the states that it requires manage, and `file.managed` takes
    /// the texts that were accumulated for it.
    pub chunk: Option<(&'a LowData, ChunkIndex)>,
}

/// Whether anything is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// It is.
    Apply,
    /// It is not: a dry run, or the test of a `prereq`.
    Test,
}

/// What became of a state, or would.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StateOutcome {
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

impl StateOutcome {
    /// All was as described.
    pub fn unchanged(comment: impl Into<String>) -> Self {
        Self {
            result: Some(true),
            comment: comment.into(),
            ..Self::default()
        }
    }

    /// It would be brought about; which changes that makes is not known.
    pub fn planned(comment: impl Into<String>) -> Self {
        Self::would_change(Map::new(), comment)
    }

    /// It cannot be.
    pub fn failed(comment: impl Into<String>) -> Self {
        Self {
            result: Some(false),
            comment: comment.into(),
            ..Self::default()
        }
    }

    /// It cannot be, though this was changed.
    pub fn failed_with(changes: Map, comment: impl Into<String>) -> Self {
        Self {
            changes,
            ..Self::failed(comment)
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
    pub fn would_change(changes: Map, comment: impl Into<String>) -> Self {
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
pub enum StateDecision {
    /// There is nothing to change.
    Done(StateOutcome),
    /// There is something to change.
    Change(ChangeSet),
}

/// What a state function would change.
pub struct ChangeSet {
    /// What a dry run says (S44): the result is none, or true for what cannot be told.
    pub predicted: StateOutcome,
    /// What is changed, in this order, until one fails.
    pub steps: Vec<Change>,
    /// What became of it.
    pub finish: ChangeOutcome,
}

/// What became of changes.
#[expect(
    clippy::large_enum_variant,
    reason = "each is taken apart as soon as it is made"
)]
pub enum ChangeOutcome {
    /// This, if all succeeded; else it failed with the complaint of the one that did not, and
    /// the changes are empty.
    Fixed(StateOutcome),
    /// What this says of the results so far (fewer than steps if one failed); it may need facts
    /// that are read after the changes.
    Computed(Box<OutcomeFn>),
}

/// Says what became of changes.
pub type OutcomeFn = dyn Fn(&[RunOutput], &FactCache) -> Result<StateOutcome, Halt> + Send + Sync;

impl Debug for ChangeOutcome {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fixed(outcome) => f.debug_tuple("Then").field(outcome).finish(),
            Self::Computed(_) => f.write_str("Ask"),
        }
    }
}

impl Debug for ChangeSet {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Deed")
            .field("predicted", &self.predicted)
            .field("steps", &self.steps)
            .field("finish", &self.finish)
            .finish()
    }
}

/// Finds a function in a table.
pub(crate) fn find_function(
    modules: ModuleTable,
    state: &str,
    fun: &str,
) -> (Option<&'static StateModule>, Option<&'static StateFunction>) {
    let module = modules.iter().find(|module| module.name == state).copied();
    let function = module.and_then(|module| module.functions.iter().find(|it| it.name == fun));
    (module, function)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_takes_the_arguments_of_its_row() {
        let row = StateFunction::new("set", |_, _| {
            Ok(StateDecision::Done(StateOutcome::unchanged("")))
        })
        .requires("key value")
        .options(
            "user \
                      all",
        )
        .reversed_by("unset");
        assert_eq!(row.required().collect::<Vec<_>>(), ["key", "value"]);
        assert_eq!(row.optional().collect::<Vec<_>>(), ["user", "all"]);
        assert!(row.takes("value") && row.takes("all") && !row.takes("val"));
        assert!(!row.takes_any() && row.options("*").takes_any());
    }
}
