//! Reads topology templates.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};

use crate::diagnostic::Diagnostic;
use crate::name::{TemplateName, TypeName};
use crate::text::did_you_mean;
use crate::value::{FoldMap, FoldSet, Map, Value};
use crate::yaml::{Entry, Kind, Mapping, Node};

use super::check::check;
use super::definition::{ParameterDef, Properties, Property, PropertyDef};
use super::filter::Assignment;
use super::keys::{GROUP, PARAMETER, POLICY, TOPOLOGY};
use super::known::Known;
use super::matching::Index;
use super::node_template::{NodeReader, Unmatched, names_at};
use super::options::ReadOptions;
use super::property::Declared;
use super::relationship::Plain;
use super::requirement::Resolver;
use super::resolve::metadata_of;
use super::scope::Scope;
use super::section::Section;
use super::template::{
    Group, NodeTemplate, Output, Policy, RelationshipTemplate, Substitution, TopologyTemplate,
};

/// The names of the node templates of a topology.
type Names = IndexSet<TemplateName>;

/// A topology whose requirements are not resolved yet.
pub(super) struct Draft<'a> {
    pub(super) scope: Scope<'a>,
    /// All of it but its node templates.
    pub(super) topology: TopologyTemplate,
    pub(super) unmatched: Vec<Unmatched>,
}

/// Node templates besides those that a file states, raw.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct More<'m> {
    /// Those that replace or join its own.
    pub(super) overrides: Option<&'m Mapping>,
    /// Those that have left it.
    pub(super) departed: Option<&'m Mapping>,
}

impl<'m> More<'m> {
    /// Those that options give.
    pub(super) fn of(overrides: Option<&'m Mapping>, options: &'m ReadOptions) -> Self {
        Self {
            overrides,
            departed: Some(&options.departed),
        }
    }
}

