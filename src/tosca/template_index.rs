//! An index of node templates by name, by type and by property value.
//!
//! Requirement matching uses it to find candidates without a comparison of every requirement with every
//! template.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::value::{Fold, FoldMap, FoldSet, Value};

use super::check::is_expression;
use super::definition::TypeKey;
use super::entity_types::{CapabilityTemplate, Reference, RelationshipType};
use super::node_filter::NodeFilter;
use super::node_template::UnmatchedTemplate;
use super::scope::TypeScope;
use super::section::TypeSection;
use super::template::NodeTemplate;
use super::types::Types;

/// The number of candidates from which on an index by value is worth building.
const MIN_INDEXED_CANDIDATES: usize = 16;

/// The conditions of a requirement on the type of its target.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct TargetQuery {
    pub(super) node_type: Option<TypeKey>,
    /// The name or type of the capability, with the namespace to look it up in.
    pub(super) capability: Option<(Arc<str>, u32)>,
    pub(super) relationship: Option<TypeKey>,
}

impl TargetQuery {
    /// Whether the query restricts the target at all.
    pub(super) fn is_specific(&self, relationship: &RelationshipType) -> bool {
        self.node_type.is_some()
            || self.capability.is_some()
            || !relationship.valid_targets.is_empty()
    }
}

/// The indexes of templates by the value of one property.
#[derive(Debug, Default)]
struct ValueIndex {
    /// The templates by the text of the value.
    by_text: FoldMap<String, Vec<usize>>,
    /// The templates whose value is computed, so that any value may match.
    computed: Vec<usize>,
}

/// The key of templates that match the same queries: the node type, and the template itself if it states types of
/// capabilities that differ from those of the node type.
type TypeGroup = (TypeKey, Option<usize>);

/// An index of the templates of a topology.
pub(super) struct TemplateIndex<'a> {
    types: &'a Types,
    pub(super) templates: &'a [UnmatchedTemplate],
    by_name: FoldMap<&'a str, usize>,
    by_type: IndexMap<TypeGroup, Vec<usize>, Fold>,
    fitting_cache: FoldMap<TargetQuery, Arc<Vec<usize>>>,
    by_value: FoldMap<(TargetQuery, Arc<str>), ValueIndex>,
}

impl<'a> TemplateIndex<'a> {
    pub(super) fn new(types: &'a Types, templates: &'a [UnmatchedTemplate]) -> Self {
        let mut by_name = FoldMap::default();
        by_name.reserve(templates.len());
        let mut by_type: IndexMap<TypeGroup, Vec<usize>, Fold> = IndexMap::default();
        for (place, unmatched) in templates.iter().enumerate() {
            let template = &unmatched.template;
            by_name.insert(template.name.as_str(), place);
            if template.is_orphaned {
                continue;
            }
            let own = states_capability_type(template).then_some(place);
            let group = by_type.entry((template.node_type.key, own));
            group.or_default().push(place);
        }
        Self {
            types,
            templates,
            by_name,
            by_type,
            fitting_cache: FoldMap::default(),
            by_value: FoldMap::default(),
        }
    }

