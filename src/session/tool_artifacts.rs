//! Artifacts that must be installed before an operation runs: each becomes a node template that installs it.
//!
//! An operation needs the artifacts under `dependencies` of its implementation or of its artifact, the artifact itself, and one
//! with the name of the program that its configurator runs, such as `terraform`, if the `PATH` lacks this program.
//! Those with operations of their own (`Standard.create`, `Standard.configure`, `Install.discover`) are installed once, by a node
//! template of the type `unfurl.nodes.ArtifactInstaller`. The nodes that need it depend on it. Names are those of Unfurl.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::configurator::choose;
use crate::name::TemplateName;
use crate::system::fs::find_program;
use crate::tosca::{
    Artifact, Dependency, LOCAL_REPOSITORY, NodeTemplate, Operation, ServiceTemplate,
};
use crate::value::{Map, Value};
use crate::yaml::{MapEntry, Mapping, Node, NodeKind};

/// The prefix of the names of installers.
const PREFIX: &str = "__artifact__";

/// The type of node templates that install an artifact.
const INSTALLER: &str = "unfurl.nodes.ArtifactInstaller";

/// The operations that install an artifact.
const INSTALLING: [(&str, &str); 3] = [
    ("Standard", "create"),
    ("Standard", "configure"),
    ("Install", "discover"),
];

/// Returns node templates to add to a model: the installers, and the templates that depend on them.
///
/// Templates that the model has already, such as the installers of earlier jobs, are only depended on. An artifact whose file is a
/// program on the `PATH` needs no installer.
pub(super) fn templates_with_installers(service: &ServiceTemplate, path: &str) -> Mapping {
    let nodes = service.topology.nodes.values();
    let is_repository =
        |it: &&Arc<NodeTemplate>| it.node_type.info.is_derived_from(LOCAL_REPOSITORY);
    let repositories: Vec<&Arc<NodeTemplate>> = nodes.filter(is_repository).collect();
    let mut installers: BTreeMap<String, Node> = BTreeMap::new();
    let mut needs: Vec<(&NodeTemplate, Vec<String>)> = Vec::new();
    for node in service.topology.nodes.values() {
        if node.is_orphaned || node.nested_in.is_some() {
            continue;
        }
        let mut names: Vec<String> = Vec::new();
        for artifact in needed_artifacts(node, &repositories, path) {
            if !is_installed_by_operations(&artifact) {
                continue;
            }
            let name = installer_name(&artifact);
            let is_known = service.topology.nodes.contains_key(name.as_str());
            if !is_known && is_on_path(&artifact, path) {
                continue;
            }
            if !is_known && let Some(template) = installer(service, node, &artifact) {
                installers.entry(name.clone()).or_insert(template);
            }
            let exists = is_known || installers.contains_key(&name);
            if exists && !names.contains(&name) && node.name.as_str() != name {
                names.push(name);
            }
        }
        if !names.is_empty() {
            needs.push((node, names));
        }
    }
    let mut added = Mapping::default();
    for (node, names) in needs {
        if let Some(template) = depending(service, node, &names) {
            let entry = MapEntry::new(node.span, template);
            added.insert(node.name.shared(), entry);
        }
    }
    for (name, template) in installers {
        let entry = MapEntry::new(template.span(), template);
        added.insert(name, entry);
    }
    added
}

/// Returns the artifacts that the operations of a node need, without duplicates of one operation.
fn needed_artifacts(
    node: &NodeTemplate,
    repositories: &[&Arc<NodeTemplate>],
    path: &str,
) -> Vec<Arc<Artifact>> {
    let mut needed = Vec::new();
    for operation in node.operations.iter() {
        needed.extend(needed_by(node, operation, repositories));
        needed.extend(program_of(node, operation, repositories, path));
    }
    needed
}

