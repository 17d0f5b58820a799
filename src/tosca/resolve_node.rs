//! Resolves node types: merges their requirements, capabilities and artifacts with those of ancestors.
//!
//! The readers of node templates use the functions for requirements, filters and capabilities as well.

use std::borrow::Cow;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::diagnostic::{Check, Span};
use crate::value::Map;
use crate::yaml::{MapEntry, Mapping, Node};

use super::definition::{Defs, Occurrences, TypeKey};
use super::entity_types::{
    CapabilityDef, CapabilityTemplate, ExpectedArtifact, NodeType, RequirementDef,
};
use super::implementation::{ArtifactScope, add_inline_artifacts};
use super::keys::{CAPABILITY, NODE_FILTER, REQUIREMENT};
use super::property::DeclaredProperties;
use super::resolve::{TypeArtifacts, metadata_of};
use super::scope::{TypeScope, description};
use super::section::TypeSection;
use super::types::Types;

impl Types {
    pub(super) fn resolve_node(&self, key: TypeKey, subject: &str) -> NodeType {
        let scope = self.scope_of(key);
        let properties = self.property_defs(key);
        let attributes = self.attribute_defs(key);
        let interfaces = self.interfaces(key);
        let capabilities = self.capabilities(key);
        let (artifacts, expected_artifacts) = self.artifacts(key);
        let own = ArtifactScope::new(&artifacts, false);
        let operations = Arc::new(interfaces.finish(self, subject, &own, None));
        let mut artifacts = Arc::new(artifacts);
        add_inline_artifacts(&mut artifacts, &operations);
        let default_capabilities = capabilities
            .iter()
            .map(|(name, def)| (Arc::clone(name), scope.capability(subject, def, None, None)))
            .collect();
        NodeType {
            default_properties: scope.default_properties(subject, &properties),
            default_attributes: TypeScope::default_attributes(&attributes),
            default_capabilities: Arc::new(default_capabilities),
            requirements: self.requirement_defs(key),
            operations,
            interfaces: Arc::new(interfaces),
            artifacts,
            expected_artifacts,
            properties,
            attributes,
            capabilities,
            info: self.info(key),
        }
    }

    /// Returns the requirements. Those of the type itself come first, each merged over its ancestors'.
    fn requirement_defs(&self, key: TypeKey) -> IndexMap<Arc<str>, Arc<RequirementDef>> {
        let lineage = self.lineage(key);
        let mut merged: IndexMap<Arc<str>, RequirementDef> = IndexMap::new();
        for ancestor in &*lineage {
            let Some(map) = self.decl(*ancestor).node().as_map() else {
                continue;
            };
            let scope = self.scope_of(*ancestor);
            let owner = &self.decl(*ancestor).name;
            for item in scope.list_at(map, "requirements", || format!("`{owner}`")) {
                let Some((name, entry)) = scope.requirement_item(item, owner) else {
                    continue;
                };
                let Some(def) = scope.requirement_def(name, entry, owner) else {
                    continue;
                };
                match merged.get_mut(name) {
                    Some(nearer) => inherit_from(nearer, def),
                    None => {
                        merged.insert(Arc::clone(name), def);
                    }
                }
            }
        }
        let shared = merged.into_iter();
        shared.map(|(name, def)| (name, Arc::new(def))).collect()
    }

    fn capabilities(&self, key: TypeKey) -> IndexMap<Arc<str>, Arc<CapabilityDef>> {
        let lineage = self.lineage(key);
        let mut merged: IndexMap<Arc<str>, Vec<(TypeKey, &MapEntry)>> = IndexMap::new();
        for (ancestor, node) in self.statements(&lineage, "capabilities") {
            let owner = &self.decl(ancestor).name;
            let scope = self.scope_of(ancestor);
            let subject = || format!("`capabilities` of `{owner}`");
            for (name, entry) in scope.map(node, subject).into_iter().flatten() {
                let statements = merged.entry(Arc::clone(name)).or_default();
                statements.push((ancestor, entry));
            }
        }
        let defs = merged.into_iter().filter_map(|(name, statements)| {
            let def = self.capability_def(&name, &statements)?;
            Some((name, Arc::new(def)))
        });
        defs.collect()
    }

