//! Templates whose answers were wrong without a message before: each answer is that of Salt 3008.3 and 3006.28.

use unfurl::testing::states::{
    CompileError, CompilePurpose, CompileRequest, FactCache, MinionData, RunOrdering,
};
use unfurl::testing::states::{StateRenderer, StateTargets, compile};
use unfurl::testing::value::Value;

use super::trees::{machine, tree};

/// The pillar of the recorded answers, in this order.
fn ordered_pillar() -> Value {
    let inner = Value::map([("q", Value::from(1)), ("b", 2.into())]);
    let map = Value::map([("z", Value::from(1)), ("y", inner), ("a", 3.into())]);
    Value::map([("p", map)])
}

fn minion(template: &str) -> MinionData {
    let files = [
        ("main.sls", template),
        ("d.yaml", "z: 1\ny: {q: 1, b: 2}\na: 3\n"),
    ];
    let mut minion = machine(&files);
    minion.pillar = ordered_pillar();
    let map = Value::map([("z", Value::from(1)), ("a", 2.into())]);
    let grains = minion.grains.as_map().cloned().unwrap_or_default();
    let grains = grains.into_iter().chain([("zmap".into(), map)]);
    minion.grains = Value::map(grains);
    minion
}

/// Renders statements and an expression, and returns the text or the message of the error.
fn answer(statements: &str, expression: &str) -> String {
    let template = format!(
        "{statements}\na:\n  test.nop:\n    - name: {{{{ ({expression}) | yaml_dquote }}}}\n"
    );
    match tree(minion(&template), &["main"], RunOrdering::Classic) {
        Ok(compiled) => compiled.low.chunks[0].name.to_string(),
        Err(CompileError::Problems(problems, _)) => {
            let problems = problems.iter().map(|problem| problem.message.clone());
            problems.collect::<Vec<_>>().join("\n")
        }
        Err(CompileError::Needs(facts)) => format!("needs {facts:?}"),
    }
}

