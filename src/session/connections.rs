//! The connections of an environment as relationship templates of the service template.

use std::path::Path;
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Diagnostics, Sources, Span};
use crate::project::Environment;
use crate::system::fs;
use crate::tosca::{
    ExtraImport, FROM_ENVIRONMENT, Operation, RelationshipTemplate, ServiceTemplate,
};
use crate::yaml::{MapEntry, Mapping, Node, NodeKind};

/// The connection to the cloud that an environment deploys to.
const PRIMARY_PROVIDER: &str = "primary_provider";
/// The connection that takes the place of a missing `primary_provider`, with its type.
const DEFAULT_PROVIDER: (&str, &str) = (
    "_default_provider",
    "unfurl.relationships.ConnectsTo.ComputeMachines",
);
/// The `default_for` of connections that state none.
const ANY: &str = "ANY";
/// The checks that Unfurl's own connection types have. Jobs run without them.
const PYTHON_CHECKS: [&str; 2] = [
    "unfurl.configurators.gcp.CheckGoogleCloudConnectionConfigurator",
    "unfurl.configurators.k8s.ConnectionConfigurator",
];

/// Returns the connections of an environment as relationship templates.
pub(super) fn relationship_templates(environment: &Environment) -> Mapping {
    let mut templates = Mapping::default();
    let connections = environment.connections().and_then(Node::as_map);
    for (name, entry) in connections.into_iter().flatten() {
        let key_span = entry.key_span;
        let value = relationship_template(&entry.value);
        templates.insert(Arc::clone(name), MapEntry { key_span, value });
    }
    if templates.get(PRIMARY_PROVIDER).is_none() {
        let (name, type_name) = DEFAULT_PROVIDER;
        let mut template = Mapping::default();
        template.insert("type", text(type_name, Span::NONE));
        let template = Node::new(NodeKind::Map(template), Span::NONE, None);
        let value = relationship_template(&template);
        let key_span = Span::NONE;
        templates.insert(name, MapEntry { key_span, value });
    }
    templates
}

/// Adds what distinguishes a connection from other relationship templates.
fn relationship_template(connection: &Node) -> Node {
    let Some(map) = connection.as_map() else {
        return connection.clone();
    };
    let (mut map, span) = (map.clone(), connection.span());
    if map.get("default_for").is_none_or(Node::is_null) {
        map.insert("default_for", text(ANY, span));
    }
    let metadata = map.get("metadata").and_then(Node::as_map);
    let mut metadata = metadata.cloned().unwrap_or_default();
    let value = Node::new(NodeKind::Bool(true), span, None);
    let mark = MapEntry {
        key_span: span,
        value,
    };
    metadata.insert(FROM_ENVIRONMENT, mark);
    let value = Node::new(NodeKind::Map(metadata), span, None);
    let key_span = span;
    map.insert("metadata", MapEntry { key_span, value });
    Node::new(NodeKind::Map(map), span, None)
}

fn text(text: &str, key_span: Span) -> MapEntry {
    let value = Node::new(NodeKind::Str(text.into()), key_span, None);
    MapEntry { key_span, value }
}

/// Returns the imports of an environment, relative to the files that state them.
///
/// Those with a `namespace_prefix` count only if a connection has a type of that namespace.
pub(super) fn imports(
    environment: &Environment,
    sources: &Sources,
    base: &Path,
) -> Vec<ExtraImport> {
    let connections = environment.connections().and_then(Node::as_map);
    let types: Vec<&str> = connections
        .into_iter()
        .flatten()
        .filter_map(|(_, entry)| entry.value.get("type")?.as_str())
        .collect();
    let is_needed = |item: &&Node| {
        let prefix = item.get("namespace_prefix").and_then(Node::as_str);
        prefix.is_none_or(|prefix| {
            let mut types = types.iter().filter_map(|name| name.strip_prefix(prefix));
            types.any(|rest| rest.starts_with('.'))
        })
    };
    let all = environment.section("imports").and_then(Node::as_seq);
    let all = all.into_iter().flatten().filter(is_needed);
    all.map(|item| {
        let source = sources.get(item.span().source);
        let folder = source.and_then(|source| source.path.parent());
        let folder = folder.map_or_else(|| base.to_path_buf(), |it| fs::absolute(it, base));
        ExtraImport {
            item: item.clone(),
            base_dir: Arc::new(folder),
        }
    })
    .collect()
}

/// Returns where an environment states secrets: those of its section, and secret properties of connections.
pub(super) fn secrets(environment: &Environment, service: Option<&ServiceTemplate>) -> Vec<Span> {
    let mut found: Vec<Span> = entries(environment.section("secrets"))
        .map(|(_, entry)| entry.value.span())
        .collect();
    let known = service.map(|service| &service.topology.relationships);
    for (name, entry) in entries(environment.connections()) {
        let template = known.and_then(|known| known.get(&**name));
        for (property, entry) in entries(entry.value.get("properties")) {
            let definition = template.and_then(|it| it.relationship_type.properties.get(property));
            if definition.is_some_and(|it| it.is_sensitive()) {
                found.push(entry.value.span());
            }
        }
    }
    found.retain(|span| span.is_some());
    found
}

fn entries(node: Option<&Node>) -> impl Iterator<Item = (&Arc<str>, &MapEntry)> {
    node.and_then(Node::as_map).into_iter().flatten()
}

/// Reports operations of connections, which jobs do not run.
pub(super) fn check_operations(service: &ServiceTemplate, problems: &mut Diagnostics) {
    for (name, template) in &service.topology.relationships {
        if template.metadata.contains_key(FROM_ENVIRONMENT) {
            let operations = template.operations.iter();
            for operation in operations.filter(|operation| operation.is_implemented()) {
                problems.push(operation_problem(name.as_str(), template, operation));
            }
        }
    }
}

fn operation_problem(
    name: &str,
    template: &RelationshipTemplate,
    operation: &Operation,
) -> Diagnostic {
    let class = operation.implementation.as_ref();
    let class = class.and_then(|implementation| implementation.class.as_deref());
    if class.is_some_and(|class| PYTHON_CHECKS.contains(&class)) {
        let message = format!(
            "the connection `{name}` is not checked before the job, because its check needs Python"
        );
        let warning = Diagnostic::warning(message).label(template.span, "");
        return warning.help("make sure that its credentials are valid");
    }
    let reference = &operation.reference;
    if name == PRIMARY_PROVIDER && reference.to_string() == "Install.check" {
        let message = format!(
            "the connection `{name}` has the operation `{reference}`, which is not supported: it \
             would run before the job"
        );
        let help = "remove it, or make it the `check` of a node template";
        return Diagnostic::error(message)
            .label(template.span, "")
            .help(help);
    }
    let message = format!("the operation `{reference}` of the connection `{name}` never runs");
    Diagnostic::warning(message).label(template.span, "")
}
