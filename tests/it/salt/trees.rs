//! State trees beyond the recorded cases: globs, the top file, `exclude`, and requisites of the form `_in`.

use std::sync::Arc;

use unfurl::testing::states::{
    CompileError, CompilePurpose, CompileRequest, CompiledStates, FactCache, MinionData,
    RunOrdering, StateRenderer, StateTargets, compile,
};
use unfurl::testing::value::Value;

use super::corpus::Files;

/// The minion data of a machine with these state files.
pub(super) fn machine(files: &[(&str, &str)]) -> MinionData {
    MinionData {
        id: "web-1".into(),
        roots: Arc::new(Files::of(files)).into(),
        grains: Value::map([
            ("os", "Debian".into()),
            ("os_family", "Debian".into()),
            ("roles", Value::list(["web".into(), "db".into()])),
            ("ipv4", Value::list(["127.0.0.1".into(), "10.1.2.3".into()])),
            (
                "nested",
                Value::map([("a", Value::map([("b", "deep".into())]))]),
            ),
        ]),
        pillar: Value::map([
            ("env", "prod".into()),
            ("pass", Value::str("hush-hush").sensitive()),
        ]),
        options: Value::map([(
            "nodegroups",
            Value::map([("webs", "web-* and G@os:Debian".into())]),
        )]),
    }
}

/// Compiles the targets, or the highstate if there are none.
pub(super) fn tree(
    machine: MinionData,
    targets: &[&str],
    ordering: RunOrdering,
) -> Result<CompiledStates, CompileError> {
    let targets = if targets.is_empty() {
        StateTargets::Highstate
    } else {
        StateTargets::Sls(targets.iter().map(|name| (*name).to_owned()).collect())
    };
    let request = CompileRequest {
        targets,
        ordering,
        purpose: CompilePurpose::Show,
        exclude: Vec::new(),
    };
    compile(
        &request,
        &StateRenderer::new(machine),
        &FactCache::default(),
    )
}

/// The IDs of the states in run order.
fn ids(files: &[(&str, &str)], targets: &[&str]) -> String {
    let compiled = tree(machine(files), targets, RunOrdering::Classic).unwrap();
    let chunks = compiled.low.chunks.iter();
    chunks.map(|chunk| &*chunk.id).collect::<Vec<_>>().join(" ")
}

/// The compile errors with their positions, or `none`.
pub(super) fn problems(files: &[(&str, &str)], targets: &[&str], ordering: RunOrdering) -> String {
    match tree(machine(files), targets, ordering) {
        Ok(_) => "none".to_owned(),
        Err(CompileError::Needs(facts)) => format!("{facts:?}"),
        Err(CompileError::Problems(problems, sources)) => {
            let line = |problem: &unfurl::testing::diagnostic::Diagnostic| {
                let place = problem.span().and_then(|span| sources.position(span));
                let place = place.map_or_else(|| "-".to_owned(), |place| place.to_string());
                format!("{place}: {}", problem.message)
            };
            problems.iter().map(line).collect::<Vec<_>>().join("\n")
        }
    }
}

fn nop(id: &str) -> String {
    format!("{id}: test.nop\n")
}

#[test]
fn includes_are_globs_and_relative_names() {
    let (b, x, y, z) = (nop("b"), nop("x"), nop("y"), nop("z"));
    let files = [
        ("a/init.sls", "include: [.b, ..c.*]\na: test.nop\n"),
        ("a/b.sls", &b),
        ("c/y.sls", &y),
        ("c/x.sls", &x),
        ("c/init.sls", &z),
    ];
    assert_eq!(ids(&files, &["a"]), "b x y a");
    assert_eq!(ids(&files, &["c*"]), "z x y");
    assert_eq!(ids(&files, &["c.y", "c"]), "y z");
}

