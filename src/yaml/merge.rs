//! Merges and differences of values and nodes, with merge strategies (`+%`). [`diff`] is the inverse of
//! [`merge`]; overrides of included documents are stored as such differences.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::directive::STRATEGY;
use super::tree::MergeTree;
use crate::value::{Map, Value};

/// Merges `over` into `base`: merges maps, appends new list items, and replaces other values.
///
/// Null or an empty map over a map changes nothing, and neither does a merge that the base forbids.
///
/// ```
/// use unfurl::testing::value::Value;
/// use unfurl::testing::yaml::merge;
///
/// let base = Value::map([("size", 1.into()), ("tags", Value::list(["a".into()]))]);
/// let over = Value::map([("size", 2.into()), ("tags", Value::list(["b".into()]))]);
/// let merged = merge(&base, &over);
/// assert_eq!(merged.get("size"), Some(&2.into()));
/// assert_eq!(merged.get("tags"), Some(&Value::list(["a".into(), "b".into()])));
/// ```
pub fn merge(base: &Value, over: &Value) -> Value {
    match merge_field("", (), Some(base), over) {
        Ok(KeyOutcome::Put(value)) => value,
        Ok(KeyOutcome::Drop) => Value::Null,
        Ok(KeyOutcome::Keep) | Err(_) => base.clone(),
    }
}

/// A merge that the base forbids with the strategy `error`.
#[derive(Debug, Clone)]
pub(super) struct ForbiddenMerge<M> {
    pub(super) key: Arc<str>,
    /// The position of the key in the overriding map.
    pub(super) mark: M,
}

/// The outcome of merging one key.
enum KeyOutcome<T> {
    Put(T),
    /// The key is absent from the result.
    Drop,
    /// The key keeps the value of the base.
    Keep,
}

/// Merges two maps. The keys of `over` come first, followed by those that only `base` contains.
pub(super) fn merge_maps<T: MergeTree>(base: &T, over: &T) -> Result<T, ForbiddenMerge<T::Mark>> {
    let mut fields = Vec::with_capacity(base.len() + over.len());
    let mut base_keys = HashSet::new();
    for (key, mark, value) in over.fields() {
        if &**key == STRATEGY {
            continue;
        }
        match merge_field(key, mark, base.field(key), value)? {
            KeyOutcome::Put(value) => fields.push((Arc::clone(key), mark, value)),
            KeyOutcome::Drop => {}
            KeyOutcome::Keep => drop(base_keys.insert(key)),
        }
    }
    for (key, mark, value) in base.fields() {
        if &**key != STRATEGY && (over.field(key).is_none() || base_keys.contains(key)) {
            fields.push((Arc::clone(key), mark, value.clone()));
        }
    }
    Ok(T::map(fields, over))
}

/// Merges `over` into `base` if both are maps and no strategy forbids it.
pub(super) fn same_or_merged<T: MergeTree>(base: &T, over: &T) -> T {
    if base.is_map() && over.is_map() {
        merge_maps(base, over).unwrap_or_else(|_| base.clone())
    } else {
        over.clone()
    }
}

fn merge_field<T: MergeTree>(
    key: &str,
    mark: T::Mark,
    base: Option<&T>,
    over: &T,
) -> Result<KeyOutcome<T>, ForbiddenMerge<T::Mark>> {
    if over.is_map() || over.is_null() {
        let mut strategy = over.field(STRATEGY).and_then(T::text);
        if let Some(base) = base.filter(|base| base.is_map()) {
            strategy = strategy.or_else(|| base.field(STRATEGY).and_then(T::text));
            match strategy.unwrap_or("merge") {
                "merge" if over.len() == 0 => return Ok(KeyOutcome::Keep),
                "merge" => return Ok(KeyOutcome::Put(merge_maps(base, over)?)),
                "error" => {
                    return Err(ForbiddenMerge {
                        key: Arc::from(key),
                        mark,
                    });
                }
                _ => {}
            }
        }
        return Ok(match strategy {
            Some("whiteout") => KeyOutcome::Drop,
            Some("nullout") => KeyOutcome::Put(over.null()),
            Some("replace" | "merge") => KeyOutcome::Put(without_strategy(over)),
            _ => KeyOutcome::Put(over.clone()),
        });
    }
    match (base.and_then(T::items), over.items()) {
        (Some(base), Some(items)) => Ok(KeyOutcome::Put(T::list(merge_lists(base, items)?, over))),
        _ => Ok(KeyOutcome::Put(over.clone())),
    }
}

