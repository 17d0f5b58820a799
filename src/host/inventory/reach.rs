//! How a host of an inventory is reached, by the variables that say so.

use std::sync::Arc;

use super::error::ReachError;
use super::ini::words;
use super::model::Inventory;
use crate::host::book::{Book, Error, Target, Via};
use crate::host::{Container, Place, Secret};
use crate::value::{Map, Value};

/// How a host is reached, and as whom one acts there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    /// The way.
    pub way: Way,
    /// As whom commands are run, if not as the user who logs in.
    pub escalation: Option<Become>,
    /// What the variables say that is not followed.
    pub ignored: Vec<String>,
}

/// The way to a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// It is this machine.
    Here,
    /// It is a container on this machine.
    Container {
        /// The program that reaches it.
        engine: &'static str,
        /// Its name.
        name: String,
    },
    /// It is reached over SSH.
    Ssh(Target),
}

/// As whom commands are run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Become {
    /// The program that does it, such as `sudo`.
    pub method: String,
    /// The user.
    pub user: String,
    /// The password that it asks for.
    pub password: Option<Secret>,
}

impl Way {
    /// The place, with what the command line and `ssh_config` add.
    pub fn place(&self, book: &Book) -> Result<Place, Error> {
        Ok(match self {
            Self::Here => Place::Here,
            Self::Container { engine, name } => Place::Container(Arc::new(Container {
                name: name.clone(),
                engine: (*engine).to_owned(),
                on: Place::Here,
            })),
            Self::Ssh(target) => book.place_of(target)?,
        })
    }
}

impl Inventory {
    /// How a host is reached; none if there is no such host.
    pub fn reach(&self, host: &str) -> Option<Result<Reach, ReachError>> {
        let (name, _) = self.hosts.get_key_value(host)?;
        let variables = Variables {
            host: name,
            data: self.data(host),
        };
        Some(variables.reach())
    }
}

/// The data of one host.
struct Variables<'a> {
    host: &'a Arc<str>,
    data: Map,
}

