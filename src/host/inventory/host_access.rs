//! Connection settings of an inventory host, read from Ansible's connection variables such as
//! `ansible_host` and `ansible_become`.
//!
//! [`Inventory::host_access`] is the entry; [`ConnectionMethod::locate`] turns the result into a
//! location.

use std::sync::Arc;

use super::ansible_ini::split_words;
use super::error::HostAccessError;
use super::model::Inventory;
use crate::host::resolver::{Error, HostTarget, LocationResolver, TargetRoute};
use crate::host::{Container, Location, Secret, check_host_name};
use crate::value::{Map, Value};

/// The connection type of a host whose `ProxyCommand` is refused.
const REFUSED_PROXY_COMMAND: &str = "refused ProxyCommand";
/// The variables with the password for `sudo`.
const BECOME_PASSWORDS: [&str; 2] = ["ansible_become_password", "ansible_become_pass"];
/// The variables with the passphrase of the private keys.
const PASSPHRASES: [&str; 2] = [
    "ansible_ssh_private_key_passphrase",
    "ansible_private_key_passphrase",
];
/// The variables with arguments for `ssh`.
const SSH_ARGUMENTS: [&str; 2] = ["ansible_ssh_common_args", "ansible_ssh_extra_args"];

/// Returns true if the `ssh` arguments of a host or a group of the model contain a `ProxyCommand`.
///
/// Such a host is refused: the command would run on this machine, and its text comes from the model or from attributes
/// that another machine has set.
pub fn has_proxy_command(variables: &Map) -> bool {
    let has_command = |name: &&str| {
        let text = variables.get(*name).map(|value| value.reveal().to_string());
        text.is_some_and(|text| text.to_ascii_lowercase().contains("proxycommand"))
    };
    SSH_ARGUMENTS.iter().any(has_command)
}

/// Makes a host unreachable whose `ssh` arguments contain a `ProxyCommand`.
pub fn refuse_proxy_command(variables: &mut Map) {
    if has_proxy_command(variables) {
        for name in SSH_ARGUMENTS {
            variables.shift_remove(name);
        }
        let refused = Value::str(REFUSED_PROXY_COMMAND);
        variables.insert("ansible_connection".into(), refused);
    }
}

/// The connection method of a host, and the user to act as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostAccess {
    pub method: ConnectionMethod,
    /// The user to run commands as, if not the login user.
    pub escalation: Option<Escalation>,
    /// Settings of the variables that are not supported and therefore ignored.
    pub ignored: Vec<String>,
}

/// The kind of connection to a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectionMethod {
    /// The host is the local machine.
    Local,
    /// The host is a container on the local machine.
    Container {
        /// The container program, such as `docker`.
        engine: &'static str,
        name: String,
    },
    Ssh(HostTarget),
}

/// The other user that commands run as, as in Ansible's `become`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Escalation {
    /// The program that switches users, such as `sudo`.
    pub method: String,
    pub user: String,
    /// The password that the program asks for.
    pub password: Option<Secret>,
}

impl Escalation {
    /// Returns true if the user is reached by `sudo`, which runs over hosts follow.
    pub fn is_sudo(&self) -> bool {
        matches!(self.method.as_str(), "sudo" | "ansible.builtin.sudo")
    }
}

impl ConnectionMethod {
    /// Returns the location, completed with the settings of the command line and `ssh_config`.
    pub fn locate(&self, resolver: &LocationResolver) -> Result<Location, Error> {
        Ok(match self {
            Self::Local => Location::Local,
            Self::Container { engine, name } => Location::Container(Arc::new(Container {
                name: name.clone(),
                engine: (*engine).to_owned(),
                location: Location::Local,
            })),
            Self::Ssh(target) => resolver.locate_target(target)?,
        })
    }
}

impl Inventory {
    /// Returns the connection settings of a host; none if the host does not exist.
    pub fn host_access(&self, host: &str) -> Option<Result<HostAccess, HostAccessError>> {
        let (name, _) = self.hosts.get_key_value(host)?;
        let variables = HostVariables {
            host: name,
            data: self.data(host),
        };
        Some(variables.host_access())
    }
}

/// The merged variables of a host.
struct HostVariables<'a> {
    host: &'a Arc<str>,
    data: Map,
}

