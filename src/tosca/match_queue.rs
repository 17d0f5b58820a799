//! Matches the requirements of a topology in the order of their dependencies.
//!
//! Most requirements depend on no other requirement. A requirement depends on others if its filter follows
//! paths over their matches, or tests properties that their filters set. It waits in a [`MatchQueue`] until
//! those are matched. If all open requirements wait for each other, the first in the order of the text is
//! matched with the facts known so far. Each requirement is matched once.
//!
//! Templates are identified by their index in [`super::template_index::TemplateIndex`], called `place`.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::value::{FoldMap, FoldSet, Value};

use super::match_state::{MatchDependency, OpenRequirement};
use super::node_filter::NodeFilter;
use super::path_query::PathQuery;
use super::requirement_resolver::{MergedRequirement, RequirementResolver};
use super::template::Requirement;

/// The open requirements of a topology, and which of them wait for which dependency.
struct MatchQueue {
    items: Vec<OpenRequirement>,
    resolved_dependencies: Vec<Vec<MatchDependency>>,
    queue: VecDeque<usize>,
    waiting: FoldMap<MatchDependency, Vec<usize>>,
    done: Vec<bool>,
}

impl<'a> RequirementResolver<'a> {
    /// Matches all requirements. Returns the requirements of each template, in the order of the text.
    pub(super) fn match_all(&mut self) -> Vec<Vec<Requirement>> {
        let items: Vec<OpenRequirement> = (0..self.index.templates.len())
            .flat_map(|place| self.open_requirements(place))
            .collect();
        if !items.iter().any(|item| self.merged(item).has_filter()) {
            return self.match_in_order(&items);
        }
        let mut queue = self.build_queue(items);
        let mut found: Vec<Vec<Requirement>> = vec![Vec::new(); queue.items.len()];
        let mut forced = 0;
        loop {
            while let Some(item) = queue.queue.pop_front() {
                if queue.done[item] {
                    continue;
                }
                match self
                    .blocking_dependency(&queue.items[item], &queue.resolved_dependencies[item])
                {
                    Some(wait) => queue.waiting.entry(wait).or_default().push(item),
                    None => found[item] = self.match_requirement(&mut queue, item),
                }
            }
            while queue.done.get(forced) == Some(&true) {
                forced += 1;
            }
            if forced == queue.items.len() {
                break;
            }
            found[forced] = self.match_requirement(&mut queue, forced);
        }
        let mut by_place = vec![Vec::new(); self.index.templates.len()];
        for (item, found) in queue.items.iter().zip(found) {
            by_place[item.template_index].extend(found);
        }
        by_place
    }

    /// Returns the requirements to match of the template with the index.
    ///
    /// Requirements that a stated one does not cover come from the node type. Requirements that an outer
    /// topology fulfils are left out.
    pub(super) fn open_requirements(&self, place: usize) -> Vec<OpenRequirement> {
        let unmatched = &self.index.templates[place];
        let outer = self.outer_requirements.get(&place);
        let is_outer = |name: &Arc<str>| outer.is_some_and(|outer| outer.contains(name));
        let stated = unmatched.stated.iter().enumerate();
        let mut items: Vec<OpenRequirement> = stated
            .filter(|(_, stated)| !is_outer(&stated.name))
            .map(|(at, stated)| OpenRequirement {
                template_index: place,
                stated: Some(at),
                name: Arc::clone(&stated.name),
            })
            .collect();
        let names: FoldSet<&Arc<str>> = unmatched.stated.iter().map(|it| &it.name).collect();
        for name in unmatched.template.node_type.requirements.keys() {
            if !names.contains(name) && !is_outer(name) {
                items.push(OpenRequirement {
                    template_index: place,
                    stated: None,
                    name: Arc::clone(name),
                });
            }
        }
        items
    }

