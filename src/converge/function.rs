//! State functions: modules of them, how one is called, and how it is taken back.

use super::chunk::{ChunkIndex, Low};
use super::facts::{Facts, Halt};
use super::verdict::Verdict;
use super::world::World;
use crate::value::Map;

/// A state module: a row of the table.
#[derive(Debug)]
pub struct Module {
    /// Its name, such as `file`.
    pub name: &'static str,
    /// Its functions, by name.
    pub functions: &'static [Function],
    /// What is called when something that a state watches has changed (S23). Without one, `watch`
    /// is `require`.
    pub watch: Option<StateFn>,
    /// Makes one call of the arguments of several (S40); the first does the work of all.
    pub aggregate: Option<Aggregate>,
}

/// A function of a state module.
#[derive(Debug)]
pub struct Function {
    /// Its name, such as `managed`.
    pub name: &'static str,
    /// Decides.
    pub run: StateFn,
    /// The arguments that must be given, beside `name`.
    pub required: &'static [&'static str],
    /// The arguments that may be given; `*` stands for any. Others are warned of.
    pub optional: &'static [&'static str],
    /// How it is taken back.
    pub reverse: Reverse,
}

/// Decides what a state needs. It has no effect: it reads facts and says.
pub type StateFn = fn(&Call<'_>, &Facts) -> Result<Verdict, Halt>;

/// Joins the arguments of calls of one module into those of the first; none if they cannot be
/// joined.
pub type Aggregate = fn(&[&Map]) -> Option<Map>;

/// How a state is taken back when what it describes is deleted.
#[derive(Debug, Clone, Copy)]
pub enum Reverse {
    /// By this function of the module, with the same name and arguments.
    By(&'static str),
    /// There is nothing to take back: it changes nothing.
    Nothing,
    /// It cannot be: why.
    Never(&'static str),
}

/// The state modules that there are.
pub type ModuleTable = &'static [&'static Module];

/// A call of a state function.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
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
    pub world: &'a World,
    /// The compiled tree that it is a chunk of, and which one; none if it is called by itself.
    /// `file.directory` keeps what the states that it requires manage, and `file.managed` takes
    /// the texts that were accumulated for it.
    pub chunk: Option<(&'a Low, ChunkIndex)>,
}

/// Whether anything is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// It is.
    Apply,
    /// It is not: a dry run, or the test of a `prereq`.
    Test,
}

/// Finds a function in a table.
pub(crate) fn find_in(
    modules: ModuleTable,
    state: &str,
    fun: &str,
) -> (Option<&'static Module>, Option<&'static Function>) {
    let module = modules.iter().find(|module| module.name == state).copied();
    let function = module.and_then(|module| module.functions.iter().find(|it| it.name == fun));
    (module, function)
}
