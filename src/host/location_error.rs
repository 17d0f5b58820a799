//! Errors in finding out how a machine is reached.

use std::sync::Arc;

use super::inventory::HostAccessError;
use super::resolver;
use super::ssh_config::RejectedConfig;
use crate::system::fs;

/// The reasons why the location of a machine cannot be determined.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LocationError {
    /// The host string, or the `ssh_config` section of the host, is unusable.
    #[error(transparent)]
    Host(#[from] resolver::Error),
    /// The connection variables of the host in the inventory are unusable.
    #[error(transparent)]
    Inventory(#[from] HostAccessError),
    /// The `ssh_config` files have errors, listed in the value.
    #[error(transparent)]
    Config(Arc<RejectedConfig>),
    /// The machine is local or a container, but the caller needs an SSH host.
    #[error("the host is not reached over SSH: only SSH hosts are supported here")]
    NotSsh,
    /// The file with the host key cannot be written.
    #[error(transparent)]
    HostKey(Arc<fs::Error>),
}

impl LocationError {
    /// Returns advice on how to fix the error, if there is any.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Host(error) => error.hint(),
            _ => None,
        }
    }
}

impl From<RejectedConfig> for LocationError {
    fn from(refused: RejectedConfig) -> Self {
        Self::Config(Arc::new(refused))
    }
}

impl From<fs::Error> for LocationError {
    fn from(error: fs::Error) -> Self {
        Self::HostKey(Arc::new(error))
    }
}