fn without_strategy<T: MergeTree>(map: &T) -> T {
    if map.field(STRATEGY).is_none() {
        return map.clone();
    }
    let fields = map.fields().filter(|(key, ..)| &***key != STRATEGY);
    let fields = fields.map(|(key, mark, value)| (Arc::clone(key), mark, value.clone()));
    T::map(fields.collect(), map)
}

/// Appends the items that `base` does not contain.
///
/// An item with the strategy `merge` is merged into the item with the same index, and an item with a single
/// key into the item with that key.
fn merge_lists<T: MergeTree>(base: &[T], over: &[T]) -> Result<Vec<T>, ForbiddenMerge<T::Mark>> {
    let mut list = ListIndex::of(base, over.len());
    for (index, item) in over.iter().enumerate() {
        if item.field(STRATEGY).and_then(T::text) == Some("merge") {
            match list.items.get(index) {
                None => list.push(without_strategy(item)),
                Some(base) if base.is_map() => list.set(index, merge_maps(base, item)?),
                Some(_) => list.set(index, without_strategy(item)),
            }
            continue;
        }
        let index = single_key(item).and_then(|key| list.find_key(key));
        if let Some(place) = index {
            list.set(place, merge_maps(&list.items[place], item)?);
        } else if !list.contains(item) {
            list.push(item.clone());
        }
    }
    Ok(list.items)
}

/// Returns the key of a map with exactly one key.
fn single_key<T: MergeTree>(item: &T) -> Option<&Arc<str>> {
    let mut fields = item.fields();
    let (key, ..) = fields.next()?;
    fields.next().is_none().then_some(key)
}

/// A list with fast lookup of items.
struct ListIndex<T> {
    items: Vec<T>,
    /// The indices of items by fingerprint and by single key. None for a short list.
    tables: Option<Tables>,
}

#[derive(Default)]
struct Tables {
    fingerprints: HashMap<u64, Vec<usize>>,
    keys: HashMap<Arc<str>, usize>,
}

impl<T: MergeTree> ListIndex<T> {
    fn of(base: &[T], more: usize) -> Self {
        const SHORT: usize = 1000;
        let items: Vec<T> = base.to_vec();
        let long = base.len().max(more).saturating_mul(more) > SHORT;
        let tables = long.then(|| {
            let mut tables = Tables::default();
            for (place, item) in items.iter().enumerate() {
                tables.add(place, item);
            }
            tables
        });
        Self { items, tables }
    }

    fn push(&mut self, item: T) {
        if let Some(tables) = &mut self.tables {
            tables.add(self.items.len(), &item);
        }
        self.items.push(item);
    }

    fn set(&mut self, index: usize, item: T) {
        // The tables keep the entry of the replaced item, because each lookup compares the items anyway.
        if let Some(tables) = &mut self.tables {
            tables.add(index, &item);
        }
        self.items[index] = item;
    }

    fn contains(&self, item: &T) -> bool {
        match &self.tables {
            None => self.items.iter().any(|other| other.equals(item)),
            Some(tables) => tables
                .fingerprints
                .get(&item.fingerprint())
                .is_some_and(|places| places.iter().any(|place| self.items[*place].equals(item))),
        }
    }

    fn find_key(&self, key: &Arc<str>) -> Option<usize> {
        let has = |item: &T| single_key(item) == Some(key);
        match &self.tables {
            None => self.items.iter().position(has),
            Some(tables) => match tables.keys.get(key) {
                Some(place) if !has(&self.items[*place]) => self.items.iter().position(has),
                found => found.copied(),
            },
        }
    }
}

impl Tables {
    fn add<T: MergeTree>(&mut self, index: usize, item: &T) {
        self.fingerprints
            .entry(item.fingerprint())
            .or_default()
            .push(index);
        if let Some(key) = single_key(item) {
            let first = self.keys.entry(Arc::clone(key)).or_insert(index);
            *first = index.min(*first);
        }
    }
}

/// Returns the smallest map for which `merge(old, diff) == new`. The maps must not contain strategies.
///
/// A list cannot express the removal of items, so the map that contains it is replaced (`+%: replace`).
///
/// ```
/// use unfurl::testing::value::Value;
/// use unfurl::testing::yaml::{diff, merge};
///
/// let old = Value::map([("name", "web".into()), ("size", 1.into())]);
/// let new = Value::map([("name", "web".into()), ("size", 2.into())]);
/// let change = diff(&old, &new);
/// assert_eq!(change, Value::map([("size", 2.into())]));
/// assert_eq!(merge(&old, &change), new);
/// ```
pub fn diff(old: &Value, new: &Value) -> Value {
    match (old, new) {
        (Value::Map(before), Value::Map(after)) => {
            Value::from(diff_maps(before, after).unwrap_or_else(|_| replacement(after)))
        }
        (Value::Map(_), Value::Null) => strategy("nullout"),
        _ => new.clone(),
    }
}

