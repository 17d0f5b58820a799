//! Node filters: test whether a node template meets the conditions of a requirement.
//!
//! A filter has conditions on properties, capabilities, requirements and artifacts, and `match` paths. It may
//! also assign property values to the node that it selects. `requirement_resolver.rs` applies filters.

use std::sync::Arc;

use crate::diagnostic::{Check, Diagnostic, Span};
use crate::value::{Map, Value};
use crate::yaml::{Mapping, Node};

use super::check::is_expression;
use super::constraint::{is_constraint_name, read_constraint};
use super::definition::{DataKind, Properties};
use super::entity_types::CapabilityTemplate;
use super::operation::Artifact;
use super::scope::TypeScope;
use super::section::TypeSection;
use super::template::NodeTemplate;

#[cfg(test)]
thread_local! {
    /// The number of comparisons of a template with a filter, counted for tests.
    pub(super) static COMPARISONS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// A property value that a filter sets on the selected node.
#[derive(Debug, Clone)]
pub(super) struct FilterAssignment {
    /// The capability that has the property. `None` if the property belongs to the node.
    pub(super) capability: Option<Arc<str>>,
    pub(super) property: Arc<str>,
    pub(super) value: Value,
    pub(super) span: Span,
}

/// A node filter, with the scope to look up its type names in.
#[derive(Clone, Copy)]
pub(super) struct NodeFilter<'a> {
    pub(super) scope: TypeScope<'a>,
    pub(super) node: &'a Node,
}

/// A condition that a filter sets on one property.
enum PropertyCondition<'a> {
    /// The property is equal to the value.
    Equals(Value),
    /// The property meets all constraints of the list.
    Satisfies(Vec<&'a Node>),
    /// Sets the property of the selected node to the value.
    Assigns(Value),
}

impl<'a> NodeFilter<'a> {
    /// Whether a template meets the filter, by the property values that are written in the template.
    pub(super) fn admits(self, template: &NodeTemplate) -> bool {
        self.admits_with(template, &|name| own_value(template, name))
    }

    /// Whether a template meets the filter, given a function for the values of its own properties.
    ///
    /// Paths under `match` are not considered here.
    pub(super) fn admits_with(
        self,
        template: &NodeTemplate,
        own: &dyn Fn(&str) -> Option<(DataKind, Value)>,
    ) -> bool {
        #[cfg(test)]
        COMPARISONS.with(|compared| compared.set(compared.get() + 1));
        conditions(self.node).all(|(name, _, condition)| self.holds(&condition, own(name)))
            && self.items("capabilities").all(|(name, filter)| {
                let found = self.capabilities(template, name);
                found.iter().any(|capability| {
                    conditions(filter).all(|(name, _, condition)| {
                        self.holds(&condition, value_of(&capability.properties, name))
                    })
                })
            })
            && self.items("artifacts").all(|(name, filter)| {
                let mut found = template.artifacts.values();
                found.any(|artifact| {
                    self.is_called(artifact, name)
                        && conditions(filter).all(|(name, _, condition)| {
                            self.holds(&condition, field_value(artifact, name))
                        })
                })
            })
            && self.matches(template)
    }

    /// Returns the property values to set on the selected node.
    ///
    /// If the requirement names the node, plain values (otherwise equality conditions) are set as well.
    pub(super) fn assignments(
        self,
        template: &NodeTemplate,
        is_named: bool,
    ) -> Vec<FilterAssignment> {
        let mut collected = Vec::new();
        let mut collect = |filter: &Node, capability: Option<&Arc<str>>| {
            for (name, span, condition) in conditions(filter) {
                let value = match condition {
                    PropertyCondition::Assigns(value) => value,
                    PropertyCondition::Equals(value) if is_named => value,
                    _ => continue,
                };
                collected.push(FilterAssignment {
                    capability: capability.cloned(),
                    property: Arc::clone(name),
                    value,
                    span,
                });
            }
        };
        collect(self.node, None);
        for (name, filter) in self.items("capabilities") {
            for capability in self.capabilities(template, name) {
                collect(filter, Some(&capability.name));
            }
        }
        collected
    }

    /// Returns the equality conditions, which serve to look up candidates in an index.
    pub(super) fn equalities(self) -> impl Iterator<Item = (&'a Arc<str>, Value)> {
        conditions(self.node).filter_map(|(name, _, condition)| match condition {
            PropertyCondition::Equals(value) => Some((name, value)),
            _ => None,
        })
    }

