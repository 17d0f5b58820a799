//! The connection data of an instance's machine, from the model and the recorded state (rule U-k, `Cmd`).

use super::topology::Topology;
use crate::expr::{Error, Evaluator};
use crate::host::Secret;
use crate::value::{Handle, Map, Value};

/// The relationship type that carries the login credentials of a connection.
const CONNECTION_RELATIONSHIP: &str = "unfurl.relationships.ConnectsTo.Ansible";
/// Attributes that hold a machine's address, most specific first.
const ADDRESS_ATTRIBUTES: [&str; 4] = [
    "public_ip",
    "private_ip",
    "public_address",
    "private_address",
];
/// Properties of an endpoint that describe how to reach the machine.
const ENDPOINT_PROPERTIES: [&str; 7] = [
    "connection",
    "host",
    "ip_address",
    "port",
    "user",
    "private_key_file",
    "host_key",
];
/// Prefixes of Ansible's connection variables, which are stripped.
const VARIABLE_PREFIXES: [&str; 2] = ["ansible_", "ssh_"];

/// The connection data of a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Endpoint {
    /// The name of the machine's instance.
    pub name: String,
    /// Whether the endpoint is the machine that this program runs on.
    pub is_local: bool,
    /// Host name or address. If None, the instance's name is used.
    pub host: Option<String>,
    pub port: Option<u16>,
    pub user: Option<String>,
    pub password: Option<Secret>,
    /// The path of the user's private key file.
    pub key_file: Option<String>,
    /// The passphrase of the private key.
    pub passphrase: Option<Secret>,
    /// The host's public key as written in a `known_hosts` file: its kind and its text.
    pub host_key: Option<String>,
}

impl Topology {
    /// Resolves an `operation_host` to the instance on whose machine an operation runs.
    ///
    /// The word is `SELF`, `HOST`, `SOURCE`, `TARGET`, or an instance name. None stands for the machine
    /// that this program runs on.
    ///
    /// # Errors
    ///
    /// No instance has that name.
    pub fn operation_host(&self, of: Handle, word: Option<&str>) -> Result<Option<Handle>, String> {
        let word = word.unwrap_or_default();
        let found = match word {
            "" | "localhost" | "ORCHESTRATOR" => return Ok(None),
            "SELF" | "OPERATION_HOST" => self.instance_of(of),
            "HOST" => self.instance_of(of).and_then(|of| self.entity(of).parent),
            "SOURCE" => self.source_of(of),
            "TARGET" => self.target_of(of),
            name => self.find_from(of, name),
        };
        let found = found.filter(|of| self.get(*of).is_some_and(|it| it.node().is_some()));
        let of = &self.entity(of).name;
        let why = || match word {
            "SELF" | "OPERATION_HOST" | "HOST" | "SOURCE" | "TARGET" => {
                format!(
                    "`{of}` has the operation host `{word}`, and there is no such instance for it"
                )
            }
            _ => format!(
                "`{of}` has the operation host `{word}`, but no instance has this name; Unfurl 1.2 runs such an \
                 operation on this computer and does not say so; add a node template `{word}` with an endpoint, or \
                 run it on this computer: without `operation_host`, or with `operation_host: ORCHESTRATOR`"
            ),
        };
        found.map(Some).ok_or_else(why)
    }

    /// Returns the endpoint of the machine that an instance is, or that it is hosted on. None if no
    /// instance on that path describes one.
    pub fn endpoint(&self, of: Handle, evaluator: &Evaluator) -> Result<Option<Endpoint>, Error> {
        let mut next = Some(of);
        while let Some(of) = next {
            if let Some(endpoint) = self.own_endpoint(of, evaluator)? {
                return Ok(Some(endpoint));
            }
            next = self.entity(of).parent;
        }
        Ok(None)
    }

    fn own_endpoint(&self, of: Handle, evaluator: &Evaluator) -> Result<Option<Endpoint>, Error> {
        let entity = self.entity(of);
        if entity.node().is_none() {
            return Ok(None);
        }
        let mut settings = Map::new();
        let endpoint = self.ansible_endpoint(of);
        if let Some(endpoint) = endpoint {
            for name in ENDPOINT_PROPERTIES {
                if let Some(value) = evaluator.attribute(endpoint, name)? {
                    add_setting(&mut settings, name, value);
                }
            }
            self.add_credential_and_variables(endpoint, evaluator, &mut settings)?;
        }
        if let Some(connection) = self.host_connection(of) {
            self.add_credential_and_variables(connection, evaluator, &mut settings)?;
        }
        let mut address = None;
        for name in ADDRESS_ATTRIBUTES {
            if address.is_none() && !settings.contains_key("host") {
                let value = evaluator.attribute(of, name)?;
                address = value.filter(Value::is_truthy);
            }
        }
        if endpoint.is_none() && address.is_none() && !settings.contains_key("host") {
            return Ok(None);
        }
        if let Some(address) = address {
            settings.insert("host".into(), address);
        }
        Ok(Some(parse_endpoint(entity.name.as_str(), &settings)))
    }

