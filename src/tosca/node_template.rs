//! Reads node templates; their requirements are resolved when all are known.

use std::borrow::Cow;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::diagnostic::{Diagnostic, Span};
use crate::name::{TemplateName, TypeName};
use crate::value::{FoldMap, Value};
use crate::yaml::{Entry, Mapping, Node};

use super::entity::{CapabilityTemplate, NodeType, RequirementDef};
use super::implementation::{ArtifactMap, Artifacts, join_in_place};
use super::interface::Speaker;
use super::interface_draft::Interfaces;
use super::keys::NODE_TEMPLATE;
use super::operation::Operations;
use super::property::Declared;
use super::relationship::stated_name;
use super::resolve::metadata_of;
use super::scope::{Scope, description};
use super::section::Section;
use super::template::NodeTemplate;
use super::types::strings;

/// A node template with the requirements it states, not resolved yet.
#[derive(Debug, Clone)]
pub(super) struct Unmatched {
    pub(super) template: NodeTemplate,
    pub(super) stated: Vec<Arc<RequirementDef>>,
}

/// Reads the node templates of one file.
pub(super) struct NodeReader<'a> {
    pub(super) scope: Scope<'a>,
    /// The templates that others stand in for, whose properties come from outside.
    pub(super) incomplete: Option<Arc<str>>,
    /// The templates that `copy` can name.
    pub(super) siblings: Option<&'a Mapping>,
    known: FoldMap<Arc<str>, (TypeName, Arc<NodeType>)>,
}

impl<'a> NodeReader<'a> {
    pub(super) fn new(scope: Scope<'a>) -> Self {
        Self {
            scope,
            incomplete: None,
            siblings: None,
            known: FoldMap::default(),
        }
    }

    /// Reads one node template.
    pub(super) fn read(&mut self, name: &Arc<str>, node: &Node, span: Span) -> Option<Unmatched> {
        let scope = self.scope;
        let what = format!("node template `{name}`");
        self.check_name(name, span);
        let empty = Mapping::default();
        let map = if node.is_null() {
            &empty
        } else {
            scope.map(node, || what.clone())?
        };
        scope.problems().unknown_keys(&NODE_TEMPLATE, &what, map);
        let copied = (self.siblings).and_then(|all| scope.copied(&what, map, all));
        let map = copied.as_ref().unwrap_or(map);
        let (type_name, node_type) = self.node_type(&what, map, span)?;
        let directives = self.directives(&what, map);
        let stands_in = self.stands_in(name, map, &directives);
        let (given, inline) = self.given_properties(&what, map, &node_type);
        let metadata = metadata_of(map);
        let open = metadata.get("additionalProperties").map(Value::is_truthy);
        let declared = Declared {
            open: open.unwrap_or(node_type.open),
            complete: !stands_in,
            ..Declared::of(type_name.as_str(), &node_type)
        };
        let properties = scope.properties(&what, declared, given.as_deref(), span);
        let (artifacts, operations) = self.implemented(&what, map, &node_type, span);
        let (defs, defaults) = (&node_type.attributes, &node_type.default_attributes);
        let attributes = scope.attributes(&what, defs, defaults, map.get("attributes"));
        let template = NodeTemplate {
            span,
            description: description(map),
            metadata,
            directives,
            properties,
            attributes,
            requirements: Vec::new(),
            capabilities: self.capabilities(&what, map, &node_type, &inline),
            operations,
            artifacts,
            imported: map.get("imported").and_then(Node::as_str).map(Arc::from),
            occurrences: scope.occurrences_at(map, &what),
            node_filter: scope.node_filter(map, &what),
            name: TemplateName::new(Arc::clone(name)),
            type_name,
            node_type,
            nested_in: None,
            stand_in: None,
            is_replaced: false,
            has_left: false,
            from_outer: IndexMap::new(),
        };
        Some(Unmatched {
            stated: self.stated(name, &what, map),
            template,
        })
    }

    /// Whether what the type requires to be set may come from elsewhere.
    fn stands_in(&self, name: &Arc<str>, map: &Mapping, directives: &[Arc<str>]) -> bool {
        directives
            .iter()
            .any(|directive| matches!(&**directive, "select" | "substitute"))
            || map.get("imported").is_some_and(|node| !node.is_null())
            || self.incomplete.as_ref() == Some(name)
    }

