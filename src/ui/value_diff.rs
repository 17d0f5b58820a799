//! Compares values part by part: inside maps and lists, and inside texts that are JSON or YAML documents.
//!
//! [`compare`] is the entry. Each pass is linear or n log n.

use std::borrow::Cow;
use std::collections::HashMap;

use super::value_text::inline_value;
use crate::value::{List, Map, Value};
use crate::yaml::{Schema, parse_text};

/// The depth at which values are compared as a whole.
const MAX_DEPTH: usize = 64;
/// The size of the largest text that is parsed, in bytes.
const MAX_DOCUMENT: usize = 256 << 10;
/// The shortest JSON text of a value that is recognized under another key.
const MIN_RENAMED: usize = 8;

/// A part of a value that differs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PartDifference {
    /// The path within the value, such as `.ports[1]`. Empty for the whole value.
    pub(super) path: String,
    pub(super) change: PartChange,
}

/// The difference of a part.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PartChange {
    Changed(Value, Value),
    Added(Value),
    Removed(Value),
    /// The value has another key now.
    Renamed(String),
    /// A list has the same items in another order.
    Reordered(usize),
}

/// Returns the parts in which two values differ, in the order of the old value.
pub(super) fn compare(old: &Value, new: &Value) -> Vec<PartDifference> {
    let mut found = Vec::new();
    compare_at(&mut String::new(), old, new, 0, &mut found);
    found
}

fn compare_at(
    path: &mut String,
    old: &Value,
    new: &Value,
    depth: usize,
    found: &mut Vec<PartDifference>,
) {
    if old == new {
        return;
    }
    let end = path.len();
    match (old, new) {
        _ if depth >= MAX_DEPTH => push(path, changed(old, new), found),
        (Value::Data(old), new) => compare_at(path, old, new, depth + 1, found),
        (old, Value::Data(new)) => compare_at(path, old, new, depth + 1, found),
        (Value::Map(old), Value::Map(new)) => compare_maps(path, old, new, depth, found),
        (Value::List(old), Value::List(new)) => compare_lists(path, old, new, depth, found),
        (Value::Str(old_text), Value::Str(new_text)) => match documents(old_text, new_text) {
            Some((kind, old_document, new_document)) => {
                path.push_str(kind);
                let before = found.len();
                compare_at(path, &old_document, &new_document, depth + 1, found);
                path.truncate(end);
                if found.len() == before {
                    // Only the layout of the text or its comments differ.
                    push(path, changed(old, new), found);
                }
            }
            None => push(path, changed(old, new), found),
        },
        _ => push(path, changed(old, new), found),
    }
    path.truncate(end);
}

fn changed(old: &Value, new: &Value) -> PartChange {
    PartChange::Changed(old.clone(), new.clone())
}

fn push(path: &str, change: PartChange, found: &mut Vec<PartDifference>) {
    found.push(PartDifference {
        path: path.to_owned(),
        change,
    });
}

fn compare_maps(
    path: &mut String,
    old: &Map,
    new: &Map,
    depth: usize,
    found: &mut Vec<PartDifference>,
) {
    let end = path.len();
    let is_new = |key: &str| !old.contains_key(key);
    let mut renamed: HashMap<String, Vec<&str>> = HashMap::new();
    for (key, value) in new.iter().rev().filter(|(key, _)| is_new(key)) {
        let text = inline_value(value);
        if text.len() >= MIN_RENAMED {
            renamed.entry(text).or_default().push(key);
        }
    }
    let mut taken = std::collections::HashSet::new();
    for (key, value) in old {
        push_key(path, key);
        match new.get(key) {
            Some(new) => compare_at(path, value, new, depth + 1, found),
            None => match renamed.get_mut(&inline_value(value)).and_then(Vec::pop) {
                Some(to) => {
                    taken.insert(to);
                    push(path, PartChange::Renamed(to.to_owned()), found);
                }
                None => push(path, PartChange::Removed(value.clone()), found),
            },
        }
        path.truncate(end);
    }
    for (key, value) in new.iter().filter(|(key, _)| is_new(key)) {
        if !taken.contains(&**key) {
            push_key(path, key);
            push(path, PartChange::Added(value.clone()), found);
            path.truncate(end);
        }
    }
}

