//! Ways to implement an operation: shell, template, delegate, task, states. Each decides and runs nothing.

mod delegate;
mod elsewhere;
mod registry;
mod result;
mod shell;
mod shell_run;
mod state_tree;
mod states;
mod task;
mod task_file;
mod template;

pub use registry::choose;
