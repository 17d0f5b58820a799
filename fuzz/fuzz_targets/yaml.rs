//! Fuzzes YAML: each input is read, expanded, written, read again, edited and merged.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unfurl::testing::diagnostic::Sources;
use unfurl::testing::value::Value;
use unfurl::testing::yaml::{
    Limits, NoLoader, Node, NodeKind, Patch, Route, apply, diff, emit, expand, merge,
};
use unfurl_fuzz::{on_text, read, show};

/// The largest number of places in a text that are edited.
const EDITS: usize = 12;

fuzz_target!(|bytes: &[u8]| on_text(bytes, check));

fn check(text: &str) {
    let mut sources = Sources::default();
    let Some(root) = read(&mut sources, text) else {
        return;
    };
    assert_eq!(apply(text, &root, &[]).as_deref(), Ok(text));
    // Expanded aliases are bounded but can still be large; such an input is not worth the time here.
    if root.weight() > 100_000 {
        return;
    }
    let value = root.to_value();
    round_trip(&value);
    match expand(&root, &mut NoLoader, &Limits::default()) {
        Ok(expanded) => merging(&value, &expanded.root.to_value()),
        Err(problems) => show(&problems, &sources),
    }
    let mut all = Vec::new();
    routes(&root, &Route::root(), &mut all);
    let step = all.len().div_ceil(EDITS).max(1);
    for route in all.iter().step_by(step) {
        edit(text, &root, route);
    }
}

fn read_value(text: &str) -> Value {
    let mut sources = Sources::default();
    let root = read(&mut sources, text);
    root.unwrap_or_else(|| panic!("what was written cannot be read:\n{text}"))
        .to_value()
}

fn round_trip(value: &Value) {
    if value.has_sensitive() {
        return;
    }
    let written = emit(value, 0);
    let again = read_value(&written);
    assert_eq!(emit(&again, 0), written);
}

fn merging(old: &Value, new: &Value) {
    let plain = |value: &Value| !emit(value, 0).contains("+%");
    if old.as_map().is_some() && new.as_map().is_some() && plain(old) && plain(new) {
        let merged = merge(old, &diff(old, new));
        // NaN never equals itself, so the hashes of the texts are compared.
        let sorted = |value: &Value| unfurl::testing::value::canonical_sha256(value);
        assert_eq!(sorted(&merged), sorted(new), "{}", diff(old, new));
    }
}

fn edit(text: &str, root: &Node, route: &Route) {
    let value = Value::map([
        ("a", Value::from("b: c")),
        ("d", Value::list([1.into(), Value::Null])),
    ]);
    if let Ok(after) = apply(text, root, &[Patch::set(route.clone(), value.clone())]) {
        let mut sources = Sources::default();
        let again = read(&mut sources, &after).expect("an edited text can be read");
        let found = route.find(&again).map(Node::to_value);
        assert_eq!(
            found.as_ref().map(Value::reveal),
            Some(&value),
            "{route}\n{after}"
        );
    }
    if route.steps().is_empty() {
        return;
    }
    if let Ok(after) = apply(text, root, &[Patch::remove(route.clone())]) {
        read_value(&after);
    }
}

fn routes(node: &Node, at: &Route, all: &mut Vec<Route>) {
    match node.kind() {
        NodeKind::Map(map) => {
            for (key, entry) in map {
                routes(&entry.value, &at.clone().key(key.clone()), all);
            }
            all.push(at.clone().key("new key"));
        }
        NodeKind::Seq(items) => {
            for (index, item) in items.iter().enumerate() {
                routes(item, &at.clone().index(index), all);
            }
            all.push(at.clone().index(items.len()));
        }
        _ => {}
    }
    all.push(at.clone());
}
