//! Resolution of directives: finds the target of a pointer, an anchor or an include, and expands the target
//! in the context of the directive.

use std::sync::Arc;

use super::expander::{Expander, ExpansionAborted, MapOutcome, MissingTarget, Resolution};
use crate::yaml::directive::{Directive, PointerBase, STRATEGY};
use crate::yaml::tree::MergeTree;
use crate::yaml::{MapEntry, Node, RouteStep};

impl Expander<'_> {
    pub(super) fn parse_directive(
        &mut self,
        key: &Arc<str>,
        entry: &MapEntry,
    ) -> Option<Directive> {
        if !key.starts_with('+') || &**key == STRATEGY {
            return None;
        }
        Directive::parse(key).unwrap_or_else(|escape| {
            self.problem(
                format!("the pointer `{key}` has the unknown escape `{escape}`"),
                entry.key_span,
                "unknown escape",
                "write `~0` for `~` and `~1` for `/`",
            );
            None
        })
    }

    pub(super) fn record_missing(
        &mut self,
        directive: &Directive,
        key: &Arc<str>,
        entry: &MapEntry,
    ) {
        self.context_dependencies += 1;
        let value = entry.value.to_value();
        let name = if value.is_truthy() {
            format!("{key}:{value}")
        } else {
            format!("{key}:")
        };
        let (optional, span) = (directive.optional, entry.key_span);
        self.missing.push(MissingTarget {
            name,
            optional,
            span,
        });
    }

    /// Finds the target of a directive and expands it in the context of the directive.
    pub(super) fn resolve_directive(
        &mut self,
        directive: &Directive,
        key: &str,
        entry: &MapEntry,
    ) -> Result<Resolution, ExpansionAborted> {
        if matches!(
            directive.from,
            PointerBase::Anchor(_) | PointerBase::Relative(_)
        ) {
            self.context_dependencies += 1;
        }
        let found = match directive.from {
            PointerBase::Include => self.include(directive, entry),
            _ => self.resolve_pointer(directive, entry),
        };
        let Resolution::Node {
            node,
            raw: false,
            route,
        } = found
        else {
            return Ok(found);
        };
        if node.as_map().is_none() {
            return Ok(Resolution::Node {
                node,
                raw: true,
                route,
            });
        }
        let is_enclosing = route
            .as_ref()
            .is_some_and(|route| self.path.starts_with(route));
        // A loader may parse a file again, so the same file can have other nodes.
        let include = directive.from == PointerBase::Include;
        let active = node.may_have_directives()
            && self.active.iter().any(|active| {
                active.is_same(&node) || (include && MergeTree::equals(active, &node))
            });
        if is_enclosing || active {
            let message = format!("the directive `{key}` merges a map that contains it");
            self.problem(message, entry.key_span, "the expansion would not end", "");
            return Ok(Resolution::Empty);
        }
        let node = self.expand_template(node)?;
        Ok(node.map_or(Resolution::Empty, |node| Resolution::Node {
            node,
            raw: true,
            route,
        }))
    }

    /// Expands a target. If the result does not depend on the context, it is cached.
    fn expand_template(&mut self, node: Node) -> Result<Option<Node>, ExpansionAborted> {
        if let Some((_, known)) = self.template_cache.get(&node.address()) {
            return Ok(Some(known.clone()));
        }
        let dependent = self.context_dependencies;
        self.active.push(node.clone());
        let outcome = self.map(&node);
        self.active.pop();
        let MapOutcome::Expanded(result) = outcome? else {
            return Ok(None);
        };
        if self.context_dependencies == dependent {
            self.template_cache
                .insert(node.address(), (node, result.clone()));
        }
        Ok(Some(result))
    }

    /// Looks up the target of a directive that points into the document.
    fn resolve_pointer(&self, directive: &Directive, entry: &MapEntry) -> Resolution {
        let raw = entry.value.as_str() == Some("raw");
        let (mut node, mut route) = match &directive.from {
            PointerBase::Anchor(name) => match self.anchors.get(name.as_str()) {
                Some(node) => (node, None),
                None => return Resolution::Unresolved,
            },
            PointerBase::Relative(dots) => {
                let up = self.path.len().saturating_sub(dots.saturating_sub(1));
                let path = &self.path[..up];
                match path.iter().try_fold(&self.document, Node::step) {
                    Some(node) => (node, Some(path.to_vec())),
                    None => return Resolution::Unresolved,
                }
            }
            PointerBase::Root | PointerBase::Include => (&self.document, Some(Vec::new())),
        };
        for part in &directive.pointer {
            let step = step_into(node, part);
            let Some(next) = node.step(&step) else {
                return Resolution::Unresolved;
            };
            node = next;
            if let Some(route) = &mut route {
                route.push(step);
            }
        }
        Resolution::Node {
            node: node.clone(),
            raw,
            route,
        }
    }
}

/// Interprets a part of a pointer: as an index in a list, otherwise as a key.
pub(super) fn step_into(node: &Node, part: &str) -> RouteStep {
    match part.parse() {
        Ok(index) if node.as_seq().is_some() => RouteStep::Index(index),
        _ => RouteStep::Key(Arc::from(part)),
    }
}
