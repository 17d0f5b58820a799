//! The expander of maps and lists: combines the entries of a map with the results of its directives.
//! `resolution` and `include` find the targets.

use std::collections::HashMap;
use std::sync::Arc;

use super::MergeRecord;
use crate::diagnostic::{Diagnostic, Diagnostics, SourceId, Span};
use crate::yaml::directive::{ANCHOR, Directive, STRATEGY};
use crate::yaml::merge::merge_maps;
use crate::yaml::{
    Limits, LoadResult, Loader, MapEntry, Mapping, Node, NodeKind, Route, RouteStep,
};

pub(super) fn with_entries(node: &Node, map: Mapping) -> Node {
    Node::with_anchor(
        NodeKind::Map(map),
        node.span(),
        node.tag().map(Arc::from),
        node.anchor().map(Arc::from),
    )
}

/// A directive whose target has not been found yet.
pub(super) struct MissingTarget {
    pub(super) name: String,
    pub(super) optional: bool,
    pub(super) span: Span,
}

/// The marker that the expansion failed; the diagnostics contain the reason.
pub(super) struct ExpansionAborted;

/// The result of expanding a map.
pub(super) enum MapOutcome {
    Expanded(Node),
    /// The map contained only optional directives, and their targets do not exist.
    Removed,
}

/// The parts from which a map is assembled.
#[derive(Default)]
struct MapParts {
    /// The expanded entries of the map itself.
    own: Vec<(Arc<str>, MapEntry)>,
    /// The merged targets of the directives, and the position of the first directive's key.
    merged: Option<(Node, Span)>,
    /// The anchor that the map defines with `+&`.
    name: Option<Arc<str>>,
    /// Whether the target of an optional directive does not exist.
    dropped: bool,
}

/// The state of one expansion, over the passes and included files.
pub(super) struct Expander<'l> {
    pub(super) loader: &'l mut dyn Loader,
    limits: Limits,
    /// The document as far as it is expanded, in which directives look up their targets.
    pub(super) document: Node,
    pub(super) anchors: HashMap<Arc<str>, Node>,
    pub(super) included: HashMap<(SourceId, String, Option<String>), LoadResult>,
    pub(super) missing: Vec<MissingTarget>,
    pub(super) merges: Vec<MergeRecord>,
    pub(super) problems: Diagnostics,
    /// The route of the map that is being expanded.
    pub(super) path: Vec<RouteStep>,
    /// The targets that are being merged, outermost first; used to detect cycles.
    pub(super) active: Vec<Node>,
    depth: usize,
    work: u64,
    pub(super) drops_missing: bool,
    /// The results of templates that do not depend on their context, by the address of the template.
    ///
    /// The template is kept alive, so that no other node gets its address.
    pub(super) template_cache: HashMap<usize, (Node, Node)>,
    /// The number of directives met so far whose result depends on their position or on the pass.
    pub(super) context_dependencies: usize,
}

impl<'l> Expander<'l> {
    pub(super) fn new(root: &Node, loader: &'l mut dyn Loader, limits: &Limits) -> Self {
        let mut expander = Self {
            loader,
            limits: *limits,
            document: root.clone(),
            anchors: HashMap::new(),
            included: HashMap::new(),
            missing: Vec::new(),
            merges: Vec::new(),
            problems: Diagnostics::default(),
            path: Vec::new(),
            active: Vec::new(),
            depth: 0,
            work: 0,
            drops_missing: false,
            template_cache: HashMap::new(),
            context_dependencies: 0,
        };
        expander.find_anchors(root);
        expander
    }

    pub(super) fn pass(&mut self, root: &Node) -> Result<Node, Diagnostics> {
        self.merges.clear();
        self.template_cache.clear();
        let outcome = self.map(root);
        if self.problems.has_errors() {
            return Err(std::mem::take(&mut self.problems));
        }
        Ok(match outcome {
            Ok(MapOutcome::Expanded(node)) => node,
            Ok(MapOutcome::Removed) | Err(ExpansionAborted) => {
                with_entries(root, Mapping::default())
            }
        })
    }