    /// Matches requirements in the order of the text. No filters means that none depends on another.
    fn match_in_order(&mut self, items: &[OpenRequirement]) -> Vec<Vec<Requirement>> {
        let mut by_place = vec![Vec::new(); self.index.templates.len()];
        for item in items {
            by_place[item.template_index].extend(self.resolve(item));
        }
        by_place
    }

    fn build_queue(&mut self, items: Vec<OpenRequirement>) -> MatchQueue {
        let kinds: Vec<Vec<MatchDependency>> = items
            .iter()
            .map(|item| self.dependencies_resolved_by(item))
            .collect();
        for kind in kinds.iter().flatten() {
            *self
                .match_state
                .open_counts
                .entry(kind.clone())
                .or_default() += 1;
            if let MatchDependency::SettingProperty(name) = kind {
                self.match_state.settable.insert(Arc::clone(name));
            }
        }
        self.record_computed_properties(&items);
        MatchQueue {
            queue: (0..items.len()).collect(),
            done: vec![false; items.len()],
            waiting: FoldMap::default(),
            items,
            resolved_dependencies: kinds,
        }
    }

    /// Returns the dependencies that other requirements may have on this one.
    fn dependencies_resolved_by(&self, item: &OpenRequirement) -> Vec<MatchDependency> {
        let mut kinds = vec![
            MatchDependency::OfTemplate(item.template_index, None),
            MatchDependency::OfTemplate(item.template_index, Some(Arc::clone(&item.name))),
            MatchDependency::Named(Arc::clone(&item.name)),
            MatchDependency::All,
        ];
        let merged = self.merged(item);
        let is_named = merged
            .node()
            .is_some_and(|node| self.index.position(&node.name).is_some());
        for filter in self.filters(item.template_index, &merged) {
            let set = filter
                .assigned_properties(is_named)
                .map(MatchDependency::SettingProperty);
            kinds.extend(set);
            let restricted = filter.restrictions().map(|(name, _)| name);
            kinds.extend(restricted.map(|name| MatchDependency::Restricting(Arc::clone(name))));
        }
        // A dependency that is listed twice would be counted twice.
        let mut seen = FoldSet::default();
        kinds.retain(|kind| seen.insert(kind.clone()));
        kinds
    }

    /// Records which templates compute the properties that filters test.
    fn record_computed_properties(&mut self, items: &[OpenRequirement]) {
        let mut constrained = FoldSet::default();
        for item in items {
            for filter in self.filters(item.template_index, &self.merged(item)) {
                constrained.extend(filter.constrained_properties().cloned());
            }
        }
        if constrained.is_empty() {
            return;
        }
        for (place, unmatched) in self.index.templates.iter().enumerate() {
            for (name, property) in &*unmatched.template.properties {
                if constrained.contains(name) && super::check::is_expression(&property.value) {
                    let computed = self
                        .match_state
                        .computed
                        .entry(Arc::clone(name))
                        .or_default();
                    computed.push(place);
                }
            }
        }
    }

    /// Returns a dependency that is still open and must be matched before the requirement.
    ///
    /// `own` holds the dependencies that the requirement itself resolves; they do not block it.
    fn blocking_dependency(
        &self,
        item: &OpenRequirement,
        own: &[MatchDependency],
    ) -> Option<MatchDependency> {
        let known = &self.match_state;
        let restricts = MatchDependency::Restricting(Arc::clone(&item.name));
        if let Some(wait) = known.open_dependency(restricts, own) {
            return Some(wait);
        }
        let filters = self.filters(item.template_index, &self.merged(item));
        for filter in filters {
            for name in filter.constrained_properties() {
                if known.settable.contains(name)
                    && let Some(wait) = known
                        .open_dependency(MatchDependency::SettingProperty(Arc::clone(name)), own)
                {
                    return Some(wait);
                }
                let computed = known.computed.get(name);
                for place in computed.into_iter().flatten() {
                    let mut walk = PathQuery::new(&self.index, known, own);
                    let _value = walk.property(*place, name);
                    if walk.blocked_by.is_some() {
                        return walk.blocked_by;
                    }
                }
            }
            for path in filter.paths() {
                let mut walk = PathQuery::new(&self.index, known, own);
                let _found = walk.path(item.template_index, &path);
                if walk.blocked_by.is_some() {
                    return walk.blocked_by;
                }
            }
        }
        None
    }

