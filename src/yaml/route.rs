//! Routes through a node tree, and the patches that use them.

use std::fmt::{Display, Formatter};
use std::sync::Arc;

use super::{Node, NodeKind};
use crate::value::Value;

/// A step from a collection to one of its values.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RouteStep {
    Key(Arc<str>),
    /// An item of a list, counted from 0.
    Index(usize),
}

/// The path from the root of a document to a node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Route(Vec<RouteStep>);

impl Route {
    /// Returns the route of the root itself.
    pub fn root() -> Self {
        Self::default()
    }

    /// Creates a route that consists of keys.
    pub fn keys<K: Into<Arc<str>>>(keys: impl IntoIterator<Item = K>) -> Self {
        Self(
            keys.into_iter()
                .map(|key| RouteStep::Key(key.into()))
                .collect(),
        )
    }

    /// Extends the route by the key of a map.
    #[must_use]
    pub fn key(mut self, key: impl Into<Arc<str>>) -> Self {
        self.0.push(RouteStep::Key(key.into()));
        self
    }

    /// Extends the route by the index of a list item.
    #[must_use]
    pub fn index(mut self, index: usize) -> Self {
        self.0.push(RouteStep::Index(index));
        self
    }

    /// Returns the steps of the route, starting at the root.
    pub fn steps(&self) -> &[RouteStep] {
        &self.0
    }

    /// Returns the node at the route, or None if a step does not exist.
    pub fn find<'n>(&self, root: &'n Node) -> Option<&'n Node> {
        self.0.iter().try_fold(root, Node::step)
    }
}

impl Node {
    /// Returns the node at one step below this one.
    pub fn step(&self, step: &RouteStep) -> Option<&Self> {
        match (self.kind(), step) {
            (NodeKind::Map(mapping), RouteStep::Key(key)) => mapping.get(key),
            (NodeKind::Seq(items), RouteStep::Index(index)) => items.get(*index),
            _ => None,
        }
    }
}

impl From<Vec<RouteStep>> for Route {
    fn from(steps: Vec<RouteStep>) -> Self {
        Self(steps)
    }
}

/// Formats the route as a JSON pointer.
impl Display for Route {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        for step in &self.0 {
            match step {
                RouteStep::Key(key) => write!(f, "/{}", key.replace('~', "~0").replace('/', "~1"))?,
                RouteStep::Index(index) => write!(f, "/{index}")?,
            }
        }
        Ok(())
    }
}

/// A single edit of a text: an operation at a route.
#[derive(Debug, Clone)]
pub struct Patch {
    /// The route of the value to edit.
    pub route: Route,
    /// The operation to perform on that value.
    pub op: PatchOp,
}

/// An operation of a patch on one value.
#[derive(Debug, Clone)]
pub enum PatchOp {
    /// Sets a value. Adds a missing key, or an item if the index equals the length of the list.
    Set(Value),
    /// Removes the key or item; has no effect if it does not exist.
    Remove,
}

impl Patch {
    /// Creates a patch that sets a value.
    pub fn set(route: Route, value: impl Into<Value>) -> Self {
        let op = PatchOp::Set(value.into());
        Self { route, op }
    }

    /// Creates a patch that removes a key or an item.
    pub fn remove(route: Route) -> Self {
        let op = PatchOp::Remove;
        Self { route, op }
    }
}
