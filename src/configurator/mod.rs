//! Configurators: the implementations of operations by shell commands, templates, delegation, task lists,
//! states and playbooks.
//!
//! [`choose`] selects one for an operation. A configurator decides what to do and runs nothing itself.

mod ansible;
mod delegate;
mod named_task;
mod registry;
mod remote;
mod result_template;
mod script;
mod shell;
mod shell_run;
mod source_problem;
mod state_tree;
mod states;
mod task_file;
mod template;
mod terraform;

pub use registry::choose;
pub use source_problem::{SourceProblem, source_problem};
pub use terraform::{
    LostResource, PRIVATE_FILES, PrivateOrigin, StateAddress, is_same_lineage, lost_of_messages,
    lost_resources, newer_state, sealed_state, state_files,
};
