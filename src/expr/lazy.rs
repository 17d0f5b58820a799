//! The intermediate values of an evaluation. A [`LazyValue`] becomes a [`Value`] only on demand, so an
//! expression that selects one element of a map does not evaluate the others.

use std::sync::Arc;

use crate::value::{Handle, Map, Value};

use super::context::{Context, Inputs};
use super::memo::AttributeSlot;

/// A value, or an object that the evaluator can turn into a value.
#[derive(Debug, Clone)]
pub(super) enum LazyValue {
    Value(Value),
    Entity(Handle),
    Lazy(Arc<LazyCollection>),
    Attributes(Handle),
    /// The instances of the topology that contains the entity, by name, including its root.
    AllInstances(Handle),
    /// The attributes of an entity as its base types define them, this many levels up (`.super`).
    Super(Handle, u32),
    /// The template of an entity (`.template`).
    Template(Handle),
    /// The root of a topology as templates see it: inputs, outputs and instances by name.
    Topology(Handle),
    /// The inputs of a task and the scene that they are evaluated in.
    Inputs(Arc<Inputs>, Arc<Scene>),
    /// The connections of a task, found by name or type.
    Connections(Arc<Map>),
    /// The marker that ends a `foreach` loop.
    Break,
    /// The marker that skips the current iteration of a `foreach` loop.
    Continue,
}

/// A map or list that contains unevaluated expressions.
#[derive(Debug)]
pub(super) struct LazyCollection {
    pub(super) raw: Value,
    pub(super) scene: Scene,
    /// The attribute, or part of one, that the collection is. The memo stores its elements under it.
    pub(super) slot: Option<AttributeSlot>,
}

/// The context of an evaluation and the current item that a path starts from: an entity or a loop item.
#[derive(Debug, Clone)]
pub(super) struct Scene {
    pub(super) context: Context,
    pub(super) current: LazyValue,
    /// Whether the scene is inside `foreach` or `select`, where a bare name starts at the current item.
    pub(super) looping: bool,
}

impl Scene {
    /// Creates a scene whose current item is the target of the context.
    pub(super) fn new(context: Context) -> Self {
        Self {
            current: LazyValue::Entity(context.target),
            context,
            looping: false,
        }
    }

    /// Returns the current entity, or the target of the context if the current item is a plain value.
    pub(super) fn entity(&self) -> Handle {
        self.current.as_entity().unwrap_or(self.context.target)
    }

    /// Returns the scene with another current item.
    pub(super) fn at(&self, current: LazyValue) -> Self {
        let mut scene = self.clone();
        scene.current = current;
        scene
    }
}

impl LazyValue {
    /// Returns the entity, if the value is one or stands for the attributes of one.
    pub(super) fn as_entity(&self) -> Option<Handle> {
        match self {
            Self::Attributes(of) | Self::Entity(of) => Some(*of),
            Self::Value(value) => value.as_entity(),
            _ => None,
        }
    }

    /// Returns the entity, if the value is one without a mark.
    pub(super) fn plain_entity(&self) -> Option<Handle> {
        match self {
            Self::Entity(of) => Some(*of),
            Self::Value(Value::Entity(entity)) => Some(entity.handle()),
            _ => None,
        }
    }

    /// Whether the value is a list, evaluated or not.
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