impl HostVariables<'_> {
    fn host_access(&self) -> Result<HostAccess, HostAccessError> {
        let mut ignored = Vec::new();
        let connection = self.text(&["ansible_connection"])?;
        let method = match connection.as_deref().unwrap_or("ssh") {
            "ssh" | "smart" | "paramiko" | "paramiko_ssh" => {
                ConnectionMethod::Ssh(self.target(&mut ignored)?)
            }
            "local" | "ansible.builtin.local" => ConnectionMethod::Local,
            "docker" | "community.docker.docker" => self.container("docker")?,
            "podman" | "containers.podman.podman" => self.container("podman")?,
            REFUSED_PROXY_COMMAND => {
                let host = Arc::clone(self.host);
                return Err(HostAccessError::ProxyCommand { host });
            }
            other => {
                return Err(HostAccessError::Connection {
                    host: Arc::clone(self.host),
                    connection: other.to_owned(),
                });
            }
        };
        Ok(HostAccess {
            method,
            escalation: self.escalation()?,
            ignored,
        })
    }

    fn container(&self, engine: &'static str) -> Result<ConnectionMethod, HostAccessError> {
        let name = self.text(&["ansible_host", "ansible_docker_host"])?;
        let name = name.unwrap_or_else(|| self.host.to_string());
        if check_host_name(&name).is_err() {
            return Err(self.invalid_variable("ansible_host", "not the name of a container"));
        }
        Ok(ConnectionMethod::Container { engine, name })
    }

    fn target(&self, ignored: &mut Vec<String>) -> Result<HostTarget, HostAccessError> {
        let mut ssh_arguments = SshArguments::default();
        for variable in SSH_ARGUMENTS {
            let Some(text) = self.text(&[variable])? else {
                continue;
            };
            let bad = || self.invalid_variable(variable, "missing a closing quote");
            let more = arguments(&text).ok_or_else(bad)?;
            ssh_arguments.via = ssh_arguments.via.or(more.via);
            ssh_arguments.user = ssh_arguments.user.or(more.user);
            ssh_arguments.port = ssh_arguments.port.or(more.port);
            ssh_arguments.identity_files.extend(more.identity_files);
            ignored.extend(
                more.ignored
                    .iter()
                    .map(|word| format!("`{word}` of `{variable}`")),
            );
        }
        let host = self.text(&["ansible_host", "ansible_ssh_host"])?;
        let user = self.text(&["ansible_user", "ansible_ssh_user"])?;
        let port = self.text(&["ansible_port", "ansible_ssh_port"])?;
        let port = match port.or(ssh_arguments.port) {
            None => None,
            Some(text) => match text.parse() {
                Ok(port @ 1..) => Some(port),
                _ => {
                    return Err(
                        self.invalid_variable("ansible_port", "not a number from 1 to 65535")
                    );
                }
            },
        };
        let mut identity_files = self.identity_files()?;
        identity_files.extend(ssh_arguments.identity_files);
        let passwords = [
            "ansible_password",
            "ansible_ssh_password",
            "ansible_ssh_pass",
        ];
        Ok(HostTarget {
            name: self.host.to_string(),
            host: host.unwrap_or_else(|| self.host.to_string()),
            user: user.or(ssh_arguments.user),
            port,
            identity_files,
            password: self.secret(&passwords, ignored)?,
            sudo_password: self.secret(&BECOME_PASSWORDS, ignored)?,
            passphrase: self.secret(&PASSPHRASES, ignored)?,
            route: ssh_arguments.via,
            raw: self.flag("unfurl_raw")?,
        })
    }

    fn identity_files(&self) -> Result<Vec<String>, HostAccessError> {
        const NAMES: [&str; 2] = ["ansible_ssh_private_key_file", "ansible_private_key_file"];
        let listed = NAMES
            .iter()
            .find_map(|name| self.data.get(*name)?.as_list());
        match listed {
            None => Ok(self.text(&NAMES)?.into_iter().collect()),
            Some(items) => items
                .iter()
                .map(|item| {
                    let text = item.as_str().map(str::to_owned);
                    text.ok_or_else(|| self.invalid_variable(NAMES[0], "not a list of files"))
                })
                .collect(),
        }
    }

    /// Returns a variable that is true or false; false if it is not set.
    fn flag(&self, variable: &'static str) -> Result<bool, HostAccessError> {
        Ok(match self.data.get(variable).map(Value::reveal) {
            None | Some(Value::Null) => false,
            Some(Value::Bool(truth)) => *truth,
            Some(Value::Int(number)) => *number != 0,
            Some(Value::Str(text)) => {
                let text = text.to_ascii_lowercase();
                ["yes", "true", "on", "1", "y", "t"].contains(&text.as_str())
            }
            Some(_) => return Err(self.invalid_variable(variable, "neither true nor false")),
        })
    }

    fn escalation(&self) -> Result<Option<Escalation>, HostAccessError> {
        if !self.flag("ansible_become")? {
            return Ok(None);
        }
        let method = self.text(&["ansible_become_method"])?;
        let user = self.text(&["ansible_become_user"])?;
        let password = self.secret(&BECOME_PASSWORDS, &mut Vec::new())?;
        Ok(Some(Escalation {
            method: method.unwrap_or_else(|| "sudo".to_owned()),
            user: user.unwrap_or_else(|| "root".to_owned()),
            password,
        }))
    }

    /// Returns the first of these variables that is set, as a secret.
    ///
    /// A template that names another variable of the host has the value of that variable, such as one of an encrypted
    /// file. Any other template is ignored.
    fn secret(
        &self,
        names: &[&'static str],
        ignored: &mut Vec<String>,
    ) -> Result<Option<Secret>, HostAccessError> {
        for name in names {
            let Some(Value::Str(text)) = self.data.get(*name).map(Value::reveal) else {
                continue;
            };
            let inner = text.trim().strip_prefix("{{");
            let Some(named) = inner.and_then(|rest| rest.strip_suffix("}}")) else {
                continue;
            };
            match self.data.get(named.trim()).map(Value::reveal) {
                Some(Value::Str(value)) if !value.contains("{{") => {
                    return Ok(Some(Secret::new(&**value)));
                }
                Some(Value::Int(number)) => return Ok(Some(Secret::new(number.to_string()))),
                _ => {
                    ignored.push(format!("the template in `{name}`"));
                    return Ok(None);
                }
            }
        }
        Ok(self.text(names)?.map(Secret::new))
    }

    /// Returns the first of these variables that is set, as text. Integers are accepted.
    fn text(&self, names: &[&'static str]) -> Result<Option<String>, HostAccessError> {
        for name in names {
            let text = match self.data.get(*name).map(Value::reveal) {
                None | Some(Value::Null) => continue,
                Some(Value::Str(text)) => text.to_string(),
                Some(Value::Int(number)) => number.to_string(),
                Some(_) => return Err(self.invalid_variable(name, "not a string or an integer")),
            };
            if text.contains("{{") {
                return Err(
                    self.invalid_variable(name, "a template, which inventories do not evaluate")
                );
            }
            return Ok(Some(text));
        }
        Ok(None)
    }

    fn invalid_variable(&self, variable: &'static str, reason: &str) -> HostAccessError {
        HostAccessError::Variable {
            host: Arc::clone(self.host),
            variable,
            reason: reason.to_owned(),
        }
    }
}

/// The supported settings of a list of `ssh` arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct SshArguments {
    via: Option<TargetRoute>,
    identity_files: Vec<String>,
    user: Option<String>,
    port: Option<String>,
    /// The arguments that are not supported.
    ignored: Vec<String>,
}

