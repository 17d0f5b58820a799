//! Expands merge directives.

use std::collections::HashMap;
use std::sync::Arc;

use super::directive::{ANCHOR, Directive, From, STRATEGY};
use super::merge::merge_maps;
use super::tree::Tree;
use super::{Entry, Expanded, Kind, Limits, Loaded, Loader, Mapping, Merge, Node, Route, Step};
use crate::diagnostic::{Diagnostic, Diagnostics, SourceId, Span};

/// How often a document is gone through: once more for each link of a chain of directives that
/// bring what the next one needs.
const MOST_PASSES: usize = 100;

/// Expands all merge directives of a document; the files they include expand in its place.
pub fn expand(
    root: &Node,
    loader: &mut dyn Loader,
    limits: &Limits,
) -> Result<Expanded, Diagnostics> {
    let done = |root: Node, raw: &Node, merges| Expanded {
        root,
        raw: raw.clone(),
        merges,
    };
    if !root.may_have_directives() {
        return Ok(done(root.clone(), root, Vec::new()));
    }
    let mut expander = Expander::new(root, loader, limits);
    let mut missing = 0;
    for _ in 0..MOST_PASSES {
        let expanded = expander.pass(root)?;
        let open = std::mem::take(&mut expander.missing);
        if open.is_empty() {
            return Ok(done(clean(&expanded), root, expander.merges));
        }
        // What another directive brings may hold what was missing.
        if open.len() == missing {
            if let Some(problem) = missing_includes(&open) {
                return Err(problem.into());
            }
            expander.drops_missing = true;
        }
        missing = open.len();
        expander.document = expanded;
    }
    let message = "merge directives bring each other without end";
    Err(Diagnostic::error(message).label(root.span(), "").into())
}

fn missing_includes(open: &[Missing]) -> Option<Diagnostic> {
    let required: Vec<_> = open.iter().filter(|missing| !missing.optional).collect();
    let names: Vec<_> = required
        .iter()
        .map(|missing| format!("'{}'", missing.name))
        .collect();
    let problem = Diagnostic::error(format!("missing includes: [{}]", names.join(", ")));
    let problem = required.iter().fold(problem, |problem, missing| {
        problem.label(missing.span, "nothing is there to merge")
    });
    (!required.is_empty())
        .then(|| problem.help("correct the pointer, or write `+?` if it need not be there"))
}

/// Takes out what asks to be taken out but met nothing, and strategies that have been followed.
fn clean(node: &Node) -> Node {
    if !node.may_have_directives() {
        return node.clone();
    }
    let map = match node.kind() {
        Kind::Seq(items) => {
            let items = items.iter().map(clean).collect();
            let (tag, anchor) = (node.tag().map(Arc::from), node.anchor().map(Arc::from));
            return Node::with_anchor(Kind::Seq(items), node.span(), tag, anchor);
        }
        Kind::Map(map) => map,
        _ => return node.clone(),
    };
    let strategy = |node: &Node| node.get(STRATEGY).and_then(Node::as_str).map(str::to_owned);
    let kept = map
        .iter()
        .filter_map(|(key, entry)| match strategy(&entry.value).as_deref() {
            Some("whiteout" | "nullout") => None,
            _ if key.as_ref() == STRATEGY => {
                let followed = matches!(entry.value.as_str(), Some("merge" | "replace" | "error"));
                (!followed).then(|| (Arc::clone(key), entry.clone()))
            }
            _ => {
                let value = clean(&entry.value);
                Some((
                    Arc::clone(key),
                    Entry {
                        key_span: entry.key_span,
                        value,
                    },
                ))
            }
        });
    rebuilt(node, kept.collect())
}

fn rebuilt(node: &Node, map: Mapping) -> Node {
    Node::with_anchor(
        Kind::Map(map),
        node.span(),
        node.tag().map(Arc::from),
        node.anchor().map(Arc::from),
    )
}

/// A directive that found nothing so far.
struct Missing {
    name: String,
    optional: bool,
    span: Span,
}

/// Why expanding goes no further; the problems say it.
pub(super) struct Halt;

