//! Host states: compiles state files to an order (S1–S31), decides each state's difference from
//! facts (P1–P19), and runs them by their requisites (S22–S46).
//!
//! Pure: it says which facts it needs and which changes are due, and is told what was read and
//! what came of them. Files of state trees come through [`Roots`].

mod addresses;
mod chunk;
mod compile;
mod diff;
mod engine;
mod execution;
mod facts;
mod function;
pub mod grains;
mod host_run;
mod merge;
mod module;
pub mod named;
mod render;
mod reverse;
mod roots;
mod sections;
mod shell;
mod slot;
mod world;

pub use chunk::{Chunk, ChunkIndex, Link, Low, Ordering, Requisite, SetIndex, Target};
pub use compile::{Compiled, Request, Stop, Targets, Turn, compile};
pub use engine::{Aggregation, DeedId, Engine, Next, Setup, Stamp, StateResult, Summary, to_value};
pub(crate) use facts::refuse;
pub use facts::{Facts, Halt};
pub use function::{
    Call, Deed, Finish, Function, Mode, Module, ModuleTable, Outcome, Reverse, StateFn, Verdict,
};
pub use host_run::{Ground, HostRun, Preparation, Prepared};
pub use merge::{NoOrder, Shared, merge};
pub use module::{MODULES, find};
pub use render::{Machine, Renderer};
pub use reverse::reversed;
pub use roots::{Roots, RootsError};
pub use world::{Render, Template, World};