    /// Returns the properties that the filter tests.
    pub(super) fn constrained_properties(self) -> impl Iterator<Item = &'a Arc<str>> {
        let conditions = conditions(self.node);
        let constraining = conditions
            .filter(|(_, _, condition)| !matches!(condition, PropertyCondition::Assigns(_)));
        constraining.map(|(name, _, _)| name)
    }

    /// Returns the properties that the filter sets on a selected node, or on a named one.
    pub(super) fn assigned_properties(self, is_named: bool) -> impl Iterator<Item = Arc<str>> {
        let sets = move |condition: &PropertyCondition<'_>| match condition {
            PropertyCondition::Assigns(_) => true,
            PropertyCondition::Equals(_) => is_named,
            PropertyCondition::Satisfies(_) => false,
        };
        let conditions = conditions(self.node);
        let set = conditions.filter(move |(_, _, condition)| sets(condition));
        set.map(|(name, _, _)| Arc::clone(name))
    }

    /// Returns the filters on the requirements of the selected node, by requirement name.
    pub(super) fn restrictions(self) -> impl Iterator<Item = (&'a Arc<str>, Self)> {
        self.items("requirements").filter_map(move |(name, node)| {
            let node = node.get("node_filter")?;
            Some((name, Self { node, ..self }))
        })
    }

    /// Returns the paths under `match`. Only nodes that they lead to can be selected.
    pub(super) fn paths(self) -> impl Iterator<Item = String> {
        let items = self.match_items().iter();
        items.filter_map(|item| match_path(&item.to_value()))
    }

    fn match_items(self) -> &'a [Node] {
        let node = self.node.get("match");
        node.map_or(&[], |node| {
            node.as_seq().unwrap_or(std::slice::from_ref(node))
        })
    }

    /// Returns the items of a list of maps with one key each. A single map with many keys is equivalent.
    fn items(self, key: &str) -> impl Iterator<Item = (&'a Arc<str>, &'a Node)> {
        entries(self.node.get(key)).map(|(name, entry)| (name, &entry.value))
    }

    fn holds(self, condition: &PropertyCondition<'_>, found: Option<(DataKind, Value)>) -> bool {
        let nodes = match condition {
            PropertyCondition::Assigns(_) => return true,
            PropertyCondition::Equals(collected) => {
                return found.is_some_and(|(kind, value)| {
                    value == *collected
                        || super::constraint::compare(kind, &value, collected)
                            .is_some_and(std::cmp::Ordering::is_eq)
                });
            }
            PropertyCondition::Satisfies(nodes) => nodes,
        };
        let Some((kind, value)) = found.filter(|(_, value)| !is_expression(value)) else {
            return false;
        };
        nodes.iter().all(|node| match read_constraint(node) {
            Ok(constraint) => constraint.rule.violation(kind, &value).is_none(),
            Err(problem) => {
                self.scope.report(problem);
                false
            }
        })
    }

    /// Returns the capabilities with the name, or else those of the type with that name.
    fn capabilities(self, template: &NodeTemplate, name: &str) -> Vec<Arc<CapabilityTemplate>> {
        if let Some(found) = template.capabilities.get(name) {
            return vec![Arc::new(found.clone())];
        }
        let collected = self.scope.find(name, TypeSection::Capability);
        let of_type = template.capabilities.values().filter(|capability| {
            let lineage = self.scope.types.lineage(capability.capability_type.key);
            collected.is_some_and(|collected| lineage.contains(&collected))
        });
        of_type.cloned().map(Arc::new).collect()
    }

    fn is_called(self, artifact: &Artifact, name: &str) -> bool {
        if *artifact.name == *name {
            return true;
        }
        let collected = self.scope.find(name, TypeSection::Artifact);
        let lineage = self.scope.types.lineage(artifact.definition.key);
        collected.is_some_and(|collected| lineage.contains(&collected))
    }

    /// Whether `match` lists the template, or lists no names.
    fn matches(self, template: &NodeTemplate) -> bool {
        self.match_items().iter().all(|item| {
            if match_path(&item.to_value()).is_some() {
                return true;
            }
            if let Some(name) = item.as_str() {
                return template.name == name;
            }
            if let Some(name) = item.get("get_nodes_of_type").and_then(Node::as_str) {
                let collected = self.scope.find(name, TypeSection::Node);
                let lineage = self.scope.types.lineage(template.node_type.key);
                return collected.is_some_and(|collected| lineage.contains(&collected));
            }
            self.scope.report(
                Diagnostic::warning("this expression cannot be used to find a node")
                    .check(Check::EmptyPath)
                    .label(item.span(), "")
                    .help("give a path, or name the node or its type"),
            );
            false
        })
    }
}

