use proptest::prelude::*;

use crate::diagnostic::Sources;
use crate::value::Value;
use crate::yaml::patch::change::ValueChange;
use crate::yaml::{Limits, Node, NodeKind, Patch, PatchError, Route, RouteStep, apply, parse};

fn tree(text: &str) -> Node {
    let mut sources = Sources::default();
    let id = sources.add("test.yaml", text, None);
    match parse(&sources, id, &Limits::default()) {
        Ok(node) => node,
        Err(problems) => panic!("{problems:?}\n{text}"),
    }
}

fn read(text: &str) -> Value {
    tree(text).to_value()
}

fn route(text: &str) -> Route {
    let steps = text.split('/').filter(|step| !step.is_empty());
    let steps = steps.map(|step| match step.parse() {
        Ok(index) => RouteStep::Index(index),
        Err(_) => RouteStep::Key(step.into()),
    });
    Route::from(steps.collect::<Vec<_>>())
}

fn set(text: &str, at: &str, value: &str) -> String {
    patched(text, &[Patch::set(route(at), read(value))])
}

fn remove(text: &str, at: &str) -> String {
    patched(text, &[Patch::remove(route(at))])
}

fn patched(text: &str, patches: &[Patch]) -> String {
    let before = tree(text);
    let after = apply(text, &before, patches).unwrap();
    let expected = ValueChange::from_patches(patches).unwrap();
    let expected = expected
        .apply_to(Some(before.to_value()), &Route::root())
        .unwrap();
    assert_eq!(read(&after), expected.unwrap_or_default(), "{after}");
    after
}

const ENSEMBLE: &str = "\
# An ensemble.
apiVersion: unfurl/v1alpha1   # the version
kind: Ensemble

spec: # what we want
  service_template: {+include: st.yaml}   # kept
  list:
  - one   # first
  - two: 2
    three: 3 # third

  # about nothing
status: # written by the tool
  readyState: # old
    local: ok
  # behind the value
changes: []
# The end.
";

#[test]
fn a_section_is_replaced_and_comments_stay() {
    insta::assert_snapshot!(
        set(ENSEMBLE, "status", "{readyState: {local: error}, instances: {a: {l: [x]}}}"),
        @r"
    # An ensemble.
    apiVersion: unfurl/v1alpha1   # the version
    kind: Ensemble

    spec: # what we want
      service_template: {+include: st.yaml}   # kept
      list:
      - one   # first
      - two: 2
        three: 3 # third

      # about nothing
    status: # written by the tool
      readyState:
        local: error
      instances:
        a:
          l:
          - x
      # behind the value
    changes: []
    # The end.
    "
    );
}

