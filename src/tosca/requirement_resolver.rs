//! Resolves a requirement to its relationship and its targets.
//!
//! [`RequirementResolver::resolve`] handles one requirement. `match_queue.rs` decides the order in which it
//! is called, `template_index.rs` finds the candidates, and `node_filter.rs` selects among them.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::diagnostic::{Check, Diagnostic, Span};
use crate::name::TemplateName;
use crate::text::did_you_mean;
use crate::value::{FoldMap, FoldSet, Map, Value};

use super::check::is_expression;
use super::definition::{DataKind, Occurrences, TypeKey};
use super::entity_types::{Reference, RelationshipType, RequirementDef};
use super::match_state::{MatchState, OpenRequirement};
use super::node_filter::{FilterAssignment, NodeFilter, own_value, with_source};
use super::relationship::PlainRelationships;
use super::scope::TypeScope;
use super::section::TypeSection;
use super::template::{NodeTemplate, RelationshipTemplate, Requirement};
use super::template_index::{TargetQuery, TemplateIndex, capability_of, matching_capability};
use super::types::Types;

/// The relationship type of a requirement that states none.
const ANY_RELATIONSHIP: &str = "tosca.relationships.Root";

/// Resolves the requirements of the templates of one topology.
pub(super) struct RequirementResolver<'a> {
    pub(super) types: &'a Types,
    pub(super) index: TemplateIndex<'a>,
    pub(super) relationships: &'a IndexMap<TemplateName, Arc<RelationshipTemplate>>,
    pub(super) plain: PlainRelationships,
    /// Whether requirements that only the node type declares are matched by type.
    pub(super) match_declared: bool,
    /// The property values that filters set on selected templates, with the index of the template.
    pub(super) assignments: Vec<(usize, FilterAssignment)>,
    /// The requirements that an outer topology fulfils, by the index of their template. They get no target
    /// here.
    pub(super) outer_requirements: &'a FoldMap<usize, FoldSet<Arc<str>>>,
    pub(super) match_state: MatchState<'a>,
}

/// A requirement as stated in a template (`stated`), over its declaration in the node type (`declared`).
///
/// At least one of the two is present.
#[derive(Clone, Copy)]
pub(super) struct MergedRequirement<'r> {
    pub(super) stated: Option<&'r Arc<RequirementDef>>,
    pub(super) declared: Option<&'r Arc<RequirementDef>>,
}

impl<'r> MergedRequirement<'r> {
    pub(super) fn definitions(&self) -> impl Iterator<Item = &'r RequirementDef> {
        let declared = self.declared.map(|def| &**def);
        let stated = self.stated.map(|def| &**def);
        stated.into_iter().chain(declared)
    }

    pub(super) fn find_in_definitions<T>(
        &self,
        get: impl Fn(&'r RequirementDef) -> Option<T>,
    ) -> Option<T> {
        self.definitions().find_map(get)
    }

    pub(super) fn node(&self) -> Option<&'r Reference> {
        self.find_in_definitions(|def| def.node.as_ref())
    }

    pub(super) fn capability(&self) -> Option<&'r Reference> {
        self.find_in_definitions(|def| def.capability.as_ref())
    }

    pub(super) fn has_filter(&self) -> bool {
        self.definitions().any(|def| !def.node_filter.is_empty())
    }

    /// Whether the template itself states the capability that the target must have.
    pub(super) fn states_capability(&self) -> bool {
        self.stated.is_some_and(|def| def.capability.is_some())
    }

    pub(super) fn stated_occurrences(&self) -> Option<Occurrences> {
        self.find_in_definitions(|def| def.occurrences)
    }

    pub(super) fn occurrences(&self) -> Occurrences {
        self.stated_occurrences().unwrap_or(Occurrences::ONE)
    }

    pub(super) fn name(&self) -> &'r Arc<str> {
        &self
            .definitions()
            .next()
            .expect("it is stated, declared or both")
            .name
    }

    pub(super) fn span(&self) -> Span {
        self.find_in_definitions(|def| Some(def.span))
            .unwrap_or(Span::NONE)
    }

    pub(super) fn metadata(&self) -> Map {
        let declared = self.declared.map(|def| def.metadata.clone());
        let mut metadata = declared.unwrap_or_default();
        if let Some(stated) = self.stated {
            let own = stated.metadata.iter();
            metadata.extend(own.map(|(key, value)| (Arc::clone(key), value.clone())));
        }
        metadata
    }
}

