//! Resolves types: merges what their ancestors say, when they are first asked for.

use std::cell::RefCell;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::diagnostic::Span;
use crate::name::{OperationName, TypeName};
use crate::value::{Map, Value};
use crate::yaml::{Entry, Kind, Mapping, Node, Table};

use super::definition::TypeInfo;
use super::definition::{Defs, Schema, TypeKey, simple_kind};
use super::entity::{
    CapabilityType, DataType, GroupType, InterfaceType, NodeType, PolicyType, RelationshipType,
};
use super::implementation::Artifacts;
use super::interface::Speaker;
use super::interface_draft::Interfaces;
use super::keys::{
    ANY_TYPE, ARTIFACT_TYPE, CAPABILITY_TYPE, DATA_TYPE, GROUP_TYPE, INTERFACE, INTERFACE_TYPE,
    NODE_TYPE, POLICY_TYPE, RELATIONSHIP_TYPE,
};
use super::operation::ArtifactType;
use super::scope::{Scope, description, values_at};
use super::section::Section;
use super::trigger::Trigger;
use super::types::{ROOT, Resolved, Types, strings};

thread_local! {
    /// The types that this thread is resolving, to notice one that needs itself.
    static OPEN: RefCell<Vec<TypeKey>> = const { RefCell::new(Vec::new()) };
}

