//! Ways to implement an operation: shell, template, delegate. Each decides and runs nothing.

mod delegate;
mod elsewhere;
mod registry;
mod result;
mod shell;
mod template;

pub use registry::{ClassName, choose, find};
