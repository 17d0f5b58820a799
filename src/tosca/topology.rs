//! Reads topology templates.
//!
//! [`TypeScope::draft`] reads all parts except the targets of requirements. Nesting then calls
//! [`TopologyDraft::match_requirements`] for the outermost topology and for each copy of a nested one.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};

use crate::diagnostic::{Check, Diagnostic};
use crate::name::{TemplateName, TypeName};
use crate::text::did_you_mean;
use crate::value::{FoldMap, FoldSet, Map, Value};
use crate::yaml::{MapEntry, Mapping, Node, NodeKind};

use super::check::check;
use super::definition::{ParameterDef, Properties, Property, PropertyDef};
use super::keys::{GROUP, PARAMETER, POLICY, TOPOLOGY};
use super::match_state::MatchState;
use super::node_filter::FilterAssignment;
use super::node_template::{NodeReader, UnmatchedTemplate, names_at};
use super::options::ReadOptions;
use super::property::DeclaredProperties;
use super::relationship::PlainRelationships;
use super::requirement_resolver::RequirementResolver;
use super::resolve::metadata_of;
use super::scope::TypeScope;
use super::section::TypeSection;
use super::shared_artifacts::resolve_shared_artifacts;
use super::template::{
    Group, NodeTemplate, Policy, RelationshipTemplate, Substitution, TopologyOutput,
    TopologyTemplate,
};
use super::template_index::TemplateIndex;

/// The names of the node templates of a topology.
type TemplateNames = IndexSet<TemplateName>;

/// A topology whose requirements have no targets yet.
pub(super) struct TopologyDraft<'a> {
    pub(super) scope: TypeScope<'a>,
    /// The topology without its node templates.
    pub(super) topology: TopologyTemplate,
    pub(super) unmatched: Vec<UnmatchedTemplate>,
}

/// Unparsed node templates that do not come from the topology of the file.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ExtraTemplates<'m> {
    /// Templates that replace or extend those of the topology.
    pub(super) overrides: Option<&'m Mapping>,
    /// Templates that are no longer in the model.
    pub(super) orphaned: Option<&'m Mapping>,
    /// Relationship templates that come before those of the topology and replace those of the same name.
    pub(super) connections: Option<&'m Mapping>,
}

impl<'m> ExtraTemplates<'m> {
    /// Returns the templates that the options add.
    pub(super) fn of(overrides: Option<&'m Mapping>, options: &'m ReadOptions) -> Self {
        Self {
            overrides,
            orphaned: Some(&options.orphaned_templates),
            connections: Some(&options.connections),
        }
    }
}

impl<'a> TypeScope<'a> {
    /// Reads the topology of a file, together with the extra templates.
    pub(super) fn draft(self, node: Option<&Node>, more: ExtraTemplates<'_>) -> TopologyDraft<'a> {
        let mut topology = TopologyTemplate::default();
        let empty = Mapping::default();
        let map = node
            .and_then(|node| self.map(node, || "`topology_template`".to_owned()))
            .unwrap_or(&empty);
        self.problems()
            .report_unknown_keys(&TOPOLOGY, "a topology template", map);
        topology.inputs = self.parameters(map, "inputs", "the topology");
        self.check_defaults(&topology.inputs);
        topology.outputs = self.outputs(map);
        topology.substitution = self.substitution(map);
        topology.relationships = self.relationship_templates(map, more.connections);
        let incomplete = topology
            .substitution
            .as_ref()
            .filter(|_| self.namespace != super::types::ROOT)
            .and_then(|substitution| substitution.node.as_ref().map(TemplateName::shared));
        let mut unmatched = self.node_templates(map, more, incomplete);
        resolve_shared_artifacts(&mut unmatched);
        let names = unmatched.iter().map(|it| it.template.name.clone());
        let names: TemplateNames = names.collect();
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
            self.resolve_value_mappings(substitution, &topology.inputs);
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
        TopologyDraft {
            scope: self,
            topology,
            unmatched,
        }
    }

    /// Returns the entries of a section of the topology. Reports a section that is no map.
    fn section<'m>(
        self,
        map: &'m Mapping,
        key: &str,
    ) -> impl Iterator<Item = (&'m Arc<str>, &'m MapEntry)> {
        let node = map.get(key).filter(|node| !node.is_null());
        let section = node.and_then(Node::as_map);
        if let Some(node) = node.filter(|_| section.is_none()) {
            self.problems()
                .report(node.type_mismatch(format_args!("`{key}`"), "a map"));
        }
        section.into_iter().flatten()
    }

