//! What evaluation works on: values, and what becomes a value only when it is asked for.

use std::sync::Arc;

use crate::value::{Handle, Value};

use super::context::{Context, Inputs};
use super::memo::AttributeSlot;

/// A value, or something that can become one.
#[derive(Debug, Clone)]
pub(super) enum LazyValue {
    /// A value, evaluated.
    Value(Value),
    /// A map or list with expressions in it.
    Lazy(Arc<LazyCollection>),
    /// The attributes of an entity.
    Attributes(Handle),
    /// All instances of the topology of an entity, by name, its root included.
    AllInstances(Handle),
    /// The attributes of an entity as its base types define them, so many levels up.
    Super(Handle, u32),
    /// The root of a topology as templates know it: inputs, outputs and instances by name.
    Topology(Handle),
    /// The inputs of a task, evaluated in these surroundings.
    Inputs(Arc<Inputs>, Arc<Scene>),
    /// Ends a loop.
    Break,
    /// Leaves out a round of a loop.
    Continue,
}

/// A map or list that still has expressions in it.
#[derive(Debug)]
pub(super) struct LazyCollection {
    pub(super) raw: Value,
    pub(super) scene: Scene,
    /// The part of an attribute this is, if it is one: its elements are remembered.
    pub(super) slot: Option<AttributeSlot>,
}

/// The surroundings of an evaluation, and what it stands on: an entity, or an item of a loop.
#[derive(Debug, Clone)]
pub(super) struct Scene {
    pub(super) context: Context,
    pub(super) current: LazyValue,
    /// Whether this is inside of `foreach` or `select`, where a bare name starts at the item.
    pub(super) looping: bool,
}

impl Scene {
    /// Stands on the target of a context.
    pub(super) fn new(context: Context) -> Self {
        Self {
            current: LazyValue::entity(context.target),
            context,
            looping: false,
        }
    }

    /// The entity this stands on: that of the context if it stands on a plain value.
    pub(super) fn entity(&self) -> Handle {
        self.current.as_entity().unwrap_or(self.context.target)
    }

    /// The same surroundings, standing on something else.
    pub(super) fn at(&self, current: LazyValue) -> Self {
        let mut scene = self.clone();
        scene.current = current;
        scene
    }
}

impl LazyValue {
    /// An entity.
    pub(super) fn entity(handle: Handle) -> Self {
        Self::Value(Value::Entity(handle))
    }

    /// The entity this is, or whose attributes it is.
    pub(super) fn as_entity(&self) -> Option<Handle> {
        match self {
            Self::Attributes(of) => Some(*of),
            Self::Value(value) => match value.reveal() {
                Value::Entity(handle) => Some(*handle),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether it is a list, evaluated or not.
    pub(super) fn is_list(&self) -> bool {
        match self {
            Self::Value(value) => value.as_list().is_some(),
            Self::Lazy(lazy) => matches!(lazy.raw, Value::List(_)),
            _ => false,
        }
    }
}

impl From<Value> for LazyValue {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}
