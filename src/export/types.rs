//! Exports node and relationship types (`ResourceType`).

use std::collections::HashMap;

use indexmap::{IndexMap, IndexSet};
use serde_json::{Value as Json, json};

use super::schema::of_properties;
use super::type_names::TypeNames;
use super::values::{self, Object, ObjectExt as _, is_user_visible};
use crate::tosca::{
    NodeType, Operations, PropertyDef, ServiceTemplate, TopologyTemplate, TypeInfo, TypeKey,
};
use crate::value::Value;

/// A catalog of exported types, filled while templates are exported.
#[derive(Debug)]
pub(super) struct Catalog<'a> {
    pub(super) service: &'a ServiceTemplate,
    pub(super) topology: &'a TopologyTemplate,
    pub(super) names: TypeNames<'a>,
    pub(super) types: IndexMap<String, Object>,
    pub(super) keys: HashMap<String, TypeKey>,
}

impl<'a> Catalog<'a> {
    pub(super) fn new(service: &'a ServiceTemplate, names: TypeNames<'a>) -> Self {
        Self {
            service,
            topology: &service.topology,
            names,
            types: IndexMap::new(),
            keys: HashMap::new(),
        }
    }

    /// Adds the types of all node templates and their base types.
    pub(super) fn add_templates(&mut self) {
        let topology = self.topology;
        for node in topology.nodes.values() {
            self.add(node.node_type.key);
        }
        // Node filters of requirements can add more types with their own requirements, so the list grows
        // during the loop.
        let mut place = 0;
        while let Some((name, _)) = self.types.get_index(place) {
            let key = self.keys.get(name).copied();
            if let Some(node_type) = key.and_then(|key| self.service.types.node_type_of(key)) {
                self.annotate_type(place, &node_type);
            }
            place += 1;
        }
        self.mark_leaves();
    }

    /// Adds a type and its base types; returns its exported name.
    pub(super) fn add(&mut self, key: TypeKey) -> String {
        let name = self.names.of(key);
        if self.types.contains_key(&name) {
            return name;
        }
        for key in self.service.types.type_and_ancestors(key).iter() {
            let name = self.names.of(*key);
            if self.types.contains_key(&name) {
                continue;
            }
            if let Some(object) = self.object(*key, &name) {
                self.keys.insert(name.clone(), *key);
                self.types.insert(name, object);
            }
        }
        name
    }

    /// Returns the node type with this exported name.
    pub(super) fn node_type(&self, name: &str) -> Option<std::sync::Arc<NodeType>> {
        self.service.types.node_type_of(*self.keys.get(name)?)
    }

    fn object(&self, key: TypeKey, name: &str) -> Option<Object> {
        let types = &self.service.types;
        if let Some(node_type) = types.node_type_of(key) {
            let mut object = self.head(&node_type.info, name);
            self.add_family(&mut object, key, Some(&node_type));
            self.add_operations(&mut object, &node_type.operations);
            let own = node_type.properties.values().map(|def| &**def);
            self.add_properties(&mut object, own);
            self.add_capabilities(&mut object, &node_type);
            let attributes = node_type.attributes.values().map(|def| &**def);
            let visible = attributes.filter(|def| is_user_visible(def, None));
            let outputs = of_properties(types, visible, None);
            object.put("outputsSchema", outputs);
            let requirements = node_type.requirements.values();
            let constraints = requirements.filter_map(|def| self.declared_constraint(def));
            object.put(
                "requirements",
                constraints.map(Json::Object).collect::<Json>(),
            );
            return Some(object);
        }
        let relationship = types.relationship_type_of(key)?;
        let mut object = self.head(&relationship.info, name);
        self.add_family(&mut object, key, None);
        self.add_operations(&mut object, &relationship.operations);
        let own = relationship.properties.values().map(|def| &**def);
        self.add_properties(&mut object, own);
        Some(object)
    }

    /// Creates the common part of exported types.
    fn head(&self, info: &TypeInfo, name: &str) -> Object {
        let origin = self.service.types.origin(info.key);
        let local = origin.name.rsplit('.').next().unwrap_or(&origin.name);
        let title = match origin.metadata.get("title") {
            Some(title) => values::json(title),
            None => local.into(),
        };
        let description = info.description.as_deref().unwrap_or("");
        // Descriptions of built-in types belong to this program, not to the user's model.
        let description = if origin.built_in { "" } else { description };
        let mut object = empty_type(name, &title, description);
        for key in ["badge", "icon", "details_url"] {
            if let Some(value) = info.metadata.get(key) {
                object.insert(key.to_owned(), values::json(value));
            }
        }
        let is_internal = origin
            .metadata
            .get("internal")
            .is_some_and(Value::is_truthy);
        let visibility = if is_internal { "hidden" } else { "inherit" };
        object.put("visibility", visibility);
        if !origin.metadata.is_empty() {
            let metadata = Value::from(origin.metadata.clone());
            object.put("metadata", values::json(&metadata));
        }
        object.put_some("_sourceinfo", self.names.source_info(&origin));
        object
    }