#[test]
fn a_record_is_appended_to_an_empty_list() {
    let once = set(ENSEMBLE, "changes/0", "{id: A, inputs: {a: 1}}");
    insta::assert_snapshot!(set(&once, "changes/1", "{id: B}"), @r"
    # An ensemble.
    apiVersion: unfurl/v1alpha1   # the version
    kind: Ensemble

    spec: # what we want
      service_template: {+include: st.yaml}   # kept
      list:
      - one   # first
      - two: 2
        three: 3 # third

      # about nothing
    status: # written by the tool
      readyState: # old
        local: ok
      # behind the value
    changes:
    - id: A
      inputs:
        a: 1
    - id: B
    # The end.
    ");
}

#[test]
fn a_missing_key_comes_behind_the_last_of_its_map() {
    assert_eq!(set("a: 1", "b", "2"), "a: 1\nb: 2\n");
    assert_eq!(set("a:\n- |\n  x", "b", "2"), "a:\n- |-\n  x\nb: 2\n");
    assert_eq!(
        set("a: 1 # c\n# d\n", "b", "[x]"),
        "a: 1 # c\nb:\n- x\n# d\n"
    );
    assert_eq!(set("", "a/b", "1"), "a:\n  b: 1\n");
    assert_eq!(set("# c", "a", "1"), "# c\na: 1\n");
    assert_eq!(set("a:\n", "a/b/c", "1"), "a:\n  b:\n    c: 1\n");
    assert_eq!(set("a: {} # c\n", "a/b", "1"), "a: # c\n  b: 1\n");
    assert_eq!(
        set("a:\n    b:\n        c: 1\n", "a/b/d", "2"),
        "a:\n    b:\n        c: 1\n        d: 2\n"
    );
    assert_eq!(set("- a: 1\n", "0/b", "2"), "- a: 1\n  b: 2\n");
    assert_eq!(set("a: |+\n  x\n\n\n", "b", "1"), "a: |+\n  x\n\n\nb: 1\n");
    assert_eq!(set("a: |\n  x\n\n\n", "b", "1"), "a: |\n  x\nb: 1\n\n\n");
    assert_eq!(set("{}", "a", "1"), "a: 1");
    assert_eq!(set("--- {}\n", "a", "1"), "---\na: 1\n");
}

#[test]
fn inside_of_braces_values_are_written_in_flow_style() {
    assert_eq!(
        set("a: {b: 1, c: 2} # d\n", "a/b", "{x: [1]}"),
        "a: {b: {x: [1]}, c: 2} # d\n"
    );
    assert_eq!(
        set("a: {b: 1}\n", "a/c", "{d: {}}"),
        "a: {b: 1, c: {d: {}}}\n"
    );
    assert_eq!(set("{\"a\": 1,}\n", "b", "2"), "{\"a\": 1, b: 2,}\n");
    assert_eq!(set("a: [1, {b: 2}]\n", "a/1/b", "3"), "a: [1, {b: 3}]\n");
    assert_eq!(set("a: [1, b: 2]\n", "a/1/b", "3"), "a: [1, {b: 3}]\n");
    assert_eq!(set("a: [1]\n", "a/1", "two"), "a: [1, two]\n");
    assert_eq!(
        remove("a: {b: 1, c: 2, d: 3}\n", "a/b"),
        "a: {c: 2, d: 3}\n"
    );
    assert_eq!(
        remove("a: {b: 1, c: 2, d: 3}\n", "a/d"),
        "a: {b: 1, c: 2}\n"
    );
    assert_eq!(remove("a: {b: 1}\n", "a/b"), "a: {}\n");
    assert_eq!(remove("a: [1, 2, 3]\n", "a/1"), "a: [1, 3]\n");
    assert_eq!(set("a: {b}\n", "a/b", "1"), "a:\n  b: 1\n");
}

#[test]
fn a_key_goes_with_its_lines_and_its_comment() {
    assert_eq!(
        remove("a: 1\nb: 2 # c\n# d\nc: 3\n", "b"),
        "a: 1\n# d\nc: 3\n"
    );
    assert_eq!(remove("a: 1\n", "a"), "{}\n");
    assert_eq!(remove("- a: 1\n  b: 2\n", "0/a"), "- b: 2\n");
    assert_eq!(remove("x:\n  a: 1\ny: 2\n", "x/a"), "x: {}\ny: 2\n");
    assert_eq!(remove("- a\n- b\n- c\n", "1"), "- a\n- c\n");
    assert_eq!(remove("- - a\n  - b\n", "0/0"), "- - b\n");
    assert_eq!(remove("a: |\n  x\n\nb: 1\n", "a"), "\nb: 1\n");
    assert_eq!(remove("a: 1\n", "b"), "a: 1\n");
    // A comment that is indented more than the key belongs to it and must not become text of the block.
    let text = "a: |\n  x\nb:\n  c: 1\n\n  # about b\n# about d\nd: 1\n";
    assert_eq!(remove(text, "b"), "a: |\n  x\n# about d\nd: 1\n");
    assert_eq!(
        set("a:\n  b: 1\n  # about b\nc: 1\n", "a/b", "\"x\\ny\\n\""),
        "a:\n  b: \"x\\ny\\n\"\n  # about b\nc: 1\n"
    );
}

#[test]
fn scalars_of_all_styles_are_replaced() {
    assert_eq!(set("a: 'x' # c\n", "a", "z"), "a: z # c\n");
    assert_eq!(set("a: |\n  x\n  y\nb: 1\n", "a", "z"), "a: z\nb: 1\n");
    assert_eq!(set("a: |\nb: 1\n", "a", "z"), "a: z\nb: 1\n");
    assert_eq!(set("a: x # c\n", "a", "\"1\\n2\""), "a: |- # c\n  1\n  2\n");
    assert_eq!(set("a: x # c\n", "a", "{b: 1}"), "a: # c\n  b: 1\n");
    assert_eq!(
        set("a: # c\n  b: 1\n  # gone\n  d: 2 # e\n", "a", "x"),
        "a: x # c\n"
    );
    assert_eq!(set("a: foo\n  bar\nb: 1\n", "a", "x"), "a: x\nb: 1\n");
    assert_eq!(
        set("a:\n- 1\n- 2 # x\n", "a/0", "{b: 1, c: 2}"),
        "a:\n- b: 1\n  c: 2\n- 2 # x\n"
    );
    assert_eq!(set("a: !t 1\n", "a", "2"), "a: 2\n");
    assert_eq!(set("? a\n: 1\n", "a", "2"), "a: 2\n");
}

#[test]
fn line_breaks_and_marks_of_windows_stay() {
    assert_eq!(
        set("\u{feff}a: 1\r\nb: 2\r\n", "a", "{c: [1]}"),
        "\u{feff}a:\r\n  c:\r\n  - 1\r\nb: 2\r\n"
    );
    assert_eq!(set("a: 1\r\n", "b", "2"), "a: 1\r\nb: 2\r\n");
    assert_eq!(remove("a: 1\r\nb: 2\r\n", "a"), "b: 2\r\n");
    assert_eq!(set("\u{feff}a: 1\n", "b", "2"), "\u{feff}a: 1\nb: 2\n");
}

#[test]
fn aliases_and_anchors_are_never_changed_by_the_way() {
    let text = "a: &x {k: 1}\nb: *x\nc:\n  <<: *x\n  l: 2\n";
    let try_set = |at: &str| apply(text, &tree(text), &[Patch::set(route(at), 5)]);
    assert_eq!(try_set("b").unwrap(), text.replace("b: *x", "b: 5"));
    assert_eq!(try_set("b/k"), Err(PatchError::Alias { route: route("b") }));
    assert_eq!(try_set("a"), Err(PatchError::Anchor { name: "x".into() }));
    assert_eq!(try_set("c/k").unwrap(), format!("{text}  k: 5\n"));
    assert_eq!(try_set("a/k"), Err(PatchError::Anchor { name: "x".into() }));
    let gone = apply(text, &tree(text), &[Patch::remove(route("c/k"))]);
    assert_eq!(gone, Err(PatchError::Unsupported { route: route("c") }));
}

#[test]
fn several_patches_are_applied_at_once() {
    let patches = [
        Patch::set(route("status/a"), 1),
        Patch::set(route("lastJob"), Value::map([("id", 1.into())])),
        Patch::set(route("lastJob/x/y"), 2),
        Patch::remove(route("changes")),
        Patch::remove(route("kind")),
        Patch::set(route("spec/list/1/two"), 22),
        Patch::set(route("spec/list/2"), "three"),
    ];
    insta::assert_snapshot!(patched(ENSEMBLE, &patches), @r"
    # An ensemble.
    apiVersion: unfurl/v1alpha1   # the version

    spec: # what we want
      service_template: {+include: st.yaml}   # kept
      list:
      - one   # first
      - two: 22
        three: 3 # third
      - three

      # about nothing
    status: # written by the tool
      readyState: # old
        local: ok
      a: 1
      # behind the value
    lastJob:
      id: 1
      x:
        'y': 2
    # The end.
    ");
}

#[test]
fn a_document_that_is_one_text_is_replaced_with_its_header() {
    let cases = [
        (" |\nx\n", "a: 1\n"),
        ("# c\n--- |\n  x\n", "# c\n---\na: 1\n"),
        ("\u{feff}--- # c\n>-\n  x\n  y\n", "\u{feff}--- # c\na: 1\n"),
        ("%YAML 1.2\n---\n!!str\nx # d\n", "%YAML 1.2\n---\na: 1\n"),
        ("---\tx\n", "---\na: 1\n"),
        ("\u{feff}", "\u{feff}a: 1\n"),
        ("#\u{feff}", "#\u{feff}\na: 1\n"),
    ];
    for (text, expected) in cases {
        let value = Value::map([("a", 1.into())]);
        let after = apply(text, &tree(text), &[Patch::set(Route::root(), value)]);
        assert_eq!(after.as_deref(), Ok(expected), "{text:?}");
    }
}

#[test]
fn a_text_with_lines_of_old_machines_is_left_alone() {
    let text = "# c\ra: 1\rb:\n  - x: |\r\n      y\rz: 2\n";
    let before = tree(text);
    assert_eq!(apply(text, &before, &[]).as_deref(), Ok(text));
    let refused = apply(text, &before, &[Patch::set(route("new"), 1)]);
    assert_eq!(refused, Err(PatchError::LineBreaks));
}

#[test]
fn a_text_with_a_byte_order_mark_within_is_left_alone() {
    let text = "\n\u{feff} - a\n";
    let refused = apply(text, &tree(text), &[Patch::set(Route::root().index(1), 1)]);
    assert_eq!(refused, Err(PatchError::ByteOrderMark));
    let twice = "\u{feff}\u{feff}a: a";
    let refused = apply(twice, &tree(twice), &[Patch::set(route("new"), 1)]);
    assert_eq!(refused, Err(PatchError::ByteOrderMark));
}

const NASTY: [&str; 8] = [
    ENSEMBLE,
    "\u{feff}# bom\r\na: 1 # x\r\nb:\r\n  - c: |+\r\n      d\r\n\r\n  - e: &f [g, h] # i\r\nj: *f\r\n# end",
    "{a: 1, b: [x, {y: 'z, }'}, \"q\"], # c\n c: {d: e}}",
    "é: ü # ö\n'quoted: key': \"v # not a comment\"\n\n\nlist:\n- - a\n  - b\n-\n  c: d\n- ~\n-\nempty:\nlast: >-\n  folded\n  text\n\n",
    "base: &base {a: 1}\nx:\n  <<: *base\n  b: 2\ny:\n  - *base\n  - z",
    "a: |\n  x\nb:\n  c:\n  - 1\n    # d\n  # e\nf: |\n    g\n\nh:\n  - i\n  # j\nk:\n    # l\n",
    "a:\n  b: |+\n    x\n\n    y",
    "---\n- a: 1\n  b:\n  - x\n  - y # z\n- c\n...\n",
];

/// Collects the routes of a tree, including one for a new key or item in each collection.
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

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn a_patch_changes_what_it_names_and_nothing_else(
        which in 0..NASTY.len(),
        picks in prop::collection::vec((any::<prop::sample::Index>(), prop::option::of(crate::yaml::emit::tests::tree())), 1..4),
    ) {
        let text = NASTY[which];
        let before = tree(text);
        let mut all = Vec::new();
        routes(&before, &Route::root(), &mut all);
        let patches: Vec<_> = picks
            .into_iter()
            .map(|(pick, value)| (pick.get(&all).clone(), value))
            .filter(|(route, value)| value.is_some() || !route.steps().is_empty())
            .map(|(route, value)| match value {
                Some(value) => Patch::set(route, value),
                None => Patch::remove(route),
            })
            .collect();
        if let Ok(after) = apply(text, &before, &patches) {
            let change = ValueChange::from_patches(&patches).unwrap();
            let expected = change.apply_to(Some(before.to_value()), &Route::root()).unwrap();
            prop_assert_eq!(read(&after), expected.unwrap_or_default(), "{:?}\n{}", patches, after);
        }
        prop_assert_eq!(apply(text, &before, &[]).unwrap(), text);
    }
}

/// Lines as people write them: entries of a map, with comments, anchors and empty lines.
fn lines() -> impl Strategy<Value = Vec<String>> {
    let value = prop::sample::select(vec![
        "1",
        "'a: # b'",
        "\"\\u00e9\" ",
        "é ü  # ö",
        "&anchor [x, {y: z}]",
        "{a: 1,  b: [ ]} #c",
        "",
        "|\n  x\n\n  y",
        ">- # d\n   x\n   y",
        "\n  - a   # e\n  -   b: 1\n      c: ~\n",
        "\n    k: v\n    # about nothing\n    l: !tag w",
    ]);
    let around = prop::sample::select(vec!["", "# above\n", "\n", "  # indented\n\n"]);
    prop::collection::vec((around, value), 1..6).prop_map(|parts| {
        let lines = parts.into_iter().enumerate();
        lines
            .map(|(number, (above, value))| format!("{above}key{number}: {value}"))
            .collect()
    })
}

#[test]
fn an_edit_that_would_not_read_as_meant_is_refused() {
    // The tree belongs to another text, so its spans are wrong for this one.
    let root = tree("a: 1\nb: [2]\n");
    let patches = [Patch::set(route("a"), 3)];
    let refused = apply("b: [2]\na: 1\n", &root, &patches);
    assert_eq!(refused, Err(PatchError::NotRoundTrip));
}

#[test]
fn a_map_whose_first_key_is_a_list_keeps_its_lines() {
    let text = "m:\n  [a, 2]: x # first\n  c: 1\n";
    assert_eq!(set(text, "m/d", "4"), format!("{text}  d: 4\n"));
    assert_eq!(set(text, "m/c", "2"), text.replace('1', "2"));
    assert_eq!(remove(text, "m/c"), text.replace("  c: 1\n", ""));
    assert_eq!(set(text, "m", "{e: 5}"), "m:\n  e: 5\n");
}

#[test]
fn a_map_on_the_line_of_its_key_is_written_anew() {
    // The first text is not valid YAML, but the parser accepts it.
    for (text, at, after) in [
        (": [ 2] : f}", "/new", ":\n  '[2]': f}\n  new: 1\n"),
        ("? a\n: b: c\n", "a/new", "a:\n  b: c\n  new: 1\n"),
    ] {
        let at = match at.strip_prefix('/') {
            Some(key) => Route::keys(["", key]),
            None => route(at),
        };
        assert_eq!(patched(text, &[Patch::set(at, 1)]), after);
    }
}

#[test]
fn what_is_sensitive_or_not_a_number_can_be_set_and_stay() {
    let text = "a: !sensitive x\nb: .nan\nc: 1\n";
    let patches = [
        Patch::set(route("c"), Value::from("secret").sensitive()),
        Patch::set(route("d"), f64::NAN),
    ];
    insta::assert_snapshot!(apply(text, &tree(text), &patches).unwrap(), @r"
    a: !sensitive x
    b: .nan
    c: <<REDACTED>>
    d: .nan
    ");
}

#[test]
fn taking_out_what_is_not_there_leaves_the_text() {
    for text in ["a:\nb: [1, null]\n", "- null\n- 1\n"] {
        for at in ["a/x", "a/x/y", "b/1/x", "0/x", "7/x", "c/x"] {
            let patches = [Patch::remove(route(at))];
            match apply(text, &tree(text), &patches) {
                Ok(after) => assert_eq!(after, text, "{at}"),
                Err(error) => assert!(
                    matches!(error, PatchError::NoSuchPart { .. }),
                    "{at}: {error}"
                ),
            }
        }
    }
}

/// Joins lines to a file, with or without a byte order mark, Windows line breaks and a final line break.
fn file(lines: &[String], mark: bool, windows: bool, ends: bool) -> String {
    let mut text = lines.join("\n");
    if ends {
        text.push('\n');
    }
    if windows {
        text = text.replace('\n', "\r\n");
    }
    if mark {
        format!("\u{feff}{text}")
    } else {
        text
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn an_empty_patch_leaves_every_byte(
        lines in lines(),
        (mark, windows, ends) in any::<(bool, bool, bool)>(),
    ) {
        let text = file(&lines, mark, windows, ends);
        let before = tree(&text);
        prop_assert_eq!(apply(&text, &before, &[]).unwrap(), text.clone());
        // The removal of a missing key changes nothing either.
        let absent = Patch::remove(Route::keys(["nobody"]));
        prop_assert_eq!(apply(&text, &before, &[absent]).unwrap(), text);
    }

    #[test]
    fn a_new_value_of_one_key_leaves_the_lines_of_all_others(
        lines in lines(),
        (mark, windows, ends) in any::<(bool, bool, bool)>(),
        pick in any::<prop::sample::Index>(),
    ) {
        let picked = pick.index(lines.len());
        let text = file(&lines, mark, windows, ends);
        let patch = Patch::set(Route::keys([format!("key{picked}")]), "new");
        let after = apply(&text, &tree(&text), &[patch]).unwrap();
        let value = read(&after);
        prop_assert_eq!(value.get(&format!("key{picked}")), Some(&Value::from("new")), "{}", after);
        for (number, line) in lines.iter().enumerate() {
            let key = format!("key{number}: ");
            let Some(place) = line.find(&key).filter(|_| number != picked) else {
                continue;
            };
            let own = file(&[line[place..].trim_end().to_owned()], false, windows, false);
            prop_assert!(after.contains(&own), "{own:?} is not in {after:?}");
        }
        prop_assert_eq!(after.starts_with('\u{feff}'), mark);
        prop_assert!(windows || !after.contains('\r'));
        prop_assert!(!windows || after.matches('\n').count() == after.matches("\r\n").count());
    }
}
