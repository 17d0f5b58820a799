//! Reads the implementations of operations: configurators, commands and artifacts.
//!
//! [`TypeScope::implementation`] turns the YAML into an [`Implementation`]. The merge of interfaces calls it
//! once per resulting operation.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;

use crate::diagnostic::{Check, Diagnostic};
use crate::name::OperationRef;
use crate::value::{Map, Value};
use crate::yaml::{MapEntry, Mapping, Node};

use super::keys::IMPLEMENTATION;
use super::operation::{
    Artifact, Dependency, INLINE_PREFIX, Implementation, ImplementationKind, Operations,
    is_inline_name, short_name,
};
use super::scope::{TypeScope, values};

/// The artifacts of an entity, by name.
pub(super) type ArtifactMap = IndexMap<Arc<str>, Arc<Artifact>>;

/// Adds the artifacts that operations define inline to the artifacts of their entity.
///
/// Inline artifacts of an earlier call are replaced.
pub(super) fn add_inline_artifacts(artifacts: &mut Arc<ArtifactMap>, operations: &Operations) {
    let implementations = operations
        .iter()
        .filter_map(|it| it.implementation.as_ref());
    let stated = implementations.filter_map(|it| it.primary.as_ref());
    let stated: Vec<_> = stated.filter(|it| is_inline_name(&it.name)).collect();
    let is_stale = artifacts.keys().any(|name| is_inline_name(name));
    if stated.is_empty() && !is_stale {
        return;
    }
    let all = Arc::make_mut(artifacts);
    all.retain(|name, _| !is_inline_name(name));
    let named = |artifact: &Arc<Artifact>| (Arc::clone(&artifact.name), Arc::clone(artifact));
    all.extend(stated.into_iter().map(named));
}

/// The artifacts that implementations can refer to by name.
#[derive(Debug, Clone, Copy)]
pub(super) struct ArtifactScope<'a> {
    named: Option<&'a ArtifactMap>,
    has_own: bool,
}

impl<'a> ArtifactScope<'a> {
    /// A scope without artifacts, for entities that cannot have any.
    pub(super) const NONE: ArtifactScope<'static> = ArtifactScope {
        named: None,
        has_own: false,
    };

    /// Creates a scope. `own` states whether a template has artifacts that its type does not have.
    pub(super) fn new(named: &'a ArtifactMap, own: bool) -> Self {
        Self {
            named: Some(named),
            has_own: own,
        }
    }

    /// Whether the artifacts differ from those of the type.
    pub(super) fn has_own(&self) -> bool {
        self.has_own
    }

    fn get(&self, name: &str) -> Option<&'a Arc<Artifact>> {
        self.named?.get(name)
    }
}

impl Implementation {
    /// Sets the artifact that the operation executes. A `className` of the implementation takes precedence over that of the
    /// artifact.
    pub(super) fn execute_artifact(&mut self, artifact: Arc<Artifact>) {
        if self.class.is_none() {
            self.class = class_of(&artifact);
            self.kind = kind_of_artifact(&artifact, self.class.as_deref());
        }
        self.primary = Some(artifact);
        self.primary_text = None;
    }

    /// Names an inline artifact after its interface and its operation.
    ///
    /// Does nothing if the artifact is not defined inline.
    pub(super) fn name_inline_artifact(&mut self, reference: &OperationRef, node: &Node) {
        if node.get("primary").is_none_or(|it| it.as_map().is_none()) {
            return;
        }
        let Some(artifact) = &mut self.primary else {
            return;
        };
        let (interface, operation) = (&reference.interface, &reference.operation);
        let name: Arc<str> = format!("{INLINE_PREFIX}{interface}_{operation}").into();
        Arc::make_mut(artifact).name = Arc::clone(&name);
        if let ImplementationKind::Artifact(named) = &mut self.kind {
            *named = name;
        }
    }
}

