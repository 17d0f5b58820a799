//! Computes the hosts that a task runs on: the first source that names hosts wins, roles are
//! resolved, duplicates and excluded hosts are removed (rules F7, F11 to F21).

use std::collections::HashSet;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::host::{NameError, check_host_list_item};

/// Hosts, roles and excluded hosts as one source states them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostScope {
    pub hosts: Vec<String>,
    pub roles: Vec<String>,
    /// The host strings of hosts to exclude.
    pub exclude_hosts: Vec<String>,
}

impl HostScope {
    /// Whether the scope names neither a host nor a role.
    pub fn is_unspecified(&self) -> bool {
        self.hosts.is_empty() && self.roles.is_empty()
    }
}

/// The sources that may name the hosts of a task, in order of precedence (F13, F14).
#[derive(Debug, Clone, Copy)]
pub(super) struct ScopeSources<'a> {
    /// The scope in the arguments of the call.
    pub(super) call: &'a HostScope,
    /// The scope in the definition of the task.
    pub(super) task: &'a HostScope,
    /// The scope of the environment, which the command line initializes.
    pub(super) env: &'a HostScope,
}

/// The scope of the source that was selected.
#[derive(Debug, Clone, Copy)]
pub(super) struct SelectedScope<'a> {
    pub(super) hosts: &'a [String],
    pub(super) roles: &'a [String],
    exclude: &'a [String],
    /// The exclusions of the task itself, where the task names the hosts.
    task_exclude: &'a [String],
}

impl<'a> ScopeSources<'a> {
    /// Selects the first source that names hosts.
    ///
    /// The exclusions of a call apply to the hosts of the call and of the task. The exclusions of
    /// the environment apply only to the hosts of the environment (F17).
    pub(super) fn select(self) -> SelectedScope<'a> {
        let Self { call, task, env } = self;
        let of = |scope: &'a HostScope, exclude: &'a [String], exclude_too: &'a [String]| {
            SelectedScope {
                hosts: &scope.hosts,
                roles: &scope.roles,
                exclude,
                task_exclude: exclude_too,
            }
        };
        if !call.is_unspecified() {
            of(call, &call.exclude_hosts, &[])
        } else if !task.is_unspecified() {
            of(task, &call.exclude_hosts, &task.exclude_hosts)
        } else {
            of(env, &env.exclude_hosts, &[])
        }
    }
}

/// The reason why a list of hosts cannot be computed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostListError {
    /// A list has an empty item.
    #[error("a list of {0} has an empty item")]
    EmptyItem(&'static str),
    /// The name of a host could mean something to a shell.
    #[error("`{}` is not the name of a host: {problem}", .name.escape_debug())]
    Name { name: String, problem: NameError },
    /// Roles that do not exist, in order, each with a hint.
    #[error("{}", unknown_roles(.0))]
    UnknownRoles(Vec<(String, Option<String>)>),
    /// The hosts of a role cannot be determined.
    #[error("role `{role}`: {reason}")]
    Refused { role: String, reason: String },
}

fn unknown_roles(roles: &[(String, Option<String>)]) -> String {
    let shown: Vec<String> = roles
        .iter()
        .map(|(role, hint)| match hint {
            Some(hint) => format!("`{role}` ({hint})"),
            None => format!("`{role}`"),
        })
        .collect();
    match shown.as_slice() {
        [role] => format!("there is no role {role}"),
        roles => format!("there are no roles {}", roles.join(", ")),
    }
}

/// The computed hosts of a task, with the roles that they come from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostList {
    /// The hosts in order. Empty for a task that runs once without a host.
    pub hosts: Vec<Arc<str>>,
    /// The roles that the hosts come from (F12).
    pub roles: Vec<Arc<str>>,
    /// The roles that have no hosts.
    pub empty_roles: Vec<Arc<str>>,
}

