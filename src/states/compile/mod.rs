//! State files to an order: include, extend, exclude, requisites, chunks, run order (S1–S31).

mod dag_order;
mod exclude;
mod extend;
mod high_data;
mod keywords;
mod lower;
mod matcher;
mod pipeline;
mod problem;
mod request;
mod show;
mod sls_loader;
mod top_file;
mod verify;

pub use dag_order::OrderEntry;
pub use pipeline::compile;
pub use request::{CompileError, CompileRequest, CompiledStates, StateTargets};
