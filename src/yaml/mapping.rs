//! The entries of a YAML mapping, in order. Most mappings are small and searched linearly; large ones, with
//! up to 100,000 entries, use a hash table.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::sync::Arc;

use super::{MapEntry, Node};
use crate::value::Fold;

/// The maximum number of entries for which a linear search is faster than a hash table.
const TABLE_THRESHOLD: usize = 8;

/// The entries of a mapping in the order of the text, followed by those of merge keys (`<<`).
#[derive(Debug, Clone, Default)]
pub struct Mapping {
    entries: Vec<(Arc<str>, MapEntry)>,
    /// The index of each key, for mappings above [`TABLE_THRESHOLD`].
    table: Option<Box<HashIndex>>,
    /// The number of entries at the end that came from merge keys.
    inherited: u32,
}

type HashIndex = HashMap<Arc<str>, u32, Fold>;

impl Mapping {
    /// Creates a mapping with the first entry of each key. Also returns the later duplicates.
    pub(super) fn from_entries(
        entries: Vec<(Arc<str>, MapEntry)>,
    ) -> (Self, Vec<(Arc<str>, MapEntry)>) {
        let mut mapping = Self {
            entries,
            table: None,
            inherited: 0,
        };
        if mapping.entries.len() <= TABLE_THRESHOLD && !mapping.has_duplicates() {
            return (mapping, Vec::new());
        }
        let entries = std::mem::take(&mut mapping.entries);
        let mut duplicates = Vec::new();
        let mut table = HashIndex::with_capacity_and_hasher(entries.len(), Fold::default());
        mapping.entries = Vec::with_capacity(entries.len());
        for (key, entry) in entries {
            match table.entry(Arc::clone(&key)) {
                Slot::Occupied(_) => duplicates.push((key, entry)),
                Slot::Vacant(slot) => {
                    slot.insert(to_u32(mapping.entries.len()));
                    mapping.entries.push((key, entry));
                }
            }
        }
        mapping.table = (mapping.entries.len() > TABLE_THRESHOLD).then(|| Box::new(table));
        (mapping, duplicates)
    }

    fn has_duplicates(&self) -> bool {
        let same = |a: &Arc<str>, b: &Arc<str>| Arc::ptr_eq(a, b) || a == b;
        let mut rest = self.entries.as_slice();
        while let Some(((key, _), others)) = rest.split_first() {
            if others.iter().any(|(other, _)| same(key, other)) {
                return true;
            }
            rest = others;
        }
        false
    }

    /// Adds an entry of a merge key, unless the key exists.
    pub(super) fn inherit(&mut self, key: &Arc<str>, entry: &MapEntry) {
        if self.index_of(key).is_none() {
            self.push(Arc::clone(key), entry.clone());
            self.inherited += 1;
        }
    }

    /// Returns the number of entries that the text of the mapping states. Entries of merge keys follow them.
    pub(super) fn own_len(&self) -> usize {
        self.entries.len().saturating_sub(self.inherited as usize)
    }

    /// Returns the index of a key among the entries.
    pub(super) fn index_of(&self, key: &str) -> Option<usize> {
        match &self.table {
            Some(table) => table.get(key).map(|place| *place as usize),
            None => self.entries.iter().position(|(other, _)| &**other == key),
        }
    }

    pub(super) fn entry_at(&self, index: usize) -> Option<(&Arc<str>, &MapEntry)> {
        self.entries.get(index).map(|(key, entry)| (key, entry))
    }

    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// Returns the entry of a key: the position of the key and its value.
    pub fn entry(&self, key: &str) -> Option<&MapEntry> {
        self.index_of(key).map(|index| &self.entries[index].1)
    }

    /// Iterates over the keys with their entries, in order.
    pub fn iter(&self) -> Entries<'_> {
        Entries(self.entries.iter())
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Sets the entry of a key and returns the entry that it replaces.
    pub fn insert(&mut self, key: impl Into<Arc<str>>, entry: MapEntry) -> Option<MapEntry> {
        let key = key.into();
        if let Some(index) = self.index_of(&key) {
            return Some(std::mem::replace(&mut self.entries[index].1, entry));
        }
        self.push(key, entry);
        None
    }

    /// Creates a mapping with the same keys and converted entries.
    pub(super) fn map_entries(&self, mut change: impl FnMut(&MapEntry) -> MapEntry) -> Self {
        self.map_keyed_entries(|_, entry| change(entry))
    }