impl<'a> RequirementResolver<'a> {
    /// Resolves the requirements of one template, in the order of the text.
    pub(super) fn requirements(&mut self, place: usize) -> Vec<Requirement> {
        let items = self.open_requirements(place);
        items.iter().flat_map(|item| self.resolve(item)).collect()
    }

    /// Finds the relationship and the targets of a requirement. Reports a problem if it finds none.
    pub(super) fn resolve(&mut self, item: &OpenRequirement) -> Vec<Requirement> {
        let template = &self.index.templates[item.template_index].template;
        let merged = self.merged(item);
        let mut found = Vec::new();
        if merged.stated.is_some() {
            self.resolve_stated(template, &merged, item.template_index, &mut found);
        } else if merged.occurrences().max != Some(0) {
            self.resolve_declared(template, &merged, item.template_index, &mut found);
        }
        found
    }

    fn resolve_stated(
        &mut self,
        template: &NodeTemplate,
        merged: &MergedRequirement<'a>,
        place: usize,
        found: &mut Vec<Requirement>,
    ) {
        let Some(relationship) = self.relationship(template, merged, true) else {
            return;
        };
        if let Some(target) = merged
            .node()
            .and_then(|node| self.index.position(&node.name))
        {
            found.extend(self.for_template(template, merged, (place, target), &relationship));
            return;
        }
        let Some(query) = self.query(merged, &relationship, template) else {
            return;
        };
        let has_filter = merged.definitions().any(|def| !def.node_filter.is_empty());
        if !has_filter && !query.is_specific(&relationship.relationship_type) {
            let is_needed = merged.occurrences().min > 0 && relationship.default_for.is_none();
            if is_needed && merged.node().is_none() {
                self.report_unspecified_target(template, merged);
            }
            return;
        }
        let Some(targets) = self.targets((template, place), merged, &query, &relationship) else {
            return;
        };
        if targets.is_empty() {
            self.report_no_target(template, merged, &relationship);
            found.push(self.build_requirement(merged, &relationship, None, None));
        }
        for target in targets {
            let requirement = self.for_candidate(merged, &query, &relationship, target);
            found.push(requirement);
        }
    }

    fn resolve_declared(
        &mut self,
        template: &NodeTemplate,
        merged: &MergedRequirement<'a>,
        place: usize,
        found: &mut Vec<Requirement>,
    ) {
        let is_needed = merged.occurrences().min > 0;
        let named = merged
            .node()
            .and_then(|node| self.index.position(&node.name));
        let has_filter = merged.definitions().any(|def| !def.node_filter.is_empty());
        let matches = has_filter || (self.match_declared && is_needed);
        if !is_needed && !matches && named.is_none() {
            return;
        }
        let Some(relationship) = self.relationship(template, merged, false) else {
            return;
        };
        if let Some(target) = named {
            found.extend(self.for_template(template, merged, (place, target), &relationship));
            return;
        }
        let query = self.query(merged, &relationship, template);
        let query = query.filter(|query| {
            matches && (has_filter || query.is_specific(&relationship.relationship_type))
        });
        let targets = match &query {
            Some(query) => self.targets((template, place), merged, query, &relationship),
            None => Some(Vec::new()),
        };
        let Some(targets) = targets else {
            return;
        };
        if targets.is_empty() && is_needed {
            self.report_missing(template, merged);
            found.push(self.build_requirement(merged, &relationship, None, None));
        }
        for target in targets {
            if let Some(query) = &query {
                found.push(self.for_candidate(merged, query, &relationship, target));
            }
        }
    }

    /// Returns the relationship template of a requirement: inline, named, or a plain one of the stated type.
    fn relationship(
        &mut self,
        template: &NodeTemplate,
        merged: &MergedRequirement<'_>,
        is_stated: bool,
    ) -> Option<Arc<RelationshipTemplate>> {
        let states_relationship =
            |def: &&RequirementDef| def.relationship.is_some() || def.inline_relationship.is_some();
        let Some(def) = merged.definitions().find(states_relationship) else {
            let key = self.types.find(
                super::types::ROOT,
                ANY_RELATIONSHIP,
                TypeSection::Relationship,
            )?;
            return self.plain.of_type(self.types, key);
        };
        if let Some(node) = &def.inline_relationship {
            let scope = TypeScope::of(self.types, def.namespace);
            let subject = format!(
                "the relationship of requirement `{}` of node template `{}`",
                def.name, template.name
            );
            let usual = self.declared_relationship_type(merged);
            let read = scope.relationship_template(&subject, None, node, usual);
            return read.map(Arc::new);
        }
        let reference = def.relationship.as_ref()?;
        if let Some(named) = self.relationships.get(&*reference.name) {
            return Some(Arc::clone(named));
        }
        let scope = TypeScope::of(self.types, reference.namespace);
        if let Some(key) = scope.find(&reference.name, TypeSection::Relationship) {
            return self.plain.of_type(self.types, key);
        }
        self.unknown_relationship(template, merged, reference, is_stated);
        None
    }

