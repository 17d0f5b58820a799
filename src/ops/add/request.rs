//! The request and the result of `unfurl add`.

use std::path::PathBuf;

use crate::session::SessionOptions;

/// The node to add.
#[derive(Debug, Clone)]
pub enum NewNode {
    /// A node that Terraform makes, of the module in a folder, or of an example without one.
    Terraform { module: Option<PathBuf> },
    /// A node that Ansible sets up.
    Ansible(AnsibleSource),
}

/// The files of a node that Ansible sets up.
#[derive(Debug, Clone, Default)]
pub struct AnsibleSource {
    /// The playbook. Without it, the node template has the tasks of an example.
    pub playbook: Option<PathBuf>,
    /// The inventory. Without it, the inventory is generated from the model.
    pub inventory: Option<PathBuf>,
}

/// The options of `unfurl add`.
#[derive(Debug, Clone)]
pub struct AddRequest {
    pub session: SessionOptions,
    pub node: NewNode,
    /// The name of the node template. By default, it follows from the folder or the file.
    pub name: Option<String>,
    /// Values of variables, as texts.
    pub variables: Vec<(String, String)>,
    /// True if nothing is to be written.
    pub dry_run: bool,
}

/// The result of `unfurl add`.
#[derive(Debug, Clone)]
pub struct AddReport {
    pub name: String,
    pub configurator: &'static str,
    pub file: PathBuf,
    /// The line of the new template in the file, counted from 1.
    pub line: usize,
    /// The lines of the new template, as they stand in the file.
    pub text: String,
    pub dry_run: bool,
    /// Facts that the user should know.
    pub notes: Vec<String>,
    /// Commands that are left to do.
    pub next: Vec<String>,
}