impl<'a> Scope<'a> {
    /// Reads the topology of a file, and more node templates.
    pub(super) fn draft(self, node: Option<&Node>, more: More<'_>) -> Draft<'a> {
        let mut topology = TopologyTemplate::default();
        let empty = Mapping::default();
        let map = node
            .and_then(|node| self.map(node, || "`topology_template`".to_owned()))
            .unwrap_or(&empty);
        self.problems()
            .unknown_keys(&TOPOLOGY, "a topology template", map);
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
        let unmatched = self.node_templates(map, more, incomplete);
        let names = unmatched.iter().map(|it| it.template.name.clone());
        let names: Names = names.collect();
        topology.groups = self.groups(map, &names);
        topology.policies = self.policies(map, &topology.groups, &names);
        for (name, entry) in self.section(map, "workflows") {
            if let Some(workflow) = self.workflow(name, entry) {
                topology
                    .workflows
                    .insert(Arc::clone(name), Arc::new(workflow));
            }
        }
        if let Some(substitution) = &mut topology.substitution {
            self.settle_values(substitution, &topology.inputs);
            self.check_substitution(substitution, &topology.inputs, &unmatched);
            let node = substitution.node.as_ref();
            let inner = unmatched
                .iter()
                .find(|it| Some(&it.template.name) == node)
                .map(|it| &it.template.node_type);
            if let Some(node_type) = inner.filter(|_| substitution.type_key.is_none()) {
                substitution.type_key = Some(node_type.key);
                substitution.node_type = Some(node_type.name.clone());
            }
        }
        Draft {
            scope: self,
            topology,
            unmatched,
        }
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
            self.problems()
                .report(node.must_be(format_args!("`{key}`"), "a map"));
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
        more: More<'_>,
        incomplete: Option<Arc<str>>,
    ) -> Vec<Unmatched> {
        let mut reader = NodeReader::new(self);
        reader.incomplete = incomplete;
        reader.siblings = map.get("node_templates").and_then(Node::as_map);
        let mut unmatched = Vec::with_capacity(reader.siblings.map_or(0, Mapping::len));
        let overridden = |name: &str| more.overrides.and_then(|map| map.entry(name));
        for (name, entry) in self.section(map, "node_templates") {
            let entry = overridden(name).unwrap_or(entry);
            unmatched.extend(reader.read(name, &entry.value, entry.key_span));
        }
        let own = map.get("node_templates");
        for (name, entry) in more.overrides.into_iter().flatten() {
            if own.and_then(|own| own.get(name)).is_none() {
                unmatched.extend(reader.read(name, &entry.value, entry.key_span));
            }
        }
        for (name, entry) in more.departed.into_iter().flatten() {
            let is_back = own.and_then(|own| own.get(name)).is_some() || overridden(name).is_some();
            let read = (!is_back).then(|| reader.read(name, &entry.value, entry.key_span));
            unmatched.extend(read.flatten().map(|mut read| {
                read.template.has_left = true;
                read
            }));
        }
        unmatched
    }

    fn groups(self, map: &Mapping, nodes: &Names) -> IndexMap<Arc<str>, Group> {
        let mut groups = IndexMap::new();
        for (name, entry) in self.section(map, "groups") {
            let what = format!("group `{name}`");
            let Some(said) = self.map(&entry.value, || what.clone()) else {
                continue;
            };
            self.problems().unknown_keys(&GROUP, &what, said);
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
                if !nodes.contains(&**member) && !Self::has(map, "groups", member) {
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
        nodes: &Names,
    ) {
        let message =
            format!("{what} names `{member}`, which is neither a node template nor a group");
        let problem = Diagnostic::error(message).label(span, "");
        self.report(problem.help_if(did_you_mean(member, nodes.iter().map(TemplateName::as_str))));
    }

    /// The properties of a group or a policy.
    fn plain_properties(
        self,
        what: &str,
        type_name: &TypeName,
        defs: &super::definition::Defs,
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
    fn policies(
        self,
        map: &Mapping,
        groups: &IndexMap<Arc<str>, Group>,
        nodes: &Names,
    ) -> IndexMap<Arc<str>, Policy> {
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
                if let Some(policy) = self.policy(name, entry, groups, nodes) {
                    policies.insert(Arc::clone(name), policy);
                }
            }
        }
        policies
    }

    fn policy(
        self,
        name: &Arc<str>,
        entry: &Entry,
        groups: &IndexMap<Arc<str>, Group>,
        nodes: &Names,
    ) -> Option<Policy> {
        let what = format!("policy `{name}`");
        let said = self.map(&entry.value, || what.clone())?;
        self.problems().unknown_keys(&POLICY, &what, said);
        let key = self.template_type(&what, said, Section::Policy, entry.key_span)?;
        let policy_type = self.types.policy_type_of(key)?;
        let type_name = policy_type.name.clone();
        let targets = names_at(said, "targets");
        for (target, span) in &targets {
            if !nodes.contains(&**target) && !groups.contains_key(target) {
                self.unknown_member(&what, target, *span, nodes);
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
}

impl Draft<'_> {
    /// What it can stand in for.
    pub(super) fn substitution(&self) -> Option<&Substitution> {
        self.topology.substitution.as_ref()
    }

    /// Resolves the requirements of all templates but those that are given.
    pub(super) fn matched(
        &self,
        mut unmatched: Vec<Unmatched>,
        match_declared: bool,
        given: &FoldMap<usize, FoldSet<Arc<str>>>,
    ) -> Vec<NodeTemplate> {
        let types = self.scope.types;
        let mut resolver = Resolver {
            types,
            index: Index::new(types, &unmatched),
            relationships: &self.topology.relationships,
            plain: Plain::default(),
            match_declared,
            assignments: Vec::new(),
            given,
            known: Known::default(),
        };
        let requirements = resolver.infer();
        let assignments = std::mem::take(&mut resolver.assignments);
        for (place, assignment) in assignments {
            assign(&mut unmatched[place].template, assignment);
        }
        let templates = unmatched.into_iter().zip(requirements);
        templates
            .map(|(unmatched, requirements)| NodeTemplate {
                requirements,
                ..unmatched.template
            })
            .collect()
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
