//! Reads `ssh_config` files and evaluates them for a host, as OpenSSH does (F55 to F61).
//!
//! [`SshConfig`] is the entry. It makes no connections; commands and name look-ups go through a
//! [`ConfigContext`].

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

pub use context::{ConfigContext, LocalConfigContext, LocalUser, OfflineContext};
pub use error::{Error, RejectedConfig};
pub use evaluate::{HostQuery, LookupError};
pub use files::{SshConfig, SshConfigFiles};
pub use options::{Canonicalize, ForwardAgent, Jump, Proxy, SshOptions, Strictness};
pub use tokens::{TokenError, Tokens};
