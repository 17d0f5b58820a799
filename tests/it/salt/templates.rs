//! Templates in state files: Salt's variables, tags, filters and functions.

use unfurl::testing::host::fact::{Fact, FactReading, ProbeOutput};
use unfurl::testing::states::{
    CompileError, CompilePurpose, CompileRequest, FactCache, RunOrdering, StateRenderer,
    StateTargets, compile,
};
use unfurl::testing::value::Value;

use super::trees::{machine, problems, tree};

/// Renders a template that writes a line for each state, and returns the names of the states.
fn names(template: &str) -> Vec<String> {
    names_with(template, &[])
}

fn names_with(template: &str, more: &[(&str, &str)]) -> Vec<String> {
    let mut files = vec![("d/main.sls", template)];
    files.extend_from_slice(more);
    let compiled = tree(machine(&files), &["d.main"], RunOrdering::Classic);
    let compiled = match compiled {
        Ok(compiled) => compiled,
        Err(CompileError::Needs(facts)) => return vec![format!("needs {facts:?}")],
        Err(CompileError::Problems(problems, _)) => {
            return problems
                .iter()
                .map(|problem| problem.message.clone())
                .collect();
        }
    };
    let chunks = compiled.low.chunks.iter();
    chunks.map(|chunk| chunk.name.to_string()).collect()
}

/// The value of an expression as text.
fn given(expression: &str) -> String {
    let template = format!("a:\n  test.nop:\n    - name: {{{{ ({expression}) | yaml_dquote }}}}\n");
    names(&template).join("; ")
}

#[test]
fn words_say_where_a_template_is() {
    let template = "a:\n  test.nop:\n    - name: \"{{ sls }}|{{ slspath }}|{{ sls_path }}|{{ tpldir }}|{{ tplfile }}|{{ saltenv }}|{{ opts.id }}\"\n";
    assert_eq!(names(template), ["d.main|d|d|d|d/main.sls|base|web-1"]);
}

#[test]
fn expressions_give_what_they_give_in_salt() {
    let table = [
        ("grains['os']", "Debian"),
        ("grains.get('nope', 'x')", "x"),
        ("salt['grains.get']('nested:a:b')", "deep"),
        ("salt.grains.get('nested:a:b')", "deep"),
        ("salt['pillar.get']('env', 'none')", "prod"),
        ("salt['pillar.get']('nope', 'none')", "none"),
        (
            "salt['config.get']('nodegroups:webs')",
            "web-* and G@os:Debian",
        ),
        ("salt['test.echo']('hi')", "hi"),
        (
            "salt['grains.filter_by']({'Debian': {'p': 1}, 'default': {'p': 2, 'q': 3}}, base='default')",
            "{'p': 1, 'q': 3}",
        ),
        (
            "salt['slsutil.merge']({'a': {'b': 1}}, {'a': {'c': 2}})",
            "{'a': {'b': 1, 'c': 2}}",
        ),
        ("[1, 'a'] | yaml", "[1, a]"),
        ("{'a': [1, 'yes']} | json", "{\"a\": [1, \"yes\"]}"),
        ("'yes' | to_bool", "True"),
        ("'web-12' | regex_search('(\\\\d+)')", "['12']"),
        ("'a b' | quote", "'a b'"),
        ("[1, 1, 2] | unique | list", "[1, 2]"),
        ("'x' | sequence", "['x']"),
        ("'{a: no}' | load_yaml", "{'a': False}"),
        ("'%s-%s' | format('a', 1)", "a-1"),
        ("'a,b'.split(',')", "['a', 'b']"),
        ("'a' ~ 1", "a1"),
        ("'x\\ty'", "x\ty"),
    ];
    for (expression, expected) in table {
        assert_eq!(given(expression), expected, "{expression}");
    }
}

#[test]
fn lists_and_maps_can_be_changed() {
    let template = "
{% set found = [] %}{% set map = {'a': 1} %}
{% for i in range(5) %}
{% if i == 3 %}{% break %}{% endif %}
{% if i == 1 %}{% continue %}{% endif %}
{% do found.append(i) %}
{% endfor %}
{% do map.update({'b': found}) %}
{% for key, value in map.items() %}
{{ key }}:
  test.nop:
    - name: \"{{ value }}\"
{% endfor %}
";
    assert_eq!(names(template), ["1", "[0, 2]"]);
}