    /// Returns the relationship type that the node type declares for a requirement.
    fn declared_relationship_type(&self, merged: &MergedRequirement<'_>) -> Option<TypeKey> {
        let declared = merged.declared?;
        let named = declared.relationship.as_ref();
        let inline = declared.inline_relationship.as_ref();
        let inline = inline.and_then(|node| node.get("type")?.as_str());
        let (name, namespace) = match (named, inline) {
            (Some(reference), _) => (&*reference.name, reference.namespace),
            (None, Some(name)) => (name, declared.namespace),
            (None, None) => (ANY_RELATIONSHIP, super::types::ROOT),
        };
        let scope = TypeScope::of(self.types, namespace);
        scope.find(name, TypeSection::Relationship)
    }

    fn unknown_relationship(
        &self,
        template: &NodeTemplate,
        merged: &MergedRequirement<'_>,
        reference: &Reference,
        is_stated: bool,
    ) {
        let message = format!(
            "requirement `{}` of `{}` names relationship `{}`, which is neither a template nor a type",
            merged.name(),
            template.name,
            reference.name
        );
        let mut problem = if is_stated {
            Diagnostic::error(message)
        } else {
            Diagnostic::warning(message)
        };
        problem = problem
            .check(Check::UnknownTarget)
            .label(reference.span, "");
        let own = self.relationships.keys().map(TemplateName::as_str);
        let declared = self.types.namespaces.iter().flat_map(|it| it.names.keys());
        problem.help = did_you_mean(&reference.name, own.chain(declared.map(|it| &**it)));
        self.types.problems.report(problem);
    }

    /// Returns the conditions on the type of the target. Reports a name that is neither a template nor a
    /// type.
    fn query(
        &self,
        merged: &MergedRequirement<'_>,
        relationship: &RelationshipTemplate,
        template: &NodeTemplate,
    ) -> Option<TargetQuery> {
        let mut node_type = None;
        if let Some(node) = merged.node() {
            let scope = TypeScope::of(self.types, node.namespace);
            node_type = scope.find(&node.name, TypeSection::Node);
            if node_type.is_none() {
                self.unknown_node(merged, node, template);
                return None;
            }
        }
        Some(TargetQuery {
            node_type,
            capability: capability_of(merged.capability()),
            relationship: Some(relationship.relationship_type.key),
        })
    }

    fn unknown_node(
        &self,
        merged: &MergedRequirement<'_>,
        node: &Reference,
        template: &NodeTemplate,
    ) {
        // The node type names an unknown node: `report_missing` reports it if the requirement is mandatory.
        if merged.stated.is_none_or(|def| def.node.is_none()) {
            return;
        }
        let message = format!(
            "requirement `{}` of `{}` names `{}`, which is neither a node template nor a node type",
            merged.name(),
            template.name,
            node.name
        );
        let mut problem = Diagnostic::error(message)
            .check(Check::UnknownTarget)
            .contained()
            .label(node.span, "");
        let types = self.types.namespaces.iter().flat_map(|it| it.names.keys());
        let candidates = self.index.template_names().chain(types.map(|it| &**it));
        problem.help = did_you_mean(&node.name, candidates);
        self.types.problems.report(problem);
    }

    /// Resolves a requirement that names its target.
    fn for_template(
        &mut self,
        template: &NodeTemplate,
        merged: &MergedRequirement<'a>,
        (source, place): (usize, usize),
        relationship: &Arc<RelationshipTemplate>,
    ) -> Option<Requirement> {
        let target = self.index.template(place);
        let query = TargetQuery {
            node_type: None,
            capability: capability_of(merged.capability()),
            relationship: None,
        };
        let relationship_type = &relationship.relationship_type;
        let found = matching_capability(self.types, target, &query, relationship_type);
        if found.is_none() {
            self.report_no_capability(template, merged, relationship, target);
            if merged.states_capability() {
                return None;
            }
        }
        self.assign(merged, source, place, true);
        Some(self.build_requirement(merged, relationship, Some(place), found))
    }

