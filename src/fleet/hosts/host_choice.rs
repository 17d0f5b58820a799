//! Checks the hosts and roles of the command line before anything runs, and expands host patterns of Ansible in them.

use super::FleetHosts;
use crate::fleet::{Error, ErrorKind};
use crate::host::inventory::HostPatternError;
use crate::host::services::HostResolver as _;
use crate::tasks::HostScope;

impl FleetHosts {
    /// Returns the scope with all patterns replaced by the hosts that they select.
    ///
    /// # Errors
    ///
    /// A text is neither a host string nor a pattern, or a pattern selects no host.
    pub fn expand(&self, scope: HostScope) -> Result<HostScope, Error> {
        let inventory = self.inventory();
        let is_pattern = |text: &String| inventory.is_host_pattern(text);
        let HostScope {
            mut hosts,
            mut roles,
            mut exclude_hosts,
        } = scope;
        let is_other = |host: &&String| !is_pattern(host) && !inventory.has_group(host);
        let mut others: Vec<String> = hosts.iter().filter(is_other).cloned().collect();
        others.retain(|host| !inventory.has_host(host));
        for host in &others {
            self.check_host(host)?;
        }
        if hosts.iter().any(is_pattern) {
            hosts = select(self, &hosts, &others)?;
        }
        for host in &hosts {
            self.check_host(host)?;
        }
        if roles.iter().any(is_pattern) {
            hosts.extend(select(self, &roles, &[])?);
            roles.clear();
        }
        if exclude_hosts.iter().any(is_pattern) {
            let (patterns, mut names): (Vec<String>, Vec<String>) =
                exclude_hosts.into_iter().partition(is_pattern);
            for pattern in patterns {
                match inventory.select_hosts(std::slice::from_ref(&pattern), &others) {
                    Ok(found) => names.extend(found.iter().map(ToString::to_string)),
                    // There may be nothing to leave out.
                    Err(HostPatternError::Empty(_)) => {}
                    Err(error) => return Err(refused(&error)),
                }
            }
            exclude_hosts = names;
        }
        Ok(HostScope {
            hosts,
            roles,
            exclude_hosts,
        })
    }

    fn check_host(&self, host: &str) -> Result<(), Error> {
        self.check(host).map_err(|problem| {
            let hint = problem.hint().map(str::to_owned);
            Error::new(ErrorKind::Usage, problem, hint)
        })
    }
}

fn select(
    known: &FleetHosts,
    patterns: &[String],
    others: &[String],
) -> Result<Vec<String>, Error> {
    let selected = known.inventory().select_hosts(patterns, others);
    let selected = selected.map_err(|error| refused(&error))?;
    Ok(selected.iter().map(ToString::to_string).collect())
}

/// Returns the error of a pattern that cannot be used.
pub(in crate::fleet) fn refused(error: &HostPatternError) -> Error {
    Error::new(ErrorKind::Usage, error, error.hint())
}