#[test]
fn tags_of_salt_load_data() {
    let template = "
{% import_yaml 'd/defaults.yaml' as defaults %}
{%- load_yaml as own %}
x: {{ defaults.a }}
{% endload %}
{%- load_json as j %}[1, 2]{% endload %}
{%- from './map.jinja' import first with context %}
{%- import 'd/lib.jinja' as lib %}
a:
  test.nop:
    - name: \"{{ defaults.a }} {{ own.x }} {{ j[1] }} {{ first }} {{ lib.twice('z') }}\"
";
    let more = [
        ("d/defaults.yaml", "a: {{ 40 + 2 }}\n"),
        ("d/map.jinja", "{% set first = sls ~ '!' %}\n"),
        (
            "d/lib.jinja",
            "{% macro twice(x) %}{{ x }}{{ x }}{% endmacro %}\n",
        ),
    ];
    assert_eq!(names_with(template, &more), ["42 42 2 d.main! zz"]);
}

#[test]
fn renderers_are_chosen_by_the_first_line() {
    let yaml = "#!yaml\na:\n  test.nop:\n    - name: '{{ x }}'\n";
    assert_eq!(names(yaml), ["{{ x }}"]);
    let json = "#!jinja|json\n{\"a\": {\"test.nop\": [{\"name\": \"{{ sls }}\"}]}}\n";
    assert_eq!(names(json), ["d.main"]);
    let other = names("#!mako|yaml\na: test.nop\n");
    assert!(other[0].contains("unknown renderer `mako`"), "{other:?}");
    let program = names("#!py\ndef run():\n");
    assert!(program[0].contains("not in an ensemble"), "{program:?}");
}

#[test]
fn scalars_are_those_of_yaml_one_one() {
    let template = "a:\n  test.nop:\n    - on: yes\n    - mode: 0644\n    - time: 1:30\n    - day: 2001-12-14\n    - text: 'yes'\n";
    let compiled = tree(
        machine(&[("main.sls", template)]),
        &["main"],
        RunOrdering::Classic,
    )
    .unwrap();
    let args = Value::from(compiled.low.chunks[0].args.clone());
    assert_eq!(
        args.to_string(),
        "{'on': True, 'mode': 644, 'time': 90, 'day': '2001-12-14', 'text': 'yes'}"
    );
}

#[test]
fn what_is_asked_of_the_machine_becomes_facts() {
    let template = "
{% if salt['file.file_exists']('/etc/x') %}
a:
  test.nop:
    - name: {{ salt['cmd.run']('hostname') }}
{% endif %}
";
    let machine = machine(&[("main.sls", template)]);
    let renderer = StateRenderer::new(machine);
    let request = CompileRequest {
        targets: StateTargets::Sls(vec!["main".to_owned()]),
        ordering: RunOrdering::Classic,
        purpose: CompilePurpose::Show,
        exclude: Vec::new(),
    };
    let mut facts = FactCache::default();
    let mut asked = Vec::new();
    let compiled = loop {
        match compile(&request, &renderer, &facts) {
            Ok(compiled) => break compiled,
            Err(CompileError::Needs(needs)) => {
                for fact in needs {
                    let reading = match &fact {
                        Fact::Probe(probe) => {
                            asked.push(probe.text.clone());
                            let stdout = b"box\n".to_vec();
                            FactReading::Probe(ProbeOutput {
                                stdout,
                                ..ProbeOutput::default()
                            })
                        }
                        Fact::Target(path) => {
                            asked.push(path.clone());
                            FactReading::Entry(unfurl::testing::host::fact::FileStat {
                                kind: unfurl::testing::host::fact::FileKind::File,
                                mode: 0o644,
                                user: "root".to_owned(),
                                group: "root".to_owned(),
                                size: 0,
                                modified: 0,
                            })
                        }
                        other => panic!("{other:?}"),
                    };
                    facts.learn(fact, reading);
                }
            }
            Err(CompileError::Problems(problems, _)) => panic!("{problems:?}"),
        }
    };
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert_eq!(asked[0], "/etc/x");
    assert!(asked[1].ends_with("exec hostname"), "{asked:?}");
    assert_eq!(&*compiled.low.chunks[0].name, "box");
}

#[test]
fn an_error_in_a_template_is_reported_at_its_line() {
    let tell = |text: &str| {
        let files = [("main.sls", text), ("bad.jinja", "\n{{ nope }}\n")];
        problems(&files, &["main"], RunOrdering::Classic)
    };
    assert_eq!(
        tell("a:\n  test.nop:\n    - name: {{ nosuch }}\n"),
        "main.sls:3:5: rendering SLS `base:main` failed: 'nosuch' is undefined"
    );
    assert_eq!(
        tell("a: test.nop\n{% include 'bad.jinja' %}\n"),
        "bad.jinja:2:1: rendering SLS `base:main` failed: 'nope' is undefined"
    );
    let unknown = tell("{{ salt['zpool.list']() }}\n");
    assert!(
        unknown.contains("main.sls:1:1") && unknown.contains("cannot call `zpool.list`"),
        "{unknown}"
    );
    let near = tell("{{ salt['grains.gets']('x') }}\n");
    assert!(near.contains("grains.get"), "{near}");
    let rendered = tell("{% set x = 1 %}\na:\n  test.nop:\n   - name: {{ x }}\n  - b\n");
    assert!(rendered.starts_with("main.sls:5:"), "{rendered}");
}

