//! The local machine as `ssh_config` files see it: the user, the environment, `Match exec` commands
//! and name look-ups.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Debug;
use std::net::ToSocketAddrs as _;
use std::path::PathBuf;
use std::time::Duration;

use crate::system::env::Env;
use crate::system::process::{self, Helper};
use crate::system::{machine, user};

/// The time limit of a `Match exec` command.
const EXEC_LIMIT: Duration = Duration::from_secs(30);

/// The local user and machine, as used in placeholders.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LocalUser {
    /// The login name of the user (`%u`).
    pub user: String,
    /// The numeric id of the user (`%i`).
    pub uid: u32,
    /// The home folder of the user (`%d`).
    pub home: PathBuf,
    /// The host name of the local machine (`%l`).
    pub host: String,
    /// The variables that `${…}` can name.
    pub env: Env,
}

impl LocalUser {
    /// Returns the user of this process.
    ///
    /// `HOME` gives the home folder; without it, the user database does.
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

/// The services that a configuration may need while a host is looked up.
pub trait ConfigContext: Debug {
    /// Whether a `Match exec` command succeeds. An error says why it could not run.
    fn command_succeeds(&self, command: &str) -> Result<bool, String>;
    /// Whether a name has an address, for `CanonicalizeHostname`.
    fn name_resolves(&self, name: &str) -> bool;
}

/// The context of a look-up that runs nothing and asks no network: no command succeeds, and no name has an address.
#[derive(Debug, Clone, Copy)]
pub struct OfflineContext;

impl ConfigContext for OfflineContext {
    fn command_succeeds(&self, _command: &str) -> Result<bool, String> {
        Ok(false)
    }

    fn name_resolves(&self, _name: &str) -> bool {
        false
    }
}

/// The context of the local machine.
///
/// Each command runs once and each name is looked up once, however many hosts there are.
#[derive(Debug, Default)]
pub struct LocalConfigContext {
    shell: String,
    command_results: RefCell<HashMap<String, Result<bool, String>>>,
    resolved_names: RefCell<HashMap<String, bool>>,
}

impl LocalConfigContext {
    /// Creates the context, with the shell that the environment names.
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
