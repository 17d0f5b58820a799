//! Ways through a tree.

use std::fmt::{Display, Formatter};
use std::sync::Arc;

use super::{Node, NodeKind};
use crate::value::Value;

/// One step down.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RouteStep {
    /// To the value of a key.
    Key(Arc<str>),
    /// To an item of a list, counted from 0.
    Index(usize),
}

/// The way from the root to a node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Route(Vec<RouteStep>);

impl Route {
    /// The root itself.
    pub fn root() -> Self {
        Self::default()
    }

    /// The way over keys alone.
    pub fn keys<K: Into<Arc<str>>>(keys: impl IntoIterator<Item = K>) -> Self {
        Self(
            keys.into_iter()
                .map(|key| RouteStep::Key(key.into()))
                .collect(),
        )
    }

    /// Goes on to the value of a key.
    #[must_use]
    pub fn key(mut self, key: impl Into<Arc<str>>) -> Self {
        self.0.push(RouteStep::Key(key.into()));
        self
    }

    /// Goes on to an item of a list.
    #[must_use]
    pub fn index(mut self, index: usize) -> Self {
        self.0.push(RouteStep::Index(index));
        self
    }

    /// Its steps.
    pub fn steps(&self) -> &[RouteStep] {
        &self.0
    }

    /// The node it leads to.
    pub fn find<'n>(&self, root: &'n Node) -> Option<&'n Node> {
        self.0.iter().try_fold(root, Node::step)
    }
}

impl Node {
    /// The node one step down.
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

/// As a JSON pointer.
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

/// One edit of a text.
#[derive(Debug, Clone)]
pub struct Patch {
    /// What it is about.
    pub route: Route,
    /// What to do there.
    pub op: PatchOp,
}

/// What a patch does.
#[derive(Debug, Clone)]
pub enum PatchOp {
    /// Sets a value; adds the key if it is missing, or the item if the index is the list's length.
    Set(Value),
    /// Takes the key or item out; does nothing if it is not there.
    Remove,
}

impl Patch {
    /// Sets a value.
    pub fn set(route: Route, value: impl Into<Value>) -> Self {
        let op = PatchOp::Set(value.into());
        Self { route, op }
    }

    /// Takes a key or an item out.
    pub fn remove(route: Route) -> Self {
        let op = PatchOp::Remove;
        Self { route, op }
    }
}