    /// Merges the declarations of a capability in a type and its ancestors, the nearest first.
    ///
    /// Returns `None` if the nearest declaration is null, which removes an inherited capability.
    fn capability_def(
        &self,
        name: &Arc<str>,
        statements: &[(TypeKey, &MapEntry)],
    ) -> Option<CapabilityDef> {
        let (nearest, first) = statements.first()?;
        if first.value.is_null() {
            return None;
        }
        let owner = &self.decl(*nearest).name;
        let subject = format!("capability `{name}` of `{owner}`");
        let named = statements.iter().find_map(|(ancestor, entry)| {
            let node = entry.value.get("type").unwrap_or(&entry.value);
            Some((self.scope_of(*ancestor), node.as_str()?, node.span()))
        });
        let Some((scope, type_name, span)) = named else {
            self.problems.error(
                Check::InvalidType,
                format!("{subject} has no `type`"),
                first.key_span,
            );
            return None;
        };
        let found = scope.find_or_warn(type_name, TypeSection::Capability, span)?;
        let capability_type = self.capability_type_of(found)?;
        let mut properties: Defs = capability_type.properties.clone();
        let mut attributes: Defs = capability_type.attributes.clone();
        let mut assigned = IndexMap::new();
        for (ancestor, entry) in statements.iter().rev() {
            let Some(map) = entry.value.as_map() else {
                continue;
            };
            let scope = self.scope_of(*ancestor);
            self.problems
                .report_unknown_keys(&CAPABILITY, &subject, map);
            let (defined, set) = split_properties(map);
            assigned.extend(set);
            scope.merge_defs(&mut properties, &defined, "properties", &subject);
            if let Some(map) = map.get("attributes").and_then(Node::as_map) {
                scope.merge_defs(&mut attributes, map, "attributes", &subject);
            }
        }
        Some(CapabilityDef {
            name: Arc::clone(name),
            capability_type,
            properties,
            attributes,
            assigned,
            span: first.key_span,
        })
    }

    /// Returns the artifacts of a type, and the artifacts that it only prescribes for its templates.
    fn artifacts(&self, key: TypeKey) -> (TypeArtifacts, IndexMap<Arc<str>, ExpectedArtifact>) {
        let lineage = self.lineage(key);
        let mut artifacts = TypeArtifacts::default();
        let mut expected = IndexMap::new();
        for (ancestor, node) in self.statements(&lineage, "artifacts").rev() {
            let scope = self.scope_of(ancestor);
            let owner = &self.decl(ancestor).name;
            let subject = || format!("`artifacts` of `{owner}`");
            for (name, entry) in scope.map(node, subject).into_iter().flatten() {
                let subject = format!("artifact `{name}` of `{owner}`");
                let constraint_map = entry.value.as_map().filter(|map| map.get("file").is_none());
                let type_node = constraint_map.and_then(|map| map.get("type"));
                if let Some((map, text)) = constraint_map.zip(type_node.and_then(Node::as_str)) {
                    let span = type_node.map_or(Span::NONE, Node::span);
                    if let Some(found) = scope.require(text, TypeSection::Artifact, span) {
                        let required = map.get("required").and_then(Node::as_bool);
                        let expectation = ExpectedArtifact {
                            type_name: self.name(found),
                            required: required == Some(true),
                        };
                        expected.insert(Arc::clone(name), expectation);
                    }
                } else if let Some(artifact) = scope.artifact(&subject, name, entry, None) {
                    artifacts.insert(Arc::clone(name), Arc::new(artifact));
                }
            }
        }
        (artifacts, expected)
    }
}

