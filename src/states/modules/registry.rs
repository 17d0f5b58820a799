//! The registry of all state modules.
//!
//! The engine looks up state functions here by module and function name.

use super::{
    alternatives, archive, cmd, cron, debconf, environ, file, git, group, host, ini, kmod, locale,
    module, mount, network, pip, pkg, pkgrepo, service, ssh_auth, ssh_known_hosts, stateconf,
    sysctl, test, timezone, user,
};
use crate::states::state_function::{ModuleTable, StateFunction, StateModule, find_function};

/// The table of all state modules, sorted by name.
pub static MODULES: ModuleTable = &[
    &alternatives::MODULE,
    &archive::MODULE,
    &cmd::MODULE,
    &cron::MODULE,
    &debconf::MODULE,
    &environ::MODULE,
    &file::MODULE,
    &git::MODULE,
    &group::MODULE,
    &host::MODULE,
    &ini::MODULE,
    &kmod::MODULE,
    &locale::MODULE,
    &module::MODULE,
    &mount::MODULE,
    &network::MODULE,
    &pip::MODULE,
    &pkg::MODULE,
    &pkgrepo::MODULE,
    &service::MODULE,
    &ssh_auth::MODULE,
    &ssh_known_hosts::MODULE,
    &stateconf::MODULE,
    &sysctl::MODULE,
    &test::MODULE,
    &timezone::MODULE,
    &user::MODULE,
];

/// Finds a state function by module and name.
///
/// The function is None if the module lacks it; both are None if no such module exists.
pub fn find(
    state: &str,
    fun: &str,
) -> (Option<&'static StateModule>, Option<&'static StateFunction>) {
    find_function(MODULES, state, fun)
}
