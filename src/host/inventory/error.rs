//! What is wrong with an inventory, a host in it, or the name of a role.

use std::sync::Arc;

/// What is wrong in a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InventoryProblem {
    /// A section's heading is none.
    #[error("`{0}` is no section: it is `[group]`, `[group:vars]` or `[group:children]`")]
    Section(String),
    /// A host is followed by something else than variables.
    #[error("`{0}` is no variable of a host: it has no `=`")]
    HostVariable(String),
    /// A line among variables is none.
    #[error("`{0}` is no variable of a group: it has no `=`")]
    GroupVariable(String),
    /// A line among children is no name of a group.
    #[error("`{0}` is no name of a group")]
    Child(String),
    /// A quote has no end.
    #[error("a quote is not closed")]
    Quotes,
    /// A range is none.
    #[error("`{text}` is no range of hosts: {reason}")]
    Range {
        /// The whole pattern.
        text: String,
        /// Why not.
        reason: &'static str,
    },
    /// More hosts than an inventory may have.
    #[error("there are more than {0} hosts")]
    TooMany(usize),
    /// A port is none.
    #[error("the port of `{0}` is not a number from 1 to 65535")]
    Port(String),
    /// A group is named that is not there.
    #[error("there is no group `{0}`")]
    NoGroup(String),
    /// A group is below itself.
    #[error("the group `{0}` is among its own children")]
    Cycle(Arc<str>),
    /// Something is of the wrong kind.
    #[error("`{name}` is {found}; it must be {expected}")]
    Kind {
        /// What.
        name: String,
        /// What it is.
        found: &'static str,
        /// What it must be.
        expected: &'static str,
    },
    /// A key that nobody knows.
    #[error("there is no `{name}` in {place}; it is ignored")]
    Unknown {
        /// The key.
        name: String,
        /// Where it stands.
        place: &'static str,
    },
    /// The file is a program, as dynamic inventories are.
    #[error("this is a program; inventories are not run")]
    Program,
}

/// Why a host of an inventory cannot be reached.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostAccessError {
    /// A variable has a value that cannot be used.
    #[error("`{variable}` of the host `{host}` is {reason}")]
    Variable {
        /// The host.
        host: Arc<str>,
        /// The variable.
        variable: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no such way to a host here.
    #[error("the host `{host}` is reached by `{connection}`, which is not supported")]
    Connection {
        /// The host.
        host: Arc<str>,
        /// What `ansible_connection` says.
        connection: String,
    },
}

/// Why a role names no hosts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no role `{name}`")]
pub struct RoleError {
    /// The role.
    pub name: String,
    /// What may have been meant.
    pub hint: Option<String>,
}
