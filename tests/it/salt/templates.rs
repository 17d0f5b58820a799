//! Templates in state files: Salt's variables, tags, filters and functions.

use unfurl::testing::host::fact::{Fact, FactReading, ProbeOutput};
use unfurl::testing::states::{
    CompileError, CompileRequest, FactCache, RunOrdering, StateRenderer, StateTargets, compile,
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
    let template = "a:\n  test.nop:\n    - name: \"{{ sls }}|{{ slspath }}|{{ sls_path }}|{{ tpldir }}|{{ tplfile }}|{{ tplroot }}|{{ saltenv }}|{{ opts.id }}\"\n";
    assert_eq!(names(template), ["d.main|d|d|d|d/main.sls|d|base|web-1"]);
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
    let other = names("#!py\ndef run():\n");
    assert!(other[0].contains("unknown renderer `py`"), "{other:?}");
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
    assert_eq!(asked, ["/etc/x", "hostname"]);
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
