//! Salt states: compiles state files to an ordered list of states (S1–S31), compares each state with facts of
//! the host (P1–P19), and runs the states by their requisites (S22–S46).
//!
//! [`HostRun`] runs the states of one host; `fleet` and the states configurator drive it. Pure: nothing here
//! contacts a host. The module returns the facts it needs and the changes to make, and receives readings and
//! outputs. State files are read through [`FileRoots`].

mod address_names;
mod command_args;
mod compile;
mod engine;
mod execution_modules;
mod fact_cache;
mod file_roots;
mod grain_texts;
pub mod grains;
pub mod host_facts;
mod host_run;
mod low_data;
mod module_context;
mod modules;
mod network;
mod order_merge;
mod probe_sections;
pub mod reference;
mod render;
mod reverse;
mod self_contained;
mod slot;
mod state_function;

pub use compile::{
    CompileError, CompilePurpose, CompileRequest, CompiledStates, OrderEntry, StateTargets, compile,
};
pub use engine::{
    ActionId, Aggregation, Engine, EngineOptions, NextAction, StateResult, StateSummary, Timestamp,
    to_value,
};
pub(crate) use fact_cache::refuse;
pub use fact_cache::{FactCache, Halt};
pub use file_roots::{BASE_ENV, DYNAMIC_ENV, FileRoots, FileRootsError, StateTrees};
pub(crate) use file_roots::{path_below, split_env};
pub use host_run::{CompileInput, HostRun, Preparation, PreparedStates};
pub use low_data::{
    Chunk, ChunkIndex, LinkTarget, LowData, Requisite, RequisiteLink, RunOrdering, SetIndex,
};
pub use module_context::{ModuleContext, RenderTemplate, TemplateRequest};
pub use modules::{MODULES, find};
pub use order_merge::{OrderConflict, SharedState, merge_orders};
pub use render::{MinionData, PythonStates, RenderPrograms, StateRenderer};
pub use reverse::reverse_states;
pub(crate) use state_function::similar_function;
pub use state_function::{
    ChangeOutcome, ChangeSet, IncompleteChanges, Mode, ModuleTable, Reverse, StateCall,
    StateDecision, StateFn, StateFunction, StateModule, StateOutcome,
};
