//! Errors in inventories, in the connection variables of a host, and in role names.

use std::sync::Arc;

/// A problem in an inventory file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InventoryProblem {
    /// The heading of a section is invalid.
    #[error("`{0}` is not a valid section: write `[group]`, `[group:vars]` or `[group:children]`")]
    Section(String),
    /// A word after a host is not a variable.
    #[error("`{0}` is not a host variable: write `name=value`")]
    HostVariable(String),
    /// A line in a section of variables is not a variable.
    #[error("`{0}` is not a group variable: write `name=value`")]
    GroupVariable(String),
    /// A line in a section of children is not a group name.
    #[error("`{0}` is not a valid group name")]
    Child(String),
    #[error("a quote is not closed")]
    Quotes,
    /// The range in a host pattern is invalid.
    #[error("`{text}` has an invalid host range: {reason}")]
    Range {
        /// The whole host pattern with its range.
        text: String,
        reason: &'static str,
    },
    /// The inventory has more hosts than allowed.
    #[error("the inventory has more than {0} hosts")]
    TooMany(usize),
    /// The port in a host pattern is invalid.
    #[error("the port of `{0}` is not a number from 1 to 65535")]
    Port(String),
    /// A group is used but never declared.
    #[error("the group `{0}` is not declared")]
    NoGroup(String),
    /// A group is its own descendant.
    #[error("the group `{0}` is among its own children")]
    Cycle(Arc<str>),
    /// A value has the wrong type.
    #[error("`{name}` is {found}; it must be {expected}")]
    Kind {
        /// The key or file that has the value.
        name: String,
        found: &'static str,
        expected: &'static str,
    },
    /// A key is unknown and ignored.
    #[error("`{name}` is not a key of {context}; it is ignored")]
    Unknown {
        name: String,
        /// The kind of map that contains the key.
        context: &'static str,
    },
    /// The file is an executable program, as dynamic inventories of Ansible are.
    #[error("the file is a program, which may not run")]
    Program,
}

/// The reasons why the variables of a host do not say how to reach it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostAccessError {
    /// A variable has an unusable value.
    #[error("`{variable}` of the host `{host}` is {reason}")]
    Variable {
        host: Arc<str>,
        variable: &'static str,
        reason: String,
    },
    /// The ensemble sets a command that would run on this machine.
    #[error(
        "the ensemble sets a `ProxyCommand` for the host `{host}`, which is not used, because it would \
         run a command on this machine; write it to `~/.ssh/config` or a hosts file"
    )]
    ProxyCommand { host: Arc<str> },
    /// The connection type is not supported.
    #[error("the host `{host}` is reached by `{connection}`, which is not supported")]
    Connection { host: Arc<str>, connection: String },
}

/// The error that a role does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown role `{name}`")]
pub struct RoleError {
    pub name: String,
    /// A similar name, as a suggestion.
    pub hint: Option<String>,
}
