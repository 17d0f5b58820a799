use std::collections::HashMap;

use crate::diagnostic::{Diagnostics, Sources};
use crate::value::Value;
use crate::yaml::{
    Expanded, IncludeRequest, Limits, LoadResult, Loader, Node, Route, expand, parse,
};

/// A loader that serves files from memory.
#[derive(Default)]
struct Files {
    sources: Sources,
    texts: HashMap<&'static str, &'static str>,
    loads: usize,
}

impl Files {
    fn parse(&mut self, name: &str, text: &str) -> Node {
        let id = self.sources.add(name, text, None);
        parse(&self.sources, id, &Limits::default()).unwrap()
    }
}

impl Loader for Files {
    fn load(&mut self, request: &IncludeRequest) -> Result<LoadResult, Diagnostics> {
        self.loads += 1;
        if let Some(name) = &request.repository {
            let known = Route::keys(["repositories", name.as_str()]);
            if known.find(&request.document).is_none() {
                return Ok(LoadResult::Deferred);
            }
        }
        let Some(text) = self.texts.get(request.file.as_str()) else {
            return Ok(LoadResult::Missing);
        };
        let text = (*text).to_owned();
        let source = self.sources.add(&request.file, text, Some(request.span));
        let root = parse(&self.sources, source, &Limits::default())?;
        Ok(LoadResult::Found { source, root })
    }
}

fn expanded_with(text: &str, files: &[(&'static str, &'static str)]) -> Result<Expanded, String> {
    let mut loader = Files {
        texts: files.iter().copied().collect(),
        ..Files::default()
    };
    let root = loader.parse("ensemble.yaml", text);
    expand(&root, &mut loader, &Limits::default()).map_err(|problems| {
        let shown = problems.iter().map(|problem| {
            let place = problem
                .span()
                .and_then(|span| loader.sources.position(span));
            let place = place.map(|place| place.to_string()).unwrap_or_default();
            format!("{place}: {}", problem.message)
        });
        shown.collect::<Vec<_>>().join("\n")
    })
}

fn value(text: &str) -> Value {
    expanded_with(text, &[]).unwrap().root.to_value()
}

/// Returns the expanded value of the key `it` as text.
fn it(text: &str) -> String {
    value(text)
        .get("it")
        .map(ToString::to_string)
        .unwrap_or_default()
}

fn failure(text: &str) -> String {
    expanded_with(text, &[]).unwrap_err()
}

const TEMPLATES: &str = "t: {base: {a: 1, b: {c: 2, d: 3}, l: [1, 2]}, list: [x, y], one: 5}\n";

fn with_templates(text: &str) -> String {
    it(&format!("{TEMPLATES}it: {text}"))
}

#[test]
fn pointers_merge_what_they_point_at() {
    assert_eq!(
        with_templates("{+/t/base: , b: {d: 4}, l: [2, 3]}"),
        "{'b': {'d': 4, 'c': 2}, 'l': [1, 2, 3], 'a': 1}"
    );
    assert_eq!(with_templates("{+/t/one: }"), "5");
    assert_eq!(with_templates("{+/t/list/1: }"), "y");
    assert_eq!(
        with_templates("{x: {+/t/base/b: }}"),
        "{'x': {'c': 2, 'd': 3}}"
    );
    assert_eq!(
        with_templates("{+/t/base/b: , +/t/base: }"),
        "{'a': 1, 'b': {'c': 2, 'd': 3}, 'l': [1, 2], 'c': 2, 'd': 3}"
    );
}

#[test]
fn whiteout_and_nullout_take_out() {
    assert_eq!(
        with_templates("{+/t/base: , b: {+%: whiteout}}"),
        "{'a': 1, 'l': [1, 2]}"
    );
    assert_eq!(
        with_templates("{+/t/base: , b: {+%: nullout}}"),
        "{'b': None, 'a': 1, 'l': [1, 2]}"
    );
    assert_eq!(
        it("it: {a: {+%: nullout}, b: [{+%: whiteout}, 1]}"),
        "{'b': [1]}"
    );
}

