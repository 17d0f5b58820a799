//! The Terraform configurator: deploys a module with Terraform or OpenTofu (rule U-k).
//!
//! `module_files` makes the files of a task, `run` is the state machine that prepares the private folder, runs the
//! tool and keeps its state, `stream` reads what the tool prints, and `judgement` makes the outcome of it.

mod command_line;
mod configurator;
mod differences;
mod judgement;
mod module_files;
mod recovered;
mod rendered;
mod run;
mod settings;
mod state_file;
mod stream;
#[cfg(test)]
mod tests;
mod variables;

pub(super) use configurator::TerraformConfigurator;
pub use recovered::{
    PRIVATE_FILES, PrivateOrigin, is_same_lineage, lost_resources, newer_state, sealed_state,
};