    /// Reads the definitions of the inputs under `key`.
    pub(super) fn parameters(
        self,
        map: &Mapping,
        key: &str,
        owner: &str,
    ) -> IndexMap<Arc<str>, Arc<ParameterDef>> {
        let mut parameters = IndexMap::new();
        for (name, entry) in self.section(map, key) {
            let subject = format!("input `{name}` of {owner}");
            if let Some(def) = self.parameter(&subject, name, entry) {
                parameters.insert(Arc::clone(name), Arc::new(def));
            }
        }
        parameters
    }

    /// Reads the definition of an input or an output. Its `type` is optional.
    fn parameter(self, subject: &str, name: &Arc<str>, entry: &MapEntry) -> Option<PropertyDef> {
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
        let mut def = self.definition(&PARAMETER, subject, name, entry, Some(&base))?;
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

    fn outputs(self, map: &Mapping) -> IndexMap<Arc<str>, TopologyOutput> {
        let mut outputs = IndexMap::new();
        for (name, entry) in self.section(map, "outputs") {
            let subject = format!("output `{name}`");
            let Some(def) = self.parameter(&subject, name, entry) else {
                continue;
            };
            let value = entry.value.get("value").filter(|node| !node.is_null());
            let Some(value) = value else {
                let message = format!("{subject} has no `value`");
                self.problems()
                    .error(Check::WrongKind, message, entry.key_span);
                continue;
            };
            let output = TopologyOutput {
                value: value.to_value(),
                description: def.description.clone(),
                sensitive: def.is_sensitive(),
                definition: entry.value.get("type").map(|_| Arc::new(def)),
                span: entry.key_span,
                value_span: value.span(),
            };
            outputs.insert(Arc::clone(name), output);
        }
        outputs
    }

    fn relationship_templates(
        self,
        map: &Mapping,
        connections: Option<&Mapping>,
    ) -> IndexMap<TemplateName, Arc<RelationshipTemplate>> {
        let mut templates = IndexMap::new();
        let mut read = |subject: String, name: &Arc<str>, entry: &MapEntry, all| {
            let name = TemplateName::new(Arc::clone(name));
            let copied = entry.value.as_map().zip(all);
            let copied = copied.and_then(|(own, all)| self.resolve_copy(&subject, own, all));
            let node = match copied {
                Some(copied) => Node::new(NodeKind::Map(copied), entry.value.span(), None),
                None => entry.value.clone(),
            };
            let read = self.relationship_template(&subject, Some(name.clone()), &node, None);
            if let Some(mut template) = read {
                template.span = entry.key_span;
                templates.insert(name, Arc::new(template));
            }
        };
        for (name, entry) in connections.into_iter().flatten() {
            read(format!("connection `{name}`"), name, entry, connections);
        }
        let all = map.get("relationship_templates").and_then(Node::as_map);
        for (name, entry) in self.section(map, "relationship_templates") {
            if connections.is_none_or(|connections| connections.get(name).is_none()) {
                read(format!("relationship template `{name}`"), name, entry, all);
            }
        }
        templates
    }

    fn node_templates(
        self,
        map: &Mapping,
        more: ExtraTemplates<'_>,
        incomplete: Option<Arc<str>>,
    ) -> Vec<UnmatchedTemplate> {
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
        for (name, entry) in more.orphaned.into_iter().flatten() {
            let is_back = own.and_then(|own| own.get(name)).is_some() || overridden(name).is_some();
            let read = (!is_back).then(|| reader.read(name, &entry.value, entry.key_span));
            unmatched.extend(read.flatten().map(|mut read| {
                read.template.is_orphaned = true;
                read
            }));
        }
        unmatched
    }

    fn groups(self, map: &Mapping, nodes: &TemplateNames) -> IndexMap<Arc<str>, Group> {
        let mut groups = IndexMap::new();
        for (name, entry) in self.section(map, "groups") {
            let subject = format!("group `{name}`");
            let Some(definition) = self.map(&entry.value, || subject.clone()) else {
                continue;
            };
            self.problems()
                .report_unknown_keys(&GROUP, &subject, definition);
            let span = entry.key_span;
            let Some(key) = self.template_type(&subject, definition, TypeSection::Group, span)
            else {
                continue;
            };
            let Some(group_type) = self.types.group_type_of(key) else {
                continue;
            };
            let type_name = group_type.name.clone();
            let members = names_at(definition, "members");
            for (member, span) in &members {
                if !nodes.contains(&**member) && !Self::has_member(map, "groups", member) {
                    let groups = self.section(map, "groups").map(|(name, _)| &**name);
                    let names = nodes.iter().map(TemplateName::as_str);
                    self.unknown_member(&subject, member, *span, names.chain(groups));
                }
            }
            let group = Group {
                name: Arc::clone(name),
                properties: self.plain_properties(
                    &subject,
                    &type_name,
                    &group_type.properties,
                    definition,
                ),
                type_name,
                members: members.into_iter().map(|(member, _)| member).collect(),
                metadata: metadata_of(definition),
                span,
            };
            groups.insert(Arc::clone(name), group);
        }
        groups
    }

    fn has_member(map: &Mapping, section: &str, name: &str) -> bool {
        map.get(section).and_then(|node| node.get(name)).is_some()
    }

    fn unknown_member<'n>(
        self,
        subject: &str,
        member: &str,
        span: crate::diagnostic::Span,
        candidates: impl IntoIterator<Item = &'n str>,
    ) {
        let message =
            format!("{subject} names `{member}`, which is neither a node template nor a group");
        let problem = Diagnostic::error(message)
            .check(Check::UnknownTemplate)
            .label(span, "");
        self.report(problem.help_if(did_you_mean(member, candidates)));
    }

