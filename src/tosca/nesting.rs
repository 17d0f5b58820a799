//! Substitution: replaces node templates that have the directive `substitute` by nested topologies.
//!
//! [`flatten`] is the entry. It matches the requirements of the outermost topology, copies a topology for
//! each substituted template, maps properties, attributes and requirements across the boundary, and repeats
//! this for the copies. `substitution.rs` reads the mappings.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::diagnostic::{Check, Diagnostic};
use crate::name::TemplateName;
use crate::value::{Fold, FoldMap, FoldSet, Value};

use super::check::is_expression;
use super::definition::{AttributeDecl, Property};
use super::node_template::UnmatchedTemplate;
use super::scope::TypeScope;
use super::template::{
    MappingTarget, NestedTopology, NodeTemplate, PartMapping, Requirement, Substitution,
    TopologyTemplate,
};
use super::topology::TopologyDraft;
use super::types::Types;

/// The maximum depth of topologies nested in each other.
const MAX_LEVELS: usize = 20;

/// The maximum number of node templates, including those of nested topologies.
const MAX_TEMPLATES: usize = 200_000;

/// Matches the requirements of a topology and substitutes its node templates.
///
/// `patterns` are the topologies of imported files. The result contains the templates of all nested
/// topologies.
pub(super) fn flatten(
    types: &Types,
    mut root: TopologyDraft<'_>,
    patterns: &[TopologyDraft<'_>],
    match_declared: bool,
) -> TopologyTemplate {
    let mut nesting = NestingBuilder {
        types,
        patterns,
        match_declared,
        nodes: IndexMap::default(),
        nested: IndexMap::new(),
        open_patterns: Vec::new(),
        is_full: false,
    };
    let outer_requirements = FoldMap::default();
    let unmatched = std::mem::take(&mut root.unmatched);
    let templates = root.match_requirements(unmatched, match_declared, &outer_requirements);
    nesting.add_topology(root.scope, templates);
    TopologyTemplate {
        nodes: nesting.nodes,
        nested: nesting.nested,
        ..root.topology
    }
}

struct NestingBuilder<'a> {
    types: &'a Types,
    /// The topologies of imported files that can substitute for a template.
    patterns: &'a [TopologyDraft<'a>],
    match_declared: bool,
    nodes: IndexMap<TemplateName, Arc<NodeTemplate>, Fold>,
    nested: IndexMap<TemplateName, Arc<NestedTopology>>,
    /// The indexes of the patterns being copied, the outermost first. Prevents endless recursion.
    open_patterns: Vec<usize>,
    is_full: bool,
}

/// The names of the requirements that the outer topology fulfils, by the index of their template.
type OuterRequirements = FoldMap<usize, FoldSet<Arc<str>>>;

impl NestingBuilder<'_> {
    /// Adds the templates of one topology. Templates of a nested topology come before the template that it
    /// substitutes for.
    fn add_topology(&mut self, scope: TypeScope<'_>, templates: Vec<NodeTemplate>) {
        for mut template in templates {
            if template.has_directive("substitute") {
                self.substitute(scope, &mut template);
            }
            if self.nodes.contains_key(&template.name) {
                let message = format!("two node templates are named `{}`", template.name);
                self.types
                    .problems
                    .error(Check::InvalidSubstitution, message, template.span);
            }
            self.nodes.insert(template.name.clone(), Arc::new(template));
        }
    }

    /// Substitutes the first topology that fits for a template.
    fn substitute(&mut self, scope: TypeScope<'_>, outer: &mut NodeTemplate) {
        let patterns = self.patterns;
        let found = patterns.iter().enumerate().find_map(|(place, draft)| {
            let substitution = draft.substitution()?;
            let fits = !self.open_patterns.contains(&place)
                && draft.scope.can_replace(substitution, outer);
            fits.then_some((place, draft, substitution))
        });
        let Some((place, draft, substitution)) = found else {
            let mut open = self.open_patterns.iter().map(|place| &patterns[*place]);
            let itself = open.any(|draft| {
                let substitution = draft.substitution();
                substitution.is_some_and(|it| draft.scope.can_replace(it, outer))
            });
            return report_no_substitution(scope, outer, itself);
        };
        let size = self.nodes.len() + draft.unmatched.len();
        if self.open_patterns.len() >= MAX_LEVELS || size > MAX_TEMPLATES {
            if !std::mem::replace(&mut self.is_full, true) {
                let message = format!(
                    "the topologies nested in node template `{}` exceed the limit of {MAX_LEVELS} levels or {MAX_TEMPLATES} node templates",
                    outer.name
                );
                self.types
                    .problems
                    .error(Check::InvalidSubstitution, message, outer.span);
            }
            return;
        }
        let mut copy = TopologyCopy {
            outer,
            substitution,
            draft,
            unmatched: draft.unmatched.clone(),
            outer_requirements: OuterRequirements::default(),
        };
        let Some(root) = copy.representative() else {
            return;
        };
        let root_name = copy.qualified_name(copy.unmatched[root].template.name.as_str());
        copy.map_properties(root);
        copy.map_attributes(root);
        copy.map_requirements(root);
        let nested = NestedTopology {
            node: root_name.clone(),
            inputs: copy.inputs(),
            capabilities: copy.capabilities(),
            mapped_templates: copy.mapped_templates(),
            topology: Arc::new(draft.topology.clone()),
        };
        let unmatched = std::mem::take(&mut copy.unmatched);
        let mut templates =
            draft.match_requirements(unmatched, self.match_declared, &copy.outer_requirements);
        copy.qualify_names(&mut templates, root);
        outer.representative = Some(root_name);
        self.nested.insert(outer.name.clone(), Arc::new(nested));
        self.open_patterns.push(place);
        self.add_topology(draft.scope, templates);
        self.open_patterns.pop();
    }
}

