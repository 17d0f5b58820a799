//! The Ansible configurator: runs playbooks with the user's `ansible-playbook` (rule U-k, `Ansible`).
//!
//! [`AnsibleConfigurator`] renders the playbook, the inventory and the variables as files of the task. `PlaybookRun`
//! runs the program with a callback plugin that reports as lines of JSON, which `PlaybookReport` reads.

mod configurator;
mod expressions;
mod failure;
mod input;
mod inventory;
mod invocation;
mod playbook;
mod playbook_files;
mod report;
mod run;
mod variables;
mod yaml_writer;

pub(super) use configurator::AnsibleConfigurator;
