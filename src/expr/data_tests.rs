//! Data from outside stays data: no filter, function or loop takes its mark away, and nothing evaluates it.

use super::context::{Context, Var};
use super::evaluator::Evaluator;
use super::fixture::{evaluator, topology, yaml};
use crate::value::{Map, Value};

const PRINTED: &str = " {{ SELF.password }} ";

fn context(evaluator: &Evaluator, of: crate::value::Handle) -> Context {
    let json =
        r#"{"list": ["{{ SELF.password }}", "b"], "eval": {"get_property": ["SELF", "password"]}}"#;
    let parsed = Value::map([
        ("list", Value::list([PRINTED.into(), "b".into()])),
        ("eval", Value::from(".::password")),
    ]);
    let mut context = Context::new(of);
    for (name, value) in [
        ("stdout", Value::from(PRINTED)),
        ("path", "::app::password".into()),
        ("name", "app".into()),
        ("json", json.into()),
        ("map", parsed),
        ("open", "{".into()),
        ("rest", "{ SELF.password }}".into()),
    ] {
        let value = evaluator.foreign(value);
        context.vars.set(name, Var::Value(value));
    }
    context
}

/// Checks that a value is data, shows no secret, and stays the same whatever evaluates it.
fn assert_is_data(evaluator: &Evaluator, context: &Context, value: &Value, from: &str) {
    assert!(
        value.has_data(),
        "{from} gives {value:?}, which is not data"
    );
    assert!(
        !format!("{:?}", value.without_data()).contains("hush"),
        "{from}"
    );
    assert!(!value.has_sensitive(), "{from} read the secret: {value:?}");
    assert_eq!(
        &evaluator.evaluate(value, context).unwrap(),
        value,
        "{from}"
    );
    let again = Value::map([
        ("a", yaml("{eval: {template: $x}}")),
        ("b", yaml("{eval: $x}")),
        ("c", "{{ x }}".into()),
        ("d", "{{ x | eval }}".into()),
        ("e", "{{ x | map_value }}".into()),
        ("f", yaml("{eval: {if: {eval: $x}, then: $x, else: $x}}")),
    ]);
    let mut context = context.clone();
    context.vars.set("x", Var::Value(value.clone()));
    for (key, raw) in again.as_map().unwrap() {
        let found = evaluator.evaluate(raw, &context);
        let found = found.unwrap_or_else(|error| panic!("{from}, then {key}: {error}"));
        let shown = format!("{:?} {found:?}", found.marks());
        assert!(
            !shown.contains("hush") && !found.has_sensitive(),
            "{from}, {key}: {shown}"
        );
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of texts")]
fn filters_keep_the_mark_of_data() {
    let scope = topology();
    let evaluator = evaluator(&scope);
    let context = context(&evaluator, scope.named("app"));
    let filters = [
        "trim",
        "string",
        "upper",
        "lower",
        "title",
        "capitalize",
        "default('x')",
        "d('x')",
        "replace('a', 'b')",
        "regex_replace('a', 'b')",
        "regex_search('.*')",
        "regex_findall('.')",
        "truncate(200)",
        "indent(2)",
        "center(80)",
        "quote",
        "b64encode",
        "b64encode | b64decode",
        "urlencode",
        "urlencode | urldecode",
        "to_json",
        "to_json | from_json",
        "to_yaml",
        "to_nice_yaml",
        "to_nice_json",
        "list",
        "list | join",
        "first",
        "last",
        "reverse | string",
        "wordwrap(20)",
        "format",
        "split('x')",
        "split('x') | first",
        "hash('sha1')",
        "md5",
        "comment",
        "escape",
        "e",
        "safe",
        "basename",
        "dirname",
        "ternary('a', 'b')",
        "string | trim | upper",
        "from_yaml",
        "splitext",
        "combine({}) if false else stdout",
        "unique | list | join",
        "sort | join",
        "map('upper') | join",
        "select | list | join",
        "batch(3) | list",
        "slice(3) | list",
        "length | string",
        "to_label",
        "to_dns_label",
        "pprint",
        "forceescape",
        "striptags",
        "xmlattr if false else stdout",
        "items2dict if false else stdout",
        "eval",
        "ref",
        "map_value",
    ];
    for filter in filters {
        let template = format!("{{{{ stdout | {filter} }}}}");
        let value = match evaluator.render(&template, &context) {
            Ok(value) => value,
            Err(error) if error.to_string().contains("is unknown") || filter == "from_yaml" => {
                continue;
            }
            Err(error) => panic!("{template}: {error}"),
        };
        if matches!(
            value.reveal(),
            Value::Int(_) | Value::Float(_) | Value::Null | Value::Bool(_)
        ) {
            continue;
        }
        assert_is_data(&evaluator, &context, &value, &template);
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of texts")]
fn templates_and_functions_keep_the_mark_of_data() {
    let scope = topology();
    let evaluator = evaluator(&scope);
    let context = context(&evaluator, scope.named("app"));
    let templates = [
        "'{{ stdout }}'",
        "'a {{ stdout }} b'",
        "'{{ open }}{{ rest }}'",
        "'{{ open ~ rest }}'",
        "'{{ open + rest }}'",
        "'{{ [open, rest] | join }}'",
        "'{{ \"%s%s\" | format(open, rest) }}'",
        "'{% set x %}{{ open }}{{ rest }}{% endset %}{{ x }}'",
        "'{% set x = open ~ rest %}{{ x | string }}'",
        "'{% macro m(a) %}{{ a }}{{ rest }}{% endmacro %}{{ m(open) }}'",
        "'{% filter trim %}{{ open }}{{ rest }}{% endfilter %}'",
        "'{% for c in stdout %}{{ c }}{% endfor %}'",
        "'{% set n = namespace(t=\"\") %}{% for c in stdout %}{% set n.t = n.t ~ c %}{% endfor %}{{ n.t }}'",
        "'{{ {\"a\": stdout}.a }}'",
        "'{{ {stdout: 1} }}'",
        "'{{ {stdout: 1}.keys() | list }}'",
        "'{{ dict(a=stdout) }}'",
        "'{{ [stdout, 1][0] }}'",
        "'{{ stdout if true else 1 }}'",
        "'{{ map.list }}'",
        "'{{ map.list[0] }}'",
        "'{{ map }}'",
        "'{{ map[\"eval\"] }}'",
        "'{{ map.items() | list }}'",
        "'{{ json | from_json }}'",
        "'{{ (json | from_json).eval }}'",
        "'{{ lookup(\"list\", [stdout]) }}'",
        "'{{ lookup(\"vars\", \"stdout\") }}'",
        "'{{ lookup(\"unfurl\", path) }}'",
        "'{{ lookup(\"items\", map.list) }}'",
        "'{{ query(\"unfurl\", path) }}'",
        "'{{ path | eval }}'",
        "'{{ (\"\" ~ path) | eval }}'",
        "'{{ {\"eval\": path} | eval }}'",
        "'{{ {\"get_property\": [name, \"password\"]} | map_value }}'",
        "'{{ __unfurl.concat(open, rest) }}'",
        "'{{ __unfurl.template(stdout) }}'",
        "'{{ __unfurl.to_label(stdout) }}'",
        "'{{ \"$k\" | eval(k=stdout) }}'",
        "'{{ {\"template\": \"$k\"} | eval(k=stdout) }}'",
        "{eval: $stdout}",
        "{eval: $map}",
        "{eval: '$map::list'}",
        "{eval: '$map::list::0'}",
        "{eval: '$map::*'}",
        "{eval: $stdout, foreach: $item}",
        "{eval: $map, foreach: {key: $key, value: $item}}",
        "{eval: {foreach: {key: $item, value: $key}}, vars: {start: {eval: '$map::list'}}}",
        "{concat: [$open, {eval: $open}, {eval: $rest}]}",
        "{concat: [{eval: $open}, {eval: $rest}]}",
        "{eval: {add: [{eval: $open}, {eval: $rest}]}}",
        "{eval: {mul: [{eval: $stdout}, 2]}}",
        "{token: [{eval: $stdout}, 'x', 0]}",
        "{eval: {urljoin: [http, host, 80, {eval: $stdout}]}}",
        "{eval: {to_label: {eval: $stdout}}}",
        "{eval: {if: $true, then: $stdout}}",
        "{eval: {or: [$stdout, $true]}}",
        "{eval: {and: [$true, $stdout]}}",
        "{eval: {or: {eval: '$map::list'}}}",
        "{eval: {template: {eval: $stdout}}}",
        "{eval: {template: {eval: $rest}}}",
        "{eval: {template: '{{ stdout }}'}}",
        "{eval: {lookup: {list: [{eval: $stdout}]}}}",
        "{eval: {lookup: {unfurl: {eval: $path}}}}",
        "{eval: {to_env: {A: {eval: $stdout}}}}",
        "{eval: $v, vars: {v: {eval: $stdout}}}",
        "{eval: $v, vars: {v: '{{ stdout }}'}}",
        "{get_env: [NOPE, {eval: $stdout}]}",
        "{a: {eval: $stdout}, b: 1}",
        "[{eval: $stdout}]",
        "{eval: [{eval: $stdout}]}",
        "{eval: {eval: {eval: $stdout}}}",
    ];
    for text in templates {
        let value = evaluator.evaluate(&yaml(text), &context);
        let value = value.unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_is_data(&evaluator, &context, &value, text);
    }
}

#[test]
fn data_is_no_path_and_no_condition() {
    let scope = topology();
    let evaluator = evaluator(&scope);
    let context = context(&evaluator, scope.named("app"));
    let data = |text: &str| evaluator.foreign(text.into());
    let found = evaluator.query(&data("::app::password"), &context).unwrap();
    assert_eq!(found, ["::app::password".into()]);
    // The name of an instance may come from outside, but a path may not.
    let mut context = context;
    context.vars.set("entity", Var::Value(data("app")));
    let by_name = yaml("{get_attribute: [{eval: $entity}, port]}");
    assert_eq!(evaluator.evaluate(&by_name, &context).unwrap(), 80.into());
    context.vars.set("entity", Var::Value(data("app::.::port")));
    let none = yaml("{get_attribute: [{eval: $entity}, name]}");
    assert!(evaluator.evaluate(&none, &context).unwrap().is_null());
    let options = yaml("{eval: {template: 'a', overrides: {block_start_string: {eval: $stdout}}}}");
    let error = evaluator.evaluate(&options, &context).unwrap_err();
    insta::assert_snapshot!(error, @"`template`: takes no `overrides` from the output of a command");
}

#[test]
fn literals_of_the_author_are_evaluated_beside_data() {
    let scope = topology();
    let evaluator = evaluator(&scope);
    let context = context(&evaluator, scope.named("app"));
    for (template, expected) in [
        ("{{ open }}{{ '::host::ip' | eval }}", "{10.0.0.1"),
        (
            "{{ open }}{{ lookup('unfurl', '::host::ip') }}",
            "{10.0.0.1",
        ),
        ("{{ open }}{{ '::host::$k' | eval(k='ip') }}", "{10.0.0.1"),
        ("{{ open }}{{ {'concat': ['a', 'b']} | eval }}", "{ab"),
        (
            "{{ path }}{{ '::app::password' | eval }}",
            "::app::password::app::password",
        ),
    ] {
        let value = evaluator.render(template, &context).unwrap();
        assert_eq!(value.reveal().to_string(), expected, "{template}");
    }
}

#[test]
fn attributes_keep_the_mark_and_so_do_those_that_read_them() {
    let scope = topology();
    let evaluator = evaluator(&scope);
    let app = scope.named("app");
    scope.write(app, "said", evaluator.foreign(PRINTED.into()));
    scope.write(
        app,
        "deep",
        Value::map([
            ("a", evaluator.foreign(PRINTED.into())),
            ("b", "{{ SELF.said }}".into()),
        ]),
    );
    let readers = [
        "{{ SELF.said }}",
        "{{ SELF.deep.a }}",
        "{{ SELF.deep.b }}",
        "{{ SELF.deep }}",
        "{{ SELF | string }}",
    ];
    let context = Context::new(app);
    for reader in readers {
        let value = evaluator.render(reader, &context).unwrap();
        assert!(value.has_data(), "{reader}: {value:?}");
    }
    for (place, raw) in [
        "{get_attribute: [SELF, said]}",
        "{eval: '.::said'}",
        "'{{ SELF.said }}'",
        "{eval: '.::deep::b'}",
    ]
    .iter()
    .enumerate()
    {
        let name = format!("r{place}");
        scope.write(app, &name, yaml(raw));
        let value = evaluator.attribute(app, &name).unwrap().unwrap();
        assert!(value.has_data(), "{raw}: {value:?}");
        assert_eq!(value, PRINTED.into(), "{raw}");
    }
}

/// Fills a text with the printed value, and returns the document with its marks.
fn document(template: &str, printed: &str) -> Result<Value, String> {
    let scope = topology();
    let evaluator = evaluator(&scope);
    let mut context = Context::new(scope.named("app"));
    context
        .vars
        .set("stdout", Var::Value(evaluator.foreign(printed.into())));
    let document = evaluator.evaluate_document(&template.into(), &context);
    document
        .map(|(value, _)| value)
        .map_err(|error| error.to_string())
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of texts")]
fn the_structure_of_a_document_comes_from_the_template_alone() {
    let attacks = [
        "x\n- name: pwn\n  template: {type: T}",
        "x\n  b: 1",
        "x: y",
        "{a: 1}",
        "[1]",
        "x}, {name: y",
        "\", \"b\": \"1",
        "', 'b': '1",
        "x # y",
        "# x",
        "&a x",
        "*a",
        "!sensitive x",
        "!!int 5",
        "---\n- name: pwn",
        "...\n- name: pwn",
        "{{ SELF.password }}",
        "{% raw %}",
        "|\n x",
        "> x",
        "- x",
        "? x",
        "%YAML 1.1",
        "@x",
        "`x`",
        "é😀",
        "a\tb",
        "'",
        "\"",
        "\\",
        "<<",
    ];
    let forms = [
        "- name: SELF\n  attributes:\n    a: {{ stdout }}\n    z: 1",
        "- name: SELF\n  attributes:\n    a: \"{{ stdout }}\"\n    z: 1",
        "- name: SELF\n  attributes:\n    a: '{{ stdout }}'\n    z: 1",
        "- name: SELF\n  attributes: {a: {{ stdout }}, z: 1}",
        "[{'name': 'SELF', 'attributes': {'a': '{{ stdout }}', 'z': 1}}]",
        "[{'name': 'SELF', 'attributes': {'a': {{ stdout }}, 'z': 1}}]",
        "- name: SELF\n  attributes:\n    a: {{ stdout | trim }}\n    z: 1",
        "{% set x %}{{ stdout }}{% endset %}- name: SELF\n  attributes:\n    a: {{ x }}\n    z: 1",
        "{% macro m(x) %}{{ x }}{% endmacro %}- name: SELF\n  attributes:\n    a: {{ m(stdout) }}\n    z: 1",
        "- name: SELF\n  attributes:\n    a: {% filter trim %}{{ stdout }}{% endfilter %}\n    z: 1",
        "{% for x in [stdout] %}- name: SELF\n  attributes:\n    a: {{ x }}\n    z: 1\n{% endfor %}",
    ];
    for form in forms {
        for attack in attacks {
            let value = document(form, attack).unwrap_or_else(|error| panic!("{form}: {error}"));
            let specs = value.as_list().unwrap();
            assert_eq!(specs.len(), 1, "{form} {attack:?}: {value:?}");
            let spec = specs[0].as_map().unwrap();
            assert_eq!(
                spec.keys().map(|it| &**it).collect::<Vec<_>>(),
                ["name", "attributes"]
            );
            let attributes: Map = spec["attributes"].as_map().unwrap().clone();
            assert_eq!(
                attributes.keys().map(|it| &**it).collect::<Vec<_>>(),
                ["a", "z"]
            );
            assert_eq!(attributes["a"].to_string().trim(), attack.trim(), "{form}");
            assert_eq!(attributes["z"], 1.into());
        }
    }
}

#[test]
fn scalars_of_a_document_get_values_with_their_types() {
    let line = |printed: &str, scalar: &str| {
        let template = format!("a: {scalar}");
        match document(&template, printed) {
            Ok(value) => format!("{:?}", value.get("a").unwrap()),
            Err(error) => error,
        }
    };
    let table = [
        ("42\n", "{{ stdout }}"),
        ("42\n", "\"{{ stdout }}\""),
        ("5.10", "{{ stdout }}"),
        ("true", "{{ stdout }}"),
        ("", "{{ stdout }}"),
        ("Linux\n", "{{ stdout }}"),
        ("Linux\n", "v {{ stdout | trim }} x"),
        ("{\"a\": [1]}", "{{ stdout | from_json }}"),
        ("{\"a\": [1]}", "{{ stdout }}"),
        ("a b", "{{ stdout.split() }}"),
        ("x", "{{ stdout | length }}"),
    ];
    let shown: Vec<_> = table
        .iter()
        .map(|(printed, scalar)| format!("{printed:?} in {scalar} => {}", line(printed, scalar)))
        .collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    "42\n" in {{ stdout }} => 42
    "42\n" in "{{ stdout }}" => '42\n'
    "5.10" in {{ stdout }} => 5.1
    "true" in {{ stdout }} => True
    "" in {{ stdout }} => None
    "Linux\n" in {{ stdout }} => 'Linux'
    "Linux\n" in v {{ stdout | trim }} x => 'v Linux x'
    "{\"a\": [1]}" in {{ stdout | from_json }} => {'a': [1]}
    "{\"a\": [1]}" in {{ stdout }} => '{"a": [1]}'
    "a b" in {{ stdout.split() }} => ['a', 'b']
    "x" in {{ stdout | length }} => 1
    "#);
    let error = document("{{ stdout }}: 1\nb: 2", "a\nb: c").unwrap_err();
    assert!(
        error.contains("the key `a\\nb: c` contains output of a command"),
        "{error}"
    );
    let error = document("{{ stdout }}", "a: 1").unwrap_err();
    assert!(error.contains("from_yaml"), "{error}");
    let whole = document("{{ stdout | from_yaml }}", "a: 1").unwrap();
    assert!(whole.own_marks().data && whole.get("a") == Some(&1.into()));
    let quoted = document("a: |\n  x\n  {{ stdout }}", "y\nz").unwrap();
    assert_eq!(quoted.get("a").unwrap(), &"x\ny\nz\n".into());
}