    fn for_candidate(
        &self,
        merged: &MergedRequirement<'_>,
        query: &TargetQuery,
        relationship: &Arc<RelationshipTemplate>,
        place: usize,
    ) -> Requirement {
        let target = self.index.template(place);
        let relationship_type = &relationship.relationship_type;
        let found = matching_capability(self.types, target, query, relationship_type);
        self.build_requirement(merged, relationship, Some(place), found)
    }

    fn build_requirement(
        &self,
        merged: &MergedRequirement<'_>,
        relationship: &Arc<RelationshipTemplate>,
        place: Option<usize>,
        capability: Option<Arc<str>>,
    ) -> Requirement {
        let filters = merged
            .definitions()
            .flat_map(|def| def.node_filter.iter().cloned());
        Requirement {
            name: Arc::clone(merged.name()),
            target: place.map(|place| self.index.template(place).name.clone()),
            relationship: Arc::clone(relationship),
            capability,
            definition: merged.declared.cloned(),
            occurrences: merged.occurrences(),
            stated: merged.stated.cloned(),
            from_outer: false,
            node_filter: filters.collect(),
            metadata: merged.metadata(),
            span: merged.span(),
        }
    }

    /// Returns the templates that match a requirement without a named target.
    ///
    /// Returns `None` after reporting an error if there are more than the requirement allows.
    fn targets(
        &mut self,
        (template, source): (&NodeTemplate, usize),
        merged: &MergedRequirement<'a>,
        query: &TargetQuery,
        relationship: &RelationshipTemplate,
    ) -> Option<Vec<usize>> {
        let filters = self.filters(source, merged);
        let found = self.find_matches(source, query, &relationship.relationship_type, &filters);
        let max = merged.stated_occurrences().and_then(|it| it.max);
        if max.is_some_and(|max| found.len() > max as usize) {
            self.report_ambiguous(template, merged, &found);
            return None;
        }
        for place in &found {
            self.assign(merged, source, *place, false);
        }
        Some(found)
    }

    /// Returns the templates that match the query and all filters, except the source itself.
    ///
    /// Templates with the directive `default` are used only if no other template matches.
    fn find_matches(
        &mut self,
        source: usize,
        query: &TargetQuery,
        relationship: &RelationshipType,
        filters: &[NodeFilter<'a>],
    ) -> Vec<usize> {
        let settable = &self.match_state.settable;
        let candidates = self
            .index
            .candidates(query, relationship, filters, settable);
        let selected = self.nodes_selected_by_match(source, filters);
        let mut places: Vec<usize> = match &selected {
            Some(selected) => {
                let fits = |place: &&usize| candidates.binary_search(place).is_ok();
                selected.iter().filter(fits).copied().collect()
            }
            None => candidates.to_vec(),
        };
        places.sort_unstable();
        places.retain(|place| {
            let template = self.index.template(*place);
            let own = |name: &str| self.own_value(*place, name);
            let mut filters = filters.iter();
            *place != source && filters.all(|filter| filter.admits_with(template, &own))
        });
        let is_default = |place: &usize| self.index.template(*place).has_directive("default");
        if places.len() > 1 && !places.iter().all(is_default) {
            places.retain(|place| !is_default(place));
        }
        places
    }

    /// Returns the value of a property as filters see it, with its kind.
    ///
    /// A value that a filter has set, or that an expression computes from matches, replaces the written
    /// value.
    fn own_value(&self, place: usize, name: &str) -> Option<(DataKind, Value)> {
        let template = self.index.template(place);
        let written = own_value(template, name);
        let is_computed = written
            .as_ref()
            .is_some_and(|(_, value)| is_expression(value));
        if !is_computed && !self.match_state.settable.contains(name) {
            return written;
        }
        let kind = written.as_ref().map_or(DataKind::Any, |(kind, _)| *kind);
        match self.current_value(place, name) {
            Some(value) => Some((kind, value)),
            None => written,
        }
    }

    /// Records the property values that the filters of a requirement set on its target.
    fn assign(
        &mut self,
        merged: &MergedRequirement<'a>,
        source: usize,
        place: usize,
        is_named: bool,
    ) {
        let target = self.index.template(place);
        let source_name = self.index.template(source).name.clone();
        let mut assignments = Vec::new();
        for filter in self.filters(source, merged) {
            assignments.extend(filter.assignments(target, is_named));
        }
        for mut assignment in assignments {
            assignment.value = with_source(assignment.value, source_name.as_str());
            if assignment.capability.is_none() {
                let value = assignment.value.clone();
                self.match_state.assign(place, &assignment.property, value);
            }
            self.assignments.push((place, assignment));
        }
    }
}

/// Returns the filters of a requirement. The filters that the template states come first.
pub(super) fn filters_of<'a>(
    types: &'a Types,
    merged: &MergedRequirement<'a>,
) -> Vec<NodeFilter<'a>> {
    let filters = merged.definitions().flat_map(|def| {
        let scope = TypeScope::of(types, def.namespace);
        let nodes = def.node_filter.iter();
        nodes.map(move |node| NodeFilter { scope, node })
    });
    filters.collect()
}

