//! Reads a service template.

use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::name::{TemplateName, TypeName};
use crate::value::Map;
use crate::yaml::{Mapping, Node};

use super::check::check;
use super::import::Importer;
use super::load::{LoadedFile, load};
use super::scope::{Scope, description, values_at};
use super::similar::did_you_mean;
use super::template::{ServiceTemplate, TopologyTemplate};
use super::topology::TopologyOptions;
use super::types::{ROOT, Types};

/// How to read a service template.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// Whether a requirement that only the type declares looks for its target by type, as
    /// ensembles of `unfurl/v1alpha1` expect.
    pub match_declared: bool,
    /// Whether types that no template uses are checked too.
    pub check_unused: bool,
    /// The deployment blueprint whose node templates replace or join those of the topology.
    pub blueprint: Option<Arc<str>>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            match_declared: true,
            check_unused: false,
            blueprint: None,
        }
    }
}

/// Reads a service template; gives it, unless it makes no sense at all, and every problem found.
/// With an error among the problems, parts of it are missing.
pub fn read(
    root: &Node,
    base_dir: &Path,
    importer: &mut dyn Importer,
    options: &ReadOptions,
) -> (Option<ServiceTemplate>, Diagnostics) {
    let empty = Mapping::default();
    let map = match root.as_map() {
        Some(map) => map,
        None if root.is_null() => &empty,
        None => {
            let message = format!("a service template must be a map, not {}", root.kind_name());
            return (
                None,
                Diagnostic::error(message).label(root.span(), "").into(),
            );
        }
    };
    let (types, files) = load(root, base_dir, importer);
    types.check_ancestry();
    if options.check_unused {
        types.resolve_all();
    }
    let scope = Scope {
        types: &types,
        namespace: ROOT,
    };
    let mut topology = scope.topology(
        map.get("topology_template"),
        TopologyOptions {
            match_declared: options.match_declared,
            overrides: blueprint(scope, map, options),
        },
    );
    topology.nested = nested(&types, &files, options);
    let repositories = files
        .iter()
        .rev()
        .filter_map(|file| file.root.get("repositories"));
    let template = ServiceTemplate {
        metadata: metadata(map),
        description: description(map),
        repositories: repositories
            .filter_map(Node::as_map)
            .flatten()
            .map(|(name, entry)| (Arc::clone(name), entry.value.clone()))
            .collect(),
        blueprints: map.get("deployment_blueprints").cloned(),
        topology: Arc::new(topology),
        types: Arc::new(types),
    };
    let problems = template.types.take_problems();
    (Some(template), problems)
}

/// The `metadata`, with the keys that TOSCA 1.0 has beside it.
fn metadata(map: &Mapping) -> Map {
    let mut metadata = values_at(map, "metadata");
    for key in ["template_name", "template_author", "template_version"] {
        if let Some(node) = map.get(key) {
            metadata
                .entry(key.into())
                .or_insert_with(|| node.to_value());
        }
    }
    metadata
}

/// The node templates of the blueprint that the options ask for.
fn blueprint<'m>(scope: Scope<'_>, map: &'m Mapping, options: &ReadOptions) -> Option<&'m Mapping> {
    let wanted = options.blueprint.as_ref()?;
    let blueprints = map.get("deployment_blueprints").and_then(Node::as_map);
    let Some(found) = blueprints.and_then(|map| map.get(wanted)) else {
        let message = format!("there is no deployment blueprint `{wanted}`");
        let mut problem = Diagnostic::error(message);
        let names = blueprints.into_iter().flatten().map(|(name, _)| &**name);
        problem.help = did_you_mean(wanted, names);
        scope.report(problem);
        return None;
    };
    let templates = found
        .get("node_templates")
        .or_else(|| found.get("resource_templates"));
    templates.and_then(Node::as_map)
}

/// The topologies of imported files that can stand in for a node, by its type.
fn nested(
    types: &Types,
    files: &[LoadedFile],
    options: &ReadOptions,
) -> IndexMap<TypeName, Arc<TopologyTemplate>> {
    let mut nested = IndexMap::new();
    for file in files.iter().skip(1) {
        let Some(node) = file.root.get("topology_template") else {
            continue;
        };
        if node.get("substitution_mappings").is_none() && node.get("root").is_none() {
            continue;
        }
        let scope = Scope {
            types,
            namespace: file.namespace,
        };
        let topology = scope.topology(
            Some(node),
            TopologyOptions {
                match_declared: options.match_declared,
                overrides: None,
            },
        );
        let Some(substitution) = &topology.substitution else {
            continue;
        };
        let inner = substitution
            .node
            .as_ref()
            .and_then(|node| topology.nodes.get(node));
        let node_type = substitution
            .node_type
            .clone()
            .or_else(|| inner.map(|inner| inner.node_type.name.clone()));
        if let Some(node_type) = node_type {
            nested.insert(node_type, Arc::new(topology));
        }
    }
    nested
}

/// Checks the values of a topology's inputs: those that are required and missing, and those that
/// their definitions do not admit.
pub fn check_inputs(types: &Types, topology: &TopologyTemplate, values: &Map) -> Diagnostics {
    let mut problems = Diagnostics::default();
    for (name, def) in &topology.inputs {
        match values.get(name) {
            Some(value) => {
                let subject = format!("input `{name}`");
                let (_, found) = check(types, def, value, &subject, (None, Span::NONE));
                for problem in found {
                    problems.push(problem.label(def.span, "declared here"));
                }
            }
            None if def.required && def.default.is_none() => problems.push(
                Diagnostic::error(format!("input `{name}` is missing"))
                    .label(def.span, "declared here, without a default")
                    .help("set it under `spec/inputs` or in the environment's `inputs`"),
            ),
            None => {}
        }
    }
    problems
}

/// Reads a node template that stands outside of the topology, such as the `template` of an
/// instance. Its requirements may name templates of the topology.
pub fn read_node_template(
    service: &ServiceTemplate,
    name: &TemplateName,
    node: &Node,
) -> (Option<super::template::NodeTemplate>, Diagnostics) {
    let scope = Scope {
        types: &service.types,
        namespace: ROOT,
    };
    let template = scope.lone_template(name, node, &service.topology);
    (template, service.types.take_problems())
}