#[test]
fn lists_are_spliced_one_level_deep() {
    assert_eq!(
        with_templates("[a, {+/t/list: }, b]"),
        "['a', 'x', 'y', 'b']"
    );
    assert_eq!(with_templates("[[{+/t/list: }]]"), "[[{'+/t/list': None}]]");
    assert_eq!(
        with_templates("[{+/t/base/b: , c: 0}]"),
        "[{'c': 0, 'd': 3}]"
    );
}

#[test]
fn anchors_are_found_before_and_behind() {
    assert_eq!(
        it("a: {+&: x, z: 26}\nit: {+*x: , y: 25}"),
        "{'y': 25, 'z': 26}"
    );
    assert_eq!(
        it("it: {+*x: , y: 25}\na: {+&: x, z: 26}"),
        "{'y': 25, 'z': 26}"
    );
    assert_eq!(it("a: &x {z: {w: 1}}\nit: {+*x/z: }"), "{'w': 1}");
}

#[test]
fn dots_go_up_from_where_the_directive_stands() {
    assert_eq!(it("it: {b: {d: 5}, +./b: }"), "{'b': {'d': 5}, 'd': 5}");
    assert_eq!(
        it("it: {b: {d: 5}, c: {+../b: }}"),
        "{'b': {'d': 5}, 'c': {'d': 5}}"
    );
}

#[test]
fn raw_values_are_not_expanded() {
    assert_eq!(it("a: {+/b: }\nb: {c: 1}\nit: {+/a: raw}"), "{'+/b': None}");
    assert_eq!(it("a: {+/b: }\nb: {c: 1}\nit: {+/a: }"), "{'c': 1}");
}

#[test]
fn optional_directives_may_find_nothing() {
    assert_eq!(
        it("it: {+?/no/where: , k: v}"),
        "{'k': v}".replace(": v", ": 'v'")
    );
    assert_eq!(it("it: [a, {+?/no/where: }, b]"), "['a', 'b']");
    assert_eq!(value("a: {+?/no: }\nb: 1").to_string(), "{'b': 1}");
    assert_eq!(it("it: {+?include: no.yaml, k: 1}"), "{'k': 1}");
}

#[test]
fn directives_may_need_what_others_bring() {
    let files = [("a.yaml", "dsl: {bar: {+&: bar, c: 4}}\nspec: {a: 1}\n")];
    let text = "dsl: {foo: {+&: foo, d: 5}, +./bar: , +./foo: }\n+include: a.yaml\n\
                +?include2: no.yaml\nspec: {+*foo: , +*bar: , b: 3}\n";
    let root = expanded_with(text, &files).unwrap().root.to_value();
    assert_eq!(
        root.get("spec").unwrap().to_string(),
        "{'b': 3, 'c': 4, 'd': 5, 'a': 1}"
    );
    assert_eq!(
        root.get("dsl").unwrap().to_string(),
        "{'foo': {'d': 5}, 'd': 5, 'c': 4, 'bar': {'c': 4}}"
    );
}

#[test]
fn files_are_included_with_fragments_and_suffixes() {
    let files = [
        ("inc.yaml", "a: 1\nnested: {x: 1, y: 2}\nother: [9]\n"),
        ("inc2.yaml", "b: 2\nnested: {y: 3}\n"),
        ("deep.yaml", "+include: inc.yaml\nd: {+/mine: }\n"),
    ];
    let get = |text: &str| {
        expanded_with(text, &files)
            .unwrap()
            .root
            .to_value()
            .to_string()
    };
    assert_eq!(
        get("+include: inc.yaml\n+include2: {file: inc2.yaml}\nnested: {z: 0}\n"),
        "{'nested': {'z': 0, 'y': 3, 'x': 1}, 'b': 2, 'a': 1, 'other': [9]}"
    );
    assert_eq!(get("it: [{+include: inc.yaml#/other}]"), "{'it': [9]}");
    assert_eq!(
        get("mine: {m: 1}\nit: {+include: deep.yaml#/d}"),
        "{'mine': {'m': 1}, 'it': {'m': 1}}"
    );
    // The include is deferred until its repository is known.
    let text = "it: {+include: {file: inc.yaml#/nested, repository: r}}\n+include: repos.yaml\n";
    let files = [files[0], ("repos.yaml", "repositories: {r: {url: x}}\n")];
    let root = expanded_with(text, &files).unwrap().root.to_value();
    assert_eq!(root.get("it").unwrap().to_string(), "{'x': 1, 'y': 2}");
}

