//! The table of the state modules.

use super::{
    archive, cmd, cron, environ, file, git, group, module, pkg, pkgrepo, service, ssh_auth, test,
    user,
};
use crate::states::state_function::{ModuleTable, StateFunction, StateModule, find_function};

/// The state modules.
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

/// Finds a function; none for the module too if there is no such module.
pub fn find(
    state: &str,
    fun: &str,
) -> (Option<&'static StateModule>, Option<&'static StateFunction>) {
    find_function(MODULES, state, fun)
}