impl SelectedScope<'_> {
    /// Joins the named hosts with those of the roles, then removes duplicates and excluded hosts
    /// (F15 to F18).
    ///
    /// `known` contains the hosts of each role.
    pub(super) fn resolve(
        self,
        known: &IndexMap<String, Vec<String>>,
        dedupe: bool,
    ) -> Result<HostList, HostListError> {
        let mut list = HostList::default();
        let mut raw: Vec<&str> = self.hosts.iter().map(String::as_str).collect();
        for role in trimmed_names(self.roles, "roles")? {
            let hosts = known.get(role).map_or(&[][..], Vec::as_slice);
            list.roles.push(role.into());
            if hosts.is_empty() {
                list.empty_roles.push(role.into());
            }
            raw.extend(hosts.iter().map(String::as_str));
        }
        let exclude = self.exclude.iter().chain(self.task_exclude);
        let exclude: HashSet<&str> = exclude.map(|host| host.trim()).collect();
        let mut seen = HashSet::with_capacity(raw.len());
        for host in raw {
            let host = host.trim();
            if host.is_empty() {
                return Err(HostListError::EmptyItem("hosts"));
            }
            // Tasks may put the name into a command for this machine.
            check_host_list_item(host).map_err(|problem| HostListError::Name {
                name: host.to_owned(),
                problem,
            })?;
            if !exclude.contains(host) && (!dedupe || seen.insert(host)) {
                list.hosts.push(host.into());
            }
        }
        Ok(list)
    }
}

/// Trims the names of roles. An empty name is an error.
pub(super) fn trimmed_names<'a>(
    names: &'a [String],
    list_kind: &'static str,
) -> Result<Vec<&'a str>, HostListError> {
    let names = names.iter().map(|name| match name.trim() {
        "" => Err(HostListError::EmptyItem(list_kind)),
        name => Ok(name),
    });
    names.collect()
}

/// Parses the output of a role's command: one host per line, `#` starts a comment line.
pub(super) fn parse_hosts(output: &str) -> Vec<String> {
    let lines = output.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(items: &[&str]) -> Vec<String> {
        items.iter().map(|&item| item.to_owned()).collect()
    }

    fn hosts(items: &[&str], exclude: &[&str]) -> HostScope {
        HostScope {
            hosts: strings(items),
            exclude_hosts: strings(exclude),
            ..HostScope::default()
        }
    }

    fn chosen(call: &HostScope, task: &HostScope, env: &HostScope, dedupe: bool) -> String {
        let known = IndexMap::from([("r".to_owned(), strings(&["b", "c"]))]);
        match (ScopeSources { call, task, env }.select()).resolve(&known, dedupe) {
            Ok(list) => list.hosts.join(" "),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_first_source_wins_and_exclusions_do_not_mix() {
        let none = HostScope::default();
        let env = hosts(&["a", "b", "c"], &["b"]);
        assert_eq!(chosen(&none, &none, &env, true), "a c");
        assert_eq!(chosen(&hosts(&[], &["a"]), &none, &env, true), "a c");
        let task = hosts(&["b", "d"], &["d"]);
        assert_eq!(chosen(&none, &task, &env, true), "b");
        assert_eq!(chosen(&hosts(&[], &["b"]), &task, &env, true), "");
        assert_eq!(chosen(&hosts(&["q"], &[]), &task, &env, true), "q");
    }

    #[test]
    fn twins_are_dropped_unless_they_are_wanted_and_exclusion_works_in_either_case() {
        let none = HostScope::default();
        let env = hosts(&["a", " a", "b", "h", "h:22"], &["b"]);
        assert_eq!(chosen(&none, &none, &env, true), "a h h:22");
        assert_eq!(chosen(&none, &none, &env, false), "a a h h:22");
        let env = HostScope {
            roles: strings(&["r"]),
            ..hosts(&["a", "b"], &[])
        };
        assert_eq!(chosen(&none, &none, &env, true), "a b c");
    }

    #[test]
    fn an_empty_item_is_refused() {
        let none = HostScope::default();
        insta::assert_snapshot!(chosen(&none, &none, &hosts(&["a", " "], &[]), true), @"a list of hosts has an empty item");
    }

    #[test]
    fn a_command_names_a_host_on_each_line() {
        assert_eq!(parse_hosts("a\n\n # no\n b \n"), ["a", "b"]);
    }
}
