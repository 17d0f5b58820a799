//! Reads node templates.
//!
//! [`NodeReader`] reads the templates of one topology as [`UnmatchedTemplate`]s. Their requirements get
//! targets later, when all templates are known.

use std::borrow::Cow;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::diagnostic::{Check, Diagnostic, Span};
use crate::name::{TemplateName, TypeName};
use crate::value::{FoldMap, Value};
use crate::yaml::{MapEntry, Mapping, Node};

use super::entity_types::{CapabilityTemplate, NodeType, RequirementDef};
use super::implementation::{ArtifactMap, ArtifactScope, add_inline_artifacts};
use super::interface_draft::InterfaceDrafts;
use super::interface_merge::DefinitionSource;
use super::keys::NODE_TEMPLATE;
use super::operation::Operations;
use super::property::DeclaredProperties;
use super::relationship::stated_name;
use super::resolve::metadata_of;
use super::scope::{TypeScope, description};
use super::section::TypeSection;
use super::template::NodeTemplate;
use super::types::strings;

/// A node template, with the requirements that it states and that have no targets yet.
#[derive(Debug, Clone)]
pub(super) struct UnmatchedTemplate {
    pub(super) template: NodeTemplate,
    pub(super) stated: Vec<Arc<RequirementDef>>,
}

/// Reads the node templates of one topology.
pub(super) struct NodeReader<'a> {
    pub(super) scope: TypeScope<'a>,
    /// The template that represents a nested topology. Its required properties may come from outside.
    pub(super) incomplete: Option<Arc<str>>,
    /// The templates that `copy` can refer to.
    pub(super) siblings: Option<&'a Mapping>,
    type_cache: FoldMap<Arc<str>, (TypeName, Arc<NodeType>)>,
}

impl<'a> NodeReader<'a> {
    pub(super) fn new(scope: TypeScope<'a>) -> Self {
        Self {
            scope,
            incomplete: None,
            siblings: None,
            type_cache: FoldMap::default(),
        }
    }

    /// Reads a node template. Returns `None` after reporting an error if it has no usable type.
    pub(super) fn read(
        &mut self,
        name: &Arc<str>,
        node: &Node,
        span: Span,
    ) -> Option<UnmatchedTemplate> {
        let scope = self.scope;
        let subject = format!("node template `{name}`");
        self.check_name(name, span);
        let empty = Mapping::default();
        let map = self.checked_map(&subject, node, &empty)?;
        let copied = (self.siblings).and_then(|all| scope.resolve_copy(&subject, map, all));
        let map = copied.as_ref().unwrap_or(map);
        let (type_name, node_type) = self.node_type(&subject, map, span)?;
        let directives = self.directives(&subject, map);
        let stands_in = self.may_be_incomplete(name, map, &directives);
        let (assigned, inline) = self.assigned_properties(&subject, map, &node_type);
        let metadata = metadata_of(map);
        let open = metadata.get("additionalProperties").map(Value::is_truthy);
        let declared = DeclaredProperties {
            open: open.unwrap_or(node_type.open),
            check_required: !stands_in,
            ..DeclaredProperties::of(type_name.as_str(), &node_type)
        };
        let properties = scope.properties(&subject, declared, assigned.as_deref(), span);
        let (artifacts, operations) = self.implemented(&subject, map, &node_type, span);
        let (defs, defaults) = (&node_type.attributes, &node_type.default_attributes);
        let attributes = scope.attributes(&subject, defs, defaults, map.get("attributes"));
        let template = NodeTemplate {
            span,
            description: description(map),
            metadata,
            directives,
            properties,
            attributes,
            requirements: Vec::new(),
            capabilities: self.capabilities(&subject, map, &node_type, &inline),
            operations,
            artifacts,
            imported: map.get("imported").and_then(Node::as_str).map(Arc::from),
            occurrences: scope.occurrences_at(map, &subject),
            node_filter: scope.node_filter(map, &subject),
            name: TemplateName::new(Arc::clone(name)),
            type_name,
            node_type,
            nested_in: None,
            representative: None,
            is_replaced: false,
            is_orphaned: false,
            from_outer: IndexMap::new(),
        };
        Some(UnmatchedTemplate {
            stated: self.stated(name, &subject, map),
            template,
        })
    }

    /// Whether required properties may stay unset, because another node or ensemble provides them.
    fn may_be_incomplete(&self, name: &Arc<str>, map: &Mapping, directives: &[Arc<str>]) -> bool {
        directives
            .iter()
            .any(|directive| matches!(&**directive, "select" | "substitute"))
            || map.get("imported").is_some_and(|node| !node.is_null())
            || self.incomplete.as_ref() == Some(name)
    }