fn report_no_substitution(scope: TypeScope<'_>, outer: &NodeTemplate, itself: bool) {
    let message = format!(
        "no imported topology can substitute for node template `{}`",
        outer.name
    );
    let help = if itself {
        "a topology cannot be nested in itself; remove the directive `substitute`".to_owned()
    } else {
        format!(
            "import a file whose `substitution_mappings` names `{}`, or remove the directive `substitute`",
            outer.type_name
        )
    };
    scope.report(
        Diagnostic::error(message)
            .check(Check::InvalidSubstitution)
            .label(outer.span, "")
            .help(help),
    );
}

/// A copy of a topology, to be nested in place of the template `outer`.
struct TopologyCopy<'c> {
    outer: &'c NodeTemplate,
    substitution: &'c Substitution,
    draft: &'c TopologyDraft<'c>,
    unmatched: Vec<UnmatchedTemplate>,
    outer_requirements: OuterRequirements,
}

impl TopologyCopy<'_> {
    fn position_of(&self, name: &str) -> Option<usize> {
        let mut templates = self.unmatched.iter();
        templates.position(|unmatched| unmatched.template.name == *name)
    }

    fn qualified_name(&self, name: &str) -> TemplateName {
        TemplateName::new(format!("{}:{name}", self.outer.name))
    }

    /// Returns the index of the template that represents the nested topology to the outside.
    ///
    /// If the mapping names no node, the representative is created from the node type of the mapping.
    fn representative(&mut self) -> Option<usize> {
        if let Some(node) = &self.substitution.node {
            return self.position_of(node.as_str());
        }
        let representative = self.draft.scope.representative_node(self.substitution)?;
        self.unmatched.push(representative);
        Some(self.unmatched.len() - 1)
    }

    /// Returns the inputs of the nested topology, with the property of the outer template that each takes its
    /// value from.
    fn inputs(&self) -> IndexMap<Arc<str>, Arc<str>> {
        let is_set = |name: &Arc<str>| self.outer.properties.contains_key(name);
        let Some(mapped) = &self.substitution.properties else {
            let names = self.draft.topology.inputs.keys();
            let named = names.filter(|name| is_set(name));
            return named
                .map(|name| (Arc::clone(name), Arc::clone(name)))
                .collect();
        };
        let to_input = |(name, mapped): (&Arc<str>, &PartMapping)| match &mapped.target {
            MappingTarget::Input(input) if is_set(name) => {
                Some((Arc::clone(input), Arc::clone(name)))
            }
            _ => None,
        };
        mapped.iter().filter_map(to_input).collect()
    }

    fn capabilities(&self) -> IndexMap<Arc<str>, (TemplateName, Arc<str>)> {
        let to_member = |(name, mapped): (&Arc<str>, &PartMapping)| match &mapped.target {
            MappingTarget::Member { node, path } => {
                let capability = Arc::clone(path.first()?);
                Some((
                    Arc::clone(name),
                    (self.qualified_name(node.as_str()), capability),
                ))
            }
            _ => None,
        };
        let mapped = self.substitution.capabilities.iter();
        mapped.filter_map(to_member).collect()
    }

    /// Returns the nested templates that the substitution mapping names.
    fn mapped_templates(&self) -> Vec<TemplateName> {
        let names = |(_, _, mapped): (&'static str, _, &PartMapping)| match &mapped.target {
            MappingTarget::Member { node, .. } => Some(self.qualified_name(node.as_str())),
            _ => None,
        };
        self.substitution.parts().filter_map(names).collect()
    }

    /// Copies the property values of the outer template to the nested templates.
    fn map_properties(&mut self, root: usize) {
        if self.substitution.node.is_none() {
            self.map_input_defaults(root);
        }
        let outer = self.outer;
        for (name, property) in &*outer.properties {
            self.map_property(root, name, name, property);
        }
        for (name, mapped) in self.substitution.properties.iter().flatten() {
            let Some(property) = outer.properties.get(name) else {
                continue;
            };
            let MappingTarget::Member { node, path } = &mapped.target else {
                continue;
            };
            let Some(place) = self.position_of(node.as_str()) else {
                continue;
            };
            match &path[..] {
                [own] => self.map_property(place, own, name, property),
                [capability, own, ..] => {
                    self.map_capability_property(place, capability, own, name, property);
                }
                [] => {}
            }
        }
        self.check_required(root);
    }

    /// Sets the properties of a created representative from the defaults of the inputs.
    fn map_input_defaults(&mut self, root: usize) {
        let inputs = &self.draft.topology.inputs;
        let default = |input: &str| Some((inputs.get(input)?.default.clone()?, inputs[input].span));
        let defaults: Vec<_> = match &self.substitution.properties {
            None => inputs
                .keys()
                .filter_map(|name| Some((Arc::clone(name), default(name)?)))
                .collect(),
            Some(mapped) => mapped
                .iter()
                .filter_map(|(name, mapped)| match &mapped.target {
                    MappingTarget::Input(input) => Some((Arc::clone(name), default(input)?)),
                    MappingTarget::Value(value) => {
                        Some((Arc::clone(name), (value.clone(), mapped.span)))
                    }
                    MappingTarget::Member { .. } => None,
                })
                .collect(),
        };
        let template = &mut self.unmatched[root].template;
        for (name, (value, span)) in defaults {
            if let Some(definition) = template.node_type.properties.get(&name).cloned() {
                let property = Property {
                    value,
                    definition: Some(definition),
                    set_on_template: false,
                    span,
                };
                Arc::make_mut(&mut template.properties).insert(name, property);
            }
        }
    }

    fn map_property(&mut self, place: usize, own: &Arc<str>, name: &Arc<str>, from: &Property) {
        let template = &mut self.unmatched[place].template;
        let declared = template.node_type.properties.get(own).cloned();
        let property = Property {
            value: from.value.clone(),
            definition: declared.or_else(|| from.definition.clone()),
            ..from.clone()
        };
        Arc::make_mut(&mut template.properties).insert(Arc::clone(own), property);
        if from.set_on_template {
            template
                .from_outer
                .insert(Arc::clone(own), Arc::clone(name));
        }
    }

    fn map_capability_property(
        &mut self,
        place: usize,
        capability: &Arc<str>,
        own: &Arc<str>,
        name: &Arc<str>,
        from: &Property,
    ) {
        let mut property = from.clone();
        if is_expression(&property.value) {
            let path = format!("::{}::{name}", self.outer.name);
            property.value = expression(path);
        }
        let template = &mut self.unmatched[place].template;
        let capabilities = Arc::make_mut(&mut template.capabilities);
        if let Some(found) = capabilities.get_mut(capability) {
            Arc::make_mut(&mut found.properties).insert(Arc::clone(own), property);
        }
    }

    /// Reports required properties of the representative that are still unset.
    fn check_required(&self, root: usize) {
        let template = &self.unmatched[root].template;
        let is_missing = |name: &Arc<str>| !template.properties.contains_key(name);
        for (name, def) in &template.node_type.properties {
            if def.required && def.default.is_none() && is_missing(name) {
                let message = format!(
                    "node template `{}` has no property `{name}`, which `{}` requires",
                    self.outer.name, self.outer.type_name
                );
                let problem = Diagnostic::error(message)
                    .check(Check::MissingProperty)
                    .label(self.outer.span, "")
                    .label(def.span, "declared here")
                    .help(format!("add `{name}` to its `properties`"));
                self.draft.scope.report(problem);
            }
        }
    }

    /// Sets the attributes of a created representative to expressions over the nested topology.
    ///
    /// An attribute follows its mapping, or else the output of the same name.
    fn map_attributes(&mut self, root: usize) {
        if self.substitution.node.is_some() {
            return;
        }
        let outputs = self.draft.topology.outputs.keys();
        let declared = &self.unmatched[root].template.node_type.attributes;
        let mut paths: IndexMap<Arc<str>, String> = outputs
            .filter(|name| declared.contains_key(*name))
            .map(|name| (Arc::clone(name), format!("::root::outputs::{name}")))
            .collect();
        for (name, mapped) in &self.substitution.attributes {
            let path = match &mapped.target {
                MappingTarget::Input(output) => format!("::root::outputs::{output}"),
                MappingTarget::Member { node, path } => self.member_path(node.as_str(), path),
                MappingTarget::Value(_) => continue,
            };
            paths.insert(Arc::clone(name), path);
        }
        if paths.is_empty() {
            return;
        }
        let template = &mut self.unmatched[root].template;
        let attributes = Arc::make_mut(&mut template.attributes);
        for (name, path) in paths {
            let known = attributes.get(&name);
            let attribute = AttributeDecl {
                default: Some(expression(path)),
                definition: known.and_then(|known| known.definition.clone()),
                sensitive: known.is_some_and(|known| known.sensitive),
            };
            attributes.insert(name, attribute);
        }
    }

    fn member_path(&self, node: &str, path: &[Arc<str>]) -> String {
        let template = self.position_of(node).map(|place| &self.unmatched[place]);
        let of_capability = path.len() > 1
            && template.is_some_and(|it| it.template.capabilities.contains_key(&path[0]));
        let (capability, rest) = if of_capability {
            (format!("::.capabilities::[.name={}]", path[0]), &path[1..])
        } else {
            (String::new(), path)
        };
        format!("::{node}{capability}::{}", rest.join("::"))
    }

    /// Records which requirements the outer topology fulfils.
    fn map_requirements(&mut self, root: usize) {
        let stated: FoldSet<_> = stated_requirements(self.outer)
            .map(|it| Arc::clone(&it.name))
            .collect();
        for (name, mapped) in &self.substitution.requirements {
            if let (true, MappingTarget::Member { node, path }) =
                (stated.contains(name), &mapped.target)
                && let Some(place) = self.position_of(node.as_str())
                && let Some(own) = path.first()
            {
                let outer_requirements = self.outer_requirements.entry(place).or_default();
                outer_requirements.insert(Arc::clone(own));
            }
        }
        self.outer_requirements
            .entry(root)
            .or_default()
            .extend(stated);
    }

    /// Gives the matched templates their qualified names, and adds the requirements of the outer template.
    fn qualify_names(&self, templates: &mut [NodeTemplate], root: usize) {
        let places: FoldMap<TemplateName, usize> = templates
            .iter()
            .enumerate()
            .map(|(place, template)| (template.name.clone(), place))
            .collect();
        let replaced: FoldMap<&str, &Requirement> = stated_requirements(self.outer)
            .filter(|it| it.target.is_some() && places.contains_key(&*it.name))
            .map(|it| (&*it.name, it))
            .collect();
        for template in &mut *templates {
            for requirement in &mut template.requirements {
                let Some(target) = &requirement.target else {
                    continue;
                };
                requirement.target = match replaced.get(target.as_str()) {
                    Some(outside) => outside.target.clone(),
                    None => Some(self.qualified_name(target.as_str())),
                };
            }
            template.is_replaced = replaced.contains_key(template.name.as_str());
            template.name = self.qualified_name(template.name.as_str());
            template.nested_in = Some(self.outer.name.clone());
            template.is_orphaned = self.outer.is_orphaned;
        }
        for (name, mapped) in &self.substitution.requirements {
            let MappingTarget::Member { node, path } = &mapped.target else {
                continue;
            };
            if let (Some(place), Some(own)) = (places.get(node), path.first()) {
                let outside = stated_requirements(self.outer).filter(|it| it.name == *name);
                let outer_requirements: Vec<_> =
                    outside.map(|it| as_outer_requirement(it, own)).collect();
                templates[*place]
                    .requirements
                    .splice(0..0, outer_requirements);
            }
        }
        let outside = stated_requirements(self.outer).map(|it| as_outer_requirement(it, &it.name));
        let outer_requirements: Vec<_> = outside.collect();
        templates[root]
            .requirements
            .splice(0..0, outer_requirements);
    }
}

/// Returns the requirements that the template states itself or has from an outer template.
fn stated_requirements(template: &NodeTemplate) -> impl Iterator<Item = &Requirement> {
    let requirements = template.requirements.iter();
    requirements.filter(|requirement| requirement.stated.is_some() || requirement.from_outer)
}

fn as_outer_requirement(requirement: &Requirement, name: &Arc<str>) -> Requirement {
    Requirement {
        name: Arc::clone(name),
        from_outer: true,
        ..requirement.clone()
    }
}

fn expression(path: String) -> Value {
    Value::map([("eval", Value::from(path))])
}