    /// Matches a requirement with the facts known so far, and requeues the requirements that waited for it.
    fn match_requirement(&mut self, agenda: &mut MatchQueue, at: usize) -> Vec<Requirement> {
        agenda.done[at] = true;
        let item = &agenda.items[at];
        let found = self.resolve(item);
        let found: Vec<_> = found
            .into_iter()
            .map(|requirement| {
                let target = requirement.target.as_ref();
                let place = target.and_then(|target| self.index.position(target.as_str()));
                (requirement, place)
            })
            .collect();
        self.match_state.add_matches(item.template_index, &found);
        for filter in self.filters(item.template_index, &self.merged(item)) {
            for (name, restriction) in filter.restrictions() {
                for target in found.iter().filter_map(|(_, target)| *target) {
                    let of = self.match_state.restricted.entry(target).or_default();
                    of.entry(Arc::clone(name)).or_default().push(restriction);
                }
            }
        }
        for kind in &agenda.resolved_dependencies[at] {
            let open = self
                .match_state
                .open_counts
                .get_mut(kind)
                .expect("all kinds are counted");
            *open -= 1;
            // The last open requirement of a kind may itself be waiting for that kind, so a count of 1 wakes
            // it.
            if *open <= 1 {
                agenda
                    .queue
                    .extend(agenda.waiting.remove(kind).into_iter().flatten());
            }
        }
        found
            .into_iter()
            .map(|(requirement, _)| requirement)
            .collect()
    }

