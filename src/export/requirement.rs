//! Exports requirements: `RequirementConstraint` for types and `Requirement` for templates.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::schema::{UNBOUNDED, of_constraint};
use super::types::Catalog;
use super::values::declared_visibility;
use super::values::{self, Object, ObjectExt as _};
use crate::name::TemplateName;
use crate::tosca::{NodeTemplate, NodeType, Occurrences, Reference, RequirementDef};
use crate::value::{Map, Value};
use crate::yaml::Node;

/// The maximum nesting depth of node filters.
const MAX_DEPTH: usize = 8;

/// Requirements that every node has and that users never set.
const OMITTED_REQUIREMENTS: [&str; 2] = ["dependency", "installer"];

/// The definition of a requirement, merged from its type and its template.
#[derive(Debug)]
struct RequirementSpec<'r> {
    name: &'r str,
    description: Option<&'r str>,
    metadata: Map,
    occurrences: Option<Occurrences>,
    node: Option<&'r Reference>,
    capability: Option<&'r Reference>,
    relationship: Option<&'r Reference>,
    /// The name of the target template, if there is one.
    matched: Option<&'r str>,
}

impl<'r> RequirementSpec<'r> {
    fn of_type(def: &'r RequirementDef) -> Self {
        Self {
            name: &def.name,
            description: def.description.as_deref(),
            metadata: def.metadata.clone(),
            occurrences: def.occurrences,
            node: def.node.as_ref(),
            capability: def.capability.as_ref(),
            relationship: def.relationship.as_ref(),
            matched: None,
        }
    }

    /// Merges a template's statement with the declaration of its type.
    fn of_template(
        stated: &'r RequirementDef,
        declared: Option<&'r RequirementDef>,
        matched: Option<&'r str>,
    ) -> Self {
        let Some(declared) = declared else {
            return Self::of_type(stated);
        };
        let mut metadata = declared.metadata.clone();
        metadata.extend(stated.metadata.clone());
        Self {
            name: &stated.name,
            description: stated
                .description
                .as_deref()
                .or(declared.description.as_deref()),
            metadata,
            occurrences: stated.occurrences.or(declared.occurrences),
            node: declared.node.as_ref(),
            capability: stated.capability.as_ref().or(declared.capability.as_ref()),
            relationship: stated
                .relationship
                .as_ref()
                .or(declared.relationship.as_ref()),
            matched,
        }
    }
}