#[cfg(test)]
mod tests {
    use super::super::options::ReadOptions;
    use super::super::testing::{read_template, read_template_with};
    use crate::value::Value;

    const TYPES: &str = "
node_types:
  Db: {properties: {engine: {type: string, required: false}, size: {type: scalar-unit.size, required: false}}}
  App: {requirements: [{db: {node: Db}}], interfaces: {Standard: {configure: echo}}}
topology_template:
  node_templates:
    small: {type: Db, properties: {engine: pg, size: 1 GB}}
    big: {type: Db, properties: {engine: pg, size: 100 GB}}
    my: {type: Db, properties: {engine: mysql, size: 50 GB}}
";

    fn app(requirement: &str) -> super::super::testing::TestTemplate {
        let text =
            format!("{TYPES}    app: {{type: App, requirements: [{{db: {requirement}}}]}}\n");
        read_template(text.leak())
    }

    #[test]
    fn filters_choose_among_the_templates_of_a_type() {
        let cases = [
            ("{node_filter: {properties: [{engine: mysql}]}}", "my"),
            (
                "{node_filter: {properties: [{size: {greater_than: 60 GB}}]}}",
                "big",
            ),
            (
                "{node_filter: {properties: [{size: {in_range: [40 GB, 60 GB]}}]}}",
                "my",
            ),
            (
                "{node_filter: {properties: [{engine: {valid_values: [mysql, x]}}]}}",
                "my",
            ),
            (
                "{node_filter: {properties: [{size: [{less_than: 2GB}]}, {engine: pg}]}}",
                "small",
            ),
            ("{node_filter: {match: [big]}}", "big"),
            ("big", "big"),
        ];
        for (requirement, target) in cases {
            let case = app(requirement);
            assert_eq!(case.report(), "", "{requirement}");
            let requirements = &case.node("app").requirements;
            assert_eq!(requirements.len(), 1, "{requirement}");
            assert_eq!(requirements[0].target, Some(target.into()), "{requirement}");
        }
    }

    #[test]
    fn a_type_takes_back_a_requirement_that_may_not_occur() {
        let case = read_template(
            "
node_types:
  Db: {derived_from: tosca.nodes.Root}
  App: {derived_from: tosca.nodes.Root, requirements: [{db: {node: Db}}]}
  Lone: {derived_from: App, requirements: [{db: {node: Db, occurrences: [0, 0]}}]}
topology_template: {node_templates: {db: {type: Db}, app: {type: App}, lone: {type: Lone}}}
",
        );
        assert_eq!(case.report(), "");
        assert_eq!(case.node("app").requirements.len(), 1);
        assert_eq!(case.node("lone").requirements.len(), 0);
    }

