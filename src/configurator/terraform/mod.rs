//! The Terraform configurator: deploys a module with Terraform or OpenTofu (rule U-k).
//!
//! `module_files` makes the files of a task, `run` is the state machine that prepares the private folder and runs the
//! tool, `ending` keeps its state, `saved_plan` compares what a plan was made of, `stream` reads what the tool prints, and `judgement` makes the outcome of it.

mod address;
mod command_line;
mod configurator;
mod differences;
mod ending;
mod judgement;
mod module_files;
mod recovered;
mod rendered;
mod run;
mod saved_plan;
mod settings;
mod state_file;
mod steps;
mod stream;
#[cfg(test)]
mod tests;
mod variables;
mod version;

pub use address::StateAddress;
pub(super) use configurator::TerraformConfigurator;
pub use recovered::{
    LostResource, PRIVATE_FILES, PrivateOrigin, is_same_lineage, lost_of_messages, lost_resources,
    newer_state, sealed_state, state_files,
};
