//! Finds the node templates that fulfil requirements, by indexes instead of by trying all.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::value::{Fold, FoldMap, FoldSet, Value};

use super::check::is_expression;
use super::definition::TypeKey;
use super::entity::{NodeType, Reference, RelationshipType};
use super::filter::Filter;
use super::node_template::Unmatched;
use super::scope::Scope;
use super::section::Section;
use super::template::NodeTemplate;
use super::types::Types;

/// From how many candidates on an index of values pays.
const WORTH_AN_INDEX: usize = 16;

/// What a requirement asks of a target's type.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Query {
    pub(super) node_type: Option<TypeKey>,
    /// The capability by name or type, and the namespace it is looked up in.
    pub(super) capability: Option<(Arc<str>, u32)>,
    pub(super) relationship: Option<TypeKey>,
}

impl Query {
    /// Whether it asks for anything at all.
    pub(super) fn says_something(&self, relationship: &RelationshipType) -> bool {
        self.node_type.is_some()
            || self.capability.is_some()
            || !relationship.valid_targets.is_empty()
    }
}

/// The places of templates by the value of a property.
#[derive(Debug, Default)]
struct ByValue {
    /// By the value as text.
    same: FoldMap<String, Vec<usize>>,
    /// Those whose value is computed.
    computed: Vec<usize>,
}

/// The templates of a topology, findable by name, by type and by value.
pub(super) struct Index<'a> {
    types: &'a Types,
    pub(super) templates: &'a [Unmatched],
    by_name: FoldMap<&'a str, usize>,
    by_type: IndexMap<TypeKey, (Arc<NodeType>, Vec<usize>), Fold>,
    found: FoldMap<Query, Arc<Vec<usize>>>,
    by_value: FoldMap<(Query, Arc<str>), ByValue>,
}

impl<'a> Index<'a> {
    pub(super) fn new(types: &'a Types, templates: &'a [Unmatched]) -> Self {
        let mut by_name = FoldMap::default();
        by_name.reserve(templates.len());
        let mut by_type: IndexMap<TypeKey, (Arc<NodeType>, Vec<usize>), Fold> = IndexMap::default();
        for (place, unmatched) in templates.iter().enumerate() {
            let template = &unmatched.template;
            by_name.insert(template.name.as_str(), place);
            if template.has_left {
                continue;
            }
            let of_type = by_type.entry(template.node_type.key);
            let of_type = of_type.or_insert_with(|| (Arc::clone(&template.node_type), Vec::new()));
            of_type.1.push(place);
        }
        Self {
            types,
            templates,
            by_name,
            by_type,
            found: FoldMap::default(),
            by_value: FoldMap::default(),
        }
    }

