//! Ways to implement an operation: shell, template, delegate, task, states. Each decides and runs nothing.

mod delegate;
mod named_task;
mod registry;
mod remote;
mod result_template;
mod shell;
mod shell_run;
mod state_tree;
mod states;
mod task_file;
mod template;

pub use registry::choose;