fn entries(node: Option<&Node>) -> impl Iterator<Item = (&Arc<str>, &crate::yaml::MapEntry)> {
    let items = node.map(|node| node.as_seq().unwrap_or(std::slice::from_ref(node)));
    let maps = items.unwrap_or_default().iter().filter_map(Node::as_map);
    maps.flat_map(Mapping::iter)
}

/// Returns the property conditions of a filter, with the location of each.
fn conditions(filter: &Node) -> impl Iterator<Item = (&Arc<str>, Span, PropertyCondition<'_>)> {
    entries(filter.get("properties"))
        .map(|(name, entry)| (name, entry.value.span(), condition(&entry.value)))
}

fn condition(node: &Node) -> PropertyCondition<'_> {
    if let Some(items) = node.as_seq() {
        let is_clause = |item: &Node| item.as_map().is_some_and(is_clause);
        if !items.is_empty() && items.iter().all(is_clause) {
            return PropertyCondition::Satisfies(items.iter().collect());
        }
    }
    let value = node.to_value();
    if let Some(map) = node.as_map() {
        if let Some(plain) = map.get("q") {
            return PropertyCondition::Assigns(plain.to_value());
        }
        if is_expression(&value) {
            return PropertyCondition::Assigns(value);
        }
        if is_clause(map) {
            return PropertyCondition::Satisfies(vec![node]);
        }
    }
    PropertyCondition::Equals(value)
}

fn is_clause(map: &Mapping) -> bool {
    map.len() == 1 && map.iter().all(|(name, _)| is_constraint_name(name))
}

fn value_of(properties: &Properties, name: &str) -> Option<(DataKind, Value)> {
    let property = properties.get(name)?;
    let kind = property.definition.as_ref().map(|def| def.schema.kind);
    Some((kind.unwrap_or(DataKind::Any), property.value.clone()))
}

pub(super) fn own_value(template: &NodeTemplate, name: &str) -> Option<(DataKind, Value)> {
    value_of(&template.properties, name).or_else(|| match name {
        "name" => Some((DataKind::String, template.name.shared().into())),
        "type" => Some((DataKind::String, template.type_name.shared().into())),
        "version" => {
            let version = template.node_type.version.clone()?;
            Some((DataKind::Version, version.into()))
        }
        _ => None,
    })
}

fn field_value(artifact: &Artifact, name: &str) -> Option<(DataKind, Value)> {
    value_of(&artifact.properties, name).or_else(|| {
        let value = match name {
            "file" => artifact.file.clone(),
            _ => artifact.fields.get(name)?.clone(),
        };
        let kind = if name == "version" {
            DataKind::Version
        } else {
            DataKind::Any
        };
        Some((kind, value))
    })
}

/// Returns an expression of a filter, with `$SOURCE` bound to the node that has the requirement.
pub(super) fn with_source(value: Value, source: &str) -> Value {
    let Some(map) = value.as_map().filter(|map| map.contains_key("eval")) else {
        return value;
    };
    let mut map = Map::clone(map);
    let own = map.get("vars").and_then(Value::as_map);
    let mut vars = own.cloned().unwrap_or_default();
    let path = format!("::{source}");
    vars.insert("SOURCE".into(), Value::map([("eval", Value::from(path))]));
    map.insert("vars".into(), Value::from(vars));
    Value::from(map)
}

/// Returns the path of a value that is a plain path expression.
pub(super) fn path_of(value: &Value) -> Option<String> {
    match value {
        Value::Str(text) if !is_expression(value) => Some(text.to_string()),
        Value::Map(map) => {
            if let Some(list) = map.get("get_property").and_then(Value::as_list) {
                return property_path(list);
            }
            let inner = map.get("eval").or_else(|| map.get("ref"))?;
            let plain = map
                .keys()
                .all(|key| matches!(&**key, "eval" | "ref" | "vars"));
            plain.then(|| path_of(inner))?
        }
        _ => None,
    }
}

/// Returns the path of an item of `match`, if the item is a path.
pub(super) fn match_path(value: &Value) -> Option<String> {
    let path = path_of(value)?;
    let is_path = path.starts_with('.') || path.contains("::") || value.as_map().is_some();
    is_path.then_some(path)
}

/// Returns the path that is equivalent to a call of `get_property`.
fn property_path(list: &[Value]) -> Option<String> {
    let names = list.iter().map(Value::as_str).collect::<Option<Vec<_>>>()?;
    let (first, rest) = names.split_first()?;
    let start = match *first {
        "SELF" | "SOURCE" => ".".to_owned(),
        "HOST" => "..".to_owned(),
        name => format!("::{name}"),
    };
    let middle = if rest.len() > 1 {
        "::.capabilities"
    } else {
        ""
    };
    Some(format!("{start}{middle}::{}", rest.join("::")))
}
