//! Reads what a folder of Terraform files takes and gives: its variables, outputs and backend.
//!
//! [`TerraformModule::read`] is the entry. `blocks` finds the blocks of HCL without evaluating anything.

mod blocks;
mod interface;
mod module;
mod tokens;

pub use interface::ModuleVariable;
pub use module::TerraformModule;
