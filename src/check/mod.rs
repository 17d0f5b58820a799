//! Static checks of a model: they find errors that must occur whenever execution reaches a part of the model, without
//! running or evaluating anything. [`check_model`] is the entry.
//!
//! The module opens no file and starts no program: [`Machine`] answers questions about this machine.

mod arguments;
mod baseline;
mod calls;
mod checker;
mod commands;
mod delegates;
mod ignores;
mod input_names;
mod machine;
mod member_reads;
mod members;
mod model;
mod narrow;
mod operations;
mod settable;
mod shell_texts;
mod syntax_text;
mod value_place;
mod values;
mod workflows;

pub use baseline::Baseline;
pub use checker::ModelChecks;
pub use ignores::{UnusedIgnores, apply_ignores};
pub use machine::Machine;
pub use model::check_model;
pub use shell_texts::{ShellText, shell_texts};
