//! What is known of hosts: host strings, the configuration of OpenSSH, inventories.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::gathered::{Hosts, RoleExpressions};
use crate::diagnostic::{Diagnostic, Diagnostics, Sources};
use crate::fleet::{Error, ErrorKind};
use crate::host::book::{Book, Login, Target};
use crate::host::helpers::{Lookup, Roles};
use crate::host::inventory::{self, Inventory, Way};
use crate::host::ssh_config::{self, Config, Files, Local};
use crate::host::{Command, HostParts, Place, PlaceError, Program};
use crate::system::env::Env;
use crate::value::{Map, Value};

/// How many names a warning gives.
const MOST_NAMED: usize = 5;

/// What is known of hosts.
#[derive(Debug)]
pub struct KnownHosts {
    book: Book,
    inventory: Inventory,
    expressions: Option<RoleExpressions>,
    /// What is doubtful in the files, and their texts.
    pub warnings: Vec<(Diagnostics, Sources)>,
}

impl KnownHosts {
    /// Reads the configuration of OpenSSH, then gathers the hosts that can be named.
    pub(crate) fn read<E: From<Error>>(
        ssh_config: &Files,
        login: Login,
        gather: impl FnOnce() -> Result<Hosts, E>,
    ) -> Result<Self, E> {
        let local = Local::of_this_process(Env::of_this_process());
        let config = Config::read(ssh_config, &local).map_err(|refused| {
            let problems = refused.errors.iter().map(ssh_config::Error::diagnostic);
            let problems: Diagnostics = problems.collect();
            Error::with_places(ErrorKind::Invalid, problems, refused.sources)
        })?;
        let warnings: Diagnostics = config
            .warnings()
            .iter()
            .map(ssh_config::Error::warning)
            .collect();
        let mut warnings = vec![(warnings, config.sources().clone())];
        let Hosts {
            inventory,
            warnings: doubts,
            sources,
            expressions,
        } = gather()?;
        warnings.push((doubts, sources));
        warnings.push((not_followed(&inventory), Sources::default()));
        Ok(Self {
            book: Book::new(config, login, local),
            inventory,
            expressions,
            warnings,
        })
    }
}

/// What variables of hosts say that runs over hosts do not follow.
fn not_followed(inventory: &Inventory) -> Diagnostics {
    let mut others = Vec::new();
    let mut ignored = BTreeSet::new();
    for host in inventory.hosts() {
        let Some(Ok(reach)) = inventory.reach(host) else {
            continue;
        };
        if let Some(other) = reach.escalation {
            others.push(format!("{host} ({})", other.user));
        }
        ignored.extend(reach.ignored);
    }
    let mut warnings = Diagnostics::default();
    if !others.is_empty() {
        let hosts = names(&others, MOST_NAMED);
        let message = format!("`become` of the inventory is not followed here: {hosts}");
        let help = "`--sudo=USER` and `sudo` steps run commands as another user";
        warnings.push(Diagnostic::warning(message).help(help));
    }
    if !ignored.is_empty() {
        let ignored: Vec<String> = ignored.into_iter().collect();
        let what = names(&ignored, MOST_NAMED);
        warnings.push(Diagnostic::warning(format!("{what}: not followed")));
    }
    warnings
}

/// The first of many names.
fn names(all: &[String], most: usize) -> String {
    let more = if all.len() > most { ", …" } else { "" };
    format!("{}{more}", all[..all.len().min(most)].join(", "))
}

impl crate::host::helpers::Book for KnownHosts {
    /// A host of the inventory goes the way that its variables say; any other is a host string. A
    /// user that the run names counts where neither names one (F56).
    fn place(&self, host: &str, user: Option<&str>) -> Result<Place, PlaceError> {
        if let Some(reach) = self.inventory.reach(host) {
            let way = match (reach?.way, user) {
                (Way::Ssh(mut target), Some(user)) => {
                    target.user.get_or_insert_with(|| user.to_owned());
                    Way::Ssh(target)
                }
                (way, _) => way,
            };
            return Ok(way.place(&self.book)?);
        }
        place_of_string(&self.book, host, user)
    }
}

/// Where a host string leads, for a user if it names none.
pub(crate) fn place_of_string(
    book: &Book,
    host: &str,
    user: Option<&str>,
) -> Result<Place, PlaceError> {
    let place = match user.filter(|_| !host.starts_with('@')) {
        Some(user) if HostParts::parse(host).user.is_none() => {
            Target::of(host).and_then(|mut target| {
                target.user = Some(user.to_owned());
                book.place_of(&target)
            })
        }
        _ => book.place(host),
    };
    Ok(place?)
}

impl Roles for KnownHosts {
    fn hosts_of(&self, role: &str) -> Lookup {
        let strings = |hosts: Vec<Arc<str>>| {
            let strings = hosts.iter().map(ToString::to_string);
            Lookup::Hosts(strings.collect())
        };
        match self.inventory.hosts_of(role) {
            Ok(inventory::Lookup::Hosts(hosts) | inventory::Lookup::Mapping { hosts, .. }) => {
                strings(hosts)
            }
            Ok(inventory::Lookup::Command(text)) => {
                Lookup::Command(Box::new(Command::new(Program::shell(text), "")))
            }
            Ok(inventory::Lookup::Expression(expression)) => {
                let why = "its hosts are an expression, which needs an ensemble";
                let expressions = self.expressions.as_ref();
                let hosts =
                    expressions.map_or_else(|| Err(why.to_owned()), |it| it.hosts(&expression));
                hosts.map_or_else(Lookup::Refused, Lookup::Hosts)
            }
            Err(error) => Lookup::Unknown { hint: error.hint },
        }
    }

    fn data(&self, host: &str) -> Option<Value> {
        let data: Map = self.inventory.data(host);
        (!data.is_empty()).then(|| data.into())
    }
}
