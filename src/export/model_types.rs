//! Exports the types of the resolved model.

use indexmap::IndexSet;
use serde_json::Value as Json;

use super::model::{ModelWriter, bounds, each, map, names, object, text};
use crate::tosca::{FROM_ENVIRONMENT, NodeType, TypeInfo};

impl ModelWriter<'_> {
    /// Returns the node types of all templates, with their base types.
    pub(super) fn node_types(&self) -> Json {
        let types = &self.service.types;
        let nodes = self.service.topology.nodes.values();
        let families = nodes.map(|node| types.type_and_ancestors(node.node_type.key));
        let mut keys: IndexSet<_> = IndexSet::new();
        for family in families {
            keys.extend(family.iter().copied());
        }
        let found = keys.into_iter().filter_map(|key| types.node_type_of(key));
        let written = found.map(|it| (it.name.to_string(), self.node_type(&it)));
        Json::Object(written.collect())
    }

    fn node_type(&self, node_type: &NodeType) -> Json {
        let requirements = each(&node_type.requirements, |def| {
            let name = |reference: Option<&crate::tosca::Reference>| {
                text(reference.map(|reference| &reference.name))
            };
            object([
                ("node", name(def.node.as_ref())),
                ("capability", name(def.capability.as_ref())),
                ("relationship", name(def.relationship.as_ref())),
                (
                    "occurrences",
                    def.occurrences.map(bounds).unwrap_or_default(),
                ),
                ("description", text(def.description.as_ref())),
                ("metadata", map(&def.metadata)),
                ("place", self.location(def.span)),
            ])
        });
        let capabilities = each(&node_type.capabilities, |def| {
            object([
                ("type", def.capability_type.name.as_str().into()),
                (
                    "properties",
                    self.definitions(&def.capability_type.properties),
                ),
                ("place", self.location(def.span)),
            ])
        });
        let more = object([
            ("properties", self.definitions(&node_type.properties)),
            ("attributes", self.definitions(&node_type.attributes)),
            ("requirements", requirements),
            ("capabilities", capabilities),
            ("interfaces", self.interfaces(&node_type.operations)),
        ]);
        self.info(&node_type.info, more)
    }

    /// Returns the relationship types of requirements and named templates, with their base types.
    pub(super) fn relationship_types(&self) -> Json {
        let types = &self.service.types;
        let topology = &self.service.topology;
        let of_nodes = topology.nodes.values().flat_map(|node| &node.requirements);
        let of_nodes = of_nodes.map(|requirement| &requirement.relationship);
        let mut keys: IndexSet<_> = IndexSet::new();
        let named = topology.relationships.values();
        let named = named.filter(|it| !it.metadata.contains_key(FROM_ENVIRONMENT));
        for template in of_nodes.chain(named) {
            keys.insert(template.relationship_type.key);
        }
        let families: IndexSet<_> = keys
            .into_iter()
            .flat_map(|key| types.type_and_ancestors(key).to_vec())
            .collect();
        let found = families
            .into_iter()
            .filter_map(|key| types.relationship_type_of(key));
        let written = found.map(|it| {
            let more = object([
                ("properties", self.definitions(&it.properties)),
                ("attributes", self.definitions(&it.attributes)),
                ("valid_target_types", names(&it.valid_target_types)),
                ("interfaces", self.interfaces(&it.operations)),
            ]);
            (it.name.to_string(), self.info(&it.info, more))
        });
        Json::Object(written.collect())
    }

    fn info(&self, info: &TypeInfo, more: Json) -> Json {
        let written = object([
            ("derived_from", names(&info.parents)),
            ("description", text(info.description.as_ref())),
            ("version", text(info.version.as_ref())),
            ("metadata", map(&info.metadata)),
            ("place", self.location(info.span)),
        ]);
        let objects = [written, more].into_iter();
        let entries = objects.filter_map(|object| object.as_object().cloned());
        Json::Object(entries.flatten().collect())
    }
}
