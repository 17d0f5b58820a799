//! Reasons why nobody can say how a machine is reached.

use std::sync::Arc;

use super::inventory::HostAccessError;
use super::resolver;
use super::ssh_config::RejectedConfig;
use crate::system::fs;

/// The reason why nobody can say how a machine is reached.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LocationError {
    /// The host string, or what `ssh_config` says of its host, leads nowhere.
    #[error(transparent)]
    Host(#[from] resolver::Error),
    /// The variables of the host in the inventory lead nowhere.
    #[error(transparent)]
    Inventory(#[from] HostAccessError),
    /// The configuration of OpenSSH has errors.
    #[error(transparent)]
    Config(Arc<RejectedConfig>),
    /// The machine is this one or a container, where one that SSH leads to is asked for.
    #[error("it is not reached over SSH")]
    NotSsh,
    /// The file with the key of the host cannot be written.
    #[error(transparent)]
    HostKey(Arc<fs::Error>),
}

impl LocationError {
    /// Says what to do about it, where that is known.
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