/// Parses `ssh` arguments. The first value of each option wins, as in `ssh`.
///
/// None if a quote is not closed.
fn arguments(text: &str) -> Option<SshArguments> {
    let mut found = SshArguments::default();
    let mut words = split_words(text)?.into_iter();
    while let Some(word) = words.next() {
        let (flag, value) = match word.char_indices().nth(2) {
            Some((end, _)) if word.starts_with('-') && !word.starts_with("--") => {
                (word[..end].to_owned(), Some(word[end..].to_owned()))
            }
            _ => (word.clone(), None),
        };
        let mut value = || value.clone().or_else(|| words.next());
        match flag.as_str() {
            "-J" => set_jumps(&mut found, value().unwrap_or_default().as_str()),
            "-i" => found.identity_files.extend(value()),
            "-l" => found.user = found.user.take().or_else(value),
            "-p" => found.port = found.port.take().or_else(value),
            "-o" => option(&mut found, &value().unwrap_or_default()),
            // Output and compression flags have no effect here.
            "-C" | "-q" | "-T" | "-v" => {}
            _ => found.ignored.push(word),
        }
    }
    Some(found)
}

fn option(found: &mut SshArguments, text: &str) {
    let (name, value) = text.split_once(['=', ' ']).unwrap_or((text, ""));
    let value = value.trim();
    match name.trim().to_ascii_lowercase().as_str() {
        "proxyjump" => set_jumps(found, value),
        "proxycommand" if found.via.is_none() => {
            let is_none = value.eq_ignore_ascii_case("none");
            found.via = Some(if is_none {
                TargetRoute::Jumps(Vec::new())
            } else {
                TargetRoute::Command(value.to_owned())
            });
        }
        "identityfile" => found.identity_files.push(value.to_owned()),
        "user" => found.user = found.user.take().or_else(|| Some(value.to_owned())),
        "port" => found.port = found.port.take().or_else(|| Some(value.to_owned())),
        // A second `ProxyCommand` is ignored, as in `ssh`. Connection sharing and compression have
        // their own rules here.
        "proxycommand" | "controlmaster" | "controlpersist" | "controlpath" | "compression"
        | "loglevel" => {}
        _ => found.ignored.push(format!("-o {text}")),
    }
}

fn set_jumps(found: &mut SshArguments, text: &str) {
    if found.via.is_none() {
        let is_none = text.eq_ignore_ascii_case("none");
        let jumps = text.split(',').filter(|jump| !is_none && !jump.is_empty());
        found.via = Some(TargetRoute::Jumps(jumps.map(str::to_owned).collect()));
    }
}