macro_rules! lookups {
    ($($by_name:ident $by_key:ident $variant:ident $type:ident $what:literal;)*) => {
        impl Types {
            $(
                #[doc = concat!("The ", $what, " of a name, as the service template's file knows it.")]
                pub fn $by_name(&self, name: &str) -> Option<Arc<$type>> {
                    self.$by_key(self.find(ROOT, name, Section::$variant)?)
                }

                #[doc = concat!("The ", $what, " of a key, if that is what it is.")]
                pub fn $by_key(&self, key: TypeKey) -> Option<Arc<$type>> {
                    match self.resolved(key)? {
                        Resolved::$variant(found) => Some(Arc::clone(found)),
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

/// A name, and where it stands.
type Named = (Arc<str>, Span);

impl Types {
    fn resolved(&self, key: TypeKey) -> Option<&Resolved> {
        let decl = self.decls.get(key.0 as usize)?;
        if let Some(resolved) = decl.resolved.get() {
            return Some(resolved);
        }
        if OPEN.with_borrow(|open| open.contains(&key)) {
            let message = format!("type `{}` needs itself", decl.name);
            self.problems.error(message, decl.span);
            return None;
        }
        OPEN.with_borrow_mut(|open| open.push(key));
        let resolved = decl.resolved.get_or_init(|| self.resolve(key));
        OPEN.with_borrow_mut(Vec::pop);
        Some(resolved)
    }

    /// Resolves every type that files declare, so that the problems of unused ones are found.
    pub fn resolve_all(&self) {
        for (index, decl) in self.decls.iter().enumerate() {
            if decl.namespace != super::types::BUILT_IN {
                let _resolved = self.resolved(TypeKey(u32::try_from(index).unwrap_or(u32::MAX)));
            }
        }
    }

    fn resolve(&self, key: TypeKey) -> Resolved {
        let decl = self.decl(key);
        let section = self.section(key);
        let scope = self.scope_of(key);
        let what = format!("{} `{}`", section.noun(), decl.name);
        if let Some(map) = scope.map(decl.node(), || what.clone()) {
            self.problems.unknown_keys(keys_of(section), &what, map);
        }
        match section {
            Section::Node | Section::Any => Resolved::Node(Arc::new(self.resolve_node(key, &what))),
            Section::Relationship => {
                Resolved::Relationship(Arc::new(self.resolve_relationship(key, &what)))
            }
            Section::Capability => Resolved::Capability(Arc::new(self.resolve_capability(key))),
            Section::Interface => Resolved::Interface(Arc::new(self.resolve_interface(key))),
            Section::Artifact => Resolved::Artifact(Arc::new(self.resolve_artifact(key, &what))),
            Section::Data => Resolved::Data(Arc::new(self.resolve_data(key, &what))),
            Section::Group => Resolved::Group(Arc::new(GroupType {
                properties: self.property_defs(key),
                members: self.type_names(key, "members", Section::Node),
                info: self.info(key),
            })),
            Section::Policy => Resolved::Policy(Arc::new(PolicyType {
                properties: self.property_defs(key),
                targets: self.type_names(key, "targets", Section::Node),
                triggers: self.trigger_defs(key, &what),
                info: self.info(key),
            })),
        }
    }

    fn trigger_defs(&self, key: TypeKey, what: &str) -> IndexMap<Arc<str>, Arc<Trigger>> {
        let lineage = self.lineage(key);
        let mut triggers = IndexMap::new();
        for ancestor in lineage.iter().rev() {
            if let Some(map) = self.decl(*ancestor).node().as_map() {
                triggers = self.scope_of(*ancestor).triggers(what, map, &triggers);
            }
        }
        triggers
    }

    pub(super) fn scope_of(&self, key: TypeKey) -> Scope<'_> {
        Scope::of(self, self.decl(key).namespace)
    }

    /// What the type and its ancestors say under a key, the type first.
    pub(super) fn said<'a>(
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
        for (_, node) in self.said(&lineage, "metadata").rev() {
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
        }
    }

    /// The definitions of properties: the type's own first, then its ancestors'.
    pub(super) fn property_defs(&self, key: TypeKey) -> Defs {
        self.defs(key, "properties")
    }

    /// The definitions of attributes. Where the nearest type that mentions one declares it as a
    /// property alone, it is no attribute any more.
    pub(super) fn attribute_defs(&self, key: TypeKey) -> Defs {
        let mut defs = self.defs(key, "attributes");
        let lineage = self.lineage(key);
        defs.retain(|name, _| {
            let says = |ancestor: &TypeKey, word| {
                let node = self.decl(*ancestor).node().get(word);
                node.and_then(|node| node.get(name)).is_some()
            };
            lineage
                .iter()
                .find(|ancestor| says(ancestor, "properties") || says(ancestor, "attributes"))
                .is_none_or(|nearest| says(nearest, "attributes"))
        });
        defs
    }

    fn defs(&self, key: TypeKey, word: &str) -> Defs {
        let lineage = self.lineage(key);
        let mut merged = Defs::default();
        for (ancestor, node) in self.said(&lineage, word).rev() {
            let scope = self.scope_of(ancestor);
            let owner = &self.decl(ancestor).name;
            let Some(map) = scope.map(node, || format!("`{word}` of `{owner}`")) else {
                continue;
            };
            scope.merge_defs(&mut merged, map, word, owner);
        }
        let mut ordered = Defs::with_capacity(merged.len());
        for (_, node) in self.said(&lineage, word) {
            for (name, _) in node.as_map().into_iter().flatten() {
                if let Some(def) = merged.swap_remove(name) {
                    ordered.insert(Arc::clone(name), def);
                }
            }
        }
        ordered
    }

    /// Names of types under a key, from the nearest type that has it.
    pub(super) fn type_names(&self, key: TypeKey, word: &str, section: Section) -> Vec<TypeName> {
        let Some((scope, named)) = self.nearest_names(key, word) else {
            return Vec::new();
        };
        let known = |name: &str| scope.types.find(scope.namespace, name, section);
        named
            .into_iter()
            .map(|(name, _)| known(&name).map_or_else(|| TypeName::new(name), |key| self.name(key)))
            .collect()
    }

    fn type_keys(&self, key: TypeKey, word: &str, section: Section) -> Vec<TypeKey> {
        let Some((scope, named)) = self.nearest_names(key, word) else {
            return Vec::new();
        };
        named
            .into_iter()
            .filter_map(|(name, span)| scope.seek(&name, section, span))
            .collect()
    }

    /// The names under a key of the nearest type that has it, and where that type stands.
    fn nearest_names(&self, key: TypeKey, word: &str) -> Option<(Scope<'_>, Vec<Named>)> {
        let lineage = self.lineage(key);
        let (ancestor, node) = self.said(&lineage, word).next()?;
        Some((self.scope_of(ancestor), strings(Some(node))))
    }

    /// What a type and its ancestors say about interfaces.
    pub(super) fn interfaces(&self, key: TypeKey) -> Interfaces {
        let lineage = self.lineage(key);
        let mut interfaces = Interfaces::default();
        for (ancestor, node) in self.said(&lineage, "interfaces").rev() {
            let owner = format!("type `{}`", self.decl(ancestor).name);
            interfaces.merge(self.scope_of(ancestor), &owner, node, Speaker::Type);
        }
        interfaces
    }

    fn resolve_relationship(&self, key: TypeKey, what: &str) -> RelationshipType {
        let scope = self.scope_of(key);
        let properties = self.property_defs(key);
        let attributes = self.attribute_defs(key);
        let interfaces = self.interfaces(key);
        let valid_targets = self.type_keys(key, "valid_target_types", Section::Capability);
        RelationshipType {
            default_properties: scope.default_properties(what, &properties),
            default_attributes: Scope::default_attributes(&attributes),
            operations: Arc::new(interfaces.finish(self, what, &Artifacts::NONE, None)),
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
            valid_source_types: self.type_names(key, "valid_source_types", Section::Node),
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
                .filter(|(word, _)| !INTERFACE.knows(word) && &***word != "version");
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

    fn resolve_artifact(&self, key: TypeKey, what: &str) -> ArtifactType {
        let scope = self.scope_of(key);
        let properties = self.property_defs(key);
        let interfaces = self.interfaces(key);
        ArtifactType {
            default_properties: scope.default_properties(what, &properties),
            operations: Arc::new(interfaces.finish(self, what, &Artifacts::NONE, None)),
            interfaces: Arc::new(interfaces),
            properties,
            info: self.info(key),
        }
    }

    fn resolve_data(&self, key: TypeKey, what: &str) -> DataType {
        DataType {
            simple: self.simple_schema(key, what).map(Arc::new),
            properties: self.property_defs(key),
            info: self.info(key),
        }
    }

    /// What the values of a data type are that refines a simple type: by `type`, or by deriving
    /// from one.
    fn simple_schema(&self, key: TypeKey, what: &str) -> Option<Schema> {
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
        let type_entry = Entry::new(type_node.span(), type_node.clone());
        merged.insert("type", type_entry);
        // The nearest constraints count: those of a type that only derives narrow its base.
        if let Some((_, node)) = self.said(&lineage, "constraints").next() {
            let entry = Entry::new(node.span(), node.clone());
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
        let entry = Entry::new(
            self.decl(owner).span,
            Node::new(Kind::Map(merged), Span::NONE, None),
        );
        let name = Arc::clone(&self.decl(key).name);
        let def = scope.property_def(what, &name, &entry, None)?;
        Arc::into_inner(def.schema)
    }
}

impl Scope<'_> {
    /// Merges definitions over those of base types.
    pub(super) fn merge_defs(self, merged: &mut Defs, map: &Mapping, word: &str, owner: &str) {
        let noun = match word {
            "attributes" => "attribute",
            _ => "property",
        };
        for (name, entry) in map {
            let what = format!("{noun} `{name}` of `{owner}`");
            let base = merged.get(name);
            if let Some(def) = self.property_def(&what, name, entry, base) {
                merged.insert(Arc::clone(name), Arc::new(def));
            }
        }
    }
}

fn keys_of(section: Section) -> &'static Table {
    match section {
        Section::Node => &NODE_TYPE,
        Section::Relationship => &RELATIONSHIP_TYPE,
        Section::Capability => &CAPABILITY_TYPE,
        Section::Interface => &INTERFACE_TYPE,
        Section::Artifact => &ARTIFACT_TYPE,
        Section::Data => &DATA_TYPE,
        Section::Group => &GROUP_TYPE,
        Section::Policy => &POLICY_TYPE,
        Section::Any => &ANY_TYPE,
    }
}

/// The `metadata` of a map.
pub(super) fn metadata_of(map: &Mapping) -> Map {
    values_at(map, "metadata")
}

/// Artifacts by name, as node types have them.
pub(super) type TypeArtifacts = IndexMap<Arc<str>, Arc<super::operation::Artifact>>;