#[test]
fn keys_are_sorted_as_salt_sorts_them() {
    let statements = "{% set m = {'b': 1, 'a': {'d': 1, 'c': 2}} %}{% import_yaml 'd.yaml' as d %}\
        {% set c = pillar.p %}{% do c.update({'new': 1, 'abc': 2}) %}";
    let table = [
        ("m|json", r#"{"a": {"c": 2, "d": 1}, "b": 1}"#),
        ("m|yaml", "{a: {c: 2, d: 1}, b: 1}"),
        ("m|yaml(False)", "a:\n  c: 2\n  d: 1\nb: 1"),
        ("m|tojson", r#"{"b": 1, "a": {"d": 1, "c": 2}}"#),
        ("d|json", r#"{"a": 3, "y": {"b": 2, "q": 1}, "z": 1}"#),
        ("d|yaml", "{a: 3, y: {b: 2, q: 1}, z: 1}"),
        (
            "pillar.p|json",
            r#"{"a": 3, "y": {"b": 2, "q": 1}, "z": 1}"#,
        ),
        ("pillar.p|yaml", "{z: 1, y: {q: 1, b: 2}, a: 3}"),
        (
            "pillar.p|tojson",
            r#"{"z": 1, "y": {"q": 1, "b": 2}, "a": 3}"#,
        ),
        (
            "salt['pillar.get']('p')|yaml",
            "{z: 1, y: {q: 1, b: 2}, a: 3}",
        ),
        (
            "salt['pillar.get']('p', {'zz': 1, 'aa': 2}, merge=True)|yaml",
            "{a: 3, aa: 2, y: {q: 1, b: 2}, z: 1, zz: 1}",
        ),
        (
            "salt['pillar.get']('nope', {'zz': 1, 'aa': 2})|yaml",
            "{aa: 2, zz: 1}",
        ),
        ("grains['zmap']|yaml", "{a: 2, z: 1}"),
        (
            "salt['config.get']('p')|yaml",
            "{z: 1, y: {q: 1, b: 2}, a: 3}",
        ),
        (
            "{'x': pillar.p, 'a': 1}|yaml",
            "{a: 1, x: {z: 1, y: {q: 1, b: 2}, a: 3}}",
        ),
        ("c|yaml", "{z: 1, y: {q: 1, b: 2}, a: 3, new: 1, abc: 2}"),
        (
            "{'k': 'a:b', 'l': 'w ' * 45}|yaml",
            "{k: 'a:b', l: 'w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w\n    w w w w w w w w w w w '}",
        ),
        (
            "{'k': 'a\\nb\\nc\\n'}|yaml",
            "{k: 'a\n\n    b\n\n    c\n\n    '}",
        ),
        (
            "{'a': [1]}|json(indent=4)",
            "{\n    \"a\": [\n        1\n    ]\n}",
        ),
    ];
    for (expression, expected) in table {
        assert_eq!(answer(statements, expression), expected, "{expression}");
    }
}

#[test]
fn an_entry_is_chosen_by_a_grain_as_in_salt() {
    let table = [
        ("{'x': {'k': 1}}, base='x'", "{'k': 1}"),
        (
            "{'b': {'k': 1, 'l': 2}, 'Debian': {'k': 3}}, base='b'",
            "{'k': 3, 'l': 2}",
        ),
        ("{'b': {'k': 1}}, base='nope'", "None"),
        (
            "{'b': {'k': 1}, 'default': {'m': 1}}, base='b'",
            "{'k': 1, 'm': 1}",
        ),
        ("{'b': {'k': 1}}, merge={'z': 1}", "{'z': 1}"),
        (
            "{'b': {'k': 1}}, merge={'z': 1}, base='b'",
            "{'k': 1, 'z': 1}",
        ),
        ("{'Deb*': 1, 'Debian': 2}", "1"),
        ("{'db': 'd', 'web': 'w'}, grain='roles'", "w"),
        ("{'Debian': none, 'default': 5}", "5"),
    ];
    for (arguments, expected) in table {
        let expression = format!("salt['grains.filter_by']({arguments})");
        assert_eq!(answer("", &expression), expected, "{arguments}");
    }
    let refused = answer(
        "",
        "salt['grains.filter_by']({'Debian': 5}, merge={'a': 1})",
    );
    assert!(refused.contains("must be maps"), "{refused}");
}

#[test]
fn merging_functions_change_their_first_argument() {
    let merge = |statement: &str| {
        let statements = format!(
            "{{% set d = {{'a': 1, 'in': {{'x': 1}}}} %}}{{% set inner = d['in'] %}}{{% do {statement} %}}"
        );
        answer(&statements, "d ~ ' ' ~ inner")
    };
    let table = [
        (
            "salt['defaults.merge'](d, {'b': 2, 'in': {'y': 2}})",
            "{'a': 1, 'in': {'x': 1, 'y': 2}, 'b': 2} {'x': 1, 'y': 2}",
        ),
        (
            "salt['slsutil.update'](d, {'a': 5})",
            "{'a': 5, 'in': {'x': 1}} {'x': 1}",
        ),
        (
            "salt['slsutil.update'](d['in'], {'a': 5})",
            "{'a': 1, 'in': {'x': 1, 'a': 5}} {'x': 1, 'a': 5}",
        ),
        (
            "salt['defaults.merge'](d, {'b': 2}, in_place=False)",
            "{'a': 1, 'in': {'x': 1}} {'x': 1}",
        ),
        (
            "salt['slsutil.merge'](d, {'b': 2})",
            "{'a': 1, 'in': {'x': 1}} {'x': 1}",
        ),
    ];
    for (statement, expected) in table {
        assert_eq!(merge(statement), expected, "{statement}");
    }
    // Salt changes the pillar for all templates that follow, which is refused.
    let refused = merge("salt['defaults.merge'](pillar.p, {'b': 2})");
    assert!(refused.contains("cannot change this map"), "{refused}");
}

#[test]
fn values_that_are_loaded_or_nested_can_be_changed() {
    let loaded = "{% load_yaml as x %}\na: {b: 1}\n{% endload %}{% do x.a.update({'c': 2}) %}{% do x.update(d=4) %}";
    assert_eq!(answer(loaded, "x"), "{'a': {'b': 1, 'c': 2}, 'd': 4}");
    let lists = "{% set ns = namespace(l=[]) %}{% do ns.l.append([2]) %}{% do ns.l[0].append(3) %}\
        {% set d = {} %}{% do d.setdefault('k', []).append(5) if true %}{% do d.setdefault('k', []).append(6) if false %}";
    assert_eq!(answer(lists, "ns.l ~ ' ' ~ d"), "[[2, 3]] {'k': [5]}");
    let pairs = "{% set a, b = 1, 'x' %}{% set o = odict([('z', 1), ('a', 2)]) %}";
    assert_eq!(answer(pairs, "a ~ b ~ o.keys()|list"), "1x['z', 'a']");
}

#[test]
fn expressions_of_jinja2_are_known() {
    let table = [
        ("'%s-%05.1f' % ('x', 2)", "x-002.0"),
        ("'%(b)s' % {'b': 1}", "1"),
        ("'%s' % [1, 2]", "[1, 2]"),
        ("7 % 3 ~ '' ~ (-7) % 3", "12"),
        ("(1, 'x') ~ ''", "(1, 'x')"),
        ("[1] is list", "True"),
        ("none is iterable", "False"),
        (
            "'a' is iterable and [] is iterable and {} is iterable",
            "True",
        ),
        ("{'a': 1} is list", "False"),
        ("pillar['get']('p')['get']('zz', 9)", "9"),
        ("salt['log.debug']('x')", "True"),
        ("salt.log.warning('x')", "True"),
    ];
    for (expression, expected) in table {
        assert_eq!(answer("", expression), expected, "{expression}");
    }
    let cycler = "{% set c = cycler('a', 'b') %}";
    assert_eq!(
        answer(cycler, "c.next() ~ c.next() ~ c.next() ~ c.current"),
        "abab"
    );
}

#[test]
fn a_condition_without_an_else_is_empty() {
    let template = "{% set q = 'b' if false %}\na:\n  test.nop:\n    - name: \"[{{ 'a' if false }}{{ q }}]\"\n";
    let compiled = tree(minion(template), &["main"], RunOrdering::Classic).unwrap();
    assert_eq!(&*compiled.low.chunks[0].name, "[]");
}

#[test]
fn undefined_names_are_reported_in_the_words_of_jinja() {
    let table = [
        ("", "cfg.server.port", "'cfg' is undefined"),
        (
            "{% set cfg = {'a': 1} %}",
            "cfg.server.port",
            "'dict object' has no attribute 'server'",
        ),
        (
            "",
            "pillar.p.nope.x",
            "'dict object' has no attribute 'nope'",
        ),
        (
            "",
            "grains.nope ~ 'x'",
            "'dict object' has no attribute 'nope'",
        ),
    ];
    for (statements, expression, expected) in table {
        let message = answer(statements, expression);
        assert_eq!(
            message,
            format!("rendering SLS `base:main` failed: {expected}"),
            "{expression}"
        );
    }
}

#[test]
fn a_literal_block_at_the_end_of_a_file_gets_no_line_break() {
    let template = "{% set x = 1 %}\na:\n  test.nop:\n    - text: |\n        a\n        b{{ x }}";
    let compiled = tree(minion(template), &["main"], RunOrdering::Classic).unwrap();
    assert_eq!(compiled.low.chunks[0].args["text"].as_str(), Some("a\nb1"));
    let spaces = format!("{template}  ");
    let compiled = tree(minion(&spaces), &["main"], RunOrdering::Classic).unwrap();
    let text = compiled.low.chunks[0].args["text"].as_str();
    assert_eq!(text, Some("a\nb1  "));
    let ended = format!("{template}\n");
    let compiled = tree(minion(&ended), &["main"], RunOrdering::Classic).unwrap();
    assert_eq!(
        compiled.low.chunks[0].args["text"].as_str(),
        Some("a\nb1\n")
    );
}

#[test]
fn a_command_runs_in_a_shell_only_if_the_template_says_so() {
    let asked = |expression: &str| {
        let template = format!("a:\n  test.nop:\n    - name: {{{{ {expression} }}}}\n");
        let request = CompileRequest {
            targets: StateTargets::Sls(vec!["main".to_owned()]),
            ordering: RunOrdering::Classic,
            purpose: CompilePurpose::Show,
            exclude: Vec::new(),
        };
        let renderer = StateRenderer::new(minion(&template));
        match compile(&request, &renderer, &FactCache::default()) {
            Err(CompileError::Needs(facts)) => format!("{facts:?}"),
            other => panic!("{other:?}"),
        }
    };
    let table = [
        ("salt['cmd.run']('echo a; echo b')", "echo 'a;' echo b"),
        (
            "salt['cmd.run']('echo \"$HOME\" | cat')",
            "echo '$HOME' '|' cat",
        ),
        (
            "salt['cmd.run']('echo a; echo b', python_shell=True)",
            "\\necho a; echo b\"",
        ),
        ("salt['cmd.shell']('echo a; echo b')", "\\necho a; echo b\""),
    ];
    for (expression, expected) in table {
        let facts = asked(expression);
        assert!(facts.contains(expected), "{expression}: {facts}");
    }
}