    /// Returns the requirement as stated in the template, merged over its declaration in the node type.
    pub(super) fn merged(&self, item: &OpenRequirement) -> MergedRequirement<'a> {
        let unmatched = &self.index.templates[item.template_index];
        MergedRequirement {
            stated: item.stated.map(|at| &unmatched.stated[at]),
            declared: unmatched.template.node_type.requirements.get(&item.name),
        }
    }

    /// Returns the filters of a requirement: its own, and the restrictions from requirements that target its
    /// template.
    pub(super) fn filters(
        &self,
        place: usize,
        merged: &MergedRequirement<'a>,
    ) -> Vec<NodeFilter<'a>> {
        let mut filters = super::requirement_resolver::filters_of(self.types, merged);
        filters.extend(self.match_state.restrictions(place, merged.name()));
        filters
    }

    /// Returns the templates that every `match` path of the filters leads to. `None` if no filter has one.
    pub(super) fn nodes_selected_by_match(
        &self,
        place: usize,
        filters: &[NodeFilter<'a>],
    ) -> Option<FoldSet<usize>> {
        let mut selected: Option<FoldSet<usize>> = None;
        for path in filters.iter().flat_map(|filter| filter.paths()) {
            let mut walk = PathQuery::new(&self.index, &self.match_state, &[]);
            let found = walk.path(place, &path).unwrap_or_default();
            let nodes: FoldSet<usize> = found
                .into_iter()
                .filter_map(|found| match found {
                    super::path_query::PathResult::Node(place) => Some(place),
                    _ => None,
                })
                .collect();
            selected = Some(match selected {
                None => nodes,
                Some(selected) => selected.intersection(&nodes).copied().collect(),
            });
        }
        selected
    }

    /// Returns the value of a property, as far as the matches found so far determine it.
    pub(super) fn current_value(&self, place: usize, name: &str) -> Option<Value> {
        PathQuery::new(&self.index, &self.match_state, &[]).property(place, name)
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::super::node_filter::COMPARISONS;
    use super::super::testing::{TestTemplate, read_template};

    const TYPES: &str = "
node_types:
  Thing: {properties: {size: {type: integer, default: 1}, kind: {type: string, required: false}}}
  Host: {requirements: [{thing: {node: Thing}}]}
  App:
    properties: {computed: {type: integer, default: {eval: '.targets::shortcut::size'}}}
    requirements:
      - host: {node: Host}
      - shortcut: {node: Thing, node_filter: {match: [{eval: '.targets::host::.targets::thing'}]}}
  User: {requirements: [{app: {node: App}}, {any: {node: Thing, occurrences: [0, UNBOUNDED]}}]}
topology_template:
  node_templates:
";

    fn read(templates: &str) -> TestTemplate {
        read_template(format!("{TYPES}{templates}").leak())
    }

    const TWO_APPS: &str = "
    user: {type: User, requirements: [{app: {node_filter: {properties: [{computed: 2}]}}}]}
    one: {type: App, requirements: [{host: first}]}
    two: {type: App, requirements: [{host: second}]}
    first: {type: Host, requirements: [{thing: small}]}
    second: {type: Host, requirements: [{thing: big}]}
    small: {type: Thing}
    big: {type: Thing, properties: {size: 2}}
";

    #[test]
    fn a_match_follows_what_other_requirements_find() {
        let case = read(TWO_APPS);
        assert_eq!(case.report(), "");
        let shortcut = |name: &str| case.node(name).requirements[1].target.clone();
        assert_eq!(shortcut("one"), Some("small".into()));
        assert_eq!(shortcut("two"), Some("big".into()));
    }

    #[test]
    fn a_filter_sees_what_a_property_is_computed_from() {
        let case = read(TWO_APPS);
        assert_eq!(case.node("user").requirements[0].target, Some("two".into()));
        let none = TWO_APPS
            .replace("{computed: 2}", "{computed: 3}")
            .replace("{app: {node_filter", "{app: {node: App, node_filter");
        let reported = read(none.leak()).report();
        assert!(
            reported.contains("no node template of type `App` fits"),
            "{reported}"
        );
    }

    #[test]
    fn a_filter_restricts_the_requirements_of_its_target() {
        let case = read(
            "
    app: {type: App, requirements: [{host: {node_filter: {requirements: [{thing: {node_filter: {properties: [{size: {in_range: [5, UNBOUNDED]}}]}}}]}}}]}
    host: {type: Host}
    small: {type: Thing}
    big: {type: Thing, properties: {size: 9}}
",
        );
        assert_eq!(case.report(), "");
        insta::assert_snapshot!(case.targets("host"), @"thing → big (tosca.relationships.Root, feature)");
        insta::assert_snapshot!(case.targets("app"), @"
        host → host (tosca.relationships.Root, feature)
        shortcut → big (tosca.relationships.Root, feature)
        ");
    }

    #[test]
    fn what_one_filter_sets_another_asks_for_whatever_their_order() {
        let sets = "    sets: {type: User, requirements: [{any: {node: b, node_filter: {properties: [{kind: {q: chosen}}]}}}]}\n";
        let asks = "    asks: {type: User, requirements: [{any: {node_filter: {properties: [{kind: chosen}]}}}]}\n";
        let things = "    a: {type: Thing, properties: {kind: x}}\n    b: {type: Thing}\n";
        for order in [
            [sets, asks, things],
            [things, asks, sets],
            [asks, things, sets],
        ] {
            let case = read(&order.concat());
            let any = case.node("asks").requirements.iter();
            let any: Vec<_> = any.filter(|it| &*it.name == "any").collect();
            assert_eq!(any.len(), 1);
            assert_eq!(any[0].target, Some("b".into()));
        }
    }

    #[test]
    fn requirements_that_wait_for_each_other_are_matched_in_the_order_of_the_text() {
        let case = read(
            "
    one: {type: User, requirements: [{any: {node_filter: {match: ['::two::.targets::any']}}}, {app: app}]}
    two: {type: User, requirements: [{any: {node_filter: {match: ['::one::.targets::any']}}}, {app: app}]}
    app: {type: App, requirements: [{host: host}]}
    host: {type: Host}
    thing: {type: Thing}
",
        );
        assert_eq!(case.node("one").requirements[0].target, None);
        assert_eq!(case.node("two").requirements[0].target, None);
    }

    #[test]
    fn paths_that_cannot_be_followed_are_reported() {
        let reported = |path: &str| {
            let any = format!("{{any: {{node_filter: {{match: [{path}]}}}}}}");
            read(&format!(
                "    user: {{type: User, requirements: [{any}, {{app: app}}]}}
    app: {{type: App, requirements: [{{host: host}}]}}
    host: {{type: Host}}
    thing: {{type: Thing}}
"
            ))
            .report()
        };
        assert!(reported("{concat: [a, b]}").contains("cannot be used to find a node"));
        assert_eq!(
            reported("'.targets::app::.hosted_on[.type=Host]::.targets::thing'"),
            ""
        );
        assert_eq!(reported("{get_nodes_of_type: Thing}"), "");
    }

    #[test]
    fn filters_compare_templates_of_fitting_types_only() {
        const TYPES_OF_DATABASES: usize = 100;
        let mut text = "\nnode_types:\n".to_owned();
        for kind in 0..TYPES_OF_DATABASES {
            writeln!(
                text,
                "  Db{kind}: {{properties: {{size: {{type: integer}}}}}}"
            )
            .unwrap();
            writeln!(
                text,
                "  App{kind}: {{requirements: [{{db: {{node: Db{kind}}}}}]}}"
            )
            .unwrap();
        }
        text.push_str("topology_template:\n  node_templates:\n");
        for place in 0..1000 {
            let kind = place % TYPES_OF_DATABASES;
            let filter = format!("{{properties: [{{size: {{equal: {place}}}}}]}}");
            let requirement = format!("{{db: {{node_filter: {filter}}}}}");
            writeln!(
                text,
                "    app{place}: {{type: App{kind}, requirements: [{requirement}]}}"
            )
            .unwrap();
            writeln!(
                text,
                "    db{place}: {{type: Db{kind}, properties: {{size: {place}}}}}"
            )
            .unwrap();
        }
        COMPARISONS.set(0);
        let case = read_template(text.leak());
        assert_eq!(case.report(), "");
        let target = &case.node("app999").requirements[0].target;
        assert_eq!(*target, Some("db999".into()));
        // Each requirement is compared with the ten templates of its type only, not with all 2000.
        assert_eq!(COMPARISONS.get(), 1000 * 10);
    }

    #[test]
    fn a_long_chain_of_matches_is_followed_once() {
        const LENGTH: usize = 2000;
        let mut text = "
node_types: {Link: {requirements: [{next: {node: Link, occurrences: [0, 1]}}, {same: {node: Link, occurrences: [0, 1]}}]}}
topology_template:
  node_templates:
    link0: {type: Link, requirements: [{next: end}, {same: end}]}
    end: {type: Link, directives: [default]}
"
        .to_owned();
        for place in (1..LENGTH).rev() {
            let before = place - 1;
            let path = format!("::link{before}::.targets::same");
            let same = format!("{{same: {{node_filter: {{match: ['{path}']}}}}}}");
            writeln!(
                text,
                "    link{place}: {{type: Link, requirements: [{same}]}}"
            )
            .unwrap();
        }
        COMPARISONS.set(0);
        let case = read_template(text.leak());
        assert_eq!(case.report(), "");
        let last = &case.node("link1999").requirements[0];
        assert_eq!(last.target, Some("end".into()));
        assert!(COMPARISONS.get() <= LENGTH);
    }
}
