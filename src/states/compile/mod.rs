//! The state compiler: from SLS files to low data and its run order (S1–S31).
//!
//! [`compile`] runs the steps: match the top file, render and load SLS files with their includes, extend,
//! verify, inject `_in` requisites, exclude, lower to chunks, order. Nothing here contacts a host: facts that
//! templates need are returned as [`CompileError::Needs`].

mod calls;
mod dag_order;
mod draft;
mod exclude;
mod extend;
mod high_data;
mod keywords;
mod lower;
mod name_index;
mod pipeline;
mod problem;
mod request;
mod run_order;
mod salt_modules;
mod show;
mod sls_loader;
mod top_file;
mod top_merge;
mod top_sections;
mod verify;
mod watching;

pub use dag_order::OrderEntry;
pub use pipeline::compile;
pub use request::{CompileError, CompilePurpose, CompileRequest, CompiledStates, StateTargets};