    #[test]
    fn a_requirement_with_no_match_or_too_many_is_reported() {
        let reported = [
            "{node: Db, node_filter: {properties: [{engine: oracle}]}}",
            "{node: Db, occurrences: [1, 1]}",
            "{node: Dbb}",
            "{node: big, capability: nope}",
            "{node: big, relationship: Nope}",
            "{node: big, relationship: tosca.relationships.ConnectsTo}",
            "{node: big, occurrences: [2, 1], relation: x}",
        ]
        .map(|requirement| app(requirement).report());
        insta::assert_snapshot!(reported.join("\n"), @"
        service.yaml:10:38: no node template of type `Db` fits requirement `db` of node template `app`
        service.yaml:10:38: requirement `db` of node template `app` takes at most 1 target, but 3 fit
          hint: name one of them with `node:`, for example `small`, `big`, `my`
        service.yaml:10:49: requirement `db` of `app` names `Dbb`, which is neither a node template nor a node type
          hint: did you mean `Db`?
        service.yaml:10:38: requirement `db` of node template `app` needs capability `nope`, which `big` does not have
          hint: the capabilities of `big` are `feature`
        service.yaml:10:68: requirement `db` of `app` names relationship `Nope`, which is neither a template nor a type
        service.yaml:10:38: requirement `db` of node template `app` needs a capability that `tosca.relationships.ConnectsTo` can use, which `big` does not have
          hint: the capabilities of `big` are `feature`
        service.yaml:10:75: requirement `db` of `app` has no key `relation`
        service.yaml:10:67: `occurrences` of requirement `db` of `app` must be a lower and an upper bound
        ");
    }

    #[test]
    fn a_requirement_without_occurrences_takes_every_template_that_fits() {
        let case = app("{node_filter: {properties: [{engine: pg}]}}");
        insta::assert_snapshot!(case.targets("app"), @"
        db → small (tosca.relationships.Root, feature)
        db → big (tosca.relationships.Root, feature)
        ");
    }

    #[test]
    fn a_filter_sets_properties_of_its_target() {
        let case = app(
            "{node: big, node_filter: {properties: [{engine: {q: set}}, {size: {eval: '.::x'}}]}}",
        );
        assert_eq!(case.report(), "");
        let big = case.node("big");
        assert_eq!(big.properties["engine"].value, Value::from("set"));
        let size = big.properties["size"].value.to_string();
        assert_eq!(
            size,
            "{'eval': '.::x', 'vars': {'SOURCE': {'eval': '::app'}}}"
        );
    }

    #[test]
    fn a_required_requirement_of_the_type_finds_its_target_or_is_missing() {
        let found = "
node_types: {Db: {}, App: {requirements: [{db: {node: Db}}], interfaces: {Standard: {configure: echo}}}}
topology_template: {node_templates: {app: {type: App}, one: {type: Db}}}
";
        let matched = read_template(found);
        assert_eq!(matched.report(), "");
        assert!(matched.node("app").requirements[0].stated.is_none());
        insta::assert_snapshot!(matched.targets("app"), @"db → one (tosca.relationships.Root, feature)");

        let options = ReadOptions {
            match_declared: false,
            ..ReadOptions::default()
        };
        insta::assert_snapshot!(read_template_with(found, &[], &options).report(), @"
        service.yaml:3:38: node template `app` is missing requirement `db`
          hint: add a node template of type `Db`
        ");

        let missing = "
node_types:
  Db: {}
  App: {requirements: [{db: {node: Db}}, {cache: {node: Db, occurrences: [0, 1]}}]}
  Acts: {derived_from: App, interfaces: {Standard: {configure: echo}}}
topology_template:
  node_templates: {app: {type: App}, acts: {type: Acts}, off: {type: Acts, directives: [select]}}
";
        insta::assert_snapshot!(read_template(missing).report(), @"
        service.yaml:7:20: node template `app` is missing requirement `db`
          hint: add a node template of type `Db`
        service.yaml:7:38: node template `acts` is missing requirement `db`
          hint: add a node template of type `Db`
        ");
    }

    #[test]
    fn relationships_come_by_name_by_type_and_in_place() {
        let case = read_template(
            "
relationship_types:
  Link: {derived_from: tosca.relationships.DependsOn, properties: {user: {type: string}, port: {type: integer, default: 1}}}
node_types:
  A: {requirements: [{plain: {node: B}}, {typed: {node: B, relationship: tosca.relationships.HostedOn}}, {link: {node: B, relationship: Link}}, {own: {node: B, relationship: {type: Link, properties: {user: t}}}}]}
  B: {}
topology_template:
  relationship_templates: {known: {type: Link, properties: {user: u}}}
  node_templates:
    a:
      type: A
      requirements:
        - plain: b
        - typed: b
        - link: {node: b, relationship: known}
        - own: {node: b, relationship: {properties: {user: v}}}
        - extra: {node: b, relationship: Link}
        - connection: {relationship: {type: unfurl.relationships.ConnectsTo.Ansible, default_for: SELF}}
    b: {type: B}
",
        );
        assert_eq!(case.report(), "");
        insta::assert_snapshot!(case.targets("a"), @"
        plain → b (tosca.relationships.Root, feature)
        typed → b (tosca.relationships.HostedOn, feature)
        link → b (Link, feature)
        own → b (Link, feature)
        extra → b (Link, feature)
        connection → nothing (unfurl.relationships.ConnectsTo.Ansible, none)
        ");
        let a = case.node("a");
        assert_eq!(a.host(), Some(&"b".into()));
        let own = &a.requirements[3].relationship;
        assert_eq!(own.properties["user"].value, Value::from("v"));
        let known = &a.requirements[2].relationship;
        assert_eq!(known.name, Some("known".into()));
    }

    #[test]
    fn capabilities_match_by_name_type_and_what_a_relationship_can_use() {
        let case = read_template(
            "
topology_template:
  node_templates:
    server:
      type: tosca.nodes.Compute
      capabilities: {host: {properties: {num_cpus: 2, mem_size: 4096 MB}}, os: {properties: {type: linux}}}
      requirements:
        - local_storage: {node: volume, relationship: {type: tosca.relationships.AttachesTo, properties: {location: /mnt}}}
    volume: {type: tosca.nodes.Storage.BlockStorage, properties: {name: v, size: 10 GB}}
    other: {type: tosca.nodes.Compute}
    software:
      type: tosca.nodes.SoftwareComponent
      requirements: [{host: {node_filter: {capabilities: [{os: {properties: [{type: linux}]}}]}}}]
",
        );
        assert_eq!(case.report(), "");
        insta::assert_snapshot!(case.targets("server"), @"local_storage → volume (tosca.relationships.AttachesTo, attachment)");
        insta::assert_snapshot!(case.targets("software"), @"host → server (tosca.relationships.HostedOn, host)");
        let host = &case.node("server").capabilities["host"];
        assert_eq!(host.properties["num_cpus"].value, Value::from(2));
    }

    #[test]
    fn a_type_that_a_template_states_for_a_capability_replaces_the_declared_one() {
        let case = read_template(
            "
capability_types:
  Ssh: {derived_from: tosca.capabilities.Endpoint, properties: {user: {type: string, default: root}}}
relationship_types:
  Login: {derived_from: tosca.relationships.ConnectsTo, valid_target_types: [Ssh]}
topology_template:
  node_templates:
    plain: {type: tosca.nodes.Compute}
    reachable: {type: tosca.nodes.Compute, capabilities: {endpoint: {type: Ssh, properties: {user: joe}}}}
    default: {type: tosca.nodes.Compute, capabilities: {endpoint: {type: Ssh}}}
    app: {type: tosca.nodes.Root, requirements: [{login: {node: reachable, relationship: Login}}]}
    other: {type: tosca.nodes.Root, requirements: [{login: {node: tosca.nodes.Compute, relationship: Login}}]}
    wrong: {type: tosca.nodes.Compute, capabilities: {endpoint: {type: Shh}}}
",
        );
        insta::assert_snapshot!(case.report(), @"
        service.yaml:13:72: there is no capability type `Shh`
          hint: did you mean `Ssh`?
        ");
        insta::assert_snapshot!(case.targets("app"), @"login → reachable (Login, endpoint)");
        insta::assert_snapshot!(case.targets("other"), @"
        login → reachable (Login, endpoint)
        login → default (Login, endpoint)
        ");
        let user = |node: &str| {
            let endpoint = &case.node(node).capabilities["endpoint"];
            endpoint.properties["user"].value.to_string()
        };
        assert_eq!([user("reachable"), user("default")], ["joe", "root"]);
        assert!(
            !case.node("plain").capabilities["endpoint"]
                .properties
                .contains_key("user")
        );
    }

    #[test]
    fn ten_thousand_filters_over_ten_thousand_templates_take_no_time() {
        use std::fmt::Write as _;
        let mut text = TYPES.to_owned();
        for n in 0..10_000 {
            writeln!(
                text,
                "    db{n}: {{type: Db, properties: {{engine: e{n}}}}}"
            )
            .unwrap();
            let filter = format!("{{properties: [{{engine: e{n}}}]}}");
            writeln!(
                text,
                "    app{n}: {{type: App, requirements: [{{db: {{node_filter: {filter}}}}}]}}"
            )
            .unwrap();
        }
        let case = read_template(text.leak());
        assert_eq!(case.report(), "");
        let target = &case.node("app9999").requirements[0].target;
        assert_eq!(*target, Some("db9999".into()));
    }
}
