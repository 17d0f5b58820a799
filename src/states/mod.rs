//! Host states: compiles state files to an order (S1–S31), decides each state's difference from
//! facts (P1–P19), and runs them by their requisites (S22–S46).
//!
//! Pure: it says which facts it needs and which changes are due, and is told what was read and
//! what came of them. Files of state trees come through [`Roots`].

mod network;
mod low_data;
mod compile;
mod diff;
mod engine;
mod execution_modules;
mod fact_cache;
mod state_function;
pub mod grains;
mod host_run;
mod order_merge;
mod modules;
pub mod host_facts;
mod render;
mod reverse;
mod file_roots;
mod probe_sections;
mod command_args;
mod slot;
mod module_context;

pub use low_data::{Chunk, ChunkIndex, RequisiteLink, LowData, RunOrdering, Requisite, SetIndex, LinkTarget};
pub use compile::{CompiledStates, CompileRequest, CompileError, StateTargets, OrderEntry, compile};
pub use engine::{Aggregation, ActionId, Engine, NextAction, EngineOptions, Timestamp, StateResult, StateSummary, to_value};
pub(crate) use fact_cache::refuse;
pub use fact_cache::{FactCache, Halt};
pub use state_function::{
    StateCall, ChangeSet, ChangeOutcome, StateFunction, Mode, StateModule, ModuleTable, StateOutcome, Reverse, StateFn, StateDecision,
};
pub use host_run::{CompileInput, HostRun, Preparation, PreparedStates};
pub use order_merge::{OrderConflict, SharedState, merge_orders};
pub use modules::{MODULES, find};
pub use render::{MinionData, StateRenderer};
pub use reverse::reverse_states;
pub use file_roots::{FileRoots, FileRootsError};
pub use module_context::{RenderTemplate, TemplateRequest, ModuleContext};