#[test]
fn the_top_file_matches_a_machine_in_all_ways() {
    let targets = [
        ("'web-*'", "glob", true),
        ("'web-*'", "", true),
        ("'db-*'", "glob", false),
        ("'a,web-1,b'", "list", true),
        ("'a,b'", "list", false),
        ("'web-[0-9]$'", "pcre", true),
        ("'eb'", "pcre", false),
        ("'os:Deb*'", "grain", true),
        ("'os:deb*'", "grain", true),
        ("'roles:db'", "grain", true),
        ("'nested:a:b:deep'", "grain", true),
        ("'nested:a:b'", "grain", true),
        ("'nested:*:b:deep'", "grain", true),
        ("'nope:x'", "grain", false),
        ("'os:(Debian|Ubuntu)'", "grain_pcre", true),
        ("'env:prod'", "pillar", true),
        ("'env:test'", "pillar", false),
        ("10.1.0.0/16", "ipcidr", true),
        ("10.1.2.3", "ipcidr", true),
        ("10.2.0.0/16", "ipcidr", false),
        ("'G@os:Debian and not db-*'", "", true),
        ("'G@os:Debian and ( db-* or L@web-1,x )'", "compound", true),
        ("'web-* not G@os:Debian'", "compound", false),
        (
            "'E@^web and S@10.1.2.3 and I@env:prod and J@env:p.*'",
            "compound",
            true,
        ),
        ("'or web-1'", "compound", false),
        ("'( web-1'", "compound", false),
        ("'N@webs'", "compound", true),
        ("webs", "nodegroup", true),
        ("others", "nodegroup", false),
    ];
    let a = nop("a");
    for (target, matcher, expected) in targets {
        let matcher = if matcher.is_empty() {
            String::new()
        } else {
            format!("    - match: {matcher}\n")
        };
        let top = format!("base:\n  {target}:\n{matcher}    - a\n");
        let compiled = tree(
            machine(&[("top.sls", &top), ("a.sls", &a)]),
            &[],
            RunOrdering::Classic,
        )
        .unwrap();
        assert_eq!(!compiled.is_unmatched, expected, "{target} {matcher}");
        assert_eq!(compiled.low.chunks.len(), usize::from(expected));
    }
}

#[test]
fn a_top_file_includes_others() {
    let (a, b) = (nop("a"), nop("b"));
    let files = [
        ("top.sls", "include: [more.*]\nbase:\n  '*': [a]\n"),
        ("more/top.sls", "base:\n  'web*': [b]\n"),
        ("a.sls", &a),
        ("b.sls", &b),
    ];
    assert_eq!(ids(&files, &[]), "a b");
    let compiled = tree(machine(&files), &[], RunOrdering::Classic).unwrap();
    assert_eq!(compiled.show_top().to_string(), "{'base': ['a', 'b']}");
}

#[test]
fn what_is_excluded_is_gone_after_requisites_were_turned_round() {
    let files = [
        (
            "main.sls",
            "include: [x]\nexclude: [{id: gone}]\na:\n  test.nop: []\ngone:\n  test.nop:\n    - require_in: [{test: a}]\n",
        ),
        ("x.sls", "x1: test.nop\n"),
    ];
    let compiled = tree(machine(&files), &["main"], RunOrdering::Classic).unwrap();
    let a = compiled
        .low
        .chunks
        .iter()
        .find(|chunk| &*chunk.id == "a")
        .unwrap();
    assert_eq!(
        a.links[0].target,
        unfurl::testing::states::LinkTarget::Missing
    );
}

/// Each chunk with its requisites and their targets, by ID.
fn links(files: &[(&str, &str)], ordering: RunOrdering) -> Vec<String> {
    let compiled = tree(machine(files), &["main"], ordering).unwrap();
    let low = &compiled.low;
    let line = |chunk: &unfurl::testing::states::Chunk| {
        let links = chunk.links.iter().map(|link| {
            let members = match link.target {
                unfurl::testing::states::LinkTarget::Set(set) => {
                    let members = low.sets[set as usize].iter();
                    members
                        .map(|member| &*low.chunks[*member as usize].id)
                        .collect::<Vec<_>>()
                        .join("+")
                }
                unfurl::testing::states::LinkTarget::Missing => "?".to_owned(),
            };
            format!("{} {members}", link.kind.as_str())
        });
        let links: Vec<String> = links.collect();
        format!("{}: {}", chunk.id, links.join(", "))
    };
    low.chunks.iter().map(line).collect()
}

