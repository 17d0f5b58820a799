//! What an evaluation read.

use std::path::PathBuf;
use std::sync::Arc;

use crate::value::{Handle, Value};

/// One thing an evaluation read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Read {
    /// The attributes of an entity were looked at; of value only for the order of entities.
    Entity(Handle),
    /// An attribute of an entity, as a whole.
    Attribute {
        /// The entity.
        of: Handle,
        /// The name of the attribute.
        name: Arc<str>,
    },
    /// An attribute that an entity does not have.
    Absent {
        /// The entity.
        of: Handle,
        /// The name that was asked for.
        name: Arc<str>,
    },
    /// An input of the task.
    Input(Arc<str>),
    /// A variable of the environment.
    Env(Arc<str>),
    /// A file, or a path whose tree counts.
    File(PathBuf),
    /// A special key of an entity, such as `.targets`.
    Special {
        /// The entity.
        of: Handle,
        /// The key, with its dot.
        key: Arc<str>,
    },
    /// A node instance by its name.
    Instance {
        /// From where it was looked up.
        from: Handle,
        /// The name.
        name: Arc<str>,
    },
    /// All node instances of a topology.
    Instances(Handle),
    /// Something that differs from one moment to the next: the clock, a directory.
    Volatile,
}

/// What an evaluation read, in the order of first access, each once, with the value it had then
/// where that is known.
#[derive(Debug, Clone, Default)]
pub struct Reads(indexmap::IndexMap<Read, Value>);

impl Reads {
    /// Each read with its value.
    pub fn iter(&self) -> indexmap::map::Iter<'_, Read, Value> {
        self.0.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing was read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value a read had.
    pub fn get(&self, read: &Read) -> Option<&Value> {
        self.0.get(read)
    }

    /// Adds a read; its place is that of its first access, its value the last known one.
    pub fn add(&mut self, read: Read, value: Option<Value>) {
        let entry = self.0.entry(read).or_default();
        if let Some(value) = value {
            *entry = value;
        }
    }

    /// Adds all of another collection.
    pub fn append(&mut self, other: &Self) {
        for (read, value) in &other.0 {
            self.add(read.clone(), Some(value.clone()));
        }
    }
}

impl IntoIterator for Reads {
    type Item = (Read, Value);
    type IntoIter = indexmap::map::IntoIter<Read, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Reads {
    type Item = (&'a Read, &'a Value);
    type IntoIter = indexmap::map::Iter<'a, Read, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
