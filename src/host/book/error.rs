//! Why a host string names no place.

use crate::host::AddressError;
use crate::host::ssh_config::LookupError;

/// Why a host string names no place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It is no host string.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The configuration of the host cannot be followed.
    #[error("the ssh_config of `{host}`: {source}")]
    Config {
        /// The host.
        host: String,
        /// Why not.
        source: LookupError,
    },
    /// The way to a host leads through itself.
    #[error("the way to `{}` leads in a circle: {}", first(.path), .path.join(" → "))]
    Circle {
        /// The hosts, each reached through the next one; the last one is among them before.
        path: Vec<String>,
    },
    /// A way that leads on and on.
    #[error("the way to `{host}` passes more than {most} hosts")]
    Far {
        /// The host.
        host: String,
        /// How many may be passed.
        most: usize,
    },
    /// Something after `@` that is none of the places that have such names.
    #[error("\"{0}\" names no container: it is `@docker/NAME` or `@podman/NAME`")]
    Container(String),
}

fn first(path: &[String]) -> &str {
    path.first().map_or("", String::as_str)
}

impl Error {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Circle { .. } => Some(
                "a `Host *` that names a jump needs `ProxyJump none` for the jump itself, above it",
            ),
            _ => None,
        }
    }
}
