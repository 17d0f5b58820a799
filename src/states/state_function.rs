//! State functions: the table of state modules, the call of a function, its decision, and how a state is
//! reversed.
//!
//! The functions themselves are in `modules`. The engine calls them with a [`StateCall`] and facts, and
//! receives a [`StateDecision`].

use std::fmt::{Debug, Formatter};

use super::fact_cache::{FactCache, Halt};
use super::low_data::{ChunkIndex, LowData};
use super::module_context::ModuleContext;
use crate::host::change::Change;
use crate::host::{IncompleteOutput, RunOutput};
use crate::text::did_you_mean;
use crate::value::Map;

/// The key in [`StateOutcome::more`] under which `environ.setenv` returns the variables it sets.
pub(crate) const ENVIRON_KEY: &str = "__environ__";

/// A state module: a name with its functions.
#[derive(Debug)]
pub struct StateModule {
    /// The name in state files, such as `file`.
    pub name: &'static str,
    pub functions: &'static [StateFunction],
    /// The function to call when a watched state has changed (S23). Without it, `watch` counts as `require`.
    pub watch: Option<StateFn>,
    /// Joins the arguments of several calls into one call (S40). The first state then does the work of all.
    pub aggregate: Option<Aggregate>,
}

/// A function of a state module.
#[derive(Debug)]
pub struct StateFunction {
    /// The name without the module, such as `managed`.
    pub name: &'static str,
    pub run: StateFn,
    /// A sentence that says what the state does, for the reference.
    pub about: &'static str,
    /// The required arguments besides `name`, separated by spaces.
    required: &'static str,
    /// The optional arguments, separated by spaces; `*` allows any. Other arguments are errors.
    optional: &'static str,
    /// The arguments of Salt without support here, separated by spaces. A value that is not false is an error.
    unsupported: &'static str,
    /// Those of the optional arguments that have no effect here, separated by spaces. A value that is not false causes
    /// a warning.
    without_effect: &'static str,
    /// Says whether Salt's function accepts arguments of any name and ignores those that it does not know. Such an
    /// argument causes a warning, or an error if it looks like a misspelt one.
    accepts_more: bool,
    pub reverse: Reverse,
}

impl StateFunction {
    /// Makes a function without arguments that has nothing to reverse.
    pub(crate) const fn new(name: &'static str, run: StateFn) -> Self {
        Self {
            name,
            run,
            about: "",
            required: "",
            optional: "",
            unsupported: "",
            without_effect: "",
            accepts_more: false,
            reverse: Reverse::NoOp,
        }
    }

    /// Sets the sentence for the reference.
    pub(crate) const fn about(self, about: &'static str) -> Self {
        Self { about, ..self }
    }

    pub(crate) const fn requires(self, required: &'static str) -> Self {
        Self { required, ..self }
    }

    pub(crate) const fn options(self, optional: &'static str) -> Self {
        Self { optional, ..self }
    }

    pub(crate) const fn unsupported(self, unsupported: &'static str) -> Self {
        Self {
            unsupported,
            ..self
        }
    }

    /// Sets those of the optional arguments that have no effect here.
    pub(crate) const fn without_effect(self, without_effect: &'static str) -> Self {
        Self {
            without_effect,
            ..self
        }
    }

    /// Marks the function as one that accepts arguments of any name in Salt.
    pub(crate) const fn accepts_more(self) -> Self {
        Self {
            accepts_more: true,
            ..self
        }
    }

    /// Sets the function of the same module that undoes this one.
    pub(crate) const fn reversed_by(self, function: &'static str) -> Self {
        let reverse = Reverse::By(function);
        Self { reverse, ..self }
    }

    /// Marks the function as irreversible, with the reason.
    pub(crate) const fn irreversible(self, reason: &'static str) -> Self {
        let reverse = Reverse::Irreversible(reason);
        Self { reverse, ..self }
    }