/// Splits the `properties` of a capability into definitions and values.
///
/// A map with a key such as `type` or `default` is a definition.
fn split_properties(map: &Mapping) -> (Mapping, IndexMap<Arc<str>, Node>) {
    let mut defined = Mapping::default();
    let mut set = IndexMap::new();
    for (name, entry) in map
        .get("properties")
        .and_then(Node::as_map)
        .into_iter()
        .flatten()
    {
        let has = |word| entry.value.get(word).is_some();
        if ["type", "default", "required", "constraints"]
            .iter()
            .any(|word| has(word))
        {
            defined.insert(Arc::clone(name), entry.clone());
        } else {
            set.insert(Arc::clone(name), entry.value.clone());
        }
    }
    (defined, set)
}

/// Fills the parts that the nearer declaration leaves unset from the declaration of an ancestor.
fn inherit_from(nearer: &mut RequirementDef, base: RequirementDef) {
    nearer.node = nearer.node.take().or(base.node);
    nearer.capability = nearer.capability.take().or(base.capability);
    if nearer.relationship.is_none() && nearer.inline_relationship.is_none() {
        nearer.relationship = base.relationship;
        nearer.inline_relationship = base.inline_relationship;
        nearer.namespace = base.namespace;
    }
    nearer.occurrences = nearer.occurrences.or(base.occurrences);
    nearer.description = nearer.description.take().or(base.description);
    nearer.node_filter.extend(base.node_filter);
    let own = std::mem::replace(&mut nearer.metadata, base.metadata);
    nearer.metadata.extend(own);
}