impl TypeScope<'_> {
    /// Reads an implementation: a string, or a map with `primary` or `className`.
    ///
    /// `extras` holds keys such as `timeout` that are written beside the implementation in the operation.
    pub(super) fn implementation(
        self,
        subject: &str,
        node: &Node,
        extras: Option<&Node>,
        artifacts: &ArtifactScope<'_>,
    ) -> Option<Implementation> {
        let extras = extras.and_then(Node::as_map);
        if let Some(text) = node.as_str() {
            let mut implementation = Self::implementation_by_name(text, node, artifacts);
            if let Some(extras) = extras {
                self.read_execution_settings(subject, &mut implementation, extras);
            }
            return Some(implementation);
        }
        let Some(map) = node.as_map() else {
            self.problems().report(node.type_mismatch(
                format_args!("the implementation of {subject}"),
                "a string or a map",
            ));
            return None;
        };
        let whole = format!("the implementation of {subject}");
        self.problems()
            .report_unknown_keys(&IMPLEMENTATION, &whole, map);
        let mut implementation = self.implementation_from_map(subject, node, map, artifacts)?;
        for source in [extras, Some(map)].into_iter().flatten() {
            self.read_execution_settings(subject, &mut implementation, source);
        }
        implementation.pre_conditions = map.get("preConditions").map(Node::to_value);
        implementation.dependencies = self.dependencies(subject, map);
        Some(implementation)
    }

    /// Creates an implementation from a string: the name of a configurator, of an artifact or of a class, or
    /// otherwise a command.
    fn implementation_by_name(
        text: &str,
        node: &Node,
        artifacts: &ArtifactScope<'_>,
    ) -> Implementation {
        let (kind, class, primary) = if let Some(short) = short_name(text) {
            let kind = ImplementationKind::Configurator(short.into());
            (kind, Some(text.into()), None)
        } else if let Some(artifact) = artifacts.get(text) {
            let class = class_of(artifact);
            (
                kind_of_artifact(artifact, class.as_deref()),
                class,
                Some(Arc::clone(artifact)),
            )
        } else if is_class_path(text) {
            (
                ImplementationKind::Unsupported(text.into()),
                Some(text.into()),
                None,
            )
        } else {
            (
                ImplementationKind::Command(text.trim_start().into()),
                None,
                None,
            )
        };
        Implementation {
            kind,
            class,
            primary,
            primary_text: None,
            dependencies: Vec::new(),
            operation_host: None,
            environment: Map::default(),
            timeout: None,
            pre_conditions: None,
            span: node.span(),
        }
    }

    /// Reads an implementation that is a map with `primary`, `className` or both.
    fn implementation_from_map(
        self,
        subject: &str,
        node: &Node,
        map: &Mapping,
        artifacts: &ArtifactScope<'_>,
    ) -> Option<Implementation> {
        let class = self.text_at(map, "className", || {
            format!("the implementation of {subject}")
        });
        let mut implementation = match map.get("primary").filter(|node| !node.is_null()) {
            Some(primary) => self.primary_artifact(subject, primary, artifacts)?,
            None if class.is_some() => Self::implementation_by_name("", node, &ArtifactScope::NONE),
            None => {
                self.report(
                    Diagnostic::warning(format!(
                        "the implementation of {subject} has nothing to run"
                    ))
                    .check(Check::UnusedKey)
                    .label(node.span(), "")
                    .help("add a `primary` or a `className`"),
                );
                return None;
            }
        };
        if let Some(class) = class {
            implementation.kind = match short_name(&class) {
                Some(short) => ImplementationKind::Configurator(short.into()),
                None => ImplementationKind::Unsupported(Arc::clone(&class)),
            };
            implementation.class = Some(class);
        }
        implementation.span = node.span();
        Some(implementation)
    }

    /// Reads `primary`: the name of an artifact, a command, or an inline artifact.
    fn primary_artifact(
        self,
        subject: &str,
        node: &Node,
        artifacts: &ArtifactScope<'_>,
    ) -> Option<Implementation> {
        if let Some(text) = node.as_str() {
            let mut named = Self::implementation_by_name(text, node, artifacts);
            named.primary_text = named.primary.is_none().then(|| text.into());
            return Some(named);
        }
        let artifact = self.inline_artifact(subject, node)?;
        let mut found = Self::implementation_by_name("", node, &ArtifactScope::NONE);
        found.execute_artifact(artifact);
        Some(found)
    }

    /// Reads an artifact that is defined inline.
    fn inline_artifact(self, subject: &str, node: &Node) -> Option<Arc<Artifact>> {
        if node.as_map().is_none() {
            self.problems().report(
                node.type_mismatch(format_args!("an artifact of {subject}"), "a name or a map"),
            );
            return None;
        }
        let name: Arc<str> = node.get("file").and_then(Node::as_str).unwrap_or("").into();
        let subject = format!("the artifact of {subject}");
        let entry = MapEntry::new(node.span(), node.clone());
        self.artifact(&subject, &name, &entry, None).map(Arc::new)
    }

    fn dependencies(self, subject: &str, map: &Mapping) -> Vec<Dependency> {
        let items = match map.get("dependencies") {
            Some(one) if one.as_str().is_some() => std::slice::from_ref(one),
            _ => self.list_at(map, "dependencies", || {
                format!("the implementation of {subject}")
            }),
        };
        let read = |item: &Node| match item.as_str() {
            Some(name) => Some(Dependency::Named(name.into())),
            None => self.inline_artifact(subject, item).map(Dependency::Inline),
        };
        items.iter().filter_map(read).collect()
    }

    /// Reads `operation_host`, `timeout` and `environment` from a map into the implementation.
    fn read_execution_settings(
        self,
        subject: &str,
        implementation: &mut Implementation,
        map: &Mapping,
    ) {
        if let Some(host) = self.text_at(map, "operation_host", || subject.to_owned()) {
            implementation.operation_host = Some(host);
        }
        let environment = map.get("environment");
        let stated = environment.filter(|node| {
            self.map(node, || format!("`environment` of {subject}"))
                .is_some()
        });
        if let Some(environment) = stated {
            implementation.environment = values(environment);
        }
        if let Some(node) = map.get("timeout").filter(|node| !node.is_null()) {
            match seconds(&node.to_value()) {
                Some(timeout) => implementation.timeout = Some(timeout),
                None => self.problems().error(
                    Check::WrongKind,
                    format!("`timeout` of {subject} must be a number of seconds"),
                    node.span(),
                ),
            }
        }
    }
}

