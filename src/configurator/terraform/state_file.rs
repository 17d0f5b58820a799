//! The state of the tool as JSON: its outputs, its resources, and which values of it are secret.

use serde_json::Value as Json;

use super::address::StateAddress;
use crate::value::{List, Map, Value};

/// The names of attributes that are secret even if the provider does not say so, as for Unfurl.
const SENSITIVE_NAMES: [&str; 5] = [
    "access_token",
    "key_material",
    "password",
    "private_key",
    "server_ca_cert",
];

/// A state of the tool.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ToolState(Json);

impl ToolState {
    /// Reads a state. None if the bytes are none.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let json: Json = serde_json::from_slice(bytes).ok()?;
        json.get("version").and_then(Json::as_u64)?;
        Some(Self(json))
    }

    pub(super) fn serial(&self) -> u64 {
        self.0["serial"].as_u64().unwrap_or_default()
    }

    pub(super) fn lineage(&self) -> &str {
        self.0["lineage"].as_str().unwrap_or_default()
    }

    /// Returns the outputs. Those that the module declares as sensitive are secret.
    pub(super) fn outputs(&self) -> Map {
        let outputs = self.0["outputs"].as_object();
        let outputs = outputs.into_iter().flatten().map(|(name, output)| {
            let is_secret = output["sensitive"].as_bool() == Some(true)
                || SENSITIVE_NAMES.contains(&name.as_str());
            let value = Value::from(output["value"].clone()).sensitive_if(is_secret);
            (name.as_str().into(), value)
        });
        outputs.collect()
    }

    /// Returns the state with its secret values marked.
    pub(super) fn marked(&self) -> Map {
        let mut state = match Value::from(self.0.clone()) {
            Value::Map(state) => Map::clone(&state),
            _ => Map::new(),
        };
        let resources = self.0["resources"].as_array();
        let resources: List = resources
            .into_iter()
            .flatten()
            .map(marked_resource)
            .collect();
        state.insert("resources".into(), Value::from(resources));
        let outputs = state.get("outputs").and_then(Value::as_map).cloned();
        let mut outputs = outputs.unwrap_or_default();
        for (name, value) in self.outputs() {
            if let Some(output) = outputs.get_mut(&name)
                && value.has_sensitive()
            {
                let mut entries = output.as_map().cloned().unwrap_or_default();
                entries.insert("value".into(), value);
                *output = Value::from(entries);
            }
        }
        state.insert("outputs".into(), Value::from(outputs));
        state
    }

    /// Returns the addresses of the managed resources.
    pub(super) fn addresses(&self) -> Vec<String> {
        let resources = self.0["resources"].as_array();
        let managed = resources.into_iter().flatten();
        let managed = managed.filter(|it| it["mode"].as_str() == Some("managed"));
        managed.flat_map(addresses_of).collect()
    }
}

/// Returns the addresses of the instances of a resource. Those that the tool would not write are left out.
fn addresses_of(resource: &Json) -> Vec<String> {
    let instances = resource["instances"].as_array();
    let instances = instances.into_iter().flatten();
    let addresses = instances.filter_map(|instance| StateAddress::of(resource, instance));
    addresses.map(|address| address.whole()).collect()
}

/// Returns a resource with the secret attributes of its instances marked.
fn marked_resource(resource: &Json) -> Value {
    let Value::Map(entries) = Value::from(resource.clone()) else {
        return Value::Null;
    };
    let mut entries = Map::clone(&entries);
    let instances = resource["instances"].as_array();
    let instances: List = instances
        .into_iter()
        .flatten()
        .map(marked_instance)
        .collect();
    entries.insert("instances".into(), Value::from(instances));
    Value::from(entries)
}

fn marked_instance(instance: &Json) -> Value {
    let Value::Map(entries) = Value::from(instance.clone()) else {
        return Value::Null;
    };
    let mut entries = Map::clone(&entries);
    let paths = instance["sensitive_attributes"].as_array();
    let first_steps: Vec<&str> = paths
        .into_iter()
        .flatten()
        .filter_map(|path| path.get(0).and_then(|step| step["value"].as_str()))
        .collect();
    let attributes = entries.get("attributes").and_then(Value::as_map).cloned();
    let mut attributes = attributes.unwrap_or_default();
    for (name, value) in &mut attributes {
        // The whole attribute is marked, if a part of it is secret.
        if first_steps.contains(&&**name) || SENSITIVE_NAMES.contains(&&**name) {
            *value = std::mem::take(value).sensitive();
        }
    }
    entries.insert("attributes".into(), Value::from(attributes));
    Value::from(entries)
}