/// Compares lists item by item, or as collections if items were inserted, removed or moved.
fn compare_lists(
    path: &mut String,
    old: &List,
    new: &List,
    depth: usize,
    found: &mut Vec<PartDifference>,
) {
    let start = old.iter().zip(new.iter());
    let start = start.take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev());
    let tail = tail.take_while(|(old, new)| old == new).count();
    let old_rest = &old_rest[..old_rest.len() - tail];
    let new_rest = &new_rest[..new_rest.len() - tail];
    let (removed, added) = unmatched(old_rest, new_rest);
    let moved = removed.is_empty() && added.is_empty();
    let differing = old_rest
        .iter()
        .zip(new_rest)
        .filter(|(old, new)| old != new);
    let by_place = old_rest.len() == new_rest.len()
        && !moved
        && differing.count() <= removed.len() + added.len();
    let end = path.len();
    let mut push_item = |path: &mut String, place: usize, change: PartChange| {
        path.push_str(&format!("[{}]", start + place));
        push(path, change, found);
        path.truncate(end);
    };
    if moved {
        push(path, PartChange::Reordered(old.len()), found);
    } else if by_place {
        for (place, (old, new)) in old_rest.iter().zip(new_rest).enumerate() {
            path.push_str(&format!("[{}]", start + place));
            compare_at(path, old, new, depth + 1, found);
            path.truncate(end);
        }
    } else {
        for place in removed {
            push_item(path, place, PartChange::Removed(old_rest[place].clone()));
        }
        for place in added {
            push_item(path, place, PartChange::Added(new_rest[place].clone()));
        }
    }
}

/// Returns the places of the items that only one of two lists has. Equal items count as often as they occur.
fn unmatched(old: &[Value], new: &[Value]) -> (Vec<usize>, Vec<usize>) {
    let mut places: HashMap<String, Vec<usize>> = HashMap::new();
    for (place, item) in new.iter().enumerate().rev() {
        places.entry(inline_value(item)).or_default().push(place);
    }
    let has_match = |item: &Value| places.get_mut(&inline_value(item)).and_then(Vec::pop);
    let removed = {
        let mut has_match = has_match;
        let old = old.iter().enumerate();
        old.filter(|(_, item)| has_match(item).is_none())
            .map(|(place, _)| place)
            .collect()
    };
    let mut added: Vec<usize> = places.into_values().flatten().collect();
    added.sort_unstable();
    (removed, added)
}

fn push_key(path: &mut String, key: &str) {
    let is_plain = !key.is_empty()
        && key
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    let key: Cow<'_, str> = if is_plain {
        format!(".{key}").into()
    } else {
        format!("[{}]", inline_value(&Value::from(key))).into()
    };
    path.push_str(&key);
}