    /// Reads the properties of a group or a policy.
    fn plain_properties(
        self,
        subject: &str,
        type_name: &TypeName,
        defs: &super::definition::Defs,
        definition: &Mapping,
    ) -> Arc<Properties> {
        let defaults = self.default_properties(subject, defs);
        let declared = DeclaredProperties {
            type_name: type_name.as_str(),
            defs,
            defaults: &defaults,
            open: false,
            check_required: true,
        };
        let assigned = self.map_at(definition, "properties", || subject.to_owned());
        let span = definition
            .get("type")
            .map_or(crate::diagnostic::Span::NONE, Node::span);
        self.properties(subject, declared, assigned, span)
    }

    /// Reads policies: a list of maps with one key each, or a map.
    fn policies(
        self,
        map: &Mapping,
        groups: &IndexMap<Arc<str>, Group>,
        nodes: &TemplateNames,
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
        entry: &MapEntry,
        groups: &IndexMap<Arc<str>, Group>,
        nodes: &TemplateNames,
    ) -> Option<Policy> {
        let subject = format!("policy `{name}`");
        let definition = self.map(&entry.value, || subject.clone())?;
        self.problems()
            .report_unknown_keys(&POLICY, &subject, definition);
        let key = self.template_type(&subject, definition, TypeSection::Policy, entry.key_span)?;
        let policy_type = self.types.policy_type_of(key)?;
        let type_name = policy_type.name.clone();
        let targets = names_at(definition, "targets");
        for (target, span) in &targets {
            if !nodes.contains(&**target) && !groups.contains_key(target) {
                let names = nodes.iter().map(TemplateName::as_str);
                let groups = groups.keys().map(|name| &**name);
                self.unknown_member(&subject, target, *span, names.chain(groups));
            }
        }
        Some(Policy {
            name: Arc::clone(name),
            properties: self.plain_properties(
                &subject,
                &type_name,
                &policy_type.properties,
                definition,
            ),
            type_name,
            targets: targets.into_iter().map(|(target, _)| target).collect(),
            triggers: self.triggers(&subject, definition, &policy_type.triggers),
            metadata: metadata_of(definition),
            span: entry.key_span,
        })
    }
}

impl TopologyDraft<'_> {
    /// Returns the substitution mapping of the topology.
    pub(super) fn substitution(&self) -> Option<&Substitution> {
        self.topology.substitution.as_ref()
    }

    /// Matches the requirements of the templates, except those that an outer topology fulfils.
    ///
    /// Then sets the property values that node filters assign.
    pub(super) fn match_requirements(
        &self,
        mut unmatched: Vec<UnmatchedTemplate>,
        match_declared: bool,
        outer_requirements: &FoldMap<usize, FoldSet<Arc<str>>>,
    ) -> Vec<NodeTemplate> {
        let types = self.scope.types;
        let mut resolver = RequirementResolver {
            types,
            index: TemplateIndex::new(types, &unmatched),
            relationships: &self.topology.relationships,
            plain: PlainRelationships::default(),
            match_declared,
            assignments: Vec::new(),
            outer_requirements,
            match_state: MatchState::default(),
        };
        let requirements = resolver.match_all();
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

/// Sets the property value that a node filter assigns.
fn assign(template: &mut NodeTemplate, assignment: FilterAssignment) {
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