fn seconds(value: &Value) -> Option<Duration> {
    match value {
        Value::Int(number) => u64::try_from(*number).ok().map(Duration::from_secs),
        Value::Float(number) => Duration::try_from_secs_f64(*number).ok(),
        _ => None,
    }
}

/// Returns the class that runs an artifact.
///
/// The class that the `execute` operation names has priority over the `className` property of the artifact.
fn class_of(artifact: &Artifact) -> Option<Arc<str>> {
    let execute = artifact.execute();
    let execute = execute.and_then(|operation| operation.implementation.as_ref()?.class.clone());
    if let Some(class) = execute.filter(|class| class.contains(':')) {
        return Some(class);
    }
    let value = &artifact.properties.get("className")?.value;
    value.as_str().map(Arc::from)
}

fn kind_of_artifact(artifact: &Artifact, class: Option<&str>) -> ImplementationKind {
    let is_command = artifact.type_name.as_str() == "tosca.artifacts.Root"
        || artifact.is_a("tosca.artifacts.Implementation");
    match class {
        // Unfurl 1.2 runs the file of an artifact without a configurator as a command.
        None => match artifact.file.as_str().filter(|_| is_command) {
            Some(command) => ImplementationKind::Command(command.trim_start().into()),
            None => ImplementationKind::Artifact(Arc::clone(&artifact.name)),
        },
        Some(class) => match short_name(class) {
            Some(short) => ImplementationKind::Configurator(short.into()),
            None => ImplementationKind::Unsupported(class.into()),
        },
    }
}

/// Whether a text is the path of a class: `unfurl.configurators.module.Class` or `file.py#Class`.
fn is_class_path(text: &str) -> bool {
    let is_word =
        |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_');
    if let Some((file, class)) = text.split_once('#') {
        let is_python = Path::new(file).extension().is_some_and(|it| it == "py");
        return is_word(class) && is_python && !file.contains(char::is_whitespace);
    }
    text.starts_with("unfurl.configurators.") && text.split('.').all(is_word)
}
