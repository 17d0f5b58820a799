//! Resolves types: merges a type with its ancestors.
//!
//! A type is resolved on first use and cached in its declaration. `resolve_node.rs` does the parts that only
//! node types have.

use std::cell::RefCell;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::diagnostic::{Check, Span};
use crate::name::{OperationName, TypeName};
use crate::value::{Map, Value};
use crate::yaml::{KeyTable, MapEntry, Mapping, Node, NodeKind};

use super::definition::TypeInfo;
use super::definition::{Defs, Schema, TypeKey, simple_kind};
use super::entity_types::{
    CapabilityType, DataType, GroupType, InterfaceType, NodeType, PolicyType, RelationshipType,
};
use super::implementation::ArtifactScope;
use super::import_graph::PrefixedNames;
use super::interface_draft::InterfaceDrafts;
use super::interface_merge::DefinitionSource;
use super::keys::{
    ANY_TYPE, ARTIFACT_TYPE, CAPABILITY_TYPE, DATA_TYPE, GROUP_TYPE, INTERFACE, INTERFACE_TYPE,
    NODE_TYPE, POLICY_TYPE, RELATIONSHIP_TYPE,
};
use super::operation::ArtifactType;
use super::scope::{TypeScope, description, values_at};
use super::section::TypeSection;
use super::trigger::Trigger;
use super::types::{BUILT_IN, ROOT, ResolvedType, Types, strings};

thread_local! {
    /// The types that this thread is resolving. Detects a type whose definition requires itself.
    static RESOLVING: RefCell<Vec<TypeKey>> = const { RefCell::new(Vec::new()) };
}

macro_rules! lookups {
    ($($by_name:ident $by_key:ident $variant:ident $type:ident $subject:literal;)*) => {
        impl Types {
            $(
                #[doc = concat!("The ", $subject, " of a name, as the service template's file knows it.")]
                pub fn $by_name(&self, name: &str) -> Option<Arc<$type>> {
                    self.$by_key(self.find(ROOT, name, TypeSection::$variant)?)
                }

                #[doc = concat!("The ", $subject, " of a key, if that is what it is.")]
                pub fn $by_key(&self, key: TypeKey) -> Option<Arc<$type>> {
                    match self.resolved(key)? {
                        ResolvedType::$variant(found) => Some(Arc::clone(found)),
                        _ => None,
                    }
                }
            )*
        }
    };
}

lookups! {
    node_type node_type_of Node NodeType "node type";
    relationship_type relationship_type_of Relationship RelationshipType "relationship type";
    capability_type capability_type_of Capability CapabilityType "capability type";
    interface_type interface_type_of Interface InterfaceType "interface type";
    artifact_type artifact_type_of Artifact ArtifactType "artifact type";
    data_type data_type_of Data DataType "data type";
    group_type group_type_of Group GroupType "group type";
    policy_type policy_type_of Policy PolicyType "policy type";
}

/// A name in a template, with its location.
type SpannedName = (Arc<str>, Span);

impl Types {
    fn resolved(&self, key: TypeKey) -> Option<&ResolvedType> {
        let decl = self.decls.get(key.0 as usize)?;
        if let Some(resolved) = decl.resolved.get() {
            return Some(resolved);
        }
        if RESOLVING.with_borrow(|open| open.contains(&key)) {
            let message = format!("the definition of type `{}` depends on itself", decl.name);
            self.problems.error(Check::TypeCycle, message, decl.span);
            return None;
        }
        RESOLVING.with_borrow_mut(|open| open.push(key));
        let resolved = decl.resolved.get_or_init(|| self.resolve(key));
        RESOLVING.with_borrow_mut(Vec::pop);
        Some(resolved)
    }

    /// Resolves every type that files declare, to find the problems of unused types.
    pub fn resolve_all(&self) {
        for (index, decl) in self.decls.iter().enumerate() {
            if decl.namespace != BUILT_IN {
                let _resolved = self.resolved(TypeKey(u32::try_from(index).unwrap_or(u32::MAX)));
            }
        }
    }

