//! The directory of known hosts: resolves host strings and roles from `ssh_config` and inventories.
//!
//! [`FleetHosts`] implements the ports `HostResolver` and `RoleSource` for tasks and states.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::gather::{GatheredHosts, RoleExpressions};
use crate::diagnostic::{Diagnostic, Diagnostics, Sources};
use crate::fleet::{Error, ErrorKind};
use crate::host::inventory::{self, ConnectionMethod, Escalation, Inventory};
use crate::host::resolver::{HostTarget, LocationResolver, LoginOptions};
use crate::host::services::{HostLogin, RoleLookup, RoleSource};
use crate::host::ssh_config::{self, LocalUser, SshConfig, SshConfigFiles};
use crate::host::{
    Command, ExecutorConfiguration, HostParts, Location, LocationError, Passwords, Program, Secret,
};
use crate::system::env::Env;
use crate::value::{Map, Value};

/// The number of names that a warning lists.
const MAX_NAMED: usize = 5;

/// The known hosts and roles of a run.
#[derive(Debug)]
pub struct FleetHosts {
    resolver: LocationResolver,
    inventory: Inventory,
    expressions: Option<RoleExpressions>,
    /// The executors that hosts files and the environment configure, the strongest first.
    pub executors: Vec<ExecutorConfiguration>,
    /// Warnings about the files that were read, with their sources.
    pub warnings: Vec<(Diagnostics, Sources)>,
    /// The options of `ssh_config` that have no effect, for verbose output.
    pub notes: (Diagnostics, Sources),
    /// The passwords that the secrets of the environment give for login, `sudo` and keys.
    pub environment_passwords: [Option<Secret>; 3],
    /// The passwords that are known before anything runs.
    pub passwords: Passwords,
}

impl FleetHosts {
    /// Reads the configuration of OpenSSH, then gathers the hosts that can be named.
    pub(crate) fn read<E: From<Error>>(
        ssh_config: &SshConfigFiles,
        login: LoginOptions,
        gather: impl FnOnce() -> Result<GatheredHosts, E>,
    ) -> Result<Self, E> {
        let local = LocalUser::of_this_process(Env::of_this_process());
        let config = SshConfig::read(ssh_config, &local).map_err(|refused| {
            let problems = refused.errors.iter().map(ssh_config::Error::diagnostic);
            let problems: Diagnostics = problems.collect();
            Error::with_sources(ErrorKind::Invalid, problems, refused.sources)
        })?;
        let warnings: Diagnostics = config
            .warnings()
            .iter()
            .map(ssh_config::Error::warning)
            .collect();
        let notes: Diagnostics = config.notes().iter().map(ssh_config::Error::note).collect();
        let notes = (notes, config.sources().clone());
        let mut warnings = vec![(warnings, config.sources().clone())];
        let GatheredHosts {
            inventory,
            warnings: gather_warnings,
            sources,
            expressions,
            passwords: environment_passwords,
            executors,
        } = gather()?;
        warnings.push((gather_warnings, sources));
        warnings.push((ignored_variable_warnings(&inventory), Sources::default()));
        Ok(Self {
            resolver: LocationResolver::new(config, login, local),
            inventory,
            expressions,
            executors,
            warnings,
            notes,
            environment_passwords,
            passwords: Passwords::default(),
        })
    }
}

impl FleetHosts {
    /// Returns the hosts and roles that can be named.
    pub(crate) fn inventory(&self) -> &Inventory {
        &self.inventory
    }
}

/// Warns about host variables that runs over hosts ignore, such as other methods of `become` than `sudo`.
fn ignored_variable_warnings(inventory: &Inventory) -> Diagnostics {
    let mut others = Vec::new();
    let mut ignored = BTreeSet::new();
    for host in inventory.hosts() {
        let Some(Ok(access)) = inventory.host_access(host) else {
            continue;
        };
        if let Some(other) = access.escalation.filter(|other| !other.is_sudo()) {
            others.push(format!("{host} ({})", other.method));
        }
        ignored.extend(access.ignored);
    }
    let mut warnings = Diagnostics::default();
    if !others.is_empty() {
        let hosts = first_names(&others, MAX_NAMED);
        let message =
            format!("`become` in the inventory is ignored for {hosts}: only `sudo` is followed");
        let help = "use `become_method: sudo`, `--sudo=USER` or the executor `su`";
        warnings.push(Diagnostic::warning(message).help(help));
    }
    if !ignored.is_empty() {
        let ignored: Vec<String> = ignored.into_iter().collect();
        let what = first_names(&ignored, MAX_NAMED);
        warnings.push(Diagnostic::warning(format!(
            "these inventory variables are ignored: {what}"
        )));
    }
    warnings
}