    /// Registers the YAML anchors of a node and its children.
    pub(super) fn find_anchors(&mut self, node: &Node) {
        if !node.has_anchors() {
            return;
        }
        if let Some(name) = node.anchor() {
            self.anchors.insert(Arc::from(name), node.clone());
        }
        match node.kind() {
            NodeKind::Seq(items) => items.iter().for_each(|item| self.find_anchors(item)),
            NodeKind::Map(map) => map
                .iter()
                .for_each(|(_, entry)| self.find_anchors(&entry.value)),
            _ => {}
        }
    }

    pub(super) fn problem(&mut self, message: String, span: Span, label: &str, help: &str) {
        let diagnostic = Diagnostic::error(message).label(span, label);
        self.problems.push(if help.is_empty() {
            diagnostic
        } else {
            diagnostic.help(help)
        });
    }

    pub(super) fn map(&mut self, node: &Node) -> Result<MapOutcome, ExpansionAborted> {
        let Some(map) = node.as_map().filter(|_| node.may_have_directives()) else {
            return Ok(MapOutcome::Expanded(node.clone()));
        };
        self.count(node)?;
        self.depth += 1;
        let outcome = self.entries(node, map);
        self.depth -= 1;
        outcome
    }

    /// Checks the limits of depth and work, both of which directives can multiply.
    fn count(&mut self, node: &Node) -> Result<(), ExpansionAborted> {
        self.work += 1 + node.as_map().map_or(0, |map| map.len() as u64);
        if self.depth >= self.limits.max_depth {
            self.problem(
                "the merge directives nest too deeply".into(),
                node.span(),
                "exceeds the depth limit",
                "",
            );
            return Err(ExpansionAborted);
        }
        if self.work > u64::from(self.limits.max_nodes) {
            let message = "the merge directives make the document too large";
            self.problem(message.into(), node.span(), "exceeds the size limit", "");
            return Err(ExpansionAborted);
        }
        Ok(())
    }

    fn entries(&mut self, node: &Node, map: &Mapping) -> Result<MapOutcome, ExpansionAborted> {
        let mut parts = MapParts::default();
        for (key, entry) in map {
            if &**key == ANCHOR {
                parts.name = entry.value.as_str().map(Arc::from);
                self.context_dependencies += 1;
            } else if let Some(directive) = self.parse_directive(key, entry) {
                match self.resolve_directive(&directive, key, entry)? {
                    Resolution::Node { node, .. } if node.as_map().is_none() && map.len() == 1 => {
                        return Ok(MapOutcome::Expanded(node));
                    }
                    found => self.add_resolution(&mut parts, found, key, entry, &directive),
                }
            } else if let Some(value) = self.value(key, &entry.value)? {
                let key_span = entry.key_span;
                parts
                    .own
                    .push((Arc::clone(key), MapEntry { key_span, value }));
            }
        }
        self.assemble_map(node, map, parts)
    }

    /// Adds the result of a directive to the parts of its map.
    fn add_resolution(
        &mut self,
        parts: &mut MapParts,
        found: Resolution,
        key: &Arc<str>,
        entry: &MapEntry,
        directive: &Directive,
    ) {
        match found {
            Resolution::Empty => {}
            Resolution::Unresolved if self.drops_missing && directive.optional => {
                self.context_dependencies += 1;
                parts.dropped = true;
            }
            Resolution::Unresolved => {
                self.record_missing(directive, key, entry);
                parts.own.push((Arc::clone(key), entry.clone()));
            }
            Resolution::Node { node, .. } if node.as_map().is_none() => self.problem(
                format!(
                    "the target of `{key}` is {}, which cannot be merged into a map",
                    node.kind_name()
                ),
                entry.key_span,
                "the target must be a map",
                "remove the other keys to replace the map by the value",
            ),
            Resolution::Node { node, .. } => {
                parts.merged = Some(match parts.merged.take() {
                    None => (node, entry.key_span),
                    Some((base, first)) => (self.merge(&base, &node), first),
                });
            }
        }
    }