impl Catalog<'_> {
    /// Returns the constraint of a type's requirement, without node filters.
    pub(super) fn declared_constraint(&self, def: &RequirementDef) -> Option<Object> {
        self.constraint(&RequirementSpec::of_type(def))
    }

    fn constraint(&self, spec: &RequirementSpec<'_>) -> Option<Object> {
        let mut object = empty_constraint(spec.name, spec.description, &spec.metadata);
        let (min, max) = bounds(spec.occurrences.unwrap_or(Occurrences::ONE));
        object.put("min", min);
        object.put("max", max);
        match self.visibility(spec).as_deref() {
            Some("omit") => return None,
            None | Some("inherit") => {}
            Some(visibility) => {
                object.put("visibility", visibility);
            }
        }
        if max == 0 {
            return None;
        }
        let (matched, type_name) = self.target(spec)?;
        object.put("match", json!(matched));
        object.put("resourceType", type_name);
        Some(object)
    }

    /// Returns the named target template, if there is one, and the type of targets.
    fn target(&self, spec: &RequirementSpec<'_>) -> Option<(Option<String>, String)> {
        let types = &self.service.types;
        let of_template = |node: &NodeTemplate| {
            let type_name = self.names.of(node.node_type.key);
            (Some(node.name.to_string()), type_name)
        };
        if let Some(node) = spec.node {
            if let Some(template) = self.topology.nodes.get(&*node.name) {
                return Some(of_template(template));
            }
            let key = types
                .resolve_node_type(node)
                .or_else(|| types.resolve_capability_type(node))?;
            return Some((None, self.names.of(key)));
        }
        if let Some(capability) = spec.capability {
            let key = types.resolve_capability_type(capability)?;
            return Some((None, self.names.of(key)));
        }
        let relationship = self.topology.relationships.get(&*spec.relationship?.name)?;
        let target = relationship.relationship_type.valid_target_types.first()?;
        let found = types.capability_type(target.as_str())?;
        Some((None, self.names.of(found.key)))
    }

    fn visibility(&self, spec: &RequirementSpec<'_>) -> Option<String> {
        if OMITTED_REQUIREMENTS.contains(&spec.name) {
            return Some("omit".to_owned());
        }
        if let Some(explicit) = declared_visibility(&spec.metadata) {
            return Some(explicit);
        }
        let named = spec.matched.or_else(|| spec.node.map(|node| &*node.name))?;
        self.visibility_of_target(named, &spec.metadata)
            .map(str::to_owned)
    }

    /// Returns whether users see a requirement with this target; `None` if the target is not a template.
    fn visibility_of_target(&self, name: &str, metadata: &Map) -> Option<&'static str> {
        let template = self.topology.nodes.get(name)?;
        let settable = |metadata: &Map| metadata.get("user_settable").is_some_and(Value::is_truthy);
        let visible = settable(&template.metadata) || settable(metadata);
        Some(if visible { "visible" } else { "hidden" })
    }

    /// Adds the conditions of node filters to the requirements of a type.
    pub(super) fn annotate_type(&mut self, place: usize, node_type: &NodeType) {
        for def in node_type.requirements.values() {
            if def.node_filter.is_empty() {
                continue;
            }
            let found = self.types.get_index(place).and_then(|(_, object)| {
                let all = object.get("requirements")?.as_array()?;
                all.iter().position(|it| it["name"] == *def.name)
            });
            let Some(index) = found else { continue };
            let constraint = |catalog: &mut Self| {
                let (_, object) = catalog.types.get_index_mut(place)?;
                object
                    .get_mut("requirements")?
                    .get_mut(index)
                    .map(Json::take)
            };
            let Some(Json::Object(mut taken)) = constraint(self) else {
                continue;
            };
            self.annotate(&mut taken, &def.node_filter, 0);
            if let Some((_, object)) = self.types.get_index_mut(place) {
                object["requirements"][index] = taken.into();
            }
        }
    }

    fn annotate(&mut self, object: &mut Object, filters: &[Node], depth: usize) {
        let target_type = object.get("resourceType").and_then(Json::as_str);
        let target_type = target_type.unwrap_or_default().to_owned();
        self.annotate_for(object, filters, &target_type, depth);
    }

    /// Adds the conditions of node filters for targets of a type.
    fn annotate_for(
        &mut self,
        object: &mut Object,
        filters: &[Node],
        target_type: &str,
        depth: usize,
    ) {
        let first_match = filters
            .iter()
            .find_map(|filter| filter.get("match")?.as_seq()?.first());
        if let Some(first) = first_match {
            self.override_target(object, first);
        }
        let Some(key) = self.known_key(target_type) else {
            return;
        };
        self.add(key);
        let mut demands = Object::new();
        for name in self.extended(target_type) {
            for filter in filters {
                self.add_demands(&mut demands, &name, filter);
            }
        }
        if !demands.is_empty() {
            object.put("inputsSchema", json!({ "properties": demands }));
        }
        let inner: Vec<Object> = filters
            .iter()
            .flat_map(|filter| items(filter.get("requirements")))
            .filter(|_| depth < MAX_DEPTH)
            .map(|(name, node)| self.inner_constraint(&name, &node, target_type, depth))
            .collect();
        if !inner.is_empty() {
            object.put("requirementsFilter", json!(inner));
        }
    }

    fn override_target(&mut self, object: &mut Object, first: &Node) {
        if let Some(template) = first.as_str() {
            object.put("match", template);
        } else if let Some(name) = first.get("get_nodes_of_type").and_then(Node::as_str)
            && let Some(key) = self.service.types.key_of_node_type(name)
        {
            let name = self.add(key);
            object.put("resourceType", name);
        }
    }

    /// Returns the key of a type, given its exported name.
    fn known_key(&self, name: &str) -> Option<crate::tosca::TypeKey> {
        if let Some(key) = self.keys.get(name) {
            return Some(*key);
        }
        let local = name.split('@').next().unwrap_or(name);
        self.service.types.key_of_node_type(local)
    }

    fn extended(&self, name: &str) -> Vec<String> {
        let all = self
            .types
            .get(name)
            .and_then(|object| object.get("extends"));
        let names = all.and_then(Json::as_array).into_iter().flatten();
        names.filter_map(Json::as_str).map(str::to_owned).collect()
    }

    /// Adds a filter's conditions for the properties that a type declares.
    fn add_demands(&self, demands: &mut Object, type_name: &str, filter: &Node) {
        let schemas = self.types.get(type_name);
        let schemas = schemas.and_then(|object| object.get("inputsSchema")?.get("properties"));
        for (name, node) in items(filter.get("properties")) {
            let is_given = node.as_map().is_none_or(|map| map.get("eval").is_some());
            if is_given {
                // The filter itself sets the property, so users cannot set it.
                demands.insert(name, Json::Null);
            } else if let Some(default) = node.get("default") {
                demands.insert(
                    name,
                    json!({ "default": values::json(&default.to_value()) }),
                );
            } else if !demands.contains_key(&name)
                && let Some(Json::Object(schema)) = schemas.and_then(|all| all.get(&name))
            {
                let mut found = Object::new();
                for (key, entry) in node.as_map().into_iter().flatten() {
                    found.extend(
                        of_constraint(schema, key, &entry.value.to_value()).unwrap_or_default(),
                    );
                }
                demands.insert(name, found.into());
            }
        }
    }

    /// Returns the constraint that a filter puts on a requirement of the target.
    fn inner_constraint(
        &mut self,
        name: &str,
        node: &Node,
        target_type: &str,
        depth: usize,
    ) -> Object {
        let metadata = node.get("metadata").map(Node::to_value);
        let metadata = metadata
            .and_then(|it| it.as_map().cloned())
            .unwrap_or_default();
        let description = node.get("description").and_then(Node::as_str);
        let mut object = empty_constraint(name, description, &metadata);
        if let Some([min, max]) = node.get("occurrences").and_then(Node::as_seq) {
            object.put("min", values::json(&min.to_value()));
            let max = max.as_int().map_or(json!(UNBOUNDED), |max| json!(max));
            object.put("max", max);
        }
        let target = self.types.get(target_type).and_then(|object| {
            let all = object.get("requirements")?.as_array()?;
            let found = all.iter().find(|it| it["name"] == name)?;
            found["resourceType"].as_str().map(str::to_owned)
        });
        if let (Some(filter), Some(target)) = (node.get("node_filter"), target) {
            self.annotate_for(
                &mut object,
                std::slice::from_ref(filter),
                &target,
                depth + 1,
            );
        }
        object
    }

    /// Returns the requirements of a template: first its own, then those declared only by its type.
    pub(super) fn dependencies(&mut self, node: &NodeTemplate) -> Vec<Json> {
        let mut stated: Vec<(&Arc<RequirementDef>, Option<&str>)> = Vec::new();
        for requirement in &node.requirements {
            let Some(own) = &requirement.stated else {
                continue;
            };
            // A requirement with several targets appears several times in a row.
            if stated
                .last()
                .is_none_or(|(last, _)| !Arc::ptr_eq(last, own))
            {
                let target = requirement.target.as_ref().map(TemplateName::as_str);
                let named = own.node.as_ref().map(|node| &*node.name);
                stated.push((own, target.or(named)));
            }
        }
        let names: HashSet<&str> = stated.iter().map(|(own, _)| &*own.name).collect();
        let mut dependencies: Vec<Json> = Vec::new();
        for (own, matched) in stated {
            let declared = node.node_type.requirements.get(&own.name);
            let constraint = if declared.is_none() || is_more_specific(own) {
                self.merged_constraint(own, declared.map(|def| &**def), matched)
            } else {
                self.constraint_of_type(node, &own.name)
            };
            let Some(constraint) = constraint else {
                continue;
            };
            dependencies.push(self.dependency(constraint, matched, &own.metadata));
        }
        for declared in node.node_type.requirements.values() {
            if !names.contains(&*declared.name)
                && let Some(constraint) = self.constraint_of_type(node, &declared.name)
            {
                dependencies.push(self.dependency(constraint, None, &Map::default()));
            }
        }
        dependencies
    }

    fn merged_constraint(
        &mut self,
        own: &RequirementDef,
        declared: Option<&RequirementDef>,
        matched: Option<&str>,
    ) -> Option<Object> {
        let mut constraint =
            self.constraint(&RequirementSpec::of_template(own, declared, matched))?;
        let mut filters = own.node_filter.clone();
        filters.extend(declared.into_iter().flat_map(|def| def.node_filter.clone()));
        if !filters.is_empty() {
            self.annotate(&mut constraint, &filters, 0);
        }
        Some(constraint)
    }

    fn constraint_of_type(&mut self, node: &NodeTemplate, name: &str) -> Option<Object> {
        let type_name = self.add(node.node_type.key);
        let all = self
            .types
            .get(&type_name)?
            .get("requirements")?
            .as_array()?;
        all.iter()
            .find(|it| it["name"] == name)?
            .as_object()
            .cloned()
    }

    /// Returns the `Requirement` object of a template.
    pub(super) fn dependency(
        &self,
        constraint: Object,
        matched: Option<&str>,
        metadata: &Map,
    ) -> Json {
        let explicit = metadata.get("visibility").map(values::json);
        let is_type = |name: &str| self.service.types.key_of_node_type(name).is_some();
        let (matched, visibility) = match matched.filter(|name| !is_type(name)) {
            Some(name) => {
                let own = || self.visibility_of_target(name, metadata).map(Json::from);
                (name.into(), explicit.or_else(own))
            }
            None => (
                constraint.get("match").cloned().unwrap_or_default(),
                explicit,
            ),
        };
        let visibility = visibility.or_else(|| constraint.get("visibility").cloned());
        let mut object = Object::new();
        let name = constraint.get("name").cloned().unwrap_or_default();
        object.put("constraint", constraint);
        object.put("name", name);
        object.put("match", matched);
        object.put("__typename", "Requirement");
        object.put_some("visibility", visibility);
        object.into()
    }
}

