//! State files to an order: include, extend, exclude, requisites, chunks, run order (S1–S31).

mod dag;
mod exclude;
mod extend;
mod high;
mod lower;
mod matcher;
mod names;
mod pipeline;
mod problem;
mod request;
mod show;
mod top;
mod tree;
mod verify;

pub use dag::Turn;
pub use pipeline::compile;
pub use request::{Compiled, Request, Stop, Targets};
