//! The home of the user on this machine, where relative paths of hosts start for `@local`, too.

use std::path::PathBuf;

use crate::system::env::Env;

/// Returns the home of the user, as the variable `HOME` says; `/` without it.
pub(super) fn local_home() -> PathBuf {
    let env = Env::of_this_process();
    PathBuf::from(env.non_empty("HOME").unwrap_or("/"))
}