/// The marker for a change that only a replacement of the enclosing map can express.
struct NeedsReplacement;

fn strategy(name: &str) -> Value {
    Value::map([(STRATEGY, Value::from(name))])
}

fn replacement(new: &Map) -> Map {
    let mut map = Map::with_capacity(new.len() + 1);
    map.insert(Arc::from(STRATEGY), Value::from("replace"));
    map.extend(
        new.iter()
            .map(|(key, value)| (Arc::clone(key), value.clone())),
    );
    map
}

fn diff_maps(old: &Map, new: &Map) -> Result<Map, NeedsReplacement> {
    let mut diff = Map::new();
    for (key, before) in old {
        let Some(after) = new.get(key) else {
            diff.insert(Arc::clone(key), strategy("whiteout"));
            continue;
        };
        if before == after {
            continue;
        }
        let change = match (before, after) {
            (Value::Map(before), Value::Map(after)) => {
                Value::from(diff_maps(before, after).unwrap_or_else(|_| replacement(after)))
            }
            (Value::Map(_), Value::Null) => strategy("nullout"),
            (Value::List(from), Value::List(to)) => match merge_lists(from, to) {
                Ok(merged) if merged == **to => after.clone(),
                _ => return Err(NeedsReplacement),
            },
            _ => after.clone(),
        };
        diff.insert(Arc::clone(key), change);
    }
    let added = new.iter().filter(|(key, _)| !old.contains_key(*key));
    diff.extend(added.map(|(key, value)| (Arc::clone(key), value.clone())));
    Ok(diff)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::diagnostic::Sources;
    use crate::yaml::emit::tests::tree;
    use crate::yaml::{Limits, parse};

    fn read(text: &str) -> Value {
        let mut sources = Sources::default();
        let id = sources.add("test.yaml", text, None);
        parse(&sources, id, &Limits::default()).unwrap().to_value()
    }

    fn merged(base: &str, over: &str) -> String {
        merge(&read(base), &read(over)).to_string()
    }

    #[test]
    fn maps_are_merged_with_the_overrides_keys_first() {
        assert_eq!(
            merged("{a: 1, b: {c: 2, d: 3}}", "{e: 0, b: {d: 4}}"),
            "{'e': 0, 'b': {'d': 4, 'c': 2}, 'a': 1}"
        );
        assert_eq!(merged("{a: {b: 1}}", "{a: ~}"), "{'a': {'b': 1}}");
        assert_eq!(merged("{a: {b: 1}}", "{a: {}}"), "{'a': {'b': 1}}");
        assert_eq!(merged("{a: 1}", "{a: ~}"), "{'a': None}");
        assert_eq!(merged("{a: 1}", "{a: {b: 1}}"), "{'a': {'b': 1}}");
    }

    #[test]
    fn strategies_are_obeyed() {
        assert_eq!(
            merged("{a: {b: 1}, c: 2}", "{a: {+%: whiteout}}"),
            "{'c': 2}"
        );
        assert_eq!(
            merged("{a: {b: 1}, c: 2}", "{c: {+%: whiteout}}"),
            "{'a': {'b': 1}}"
        );
        assert_eq!(merged("{a: {b: 1}}", "{a: {+%: nullout}}"), "{'a': None}");
        assert_eq!(
            merged("{a: {b: 1}}", "{a: {+%: replace, c: 2}}"),
            "{'a': {'c': 2}}"
        );
        assert_eq!(
            merged("{a: {b: 1, +%: error}}", "{a: {c: 2}}"),
            "{'a': {'b': 1, '+%': 'error'}}"
        );
    }

    #[test]
    fn lists_append_what_is_new_and_merge_single_keys() {
        assert_eq!(merged("[1, 2]", "[2, 3]"), "[1, 2, 3]");
        assert_eq!(
            merged("[{a: {x: 1}}, 1]", "[{a: {y: 2}}]"),
            "[{'a': {'y': 2, 'x': 1}}, 1]"
        );
        assert_eq!(
            merged("[{a: 1, b: 2}]", "[{+%: merge, b: 3}]"),
            "[{'b': 3, 'a': 1}]"
        );
        assert_eq!(merged("[1]", "[2, {+%: merge, b: 3}]"), "[1, {'b': 3}]");
    }

    #[test]
    fn items_that_share_their_only_key_become_the_first_when_merged_again() {
        let list = "{a: [{k: 1}, {k: 2}]}";
        assert_eq!(merged("{}", list), "{'a': [{'k': 1}, {'k': 2}]}");
        assert_eq!(merged(list, list), "{'a': [{'k': 2}, {'k': 2}]}");
    }

    #[test]
    fn long_lists_merge_as_short_ones_do() {
        let base = Value::list((0..3000).map(Value::from));
        let over = Value::list((1500..4500).map(Value::from));
        assert_eq!(merge(&base, &over), Value::list((0..4500).map(Value::from)));
    }

    #[test]
    fn a_difference_says_what_went_what_came_and_nothing_else() {
        let diffed = |old: &str, new: &str| diff(&read(old), &read(new)).to_string();
        assert_eq!(
            diffed(
                "{a: 1, b: 2, c: {d: 1, e: 2}}",
                "{a: 1, c: {d: 1, e: 3}, f: 4}"
            ),
            "{'b': {'+%': 'whiteout'}, 'c': {'e': 3}, 'f': 4}"
        );
        assert_eq!(diffed("{a: {b: 1}}", "{a: ~}"), "{'a': {'+%': 'nullout'}}");
        assert_eq!(diffed("{a: [1]}", "{a: [1, 2]}"), "{'a': [1, 2]}");
        assert_eq!(
            diffed("{x: {a: [1, 2], b: 1}}", "{x: {a: [2], b: 1}}"),
            "{'x': {'+%': 'replace', 'a': [2], 'b': 1}}"
        );
        assert_eq!(diffed("{a: 1}", "{a: 1}"), "{}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]

        #[test]
        fn merging_a_difference_gives_the_new_value(old in maps(), new in maps()) {
            let difference = diff(&old, &new);
            prop_assert_eq!(merge(&old, &difference), new, "{:?}", difference);
        }

        #[test]
        fn merging_a_difference_twice_is_merging_it_once(old in maps(), new in maps()) {
            // A strategy within the merged value would take effect in the second merge.
            prop_assume!(!new.to_string().contains(STRATEGY));
            // The same holds for maps that share their only key: the second is merged into the first.
            prop_assume!(!shares_single_keys(&new));
            let difference = diff(&old, &new);
            let once = merge(&old, &difference);
            prop_assert_eq!(merge(&once, &difference), once, "{:?}", difference);
        }

        #[test]
        fn nothing_differs_from_itself_and_merging_nothing_changes_nothing(value in maps()) {
            let nothing = Value::map::<&str>([]);
            prop_assert_eq!(diff(&value, &value), nothing.clone());
            prop_assert_eq!(merge(&value, &nothing), value.clone());
            prop_assert_eq!(merge(&nothing, &value), value);
        }

        #[test]
        fn merging_a_difference_of_neighbours_gives_the_new_value(old in maps(), pick in any::<u64>()) {
            let new = changed(&old, &mut pick.clone());
            let difference = diff(&old, &new);
            prop_assert_eq!(merge(&old, &difference), new, "{:?}", difference);
        }
    }

    /// Whether a list in the value contains two maps with the same single key.
    fn shares_single_keys(value: &Value) -> bool {
        match value {
            Value::Map(map) => map.values().any(shares_single_keys),
            Value::List(items) => {
                let mut keys = HashSet::new();
                let mut single = items.iter().filter_map(single_key);
                single.any(|key| !keys.insert(key)) || items.iter().any(shares_single_keys)
            }
            _ => false,
        }
    }

    fn maps() -> impl Strategy<Value = Value> {
        prop::collection::vec(("[a-d]", tree()), 0..4).prop_map(Value::map)
    }

    /// Returns the value with some parts removed or changed.
    fn changed(value: &Value, pick: &mut u64) -> Value {
        *pick = pick.rotate_left(7).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        match (value, *pick % 8) {
            (Value::Map(map), _) => Value::map(
                map.iter()
                    .filter_map(|(key, value)| {
                        *pick = pick.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        (*pick >> 40 & 7 != 0).then(|| (Arc::clone(key), changed(value, pick)))
                    })
                    .collect::<Vec<_>>(),
            ),
            (Value::List(items), 0) => Value::list(items.iter().skip(1).cloned()),
            (Value::List(items), 1..4) => Value::list(items.iter().map(|item| changed(item, pick))),
            (_, 4) => Value::Null,
            (value, _) => value.clone(),
        }
    }
}
