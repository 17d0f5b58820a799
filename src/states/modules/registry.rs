//! The registry of all state modules.
//!
//! The engine looks up state functions here by module and function name.

use super::{
    archive, cmd, cron, environ, file, git, group, module, pkg, pkgrepo, service, ssh_auth, test,
    user,
};
use crate::states::state_function::{ModuleTable, StateFunction, StateModule, find_function};

/// The table of all state modules, sorted by name.
pub static MODULES: ModuleTable = &[
    &archive::MODULE,
    &cmd::MODULE,
    &cron::MODULE,
    &environ::MODULE,
    &file::MODULE,
    &git::MODULE,
    &group::MODULE,
    &module::MODULE,
    &pkg::MODULE,
    &pkgrepo::MODULE,
    &service::MODULE,
    &ssh_auth::MODULE,
    &test::MODULE,
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