/// Joins the first names of a list, with an ellipsis if more follow.
fn first_names(all: &[String], max: usize) -> String {
    let more = if all.len() > max { ", …" } else { "" };
    format!("{}{more}", all[..all.len().min(max)].join(", "))
}

impl crate::host::services::HostResolver for FleetHosts {
    /// Locates a host.
    ///
    /// A host of the inventory is reached as its variables say; any other name is a host string.
    /// The `user` of the run counts if neither names a user (F56).
    fn locate(&self, host: &str, user: Option<&str>) -> Result<Location, LocationError> {
        if let Some(reach) = self.inventory.host_access(host) {
            let method = match (reach?.method, user) {
                (ConnectionMethod::Ssh(mut target), Some(user)) => {
                    target.user.get_or_insert_with(|| user.to_owned());
                    ConnectionMethod::Ssh(target)
                }
                (method, _) => method,
            };
            return Ok(method.locate(&self.resolver)?);
        }
        locate_host_string(&self.resolver, host, user)
    }

    fn check(&self, host: &str) -> Result<(), LocationError> {
        if !self.inventory.has_host(host) && !host.starts_with('@') {
            HostTarget::parse(host)?;
        }
        Ok(())
    }
}

/// Locates a host string, as `user` if the string names no user.
pub(crate) fn locate_host_string(
    resolver: &LocationResolver,
    host: &str,
    user: Option<&str>,
) -> Result<Location, LocationError> {
    let location = match user.filter(|_| !host.starts_with('@')) {
        Some(user) if HostParts::parse(host).user.is_none() => {
            HostTarget::parse(host).and_then(|mut target| {
                target.user = Some(user.to_owned());
                resolver.locate_target(&target)
            })
        }
        _ => resolver.locate(host),
    };
    Ok(location?)
}

impl RoleSource for FleetHosts {
    fn hosts_of(&self, role: &str) -> RoleLookup {
        let strings = |hosts: Vec<Arc<str>>| {
            let strings = hosts.iter().map(ToString::to_string);
            RoleLookup::Hosts(strings.collect())
        };
        match self.inventory.hosts_of(role) {
            Ok(
                inventory::InventoryRole::Hosts(hosts)
                | inventory::InventoryRole::Mapping { hosts, .. },
            ) => strings(hosts),
            Ok(inventory::InventoryRole::Command(text)) => {
                RoleLookup::Command(Box::new(Command::new(Program::shell(text), "")))
            }
            Ok(inventory::InventoryRole::Expression(expression)) => {
                let why = "its hosts are an expression, which can only be evaluated in the folder of an ensemble";
                let expressions = self.expressions.as_ref();
                let hosts =
                    expressions.map_or_else(|| Err(why.to_owned()), |it| it.hosts(&expression));
                hosts.map_or_else(RoleLookup::Refused, RoleLookup::Hosts)
            }
            Err(error) => RoleLookup::Unknown { hint: error.hint },
        }
    }

    fn host_login(&self, host: &str) -> Option<HostLogin> {
        let access = self.inventory.host_access(host)?.ok()?;
        let become_user = access
            .escalation
            .filter(Escalation::is_sudo)
            .map(|other| other.user);
        let (user, port) = match access.method {
            ConnectionMethod::Ssh(target) => (target.user, target.port),
            ConnectionMethod::Local | ConnectionMethod::Container { .. } => (None, None),
        };
        Some(HostLogin {
            name: Some(host.to_owned()),
            user,
            port,
            become_user,
        })
    }

    fn host_data(&self, host: &str) -> Option<Value> {
        let data: Map = self.inventory.data(host);
        (!data.is_empty()).then(|| data.into())
    }
}