#[test]
fn problems_stand_at_the_directive() {
    let text = "a: 1\nit:\n  +/x:\n  +?/y:\n";
    insta::assert_snapshot!(failure(text), @"ensemble.yaml:3:3: missing includes: ['+/x:']");
    insta::assert_snapshot!(failure("it:\n  +include: no.yaml\n"), @"ensemble.yaml:2:3: the included file `no.yaml` does not exist");
    insta::assert_snapshot!(failure("it: {a: {+/it: }}"), @"ensemble.yaml:1:10: the directive `+/it` merges a map that contains it");
    insta::assert_snapshot!(failure("a: &x {b: {+*x: }}"), @"ensemble.yaml:1:12: the directive `+*x` merges a map that contains it");
    insta::assert_snapshot!(failure("a: {+/b: }\nb: {+/a: }"), @r"
    ensemble.yaml:2:5: the directive `+/a` merges a map that contains it
    ensemble.yaml:1:5: the directive `+/b` merges a map that contains it
    ");
    insta::assert_snapshot!(failure("a: 1\nit: {+/a: , b: 2}"), @"ensemble.yaml:2:6: the target of `+/a` is an integer, which cannot be merged into a map");
    insta::assert_snapshot!(failure("a: {b: {+%: error, c: 1}}\nit: {+/a: , b: {c: 2}}"), @"ensemble.yaml:2:13: `b` must not be overridden");
    insta::assert_snapshot!(failure("it: {+/a~2: }"), @"ensemble.yaml:1:6: the pointer `+/a~2` has the unknown escape `~2`");
    let files = [
        ("a.yaml", "x: {+include: b.yaml}"),
        ("b.yaml", "y: {+include: a.yaml}"),
    ];
    insta::assert_snapshot!(
        expanded_with("it: {+include: a.yaml}", &files).unwrap_err(),
        @"b.yaml:1:5: the directive `+include` merges a map that contains it"
    );
}

/// Whether the value at a route comes at least partly from a directive.
fn is_merged(expanded: &Expanded, route: &Route) -> bool {
    match (route.find(&expanded.raw), route.find(&expanded.root)) {
        (Some(raw), Some(expanded)) => !raw.is_same(expanded),
        (None, None) => false,
        _ => true,
    }
}

#[test]
fn what_no_directive_touches_stays_the_same_node() {
    let files = [("a.yaml", "status: {from: file}\nspec: {a: 1}\n")];
    let text = "+include: a.yaml\nspec: {b: 2}\nlock: {c: {d: 3}}\n";
    let expanded = expanded_with(text, &files).unwrap();
    assert!(!is_merged(&expanded, &Route::keys(["lock"])));
    assert!(is_merged(&expanded, &Route::keys(["status"])));
    assert!(is_merged(&expanded, &Route::keys(["spec"])));
    assert!(!is_merged(&expanded, &Route::keys(["nothing"])));
    let base = |key: &str| {
        expanded
            .base(&Route::keys([key]))
            .map(|node| node.to_value().to_string())
    };
    assert_eq!(base("status").as_deref(), Some("{'from': 'file'}"));
    assert_eq!(base("lock"), None);
}

#[test]
fn directives_that_multiply_are_refused_at_once() {
    let levels = (1..60).map(|level| {
        let before = level - 1;
        format!("a{level}: {{l: {{+/a{before}: }}, r: {{+/a{before}: }}}}\n")
    });
    let text = format!("a0: {{x: 1}}\n{}", levels.collect::<String>());
    let started = std::time::Instant::now();
    let problem = failure(&text);
    assert!(problem.contains("too large"), "{problem}");
    assert!(started.elapsed().as_millis() < 1000);
}

#[test]
fn long_chains_of_directives_end() {
    let links = (0..400).map(|level| format!("a{level}: {{+/a{}: }}\n", level + 1));
    let text = format!("{}a400: {{x: 1}}\n", links.collect::<String>());
    assert!(failure(&text).contains("too deep"));
}
