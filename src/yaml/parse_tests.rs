use std::time::Instant;

use proptest::prelude::*;

use crate::diagnostic::{Diagnostics, SourceId, Sources};
use crate::value::Value;
use crate::yaml::{Limits, Node, NodeKind, parse};

fn parsed(text: &str) -> (Sources, Result<Node, Diagnostics>) {
    let mut sources = Sources::default();
    let id = sources.add("a.yaml", text, None);
    let result = parse(&sources, id, &Limits::default());
    (sources, result)
}

fn read(text: &str) -> Value {
    match parsed(text).1 {
        Ok(node) => node.to_value(),
        Err(problems) => panic!("{problems:?}"),
    }
}

/// Returns the problems with their positions and hints.
fn problems(text: &str) -> String {
    let (sources, result) = parsed(text);
    let shown = result.unwrap_err().into_iter().map(|problem| {
        let places = problem.labels.iter().map(|label| {
            let place = sources.position(label.span).unwrap();
            format!("{}:{} {}", place.line, place.column, label.text)
        });
        let places: Vec<_> = places.collect();
        let help = problem.help.unwrap_or_default();
        format!("{} [{}] {help}", problem.message, places.join(" | "))
    });
    shown.collect::<Vec<_>>().join("\n")
}

#[test]
fn an_empty_document_is_null() {
    for text in ["", "# only a comment\n", "---\n", "~"] {
        assert!(read(text).is_null(), "{text}");
    }
}

#[test]
fn keys_are_the_text_that_stands_there() {
    assert_eq!(
        read(
            "80: a\ntrue: b\n'q': c\n\"d\\x41\": d\n? e\n: f\n1.0: g\n*x : h"
                .trim_end_matches("\n*x : h")
        )
        .to_string(),
        "{'80': 'a', 'true': 'b', 'q': 'c', 'dA': 'd', 'e': 'f', '1.0': 'g'}"
    );
    assert_eq!(
        read("- &x k\n- *x : 1\n- &y z: 2").to_string(),
        "['k', {'k': 1}, {'z': 2}]"
    );
}

#[test]
fn a_list_of_scalars_can_be_a_key() {
    let text = "- [ service, 2 ]: [ software, service ]\n";
    assert_eq!(
        read(text).to_string(),
        "[{'[service, 2]': ['software', 'service']}]"
    );
}

#[test]
fn quoted_texts_may_go_on_without_indentation() {
    let text = "a: \"one \ntwo\n\nthree\"\nb:\n  c: 'x\ny'\n  d: [e]\n";
    let (sources, node) = parsed(text);
    let node = node.unwrap();
    assert_eq!(
        node.to_value().to_string(),
        "{'a': 'one two\\nthree', 'b': {'c': 'x y', 'd': ['e']}}"
    );
    let place = |key: &str| sources.text(node.get("b").unwrap().get(key).unwrap().span());
    assert_eq!(place("c"), "'x\ny'");
    assert_eq!(place("d"), "[e]");
}

#[test]
fn explicit_tags_decide_what_a_scalar_is() {
    assert_eq!(
        read("[!!str 1, !!int '0x10', !!float 1, !!bool yes, !!null x, ! 3, !foo 4]").to_string(),
        "['1', 16, 1.0, True, None, 3, '4']"
    );
    let (_, node) = parsed("a: !vault |\n  secret\nb: !sensitive {c: 1}");
    let node = node.unwrap();
    assert_eq!(node.get("a").unwrap().tag(), Some("!vault"));
    assert_eq!(
        node.to_value().to_string(),
        "{'a': <<REDACTED>>, 'b': <<REDACTED>>}"
    );
}

#[test]
fn merge_keys_give_way_to_explicit_keys() {
    let text = "a: &a {x: 1, y: 2}\nb: &b {x: 3, z: 4}\nc:\n  <<: [*a, *b]\n  y: 5\n";
    assert_eq!(
        read(text).get("c").unwrap().to_string(),
        "{'y': 5, 'x': 1, 'z': 4}"
    );
    assert_eq!(read("'<<': 1").to_string(), "{'<<': 1}");
}

#[test]
fn a_node_spans_its_text_and_nothing_behind_it() {
    let text =
        "a:   # c\n  b: 'x'   # d\n  # e\n\nc:\n- 1\n- {y: [2]} # f\nd: |\n  g\n\nh:\ni: - j\n"
            .replace("i: - j\n", "i: &k\n  - - l\n");
    let (sources, node) = parsed(&text);
    let node = node.unwrap();
    let shown = |path: &[&str]| {
        let node = path.iter().fold(&node, |node, key| match node.kind() {
            NodeKind::Seq(items) => &items[key.parse::<usize>().unwrap()],
            _ => node.get(key).unwrap(),
        });
        sources.text(node.span()).to_owned()
    };
    assert_eq!(shown(&["a"]), "b: 'x'");
    assert_eq!(shown(&["a", "b"]), "'x'");
    assert_eq!(shown(&["c"]), "- 1\n- {y: [2]}");
    assert_eq!(shown(&["c", "1"]), "{y: [2]}");
    assert_eq!(shown(&["d"]), "g");
    assert_eq!(shown(&["h"]), "");
    assert_eq!(shown(&["i"]), "- - l");
    assert_eq!(shown(&["i", "0"]), "- l");
    let end = text.trim_end().len();
    assert_eq!(sources.text(node.span()), &text[..end]);
}

