//! What a run is told besides its tasks.

use std::path::PathBuf;
use std::time::Duration;

use super::{HostScope, MaxFail, Switches};
use crate::host::{Passwords, Variables};
use crate::value::Map;

/// What a run is told besides its tasks: what was typed, and what it needs to know of this machine.
#[derive(Debug, Clone, Default)]
pub struct TaskOptions {
    /// Hosts, roles and exclusions that the environment begins with (F13).
    pub scope: HostScope,
    /// What the environment begins with; what is true here stays true, whatever `tasks.yaml` says.
    pub switches: Switches<bool>,
    /// The most hosts at the same time.
    pub pool_size: Option<usize>,
    /// How many hosts of a task may fail before no further one begins.
    pub max_fail: Option<MaxFail>,
    /// How long a command may run.
    pub command_timeout: Option<Duration>,
    /// The user to log in as where the host names none.
    pub user: Option<String>,
    /// The port where the host names none, as templates see it.
    pub port: Option<u16>,
    /// Variables for templates, in place of those of `tasks.yaml`.
    pub vars: Map,
    /// Who runs this program.
    pub local_user: String,
    /// The environment of commands on this machine.
    pub variables: Variables,
    /// The passwords that are known from the start.
    pub passwords: Passwords,
    /// Where relative paths of anonymous commands begin.
    pub folder: PathBuf,
}
