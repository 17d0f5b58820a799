//! Reads topology templates.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::diagnostic::Diagnostic;
use crate::hash::Fold;
use crate::name::{TemplateName, TypeName};
use crate::value::{Map, Value};
use crate::yaml::{Entry, Kind, Mapping, Node};

use super::check::check;
use super::definition::{ParameterDef, PropertyDef};
use super::filter::Assignment;
use super::keys::{GROUP, PARAMETER, POLICY, SUBSTITUTION, TOPOLOGY};
use super::matching::Index;
use super::node_template::{NodeReader, Unmatched, names_at};
use super::property::{Declared, Properties};
use super::relationship::Plain;
use super::requirement::Resolver;
use super::resolve::metadata_of;
use super::scope::{Scope, values};
use super::section::Section;
use super::similar::did_you_mean;
use super::template::{
    Group, NodeTemplate, Output, Policy, Property, RelationshipTemplate, Substitution,
    TopologyTemplate,
};

/// How to read a topology.
#[derive(Debug, Clone, Copy)]
pub(super) struct TopologyOptions<'a> {
    pub(super) match_declared: bool,
    /// Node templates that replace or join those of the topology.
    pub(super) overrides: Option<&'a Mapping>,
}

impl Scope<'_> {
    /// Reads the topology of a file.
    pub(super) fn topology(
        self,
        node: Option<&Node>,
        options: TopologyOptions<'_>,
    ) -> TopologyTemplate {
        let mut topology = TopologyTemplate::default();
        let empty = Mapping::default();
        let map = node
            .and_then(|node| self.map(node, || "`topology_template`".to_owned()))
            .unwrap_or(&empty);
        TOPOLOGY.check(self.problems(), "a topology template", map);
        topology.inputs = self.parameters(map, "inputs", "the topology");
        self.check_defaults(&topology.inputs);
        topology.outputs = self.outputs(map);
        topology.substitution = self.substitution(map);
        topology.relationships = self.relationship_templates(map);
        let incomplete = topology
            .substitution
            .as_ref()
            .filter(|_| self.namespace != super::types::ROOT)
            .and_then(|substitution| substitution.node.as_ref().map(TemplateName::shared));
        let unmatched = self.node_templates(map, options.overrides, incomplete);
        topology.nodes = self.matched(unmatched, &topology.relationships, options);
        topology.groups = self.groups(map, &topology.nodes);
        topology.policies = self.policies(map, &topology);
        for (name, entry) in self.section(map, "workflows") {
            if let Some(workflow) = self.workflow(name, entry) {
                topology
                    .workflows
                    .insert(Arc::clone(name), Arc::new(workflow));
            }
        }
        self.check_substitution(&topology);
        topology
    }

    /// The entries of a section of the topology.
    fn section<'m>(
        self,
        map: &'m Mapping,
        key: &str,
    ) -> impl Iterator<Item = (&'m Arc<str>, &'m Entry)> {
        let node = map.get(key).filter(|node| !node.is_null());
        let section = node.and_then(Node::as_map);
        if let Some(node) = node.filter(|_| section.is_none()) {
            let message = format!("`{key}` must be a map, not {}", node.kind_name());
            self.problems().error(message, node.span());
        }
        section.into_iter().flatten()
    }

    /// Reads the definitions of inputs.
    pub(super) fn parameters(
        self,
        map: &Mapping,
        key: &str,
        owner: &str,
    ) -> IndexMap<Arc<str>, Arc<ParameterDef>> {
        let mut parameters = IndexMap::new();
        for (name, entry) in self.section(map, key) {
            let what = format!("input `{name}` of {owner}");
            if let Some(def) = self.parameter(&what, name, entry) {
                parameters.insert(Arc::clone(name), Arc::new(def));
            }
        }
        parameters
    }

    /// Reads the definition of an input or an output, whose `type` may be missing.
    fn parameter(self, what: &str, name: &Arc<str>, entry: &Entry) -> Option<PropertyDef> {
        let any = PropertyDef {
            name: Arc::clone(name),
            schema: Arc::new(Self::any_schema()),
            required: true,
            default: None,
            title: None,
            description: None,
            metadata: Map::default(),
            base: None,
            span: entry.key_span,
            default_span: crate::diagnostic::Span::NONE,
        };
        if entry.value.is_null() {
            return Some(any);
        }
        let base = Arc::new(any);
        let mut def = self.definition(&PARAMETER, what, name, entry, Some(&base))?;
        def.base = None;
        Some(def)
    }

    fn check_defaults(self, inputs: &IndexMap<Arc<str>, Arc<ParameterDef>>) {
        for def in inputs.values() {
            let Some(default) = def.default.as_ref().filter(|default| default.is_truthy()) else {
                continue;
            };
            let subject = format_args!("input `{}`", def.name);
            let (_, problems) = check(self.types, def, default, subject, (None, def.default_span));
            for problem in problems {
                self.report(problem);
            }
        }
    }

    fn outputs(self, map: &Mapping) -> IndexMap<Arc<str>, Output> {
        let mut outputs = IndexMap::new();
        for (name, entry) in self.section(map, "outputs") {
            let what = format!("output `{name}`");
            let Some(def) = self.parameter(&what, name, entry) else {
                continue;
            };
            let value = entry.value.get("value").filter(|node| !node.is_null());
            let Some(value) = value else {
                let message = format!("{what} has no `value`");
                self.problems().error(message, entry.key_span);
                continue;
            };
            let output = Output {
                value: value.to_value(),
                description: def.description.clone(),
                sensitive: def.is_sensitive(),
                definition: entry.value.get("type").map(|_| Arc::new(def)),
                span: entry.key_span,
            };
            outputs.insert(Arc::clone(name), output);
        }
        outputs
    }

    fn relationship_templates(
        self,
        map: &Mapping,
    ) -> IndexMap<TemplateName, Arc<RelationshipTemplate>> {
        let mut templates = IndexMap::new();
        let all = map.get("relationship_templates").and_then(Node::as_map);
        for (name, entry) in self.section(map, "relationship_templates") {
            let what = format!("relationship template `{name}`");
            let name = TemplateName::new(Arc::clone(name));
            let copied = entry.value.as_map().zip(all);
            let copied = copied.and_then(|(own, all)| self.copied(&what, own, all));
            let node = match copied {
                Some(copied) => Node::new(Kind::Map(copied), entry.value.span(), None),
                None => entry.value.clone(),
            };
            let read = self.relationship_template(&what, Some(name.clone()), &node, None);
            if let Some(mut template) = read {
                template.span = entry.key_span;
                templates.insert(name, Arc::new(template));
            }
        }
        templates
    }

    fn node_templates(
        self,
        map: &Mapping,
        overrides: Option<&Mapping>,
        incomplete: Option<Arc<str>>,
    ) -> Vec<Unmatched> {
        let mut reader = NodeReader::new(self);
        reader.incomplete = incomplete;
        reader.siblings = map.get("node_templates").and_then(Node::as_map);
        let mut unmatched = Vec::with_capacity(reader.siblings.map_or(0, Mapping::len));
        let overridden = |name: &str| overrides.and_then(|map| map.entry(name));
        for (name, entry) in self.section(map, "node_templates") {
            let entry = overridden(name).unwrap_or(entry);
            unmatched.extend(reader.read(name, &entry.value, entry.key_span));
        }
        let own = map.get("node_templates");
        for (name, entry) in overrides.into_iter().flatten() {
            if own.and_then(|own| own.get(name)).is_none() {
                unmatched.extend(reader.read(name, &entry.value, entry.key_span));
            }
        }
        unmatched
    }

    /// Resolves the requirements of all templates.
    fn matched(
        self,
        mut unmatched: Vec<Unmatched>,
        relationships: &IndexMap<TemplateName, Arc<RelationshipTemplate>>,
        options: TopologyOptions<'_>,
    ) -> IndexMap<TemplateName, Arc<NodeTemplate>, Fold> {
        let mut resolver = Resolver {
            types: self.types,
            index: Index::new(self.types, &unmatched),
            relationships,
            plain: Plain::default(),
            match_declared: options.match_declared,
            assignments: Vec::new(),
        };
        let requirements: Vec<_> = (0..unmatched.len())
            .map(|place| resolver.requirements(place))
            .collect();
        let assignments = std::mem::take(&mut resolver.assignments);
        for (place, assignment) in assignments {
            assign(&mut unmatched[place].template, assignment);
        }
        let templates = unmatched.into_iter().zip(requirements);
        templates
            .map(|(unmatched, requirements)| {
                let mut template = unmatched.template;
                template.requirements = requirements;
                (template.name.clone(), Arc::new(template))
            })
            .collect()
    }

    fn groups(
        self,
        map: &Mapping,
        nodes: &IndexMap<TemplateName, Arc<NodeTemplate>, Fold>,
    ) -> IndexMap<Arc<str>, Group> {
        let mut groups = IndexMap::new();
        for (name, entry) in self.section(map, "groups") {
            let what = format!("group `{name}`");
            let Some(said) = self.map(&entry.value, || what.clone()) else {
                continue;
            };
            GROUP.check(self.problems(), &what, said);
            let span = entry.key_span;
            let Some(key) = self.template_type(&what, said, Section::Group, span) else {
                continue;
            };
            let Some(group_type) = self.types.group_type_of(key) else {
                continue;
            };
            let type_name = group_type.name.clone();
            let members = names_at(said, "members");
            for (member, span) in &members {
                if !nodes.contains_key(&**member) && !Self::has(map, "groups", member) {
                    self.unknown_member(&what, member, *span, nodes);
                }
            }
            let group = Group {
                name: Arc::clone(name),
                properties: self.plain_properties(&what, &type_name, &group_type.properties, said),
                type_name,
                members: members.into_iter().map(|(member, _)| member).collect(),
                metadata: metadata_of(said),
                span,
            };
            groups.insert(Arc::clone(name), group);
        }
        groups
    }

    fn has(map: &Mapping, section: &str, name: &str) -> bool {
        map.get(section).and_then(|node| node.get(name)).is_some()
    }

    fn unknown_member(
        self,
        what: &str,
        member: &str,
        span: crate::diagnostic::Span,
        nodes: &IndexMap<TemplateName, Arc<NodeTemplate>, Fold>,
    ) {
        let message =
            format!("{what} names `{member}`, which is neither a node template nor a group");
        let mut problem = Diagnostic::error(message).label(span, "");
        problem.help = did_you_mean(member, nodes.keys().map(TemplateName::as_str));
        self.report(problem);
    }

    /// The properties of a group or a policy.
    fn plain_properties(
        self,
        what: &str,
        type_name: &TypeName,
        defs: &super::property::Defs,
        said: &Mapping,
    ) -> Arc<Properties> {
        let defaults = self.default_properties(what, defs);
        let declared = Declared {
            type_name: type_name.as_str(),
            defs,
            defaults: &defaults,
            open: false,
            complete: true,
        };
        let given = self.map_at(said, "properties", || what.to_owned());
        let span = said
            .get("type")
            .map_or(crate::diagnostic::Span::NONE, Node::span);
        self.properties(what, declared, given, span)
    }

    /// Reads policies: a list of maps with one key each, or a map.
    fn policies(self, map: &Mapping, topology: &TopologyTemplate) -> IndexMap<Arc<str>, Policy> {
        let mut policies = IndexMap::new();
        let Some(node) = map.get("policies").filter(|node| !node.is_null()) else {
            return policies;
        };
        let items = node.as_seq().unwrap_or(std::slice::from_ref(node));
        for item in items {
            let Some(entries) = self.map(item, || "a policy".to_owned()) else {
                continue;
            };
            for (name, entry) in entries {
                if let Some(policy) = self.policy(name, entry, topology) {
                    policies.insert(Arc::clone(name), policy);
                }
            }
        }
        policies
    }

    fn policy(self, name: &Arc<str>, entry: &Entry, topology: &TopologyTemplate) -> Option<Policy> {
        let what = format!("policy `{name}`");
        let said = self.map(&entry.value, || what.clone())?;
        POLICY.check(self.problems(), &what, said);
        let key = self.template_type(&what, said, Section::Policy, entry.key_span)?;
        let policy_type = self.types.policy_type_of(key)?;
        let type_name = policy_type.name.clone();
        let targets = names_at(said, "targets");
        for (target, span) in &targets {
            if !topology.nodes.contains_key(&**target) && !topology.groups.contains_key(target) {
                self.unknown_member(&what, target, *span, &topology.nodes);
            }
        }
        Some(Policy {
            name: Arc::clone(name),
            properties: self.plain_properties(&what, &type_name, &policy_type.properties, said),
            type_name,
            targets: targets.into_iter().map(|(target, _)| target).collect(),
            triggers: self.triggers(&what, said, &policy_type.triggers),
            metadata: metadata_of(said),
            span: entry.key_span,
        })
    }

    fn substitution(self, map: &Mapping) -> Option<Substitution> {
        let stated = |key| map.entry(key).filter(|entry| !entry.value.is_null());
        let entry = stated("substitution_mappings").or_else(|| stated("root"))?;
        let what = || "`substitution_mappings`".to_owned();
        let said = self.map(&entry.value, what)?;
        SUBSTITUTION.check(self.problems(), "`substitution_mappings`", said);
        let type_node = said.get("node_type").or_else(|| said.get("type"));
        let node_type = type_node.and_then(|node| {
            let key = self.require(node.as_str()?, Section::Node, node.span())?;
            Some(self.types.name(key))
        });
        Some(Substitution {
            node: self.text_at(said, "node", what).map(TemplateName::new),
            node_type,
            mapping: values(&entry.value),
            span: entry.key_span,
        })
    }

    fn check_substitution(self, topology: &TopologyTemplate) {
        let Some(substitution) = &topology.substitution else {
            return;
        };
        let node = substitution.node.as_ref();
        let Some(node) = node.filter(|node| !topology.nodes.contains_key(*node)) else {
            return;
        };
        let message = format!("`substitution_mappings` names `{node}`, which is no node template");
        let mut problem = Diagnostic::error(message).label(substitution.span, "");
        let names = topology.nodes.keys().map(TemplateName::as_str);
        problem.help = did_you_mean(node.as_str(), names);
        self.report(problem);
    }
}

/// Sets what a filter wants set.
fn assign(template: &mut NodeTemplate, assignment: Assignment) {
    let properties = match &assignment.capability {
        None => &mut template.properties,
        Some(capability) => {
            let capabilities = Arc::make_mut(&mut template.capabilities);
            match capabilities.get_mut(capability) {
                Some(found) => &mut found.properties,
                None => return,
            }
        }
    };
    let properties = Arc::make_mut(properties);
    let definition = properties
        .get(&assignment.property)
        .and_then(|property| property.definition.clone())
        .or_else(|| {
            template
                .node_type
                .properties
                .get(&assignment.property)
                .cloned()
        });
    let property = Property {
        value: Value::clone(&assignment.value),
        definition,
        set_on_template: true,
        span: assignment.span,
    };
    properties.insert(assignment.property, property);
}
