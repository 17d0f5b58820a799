//! What directives give, expanded where they stand.

use std::sync::Arc;

use super::expander::{Expander, Found, Halt, Missing, Outcome};
use crate::yaml::directive::{Directive, From, STRATEGY};
use crate::yaml::tree::Tree;
use crate::yaml::{Entry, Node, Step};

impl Expander<'_> {
    pub(super) fn directive(&mut self, key: &Arc<str>, entry: &Entry) -> Option<Directive> {
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

    pub(super) fn miss(&mut self, directive: &Directive, key: &Arc<str>, entry: &Entry) {
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
    pub(super) fn template(
        &mut self,
        directive: &Directive,
        key: &str,
        entry: &Entry,
    ) -> Result<Found, Halt> {
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
        let node = self.expanded(node)?;
        Ok(node.map_or(Found::Nothing, |node| Found::Node {
            node,
            raw: true,
            route,
        }))
    }

    /// Expands a template; one that depends on nothing around it, only once.
    fn expanded(&mut self, node: Node) -> Result<Option<Node>, Halt> {
        if let Some((_, known)) = self.known.get(&node.address()) {
            return Ok(Some(known.clone()));
        }
        let dependent = self.dependent;
        self.active.push(node.clone());
        let outcome = self.map(&node);
        self.active.pop();
        let Outcome::Is(result) = outcome? else {
            return Ok(None);
        };
        if self.dependent == dependent {
            self.known.insert(node.address(), (node, result.clone()));
        }
        Ok(Some(result))
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

/// A part of a pointer is an index in a list and a key elsewhere.
pub(super) fn step_into(node: &Node, part: &str) -> Step {
    match part.parse() {
        Ok(index) if node.as_seq().is_some() => Step::Index(index),
        _ => Step::Key(Arc::from(part)),
    }
}
