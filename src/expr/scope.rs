//! The port through which expressions see a topology. The module `topology` implements [`Scope`].

use std::path::PathBuf;
use std::sync::Arc;

use super::error::Error;
use crate::value::{Handle, Value};

/// A topology as expressions see it.
///
/// A handle identifies an entity: a node instance, a relationship, a capability, an artifact, or the root of
/// a topology.
pub trait Scope: Send + Sync {
    /// Returns the unevaluated attribute of an entity: a stored attribute, a property, or the declared
    /// default of an attribute.
    ///
    /// A root has the attributes `inputs` and `outputs`, maps of raw values.
    fn attribute(&self, of: Handle, name: &str) -> Option<Attribute>;

    /// Returns the value of an attribute that another ensemble evaluates. None for entities of this
    /// ensemble.
    fn remote_attribute(&self, _of: Handle, _name: &str) -> Option<Result<Option<Value>, Error>> {
        None
    }

    /// Returns the entity that represents the external ensemble with a name.
    fn external_entity(&self, _name: &str) -> Option<Handle> {
        None
    }

    /// Returns the names of the attributes and properties of an entity, in order.
    fn attribute_names(&self, of: Handle) -> Vec<Arc<str>>;

    /// Returns the value of a special key such as `.name` or `.targets`; `key` includes the dot.
    ///
    /// Values are plain values, entities, and lists and maps of them. None if the key does not exist.
    /// Templates read `.topology` of the root for the instances that `TOPOLOGY` and `ROOT` contain.
    fn special(&self, of: Handle, key: &str) -> Option<Value>;

    /// Returns the node instance with a name in the topology of `from`. The name `root` means the root
    /// itself.
    fn find(&self, from: Handle, name: &str) -> Option<Handle>;

    /// Returns the node instances of the topology of `from`, in order.
    fn instances(&self, from: Handle) -> Vec<Handle>;

    /// Returns the root of the topology that contains an entity.
    fn root(&self, of: Handle) -> Handle;

    /// Returns the key that identifies an entity in records and messages, such as `::web`.
    fn key(&self, of: Handle) -> Arc<str>;

    /// Returns a value that refers to an entity.
    fn reference(&self, of: Handle) -> Value {
        Value::entity(of, self.key(of), None)
    }

    /// Whether an entity has a type or one derived from it.
    fn is_type(&self, of: Handle, type_name: &str) -> bool;

    /// Returns a counter that every write to the topology increments.
    fn generation(&self) -> u64;

    /// Returns the generation of the last write to an attribute.
    fn version(&self, of: Handle, name: &str) -> u64;

    /// Returns the directory that relative paths in the attributes of an entity start from.
    fn base_dir(&self, _of: Handle) -> PathBuf {
        PathBuf::new()
    }

    /// Returns the attribute that `.super` refers to: its default in a base type of the entity, `level`
    /// levels above the template.
    fn inherited(&self, _of: Handle, _name: &str, _level: u32) -> Option<Attribute> {
        None
    }

    /// Returns the relationship that connects `from` to `target`, or the default one for the target.
    fn connection(&self, _from: Handle, _target: Handle, _relation: &str) -> Option<Handle> {
        None
    }

    /// Returns the value of `get_artifact` for an artifact: a path or the name of a container image.
    fn artifact(&self, _of: Handle, _name: &str) -> Option<Value> {
        None
    }
}

/// An unevaluated attribute of an entity.
#[derive(Debug, Clone)]
pub struct Attribute {
    /// The value before evaluation, as the model or the ensemble states it.
    pub raw: Value,
    /// Whether the declaration of the attribute marks it as sensitive.
    pub sensitive: bool,
    /// The entity in whose context the raw value is evaluated.
    pub owner: Handle,
}
