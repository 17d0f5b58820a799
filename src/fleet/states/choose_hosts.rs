//! Chooses the machines that states are applied to.
//!
//! [`choose_hosts`] resolves hosts, roles and limits to [`StateHost`]s with locations and pillar
//! data.

use std::sync::Arc;

use crate::fleet::hosts::{FleetHosts, refused_pattern};
use crate::fleet::{Error, ErrorKind};
use crate::host::inventory::HostPatternError;
use crate::host::services::{HostResolver as _, RoleLookup, RoleSource as _};
use crate::host::{Action, ActionRequest, Exit, Location, LocationError, check_host_list_item};
use crate::tasks::HostScope;
use crate::value::{Map, Value};

/// A machine that states are applied to.
#[derive(Debug, Clone)]
pub struct StateHost {
    /// The name of the machine in messages and results.
    pub name: Arc<str>,
    pub location: Location,
    /// The user to act as, which the inventory sets with `become`.
    pub become_user: Option<String>,
    /// The inventory variables of the host, which state files read as pillar.
    pub data: Map,
}

/// Returns the machines that a scope and limits select, each once (F15, P47).
///
/// The hosts that the scope names come first, then those of its roles, in the order of the scope.
/// A limit is the name of a role, or else a pattern for names of hosts.
pub fn choose_hosts(
    scope: &HostScope,
    limits: &[String],
    known: &FleetHosts,
    user: Option<&str>,
) -> Result<Vec<StateHost>, Error> {
    let mut names: Vec<String> = scope.hosts.clone();
    for role in &scope.roles {
        names.extend(hosts_of(role, known)?);
    }
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(name.clone()) && !scope.exclude_hosts.contains(name));
    if !limits.is_empty() {
        names = apply_limits(names, limits, known)?;
    }
    if names.is_empty() {
        let message = "no hosts remain after exclusions and limits";
        return Err(Error::new(ErrorKind::Refused, message, None));
    }
    names
        .into_iter()
        .map(|name| {
            let refused = |problem: LocationError| {
                let hint = problem.hint().map(str::to_owned);
                Error::new(ErrorKind::Refused, problem, hint)
            };
            check_host_list_item(&name).map_err(|problem| {
                let message = format!("`{}` is not a host: {problem}", name.escape_debug());
                Error::new(ErrorKind::Refused, message, None)
            })?;
            let location = known.locate(&name, user).map_err(refused)?;
            let data = known
                .host_data(&name)
                .and_then(|data| data.as_map().cloned());
            let login = known.host_login(&name).unwrap_or_default();
            Ok(StateHost {
                location,
                become_user: login.become_user,
                data: data.unwrap_or_default(),
                name: name.into(),
            })
        })
        .collect()
}

fn hosts_of(role: &str, known: &FleetHosts) -> Result<Vec<String>, Error> {
    let refused = |message: String, hint| Error::new(ErrorKind::Usage, message, hint);
    match known.hosts_of(role) {
        RoleLookup::Hosts(hosts) => Ok(hosts),
        RoleLookup::Unknown { hint } => Err(refused(format!("there is no role `{role}`"), hint)),
        RoleLookup::Refused(reason) => Err(refused(format!("role `{role}`: {reason}"), None)),
        RoleLookup::Command(_) => {
            let hint = "name its hosts with `-H`, or list them in a hosts file";
            let message = format!(
                "the hosts of role `{role}` come from a command, which is not supported for states"
            );
            Err(refused(message, Some(hint.to_owned())))
        }
    }
}

fn apply_limits(
    names: Vec<String>,
    limits: &[String],
    known: &FleetHosts,
) -> Result<Vec<String>, Error> {
    let mut chosen = std::collections::HashSet::new();
    let others: Vec<String> = names
        .iter()
        .filter(|name| !known.inventory().has_host(name))
        .cloned()
        .collect();
    for limit in limits {
        let found: Vec<String> = match known.hosts_of(limit) {
            RoleLookup::Hosts(hosts) => hosts,
            _ => match known
                .inventory()
                .select_hosts(std::slice::from_ref(limit), &others)
            {
                Ok(hosts) => hosts.iter().map(ToString::to_string).collect(),
                Err(HostPatternError::Empty(_) | HostPatternError::Unknown { .. }) => Vec::new(),
                Err(error) => return Err(refused_pattern(&error)),
            },
        };
        let found: std::collections::HashSet<String> = found.into_iter().collect();
        chosen.extend(names.iter().filter(|name| found.contains(*name)).cloned());
        if names.iter().all(|name| !found.contains(name)) {
            let message = format!("`--limit {limit}` matches none of the hosts");
            return Err(Error::new(ErrorKind::Usage, message, None));
        }
    }
    Ok(names
        .into_iter()
        .filter(|name| chosen.contains(name))
        .collect())
}

/// Returns the machine that this program runs on.
pub fn this_machine(name: &str) -> StateHost {
    StateHost {
        name: name.into(),
        location: Location::Local,
        become_user: None,
        data: Map::new(),
    }
}

impl StateHost {
    /// Returns a request to perform an action on this machine.
    pub(super) fn request(&self, action: Action) -> ActionRequest {
        let mut request = ActionRequest::new(self.location.clone(), action);
        request.host = Some(self.name.to_string());
        request.become_user.clone_from(&self.become_user);
        request
    }

    /// Returns the pillar of this machine: its variables, overridden by the shared pillar.
    pub fn pillar(&self, shared_pillar: &Map) -> Value {
        let mut pillar = self.data.clone();
        for (key, value) in shared_pillar {
            pillar.insert(Arc::clone(key), value.clone());
        }
        pillar.into()
    }
}

/// Returns why a machine is lost after this exit. None if it can go on.
pub(super) fn loss_reason(exit: &Exit) -> Option<String> {
    match exit {
        Exit::Code(_) | Exit::Signal(_) | Exit::TimedOut | Exit::NotFound(_) => None,
        Exit::Cancelled => Some("interrupted".to_owned()),
        Exit::Unreachable(_) | Exit::Failed(_) | Exit::NeedsAnswer { .. } => Some(exit.to_string()),
    }
}