    /// The names of the required arguments besides `name`.
    pub fn required(&self) -> impl Iterator<Item = &'static str> {
        self.required.split_whitespace()
    }

    /// The optional arguments; `*` allows any.
    pub fn optional(&self) -> impl Iterator<Item = &'static str> {
        self.optional.split_whitespace()
    }

    /// Whether the function declares this argument.
    pub fn takes(&self, key: &str) -> bool {
        has_word(self.required, key) || has_word(self.optional, key)
    }

    /// Returns true for an argument of Salt's function that has no support here.
    pub fn lacks(&self, key: &str) -> bool {
        has_word(self.unsupported, key)
    }

    /// Returns true for an argument of Salt's function that is accepted but has no effect here.
    pub fn ignores(&self, key: &str) -> bool {
        has_word(self.without_effect, key)
    }

    /// Returns true if an argument without a meaning is no error.
    pub fn takes_more(&self) -> bool {
        self.accepts_more || self.takes_any()
    }

    /// Whether the function accepts any argument.
    pub fn takes_any(&self) -> bool {
        self.takes("*")
    }
}

/// Returns true if a word stands in a text of words with spaces between them. Every call of a state looks for all of its
/// arguments, so the search goes by bytes.
fn has_word(words: &str, word: &str) -> bool {
    words
        .as_bytes()
        .split(|byte| *byte == b' ')
        .any(|it| it == word.as_bytes())
}

/// A state function: compares the state with facts and returns a decision. Has no side effects.
pub type StateFn = fn(&StateCall<'_>, &FactCache) -> Result<StateDecision, Halt>;

/// A function that joins the arguments of several calls of one function. Returns `None` if they cannot be
/// joined.
pub type Aggregate = fn(&[&Map]) -> Option<Map>;

/// The way to undo a state when its description is deleted.
#[derive(Debug, Clone, Copy)]
pub enum Reverse {
    /// By this function of the same module, with the same name and arguments.
    By(&'static str),
    /// The state changes nothing, so nothing is undone.
    NoOp,
    /// Cannot be undone, for the given reason.
    Irreversible(&'static str),
}

/// A table of state modules, searched by name.
pub type ModuleTable = &'static [&'static StateModule];

/// A call of a state function.
#[derive(Debug, Clone, Copy)]
pub struct StateCall<'a> {
    pub state: &'a str,
    pub fun: &'a str,
    /// The `name` argument of the state.
    pub name: &'a str,
    /// The ID that declares the state.
    pub id: &'a str,
    /// The SLS file that declares the state.
    pub sls: &'a str,
    pub args: &'a Map,
    pub mode: Mode,
    pub context: &'a ModuleContext,
    /// The low data and the chunk of this call, or `None` for a call outside of a compiled tree.
    ///
    /// `file.directory` uses it to keep the files that required states manage, and `file.managed` to find the
    /// texts that `file.accumulated` collected for it.
    pub chunk: Option<(&'a LowData, ChunkIndex)>,
}

/// Whether changes are made or only predicted (S44).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    Apply,
    /// Changes are only predicted: a dry run, or the test of a `prereq`.
    Test,
}

/// The actual or predicted outcome of a state.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StateOutcome {
    /// The result in Salt's convention: true for success, false for failure, `None` for a predicted change
    /// (S43, S44).
    pub result: Option<bool>,
    /// The changes made or predicted, in Salt's format.
    pub changes: Map,
    pub comment: String,
    pub warnings: Vec<String>,
    /// Whether the watch function is skipped even if a watched state has changed.
    pub skip_watch: bool,
    /// Additional keys of the result, such as `pchanges`.
    pub more: Map,
    /// The changes that a dry run would have made.
    pub steps: Vec<Change>,
    /// The outputs among `changes` of which only a part is known. None if there are none.
    pub incomplete: Option<Box<IncompleteChanges>>,
}