    /// The place of a template.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// The template at a place.
    pub(super) fn template(&self, place: usize) -> &'a NodeTemplate {
        &self.templates[place].template
    }

    /// Every name.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.templates
            .iter()
            .map(|unmatched| unmatched.template.name.as_str())
    }

    /// The templates whose type fits, in the order of the text.
    fn fitting(&mut self, query: &Query, relationship: &RelationshipType) -> Arc<Vec<usize>> {
        if let Some(found) = self.found.get(query) {
            return Arc::clone(found);
        }
        let fits = |node_type: &NodeType| {
            let lineage = self.types.lineage(node_type.key);
            query
                .node_type
                .is_none_or(|wanted| lineage.contains(&wanted))
                && matching_capability(self.types, node_type, query, relationship).is_some()
        };
        let mut places: Vec<usize> = self
            .by_type
            .values()
            .filter(|(node_type, _)| fits(node_type))
            .flat_map(|(_, places)| places.iter().copied())
            .collect();
        places.sort_unstable();
        let places = Arc::new(places);
        self.found.insert(query.clone(), Arc::clone(&places));
        places
    }

    /// The templates whose type fits and whose values are not such that a filter cannot admit
    /// them, in the order of the text. Values of the properties in `unsure` may be others.
    pub(super) fn candidates(
        &mut self,
        query: &Query,
        relationship: &RelationshipType,
        filters: &[Filter<'_>],
        unsure: &FoldSet<Arc<str>>,
    ) -> Arc<Vec<usize>> {
        let fitting = self.fitting(query, relationship);
        if fitting.len() < WORTH_AN_INDEX {
            return fitting;
        }
        let mut equalities = filters.iter().flat_map(|filter| filter.equalities());
        let usable = equalities.find_map(|(property, value)| {
            let wanted = text_of(&value)?;
            (!unsure.contains(property)).then_some((property, wanted))
        });
        match usable {
            Some((property, wanted)) => Arc::new(self.of_value(query, &fitting, property, &wanted)),
            None => fitting,
        }
    }

    /// Whether a template is of a type, named as the service template's file knows it.
    pub(super) fn is_a(&self, place: usize, type_name: &str) -> bool {
        self.template(place).is_a(type_name)
    }

    /// Those of many templates whose property has a value, or one that is computed.
    fn of_value(
        &mut self,
        query: &Query,
        fitting: &[usize],
        property: &Arc<str>,
        wanted: &str,
    ) -> Vec<usize> {
        let templates = self.templates;
        let key = (query.clone(), Arc::clone(property));
        let index = self.by_value.entry(key).or_insert_with(|| {
            let mut index = ByValue::default();
            for place in fitting {
                match templates[*place].template.properties.get(property) {
                    Some(found) if is_expression(&found.value) => index.computed.push(*place),
                    Some(found) => {
                        if let Some(text) = text_of(&found.value) {
                            index.same.entry(text).or_default().push(*place);
                        }
                    }
                    // Some names, such as `name`, are no properties.
                    None => index.computed.push(*place),
                }
            }
            index
        });
        let same = index.same.get(wanted).map_or(&[][..], Vec::as_slice);
        let mut all = [same, &index.computed].concat();
        all.sort_unstable();
        all
    }
}

/// The text of a string to look it up by; other values may be equal in more than one form.
fn text_of(value: &Value) -> Option<String> {
    match value.reveal() {
        Value::Str(text) if !text.starts_with(|c: char| c.is_ascii_digit()) => {
            Some(text.to_string())
        }
        _ => None,
    }
}

/// The capability of a node type that a relationship can use, the best first: by its name or
/// its type, and of a type that the relationship can point at.
pub(super) fn matching_capability(
    types: &Types,
    node_type: &NodeType,
    query: &Query,
    relationship: &RelationshipType,
) -> Option<Arc<str>> {
    let capabilities = &node_type.capabilities;
    let derives = |from: TypeKey, wanted: TypeKey| types.lineage(from).contains(&wanted);
    let is_valid = |name: &str| {
        let targets = &relationship.valid_targets;
        targets.is_empty()
            || capabilities.get(name).is_some_and(|def| {
                let mut targets = targets.iter();
                targets.any(|target| derives(def.capability_type.key, *target))
            })
    };
    let Some((wanted, namespace)) = &query.capability else {
        // The most general capability is meant unless something says otherwise.
        let general = capabilities.get_key_value("feature");
        let general = general.filter(|_| relationship.valid_targets.is_empty());
        let first = || capabilities.iter().find(|(name, _)| is_valid(name));
        return general.or_else(first).map(|(name, _)| Arc::clone(name));
    };
    if let Some((name, _)) = capabilities.get_key_value(wanted) {
        return is_valid(name).then(|| Arc::clone(name));
    }
    let scope = Scope::of(types, *namespace);
    let wanted = scope.find(wanted, Section::Capability)?;
    capabilities
        .iter()
        .find(|(name, def)| derives(def.capability_type.key, wanted) && is_valid(name))
        .map(|(name, _)| Arc::clone(name))
}

/// A capability as a query keeps it.
pub(super) fn capability_of(reference: Option<&Reference>) -> Option<(Arc<str>, u32)> {
    reference.map(|reference| (Arc::clone(&reference.name), reference.namespace))
}