#[test]
fn an_alias_is_the_node_it_names() {
    let (_, node) = parsed("a: &x {k: [1, 2]}\nb: *x\n");
    let node = node.unwrap();
    assert!(node.get("a").unwrap().is_same(node.get("b").unwrap()));
    assert_eq!(node.get("a").unwrap().anchor(), Some("x"));
    assert_eq!(node.weight(), 9);
}

#[test]
fn problems_say_where_and_what_to_do() {
    let texts = [
        "a: 1\nb: 2\na: 3\n",
        "a:\n\tb: 1\n",
        "a: b: c\n",
        "a: [1, 2\nb: 3\n",
        "a: 'x\n",
        "a: 1\n---\nb: 2\n",
        "a: {{ x }}\n",
        "a: &x [*x]\n",
        "a: *y\n",
        "a: !!python/object:os.system x\n",
        "a: !!int x\n",
        "<<: 1\n",
        "a: @x\n",
        "a:\n  - 1\n b: 2\n",
        "a: \"\\q\"\n",
    ];
    let shown: Vec<_> = texts
        .iter()
        .map(|text| problems(text).trim_end().to_owned())
        .collect();
    insta::assert_snapshot!(shown.join("\n"), @r##"
    the key `a` occurs twice [3:1 again here | 1:1 first here] remove or rename one of them
    a tab cannot be used as indentation [2:2 ] use spaces
    a `key: value` pair is not allowed here [1:5 ] check the indentation, or quote the text if its `: ` is meant literally
    a `:` is not allowed here [2:2 ] check whether a `]` or `}` is missing before it
    a quoted text is not closed, or not indented correctly [2:1 ] add the closing quote, or indent the text
    a file must contain only one YAML document [2:1 a second document starts here] move it to a file of its own
    a map cannot be a key [1:5 a key must be a text] quote the key if it is a text, as in `'{{ name }}': value`
    this alias is within the value that it refers to [1:8 the value would contain itself]
    the anchor `&y` is not defined before this alias [1:4 not defined above] an alias can refer only to an anchor above it in the same file
    the tag `!!python/object:os.system` is not allowed [1:30 would run Python code] write the value without the tag
    `x` is not an integer [1:10 tagged as an integer]
    `<<` cannot merge an integer [1:5 expected a map or a list of maps]
    a text cannot start with this character [1:4 ] quote the text
    expected a key [3:2 ] keys of one map start in the same column
    this escape is not known [1:4 ] write `\\` for a backslash, or use single quotes
    "##);
}

#[test]
fn bombs_are_refused_at_once() {
    let names = || ('a'..='y').zip('b'..='z');
    let nine = |name: char| vec![format!("*{name}"); 9].join(", ");
    let laughs = names().map(|(before, name)| format!("{name}: &{name} [{}]\n", nine(before)));
    let laughs = format!("a: &a [x, x, x]\n{}", laughs.collect::<String>());
    let merged = names().map(|(before, name)| {
        format!("{name}: &{name} {{<<: *{before}, {name}1: *{before}, {name}2: *{before}}}\n")
    });
    let merged = format!("a: &a {{k: [x, x, x]}}\n{}", merged.collect::<String>());
    let staircase: String = (0..2000).map(|level| " ".repeat(level) + "a:\n").collect();
    let quadratic = format!(
        "a: &a '{}'\nb:\n{}",
        "x".repeat(50_000),
        "- *a\n".repeat(5000)
    );
    let bombs = [
        laughs,
        merged,
        "[".repeat(100_000),
        "- ".repeat(100_000),
        staircase,
    ];
    let started = Instant::now();
    for bomb in bombs {
        assert!(parsed(&bomb).1.is_err(), "{}", &bomb[..40]);
    }
    assert!(parsed(&quadratic).1.is_ok());
    assert!(started.elapsed().as_secs() < 5);
}

#[test]
fn deep_but_reasonable_documents_are_read() {
    let text = format!("{}x{}", "[".repeat(200), "]".repeat(200));
    assert!(parsed(&text).1.is_ok());
}

#[test]
fn a_text_that_was_not_read_is_a_problem() {
    assert!(parse(&Sources::default(), SourceId::NONE, &Limits::default()).is_err());
    let mut sources = Sources::default();
    let id = sources.add("a.yaml", "a: 1", None);
    let limits = Limits {
        max_bytes: 3,
        ..Limits::default()
    };
    assert!(parse(&sources, id, &limits).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(800) })]

    /// The spans of a parsed text lie within the text and within the span of the parent.
    #[test]
    fn no_text_makes_it_panic(text in "([ab&*!|>%@#?:,\\-\\[\\]{}'\" \n\t\r0é~<]|: |- |\n  |<<: |&a |\\*a|!!|---\n){0,40}") {
        let (sources, result) = parsed(&text);
        if let Ok(root) = result {
            let mut open = vec![root];
            while let Some(node) = open.pop() {
                let span = node.span();
                prop_assert!(span.start <= span.end && span.end as usize <= text.len(), "{span:?}");
                prop_assert_eq!(sources.text(span).len(), (span.end - span.start) as usize);
                match node.kind() {
                    NodeKind::Seq(items) => open.extend(items.iter().cloned()),
                    NodeKind::Map(map) => open.extend(map.iter().map(|(_, entry)| entry.value.clone())),
                    _ => {}
                }
            }
        }
    }
}