    /// Like [`Self::map_entries`], and the conversion sees the keys.
    pub(super) fn map_keyed_entries(
        &self,
        mut change: impl FnMut(&str, &MapEntry) -> MapEntry,
    ) -> Self {
        let entries = self.entries.iter();
        Self {
            entries: entries
                .map(|(key, entry)| (Arc::clone(key), change(key, entry)))
                .collect(),
            table: self.table.clone(),
            inherited: self.inherited,
        }
    }

    fn push(&mut self, key: Arc<str>, entry: MapEntry) {
        if let Some(table) = &mut self.table {
            table.insert(Arc::clone(&key), to_u32(self.entries.len()));
        }
        self.entries.push((key, entry));
        if self.table.is_none() && self.entries.len() > TABLE_THRESHOLD {
            self.build_table();
        }
    }

    fn build_table(&mut self) {
        let keys = self.entries.iter().enumerate();
        let keys = keys.map(|(index, (key, _))| (Arc::clone(key), to_u32(index)));
        self.table = Some(Box::new(keys.collect()));
    }

    /// Removes a key. The other entries keep their order.
    pub fn remove(&mut self, key: &str) -> Option<MapEntry> {
        let index = self.index_of(key)?;
        if index >= self.own_len() {
            self.inherited -= 1;
        }
        let (_, entry) = self.entries.remove(index);
        if self.table.is_some() {
            self.build_table();
        }
        Some(entry)
    }
}

fn to_u32(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// An iterator over the entries of a mapping, in order.
#[derive(Debug, Clone)]
pub struct Entries<'a>(std::slice::Iter<'a, (Arc<str>, MapEntry)>);

impl<'a> Iterator for Entries<'a> {
    type Item = (&'a Arc<str>, &'a MapEntry);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, entry)| (key, entry))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl DoubleEndedIterator for Entries<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(|(key, entry)| (key, entry))
    }
}

impl ExactSizeIterator for Entries<'_> {}

impl<'a> IntoIterator for &'a Mapping {
    type Item = (&'a Arc<str>, &'a MapEntry);
    type IntoIter = Entries<'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl FromIterator<(Arc<str>, MapEntry)> for Mapping {
    fn from_iter<T: IntoIterator<Item = (Arc<str>, MapEntry)>>(entries: T) -> Self {
        let (mut mapping, late) = Self::from_entries(entries.into_iter().collect());
        for (key, entry) in late {
            mapping.insert(key, entry);
        }
        mapping
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Span;
    use crate::yaml::NodeKind;

    fn entry(number: i64) -> MapEntry {
        let value = Node::new(NodeKind::Int(number), Span::NONE, None);
        MapEntry::new(Span::NONE, value)
    }

    fn numbered(numbers: std::ops::Range<i64>) -> Mapping {
        numbers
            .map(|number| (Arc::from(format!("key {number}")), entry(number)))
            .collect()
    }

    #[test]
    fn keys_are_found_in_small_and_in_large_mappings() {
        for size in [1, 8, 9, 1000] {
            let mapping = numbered(0..size);
            for number in 0..size {
                let found = mapping.get(&format!("key {number}")).and_then(Node::as_int);
                assert_eq!(found, Some(number));
            }
            assert!(mapping.get("key -1").is_none());
        }
    }

    #[test]
    fn entries_are_set_and_taken_out_in_order() {
        let mut mapping = numbered(0..20);
        assert!(mapping.insert("key 3", entry(33)).is_some());
        assert!(mapping.insert("key 20", entry(20)).is_none());
        assert!(mapping.remove("key 0").is_some());
        assert_eq!(mapping.len(), 20);
        assert_eq!(mapping.get("key 3").and_then(Node::as_int), Some(33));
        assert_eq!(
            mapping.iter().next_back().map(|(key, _)| &**key),
            Some("key 20")
        );
    }

    #[test]
    fn the_first_of_two_entries_stays() {
        let twins = vec![("a".into(), entry(1)), ("a".into(), entry(2))];
        let (mapping, late) = Mapping::from_entries(twins);
        assert_eq!((mapping.len(), late.len()), (1, 1));
        assert_eq!(mapping.get("a").and_then(Node::as_int), Some(1));
    }
}