    /// Returns the relationship with the credentials of a machine: one of the model, or else a connection of
    /// the environment.
    pub fn host_connection(&self, of: Handle) -> Option<Handle> {
        let mut incoming = self.incoming(of).into_iter();
        let stated = incoming.find(|it| self.entity(*it).is_a(CONNECTION_RELATIONSHIP));
        stated.or_else(|| self.nearest_connection(of, CONNECTION_RELATIONSHIP))
    }

    /// Adds the settings of an entity's `credential` and `hostvars` (Ansible variables).
    fn add_credential_and_variables(
        &self,
        of: Handle,
        evaluator: &Evaluator,
        settings: &mut Map,
    ) -> Result<(), Error> {
        let known = |name: &str| self.has_attribute(of, name);
        if known("credential")
            && let Some(credential) = evaluator.attribute(of, "credential")?
        {
            add_credential(settings, &credential);
        }
        if known("hostvars")
            && let Some(variables) = evaluator.attribute(of, "hostvars")?
        {
            add_settings(settings, &variables);
        }
        Ok(())
    }

    fn has_attribute(&self, of: Handle, name: &str) -> bool {
        crate::expr::Scope::attribute(self, of, name).is_some()
    }
}

fn add_setting(settings: &mut Map, name: &str, value: Value) {
    let plain = VARIABLE_PREFIXES.iter().fold(name, |name, prefix| {
        name.strip_prefix(prefix).unwrap_or(name)
    });
    if !value.is_null() {
        settings.insert(plain.into(), value);
    }
}

fn add_settings(settings: &mut Map, variables: &Value) {
    let secret = variables.has_sensitive();
    for (name, value) in variables.reveal().as_map().into_iter().flatten() {
        add_setting(settings, name, value.clone().sensitive_if(secret));
    }
}

fn add_credential(settings: &mut Map, credential: &Value) {
    let field = |name: &str| {
        let value = credential.reveal().get(name)?.clone();
        (!value.is_null()).then_some(value)
    };
    if let Some(user) = field("user") {
        add_setting(settings, "user", user);
    }
    if let Some(token) = field("token") {
        let kind = field("token_type").map(|it| it.reveal().to_string());
        add_setting(settings, kind.as_deref().unwrap_or("password"), token);
    }
    if let Some(keys) = field("keys") {
        add_settings(settings, &keys);
    }
}

fn parse_endpoint(name: &str, settings: &Map) -> Endpoint {
    let text = |names: &[&str]| {
        let mut found = names.iter().filter_map(|name| settings.get(*name));
        let found = found.find(|value| value.is_truthy())?;
        Some(found.reveal().to_string())
    };
    let number = || text(&["port"])?.parse().ok();
    Endpoint {
        name: name.to_owned(),
        is_local: text(&["connection"]).is_some_and(|it| it == "local"),
        host: text(&["host", "ip_address"]),
        port: number(),
        user: text(&["user"]),
        password: text(&["password", "pass"]).map(Secret::new),
        key_file: text(&["private_key_file", "key_file"]),
        passphrase: text(&["private_key_passphrase", "passphrase"]).map(Secret::new),
        host_key: text(&["host_key"]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_for_ansible_and_credentials_say_how_a_machine_is_reached() {
        let mut settings = Map::new();
        add_setting(&mut settings, "connection", "ssh".into());
        add_setting(&mut settings, "port", 22.into());
        let keys = Value::map([("ssh_private_key_file", Value::from("/k"))]);
        let credential = Value::map([
            ("user", Value::from("deploy")),
            ("token_type", "password".into()),
            ("token", "hunter2".into()),
            ("keys", keys),
        ]);
        add_credential(&mut settings, &credential.sensitive());
        let variables = Value::map([
            ("ansible_host", Value::from("10.0.0.1")),
            ("ansible_port", 2222.into()),
            ("host_key", "ssh-ed25519 AAAA".into()),
        ]);
        add_settings(&mut settings, &variables);
        let endpoint = parse_endpoint("web", &settings);
        assert_eq!(endpoint.host.as_deref(), Some("10.0.0.1"));
        assert_eq!((endpoint.port, endpoint.is_local), (Some(2222), false));
        assert_eq!(endpoint.user.as_deref(), Some("deploy"));
        assert_eq!(
            endpoint
                .password
                .map(|it| it.reveal().to_owned())
                .as_deref(),
            Some("hunter2")
        );
        assert_eq!(endpoint.key_file.as_deref(), Some("/k"));
        assert_eq!(endpoint.host_key.as_deref(), Some("ssh-ed25519 AAAA"));
    }
}