/// What a map becomes.
enum Outcome {
    Is(Node),
    /// Only optional directives stood in it, and they found nothing.
    Gone,
}

/// What a directive gives.
pub(super) enum Found {
    /// This, to be expanded unless `raw`.
    Node {
        node: Node,
        raw: bool,
        route: Option<Vec<Step>>,
    },
    /// Nothing, and that is fine.
    Nothing,
    /// Nothing so far.
    Missing,
}

pub(super) struct Expander<'l> {
    pub(super) loader: &'l mut dyn Loader,
    limits: Limits,
    /// Where directives look things up: the document, as far as it is expanded.
    pub(super) document: Node,
    pub(super) anchors: HashMap<Arc<str>, Node>,
    pub(super) included: HashMap<(SourceId, String, Option<String>), Loaded>,
    missing: Vec<Missing>,
    merges: Vec<Merge>,
    pub(super) problems: Diagnostics,
    /// Where the map stands that is being expanded.
    path: Vec<Step>,
    /// What is being merged right now, outermost first.
    active: Vec<Node>,
    depth: usize,
    work: u64,
    drops_missing: bool,
    /// What templates became in this pass, by their address, if it is the same everywhere. The
    /// template is kept, so that no other node gets its address.
    known: HashMap<usize, (Node, Node)>,
    /// How often something was met that depends on where or when it is expanded.
    dependent: usize,
}