/// The entries of a state's changes that are outputs of which only a part is known.
#[derive(Debug, Clone, PartialEq)]
pub struct IncompleteChanges(pub Vec<(&'static str, IncompleteOutput)>);

impl StateOutcome {
    /// Success: the state was already correct.
    pub fn unchanged(comment: impl Into<String>) -> Self {
        Self {
            result: Some(true),
            comment: comment.into(),
            ..Self::default()
        }
    }

    /// Prediction: the state would be applied, with unknown changes.
    pub fn planned(comment: impl Into<String>) -> Self {
        Self::would_change(Map::new(), comment)
    }

    pub fn failed(comment: impl Into<String>) -> Self {
        Self {
            result: Some(false),
            comment: comment.into(),
            ..Self::default()
        }
    }

    /// Failure after some changes were made.
    pub fn failed_with(changes: Map, comment: impl Into<String>) -> Self {
        Self {
            changes,
            ..Self::failed(comment)
        }
    }

    /// Success: the state was applied with these changes.
    pub fn changed(changes: Map, comment: impl Into<String>) -> Self {
        Self {
            result: Some(true),
            changes,
            comment: comment.into(),
            ..Self::default()
        }
    }

    /// Prediction: the state would be applied with these changes.
    pub fn would_change(changes: Map, comment: impl Into<String>) -> Self {
        Self {
            result: None,
            changes,
            comment: comment.into(),
            ..Self::default()
        }
    }
}

/// The decision of a state function.
#[expect(
    clippy::large_enum_variant,
    reason = "the value is destructured right after it is made"
)]
#[derive(Debug)]
pub enum StateDecision {
    Done(StateOutcome),
    Change(ChangeSet),
}

/// The changes that a state function requests.
pub struct ChangeSet {
    /// The outcome in a dry run (S44): the result is `None`, or true if a change cannot be predicted.
    pub predicted: StateOutcome,
    /// The changes, made in this order until one fails.
    pub steps: Vec<Change>,
    /// The way to compute the outcome after the changes.
    pub finish: ChangeOutcome,
}

/// The way to compute the outcome of changes.
#[expect(
    clippy::large_enum_variant,
    reason = "the value is destructured right after it is made"
)]
pub enum ChangeOutcome {
    /// This outcome if every change succeeded. Otherwise the state fails with the error of the failed change
    /// and has no changes.
    Fixed(StateOutcome),
    /// The outcome computed from the outputs, which are fewer than the changes if one failed. May need facts
    /// that are read after the changes.
    Computed(Box<OutcomeFn>),
}

/// A function that computes the outcome of changes.
pub type OutcomeFn = dyn Fn(&[RunOutput], &FactCache) -> Result<StateOutcome, Halt> + Send + Sync;

impl Debug for ChangeOutcome {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fixed(outcome) => f.debug_tuple("Fixed").field(outcome).finish(),
            Self::Computed(_) => f.write_str("Computed"),
        }
    }
}

impl Debug for ChangeSet {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChangeSet")
            .field("predicted", &self.predicted)
            .field("steps", &self.steps)
            .field("finish", &self.finish)
            .finish()
    }
}

/// Finds a module and its function in a table. Each part is `None` if unknown.
pub(crate) fn find_function(
    modules: ModuleTable,
    state: &str,
    fun: &str,
) -> (Option<&'static StateModule>, Option<&'static StateFunction>) {
    let module = modules.iter().find(|module| module.name == state).copied();
    let function = module.and_then(|module| module.functions.iter().find(|it| it.name == fun));
    (module, function)
}

/// Returns a hint at a function with a similar name, in the form ``did you mean `pkg.installed`?``.
///
/// The functions of the module come into question, or all functions if the module is unknown.
pub(crate) fn similar_function(modules: ModuleTable, state: &str, fun: &str) -> Option<String> {
    let known = find_function(modules, state, fun).0;
    let modules = modules
        .iter()
        .filter(|it| known.is_none_or(|known| known.name == it.name));
    let names = modules.flat_map(|module| {
        let functions = module.functions.iter();
        functions.map(|function| format!("{}.{}", module.name, function.name))
    });
    let names: Vec<String> = names.collect();
    did_you_mean(&format!("{state}.{fun}"), names.iter().map(String::as_str))
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
