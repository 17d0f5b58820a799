//! What `ssh_config` files say about hosts, read as OpenSSH reads them (spec/hosts.md F55 to F61).
//!
//! Connects to nothing. It runs no command and looks up no name either: a [`World`] does.

mod context;
mod error;
mod evaluate;
mod files;
mod glob;
mod keyword;
mod line;
mod matching;
mod options;
mod setting;
mod time;
mod tokens;

pub use context::{ConfigContext, LocalConfigContext, LocalUser};
pub use error::{Error, RejectedConfig};
pub use evaluate::{HostQuery, LookupError};
pub use files::{SshConfig, SshConfigFiles};
pub use options::{Canonicalize, ForwardAgent, Jump, Proxy, SshOptions, Strictness};
pub use tokens::{TokenError, Tokens};
