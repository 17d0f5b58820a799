//! The options of a run of tasks.
//!
//! They combine values of the command line with facts about this machine that the engine cannot
//! read itself.

use std::path::PathBuf;
use std::time::Duration;

use super::{ConnectionSettings, HostScope, MaxFail, Switches};
use crate::host::{Passwords, Variables};
use crate::value::Map;

/// The options of a run: values from the command line, and facts about this machine.
#[derive(Debug, Clone, Default)]
pub struct TaskOptions {
    /// The hosts, roles and exclusions that the environment starts with (F13).
    pub scope: HostScope,
    /// The switches that the environment starts with. A switch that is true here stays true,
    /// whatever `tasks.yaml` says.
    pub switches: Switches<bool>,
    /// The maximum number of hosts at the same time.
    pub pool_size: Option<usize>,
    /// The number of failed hosts after which no further host of a task starts.
    pub max_fail: Option<MaxFail>,
    /// The time limit of each command.
    pub command_timeout: Option<Duration>,
    /// The maximum size of long outputs of a command that are kept whole. None for the default.
    pub capture: Option<u64>,
    /// The user to log in as where the host string names none.
    pub user: Option<String>,
    /// The port that templates see where the host string names none.
    pub port: Option<u16>,
    /// The connection options of the command line, which those of `tasks.yaml` do not override.
    pub connection: ConnectionSettings,
    /// Template variables, which override those of `tasks.yaml`.
    pub vars: Map,
    /// The name of the user who runs this program.
    pub local_user: String,
    /// The environment variables of commands on this machine.
    pub variables: Variables,
    /// The passwords that are known at the start.
    pub passwords: Passwords,
    /// The folder that relative paths of commands without a task are relative to.
    pub folder: PathBuf,
}
