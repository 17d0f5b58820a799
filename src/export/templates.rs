//! Exports node and relationship templates (`ResourceTemplate`).

use indexmap::IndexMap;
use serde_json::{Value as Json, json};
use std::sync::Arc;

use super::types::Catalog;
use super::values::{self, Object, ObjectExt as _};
use crate::tosca::{NodeTemplate, Property, RelationshipTemplate};
use crate::value::{Map, Value};

/// Types of templates for artifacts, which are not shown to users.
const OMITTED_TYPES: [&str; 2] = [
    "unfurl.nodes.ArtifactInstaller",
    "unfurl.nodes.LocalRepository",
];

impl Catalog<'_> {
    /// Exports a node template; adds its type to the catalog.
    pub(super) fn node_template(&mut self, node: &NodeTemplate) -> Object {
        let type_name = self.add(node.node_type.key);
        let directives: Vec<&str> = node.directives.iter().map(|it| &**it).collect();
        let mut object = template_head(
            node.name.as_str(),
            &type_name,
            node.description.as_deref(),
            &node.metadata,
            &directives,
        );
        let mut properties = properties(&node.properties);
        for property in &mut properties {
            let capability = property["name"]
                .as_str()
                .and_then(|it| node.capabilities.get(it));
            if let Some(capability) = capability {
                let values = capability.properties.iter().map(|(name, property)| {
                    let def = property.definition.as_deref();
                    (name.to_string(), values::of_property(def, &property.value))
                });
                property["value"] = Json::Object(values.collect());
            }
        }
        object.put("properties", properties);
        object.put("dependencies", self.dependencies(node));
        let visibility = visibility(node);
        if visibility != "inherit" {
            object.put("visibility", visibility);
        }
        object
    }

    /// Exports a relationship template; adds its type to the catalog.
    pub(super) fn relationship_template(&mut self, template: &RelationshipTemplate) -> Object {
        let type_name = self.add(template.relationship_type.key);
        let name = template.name.as_ref().map_or("", |name| name.as_str());
        let description = template.description.as_deref();
        let mut object = template_head(name, &type_name, description, &template.metadata, &[]);
        object.put("properties", properties(&template.properties));
        object.put("dependencies", json!([]));
        object.put_some(
            "visibility",
            values::declared_visibility(&template.metadata),
        );
        object
    }
}

fn template_head(
    name: &str,
    type_name: &str,
    description: Option<&str>,
    metadata: &Map,
    directives: &[&str],
) -> Object {
    let mut metadata = metadata.clone();
    let title = metadata.shift_remove("title").filter(Value::is_truthy);
    metadata.shift_remove("before_patch");
    let mut object = Object::new();
    object.put("type", type_name);
    object.put("name", name);
    let title = title.map_or_else(|| name.into(), |title| values::json(&title));
    object.put("title", title);
    object.put("description", description.unwrap_or(""));
    object.put("directives", json!(directives));
    if !metadata.is_empty() {
        object.put("metadata", values::json(&Value::from(metadata)));
    }
    object
}

/// Returns the properties that users can set and those that the template sets.
fn properties(all: &IndexMap<Arc<str>, Property>) -> Vec<Json> {
    let shown = all.iter().filter_map(|(name, property)| {
        let def = property.definition.as_deref();
        let value = &property.value;
        let is_computed = def.map_or_else(
            || values::is_server_only(value),
            |def| values::is_computed(def, Some(value)),
        );
        let is_visible = def.map_or(!is_computed, |def| {
            values::is_user_visible(def, Some(value))
        });
        let shown = if is_visible {
            if is_computed && !values::is_front_end(value) {
                Json::Null
            } else {
                values::of_property(def, value)
            }
        } else if !property.set_on_template
            || value.is_null()
            || def.and_then(|def| def.default.as_ref()) == Some(value)
        {
            return None;
        } else if is_computed {
            values::json(value)
        } else {
            values::of_property(def, value)
        };
        Some(json!({ "name": &**name, "value": shown }))
    });
    shown.collect()
}

fn visibility(node: &NodeTemplate) -> String {
    if let Some(declared) = values::declared_visibility(&node.metadata) {
        return declared;
    }
    let plain = if OMITTED_TYPES.contains(&node.type_name.as_str()) {
        "omit"
    } else if node.has_directive("default") {
        "hidden"
    } else {
        "inherit"
    };
    plain.to_owned()
}
