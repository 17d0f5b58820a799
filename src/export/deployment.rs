//! Exports an ensemble in the formats of Unfurl's user interface: `blueprint`, `deployment` and
//! `environments`.

use std::path::Path;

use indexmap::IndexMap;
use serde_json::{Value as Json, json};

use super::blueprint::{self, PrimaryTemplate, TemplateObjects};
use super::environment::{self, InstanceFilter};
use super::resources;
use super::type_names::{self, TypeNames};
use super::types::Catalog;
use super::values::{self, Object, ObjectExt as _};
use crate::diagnostic::Sources;
use crate::ensemble::Manifest;
use crate::git::Repository;
use crate::name::TemplateName;
use crate::project::{Environment, LocatedEnsemble};
use crate::topology::Topology;
use crate::tosca::{self, NodeTemplate, ServiceTemplate};
use crate::yaml::Node;

/// A loaded ensemble with its location.
#[derive(Debug, Clone, Copy)]
pub struct LoadedEnsemble<'a> {
    pub manifest: &'a Manifest,
    pub service: &'a ServiceTemplate,
    pub environment: &'a Environment,
    /// The texts from which the ensemble was read.
    pub sources: &'a Sources,
    pub located: &'a LocatedEnsemble,
}

/// The usual file name of an included blueprint.
const BLUEPRINT_FILE: &str = "ensemble-template.yaml";

/// An ensemble prepared for export, with its catalog of types.
#[derive(Debug)]
pub struct EnsembleExport<'a> {
    loaded: LoadedEnsemble<'a>,
    repository: Option<Repository>,
    catalog: Catalog<'a>,
    templates: TemplateObjects,
}

impl<'a> EnsembleExport<'a> {
    /// Prepares the export. With `local_names`, types keep the names from their files instead of globally
    /// unique names.
    pub fn new(loaded: LoadedEnsemble<'a>, local_names: bool) -> Self {
        let base = loaded.manifest.base_dir();
        let repository = Repository::discover(base).ok().flatten();
        let package = if local_names {
            String::new()
        } else {
            type_names::package(repository.as_ref())
        };
        let names = TypeNames::new(loaded.service, loaded.sources, base, package);
        Self {
            loaded,
            repository,
            catalog: Catalog::new(loaded.service, names),
            templates: TemplateObjects::new(),
        }
    }

    /// Collects types and templates; returns the object with which all formats begin.
    fn base_object(&mut self) -> Object {
        self.catalog.add_templates();
        let nodes = self.catalog.topology.nodes.values().map(|node| &**node);
        self.templates = self.visible_objects(nodes.filter(|node| !node.has_directive("virtual")));
        let mut answer = Object::new();
        let repositories = self.repositories();
        if !repositories.is_empty() {
            answer.put("repositories", repositories);
        }
        answer
    }

    /// Returns the repositories from which types are imported.
    fn repositories(&self) -> Object {
        let declared = &self.catalog.service.repositories;
        let mut found = Object::new();
        let mut add = |name: &str, file: &str| {
            let Some(repository) = declared.get(name).filter(|_| name != "unfurl") else {
                return;
            };
            let mut object = match values::json(&repository.to_value()) {
                Json::Object(object) => object,
                url => Object::from_iter([("url".to_owned(), url)]),
            };
            object.put("file", file);
            found.entry(name).or_insert_with(|| object.into());
        };
        for name in ["types", "std"] {
            add(name, "dummy-ensemble.yaml");
        }
        let root = self.loaded.manifest.service_template();
        let imports = root.and_then(|root| root.get("imports")?.as_seq());
        for import in imports.into_iter().flatten() {
            let text = |key: &str| import.get(key).and_then(Node::as_str);
            if let (Some(name), Some(file)) = (text("repository"), text("file")) {
                add(name, file.split('#').next().unwrap_or(file));
            }
        }
        match environment::without_users(found.into()) {
            Json::Object(found) => found,
            _ => Object::new(),
        }
    }

    /// Returns the export in the format `blueprint`.
    pub fn blueprint(mut self) -> Json {
        let mut answer = self.base_object();
        let Some(primary) =
            blueprint::find_or_create_primary(&mut self.catalog, &mut self.templates)
        else {
            return answer.into();
        };
        let (name, mut blueprint) = blueprint::blueprint(&self.catalog, &primary);
        blueprint.put("blueprintPath", self.blueprint_path());
        let mut all = self.blueprints(&name, &primary);
        if all.is_empty() {
            let (own, object) = self.template(None, &name, &primary);
            set_if_missing(&mut blueprint, &own);
            all.insert(own, object);
        }
        let named: Vec<&String> = all.keys().collect();
        blueprint.put("deploymentTemplates", json!(named));
        self.finish(&mut answer, &json!(all));
        answer.put("ApplicationBlueprint", json!({ name: blueprint }));
        answer.into()
    }

