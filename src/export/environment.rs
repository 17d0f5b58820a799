//! Exports environments (`DeploymentEnvironment`) and the paths of deployments (`DeploymentPath`).

use std::path::Path;

use indexmap::IndexMap;
use serde_json::{Value as Json, json};

use super::types::Catalog;
use super::values::{self, Object, ObjectExt as _};
use crate::name::TemplateName;
use crate::project::{EnsembleEntry, Environment, Project};
use crate::tosca::{self, FROM_ENVIRONMENT};
use crate::yaml::Node;

/// The instances of an environment to include in the export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InstanceFilter {
    /// Only instances imported from other ensembles.
    Imported,
    All,
}

/// Exports an environment: connections, shared instances and repositories. Adds its types to `catalog` and
/// returns their names.
pub(super) fn environment(
    catalog: &mut Catalog<'_>,
    environment: &Environment,
    instances: InstanceFilter,
) -> (Object, Vec<String>) {
    let mut names = Vec::new();
    let connections = connections(catalog, environment, &mut names);
    let primary = connections
        .get("primary_provider")
        .or_else(|| connections.get("_default_provider"));
    let primary = primary.cloned().unwrap_or_default();
    let mut object = Object::new();
    object.put("connections", connections);
    object.put("primary_provider", primary);
    let shared = shared(catalog, environment, instances, &mut names);
    object.put("instances", shared);
    let repositories = environment.repositories().map(Node::to_value);
    let repositories =
        repositories.map_or_else(|| json!({}), |it| without_users(values::json(&it)));
    object.put("repositories", repositories);
    (object, names)
}

fn connections(
    catalog: &mut Catalog<'_>,
    environment: &Environment,
    names: &mut Vec<String>,
) -> Object {
    let mut connections = Object::new();
    let mut add = |catalog: &mut Catalog<'_>, template: &tosca::RelationshipTemplate| {
        let object = catalog.relationship_template(template);
        if values::is_omitted(&object) {
            return;
        }
        names.extend(object["type"].as_str().map(str::to_owned));
        let name = object["name"].as_str().unwrap_or_default().to_owned();
        connections.insert(name, object.into());
    };
    let topology = catalog.topology;
    for template in topology.relationships.values() {
        if template.default_for.is_some() && !template.metadata.contains_key(FROM_ENVIRONMENT) {
            add(catalog, template);
        }
    }
    let service = catalog.service;
    for (name, entry) in environment
        .connections()
        .and_then(Node::as_map)
        .into_iter()
        .flatten()
    {
        let name = TemplateName::new(name.clone());
        let (template, _) = tosca::read_relationship_template(service, &name, &entry.value);
        if let Some(template) = template {
            add(catalog, &template);
        }
    }
    connections
}

fn shared(
    catalog: &mut Catalog<'_>,
    environment: &Environment,
    instances: InstanceFilter,
    names: &mut Vec<String>,
) -> Object {
    let mut shared = Object::new();
    let service = catalog.service;
    let section = environment.section("instances").and_then(Node::as_map);
    for (name, entry) in section.into_iter().flatten() {
        let node = &entry.value;
        if node.get("imported").is_some() {
            let mut object = values::json(&node.to_value());
            let type_name = node.get("type").and_then(Node::as_str);
            let key = type_name.and_then(|name| service.types.key_of_node_type(name));
            if let Some(key) = key {
                object["type"] = catalog.names.of(key).into();
            }
            shared.insert(name.to_string(), object);
        } else if instances == InstanceFilter::All {
            let template_name = TemplateName::new(name.clone());
            let (template, _) = tosca::read_node_template(service, &template_name, node);
            let Some(mut template) = template else {
                continue;
            };
            if !template.has_directive("virtual") {
                template.directives.push("virtual".into());
            }
            let object = catalog.node_template(&template);
            if values::is_omitted(&object) {
                continue;
            }
            names.extend(object["type"].as_str().map(str::to_owned));
            shared.insert(name.to_string(), object.into());
        }
    }
    shared
}

/// Removes user names, passwords and credentials from repositories.
pub(super) fn without_users(mut repositories: Json) -> Json {
    for repository in repositories
        .as_object_mut()
        .into_iter()
        .flat_map(Object::values_mut)
    {
        if let Some(repository) = repository.as_object_mut() {
            repository.remove("credential");
        }
        let url = match repository {
            Json::Object(object) => object.get_mut("url"),
            other => Some(other),
        };
        if let Some(Json::String(url)) = url
            && let Some((scheme, rest)) = url.split_once("://")
        {
            let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
            if let Some((_, host)) = host.rsplit_once('@') {
                *url = format!("{scheme}://{host}/{path}");
            }
        }
    }
    repositories
}

/// The path of an ensemble that has an environment.
#[derive(Debug, Clone)]
pub struct DeploymentPath<'a> {
    /// The `DeploymentPath` object of the user interface.
    pub object: Json,
    /// The ensemble's entry in the project.
    pub entry: &'a EnsembleEntry,
}

/// Returns the ensembles of a project that have an environment, by the path of their folder.
pub fn deployment_paths(project: Option<&Project>) -> IndexMap<String, DeploymentPath<'_>> {
    let mut paths = IndexMap::new();
    let Some(project) = project else { return paths };
    for entry in &project.ensembles {
        let Some(environment) = entry
            .environment
            .as_ref()
            .filter(|_| entry.project.is_none())
        else {
            continue;
        };
        let folder = Path::new(&entry.file).parent().unwrap_or(Path::new(""));
        let folder = folder.strip_prefix(&project.root).unwrap_or(folder);
        let name = folder.display().to_string();
        let object = json!({
            "__typename": "DeploymentPath",
            "name": name,
            "project_id": entry.project_id,
            "pipelines": values::json(&entry.pipelines),
            "environment": environment,
            "incremental_deploy": entry.incremental_deploy,
        });
        paths.insert(name, DeploymentPath { object, entry });
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_repositories_lose_their_users() {
        let given = json!({
            "a": { "url": "https://user:pw@example.com/x.git", "credential": { "token": "t" } },
            "b": "https://me@example.com/y.git",
            "c": { "url": "file:." },
        });
        let shown = without_users(given);
        assert_eq!(shown["a"], json!({ "url": "https://example.com/x.git" }));
        assert_eq!(shown["b"], "https://example.com/y.git");
        assert_eq!(shown["c"]["url"], "file:.");
    }
}