impl TypeScope<'_> {
    /// Returns the name and the entry of an item of `requirements`: a map with exactly one key.
    pub(super) fn requirement_item<'n>(
        self,
        item: &'n Node,
        owner: &str,
    ) -> Option<(&'n Arc<str>, &'n MapEntry)> {
        let map = item.as_map().filter(|map| map.len() == 1);
        let found = map.and_then(|map| map.iter().next());
        if found.is_none() {
            let message =
                format!("a requirement of `{owner}` must be a map with one key, its name");
            self.problems()
                .error(Check::WrongKind, message, item.span());
        }
        found
    }

    /// Reads a requirement: the name of a node or a type, or a map.
    pub(super) fn requirement_def(
        self,
        name: &Arc<str>,
        entry: &MapEntry,
        owner: &str,
    ) -> Option<RequirementDef> {
        let subject = format!("requirement `{name}` of `{owner}`");
        let node = &entry.value;
        let mut def = RequirementDef {
            name: Arc::clone(name),
            node: self.reference(node),
            capability: None,
            relationship: None,
            inline_relationship: None,
            namespace: self.namespace,
            occurrences: None,
            node_filter: Vec::new(),
            metadata: Map::default(),
            description: None,
            span: entry.key_span,
        };
        if node.as_str().is_some() {
            return Some(def);
        }
        let Some(map) = node.as_map() else {
            let message = format!(
                "{subject} must be the name of a node, or a map, not {}",
                node.kind_name()
            );
            self.problems()
                .error(Check::WrongKind, message, entry.key_span);
            return None;
        };
        self.problems()
            .report_unknown_keys(&REQUIREMENT, &subject, map);
        let named = |key| {
            let node: Option<&Node> = map.get(key);
            if let Some(node) = node.filter(|node| node.as_str().is_none() && !node.is_null()) {
                self.problems()
                    .report(node.type_mismatch(format_args!("`{key}` of {subject}"), "a name"));
            }
            node.and_then(|node| self.reference(node))
        };
        def.node = named("node");
        def.capability = named("capability");
        match map.get("relationship") {
            Some(node) if node.as_map().is_some() => def.inline_relationship = Some(node.clone()),
            _ => def.relationship = named("relationship"),
        }
        def.occurrences = self.occurrences_at(map, &subject);
        def.node_filter.extend(self.node_filter(map, &subject));
        def.metadata = metadata_of(map);
        def.description = description(map);
        Some(def)
    }

    /// Reads the `node_filter` of a map. Reports unknown keys.
    pub(super) fn node_filter(self, map: &Mapping, subject: &str) -> Option<Node> {
        let node = map.get("node_filter").filter(|node| !node.is_null())?;
        let filter = self.map(node, || format!("`node_filter` of {subject}"))?;
        self.problems().report_unknown_keys(
            &NODE_FILTER,
            &format!("`node_filter` of {subject}"),
            filter,
        );
        Some(node.clone())
    }

    /// Reads `occurrences`: a list of a lower bound and an upper bound, which may be `UNBOUNDED`.
    pub(super) fn occurrences_at(self, map: &Mapping, subject: &str) -> Option<Occurrences> {
        let node = map.get("occurrences")?;
        let bounds = node.as_seq().unwrap_or_default();
        let number = |node: &Node| node.as_int().and_then(|number| u32::try_from(number).ok());
        let read = match bounds {
            [low, high] => number(low).zip(match high.as_str() {
                Some("UNBOUNDED") => Some(None),
                _ => number(high).map(Some),
            }),
            _ => None,
        };
        let valid = read.filter(|(min, max)| max.is_none_or(|max| max >= *min));
        if valid.is_none() {
            let message = format!("`occurrences` of {subject} must be a lower and an upper bound");
            self.problems()
                .error(Check::WrongKind, message, node.span());
        }
        valid.map(|(min, max)| Occurrences { min, max })
    }

    /// Returns the definition of a capability to which a template assigns values.
    ///
    /// A `type` in the assignment takes the place of the type that the node type declares. The refinements of the
    /// node type belong to that one, so they do not apply.
    pub(super) fn capability_of_stated_type<'d>(
        self,
        def: &'d CapabilityDef,
        assigned: &Mapping,
    ) -> Cow<'d, CapabilityDef> {
        let stated = assigned
            .get("type")
            .and_then(|node| node.as_str().map(|name| (name, node.span())))
            .and_then(|(name, span)| self.find_or_warn(name, TypeSection::Capability, span))
            .filter(|key| *key != def.capability_type.key)
            .and_then(|key| self.types.capability_type_of(key));
        let Some(capability_type) = stated else {
            return Cow::Borrowed(def);
        };
        let is_declared = |name: &Arc<str>| capability_type.properties.contains_key(name);
        let mut values = def.assigned.clone();
        values.retain(|name, _| is_declared(name));
        Cow::Owned(CapabilityDef {
            name: Arc::clone(&def.name),
            properties: capability_type.properties.clone(),
            attributes: capability_type.attributes.clone(),
            capability_type,
            assigned: values,
            span: def.span,
        })
    }

    /// Returns a capability with the values that a template sets.
    ///
    /// `inline` holds values that the template sets under a property with the name of the capability.
    pub(super) fn capability(
        self,
        owner: &str,
        def: &CapabilityDef,
        assigned: Option<&Mapping>,
        inline: Option<&Mapping>,
    ) -> CapabilityTemplate {
        let subject = format!("capability `{}` of {owner}", def.name);
        let mut set = Mapping::default();
        for (name, value) in &def.assigned {
            let entry = MapEntry::new(value.span(), value.clone());
            set.insert(Arc::clone(name), entry);
        }
        let own = assigned.and_then(|map| self.map_at(map, "properties", || subject.clone()));
        for map in [own, inline].into_iter().flatten() {
            for (name, entry) in map {
                set.insert(Arc::clone(name), entry.clone());
            }
        }
        let defaults = self.default_properties(&subject, &def.properties);
        let declared = DeclaredProperties {
            type_name: def.capability_type.name.as_str(),
            defs: &def.properties,
            defaults: &defaults,
            open: def.capability_type.open,
            check_required: own.is_some(),
        };
        let attributes = Self::default_attributes(&def.attributes);
        CapabilityTemplate {
            name: Arc::clone(&def.name),
            type_name: def.capability_type.name.clone(),
            properties: self.properties(&subject, declared, Some(&set), def.span),
            attributes: self.attributes(
                &subject,
                &def.attributes,
                &attributes,
                assigned.and_then(|map| map.get("attributes")),
            ),
            metadata: assigned.map(metadata_of).unwrap_or_default(),
            capability_type: Arc::clone(&def.capability_type),
        }
    }
}