    /// Returns the index of the template with the name.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// Returns the template with the index.
    pub(super) fn template(&self, place: usize) -> &'a NodeTemplate {
        &self.templates[place].template
    }

    /// Returns the names of all templates, in the order of the text.
    pub(super) fn template_names(&self) -> impl Iterator<Item = &'a str> {
        self.templates
            .iter()
            .map(|unmatched| unmatched.template.name.as_str())
    }

    /// Returns the templates whose type matches the query, in the order of the text.
    fn fitting(&mut self, query: &TargetQuery, relationship: &RelationshipType) -> Arc<Vec<usize>> {
        if let Some(found) = self.fitting_cache.get(query) {
            return Arc::clone(found);
        }
        let fits = |template: &NodeTemplate| {
            let lineage = self.types.lineage(template.node_type.key);
            query
                .node_type
                .is_none_or(|expected| lineage.contains(&expected))
                && matching_capability(self.types, template, query, relationship).is_some()
        };
        let is_fitting = |places: &&Vec<usize>| {
            let mut places = places.iter();
            places.next().is_some_and(|it| fits(self.template(*it)))
        };
        let mut places: Vec<usize> = self
            .by_type
            .values()
            .filter(is_fitting)
            .flatten()
            .copied()
            .collect();
        places.sort_unstable();
        let places = Arc::new(places);
        self.fitting_cache
            .insert(query.clone(), Arc::clone(&places));
        places
    }

    /// Returns the templates that can match the query and the filters, in the order of the text.
    ///
    /// The templates are found by type and by one equality condition of the filters. Filters may still change
    /// the properties in `unsure`, so these cannot exclude a template.
    pub(super) fn candidates(
        &mut self,
        query: &TargetQuery,
        relationship: &RelationshipType,
        filters: &[NodeFilter<'_>],
        unsure: &FoldSet<Arc<str>>,
    ) -> Arc<Vec<usize>> {
        let fitting = self.fitting(query, relationship);
        if fitting.len() < MIN_INDEXED_CANDIDATES {
            return fitting;
        }
        let mut equalities = filters.iter().flat_map(|filter| filter.equalities());
        let usable = equalities.find_map(|(property, value)| {
            let expected = text_of(&value)?;
            (!unsure.contains(property)).then_some((property, expected))
        });
        match usable {
            Some((property, expected)) => {
                Arc::new(self.with_value(query, &fitting, property, &expected))
            }
            None => fitting,
        }
    }

    /// Whether a template is of a type. The type is named as in the file of the service template.
    pub(super) fn is_a(&self, place: usize, type_name: &str) -> bool {
        self.template(place).is_a(type_name)
    }

    /// Returns the templates whose property has the value or a computed value.
    fn with_value(
        &mut self,
        query: &TargetQuery,
        fitting: &[usize],
        property: &Arc<str>,
        expected: &str,
    ) -> Vec<usize> {
        let templates = self.templates;
        let key = (query.clone(), Arc::clone(property));
        let index = self.by_value.entry(key).or_insert_with(|| {
            let mut index = ValueIndex::default();
            for place in fitting {
                match templates[*place].template.properties.get(property) {
                    Some(found) if is_expression(&found.value) => index.computed.push(*place),
                    Some(found) => {
                        if let Some(text) = text_of(&found.value) {
                            index.by_text.entry(text).or_default().push(*place);
                        }
                    }
                    // A name such as `name` may be a field of the node instead of a property.
                    None => index.computed.push(*place),
                }
            }
            index
        });
        let same = index.by_text.get(expected).map_or(&[][..], Vec::as_slice);
        let mut all = [same, &index.computed].concat();
        all.sort_unstable();
        all
    }
}

/// Returns the text of a string, as a key for lookups.
///
/// Returns `None` for other values and for strings that start with a digit: they can be equal in several
/// notations, such as `1 GB` and `1000 MB`.
fn text_of(value: &Value) -> Option<String> {
    match value.reveal() {
        Value::Str(text) if !text.starts_with(|c: char| c.is_ascii_digit()) => {
            Some(text.to_string())
        }
        _ => None,
    }
}

/// Returns true if a template states a type of a capability that differs from that of its node type.
fn states_capability_type(template: &NodeTemplate) -> bool {
    let node_type = &template.node_type;
    let differs = |(name, own): (&Arc<str>, &CapabilityTemplate)| {
        let declared = node_type.capabilities.get(name);
        declared.is_some_and(|def| def.capability_type.key != own.capability_type.key)
    };
    !Arc::ptr_eq(&template.capabilities, &node_type.default_capabilities)
        && template.capabilities.iter().any(differs)
}

/// Returns the capability of a template that a requirement can use, the best match first.
///
/// The capability must have the requested name or type, and a type that the relationship can target.
pub(super) fn matching_capability(
    types: &Types,
    template: &NodeTemplate,
    query: &TargetQuery,
    relationship: &RelationshipType,
) -> Option<Arc<str>> {
    let capabilities = &template.capabilities;
    let derives = |from: TypeKey, expected: TypeKey| types.lineage(from).contains(&expected);
    let is_valid = |name: &str| {
        let targets = &relationship.valid_targets;
        targets.is_empty()
            || capabilities.get(name).is_some_and(|def| {
                let mut targets = targets.iter();
                targets.any(|target| derives(def.capability_type.key, *target))
            })
    };
    let Some((expected, namespace)) = &query.capability else {
        // A requirement without a capability uses `feature`, the most general one, if the relationship allows
        // any.
        let general = capabilities.get_key_value("feature");
        let general = general.filter(|_| relationship.valid_targets.is_empty());
        let first = || capabilities.iter().find(|(name, _)| is_valid(name));
        return general.or_else(first).map(|(name, _)| Arc::clone(name));
    };
    if let Some((name, _)) = capabilities.get_key_value(expected) {
        return is_valid(name).then(|| Arc::clone(name));
    }
    let scope = TypeScope::of(types, *namespace);
    let expected = scope.find(expected, TypeSection::Capability)?;
    capabilities
        .iter()
        .find(|(name, def)| derives(def.capability_type.key, expected) && is_valid(name))
        .map(|(name, _)| Arc::clone(name))
}

/// Returns the capability of a reference, in the form that a query has.
pub(super) fn capability_of(reference: Option<&Reference>) -> Option<(Arc<str>, u32)> {
    reference.map(|reference| (Arc::clone(&reference.name), reference.namespace))
}