    fn check_name(&self, name: &str, span: Span) {
        if !is_identifier(name) {
            self.scope.report(
                Diagnostic::error(format!("`{name}` cannot name a node template"))
                    .label(span, "")
                    .help("use letters, digits, `.`, `_`, `-` and `:`, and start with a letter"),
            );
        }
    }

    fn node_type(
        &mut self,
        what: &str,
        map: &Mapping,
        span: Span,
    ) -> Option<(TypeName, Arc<NodeType>)> {
        let stated = map.get("type").and_then(Node::as_str);
        if let Some(found) = stated.and_then(|name| self.known.get(name)) {
            return Some(found.clone());
        }
        let key = self.scope.template_type(what, map, Section::Node, span)?;
        let stated = stated?;
        let node_type = self.scope.types.node_type_of(key)?;
        let found = (stated_name(stated, key, self.scope.types), node_type);
        self.known.insert(stated.into(), found.clone());
        Some(found)
    }

    fn directives(&self, what: &str, map: &Mapping) -> Vec<Arc<str>> {
        let items = self.scope.list_at(map, "directives", || what.to_owned());
        let read = |item: &Node| {
            if item.as_str().is_none() {
                let message = format!("a directive of {what} must be a string");
                self.scope.problems().error(message, item.span());
            }
            item.as_str().map(Arc::from)
        };
        items.iter().filter_map(read).collect()
    }