/// Whether a template's statement contains more than the target node.
fn is_more_specific(own: &RequirementDef) -> bool {
    own.capability.is_some()
        || own.relationship.is_some()
        || own.inline_relationship.is_some()
        || own.occurrences.is_some()
        || own.description.is_some()
        || !own.node_filter.is_empty()
}

/// Creates a constraint with a name and no conditions.
pub(super) fn empty_constraint(name: &str, description: Option<&str>, metadata: &Map) -> Object {
    let mut object = Object::new();
    object.put("name", name);
    object.put("description", description.unwrap_or(""));
    object.put("__typename", "RequirementConstraint");
    for key in ["badge", "title", "icon"] {
        if let Some(value) = metadata.get(key) {
            object.insert(key.to_owned(), values::json(value));
        }
    }
    object
}

fn bounds(occurrences: Occurrences) -> (u32, u32) {
    (occurrences.min, occurrences.max.unwrap_or(UNBOUNDED))
}

/// Returns the entries of a map, or of a list of maps with one key each.
fn items(node: Option<&Node>) -> Vec<(String, Node)> {
    let Some(node) = node else { return Vec::new() };
    let maps = node.as_seq().unwrap_or(std::slice::from_ref(node));
    let entries = maps.iter().filter_map(Node::as_map).flatten();
    entries
        .map(|(name, entry)| (name.to_string(), entry.value.clone()))
        .collect()
}
