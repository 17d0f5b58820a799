//! What expressions see of a topology.

use std::path::PathBuf;
use std::sync::Arc;

use super::error::Error;
use crate::value::{Handle, Value};

/// What expressions see of a topology. A handle names an entity: a node instance, a relationship,
/// a capability, an artifact, or the root of a topology.
pub trait Scope: Send + Sync {
    /// An attribute as it is written, not evaluated: a stored attribute, a property, or the
    /// declared default of an attribute. A root has `inputs` and `outputs`, maps of raw values.
    fn attribute(&self, of: Handle, name: &str) -> Option<Attribute>;

    /// The value of an attribute that another ensemble evaluates; none for entities of this one.
    fn remote_attribute(&self, _of: Handle, _name: &str) -> Option<Result<Option<Value>, Error>> {
        None
    }

    /// What the name of another ensemble stands for.
    fn external_entity(&self, _name: &str) -> Option<Handle> {
        None
    }

    /// The names of all attributes and properties, in order.
    fn attribute_names(&self, of: Handle) -> Vec<Arc<str>>;

    /// What a special key such as `.name` or `.targets` gives, the dot included: plain values,
    /// entities, and lists and maps of them. Nothing if there is no such key. Templates ask the
    /// root for `.topology`: the instances that `TOPOLOGY` and `ROOT` name, such as `app`.
    fn special(&self, of: Handle, key: &str) -> Option<Value>;

    /// The node instance of that name in the topology of `from`; `root` names the root itself.
    fn find(&self, from: Handle, name: &str) -> Option<Handle>;

    /// All node instances of the topology of `from`, in order.
    fn instances(&self, from: Handle) -> Vec<Handle>;

    /// The root of the topology an entity belongs to.
    fn root(&self, of: Handle) -> Handle;

    /// The key that names an entity in records and messages, such as `::web`.
    fn key(&self, of: Handle) -> Arc<str>;

    /// Whether an entity is of a type or of one derived from it.
    fn is_type(&self, of: Handle, type_name: &str) -> bool;

    /// A number that changes with every write to the topology.
    fn generation(&self) -> u64;

    /// The generation at which an attribute was written last.
    fn version(&self, of: Handle, name: &str) -> u64;

    /// The directory that relative paths in the attributes of an entity start from.
    fn base_dir(&self, _of: Handle) -> PathBuf {
        PathBuf::new()
    }

    /// What `.super` gives: the default of an attribute as the base types of its entity declare
    /// it, so many levels above the template.
    fn inherited(&self, _of: Handle, _name: &str, _level: u32) -> Option<Attribute> {
        None
    }

    /// The relationship by which `from` connects to `target`, or else the default one for it.
    fn connection(&self, _from: Handle, _target: Handle, _relation: &str) -> Option<Handle> {
        None
    }

    /// The name of an artifact as `get_artifact` gives it: a path or a container image.
    fn artifact(&self, _of: Handle, _name: &str) -> Option<Value> {
        None
    }
}

/// An attribute as it is written.
#[derive(Debug, Clone)]
pub struct Attribute {
    /// What is written.
    pub raw: Value,
    /// Whether its declaration marks it as sensitive.
    pub sensitive: bool,
    /// The entity in whose context the raw value is evaluated.
    pub owner: Handle,
}
