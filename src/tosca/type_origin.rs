//! The origin of types, and the lookup of type names from outside of this module.
//!
//! Exports use [`TypeOrigin`] to describe a type with the parts that its own file declares.

use std::sync::Arc;

use crate::diagnostic::Span;
use crate::name::TypeName;
use crate::value::Map;

use super::definition::TypeKey;
use super::entity_types::Reference;
use super::scope::values_at;
use super::section::TypeSection;
use super::types::{BUILT_IN, ROOT, Types, strings};

/// The parts that the declaring file states about a type, without inherited ones.
#[derive(Debug, Clone)]
pub struct TypeOrigin {
    /// The name in the declaring file.
    pub name: Arc<str>,
    /// The kind of type, such as `node type` or `capability type`.
    pub kind: &'static str,
    /// Whether the type comes from a built-in profile.
    pub built_in: bool,
    /// Whether an imported file declares the type.
    pub imported: bool,
    /// The prefix that the service template's file imports the type with.
    pub prefix: Option<Arc<str>>,
    /// The `metadata` of the type itself, without inherited entries.
    pub metadata: Map,
    pub span: Span,
}

impl Types {
    /// Returns the origin of a type.
    pub fn origin(&self, key: TypeKey) -> TypeOrigin {
        let decl = self.decl(key);
        let shown = self.name(key);
        let prefix = shown.as_str().strip_suffix(&*decl.name);
        let prefix = prefix.map(|prefix| prefix.trim_end_matches(['.', ':']));
        TypeOrigin {
            name: Arc::clone(&decl.name),
            kind: self.section(key).noun(),
            built_in: decl.namespace == BUILT_IN,
            imported: decl.namespace != BUILT_IN && decl.namespace != ROOT,
            prefix: prefix.filter(|prefix| !prefix.is_empty()).map(Arc::from),
            metadata: decl
                .node()
                .as_map()
                .map(|map| values_at(map, "metadata"))
                .unwrap_or_default(),
            span: decl.span,
        }
    }

    /// Returns a type and its ancestors: the type itself, then each parent followed by its own ancestors.
    pub fn type_and_ancestors(&self, key: TypeKey) -> Arc<[TypeKey]> {
        self.lineage(key)
    }

    /// Returns the alternative names of a type: `aliases` and `deprecates` in its `metadata`.
    pub fn aliases(&self, key: TypeKey) -> Vec<TypeName> {
        let metadata = self.decl(key).node().get("metadata");
        let lists = ["aliases", "deprecates"]
            .into_iter()
            .map(|word| strings(metadata.and_then(|node| node.get(word))));
        lists
            .flatten()
            .map(|(name, _)| TypeName::new(name))
            .collect()
    }

    /// Returns the node type that a reference stands for.
    pub fn resolve_node_type(&self, reference: &Reference) -> Option<TypeKey> {
        self.resolve_reference(reference, TypeSection::Node)
    }

    /// Returns the capability type that a reference stands for.
    pub fn resolve_capability_type(&self, reference: &Reference) -> Option<TypeKey> {
        self.resolve_reference(reference, TypeSection::Capability)
    }

    /// Returns the type for a name that the service template's file uses for a node type.
    pub fn key_of_node_type(&self, name: &str) -> Option<TypeKey> {
        self.find(ROOT, name, TypeSection::Node)
    }

    fn resolve_reference(&self, reference: &Reference, section: TypeSection) -> Option<TypeKey> {
        let key = self.find(reference.namespace, &reference.name, section)?;
        (self.section(key) == section).then_some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ReadOptions;
    use super::super::testing::read_template_with;

    #[test]
    fn a_type_tells_what_its_own_file_says() {
        let files = [(
            "types.yaml",
            "node_types: {M: {metadata: {icon: m}}, N: {derived_from: M, metadata: {title: n, deprecates: Old}}}",
        )];
        let text = "
imports: [{file: types.yaml, namespace_prefix: l}]
topology_template: {node_templates: {a: {type: l.N}}}
";
        let case = read_template_with(text, &files, &ReadOptions::default());
        assert_eq!(case.report(), "");
        let types = &case.service.types;
        let key = case.node("a").node_type.key;
        let origin = types.origin(key);
        assert_eq!((&*origin.name, origin.kind), ("N", "node type"));
        assert_eq!(origin.prefix.as_deref(), Some("l"));
        assert!(origin.metadata.contains_key("title") && !origin.metadata.contains_key("icon"));
        assert_eq!(types.type_and_ancestors(key).len(), 3);
        let aliases = types.aliases(key);
        assert_eq!(aliases.len(), 1, "{aliases:?}");
        assert_eq!(aliases[0].as_str(), "Old");
        let root = types
            .key_of_node_type("tosca:Root")
            .map(|key| types.origin(key));
        assert!(root.is_some_and(|root| root.built_in && root.prefix.is_none()));
    }
}