#[test]
fn requisites_for_others_become_those_of_others() {
    let main = "
include: [b]
a:
  test.nop:
    - require_in: [{test: t}, {sls: b}]
    - watch_in: [t]
    - onchanges_in: [{test: named}]
    - onfail_in: [{test: t}]
    - prereq_in: [{test: t}]
    - listen_in: [{test: t}]
t:
  test.nop:
    - name: named
u:
  test.nop:
    - require_in: {test: t}
";
    let files = [
        ("main.sls", main),
        ("b.sls", "b1: test.nop\nb2: test.nop\n"),
    ];
    assert_eq!(
        links(&files, RunOrdering::Classic),
        [
            "b1: require a",
            "b2: require a",
            "a: ",
            "t: require a, require u, watch a, onfail a, prereq a, onchanges a, listen a",
            "u: ",
        ]
    );
}

#[test]
fn equal_targets_share_a_set() {
    let main = "
include: [b]
a: {test.nop: [{require: [{sls: b}]}]}
c: {test.nop: [{require: [{sls: b}]}, {watch: [{test: 'b*'}]}]}
";
    let files = [
        ("main.sls", main),
        ("b.sls", "b1: test.nop\nb2: test.nop\n"),
    ];
    let compiled = tree(machine(&files), &["main"], RunOrdering::Dag).unwrap();
    assert_eq!(compiled.low.sets.len(), 2);
}

#[test]
fn all_problems_of_a_tree_are_reported_at_their_positions() {
    let main = "
a:
  test.nop:
    - require: x
b:
  test:
    - name: y
c:
  test.nop:
d: 5
12:
  test.nop: []
";
    assert_eq!(
        problems(&[("main.sls", main)], &["main"], RunOrdering::Classic),
        "main.sls:9:12: ID `c` in SLS `main` contains a short declaration (test.nop) with a trailing colon; without arguments the colon must be omitted\n\
         main.sls:10:1: ID `d` in SLS `main` is not a dictionary\n\
         main.sls:11:1: ID `12` in SLS `main` is not formed as a string, but is an integer; it may need to be quoted\n\
         main.sls:4:16: the require statement in state `a` in SLS `main` needs to be formed as a list\n\
         main.sls:6:3: no function declared in state `b` in SLS `main`"
    );
}

#[test]
fn a_cycle_is_reported_with_its_edges() {
    let main = "
a: {test.nop: [{require: [{test: b}]}]}
b: {test.nop: [{watch: [{test: c}]}]}
c: {test.nop: [{require: [{test: a}]}]}
";
    let told = problems(&[("main.sls", main)], &["main"], RunOrdering::Dag);
    assert_eq!(
        told,
        "main.sls:2:27: recursive requisites were found: `a` require `b`, `b` watch `c`, `c` require `a`"
    );
}

#[test]
fn names_carry_arguments_and_requisites() {
    let main = "
z: test.nop
m:
  test.nop:
    - names: [n1, {n2: [{require: [{test: z}]}, {order: 1}]}, n1, 5]
";
    let compiled = tree(
        machine(&[("main.sls", main)]),
        &["main"],
        RunOrdering::Classic,
    )
    .unwrap();
    let row = |chunk: &unfurl::testing::states::Chunk| {
        format!("{} {} {}", chunk.name, chunk.order, chunk.links.len())
    };
    let rows: Vec<String> = compiled.low.chunks.iter().map(row).collect();
    assert_eq!(
        rows,
        [
            "n2 1.0002 1",
            "z 10000 0",
            "n1 10001.0001 0",
            "5 10001.0003 0"
        ]
    );
}

