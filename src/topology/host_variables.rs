//! The variables of a machine in an inventory: those of its endpoint, of its connection, and its address.

use super::topology::Topology;
use crate::expr::Scope;
use crate::value::{Handle, Map, Value};

/// The capability type of machines that Ansible, and so this program, can reach.
const ENDPOINT_CAPABILITY: &str = "unfurl.capabilities.Endpoint.Ansible";
/// The capability type of machines in the standard.
const ADMIN_CAPABILITY: &str = "tosca.capabilities.Endpoint.Admin";
/// The attributes with the address of a machine, the preferred one first.
const ADDRESS_ATTRIBUTES: [&str; 2] = ["public_ip", "private_ip"];
/// The properties of an endpoint that become variables with the prefix `ansible_`.
const ENDPOINT_PROPERTIES: [&str; 4] = ["port", "host", "connection", "user"];
/// The variable with the address of a machine.
const HOST_VARIABLE: &str = "ansible_host";

/// A reader of attributes of instances, capabilities and relationships. The result is None if the attribute is missing.
pub trait AttributeReader {
    /// The reason why an attribute cannot be read.
    type Error;

    /// Returns an attribute, evaluated.
    ///
    /// # Errors
    ///
    /// The attribute cannot be evaluated.
    fn read(&mut self, of: Handle, name: &str) -> Result<Option<Value>, Self::Error>;
}

impl Topology {
    /// Returns the endpoint through which an instance can be reached.
    pub fn ansible_endpoint(&self, of: Handle) -> Option<Handle> {
        let node = self.entity(of).node()?;
        let mut capabilities = node.capabilities.iter().copied();
        let own = capabilities.find(|it| self.entity(*it).is_a(ENDPOINT_CAPABILITY));
        // A plain `tosca.nodes.Compute` has an endpoint of the standard, which counts if it names a host.
        let names_host = |it: &Handle| {
            self.entity(*it).is_a(ADMIN_CAPABILITY) && Scope::attribute(self, *it, "host").is_some()
        };
        own.or_else(|| node.capabilities.iter().copied().find(names_host))
    }

    /// Returns true if an instance has an endpoint or an address.
    ///
    /// # Errors
    ///
    /// An attribute cannot be read.
    pub fn is_machine<R: AttributeReader>(
        &self,
        of: Handle,
        reader: &mut R,
    ) -> Result<bool, R::Error> {
        let is_node = self.entity(of).node().is_some();
        Ok(is_node && (self.ansible_endpoint(of).is_some() || address(of, reader)?.is_some()))
    }

    /// Returns the variables of an instance in an inventory. Those of its connection replace those of its endpoint.
    ///
    /// # Errors
    ///
    /// An attribute cannot be read.
    pub fn host_variables<R: AttributeReader>(
        &self,
        of: Handle,
        reader: &mut R,
    ) -> Result<Map, R::Error> {
        let mut variables = Map::new();
        if let Some(endpoint) = self.ansible_endpoint(of) {
            for name in ENDPOINT_PROPERTIES {
                if let Some(value) = reader.read(endpoint, name)? {
                    variables.insert(format!("ansible_{name}").into(), value);
                }
            }
            add_entries(reader.read(endpoint, "hostvars")?.as_ref(), &mut variables);
            if !variables.contains_key(HOST_VARIABLE) {
                let reported = variables.get("ip_address").cloned();
                let address = match reported {
                    None => reader.read(endpoint, "ip_address")?,
                    found => found,
                };
                variables.extend(address.map(|address| (HOST_VARIABLE.into(), address)));
            }
        }
        if let Some(connection) = self.host_connection(of) {
            let credential = reader.read(connection, "credential")?;
            if let Some(credential) = credential.as_ref().and_then(Value::marked_entries) {
                add_credential(&credential, &mut variables);
            }
            add_entries(
                reader.read(connection, "hostvars")?.as_ref(),
                &mut variables,
            );
        }
        if !variables.contains_key(HOST_VARIABLE)
            && let Some(address) = address(of, reader)?
        {
            variables.insert(HOST_VARIABLE.into(), address);
            let ssh = || Value::str("ssh");
            let connection = variables.entry("ansible_connection".into());
            connection.or_insert_with(ssh);
        }
        Ok(variables)
    }
}

/// Returns the address of an instance.
fn address<R: AttributeReader>(of: Handle, reader: &mut R) -> Result<Option<Value>, R::Error> {
    for name in ADDRESS_ATTRIBUTES {
        let value = reader.read(of, name)?;
        if let Some(value) = value.filter(Value::is_truthy) {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

/// Adds the entries of a map to variables.
fn add_entries(more: Option<&Value>, variables: &mut Map) {
    let entries = more.and_then(Value::marked_entries);
    variables.extend(entries.into_iter().flatten());
}

/// Adds the variables of a credential: the user, a token named by its type, and keys.
fn add_credential(credential: &Map, variables: &mut Map) {
    let known = |name: &str| credential.get(name).filter(|value| !value.is_null());
    if let Some(user) = known("user") {
        variables.insert("ansible_user".into(), user.clone());
    }
    if let Some(token) = known("token") {
        let kind = known("token_type")
            .map_or_else(|| "password".to_owned(), |kind| kind.reveal().to_string());
        // The path of a key file is no secret.
        let token = if kind.contains("file") {
            token.revealed()
        } else {
            token.clone().sensitive()
        };
        variables.insert(format!("ansible_{kind}").into(), token);
    }
    add_entries(known("keys"), variables);
}