    /// Adds types, templates, the overview and the deployment templates.
    fn finish(&self, answer: &mut Object, deployment_templates: &Json) {
        answer.put("ResourceType", json!(self.catalog.types));
        answer.put("ResourceTemplate", json!(self.templates));
        let metadata = crate::value::Value::from(self.catalog.service.metadata.clone());
        answer.put("Overview", values::json(&metadata));
        answer.put("DeploymentTemplate", deployment_templates.clone());
    }

    /// Returns the export in the format `deployment`, with the recorded instances of `topology`.
    pub fn deployment(mut self, topology: &Topology) -> Json {
        let mut answer = self.base_object();
        let Some(primary) =
            blueprint::find_or_create_primary(&mut self.catalog, &mut self.templates)
        else {
            return answer.into();
        };
        let (name, mut blueprint) = blueprint::blueprint(&self.catalog, &primary);
        let root = self.loaded.located.root();
        let folder = root.unwrap_or(self.loaded.manifest.base_dir());
        let path = type_names::project_path(self.repository.as_ref(), folder);
        blueprint.put("projectPath", path);
        blueprint.put("blueprintPath", self.blueprint_path());
        let mut all = self.blueprints(&name, &primary);
        let chosen = self.loaded.environment.deployment_blueprint();
        let chosen = chosen
            .filter(|chosen| all.contains_key(*chosen))
            .map(str::to_owned);
        let (own, fresh) = self.template(chosen.as_deref(), &name, &primary);
        let mut template = chosen
            .and_then(|it| all.get(&it).cloned())
            .unwrap_or_default();
        template.extend(fresh);
        template.put_some("commitTime", self.commit_time());
        set_if_missing(&mut blueprint, &own);
        all.insert(own.clone(), template.clone());
        let named: Vec<&String> = all.keys().collect();
        blueprint.put("deploymentTemplates", json!(named));

        let resources = resources::resources(&mut self.catalog, topology, &mut self.templates);
        let deployment = self.record(&own, &primary, &resources);
        let (environment, _) = environment::environment(
            &mut self.catalog,
            self.loaded.environment,
            InstanceFilter::Imported,
        );
        self.catalog.types.shift_remove("tosca.nodes.Root");
        self.finish(&mut answer, &json!({ own.clone(): template }));
        answer.put("ApplicationBlueprint", json!({ name: blueprint }));
        answer.put("Resource", json!(self.with_title(resources, &primary)));
        answer.put("Deployment", json!({ own: deployment }));
        answer.put("DeploymentEnvironment", environment);
        answer.into()
    }

    /// Gives the resource of the primary template the title of the deployment.
    fn with_title(
        &self,
        mut resources: IndexMap<String, Object>,
        primary: &PrimaryTemplate,
    ) -> IndexMap<String, Object> {
        if let Some(resource) = resources.get_mut(&primary.name)
            && resource["title"] == *primary.name
        {
            resource.put("title", self.folder_name());
        }
        resources
    }

    fn record(
        &self,
        name: &str,
        primary: &PrimaryTemplate,
        resources: &IndexMap<String, Object>,
    ) -> Object {
        let mut deployment = Object::new();
        deployment.put("name", name);
        deployment.put("title", self.folder_name());
        deployment.put("__typename", "Deployment");
        let names: Vec<&String> = resources.keys().collect();
        deployment.put("resources", json!(names));
        deployment.put("primary", primary.name.clone());
        deployment.put("deploymentTemplate", name);
        let manifest = self.loaded.manifest;
        if let Some(job) = manifest.root().get("lastJob").filter(|job| !job.is_null()) {
            resources::add_last_job(&mut deployment, job);
        }
        let resource = resources.get(&primary.name);
        let url = resources::url(&manifest.status(), &self.catalog, resource);
        deployment.put_some("url", url);
        deployment
    }

    /// Returns the export in the format `environments`.
    pub fn environments(mut self) -> Json {
        self.catalog.add_templates();
        let mut environments = Object::new();
        let mut mentioned: Vec<String> = Vec::new();
        let known = &self.loaded.located.environments;
        let defaults = Some("defaults").filter(|name| known.contains(name));
        for name in defaults.into_iter().chain(known.names()) {
            let resolved: Environment = known.resolve(Some(name), None);
            let (mut object, types) =
                environment::environment(&mut self.catalog, &resolved, InstanceFilter::All);
            object.put("name", name);
            environments.insert(name.to_owned(), object.into());
            mentioned.extend(types);
        }
        let mut types = Object::new();
        for name in mentioned {
            if let Some(object) = self.catalog.types.get(&name) {
                types.insert(name, object.clone().into());
            }
        }
        let paths = environment::deployment_paths(self.loaded.located.project.as_ref());
        let paths: Object = paths
            .into_iter()
            .map(|(name, path)| (name, path.object))
            .collect();
        json!({
            "DeploymentEnvironment": environments,
            "ResourceType": types,
            "DeploymentPath": paths,
        })
    }

    fn folder_name(&self) -> String {
        let name = self.loaded.manifest.base_dir().file_name();
        name.map_or_else(
            || "untitled".to_owned(),
            |name| name.to_string_lossy().into_owned(),
        )
    }

