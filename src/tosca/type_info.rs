//! Facts that every type has.

use std::sync::Arc;

use crate::diagnostic::Span;
use crate::name::TypeName;
use crate::value::Map;

use super::definition::TypeKey;

/// What every type has.
#[derive(Debug, Clone)]
pub struct TypeInfo {
    /// Its name: as the service template's file knows it, or as its own file does.
    pub name: TypeName,
    /// Its identity.
    pub key: TypeKey,
    /// The names of the types it derives from directly.
    pub parents: Vec<TypeName>,
    /// The names it answers to, and its ancestors': itself first, then the nearest.
    pub ancestors: Vec<TypeName>,
    /// What it is for.
    pub description: Option<Arc<str>>,
    /// Its `metadata`, its ancestors' below its own.
    pub metadata: Map,
    /// Its `version`.
    pub version: Option<Arc<str>>,
    /// Whether it takes properties that it does not declare.
    pub open: bool,
    /// Where it is declared.
    pub span: Span,
}

impl TypeInfo {
    /// Whether it is, or derives from, the type of that name.
    pub fn is_derived_from(&self, name: &str) -> bool {
        if let Some(short) = name.strip_prefix("tosca:") {
            // `tosca:Root` means `tosca.nodes.Root` of a node, and so on.
            return self.ancestors.iter().any(|ancestor| {
                let local = ancestor.as_str().strip_prefix("tosca.");
                let parts = local.and_then(|local| local.split_once('.'));
                parts.is_some_and(|(_, rest)| rest == short)
            });
        }
        self.ancestors
            .iter()
            .any(|ancestor| ancestor.as_str() == name)
    }
}
