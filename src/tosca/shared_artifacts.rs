//! Artifacts of `LocalRepository` nodes, which operations of all nodes can execute by their names.

use std::sync::Arc;

use crate::name::TemplateName;
use crate::value::FoldMap;

use super::node_template::UnmatchedTemplate;
use super::operation::{Artifact, ImplementationKind, Operation, Operations};

/// The type of node templates whose artifacts operations may name from anywhere.
pub const LOCAL_REPOSITORY: &str = "unfurl.nodes.LocalRepository";

impl Artifact {
    /// Returns a copy that another node can have: with the name that Unfurl gives it, and the node template that it
    /// comes from.
    #[must_use]
    pub fn shared_by(&self, store: &TemplateName) -> Self {
        Self {
            name: format!("{store}--{}", self.name).into(),
            store: Some(store.clone()),
            ..self.clone()
        }
    }

    /// Returns the name that the artifact has on the node template that declares it.
    pub fn declared_name(&self) -> &str {
        let prefix = self.store.as_ref().map(|store| format!("{store}--"));
        let declared = prefix.and_then(|prefix| self.name.strip_prefix(&prefix));
        declared.unwrap_or(&self.name)
    }
}

/// Makes operations execute the artifacts of `LocalRepository` nodes that they name as their implementation. Artifacts of
/// the node itself come first, and so do configurators.
pub(super) fn resolve_shared_artifacts(templates: &mut [UnmatchedTemplate]) {
    let mut shared: FoldMap<Arc<str>, (TemplateName, Arc<Artifact>)> = FoldMap::default();
    for template in templates.iter().map(|it| &it.template) {
        if template.is_orphaned || !template.node_type.info.is_derived_from(LOCAL_REPOSITORY) {
            continue;
        }
        for (name, artifact) in &*template.artifacts {
            let owned = || (template.name.clone(), Arc::clone(artifact));
            shared.entry(Arc::clone(name)).or_insert_with(owned);
        }
    }
    if shared.is_empty() {
        return;
    }
    let named = |operation: &Operation| {
        let implementation = operation.implementation.as_ref()?;
        let named = (&implementation.primary_text, &implementation.kind);
        let ((Some(text), _) | (None, ImplementationKind::Command(text))) = named else {
            return None;
        };
        let (store, artifact) = shared.get(text)?;
        let is_free = implementation.primary.is_none();
        is_free.then(|| Arc::new(artifact.shared_by(store)))
    };
    for template in templates.iter_mut().map(|it| &mut it.template) {
        let Some((operations, used)) = template.operations.with_artifacts(named) else {
            continue;
        };
        template.operations = Arc::new(operations);
        let artifacts = Arc::make_mut(&mut template.artifacts);
        artifacts.extend(used.into_iter().map(|it| (Arc::clone(&it.name), it)));
    }
}

impl Operations {
    /// Returns the operations with the artifacts that `named` returns for them as their implementations, and these
    /// artifacts. None if there are none.
    fn with_artifacts(
        &self,
        named: impl Fn(&Operation) -> Option<Arc<Artifact>>,
    ) -> Option<(Self, Vec<Arc<Artifact>>)> {
        let mut used = Vec::new();
        let mut changed = self.clone();
        for interface in changed.interfaces.values_mut() {
            let found: Vec<_> = interface
                .operations
                .iter()
                .filter_map(|(name, operation)| Some((name.clone(), named(operation)?)))
                .collect();
            for (name, artifact) in found {
                let operations = &mut Arc::make_mut(interface).operations;
                if let Some(operation) = operations.get_mut(name.as_str())
                    && let Some(implementation) = &mut Arc::make_mut(operation).implementation
                {
                    implementation.execute_artifact(Arc::clone(&artifact));
                    used.push(artifact);
                }
            }
        }
        (!used.is_empty()).then_some((changed, used))
    }
}
