//! Evaluates the parsed files for one host, as `ssh -G` does.
//!
//! [`SshConfig::lookup`] is the entry.

use super::context::{ConfigContext, LocalUser};
use super::files::{BlockCondition, ConfigFile, ConfigItem, SshConfig};
use super::matching::{Criterion, CriterionKind};
use super::options::{Canonicalize, Proxy, SshOptions};
use super::tokens::{self, TokenError, Tokens};
use crate::host::DEFAULT_PORT;
use crate::host::pattern;

/// The host to look up, with the user and port of its host string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostQuery<'a> {
    /// The host as the user wrote it, without user and port.
    pub host: &'a str,
    /// The user in the host string, which overrides the files.
    pub user: Option<&'a str>,
    /// The port in the host string, which overrides the files.
    pub port: Option<u16>,
}

/// The reasons why the files cannot be evaluated for a host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The command of a `Match exec` could not be run.
    #[error("`Match exec` could not run `{command}`: {reason}")]
    Exec { command: String, reason: String },
    /// The host exists in no domain, and `CanonicalizeFallbackLocal` is off.
    #[error("no domain of `CanonicalDomains` has a host `{0}`")]
    NotCanonical(String),
}

impl SshConfig {
    /// Returns the options of a host.
    ///
    /// As in OpenSSH, the files are evaluated a second time if `CanonicalizeHostname` or `Match
    /// final` requires it.
    pub fn lookup(
        &self,
        query: HostQuery<'_>,
        local: &LocalUser,
        context: &dyn ConfigContext,
    ) -> Result<SshOptions, LookupError> {
        let mut pass = ConfigPass {
            query,
            local,
            context,
            host: query.host.to_owned(),
            options: SshOptions {
                user: query.user.map(str::to_owned),
                port: query.port,
                ..SshOptions::default()
            },
            is_final: false,
            needs_final: false,
        };
        pass.files(&self.files)?;
        let mut host = pass.effective_host()?;
        if host.parse::<std::net::IpAddr>().is_err() {
            host.make_ascii_lowercase();
        }
        let canonicalize = pass.options.canonicalize.unwrap_or(Canonicalize::No);
        if canonicalize != Canonicalize::No {
            host = canonical(host, &pass.options, context)?;
            pass.needs_final = true;
        }
        if pass.needs_final {
            pass.options.host_name = Some(host.clone());
            pass.host.clone_from(&host);
            pass.is_final = true;
            pass.files(&self.files)?;
        }
        pass.options.host = host;
        Ok(pass.options)
    }
}

/// Canonicalizes a host name: appends the first domain in which the name exists.
fn canonical(
    host: String,
    options: &SshOptions,
    context: &dyn ConfigContext,
) -> Result<String, LookupError> {
    let is_direct = matches!(options.proxy, None | Some(Proxy::None));
    if !is_direct && options.canonicalize != Some(Canonicalize::Always)
        || host.parse::<std::net::IpAddr>().is_ok()
    {
        return Ok(host);
    }
    if let Some(anchored) = host.strip_suffix('.') {
        return Ok(if context.name_resolves(&host) {
            anchored.to_owned()
        } else {
            host
        });
    }
    let max_dots = options.canonicalize_max_dots.unwrap_or(1) as usize;
    if host.matches('.').count() > max_dots {
        return Ok(host);
    }
    let domains = options.canonical_domains.iter().flatten();
    for domain in domains.take_while(|domain| !domain.eq_ignore_ascii_case("none")) {
        let name = format!("{host}.{}", domain.trim_end_matches('.'));
        if context.name_resolves(&format!("{name}.")) {
            return Ok(name);
        }
    }
    if options.canonicalize_fallback == Some(false) {
        return Err(LookupError::NotCanonical(host));
    }
    Ok(host)
}

/// The state of one evaluation of all files.
struct ConfigPass<'a> {
    query: HostQuery<'a>,
    local: &'a LocalUser,
    context: &'a dyn ConfigContext,
    /// The host that `Host` patterns are compared with.
    host: String,
    options: SshOptions,
    is_final: bool,
    needs_final: bool,
}

impl ConfigPass<'_> {
    fn files(&mut self, files: &[ConfigFile]) -> Result<(), LookupError> {
        for file in files {
            for block in &file.blocks {
                let counts = match &block.condition {
                    BlockCondition::Inherited => true,
                    BlockCondition::Host(words) => pattern::matches_host_line(&self.host, words),
                    BlockCondition::Match(criteria) => self.is_satisfied(criteria)?,
                };
                for item in &block.items {
                    match item {
                        ConfigItem::Set(setting) if counts => setting.apply(&mut self.options),
                        ConfigItem::Include(included) if counts => self.files(&included.files)?,
                        ConfigItem::Include(included) => {
                            self.needs_final |= included.has_match_final;
                        }
                        ConfigItem::Set(_) => {}
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the host to connect to, as far as it is known at this point.
    fn effective_host(&self) -> Result<String, LookupError> {
        Ok(match &self.options.host_name {
            Some(name) if self.is_final => name.clone(),
            Some(name) => tokens::host_name(name, &self.host)?,
            None => self.host.clone(),
        })
    }

    fn is_satisfied(&mut self, criteria: &[Criterion]) -> Result<bool, LookupError> {
        let host = self.effective_host()?;
        let user = self.options.user.as_deref().unwrap_or(&self.local.user);
        let mut all_hold = true;
        for Criterion { negated, kind } in criteria {
            let holds = match kind {
                CriterionKind::All => true,
                CriterionKind::Never => *negated,
                CriterionKind::Final | CriterionKind::Canonical => self.is_final,
                CriterionKind::Host(list) => pattern::matches_host(&host, list),
                CriterionKind::OriginalHost(list) => pattern::matches_host(self.query.host, list),
                CriterionKind::User(list) => pattern::matches_list(user, list),
                CriterionKind::LocalUser(list) => pattern::matches_list(&self.local.user, list),
                CriterionKind::Tagged(list) => {
                    let tag = self.options.tag.as_deref().unwrap_or("");
                    pattern::matches_list(tag, list)
                }
                // As in OpenSSH, a command does not run if an earlier criterion has failed.
                CriterionKind::Exec(_) if !all_hold => continue,
                CriterionKind::Exec(command) => self.succeeds(command, &host)?,
            };
            self.needs_final |= *kind == CriterionKind::Final;
            all_hold &= holds != *negated;
        }
        Ok(all_hold)
    }

    fn succeeds(&self, command: &str, host: &str) -> Result<bool, LookupError> {
        let SshOptions {
            user,
            port,
            host_key_alias,
            ..
        } = &self.options;
        let tokens = Tokens {
            local: self.local,
            host,
            original: self.query.host,
            port: port.unwrap_or(DEFAULT_PORT),
            user: user.as_deref().unwrap_or(&self.local.user),
            key_alias: host_key_alias.as_deref().unwrap_or(host),
            jumps: "",
        };
        let command = tokens.command(command)?;
        let ran = self.context.command_succeeds(&command);
        ran.map_err(|reason| LookupError::Exec { command, reason })
    }
}
