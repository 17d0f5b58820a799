//! On which machines states are applied.

use std::sync::Arc;

use crate::fleet::hosts::KnownHosts;
use crate::fleet::{Error, ErrorKind};
use crate::host::helpers::{Book as _, Lookup, Roles as _};
use crate::host::{Action, Exit, Place, PlaceError, Request};
use crate::runbook::Scope;
use crate::text::Glob;
use crate::value::{Map, Value};

/// A machine that states are applied to.
#[derive(Debug, Clone)]
pub struct StateHost {
    /// How people call it.
    pub name: Arc<str>,
    /// Where it is.
    pub place: Place,
    /// What is known of it; state files read it as pillar.
    pub data: Map,
}

/// The machines that a scope and limits choose, in the order of the inventory, each once (F15,
/// P47). A limit is the name of a role, else a pattern for names of hosts.
pub fn choose(
    scope: &Scope,
    limits: &[String],
    known: &KnownHosts,
    user: Option<&str>,
) -> Result<Vec<StateHost>, Error> {
    let mut names: Vec<String> = scope.hosts.clone();
    for role in &scope.roles {
        names.extend(hosts_of(role, known)?);
    }
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(name.clone()) && !scope.exclude_hosts.contains(name));
    if !limits.is_empty() {
        names = limited(names, limits, known)?;
    }
    if names.is_empty() {
        let message = "no host is left to apply states to";
        return Err(Error::new(ErrorKind::Refused, message, None));
    }
    names
        .into_iter()
        .map(|name| {
            let refused = |problem: PlaceError| {
                let hint = problem.hint().map(str::to_owned);
                Error::new(ErrorKind::Refused, problem, hint)
            };
            let place = known.place(&name, user).map_err(refused)?;
            let data = known.data(&name).and_then(|data| data.as_map().cloned());
            Ok(StateHost {
                place,
                data: data.unwrap_or_default(),
                name: name.into(),
            })
        })
        .collect()
}

fn hosts_of(role: &str, known: &KnownHosts) -> Result<Vec<String>, Error> {
    let refused = |message: String, hint| Error::new(ErrorKind::Usage, message, hint);
    match known.hosts_of(role) {
        Lookup::Hosts(hosts) => Ok(hosts),
        Lookup::Unknown { hint } => Err(refused(format!("there is no role `{role}`"), hint)),
        Lookup::Refused(reason) => Err(refused(format!("role `{role}`: {reason}"), None)),
        Lookup::Command(_) => {
            let hint = "name its hosts with `-H`, or list them in a hosts file";
            let message = format!("role `{role}` is a command, which states do not run");
            Err(refused(message, Some(hint.to_owned())))
        }
    }
}

fn limited(
    names: Vec<String>,
    limits: &[String],
    known: &KnownHosts,
) -> Result<Vec<String>, Error> {
    let mut chosen = std::collections::HashSet::new();
    for limit in limits {
        let found: Vec<&String> = if let Lookup::Hosts(hosts) = known.hosts_of(limit) {
            names.iter().filter(|name| hosts.contains(name)).collect()
        } else {
            let pattern = Glob::without_sets(limit);
            names.iter().filter(|name| pattern.matches(name)).collect()
        };
        if found.is_empty() {
            let message = format!("`--limit {limit}` matches none of the hosts");
            return Err(Error::new(ErrorKind::Usage, message, None));
        }
        chosen.extend(found.into_iter().cloned());
    }
    Ok(names
        .into_iter()
        .filter(|name| chosen.contains(name))
        .collect())
}

/// The machine that this program runs on.
pub fn this_machine(name: &str) -> StateHost {
    StateHost {
        name: name.into(),
        place: Place::Here,
        data: Map::new(),
    }
}

impl StateHost {
    /// An action on this machine.
    pub(super) fn request(&self, action: Action) -> Request {
        let mut request = Request::at(self.place.clone(), action);
        request.host = Some(self.name.to_string());
        request
    }

    /// The pillar of this machine: what is known of it, under what was given for all.
    pub fn pillar(&self, given: &Map) -> Value {
        let mut pillar = self.data.clone();
        for (key, value) in given {
            pillar.insert(Arc::clone(key), value.clone());
        }
        pillar.into()
    }
}

/// Why a machine is lost, if it is.
pub(super) fn lost(exit: &Exit) -> Option<String> {
    match exit {
        Exit::Code(_) | Exit::Signal(_) | Exit::TimedOut | Exit::NotFound(_) => None,
        Exit::Cancelled => Some("interrupted".to_owned()),
        Exit::Unreachable(_) | Exit::Failed(_) | Exit::Asked { .. } => Some(exit.to_string()),
    }
}
