//! Reasons why nobody can say how a machine is reached.

use std::sync::Arc;

use super::book;
use super::inventory::ReachError;
use super::ssh_config::Refused;
use crate::system::fs;

/// The reason why nobody can say how a machine is reached.
#[derive(Debug, Clone, thiserror::Error)]
pub enum PlaceError {
    /// The host string, or what `ssh_config` says of its host, leads nowhere.
    #[error(transparent)]
    Host(#[from] book::Error),
    /// The variables of the host in the inventory lead nowhere.
    #[error(transparent)]
    Inventory(#[from] ReachError),
    /// The configuration of OpenSSH has errors.
    #[error(transparent)]
    Config(Arc<Refused>),
    /// The machine is this one or a container, where one that SSH leads to is asked for.
    #[error("it is not reached over SSH")]
    NotSsh,
    /// The file with the key of the host cannot be written.
    #[error(transparent)]
    HostKey(Arc<fs::Error>),
}

impl PlaceError {
    /// Says what to do about it, where that is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Host(error) => error.hint(),
            _ => None,
        }
    }
}

impl From<Refused> for PlaceError {
    fn from(refused: Refused) -> Self {
        Self::Config(Arc::new(refused))
    }
}

impl From<fs::Error> for PlaceError {
    fn from(error: fs::Error) -> Self {
        Self::HostKey(Arc::new(error))
    }
}