    fn resolve(&self, key: TypeKey) -> ResolvedType {
        let decl = self.decl(key);
        let section = self.section(key);
        let scope = self.scope_of(key);
        let subject = format!("{} `{}`", section.noun(), decl.name);
        if let Some(map) = scope.map(decl.node(), || subject.clone()) {
            self.problems
                .report_unknown_keys(keys_of(section), &subject, map);
        }
        match section {
            TypeSection::Node | TypeSection::Any => {
                ResolvedType::Node(Arc::new(self.resolve_node(key, &subject)))
            }
            TypeSection::Relationship => {
                ResolvedType::Relationship(Arc::new(self.resolve_relationship(key, &subject)))
            }
            TypeSection::Capability => {
                ResolvedType::Capability(Arc::new(self.resolve_capability(key)))
            }
            TypeSection::Interface => {
                ResolvedType::Interface(Arc::new(self.resolve_interface(key)))
            }
            TypeSection::Artifact => {
                ResolvedType::Artifact(Arc::new(self.resolve_artifact(key, &subject)))
            }
            TypeSection::Data => ResolvedType::Data(Arc::new(self.resolve_data(key, &subject))),
            TypeSection::Group => ResolvedType::Group(Arc::new(GroupType {
                properties: self.property_defs(key),
                members: self.member_types(key),
                info: self.info(key),
            })),
            TypeSection::Policy => ResolvedType::Policy(Arc::new(PolicyType {
                properties: self.property_defs(key),
                targets: self.type_names(key, "targets", TypeSection::Node),
                triggers: self.trigger_defs(key, &subject),
                info: self.info(key),
            })),
        }
    }

    /// Returns the types of nodes and groups that can be members of a group, and reports those that do not exist.
    fn member_types(&self, key: TypeKey) -> Vec<TypeName> {
        for (scope, named) in self.nearest_names(key, "members") {
            for (name, span) in named {
                if scope.find(&name, TypeSection::Group).is_none() {
                    let _known = scope.find_or_warn(&name, TypeSection::Node, span);
                }
            }
        }
        self.type_names(key, "members", TypeSection::Node)
    }

    fn trigger_defs(&self, key: TypeKey, subject: &str) -> IndexMap<Arc<str>, Arc<Trigger>> {
        let lineage = self.lineage(key);
        let mut triggers = IndexMap::new();
        for ancestor in lineage.iter().rev() {
            if let Some(map) = self.decl(*ancestor).node().as_map() {
                triggers = self.scope_of(*ancestor).triggers(subject, map, &triggers);
            }
        }
        triggers
    }

