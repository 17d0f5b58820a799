//! Artifacts of node instances, as entities of the topology.

use std::path::Path;
use std::sync::Arc;

use super::entity::{Entity, EntityKind};
use super::topology::Topology;
use crate::tosca::{Artifact, AttributeDecl, NodeTemplate, Property};
use crate::value::{Handle, Map, Value};

/// Attributes that every artifact has besides its properties, even if they are not set.
const ARTIFACT_FIELDS: &[&str] = &[
    "file",
    "repository",
    "deploy_path",
    "version",
    "checksum",
    "checksum_algorithm",
    "mime_type",
    "file_extensions",
    "permissions",
    "intent",
    "target",
    "order",
    "contents",
    "dependencies",
];

/// The TOSCA type of container images.
const IMAGE_TYPE: &str = "tosca.artifacts.Deployment.Image.Container.Docker";

/// Returns the declared value of an artifact's attribute, and whether it is sensitive.
pub(super) fn artifact_attribute(artifact: &Artifact, name: &str) -> (Option<Value>, bool) {
    let (value, sensitive) = declared_value(&artifact.properties, &indexmap::IndexMap::new(), name);
    let field = || match name {
        "file" => Some(artifact.file.clone()),
        "repository" => Some(Value::from(artifact.repository.as_deref())),
        name => {
            let path_text = artifact.fields.get(name).cloned();
            path_text.or_else(|| ARTIFACT_FIELDS.contains(&name).then_some(Value::Null))
        }
    };
    (value.or_else(field), sensitive)
}

/// Returns the names of an artifact's properties and fields.
pub(super) fn attribute_names(artifact: &Artifact) -> Vec<Arc<str>> {
    let properties = artifact.properties.keys().cloned();
    let fields = artifact.fields.keys().cloned();
    let always = ["file", "repository"].map(Arc::from);
    properties.chain(always).chain(fields).collect()
}

impl Topology {
    /// Returns an instance's artifact by name.
    pub fn artifact_of(&self, node: Handle, name: &str) -> Option<Handle> {
        let node = self.stand_in(node).unwrap_or(node);
        let artifacts = &self.get(node)?.node()?.artifacts;
        let mut artifacts = artifacts.iter().copied();
        artifacts.find(|artifact| self.entity(*artifact).name.as_str() == name)
    }

    /// Returns the instance that has an artifact. None for any other entity.
    pub fn owner_of_artifact(&self, artifact: Handle) -> Option<Handle> {
        match self.entity(artifact).kind {
            EntityKind::Artifact { owner, .. } => Some(owner),
            _ => None,
        }
    }

    pub(super) fn add_artifacts(&mut self, owner: Handle, template: &NodeTemplate) -> Vec<Handle> {
        let mut handles = Vec::with_capacity(template.artifacts.len());
        for (name, artifact) in &*template.artifacts {
            let key = format!("{}::.artifacts::{name}", self.entity(owner).key);
            let artifact = Arc::clone(artifact);
            let kind = EntityKind::Artifact { owner, artifact };
            let entity = Entity::new_established(Arc::clone(name).into(), key.into(), kind);
            handles.push(self.add_part(owner, entity));
        }
        handles
    }

    pub(super) fn artifacts_by_name(&self, of: Handle) -> Value {
        let of = self.stand_in(of).unwrap_or(of);
        let artifacts = self.entity(of).node().map(|node| &node.artifacts);
        let artifacts = artifacts.into_iter().flatten();
        let named = artifacts.map(|it| (self.entity(*it).name.shared(), self.reference(*it)));
        Value::from(named.collect::<Map>())
    }

    /// Returns the path of an artifact's file, or null if the file is not on this machine.
    pub(super) fn artifact_path(&self, of: Handle) -> Option<Value> {
        let artifact = self.entity(of).artifact()?;
        let file = artifact.file.as_str()?;
        let repository = artifact.repository.as_deref();
        // A repository that is a node template holds no files: it states where programs are.
        let is_near = |name: &str| name == "self" || self.find_from(of, name).is_some();
        if !repository.is_none_or(is_near) || file.contains("://") {
            return Some(Value::Null);
        }
        let (file, _) = file.split_once('#').unwrap_or((file, ""));
        let path = artifact.base_dir.join(Path::new(file));
        Some(Value::from(path.display().to_string()))
    }

    /// Returns the result of `get_artifact`: an image name, a URL, or a path.
    pub(super) fn artifact_value(&self, of: Handle, name: &str) -> Option<Value> {
        let own = self.entity(of).artifact().map(|_| of);
        let of = own.or_else(|| self.artifact_of(of, name))?;
        let entity = self.entity(of);
        let artifact = entity.artifact()?;
        let file = artifact.file.as_str()?;
        if entity.is_a(IMAGE_TYPE) || file.contains("://") {
            return Some(artifact.file.clone());
        }
        self.artifact_path(of)
    }
}

/// Returns the declared value of an attribute or property, and whether it is sensitive.
///
/// An attribute without a value yet is null.
pub(super) fn declared_value(
    properties: &indexmap::IndexMap<Arc<str>, Property>,
    attributes: &indexmap::IndexMap<Arc<str>, AttributeDecl>,
    name: &str,
) -> (Option<Value>, bool) {
    let property = properties.get(name);
    let attribute = attributes.get(name);
    let definition = property.and_then(|property| property.definition.as_ref());
    let sensitive = definition.is_some_and(|definition| definition.is_sensitive())
        || attribute.is_some_and(|attribute| attribute.sensitive);
    let value = property.map(|property| property.value.clone());
    (
        value.or_else(|| attribute.map(|attribute| attribute.default.clone().unwrap_or_default())),
        sensitive,
    )
}