    /// The properties a template sets, and those that belong to the capability of their name.
    fn given_properties<'m>(
        &self,
        what: &str,
        map: &'m Mapping,
        node_type: &NodeType,
    ) -> (Option<Cow<'m, Mapping>>, IndexMap<&'m str, &'m Mapping>) {
        let mut inline = IndexMap::new();
        let Some(node) = map.get("properties") else {
            return (None, inline);
        };
        if let Some(items) = node.as_seq() {
            return (Some(Cow::Owned(from_list(items))), inline);
        }
        let Some(map) = self.scope.map(node, || format!("`properties` of {what}")) else {
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
        what: &str,
        map: &Mapping,
        node_type: &NodeType,
        inline: &IndexMap<&str, &Mapping>,
    ) -> Arc<IndexMap<Arc<str>, CapabilityTemplate>> {
        let scope = self.scope;
        let given = scope.map_at(map, "capabilities", || what.to_owned());
        if given.is_none_or(Mapping::is_empty) && inline.is_empty() {
            return Arc::clone(&node_type.default_capabilities);
        }
        let mut capabilities = IndexMap::clone(&node_type.default_capabilities);
        for (name, entry) in given.into_iter().flatten() {
            if !node_type.capabilities.contains_key(name) {
                let message = format!("{what} has no capability `{name}`");
                let mut problem = Diagnostic::error(message).label(entry.key_span, "");
                let known = node_type.capabilities.keys().map(|name| &**name);
                problem.help = crate::text::did_you_mean(name, known);
                scope.report(problem);
            }
        }
        for (name, def) in &node_type.capabilities {
            let entry = given.and_then(|map| map.get(name));
            let said =
                entry.and_then(|node| scope.map(node, || format!("capability `{name}` of {what}")));
            let inner = inline.get(&**name).copied();
            if said.is_some() || inner.is_some() {
                let capability = scope.capability(what, def, said, inner);
                capabilities.insert(Arc::clone(name), capability);
            }
        }
        Arc::new(capabilities)
    }

    /// The artifacts and the operations, which may state artifacts in place.
    fn implemented(
        &self,
        what: &str,
        map: &Mapping,
        node_type: &NodeType,
        span: Span,
    ) -> (Arc<ArtifactMap>, Arc<Operations>) {
        let mut artifacts = self.artifacts(what, map, node_type, span);
        let operations = self.operations(what, map, node_type, &artifacts);
        if !Arc::ptr_eq(&operations, &node_type.operations) {
            join_in_place(&mut artifacts, &operations);
        }
        (artifacts, operations)
    }

    fn artifacts(
        &self,
        what: &str,
        map: &Mapping,
        node_type: &NodeType,
        span: Span,
    ) -> Arc<ArtifactMap> {
        let scope = self.scope;
        let given = scope.map_at(map, "artifacts", || what.to_owned());
        let mut artifacts = Arc::clone(&node_type.artifacts);
        if let Some(given) = given.filter(|given| !given.is_empty()) {
            let all = Arc::make_mut(&mut artifacts);
            for (name, entry) in given {
                let what = format!("artifact `{name}` of {what}");
                let base = node_type.artifacts.get(name).map(|base| &**base);
                if let Some(artifact) = scope.artifact(&what, name, entry, base) {
                    all.insert(Arc::clone(name), Arc::new(artifact));
                }
            }
        }
        for (name, expected) in &node_type.expected_artifacts {
            let wanted = expected.type_name.as_str();
            match artifacts.get(name) {
                None if expected.required => scope.problems().error(
                    format!("{what} lacks artifact `{name}` of type `{wanted}`"),
                    span,
                ),
                Some(found) if !found.definition.is_derived_from(wanted) => {
                    let message = format!(
                        "artifact `{name}` of {what} must be of a type that derives from `{wanted}`"
                    );
                    scope.problems().error(message, found.span);
                }
                _ => {}
            }
        }
        artifacts
    }

    fn operations(
        &self,
        what: &str,
        map: &Mapping,
        node_type: &NodeType,
        artifacts: &Arc<ArtifactMap>,
    ) -> Arc<Operations> {
        let has_artifacts = !Arc::ptr_eq(artifacts, &node_type.artifacts);
        let stated = map.get("interfaces").filter(|node| !node.is_null());
        if stated.is_none() && !has_artifacts {
            return Arc::clone(&node_type.operations);
        }
        let mut interfaces = Interfaces::clone(&node_type.interfaces);
        if let Some(node) = stated {
            interfaces.merge(self.scope, what, node, Speaker::Template);
        }
        let base = Some((&*node_type.interfaces, &*node_type.operations));
        let named = Artifacts::new(artifacts, has_artifacts);
        Arc::new(interfaces.finish(self.scope.types, what, &named, base))
    }

    fn stated(&self, name: &str, what: &str, map: &Mapping) -> Vec<Arc<RequirementDef>> {
        let scope = self.scope;
        let mut stated = Vec::new();
        for item in scope.list_at(map, "requirements", || what.to_owned()) {
            if let Some((requirement, entry)) = scope.requirement_item(item, name) {
                stated.extend(scope.requirement_def(requirement, entry, name));
            }
        }
        stated.extend(self.dependencies(map));
        stated.into_iter().map(Arc::new).collect()
    }

    /// Requirements in the form of blueprints: a list of maps with `name` and `match`.
    fn dependencies(&self, map: &Mapping) -> Vec<RequirementDef> {
        let items = map.get("dependencies").and_then(Node::as_seq);
        let read = |item: &Node| {
            let (name, target) = (item.get("name")?.as_str()?, item.get("match")?);
            let entry = Entry::new(item.span(), target.clone());
            target.as_str()?;
            self.scope.requirement_def(&name.into(), &entry, name)
        };
        items.unwrap_or_default().iter().filter_map(read).collect()
    }
}

/// The properties of a list of maps with `name` and `value`.
fn from_list(items: &[Node]) -> Mapping {
    let named = items.iter().filter_map(|item| {
        let name: Arc<str> = item.get("name")?.as_str()?.into();
        let entry = item.as_map()?.entry("value")?.clone();
        Some((name, entry))
    });
    named.collect()
}

/// Whether a name can stand in keys and paths.
fn is_identifier(name: &str) -> bool {
    let mut characters = name.chars();
    let first = characters.next();
    first.is_some_and(|c| c.is_alphabetic() || c == '_' || c == '.')
        && characters.all(|c| c.is_alphanumeric() || "._:-".contains(c))
}

/// The names under a key of a map.
pub(super) fn names_at(map: &Mapping, key: &str) -> Vec<(Arc<str>, Span)> {
    strings(map.get(key))
}