    fn assemble_map(
        &mut self,
        node: &Node,
        map: &Mapping,
        parts: MapParts,
    ) -> Result<MapOutcome, ExpansionAborted> {
        let MapParts {
            own,
            merged,
            name,
            dropped,
        } = parts;
        if dropped && own.is_empty() && merged.is_none() && name.is_none() {
            return Ok(MapOutcome::Removed);
        }
        let same = own.len() == map.len() && same_values(&own, map);
        let own = if same {
            node.clone()
        } else {
            with_entries(node, own.into_iter().collect())
        };
        if let Some(name) = name {
            self.anchors.insert(name, own.clone());
        }
        let Some((base, span)) = merged else {
            return Ok(MapOutcome::Expanded(own));
        };
        let result = self.merge(&base, &own);
        if self.active.is_empty() {
            let route = Route::from(self.path.clone());
            self.merges.push(MergeRecord { route, base, span });
        }
        self.check(&result, span)?;
        Ok(MapOutcome::Expanded(result))
    }

    fn merge(&mut self, base: &Node, over: &Node) -> Node {
        self.work += base.as_map().map_or(0, |map| map.len() as u64);
        merge_maps(base, over).unwrap_or_else(|forbidden| {
            self.problem(
                format!("`{}` must not be overridden", forbidden.key),
                forbidden.mark,
                "overridden here",
                "the merged map forbids overriding with `+%: error`",
            );
            base.clone()
        })
    }

    /// Checks that a result does not exceed the limits.
    fn check(&mut self, node: &Node, span: Span) -> Result<(), ExpansionAborted> {
        let message = if node.weight() > self.limits.max_nodes {
            "the merge directives make the document too large"
        } else if node.depth() + self.path.len() > self.limits.max_depth {
            "the merge directives make the document too deep"
        } else {
            return Ok(());
        };
        self.problem(message.into(), span, "merged here", "");
        Err(ExpansionAborted)
    }

    /// Expands the value of an ordinary key. None if nothing of it is left.
    fn value(&mut self, key: &Arc<str>, value: &Node) -> Result<Option<Node>, ExpansionAborted> {
        if !value.may_have_directives() || key.starts_with('+') {
            return Ok(Some(value.clone()));
        }
        self.path.push(RouteStep::Key(Arc::clone(key)));
        let outcome = match value.kind() {
            NodeKind::Seq(items) => self.list(value, items).map(Some),
            _ => self.map(value).map(|outcome| match outcome {
                MapOutcome::Expanded(node) => Some(node),
                MapOutcome::Removed => None,
            }),
        };
        self.path.pop();
        outcome
    }

    /// Expands a list. A directive whose target is a list inserts the items of the target.
    fn list(&mut self, node: &Node, items: &[Node]) -> Result<Node, ExpansionAborted> {
        let mut expanded = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            if item.as_map().is_none() || !item.may_have_directives() {
                expanded.push(item.clone());
                continue;
            }
            if item.get(STRATEGY).and_then(Node::as_str) == Some("whiteout") {
                continue;
            }
            self.path.push(RouteStep::Index(index));
            let outcome = self.map(item);
            self.path.pop();
            match outcome? {
                MapOutcome::Removed => {}
                MapOutcome::Expanded(found) => match found.as_seq() {
                    Some(items) => expanded.extend_from_slice(items),
                    None => expanded.push(found),
                },
            }
        }
        let same = expanded.len() == items.len()
            && expanded
                .iter()
                .zip(items)
                .all(|(new, old)| new.is_same(old));
        if same {
            return Ok(node.clone());
        }
        let (tag, anchor) = (node.tag().map(Arc::from), node.anchor().map(Arc::from));
        Ok(Node::with_anchor(
            NodeKind::Seq(expanded),
            node.span(),
            tag,
            anchor,
        ))
    }
}

fn same_values(own: &[(Arc<str>, MapEntry)], map: &Mapping) -> bool {
    own.iter()
        .zip(map)
        .all(|((_, new), (_, old))| new.value.is_same(&old.value))
}

/// The result of resolving a directive.
pub(super) enum Resolution {
    /// The target. It still has to be expanded unless `raw` is set.
    Node {
        node: Node,
        raw: bool,
        route: Option<Vec<RouteStep>>,
    },
    /// No target, which is not an error.
    Empty,
    /// The target has not been found yet.
    Unresolved,
}
