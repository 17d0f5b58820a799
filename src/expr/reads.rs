//! The record of the reads of an evaluation. The memo uses it to check whether a stored value is still
//! valid, and the job to record the dependencies of a task.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use crate::value::{Handle, Value};

use super::requested_writes::RequestedWrites;

/// A single access of an evaluation to the topology, the environment or a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Read {
    /// An access to the attributes of an entity as a whole. It matters only for the order of entities.
    Entity(Handle),
    /// An attribute of an entity, as a whole.
    Attribute {
        of: Handle,
        name: Arc<str>,
    },
    /// An attribute that an entity does not have.
    Absent {
        of: Handle,
        name: Arc<str>,
    },
    Input(Arc<str>),
    Env(Arc<str>),
    /// A value of `locals`, by name.
    Local(Arc<str>),
    /// A file, or a directory whose tree counts.
    File(PathBuf),
    /// A path, or a file that was read, whose contents count for the reader.
    Path(PathBuf),
    /// A special key of an entity, such as `.targets`.
    Special {
        of: Handle,
        /// The key, including its leading dot.
        key: Arc<str>,
    },
    /// A node instance looked up by name.
    Instance {
        /// The entity from which the lookup started.
        from: Handle,
        name: Arc<str>,
    },
    /// The list of node instances of a topology.
    Instances(Handle),
    /// A value that changes over time: the clock, a directory listing.
    Volatile,
}

/// The reads of an evaluation, each once, in the order of first access.
///
/// The value of a read is the value at that time, or null if it is not known. The writes that the
/// evaluation requested go with its reads.
#[derive(Debug, Clone, Default)]
pub struct Reads(
    indexmap::IndexMap<Read, Value>,
    RequestedWrites,
    HashSet<Read>,
);

impl Reads {
    pub fn iter(&self) -> indexmap::map::Iter<'_, Read, Value> {
        self.0.iter()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the value of a read at the time of the access.
    pub fn get(&self, read: &Read) -> Option<&Value> {
        self.0.get(read)
    }

    /// Returns true if a read is in the record.
    pub fn contains(&self, read: &Read) -> bool {
        self.0.contains_key(read)
    }

    /// Marks reads that Unfurl does not see, because it reads the model instead of the instance.
    pub(super) fn mark_unseen(&mut self, is_unseen: impl Fn(&Read) -> bool) {
        let unseen = self.0.keys().filter(|read| is_unseen(read)).cloned();
        self.2.extend(unseen);
    }

    /// Whether Unfurl sees a read.
    pub(super) fn is_seen(&self, read: &Read) -> bool {
        !self.2.contains(read)
    }

    /// Adds a read. Its position is that of the first access; its value is the last known one.
    pub fn add(&mut self, read: Read, value: Option<Value>) {
        self.2.remove(&read);
        let entry = self.0.entry(read).or_default();
        if let Some(value) = value {
            *entry = value;
        }
    }

    /// Sets the value of a read that is there already.
    pub(super) fn set_value(&mut self, read: &Read, value: Value) {
        if let Some(known) = self.0.get_mut(read) {
            *known = value;
        }
    }

    /// Adds the reads and the requested writes of another collection.
    pub fn append(&mut self, other: &Self) {
        for (read, value) in &other.0 {
            let is_new_or_unseen = !self.0.contains_key(read) || self.2.contains(read);
            self.add(read.clone(), Some(value.clone()));
            if is_new_or_unseen && other.2.contains(read) {
                self.2.insert(read.clone());
            }
        }
        self.1.append(&other.1);
    }

    /// Returns the writes that the evaluation requested, also those of attributes and inputs that it used.
    pub fn writes(&self) -> &RequestedWrites {
        &self.1
    }

    pub(super) fn writes_mut(&mut self) -> &mut RequestedWrites {
        &mut self.1
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
