//! Where types come from, and what names of types mean.

use std::sync::Arc;

use crate::diagnostic::Span;
use crate::name::TypeName;
use crate::value::Map;

use super::definition::TypeKey;
use super::entity_types::Reference;
use super::scope::values_at;
use super::section::TypeSection;
use super::types::{BUILT_IN, ROOT, Types, strings};

/// What a file says about a type it declares, apart from everything inherited.
#[derive(Debug, Clone)]
pub struct TypeOrigin {
    /// The name its own file gives it.
    pub name: Arc<str>,
    /// What kind of type it is: `node type`, `capability type`, ….
    pub kind: &'static str,
    /// Whether it is built in.
    pub built_in: bool,
    /// Whether an imported file declares it.
    pub imported: bool,
    /// What the service template's file puts before its name, if it imports it with a prefix.
    pub prefix: Option<Arc<str>>,
    /// Its own `metadata`.
    pub metadata: Map,
    /// Where it is declared.
    pub span: Span,
}

impl Types {
    /// What the file that declares a type says about it.
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

    /// A type and its ancestors: itself, then each parent followed by its own ancestors.
    pub fn family(&self, key: TypeKey) -> Arc<[TypeKey]> {
        self.lineage(key)
    }

    /// The names that a type also answers to, as its `metadata` says.
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

    /// The node type that a name in a text means.
    pub fn resolve_node_type(&self, reference: &Reference) -> Option<TypeKey> {
        self.resolve_reference(reference, TypeSection::Node)
    }

    /// The capability type that a name in a text means.
    pub fn resolve_capability_type(&self, reference: &Reference) -> Option<TypeKey> {
        self.resolve_reference(reference, TypeSection::Capability)
    }

    /// The type that a name means which the service template's file uses for a node.
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
    use super::super::testing::case_with;

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
        let case = case_with(text, &files, &ReadOptions::default());
        assert_eq!(case.report(), "");
        let types = &case.service.types;
        let key = case.node("a").node_type.key;
        let origin = types.origin(key);
        assert_eq!((&*origin.name, origin.kind), ("N", "node type"));
        assert_eq!(origin.prefix.as_deref(), Some("l"));
        assert!(origin.metadata.contains_key("title") && !origin.metadata.contains_key("icon"));
        assert_eq!(types.family(key).len(), 3);
        let aliases = types.aliases(key);
        assert_eq!(aliases.len(), 1, "{aliases:?}");
        assert_eq!(aliases[0].as_str(), "Old");
        let root = types
            .key_of_node_type("tosca:Root")
            .map(|key| types.origin(key));
        assert!(root.is_some_and(|root| root.built_in && root.prefix.is_none()));
    }
}