impl Variables<'_> {
    fn reach(&self) -> Result<Reach, ReachError> {
        let mut ignored = Vec::new();
        let connection = self.text(&["ansible_connection"])?;
        let way = match connection.as_deref().unwrap_or("ssh") {
            "ssh" | "smart" | "paramiko" | "paramiko_ssh" => Way::Ssh(self.target(&mut ignored)?),
            "local" | "ansible.builtin.local" => Way::Here,
            "docker" | "community.docker.docker" => self.container("docker")?,
            "podman" | "containers.podman.podman" => self.container("podman")?,
            other => {
                return Err(ReachError::Connection {
                    host: Arc::clone(self.host),
                    connection: other.to_owned(),
                });
            }
        };
        Ok(Reach {
            way,
            escalation: self.escalation()?,
            ignored,
        })
    }

    fn container(&self, engine: &'static str) -> Result<Way, ReachError> {
        let name = self.text(&["ansible_host", "ansible_docker_host"])?;
        let name = name.unwrap_or_else(|| self.host.to_string());
        Ok(Way::Container { engine, name })
    }

    fn target(&self, ignored: &mut Vec<String>) -> Result<Target, ReachError> {
        let mut said = Arguments::default();
        for variable in ["ansible_ssh_common_args", "ansible_ssh_extra_args"] {
            let Some(text) = self.text(&[variable])? else {
                continue;
            };
            let bad = || self.bad(variable, "not closed by a quote");
            let more = arguments(&text).ok_or_else(bad)?;
            said.via = said.via.or(more.via);
            said.user = said.user.or(more.user);
            said.port = said.port.or(more.port);
            said.identity_files.extend(more.identity_files);
            ignored.extend(
                more.ignored
                    .iter()
                    .map(|word| format!("`{word}` of `{variable}`")),
            );
        }
        let host = self.text(&["ansible_host", "ansible_ssh_host"])?;
        let user = self.text(&["ansible_user", "ansible_ssh_user"])?;
        let port = self.text(&["ansible_port", "ansible_ssh_port"])?;
        let port = match port.or(said.port) {
            None => None,
            Some(text) => match text.parse() {
                Ok(port @ 1..) => Some(port),
                _ => return Err(self.bad("ansible_port", "not a number from 1 to 65535")),
            },
        };
        let mut identity_files = self.files()?;
        identity_files.extend(said.identity_files);
        let passwords = [
            "ansible_password",
            "ansible_ssh_password",
            "ansible_ssh_pass",
        ];
        Ok(Target {
            name: self.host.to_string(),
            host: host.unwrap_or_else(|| self.host.to_string()),
            user: user.or(said.user),
            port,
            identity_files,
            password: self.text(&passwords)?.map(Secret::new),
            via: said.via,
        })
    }

    fn files(&self) -> Result<Vec<String>, ReachError> {
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
                    text.ok_or_else(|| self.bad(NAMES[0], "not a list of files"))
                })
                .collect(),
        }
    }

    fn escalation(&self) -> Result<Option<Become>, ReachError> {
        let wanted = match self.data.get("ansible_become").map(Value::reveal) {
            None | Some(Value::Null) => false,
            Some(Value::Bool(truth)) => *truth,
            Some(Value::Int(number)) => *number != 0,
            Some(Value::Str(text)) => {
                let text = text.to_ascii_lowercase();
                ["yes", "true", "on", "1", "y", "t"].contains(&text.as_str())
            }
            Some(_) => return Err(self.bad("ansible_become", "neither true nor false")),
        };
        if !wanted {
            return Ok(None);
        }
        let method = self.text(&["ansible_become_method"])?;
        let user = self.text(&["ansible_become_user"])?;
        let password = self.text(&["ansible_become_password", "ansible_become_pass"])?;
        Ok(Some(Become {
            method: method.unwrap_or_else(|| "sudo".to_owned()),
            user: user.unwrap_or_else(|| "root".to_owned()),
            password: password.map(Secret::new),
        }))
    }

    /// The text of the first of these variables that there is; numbers are texts too.
    fn text(&self, names: &[&'static str]) -> Result<Option<String>, ReachError> {
        for name in names {
            let text = match self.data.get(*name).map(Value::reveal) {
                None | Some(Value::Null) => continue,
                Some(Value::Str(text)) => text.to_string(),
                Some(Value::Int(number)) => number.to_string(),
                Some(_) => return Err(self.bad(name, "not a text")),
            };
            if text.contains("{{") {
                return Err(self.bad(name, "a template, which is not evaluated here"));
            }
            return Ok(Some(text));
        }
        Ok(None)
    }

    fn bad(&self, variable: &'static str, reason: &str) -> ReachError {
        ReachError::Variable {
            host: Arc::clone(self.host),
            variable,
            reason: reason.to_owned(),
        }
    }
}

/// What the arguments say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Arguments {
    via: Option<Via>,
    identity_files: Vec<String>,
    user: Option<String>,
    port: Option<String>,
    /// What is not understood.
    ignored: Vec<String>,
}

/// Reads arguments; none if a quote has no end. The first value of each counts, as for `ssh`.
fn arguments(text: &str) -> Option<Arguments> {
    let mut found = Arguments::default();
    let mut words = words(text)?.into_iter();
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
            // Says nothing that is of use here.
            "-C" | "-q" | "-T" | "-v" => {}
            _ => found.ignored.push(word),
        }
    }
    Some(found)
}

fn option(found: &mut Arguments, text: &str) {
    let (name, value) = text.split_once(['=', ' ']).unwrap_or((text, ""));
    let value = value.trim();
    match name.trim().to_ascii_lowercase().as_str() {
        "proxyjump" => set_jumps(found, value),
        "proxycommand" if found.via.is_none() => {
            let is_none = value.eq_ignore_ascii_case("none");
            found.via = Some(if is_none {
                Via::Jumps(Vec::new())
            } else {
                Via::Command(value.to_owned())
            });
        }
        "identityfile" => found.identity_files.push(value.to_owned()),
        "user" => found.user = found.user.take().or_else(|| Some(value.to_owned())),
        "port" => found.port = found.port.take().or_else(|| Some(value.to_owned())),
        // A second command counts as little as sharing and compression, which are decided here.
        "proxycommand" | "controlmaster" | "controlpersist" | "controlpath" | "compression"
        | "loglevel" => {}
        _ => found.ignored.push(format!("-o {text}")),
    }
}

fn set_jumps(found: &mut Arguments, text: &str) {
    if found.via.is_none() {
        let is_none = text.eq_ignore_ascii_case("none");
        let jumps = text.split(',').filter(|jump| !is_none && !jump.is_empty());
        found.via = Some(Via::Jumps(jumps.map(str::to_owned).collect()));
    }
}