/// Returns the artifact that has the program of an operation's configurator. None if the `PATH` has one.
fn program_of(
    node: &NodeTemplate,
    operation: &Operation,
    repositories: &[&Arc<NodeTemplate>],
    path: &str,
) -> Option<Arc<Artifact>> {
    if repositories.is_empty() && node.artifacts.is_empty() {
        return None;
    }
    let (configurator, _) = choose(operation).ok()?;
    let mut programs = configurator.programs().iter();
    let is_found = |name: &&str| find_program(name, path.split(':')).is_some();
    if programs.clone().any(is_found) {
        return None;
    }
    programs.find_map(|name| named(node, name, repositories))
}

fn needed_by(
    node: &NodeTemplate,
    operation: &Operation,
    repositories: &[&Arc<NodeTemplate>],
) -> Vec<Arc<Artifact>> {
    let Some(implementation) = &operation.implementation else {
        return Vec::new();
    };
    let stated = implementation.dependencies.iter();
    let mut needed: Vec<_> = stated
        .filter_map(|dependency| match dependency {
            Dependency::Inline(artifact) => Some(Arc::clone(artifact)),
            Dependency::Named(name) => named(node, name, repositories),
        })
        .collect();
    if let Some(primary) = &implementation.primary {
        let listed = primary.fields.get("dependencies").and_then(Value::as_list);
        let names = listed.into_iter().flatten().filter_map(Value::as_str);
        needed.extend(names.filter_map(|name| named(node, name, repositories)));
        needed.push(Arc::clone(primary));
    }
    needed
}

/// Returns an artifact of the node, or one of a `LocalRepository`.
fn named(
    node: &NodeTemplate,
    name: &str,
    repositories: &[&Arc<NodeTemplate>],
) -> Option<Arc<Artifact>> {
    if let Some(own) = node.artifacts.get(name) {
        return Some(Arc::clone(own));
    }
    let mut others = repositories.iter();
    others.find_map(|it| Some(Arc::new(it.artifacts.get(name)?.shared_by(&it.name))))
}

fn is_installed_by_operations(artifact: &Artifact) -> bool {
    let operations = &artifact.operations;
    let mut installing = INSTALLING.iter();
    installing.any(|(interface, name)| operations.implemented(interface, name))
}

fn is_on_path(artifact: &Artifact, path: &str) -> bool {
    let file = artifact.file.as_str().unwrap_or_default();
    let is_name = !file.is_empty() && !file.contains('/');
    is_name && find_program(file, path.split(':')).is_some()
}

/// Returns the name of the installer, as Unfurl forms it: the repository and the file of the artifact.
fn installer_name(artifact: &Artifact) -> String {
    let file = artifact.file.redacted().to_string();
    let mut name = PREFIX.to_owned();
    let store = artifact.store.as_ref().map(TemplateName::as_str);
    if let Some(repository) = artifact.repository.as_deref().or(store) {
        name.push_str(repository);
        name.push_str("--");
    }
    for c in file.chars() {
        if c.is_alphanumeric() || matches!(c, '_' | '-') {
            name.push(c);
        } else {
            name.push_str(&format!("-{}-", u32::from(c)));
        }
    }
    name
}

/// Returns the template of the node that installs an artifact. None if it cannot be written down.
fn installer(service: &ServiceTemplate, node: &NodeTemplate, artifact: &Artifact) -> Option<Node> {
    let written = written_artifact(service, node, artifact)?;
    let artifacts = Value::map([("install", written)]);
    let template = Value::map([
        ("directives", Value::list([Value::from("protected")])),
        ("type", Value::from(INSTALLER)),
        ("artifacts", artifacts),
    ]);
    Node::from_value(&template, artifact.span)
}

