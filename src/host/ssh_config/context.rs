//! What a configuration may ask about this machine and its user.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Debug;
use std::net::ToSocketAddrs as _;
use std::path::PathBuf;
use std::time::Duration;

use crate::system::env::Env;
use crate::system::process::{self, Helper};
use crate::system::{machine, user};

/// How long a command of `Match exec` may run.
const EXEC_LIMIT: Duration = Duration::from_secs(30);

/// This machine and the user who works at it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LocalUser {
    /// The name of the user, `%u`.
    pub user: String,
    /// The number of the user, `%i`.
    pub uid: u32,
    /// The user's home, `%d`.
    pub home: PathBuf,
    /// The name of this machine, `%l`.
    pub host: String,
    /// The variables that `${…}` names.
    pub env: Env,
}

impl LocalUser {
    /// The user of this process. `HOME` says where the home is; the system's list of users does if
    /// it is not set.
    pub fn of_this_process(env: Env) -> Self {
        let home = env.non_empty("HOME").map(PathBuf::from);
        Self {
            user: user::name(),
            uid: user::id(),
            home: home.or_else(user::home).unwrap_or_else(|| "/".into()),
            host: machine::hostname(),
            env,
        }
    }
}

/// What a configuration may want to know while it is looked up.
pub trait ConfigContext: Debug {
    /// Whether a command of `Match exec` succeeds; an error says why it could not be run.
    fn command_succeeds(&self, command: &str) -> Result<bool, String>;
    /// Whether there is an address for a name, for `CanonicalizeHostname`.
    fn name_resolves(&self, name: &str) -> bool;
}

/// This machine. It runs each command and looks up each name once, whatever the number of hosts.
#[derive(Debug, Default)]
pub struct LocalConfigContext {
    shell: String,
    command_results: RefCell<HashMap<String, Result<bool, String>>>,
    resolved_names: RefCell<HashMap<String, bool>>,
}

impl LocalConfigContext {
    /// This machine, with the shell that the variables name.
    pub fn new(env: &Env) -> Self {
        Self {
            shell: env.non_empty("SHELL").unwrap_or("/bin/sh").to_owned(),
            ..Self::default()
        }
    }
}

impl ConfigContext for LocalConfigContext {
    fn command_succeeds(&self, command: &str) -> Result<bool, String> {
        if let Some(known) = self.command_results.borrow().get(command) {
            return known.clone();
        }
        let mut helper = Helper::new([self.shell.as_str(), "-c", command]);
        helper.time_limit = EXEC_LIMIT;
        let result = process::run(&helper).map(|output| output.is_ok());
        let result = result.map_err(|error| error.to_string());
        self.command_results
            .borrow_mut()
            .insert(command.to_owned(), result.clone());
        result
    }

    fn name_resolves(&self, name: &str) -> bool {
        if let Some(known) = self.resolved_names.borrow().get(name) {
            return *known;
        }
        let found = (name, 22).to_socket_addrs();
        let found = found.is_ok_and(|mut addresses| addresses.next().is_some());
        self.resolved_names
            .borrow_mut()
            .insert(name.to_owned(), found);
        found
    }
}