#[test]
fn commands_show_salts_keys() {
    let main = "a:\n  cmd.run:\n    - name: 'true'\n    - unless: 'false'\n    - require: [{test: b}]\nb: test.nop\n";
    let compiled = tree(
        machine(&[("main.sls", main)]),
        &["main"],
        RunOrdering::Classic,
    )
    .unwrap();
    assert_eq!(
        compiled.show_low().to_string(),
        "[{'state': 'cmd', 'name': 'true', '__sls__': 'main', '__env__': 'base', '__id__': 'a', \
         'unless': 'false', 'require': [{'test': 'b'}], 'order': 10000, 'fun': 'run'}, \
         {'state': 'test', 'name': 'b', '__sls__': 'main', '__env__': 'base', '__id__': 'b', \
         'order': 10001, 'fun': 'nop'}]"
    );
    assert_eq!(
        compiled.show_high().to_string(),
        "{'a': {'cmd': [{'name': 'true'}, {'unless': 'false'}, {'require': [{'test': 'b'}]}, \
         {'order': 10000}, 'run'], '__sls__': 'main', '__env__': 'base'}, \
         'b': {'test': ['nop', {'order': 10001}], '__sls__': 'main', '__env__': 'base'}}"
            .replace("{'order': 10000}, 'run'", "'run', {'order': 10000}")
    );
    assert!(
        compiled
            .dot()
            .contains("\"test_|-b_|-b_|-nop\" -> \"cmd_|-a_|-true_|-run\" [label=\"require\"];")
    );
}

/// The requisites of each chunk, in the order of the chunks, as `show-low` prints them.
fn shown_requisites(main: &str, ordering: RunOrdering) -> Vec<String> {
    let compiled = tree(machine(&[("main.sls", main)]), &["main"], ordering).unwrap();
    let low = compiled.show_low();
    let keys = [
        "require",
        "prereq",
        "prerequired",
        "__prereq__",
        "__prerequiring__",
    ];
    let shown = |chunk: &Value| {
        let found = keys
            .iter()
            .filter_map(|key| Some(format!(" {key}: {}", chunk.get(key)?)));
        format!(
            "{}:{}",
            chunk.get("__id__").unwrap(),
            found.collect::<String>()
        )
    };
    low.as_list().unwrap().iter().map(shown).collect()
}

#[test]
fn requisites_are_shown_as_often_as_salt_shows_them() {
    // Recorded with Salt 3006.28.
    let main = "
a: test.nop
b:
  test.nop:
    - require_in: [{test: a}, {test: c}, {test: d}]
    - prereq: [{test: a}, {test: c}]
c: test.nop
d:
  test.nop:
    - require: [{test: e}]
e:
  test.nop:
    - prereq_in: [{test: a}]
";
    let shown = shown_requisites(main, RunOrdering::Classic);
    assert_eq!(
        shown,
        [
            "a: require: [{'test': 'b'}, {'test': 'b'}, {'test': 'b'}] prereq: [{'test': 'e'}] \
             prerequired: [{'test': 'b'}, {'test': 'b'}]",
            "b: prereq: [{'test': 'a'}, {'test': 'c'}]",
            "c: require: [{'test': 'b'}, {'test': 'b'}] prerequired: [{'test': 'b'}]",
            "d: require: [{'test': 'e'}, {'test': 'b'}]",
            "e: prerequired: [{'test': 'a'}]",
        ]
    );
}

#[test]
fn both_sides_of_a_prereq_are_marked_in_the_order_of_salt_3008() {
    let main = "
a: test.nop
b:
  test.nop:
    - prereq: [{test: a}]
";
    assert_eq!(
        shown_requisites(main, RunOrdering::Dag),
        [
            "a: __prereq__: True",
            "b: prereq: [{'test': 'a'}] __prerequiring__: True",
            "a: __prereq__: True",
        ]
    );
}
