//! Tables for short keys: a fast hasher whose seed keeps collisions from being planned.

use std::collections::{HashMap, HashSet};

/// Makes hashers for short keys.
pub type Fold = foldhash::fast::RandomState;

/// A table of names or small keys.
pub type FoldMap<K, V> = HashMap<K, V, Fold>;

/// A set of names or small keys.
pub type FoldSet<K> = HashSet<K, Fold>;