    fn add_family(&self, object: &mut Object, key: TypeKey, node_type: Option<&NodeType>) {
        let types = &self.service.types;
        let mut names: IndexSet<String> = IndexSet::new();
        let own = types.type_and_ancestors(key);
        names.extend(own.iter().map(|key| self.names.of(*key)));
        let aliases = own.iter().flat_map(|key| types.aliases(*key));
        names.extend(aliases.map(|alias| alias.to_string()));
        for capability in node_type
            .into_iter()
            .flat_map(|it| it.capabilities.values())
        {
            let family = types.type_and_ancestors(capability.capability_type.key);
            names.extend(family.iter().map(|key| self.names.of(*key)));
        }
        object.put("extends", json!(names));
    }

    fn add_operations(&self, object: &mut Object, operations: &Operations) {
        let mut names: Vec<&str> = operations
            .interfaces()
            .filter(|interface| interface.name.as_str() != "Mock")
            .flat_map(|interface| interface.operations.iter())
            .filter(|(_, operation)| operation.is_implemented())
            .map(|(name, _)| name.as_str())
            .collect();
        names.sort_unstable();
        names.dedup();
        object.put("implementations", json!(names));
        let needed: Vec<String> = operations
            .connection_types()
            .into_iter()
            .map(|name| {
                let found = self.service.types.relationship_type(name.as_str());
                found.map_or_else(|| name.to_string(), |found| self.names.of(found.key))
            })
            .collect();
        object.put("implementation_requirements", json!(needed));
    }

    fn add_properties<'d>(&self, object: &mut Object, defs: impl Iterator<Item = &'d PropertyDef>) {
        let (visible, computed): (Vec<_>, Vec<_>) =
            defs.partition(|def| is_user_visible(def, None));
        let types = &self.service.types;
        let visible = of_properties(types, visible, None);
        object.put("inputsSchema", visible);
        let computed = of_properties(types, computed, None);
        object.put("computedPropertiesSchema", computed);
    }

    /// Adds each capability with properties to the inputs, as an object.
    fn add_capabilities(&self, object: &mut Object, node_type: &NodeType) {
        let schema = object.get_mut("inputsSchema");
        let Some(Json::Object(properties)) = schema.and_then(|it| it.get_mut("properties")) else {
            return;
        };
        for (name, capability) in &node_type.capabilities {
            let capability_type = &capability.capability_type;
            let mut defs: IndexMap<&str, &PropertyDef> = IndexMap::new();
            let declared = capability_type
                .properties
                .iter()
                .chain(&capability.properties);
            defs.extend(declared.map(|(name, def)| (&**name, &**def)));
            if defs.is_empty() {
                continue;
            }
            let visible = defs.into_values().filter(|def| is_user_visible(def, None));
            let type_name = capability_type.name.as_str();
            let inner = of_properties(&self.service.types, visible, Some(type_name));
            properties.insert(name.to_string(), inner.into());
        }
    }

    /// Decides which types users can instantiate: base types of others cannot be, except a base type that
    /// only combines requirements.
    fn mark_leaves(&mut self) {
        let mut uses: HashMap<String, usize> = HashMap::new();
        for object in self.types.values() {
            let alias = object
                .get("metadata")
                .and_then(|metadata| metadata.get("alias"));
            if alias.is_some_and(|alias| alias.as_bool() != Some(false)) {
                continue;
            }
            let names = object.get("extends").and_then(Json::as_array);
            for name in names.into_iter().flatten().filter_map(Json::as_str) {
                *uses.entry(name.to_owned()).or_default() += 1;
            }
        }
        for (name, object) in &mut self.types {
            let is_empty = |key: &str| {
                let list = object.get(key).and_then(Json::as_array);
                list.is_none_or(Vec::is_empty)
            };
            let concrete = object.get("metadata").and_then(|it| it.get("concrete"));
            let made = match uses.get(name) {
                Some(1) if is_empty("implementations") && !is_empty("requirements") => {
                    json!(["create"])
                }
                Some(2..) if concrete.is_none_or(|it| it.as_bool() == Some(false)) => json!([]),
                _ => continue,
            };
            object.put("implementations", made);
        }
    }
}

/// Creates an exported type with a name, a title and empty lists.
pub(super) fn empty_type(name: &str, title: &Json, description: &str) -> Object {
    let empty = json!({
        "name": name,
        "title": title,
        "description": description,
        "__typename": "ResourceType",
        "extends": [],
        "requirements": [],
        "inputsSchema": {},
    });
    empty.as_object().cloned().unwrap_or_default()
}