    /// Returns the name and object of this deployment's own template.
    fn template(
        &self,
        source: Option<&str>,
        blueprint: &str,
        primary: &PrimaryTemplate,
    ) -> (String, Object) {
        let title = self.folder_name();
        let slug = blueprint::slug(&title);
        let mut names: Vec<&String> = self.templates.keys().collect();
        names.sort_unstable();
        let object = json!({
            "__typename": "DeploymentTemplate",
            "title": title,
            "name": slug,
            "slug": slug,
            "description": self.catalog.service.description.as_deref().unwrap_or(""),
            "resourceTemplates": names,
            "ResourceTemplate": {},
            "source": source.unwrap_or("__generated"),
            "blueprint": blueprint,
            "primary": primary.name,
            "environmentVariableNames": primary.variables,
        });
        (slug, object.as_object().cloned().unwrap_or_default())
    }

    /// Returns the deployment templates described by `deployment_blueprints`.
    fn blueprints(
        &mut self,
        blueprint: &str,
        primary: &PrimaryTemplate,
    ) -> IndexMap<String, Object> {
        let service = self.catalog.service;
        let spec = self.loaded.manifest.root().get("spec");
        let of_spec = spec.and_then(|spec| spec.get("deployment_blueprints"));
        let section = of_spec
            .or(service.blueprints.as_ref())
            .and_then(Node::as_map);
        let mut found = IndexMap::new();
        for (name, entry) in section.into_iter().flatten() {
            let Json::Object(mut object) = values::json(&entry.value.to_value()) else {
                continue;
            };
            object.shift_remove("resource_templates");
            object.shift_remove("node_templates");
            let own = self.local_templates(&entry.value);
            let mut names: Vec<&String> = self.templates.keys().chain(own.keys()).collect();
            names.sort_unstable();
            names.dedup();
            let text = |key: &str| entry.value.get(key).and_then(Node::as_str);
            let stated = text("primary");
            let fresh = json!({
                "__typename": "DeploymentTemplate",
                "title": text("title").unwrap_or(name),
                "description": text("description").unwrap_or(""),
                "name": &**name,
                "slug": blueprint::slug(name),
                "blueprint": blueprint,
                "primary": stated.unwrap_or(&primary.name),
                "resourceTemplates": names,
                "ResourceTemplate": own,
                "environmentVariableNames": primary.variables,
            });
            object.extend(fresh.as_object().cloned().unwrap_or_default());
            found.insert(name.to_string(), object);
        }
        found
    }

    /// Returns the node templates that a blueprint adds or replaces.
    fn local_templates(&mut self, blueprint: &Node) -> TemplateObjects {
        let section = blueprint
            .get("resource_templates")
            .or_else(|| blueprint.get("node_templates"))
            .and_then(Node::as_map);
        let mut service = self.catalog.service.clone();
        // Read twice, because the templates can require each other.
        let mut read: Vec<NodeTemplate> = Vec::new();
        for _ in 0..2 {
            read = section
                .into_iter()
                .flatten()
                .filter_map(|(name, entry)| {
                    let name = TemplateName::new(name.clone());
                    tosca::read_node_template(&service, &name, &entry.value).0
                })
                .collect();
            let mut topology = (*service.topology).clone();
            let named = read.iter().map(|it| (it.name.clone(), it.clone().into()));
            topology.nodes.extend(named);
            service.topology = topology.into();
        }
        self.visible_objects(&read)
    }

    /// Converts templates to objects, except those that are omitted from exports.
    fn visible_objects<'n>(
        &mut self,
        nodes: impl IntoIterator<Item = &'n NodeTemplate>,
    ) -> TemplateObjects {
        let object =
            |node: &NodeTemplate| (node.name.to_string(), self.catalog.node_template(node));
        let objects = nodes.into_iter().map(object);
        objects.filter(|(_, it)| !values::is_omitted(it)).collect()
    }

    /// Returns the path of the file that describes the blueprint, relative to the project.
    fn blueprint_path(&self) -> String {
        let sources = self.loaded.sources;
        let includes = sources
            .iter()
            .any(|(_, source)| source.path.ends_with(BLUEPRINT_FILE));
        match &self.loaded.located.project {
            Some(project) if !includes => {
                let path = self.loaded.manifest.path();
                let inside = path.strip_prefix(&project.root).unwrap_or(path);
                inside.display().to_string()
            }
            _ => BLUEPRINT_FILE.to_owned(),
        }
    }

    /// Returns the time of the last commit of the manifest.
    fn commit_time(&self) -> Option<String> {
        let path: &Path = self.loaded.manifest.path();
        let (seconds, offset) = self.repository.as_ref()?.last_commit_time(path)?;
        crate::system::clock::format_with_offset(seconds, offset)
    }
}

fn set_if_missing(blueprint: &mut Object, name: &str) {
    let primary = blueprint
        .entry("primaryDeploymentBlueprint")
        .or_insert(Json::Null);
    if primary.is_null() {
        *primary = name.into();
    }
}