/// Parses two texts as documents. None if one of them is not a map or a list in JSON or YAML.
fn documents(old: &str, new: &str) -> Option<(&'static str, Value, Value)> {
    if old.len().max(new.len()) > MAX_DOCUMENT {
        return None;
    }
    let is_json = |text: &str| {
        text.trim_start().starts_with(['{', '['])
            && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
    };
    let kind = match (is_json(old), is_json(new)) {
        (true, true) => " inside JSON ",
        // A single line such as `note: text` is more likely a sentence.
        (false, false) if old.contains('\n') && new.contains('\n') => " inside YAML ",
        _ => return None,
    };
    let document = |text: &str| {
        let value = parse_text(Schema::Core, text).ok()?.to_value();
        matches!(value, Value::Map(_) | Value::List(_)).then_some(value)
    };
    Some((kind, document(old)?, document(new)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        parse_text(Schema::Core, text).unwrap().to_value()
    }

    fn differences(old: &Value, new: &Value) -> String {
        let lines = compare(old, new).into_iter().map(|part| {
            let change = match part.change {
                PartChange::Changed(old, new) => {
                    format!("{} -> {}", inline_value(&old), inline_value(&new))
                }
                PartChange::Added(new) => format!("added {}", inline_value(&new)),
                PartChange::Removed(old) => format!("removed {}", inline_value(&old)),
                PartChange::Renamed(to) => format!("renamed {to}"),
                PartChange::Reordered(count) => format!("reordered {count}"),
            };
            format!("{}: {change}\n", part.path)
        });
        lines.collect()
    }

    #[test]
    fn parts_of_maps_and_lists_have_paths() {
        let old = value("{a: {b: [1, {c: x}]}, gone: 1, 'odd key': 1, same: 2}");
        let new = value("{a: {b: [1, {c: y}]}, 'odd key': 2, same: 2, new: [1]}");
        insta::assert_snapshot!(differences(&old, &new), @r#"
        .a.b[1].c: "x" -> "y"
        .gone: removed 1
        ["odd key"]: 1 -> 2
        .new: added [1]
        "#);
    }

    #[test]
    fn renamed_keys_and_moved_items_are_no_other_values() {
        let old = value("{one: {a: 1, b: 2}, list: [1, 2, 3, 4]}");
        let new = value("{two: {a: 1, b: 2}, list: [0, 1, 2, 3, 4]}");
        insta::assert_snapshot!(differences(&old, &new), @r"
        .one: renamed two
        .list[0]: added 0
        ");
        let reversed = differences(&value("[a, b, c]"), &value("[c, b, a]"));
        assert_eq!(reversed, ": reordered 3\n");
        let shifted = differences(&value("[a, b, c, d]"), &value("[b, c, d, e]"));
        assert_eq!(shifted, "[0]: removed \"a\"\n[3]: added \"e\"\n");
    }

    #[test]
    fn documents_inside_texts_are_compared() {
        let json = |port: u16| Value::from(format!("{{\"a\": {{\"port\": {port}}}}}"));
        let yaml = |port: u16| Value::from(format!("a:\n  port: {port}\n"));
        assert_eq!(
            differences(&json(1), &json(2)),
            " inside JSON .a.port: 1 -> 2\n"
        );
        assert_eq!(
            differences(&yaml(1), &yaml(2)),
            " inside YAML .a.port: 1 -> 2\n"
        );
        let nested = |port: u16| Value::map([("c", json(port))]);
        assert_eq!(
            differences(&nested(1), &nested(2)),
            ".c inside JSON .a.port: 1 -> 2\n"
        );
        let layout = differences(&"a: 1\nb: 2\n".into(), &"# c\na: 1\nb: 2\n".into());
        assert_eq!(layout, ": \"a: 1\\nb: 2\\n\" -> \"# c\\na: 1\\nb: 2\\n\"\n");
        let prose = differences(&"note: a".into(), &"note: b".into());
        assert_eq!(prose, ": \"note: a\" -> \"note: b\"\n");
    }

    #[test]
    fn large_values_are_compared_fast() {
        let items = |prefix: &str| {
            let keys =
                (0..50_000).map(|n| (format!("{prefix}{n}"), Value::from(format!("value {n}"))));
            Value::map(keys.map(|(key, value)| (std::sync::Arc::<str>::from(key), value)))
        };
        let renamed = compare(&items("a"), &items("b"));
        assert_eq!(renamed.len(), 50_000);
        let list = |from: i64| Value::list((from..from + 50_000).map(Value::Int));
        assert_eq!(compare(&list(0), &list(1)).len(), 2);
        let mut deep = (Value::Int(1), Value::Int(2));
        for _ in 0..1_000 {
            deep = (Value::list([deep.0]), Value::list([deep.1]));
        }
        assert_eq!(compare(&deep.0, &deep.1).len(), 1);
    }
}
