//! Static checks of a model: they find errors that must occur whenever execution reaches a part of the model, without
//! running or evaluating anything. [`check_model`] is the entry.
//!
//! The module opens no file and starts no program: [`Surroundings`] answers questions about this machine.

mod baseline;
mod commands;
mod delegates;
mod ignores;
mod input_names;
mod members;
mod model;
mod narrow;
mod operations;
mod settable;
mod surroundings;
mod values;
mod workflows;

pub use baseline::Baseline;
pub use ignores::{UnusedIgnores, apply_ignores};
pub use model::{ModelChecks, check_model};
pub use surroundings::Surroundings;