impl<'l> Expander<'l> {
    fn new(root: &Node, loader: &'l mut dyn Loader, limits: &Limits) -> Self {
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
            known: HashMap::new(),
            dependent: 0,
        };
        expander.find_anchors(root);
        expander
    }

    fn pass(&mut self, root: &Node) -> Result<Node, Diagnostics> {
        self.merges.clear();
        self.known.clear();
        let outcome = self.map(root);
        if self.problems.has_errors() {
            return Err(std::mem::take(&mut self.problems));
        }
        Ok(match outcome {
            Ok(Outcome::Is(node)) => node,
            Ok(Outcome::Gone) | Err(Halt) => rebuilt(root, Mapping::default()),
        })
    }

    /// Remembers the YAML anchors of a text.
    pub(super) fn find_anchors(&mut self, node: &Node) {
        if !node.has_anchors() {
            return;
        }
        if let Some(name) = node.anchor() {
            self.anchors.insert(Arc::from(name), node.clone());
        }
        match node.kind() {
            Kind::Seq(items) => items.iter().for_each(|item| self.find_anchors(item)),
            Kind::Map(map) => map
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

    fn map(&mut self, node: &Node) -> Result<Outcome, Halt> {
        let Some(map) = node.as_map().filter(|_| node.may_have_directives()) else {
            return Ok(Outcome::Is(node.clone()));
        };
        self.count(node)?;
        self.depth += 1;
        let outcome = self.entries(node, map);
        self.depth -= 1;
        outcome
    }

    /// Bounds depth and work, which directives can multiply.
    fn count(&mut self, node: &Node) -> Result<(), Halt> {
        self.work += 1 + node.as_map().map_or(0, |map| map.len() as u64);
        if self.depth >= self.limits.max_depth {
            self.problem(
                "merge directives nest too deep".into(),
                node.span(),
                "too deep here",
                "",
            );
            return Err(Halt);
        }
        if self.work > u64::from(self.limits.max_nodes) {
            let message = "merge directives make the document too large";
            self.problem(message.into(), node.span(), "too large with this", "");
            return Err(Halt);
        }
        Ok(())
    }

    fn entries(&mut self, node: &Node, map: &Mapping) -> Result<Outcome, Halt> {
        let mut own: Vec<(Arc<str>, Entry)> = Vec::with_capacity(map.len());
        let mut merged: Option<Node> = None;
        let mut first = Span::NONE;
        let mut name = None;
        let mut dropped = false;
        for (key, entry) in map {
            if &**key == ANCHOR {
                name = entry.value.as_str().map(Arc::from);
                self.dependent += 1;
                continue;
            }
            let Some(directive) = self.directive(key, entry) else {
                if let Some(value) = self.value(key, &entry.value)? {
                    let key_span = entry.key_span;
                    own.push((Arc::clone(key), Entry { key_span, value }));
                }
                continue;
            };
            match self.template(&directive, key, entry)? {
                Found::Missing if self.drops_missing && directive.optional => {
                    self.dependent += 1;
                    dropped = true;
                }
                Found::Missing => {
                    self.miss(&directive, key, entry);
                    own.push((Arc::clone(key), entry.clone()));
                }
                Found::Nothing => {}
                Found::Node { node: found, .. } if found.as_map().is_none() => {
                    if map.len() == 1 {
                        return Ok(Outcome::Is(found));
                    }
                    self.problem(
                        format!(
                            "`{key}` gives {}, which cannot be merged into a map",
                            found.kind_name()
                        ),
                        entry.key_span,
                        "needs a map",
                        "let the directive stand alone to put the value in the place of the map",
                    );
                }
                Found::Node { node: found, .. } => {
                    first = if merged.is_none() {
                        entry.key_span
                    } else {
                        first
                    };
                    merged = Some(match merged {
                        None => found,
                        Some(base) => self.merge(&base, &found),
                    });
                }
            }
        }
        if dropped && own.is_empty() && merged.is_none() && name.is_none() {
            return Ok(Outcome::Gone);
        }
        let changed = name.is_some() || dropped || own.len() != map.len() || differs(&own, map);
        let own = if changed {
            rebuilt(node, own.into_iter().collect())
        } else {
            node.clone()
        };
        if let Some(name) = name {
            self.anchors.insert(name, own.clone());
        }
        let Some(base) = merged else {
            return Ok(Outcome::Is(own));
        };
        let result = self.merge(&base, &own);
        if self.active.is_empty() {
            let route = Route::from(self.path.clone());
            self.merges.push(Merge {
                route,
                base,
                span: first,
            });
        }
        self.check(&result, first)?;
        Ok(Outcome::Is(result))
    }

    fn merge(&mut self, base: &Node, over: &Node) -> Node {
        self.work += base.as_map().map_or(0, |map| map.len() as u64);
        merge_maps(base, over).unwrap_or_else(|forbidden| {
            self.problem(
                format!("`{}` must not be overridden", forbidden.key),
                forbidden.mark,
                "overridden here",
                "what it overrides says `+%: error`",
            );
            base.clone()
        })
    }

    /// Refuses a result that is too large once it is written out.
    fn check(&mut self, node: &Node, span: Span) -> Result<(), Halt> {
        let message = if node.weight() > self.limits.max_nodes {
            "merge directives make the document too large"
        } else if node.depth() + self.path.len() > self.limits.max_depth {
            "merge directives make the document too deep"
        } else {
            return Ok(());
        };
        self.problem(message.into(), span, "merged here", "");
        Err(Halt)
    }

    /// The value of a key that is no directive; `None` if nothing is left of it.
    fn value(&mut self, key: &Arc<str>, value: &Node) -> Result<Option<Node>, Halt> {
        if !value.may_have_directives() || key.starts_with('+') {
            return Ok(Some(value.clone()));
        }
        self.path.push(Step::Key(Arc::clone(key)));
        let outcome = match value.kind() {
            Kind::Seq(items) => self.list(value, items).map(Some),
            _ => self.map(value).map(|outcome| match outcome {
                Outcome::Is(node) => Some(node),
                Outcome::Gone => None,
            }),
        };
        self.path.pop();
        outcome
    }

    /// A list in which a directive that gives a list puts its items.
    fn list(&mut self, node: &Node, items: &[Node]) -> Result<Node, Halt> {
        let mut expanded = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            if item.as_map().is_none() || !item.may_have_directives() {
                expanded.push(item.clone());
                continue;
            }
            if item.get(STRATEGY).and_then(Node::as_str) == Some("whiteout") {
                continue;
            }
            self.path.push(Step::Index(index));
            let outcome = self.map(item);
            self.path.pop();
            match outcome? {
                Outcome::Gone => {}
                Outcome::Is(found) => match found.as_seq() {
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
            Kind::Seq(expanded),
            node.span(),
            tag,
            anchor,
        ))
    }

    fn directive(&mut self, key: &Arc<str>, entry: &Entry) -> Option<Directive> {
        if !key.starts_with('+') || &**key == STRATEGY {
            return None;
        }
        Directive::of(key).unwrap_or_else(|escape| {
            self.problem(
                format!("the pointer `{key}` has the escape `{escape}`"),
                entry.key_span,
                "not known",
                "write `~0` for `~` and `~1` for `/`",
            );
            None
        })
    }

    fn miss(&mut self, directive: &Directive, key: &Arc<str>, entry: &Entry) {
        self.dependent += 1;
        let value = entry.value.to_value();
        let name = if value.is_truthy() {
            format!("{key}:{value}")
        } else {
            format!("{key}:")
        };
        let (optional, span) = (directive.optional, entry.key_span);
        self.missing.push(Missing {
            name,
            optional,
            span,
        });
    }

    /// What a directive gives, expanded in the place of the directive.
    fn template(&mut self, directive: &Directive, key: &str, entry: &Entry) -> Result<Found, Halt> {
        if matches!(directive.from, From::Anchor(_) | From::Relative(_)) {
            self.dependent += 1;
        }
        let found = match directive.from {
            From::Include => self.include(directive, entry),
            _ => self.find(directive, entry),
        };
        let Found::Node {
            node,
            raw: false,
            route,
        } = found
        else {
            return Ok(found);
        };
        if node.as_map().is_none() {
            return Ok(Found::Node {
                node,
                raw: true,
                route,
            });
        }
        let around = route
            .as_ref()
            .is_some_and(|route| self.path.starts_with(route));
        // A loader may read a file anew, so that its nodes are others.
        let include = directive.from == From::Include;
        let active = node.may_have_directives()
            && self
                .active
                .iter()
                .any(|active| active.is_same(&node) || (include && Tree::equals(active, &node)));
        if around || active {
            let message = format!("`{key}` merges what it stands in");
            self.problem(message, entry.key_span, "would never end", "");
            return Ok(Found::Nothing);
        }
        if let Some((_, known)) = self.known.get(&node.address()) {
            let node = known.clone();
            return Ok(Found::Node {
                node,
                raw: true,
                route,
            });
        }
        let dependent = self.dependent;
        self.active.push(node.clone());
        let outcome = self.map(&node);
        self.active.pop();
        let Outcome::Is(result) = outcome? else {
            return Ok(Found::Nothing);
        };
        if self.dependent == dependent {
            self.known.insert(node.address(), (node, result.clone()));
        }
        Ok(Found::Node {
            node: result,
            raw: true,
            route,
        })
    }

    /// Looks up a directive that points into the document.
    fn find(&self, directive: &Directive, entry: &Entry) -> Found {
        let raw = entry.value.as_str() == Some("raw");
        let (mut node, mut route) = match &directive.from {
            From::Anchor(name) => match self.anchors.get(name.as_str()) {
                Some(node) => (node, None),
                None => return Found::Missing,
            },
            From::Relative(dots) => {
                let up = self.path.len().saturating_sub(dots.saturating_sub(1));
                let path = &self.path[..up];
                match path.iter().try_fold(&self.document, Node::step) {
                    Some(node) => (node, Some(path.to_vec())),
                    None => return Found::Missing,
                }
            }
            From::Root | From::Include => (&self.document, Some(Vec::new())),
        };
        for part in &directive.pointer {
            let step = step_into(node, part);
            let Some(next) = node.step(&step) else {
                return Found::Missing;
            };
            node = next;
            if let Some(route) = &mut route {
                route.push(step);
            }
        }
        Found::Node {
            node: node.clone(),
            raw,
            route,
        }
    }
}

fn differs(own: &[(Arc<str>, Entry)], map: &Mapping) -> bool {
    own.iter()
        .zip(map)
        .any(|((_, new), (_, old))| !new.value.is_same(&old.value))
}

/// A part of a pointer is an index in a list and a key elsewhere.
pub(super) fn step_into(node: &Node, part: &str) -> Step {
    match part.parse() {
        Ok(index) if node.as_seq().is_some() => Step::Index(index),
        _ => Step::Key(Arc::from(part)),
    }
}
