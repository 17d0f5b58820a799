//! Reads `ssh_config` files and evaluates them for a host, as OpenSSH does (F55 to F61).
//!
//! [`SshConfig`] is the entry. It makes no connections; commands and name look-ups go through a
//! [`ConfigContext`].

mod algorithm_list;
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

pub use algorithm_list::{has_own_order, select_algorithms};
pub use context::{ConfigContext, LocalConfigContext, LocalUser, OfflineContext};
pub use error::{Error, RejectedConfig};
pub use evaluate::{HostQuery, LookupError};
pub use files::{SshConfig, SshConfigFiles};
pub use options::{AddressFamily, Canonicalize, ForwardAgent, Jump, Proxy, SshOptions, Strictness};
pub(crate) use tokens::KEY_TOKEN;
pub use tokens::{TokenError, Tokens};
