//! Implements `unfurl add`: writes a node template for Terraform or Ansible into the ensemble.
//!
//! [`add`] is the entry. `terraform` and `ansible` have the texts; `insertion` puts a text into a manifest and keeps
//! everything else.

mod ansible;
mod insertion;
mod request;
mod run;
mod terraform;
mod writer;

pub use request::{AddReport, AddRequest, AnsibleSource, NewNode};
pub use run::add;
