//! Implements `unfurl add`: writes a node template for Terraform or Ansible into the ensemble.
//!
//! [`add`] is the entry. `terraform` and `ansible` have the texts; `insertion` puts a text into a manifest and keeps
//! everything else.

mod ansible;
mod gitignore;
mod insertion;
mod request;
mod run;
mod terraform;
mod writer;

pub(super) use insertion::{Insertion, NewTemplate, with_templates};
pub use request::{AddReport, AddRequest, AnsibleSource, NewNode};
pub use run::add;
pub(super) use run::{
    check_free_name, check_name, check_readable, is_recorded, relative_path, save, value_of_text,
};
pub(super) use terraform::{TerraformNode, VariableValue, terraform_template};