/// Returns an artifact as it can be written in another node template.
fn written_artifact(
    service: &ServiceTemplate,
    node: &NodeTemplate,
    artifact: &Artifact,
) -> Option<Value> {
    let owner = artifact.store.as_ref().unwrap_or(&node.name);
    let written = service.written_template(owner);
    let own = written
        .as_ref()
        .and_then(|it| it.get("artifacts")?.get(artifact.declared_name()));
    if let Some(own) = own.filter(|own| own.get("interfaces").is_some()) {
        return Some(own.to_value());
    }
    if !Arc::ptr_eq(&artifact.operations, &artifact.definition.operations) {
        return None;
    }
    let mut map = Map::new();
    map.insert("type".into(), Value::from(artifact.type_name.as_str()));
    map.insert("file".into(), artifact.file.clone());
    if let Some(repository) = &artifact.repository {
        map.insert("repository".into(), Value::from(&**repository));
    }
    let stated = artifact
        .properties
        .iter()
        .filter(|(_, it)| it.set_on_template);
    let properties: Map = stated
        .map(|(name, property)| (Arc::clone(name), property.value.clone()))
        .collect();
    if !properties.is_empty() {
        map.insert("properties".into(), Value::from(properties));
    }
    Some(Value::from(map))
}

/// Returns a node template with further requirements. None if the model does not write it down itself.
fn depending(service: &ServiceTemplate, node: &NodeTemplate, names: &[String]) -> Option<Node> {
    let written = service.written_template(&node.name)?;
    let mut map = written.clone();
    let stated = written.get("requirements");
    let mut requirements: Vec<Node> = match stated {
        Some(node) => node.as_seq()?.to_vec(),
        None => Vec::new(),
    };
    for name in names {
        let requirement = Value::map([("dependency", Value::from(name.as_str()))]);
        let is_stated = requirements.iter().any(|it| it.to_value() == requirement);
        if !is_stated {
            requirements.push(Node::from_value(&requirement, node.span)?);
        }
    }
    let span = stated.map_or(node.span, Node::span);
    let list = Node::new(NodeKind::Seq(requirements), span, None);
    map.insert("requirements", MapEntry::new(span, list));
    Some(Node::new(NodeKind::Map(map), node.span, None))
}

/// Returns true if a model has a node that installs an artifact.
pub(super) fn has_installers(service: &ServiceTemplate) -> bool {
    let mut nodes = service.topology.nodes.values();
    nodes.any(|node| node.node_type.info.is_derived_from(INSTALLER))
}

/// Returns the installers that the admitted node templates depend on.
pub(crate) fn installers_of(
    service: &ServiceTemplate,
    admits: impl Fn(&TemplateName) -> bool,
) -> Vec<&TemplateName> {
    let nodes = &service.topology.nodes;
    let admitted = nodes.values().filter(|node| admits(&node.name));
    let targets =
        admitted.flat_map(|node| node.requirements.iter().filter_map(|it| it.target.as_ref()));
    let is_installer = |name: &&TemplateName| {
        let node = nodes.get(name.as_str());
        node.is_some_and(|node| node.node_type.info.is_derived_from(INSTALLER))
    };
    let mut found: Vec<_> = targets.filter(is_installer).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Leaves out the operations of installers that their artifact does not have: they would do nothing.
pub(super) fn drop_idle_operations(service: &mut ServiceTemplate) {
    let nodes = service.topology.nodes.iter();
    let installers = nodes.filter(|(_, node)| node.node_type.info.is_derived_from(INSTALLER));
    let names: Vec<TemplateName> = installers.map(|(name, _)| name.clone()).collect();
    if names.is_empty() {
        return;
    }
    let topology = Arc::make_mut(&mut service.topology);
    for name in names {
        let Some(node) = topology.nodes.get_mut(name.as_str()) else {
            continue;
        };
        let Some(artifact) = node.artifacts.get("install").cloned() else {
            continue;
        };
        let kept = node.operations.only(|interface, operation| {
            !matches!(interface, "Standard" | "Install")
                || artifact.operations.implemented(interface, operation)
        });
        Arc::make_mut(node).operations = Arc::new(kept);
    }
}
