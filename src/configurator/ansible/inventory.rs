//! The inventory of a playbook: that of the input `inventory`, or one for the machine of the operation.

use std::path::{Path, PathBuf};

use super::input::{Document, input_error};
use crate::expr::Error;
use crate::host::inventory::{HostAccessError, has_proxy_command};
use crate::task::TaskView;
use crate::text::shlex_quote;
use crate::topology::InventoryHost;
use crate::value::{Map, Value};

/// The Python that runs modules on this machine: that of Ansible itself, also in a virtual environment.
const OWN_PYTHON: &str = "{{ ansible_playbook_python }}";
/// The variable with the Python that runs modules.
const PYTHON_VARIABLE: &str = "ansible_python_interpreter";
/// The variable with the kind of connection.
const CONNECTION_VARIABLE: &str = "ansible_connection";
/// The variable with arguments for `ssh`.
const SSH_ARGUMENTS: &str = "ansible_ssh_common_args";
/// The name of the file with the keys of hosts, in the folder of the task.
pub(super) const KNOWN_HOSTS_FILE: &str = "known_hosts";

/// The inventory of a playbook.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Inventory {
    /// A file or folder.
    File(PathBuf),
    /// A list of hosts with commas, as the option `-i` takes it.
    Hosts(String),
    /// The text of an inventory in the format INI.
    Ini(String),
    /// An inventory as data, which the input gives.
    Data(Value),
    /// The inventory for the machine of the operation, with the name of that host.
    Generated {
        host: String,
        data: Value,
        /// The line of the file with the keys of hosts.
        known_host: Option<String>,
    },
}

impl Inventory {
    /// Makes the inventory of a task. `folder` is the folder of the task's files.
    pub(super) fn of(
        task: &TaskView<'_>,
        document: Option<Document>,
        folder: &Path,
    ) -> Result<Self, Error> {
        Ok(match document {
            None => return Self::generate(task, folder),
            Some(Document::File(path)) => Self::File(path),
            Some(Document::Data(data)) if data.as_map().is_some() => Self::Data(data),
            Some(Document::Data(_)) => {
                return Err(input_error(
                    "`inventory` must be the path of a file, a map or the text of an inventory, not a list",
                ));
            }
            Some(Document::Text(text)) if text.contains('\n') => Self::Ini(text),
            Some(Document::Text(text)) if text.contains(',') => Self::Hosts(text),
            Some(Document::Text(text)) => {
                return Err(input_error(format!(
                    "the inventory `{text}` does not exist"
                )));
            }
        })
    }

    fn generate(task: &TaskView<'_>, folder: &Path) -> Result<Self, Error> {
        let host = task.inventory_host()?.unwrap_or_else(|| InventoryHost {
            name: "localhost".to_owned(),
            ..InventoryHost::default()
        });
        let InventoryHost {
            name,
            mut variables,
            groups,
            host_key,
        } = host;
        refuse_options(&name, &variables)?;
        refuse_commands(&name, &variables, &groups)?;
        let is_this_machine = name == "localhost" && !variables.contains_key("ansible_host");
        if is_this_machine && !variables.contains_key(CONNECTION_VARIABLE) {
            // Only a `localhost` that no inventory names is reached without SSH by itself.
            variables.insert(CONNECTION_VARIABLE.into(), "local".into());
        }
        let is_local = name == "localhost"
            || variables
                .get(CONNECTION_VARIABLE)
                .is_some_and(|it| it.as_str() == Some("local"));
        if is_local && !variables.contains_key(PYTHON_VARIABLE) {
            variables.insert(PYTHON_VARIABLE.into(), OWN_PYTHON.into());
        }
        let known_host = host_key.filter(|_| !is_local).map(|key| {
            let address = variables.get("ansible_host");
            let address = address.map_or(name.clone(), |it| it.reveal().to_string());
            let port = variables
                .get("ansible_port")
                .map(|it| it.reveal().to_string());
            known_hosts_line(&address, port.as_deref(), &key)
        });
        if known_host.is_some() {
            let file = folder.join(KNOWN_HOSTS_FILE);
            let option = format!(
                "-o {}",
                shlex_quote(&format!("UserKnownHostsFile={}", file.display()))
            );
            let own = variables
                .get(SSH_ARGUMENTS)
                .map(|it| it.reveal().to_string());
            let all = own.map_or(option.clone(), |own| format!("{own} {option}"));
            variables.insert(SSH_ARGUMENTS.into(), all.into());
        }
        let hosts = Map::from_iter([(name.as_str().into(), Value::from(variables))]);
        let all = Value::map([
            ("hosts", Value::from(hosts)),
            ("vars", Value::from(Map::new())),
            ("children", Value::from(groups)),
        ]);
        Ok(Self::Generated {
            host: name,
            data: Value::map([("all", all)]),
            known_host,
        })
    }

    /// Returns the host of plays that name none.
    pub(super) fn default_host(&self) -> Result<&str, Error> {
        match self {
            Self::Generated { host, .. } => Ok(host),
            _ => Err(input_error(
                "a play of `playbook` has no `hosts`, and the operation has an `inventory` of its own; add `hosts` to \
                 the play",
            )),
        }
    }
}

/// Refuses `ssh` arguments of the model that would run a command on this machine.
fn refuse_commands(name: &str, variables: &Map, groups: &Map) -> Result<(), Error> {
    let of_groups = groups
        .values()
        .filter_map(|group| group.get("vars")?.as_map());
    let has_command = has_proxy_command(variables) || of_groups.into_iter().any(has_proxy_command);
    if has_command {
        let host = name.into();
        return Err(input_error(
            HostAccessError::ProxyCommand { host }.to_string(),
        ));
    }
    Ok(())
}

/// Refuses an address that `ssh` would take for an option.
fn refuse_options(name: &str, variables: &Map) -> Result<(), Error> {
    for variable in ["ansible_host", "ansible_user", "ansible_port"] {
        let value = variables
            .get(variable)
            .map(|value| value.reveal().to_string());
        if let Some(value) = value.filter(|value| value.starts_with('-')) {
            return Err(input_error(format!(
                "`{variable}` of the host `{name}` is `{value}`, which `ssh` would take for an option"
            )));
        }
    }
    Ok(())
}

fn known_hosts_line(address: &str, port: Option<&str>, key: &str) -> String {
    let key = key.lines().next().unwrap_or_default().trim();
    match port.filter(|port| *port != "22") {
        Some(port) => format!("[{address}]:{port} {key}\n"),
        None => format!("{address} {key}\n"),
    }
}