    pub(super) fn scope_of(&self, key: TypeKey) -> TypeScope<'_> {
        TypeScope::of(self, self.decl(key).namespace)
    }

    /// Returns the nodes under a key in the type and its ancestors, the type itself first.
    pub(super) fn statements<'a>(
        &'a self,
        lineage: &'a [TypeKey],
        word: &'a str,
    ) -> impl DoubleEndedIterator<Item = (TypeKey, &'a Node)> {
        lineage
            .iter()
            .filter_map(move |key| Some((*key, self.decl(*key).node().get(word)?)))
    }

    pub(super) fn info(&self, key: TypeKey) -> TypeInfo {
        let decl = self.decl(key);
        let lineage = self.lineage(key);
        let mut metadata = Map::default();
        for (_, node) in self.statements(&lineage, "metadata").rev() {
            metadata.extend(super::scope::values(node));
        }
        let ancestors = lineage
            .iter()
            .flat_map(|ancestor| self.all_names(*ancestor));
        TypeInfo {
            name: self.name(key),
            key,
            parents: self
                .parents(key)
                .into_iter()
                .map(|key| self.name(key))
                .collect(),
            ancestors: ancestors.collect(),
            description: decl.node().as_map().and_then(description),
            version: decl
                .node()
                .get("version")
                .map(|node| node.to_value().to_string().into()),
            open: metadata
                .get("additionalProperties")
                .is_some_and(Value::is_truthy),
            metadata,
            span: decl.span,
            prefixed_names: self.prefixed_names(&lineage),
        }
    }

    /// Returns the prefixed names of types; `None` if no import has a prefix.
    fn prefixed_names(&self, lineage: &[TypeKey]) -> Option<PrefixedNames> {
        let graph = self.import_graph();
        let declared = lineage.iter().map(|key| self.decl(*key));
        let declared = declared.filter(|decl| decl.namespace != BUILT_IN);
        graph.has_prefixes().then(|| PrefixedNames {
            graph: Arc::clone(graph),
            declared: declared
                .map(|decl| (decl.namespace, Arc::clone(&decl.name)))
                .collect(),
        })
    }

    /// Returns the property definitions. Those of the type itself come first, then those of its ancestors.
    pub(super) fn property_defs(&self, key: TypeKey) -> Defs {
        self.defs(key, "properties")
    }

    /// Returns the attribute definitions.
    ///
    /// An inherited attribute is left out if the nearest type that mentions the name declares it as a
    /// property.
    pub(super) fn attribute_defs(&self, key: TypeKey) -> Defs {
        let mut defs = self.defs(key, "attributes");
        let lineage = self.lineage(key);
        defs.retain(|name, _| {
            let states = |ancestor: &TypeKey, word| {
                let node = self.decl(*ancestor).node().get(word);
                node.and_then(|node| node.get(name)).is_some()
            };
            lineage
                .iter()
                .find(|ancestor| states(ancestor, "properties") || states(ancestor, "attributes"))
                .is_none_or(|nearest| states(nearest, "attributes"))
        });
        defs
    }

    fn defs(&self, key: TypeKey, word: &str) -> Defs {
        let lineage = self.lineage(key);
        let mut merged = Defs::default();
        for (ancestor, node) in self.statements(&lineage, word).rev() {
            let scope = self.scope_of(ancestor);
            let owner = &self.decl(ancestor).name;
            let Some(map) = scope.map(node, || format!("`{word}` of `{owner}`")) else {
                continue;
            };
            scope.merge_defs(&mut merged, map, word, owner);
        }
        let mut ordered = Defs::with_capacity(merged.len());
        for (_, node) in self.statements(&lineage, word) {
            for (name, _) in node.as_map().into_iter().flatten() {
                if let Some(def) = merged.swap_remove(name) {
                    ordered.insert(Arc::clone(name), def);
                }
            }
        }
        ordered
    }

    /// Returns the type names in the list under a key. The list of the nearest type that has one counts.
    pub(super) fn type_names(
        &self,
        key: TypeKey,
        word: &str,
        section: TypeSection,
    ) -> Vec<TypeName> {
        let Some((scope, named)) = self.nearest_names(key, word) else {
            return Vec::new();
        };
        let known = |name: &str| scope.types.find(scope.namespace, name, section);
        named
            .into_iter()
            .map(|(name, _)| known(&name).map_or_else(|| TypeName::new(name), |key| self.name(key)))
            .collect()
    }

    /// Returns the same, and reports the names that no type has.
    fn known_type_names(&self, key: TypeKey, word: &str, section: TypeSection) -> Vec<TypeName> {
        let _known = self.type_keys(key, word, section);
        self.type_names(key, word, section)
    }

    fn type_keys(&self, key: TypeKey, word: &str, section: TypeSection) -> Vec<TypeKey> {
        let Some((scope, named)) = self.nearest_names(key, word) else {
            return Vec::new();
        };
        named
            .into_iter()
            .filter_map(|(name, span)| scope.find_or_warn(&name, section, span))
            .collect()
    }

    /// Returns the names in the list under a key, and the scope of the nearest type that has the key.
    fn nearest_names(&self, key: TypeKey, word: &str) -> Option<(TypeScope<'_>, Vec<SpannedName>)> {
        let lineage = self.lineage(key);
        let (ancestor, node) = self.statements(&lineage, word).next()?;
        Some((self.scope_of(ancestor), strings(Some(node))))
    }

    /// Returns the merged interfaces of a type and its ancestors.
    pub(super) fn interfaces(&self, key: TypeKey) -> InterfaceDrafts {
        let lineage = self.lineage(key);
        let mut interfaces = InterfaceDrafts::default();
        for (ancestor, node) in self.statements(&lineage, "interfaces").rev() {
            let owner = format!("type `{}`", self.decl(ancestor).name);
            interfaces.merge(
                self.scope_of(ancestor),
                &owner,
                node,
                DefinitionSource::Type,
            );
        }
        interfaces
    }

    fn resolve_relationship(&self, key: TypeKey, subject: &str) -> RelationshipType {
        let scope = self.scope_of(key);
        let properties = self.property_defs(key);
        let attributes = self.attribute_defs(key);
        let interfaces = self.interfaces(key);
        let valid_targets = self.type_keys(key, "valid_target_types", TypeSection::Capability);
        RelationshipType {
            default_properties: scope.default_properties(subject, &properties),
            default_attributes: TypeScope::default_attributes(&attributes),
            operations: Arc::new(interfaces.finish(self, subject, &ArtifactScope::NONE, None)),
            interfaces: Arc::new(interfaces),
            valid_target_types: valid_targets.iter().map(|key| self.name(*key)).collect(),
            valid_targets,
            properties,
            attributes,
            info: self.info(key),
        }
    }

    fn resolve_capability(&self, key: TypeKey) -> CapabilityType {
        CapabilityType {
            properties: self.property_defs(key),
            attributes: self.attribute_defs(key),
            valid_source_types: self.known_type_names(key, "valid_source_types", TypeSection::Node),
            info: self.info(key),
        }
    }

    fn resolve_interface(&self, key: TypeKey) -> InterfaceType {
        let mut operations: Vec<OperationName> = Vec::new();
        for ancestor in &*self.lineage(key) {
            let Some(map) = self.decl(*ancestor).node().as_map() else {
                continue;
            };
            let nested = ["operations", "notifications"].into_iter();
            let nested = nested.filter_map(|word| map.get(word)?.as_map());
            let direct = map
                .iter()
                .filter(|(word, _)| !INTERFACE.has_key(word) && &***word != "version");
            for (name, _) in nested.flatten().chain(direct) {
                let name = OperationName::new(Arc::clone(name));
                if !operations.contains(&name) {
                    operations.push(name);
                }
            }
        }
        InterfaceType {
            operations,
            info: self.info(key),
        }
    }

    fn resolve_artifact(&self, key: TypeKey, subject: &str) -> ArtifactType {
        let scope = self.scope_of(key);
        let properties = self.property_defs(key);
        let interfaces = self.interfaces(key);
        ArtifactType {
            default_properties: scope.default_properties(subject, &properties),
            operations: Arc::new(interfaces.finish(self, subject, &ArtifactScope::NONE, None)),
            interfaces: Arc::new(interfaces),
            properties,
            info: self.info(key),
        }
    }

    fn resolve_data(&self, key: TypeKey, subject: &str) -> DataType {
        DataType {
            simple: self.simple_schema(key, subject).map(Arc::new),
            properties: self.property_defs(key),
            info: self.info(key),
        }
    }

    /// Returns the schema of a data type that refines a simple type, by `type` or by `derived_from`.
    fn simple_schema(&self, key: TypeKey, subject: &str) -> Option<Schema> {
        let lineage = self.lineage(key);
        let (owner, type_node, schema) = lineage.iter().find_map(|ancestor| {
            let map = self.decl(*ancestor).node().as_map()?;
            let is_simple =
                |node: &&Node| node.as_str().is_some_and(|it| simple_kind(it).is_some());
            let base = map.get("derived_from").filter(is_simple);
            Some((*ancestor, map.get("type").or(base)?, map))
        })?;
        let scope = self.scope_of(owner);
        let mut merged = schema.clone();
        let type_entry = MapEntry::new(type_node.span(), type_node.clone());
        merged.insert("type", type_entry);
        // The constraints of the nearest type replace those of its ancestors, even if that type only derives.
        if let Some((_, node)) = self.statements(&lineage, "constraints").next() {
            let entry = MapEntry::new(node.span(), node.clone());
            merged.insert("constraints", entry);
        }
        for word in [
            "properties",
            "derived_from",
            "version",
            "metadata",
            "default",
        ] {
            merged.remove(word);
        }
        let entry = MapEntry::new(
            self.decl(owner).span,
            Node::new(NodeKind::Map(merged), Span::NONE, None),
        );
        let name = Arc::clone(&self.decl(key).name);
        let def = scope.property_def(subject, &name, &entry, None)?;
        Arc::into_inner(def.schema)
    }
}