    /// Returns the map of a template, or `empty` if the template is null. Reports unknown keys.
    fn checked_map<'n>(
        &self,
        subject: &str,
        node: &'n Node,
        empty: &'n Mapping,
    ) -> Option<&'n Mapping> {
        let map = if node.is_null() {
            empty
        } else {
            self.scope.map(node, || subject.to_owned())?
        };
        self.scope
            .problems()
            .report_unknown_keys(&NODE_TEMPLATE, subject, map);
        Some(map)
    }

    fn check_name(&self, name: &str, span: Span) {
        if !is_identifier(name) {
            self.scope.report(
                Diagnostic::error(format!("`{name}` is not a valid name for a node template"))
                    .check(Check::WrongKind)
                    .label(span, "")
                    .help("use letters, digits, `.`, `_`, `-` and `:`, and start with a letter"),
            );
        }
    }

    fn node_type(
        &mut self,
        subject: &str,
        map: &Mapping,
        span: Span,
    ) -> Option<(TypeName, Arc<NodeType>)> {
        let stated = map.get("type").and_then(Node::as_str);
        if let Some(found) = stated.and_then(|name| self.type_cache.get(name)) {
            return Some(found.clone());
        }
        let key = self
            .scope
            .template_type(subject, map, TypeSection::Node, span)?;
        let stated = stated?;
        let node_type = self.scope.types.node_type_of(key)?;
        let found = (stated_name(stated, key, self.scope.types), node_type);
        self.type_cache.insert(stated.into(), found.clone());
        Some(found)
    }

    fn directives(&self, subject: &str, map: &Mapping) -> Vec<Arc<str>> {
        let items = self.scope.list_at(map, "directives", || subject.to_owned());
        let read = |item: &Node| {
            if item.as_str().is_none() {
                let message = format!("a directive of {subject} must be a string");
                self.scope
                    .problems()
                    .error(Check::WrongKind, message, item.span());
            }
            item.as_str().map(Arc::from)
        };
        items.iter().filter_map(read).collect()
    }

    /// Returns the properties that the template sets.
    ///
    /// The second result holds maps that belong to the capability of the same name, not to a property.
    fn assigned_properties<'m>(
        &self,
        subject: &str,
        map: &'m Mapping,
        node_type: &NodeType,
    ) -> (Option<Cow<'m, Mapping>>, IndexMap<&'m str, &'m Mapping>) {
        let mut inline = IndexMap::new();
        let Some(node) = map.get("properties") else {
            return (None, inline);
        };
        if let Some(items) = node.as_seq() {
            return (Some(Cow::Owned(properties_from_list(items))), inline);
        }
        let Some(map) = self
            .scope
            .map(node, || format!("`properties` of {subject}"))
        else {
            return (None, inline);
        };
        let is_capability = |name: &str| {
            node_type.capabilities.contains_key(name) && !node_type.properties.contains_key(name)
        };
        for (name, entry) in map {
            if let Some(inner) = entry.value.as_map().filter(|_| is_capability(name)) {
                inline.insert(&**name, inner);
            }
        }
        if inline.is_empty() {
            return (Some(Cow::Borrowed(map)), inline);
        }
        let rest = map
            .iter()
            .filter(|(name, _)| !inline.contains_key(&***name))
            .map(|(name, entry)| (Arc::clone(name), entry.clone()));
        (Some(Cow::Owned(rest.collect())), inline)
    }

    fn capabilities(
        &self,
        subject: &str,
        map: &Mapping,
        node_type: &NodeType,
        inline: &IndexMap<&str, &Mapping>,
    ) -> Arc<IndexMap<Arc<str>, CapabilityTemplate>> {
        let scope = self.scope;
        let assigned = scope.map_at(map, "capabilities", || subject.to_owned());
        if assigned.is_none_or(Mapping::is_empty) && inline.is_empty() {
            return Arc::clone(&node_type.default_capabilities);
        }
        let mut capabilities = IndexMap::clone(&node_type.default_capabilities);
        for (name, entry) in assigned.into_iter().flatten() {
            if !node_type.capabilities.contains_key(name) {
                let message = format!("{subject} has no capability `{name}`");
                let mut problem = Diagnostic::error(message)
                    .check(Check::MissingCapability)
                    .label(entry.key_span, "");
                let known = node_type.capabilities.keys().map(|name| &**name);
                problem.help = crate::text::did_you_mean(name, known);
                scope.report(problem);
            }
        }
        for (name, def) in &node_type.capabilities {
            let entry = assigned.and_then(|map| map.get(name));
            let definition = entry
                .and_then(|node| scope.map(node, || format!("capability `{name}` of {subject}")));
            let inner = inline.get(&**name).copied();
            if definition.is_some() || inner.is_some() {
                let def = match definition {
                    Some(stated) => scope.capability_of_stated_type(def, stated),
                    None => Cow::Borrowed(&**def),
                };
                let capability = scope.capability(subject, &def, definition, inner);
                capabilities.insert(Arc::clone(name), capability);
            }
        }
        Arc::new(capabilities)
    }

    /// Reads artifacts and operations together, because operations may define artifacts inline.
    fn implemented(
        &self,
        subject: &str,
        map: &Mapping,
        node_type: &NodeType,
        span: Span,
    ) -> (Arc<ArtifactMap>, Arc<Operations>) {
        let mut artifacts = self.artifacts(subject, map, node_type, span);
        let operations = self.operations(subject, map, node_type, &artifacts);
        if !Arc::ptr_eq(&operations, &node_type.operations) {
            add_inline_artifacts(&mut artifacts, &operations);
        }
        (artifacts, operations)
    }

    fn artifacts(
        &self,
        subject: &str,
        map: &Mapping,
        node_type: &NodeType,
        span: Span,
    ) -> Arc<ArtifactMap> {
        let scope = self.scope;
        let assigned = scope.map_at(map, "artifacts", || subject.to_owned());
        let mut artifacts = Arc::clone(&node_type.artifacts);
        if let Some(assigned) = assigned.filter(|assigned| !assigned.is_empty()) {
            let all = Arc::make_mut(&mut artifacts);
            for (name, entry) in assigned {
                let subject = format!("artifact `{name}` of {subject}");
                let base = node_type.artifacts.get(name).map(|base| &**base);
                if let Some(artifact) = scope.artifact(&subject, name, entry, base) {
                    all.insert(Arc::clone(name), Arc::new(artifact));
                }
            }
        }
        for (name, expected) in &node_type.expected_artifacts {
            let expected_type = expected.type_name.as_str();
            match artifacts.get(name) {
                None if expected.required => scope.problems().error(
                    Check::UnknownArtifact,
                    format!("{subject} has no artifact `{name}` of type `{expected_type}`"),
                    span,
                ),
                Some(found) if !found.definition.is_derived_from(expected_type) => {
                    let message = format!(
                        "artifact `{name}` of {subject} must be of a type that derives from `{expected_type}`"
                    );
                    scope
                        .problems()
                        .error(Check::WrongType, message, found.span);
                }
                _ => {}
            }
        }
        artifacts
    }

    fn operations(
        &self,
        subject: &str,
        map: &Mapping,
        node_type: &NodeType,
        artifacts: &Arc<ArtifactMap>,
    ) -> Arc<Operations> {
        let has_artifacts = !Arc::ptr_eq(artifacts, &node_type.artifacts);
        let stated = map.get("interfaces").filter(|node| !node.is_null());
        if stated.is_none() && !has_artifacts {
            return Arc::clone(&node_type.operations);
        }
        let mut interfaces = InterfaceDrafts::clone(&node_type.interfaces);
        if let Some(node) = stated {
            interfaces.merge(self.scope, subject, node, DefinitionSource::Template);
        }
        let base = Some((&*node_type.interfaces, &*node_type.operations));
        let named = ArtifactScope::new(artifacts, has_artifacts);
        Arc::new(interfaces.finish(self.scope.types, subject, &named, base))
    }

    fn stated(&self, name: &str, subject: &str, map: &Mapping) -> Vec<Arc<RequirementDef>> {
        let scope = self.scope;
        let mut stated = Vec::new();
        for item in scope.list_at(map, "requirements", || subject.to_owned()) {
            if let Some((requirement, entry)) = scope.requirement_item(item, name) {
                stated.extend(scope.requirement_def(requirement, entry, name));
            }
        }
        stated.extend(self.dependencies(map));
        stated.into_iter().map(Arc::new).collect()
    }

    /// Reads requirements in the form of blueprints: a list of maps with `name` and `match`.
    fn dependencies(&self, map: &Mapping) -> Vec<RequirementDef> {
        let items = map.get("dependencies").and_then(Node::as_seq);
        let read = |item: &Node| {
            let (name, target) = (item.get("name")?.as_str()?, item.get("match")?);
            let entry = MapEntry::new(item.span(), target.clone());
            target.as_str()?;
            self.scope.requirement_def(&name.into(), &entry, name)
        };
        items.unwrap_or_default().iter().filter_map(read).collect()
    }
}

/// Converts properties in the form of a list of maps with `name` and `value`.
fn properties_from_list(items: &[Node]) -> Mapping {
    let named = items.iter().filter_map(|item| {
        let name: Arc<str> = item.get("name")?.as_str()?.into();
        let entry = item.as_map()?.entry("value")?.clone();
        Some((name, entry))
    });
    named.collect()
}

/// Whether a name is valid in keys and paths.
fn is_identifier(name: &str) -> bool {
    let mut characters = name.chars();
    let first = characters.next();
    first.is_some_and(|c| c.is_alphabetic() || c == '_' || c == '.')
        && characters.all(|c| c.is_alphanumeric() || "._:-".contains(c))
}

/// Returns the names in the list under a key, with their locations.
pub(super) fn names_at(map: &Mapping, key: &str) -> Vec<(Arc<str>, Span)> {
    strings(map.get(key))
}