#[test]
fn secrets_stay_secret_through_templates() {
    let template =
        "a:\n  test.nop:\n    - password: {{ pillar.pass }}\n    - other: {{ pillar.env }}\n";
    let compiled = tree(
        machine(&[("main.sls", template)]),
        &["main"],
        RunOrdering::Classic,
    )
    .unwrap();
    let shown = format!("{compiled:?} {}", compiled.show_low());
    assert!(!shown.contains("hush-hush"), "{shown}");
    let args = &compiled.low.chunks[0].args;
    assert!(args["password"].has_sensitive() && !args["other"].has_sensitive());
    assert_eq!(args["password"].as_str(), Some("hush-hush"));
}

/// Expressions and what Salt 3008 prints for them. The grains of the machine are those of `trees::machine`.
const SALT_ANSWERS: [(&str, &str); 37] = [
    ("'/a' | path_join('b', '/c')", "/a/b/c"),
    ("'a' | path_join('b')", "a/b"),
    ("'abc' | base64_encode", "YWJj"),
    ("'YWJj' | base64_decode", "abc"),
    ("'abc' | md5", "900150983cd24fb0d6963f7d28e17f72"),
    (
        "'abc' | hmac_compute('k')",
        "342e519ce0ad6c03a36b98eeb3f1d130db4813b9df4d1160eda488d712dc78ee",
    ),
    ("'abc' | hmac('k', 'q')", "False"),
    ("'192.0.2.1' | is_ip", "True"),
    ("'x' | is_ip", "False"),
    ("'::1' | is_ipv6", "True"),
    ("'::1' | is_ipv4", "False"),
    (
        "'192.0.2.0/30' | network_hosts",
        "['192.0.2.1', '192.0.2.2']",
    ),
    ("'192.0.2.0/24' | network_size", "256"),
    ("'::/120' | network_size", "256"),
    ("'::1' | ipwrap", "[::1]"),
    ("'192.0.2.1' | ipwrap", "192.0.2.1"),
    ("'a' | is_iter", "False"),
    ("1 | is_iter", "False"),
    (
        "{'a': 1} | compare_dicts({'a': 2})",
        "{'a': {'old': 1, 'new': 2}}",
    ),
    ("'a b' | contains_whitespace", "True"),
    ("'abc' | substring_in_list(['xabcx'])", "True"),
    ("'abc' | is_hex", "True"),
    ("'0xff' | is_hex", "True"),
    ("'camelCase' | to_snake_case", "camel_case"),
    ("'snake_case' | to_camelcase", "snakeCase"),
    ("'snake_case' | to_camelcase(uppercamel=True)", "SnakeCase"),
    ("salt['mine.get']('*', 'network.ip_addrs')", "{}"),
    ("salt['pkg.version_cmp']('1.2', '1.10')", "-1"),
    ("salt['pkg.version_cmp']('1:1', '2')", "1"),
    ("salt['pkg.version_cmp']('1~rc', '1')", "-1"),
    ("salt['pillar.fetch']('none:such')", ""),
    ("salt['match.list']('a,web-1')", "True"),
    ("salt['match.pcre']('we.*')", "True"),
    ("salt['match.compound']('web* and not L@db')", "True"),
    (
        "salt['hashutil.digest']('abc')",
        "900150983cd24fb0d6963f7d28e17f72",
    ),
    ("salt['hashutil.base64_b64decode']('YWJj')", "abc"),
    (
        "salt['slsutil.serialize']('json', {'b': [1, 2], 'a': None})",
        "{\"b\": [1, 2], \"a\": null}",
    ),
];

#[test]
fn functions_and_filters_give_the_recorded_answers_of_salt() {
    for (expression, answer) in SALT_ANSWERS {
        assert_eq!(given(expression), answer, "{expression}");
    }
}

#[test]
fn state_files_and_folders_of_the_tree_are_listed_as_in_salt() {
    let template = "{% for name in salt['cp.list_states']() + salt['cp.list_master_dirs']() %}\nn{{ loop.index }}:\n  test.nop:\n    - name: '{{ name }}'\n{% endfor %}\n";
    let files = [("e/init.sls", ""), ("e/f/g.sls", ""), ("e/h/text.conf", "")];
    assert_eq!(
        names_with(template, &files),
        ["d.main", "e", "e.f.g", "d", "e", "e/f", "e/h"]
    );
}