impl TypeScope<'_> {
    /// Merges definitions over those of the base types. `word` is `properties` or `attributes`.
    pub(super) fn merge_defs(self, merged: &mut Defs, map: &Mapping, word: &str, owner: &str) {
        let noun = match word {
            "attributes" => "attribute",
            _ => "property",
        };
        for (name, entry) in map {
            let subject = format!("{noun} `{name}` of `{owner}`");
            let base = merged.get(name);
            if let Some(def) = self.property_def(&subject, name, entry, base) {
                merged.insert(Arc::clone(name), Arc::new(def));
            }
        }
    }
}

fn keys_of(section: TypeSection) -> &'static KeyTable {
    match section {
        TypeSection::Node => &NODE_TYPE,
        TypeSection::Relationship => &RELATIONSHIP_TYPE,
        TypeSection::Capability => &CAPABILITY_TYPE,
        TypeSection::Interface => &INTERFACE_TYPE,
        TypeSection::Artifact => &ARTIFACT_TYPE,
        TypeSection::Data => &DATA_TYPE,
        TypeSection::Group => &GROUP_TYPE,
        TypeSection::Policy => &POLICY_TYPE,
        TypeSection::Any => &ANY_TYPE,
    }
}

/// Returns the values under the key `metadata`.
pub(super) fn metadata_of(map: &Mapping) -> Map {
    values_at(map, "metadata")
}

/// The artifacts of a node type, by name.
pub(super) type TypeArtifacts = IndexMap<Arc<str>, Arc<super::operation::Artifact>>;
