//! Security of results: output of commands, facts and records are data and are never evaluated.

use serde_json::{Value as Json, json};

use crate::drafts::{ensemble, topology};
use crate::support::TestEnv;

const SECRET: &str = "hush-7431";

/// An ensemble whose node prints the file `said`, and stores the output by `update`.
fn printing(update: &str) -> TestEnv {
    let env = topology(
        "
            node_templates:
              db:
                type: unfurl.nodes.Default
                properties:
                  pw: {eval: {sensitive: hush-7431}}
              node:
                type: unfurl.nodes.Default
                interfaces:
                  Standard:
                    configure:
                      implementation: Shell
                      inputs:
                        command: cat said
                        resultTemplate:
                          <update>
            ",
    )
    .with("update", update)
    .env();
    env.write("secret.txt", SECRET);
    env
}

/// Deploys with the given output. The exit code does not matter.
fn deploy(env: &TestEnv, said: &str) -> String {
    env.write("said", said);
    env.unfurl(["deploy", "--approve"]).does_not_panic().all()
}

/// Reads an attribute of the node in another process.
fn read(env: &TestEnv, name: &str) -> Json {
    let path = format!("::node::{name}");
    let run = env.unfurl(["status", "--query", &path, "--output", "json"]);
    let all = run.json();
    all["result"].clone()
}

/// Checks that nothing was read, written or started that the output asked for.
fn assert_nothing_ran(env: &TestEnv, said: &str) {
    for (path, bytes) in env.files() {
        let text = String::from_utf8_lossy(&bytes);
        let is_own = |name: &str| std::path::Path::new(&path).ends_with(name);
        if is_own("work/secret.txt") || is_own("work/said") {
            continue;
        }
        let text = text.replace("{eval: {sensitive: hush-7431}}", "");
        assert!(
            !text.contains(SECRET),
            "{said:?} shows the secret in {path}:\n{text}"
        );
    }
    assert!(!env.work().join("made").exists(), "{said:?} made a file");
    assert!(!env.work().join("ran").exists(), "{said:?} ran a program");
}

/// Texts that read a file, read a secret, write a file or run a program if they are evaluated.
fn hostile_texts() -> Vec<String> {
    let texts = [
        "{{ lookup('file', 'secret.txt') }}",
        "a {{ lookup('file', 'secret.txt') }} b",
        "{{ '::db::pw' | eval }}",
        "{% if true %}{{ lookup('file', 'secret.txt') }}{% endif %}",
        "{{ {'eval': {'file': 'made', 'contents': 'x'}} | eval }}",
        "{{ lookup('pipe', 'touch ran') }}",
        "{% raw %}{{ lookup('file', 'secret.txt') }}{% endraw %}",
        "' | string }}{{ lookup('file', 'secret.txt') }}",
        "{{ '%7B' | urldecode | string }}{{ lookup('file', 'secret.txt') }}",
        "#jinja2: trim_blocks: true\n{{ lookup('file', 'secret.txt') }}",
        "['{{ lookup(\"file\", \"secret.txt\") }}']",
        "\\{{ lookup('file', 'secret.txt') }}\\",
    ];
    texts.map(str::to_owned).into()
}

/// V2, rows 2, 3 and 5, and what is persisted.
#[test]
fn s3_output_that_looks_like_a_template_stays_text_in_this_job_and_in_the_record() {
    let texts = hostile_texts();
    let env = printing(
        "{attributes: {all: '{{ stdout.split(\"&\") }}', b: 'x {{ stdout.split(\"&\")[0] }}', c: ['{{ stdout.split(\"&\")[3] }}', {d: '{{ stdout.split(\"&\")[1] | trim }}'}]}}",
    );
    let run = deploy(&env, &texts.join("&"));
    assert!(!run.contains(SECRET), "{run}");
    let check = || {
        assert_nothing_ran(&env, "a list of texts");
        assert_eq!(read(&env, "all"), json!(texts), "{run}");
        assert_eq!(read(&env, "b"), json!(format!("x {}", texts[0])), "{run}");
        assert_eq!(
            read(&env, "c"),
            json!([texts[3], { "d": texts[1] }]),
            "{run}"
        );
    };
    check();
    // The next job keeps the values and evaluates nothing either.
    env.unfurl(["check"]).does_not_panic();
    check();
    for text in &texts {
        let env = printing("{attributes: {a: '{{ stdout }}'}}");
        deploy(&env, text);
        if !text.starts_with('[') {
            assert_eq!(read(&env, "a"), json!(text), "{text}");
        }
        assert_nothing_ran(&env, text);
    }
}

/// V2, row 3: a later task quotes what a host printed.
#[test]
fn s3_a_later_task_gets_the_text_that_was_printed() {
    for said in [
        "{{ lookup('file', 'secret.txt') }}",
        "{{ '::db::pw' | eval }}",
    ] {
        let env = ensemble(
            "
            node_types:
              Said:
                derived_from: tosca.nodes.Root
                attributes: {name: {type: string}}
            topology_template:
              node_templates:
                db:
                  type: unfurl.nodes.Default
                  properties:
                    pw: {eval: {sensitive: hush-7431}}
                node:
                  type: Said
                  interfaces:
                    Standard:
                      create:
                        implementation: Shell
                        inputs:
                          command: cat said
                          resultTemplate: {attributes: {name: '{{ stdout | trim }}'}}
                      configure:
                        implementation: Shell
                        inputs:
                          shell: true
                          command: 'printf %s {{ SELF.name | quote }} > got'
                      start:
                        implementation: Delegate
                        inputs:
                          operation: Standard.delete
                          inputs:
                            shell: true
                            text: '{{ SELF.name }}'
                            more: {deep: '{{ SELF.name }}'}
                            command: 'printf %s {{ SELF.name | quote }}{{ SELF.name | quote }} > shown'
                      delete: {implementation: Shell, inputs: {command: 'true'}}
            ",
        )
        .env();
        env.write("secret.txt", SECRET);
        let run = deploy(&env, said);
        assert_eq!(env.read("got"), said, "{run}");
        assert_eq!(env.read("shown"), format!("{said}{said}"), "{run}");
        assert_nothing_ran(&env, said);
    }
}

/// V2, row 4.
#[test]
fn s3_parsed_output_that_is_an_expression_stays_a_map() {
    let env = printing(
        "{attributes: {a: '{{ stdout | from_json }}', b: {in: '{{ stdout | from_json }}'}}}",
    );
    let maps = [
        json!({"eval": {"file": "made", "contents": "x"}}),
        json!({"eval": {"lookup": {"file": "secret.txt"}}}),
        json!({"get_property": ["db", "pw"]}),
        json!({"concat": ["{{ lookup('file', 'secret.txt') }}", "x"]}),
        json!({"q": {"eval": "::db::pw"}}),
        json!({"deep": [{"eval": "::db::pw"}, "{{ '::db::pw' | eval }}", 1.5, null, true]}),
        json!({"+include": "secret.txt"}),
        json!({"+%": "replaceProps", "<<": {"a": 1}}),
        json!({"eval": "::db::pw", "vars": {"x": "{{ 1 }}"}}),
        json!({"{{ 1 }}": "é 'x' \\ \u{7} %7B"}),
    ];
    for map in maps {
        let run = deploy(&env, &map.to_string());
        assert_eq!(read(&env, "a"), map, "{run}");
        assert_eq!(read(&env, "b"), json!({ "in": map }), "{run}");
        assert_nothing_ran(&env, &map.to_string());
        env.unfurl(["validate"]).does_not_panic();
        let text = env.read("ensemble.yaml");
        let (model, _) = text.split_once("\nstatus:").unwrap();
        env.write("ensemble.yaml", &format!("{model}\n"));
        std::fs::remove_file(env.work().join("jobs.tsv")).ok();
    }
}

/// V2, row 1.
#[test]
fn s3_output_adds_no_structure_to_a_result_template() {
    let update = "|\n- name: SELF\n  attributes:\n    kernel: {{ stdout }}\n    port: 80\n";
    let pwn = "x\n- name: pwn\n  template: {type: unfurl.nodes.Default, interfaces: {Standard: {configure: {implementation: Shell, inputs: {command: touch ran}}}}}";
    let texts = [
        pwn,
        "x\n    port: 81",
        "{port: 1}",
        "x # y",
        "---\n- name: pwn",
        "&a [*a]",
        "!sensitive x",
        "\"x",
        "x: y",
        "{{ lookup('file', 'secret.txt') }}",
    ];
    let env = printing(update);
    for said in texts {
        let run = deploy(&env, said);
        assert_eq!(read(&env, "kernel"), json!(said), "{run}");
        assert_eq!(read(&env, "port"), json!(80), "{run}");
        let text = env.read("ensemble.yaml");
        let (model, status) = text.split_once("\nstatus:").unwrap();
        assert!(!status.contains("    pwn:"), "{run}\n{status}");
        assert_nothing_ran(&env, said);
        env.write("ensemble.yaml", &format!("{model}\n"));
        std::fs::remove_file(env.work().join("jobs.tsv")).ok();
    }
}

/// V2, row 1: output may give names, attributes and states, and nothing that selects code.
#[test]
#[expect(clippy::too_many_lines, reason = "a table of updates and messages")]
fn s3_output_selects_no_code() {
    let code = json!({"Standard": {"configure": {"implementation": "Shell", "inputs": {"command": "touch ran"}}}});
    let whole =
        json!([{"name": "pwn", "template": {"type": "unfurl.nodes.Default", "interfaces": code}}]);
    let cases = [
        (
            "'{{ stdout | from_json }}'",
            whole.to_string(),
            "`template` in `resultTemplate`",
        ),
        (
            "'{{ stdout | from_yaml }}'",
            whole.to_string(),
            "`template` in `resultTemplate`",
        ),
        (
            "{name: pwn, template: {type: unfurl.nodes.Default, interfaces: '{{ stdout | from_json }}'}}",
            code.to_string(),
            "`template` in `resultTemplate`",
        ),
        (
            "{name: pwn, template: {type: '{{ stdout | trim }}'}}",
            "unfurl.nodes.Default".to_owned(),
            "`template` in `resultTemplate`",
        ),
        (
            "|\n- name: pwn\n  template: {type: unfurl.nodes.Default, properties: {a: {{ stdout }}}}\n",
            "x".to_owned(),
            "`template` in `resultTemplate`",
        ),
        (
            "'{{ stdout }}'",
            "- name: pwn\n  template: node\n".to_owned(),
            "has no structure of its own",
        ),
        (
            "|\n- name: SELF\n  attributes:\n    {{ stdout | trim }}: 1\n",
            "a".to_owned(),
            "keys come from the template",
        ),
        (
            "{name: '{{ stdout }}', template: db}",
            "a/../b".to_owned(),
            "cannot be the name",
        ),
        (
            "{name: '{{ stdout }}', template: db}",
            "..".to_owned(),
            "cannot be the name",
        ),
        (
            "{name: '{{ stdout }}', template: db}",
            "a\u{b}b".to_owned(),
            "cannot be the name",
        ),
        (
            "{name: '{{ stdout }}', template: db}",
            "a\nb".to_owned(),
            "cannot be the name",
        ),
        (
            "{name: '{{ stdout }}', template: db}",
            "outer:inner".to_owned(),
            "cannot be the name",
        ),
        (
            "{name: new, template: '{{ stdout }}'}",
            "nope".to_owned(),
            "there is no template",
        ),
        (
            "{attributes: '{{ stdout | from_json }}'}",
            "{\"+include\": \"secret.txt\"}".to_owned(),
            "cannot be the name",
        ),
        (
            "{name: SELF, customized: '{{ stdout }}'}",
            "x".to_owned(),
            "`customized` in",
        ),
    ];
    for (update, said, told) in cases {
        let env = printing(update);
        let run = deploy(&env, &said);
        assert!(run.contains(told), "{update} {said:?}\n{run}");
        assert_nothing_ran(&env, &said);
        let text = env.read("ensemble.yaml");
        assert!(!text.contains("\n    pwn:"), "{run}\n{text}");
    }
}

/// The uses of output that stay allowed.
#[test]
fn s3_output_gives_names_attributes_and_states() {
    let env = printing(
        "|\n{% for line in stdout.splitlines() %}\n- name: {{ line.split('=')[0] }}\n  template: {{ 'db' }}\n  readyState: {{ line.split('=')[1] }}\n  attributes: {n: {{ loop.index }}, line: {{ line }}}\n{% endfor %}\n",
    );
    let run = deploy(&env, "one=ok\ntwo=degraded\n");
    let status = env.ensemble()["status"]["instances"].clone();
    for (name, ready, number) in [("one", "ok", 1), ("two", "degraded", 2)] {
        let found = &status[name];
        assert_eq!(found["template"], "db", "{run}");
        assert_eq!(found["readyState"]["local"], ready, "{run}");
        assert_eq!(found["attributes"]["n"], number, "{run}");
        assert_eq!(
            found["attributes"]["line"],
            format!("{name}={ready}"),
            "{run}"
        );
    }
}

/// Two harmless halves are no template together.
#[test]
fn s3_halves_of_a_template_stay_text_when_they_are_joined() {
    let env = ensemble(
        "
        node_types:
          Said:
            derived_from: tosca.nodes.Root
            attributes: {a: {type: string}, b: {type: string}}
            properties: {both: {type: string}, again: {type: string}, once_more: {type: string}}
        topology_template:
          node_templates:
            node:
              type: Said
              properties:
                both: '{{ SELF.a }}{{ SELF.b }}'
                again: {eval: {template: {concat: [{get_attribute: [SELF, a]}, {get_attribute: [SELF, b]}]}}}
                once_more: '{{ (SELF.a ~ SELF.b) | eval }}{{ (SELF.a ~ SELF.b) | map_value }}'
              interfaces:
                Standard:
                  create:
                    implementation: Shell
                    inputs:
                      shell: true
                      command: \"echo '{'; cat said\"
                      resultTemplate:
                        attributes:
                          a: '{{ stdout.splitlines()[0] }}'
                          b: '{{ stdout.splitlines()[1] }}'
                  configure:
                    implementation: Shell
                    inputs:
                      command: 'printf %s {{ SELF.both | quote }}'
                      resultTemplate: {attributes: {c: '{{ stdout }}'}}
        ",
    )
    .env();
    env.write("secret.txt", SECRET);
    let half = "{ lookup('file', 'secret.txt') }}";
    let run = deploy(&env, half);
    let whole = json!(format!("{{{half}"));
    assert_nothing_ran(&env, half);
    for name in ["both", "again", "c"] {
        assert_eq!(read(&env, name), whole, "{name}\n{run}");
    }
    let twice = json!(format!("{{{half}{{{half}"));
    assert_eq!(read(&env, "once_more"), twice, "{run}");
}

/// Values that nothing would evaluate are stored byte by byte as before.
#[test]
fn s3_harmless_output_is_recorded_as_it_is() {
    let env = printing(
        "{attributes: {text: '{{ stdout | trim }}', json: '{{ (stdout | from_json).json }}', number: '{{ (stdout | from_json).number }}', keep: '{{ stdout }}'}}",
    );
    let said = "{\"json\": {\"a\": [1, \"x: y\", null, 1.5], \"file\": \"f\", \"eval\": 1, \"other\": {}}, \"number\": 12}\n";
    let run = deploy(&env, said);
    let text = env.read("ensemble.yaml");
    let (_, attributes) = text
        .split_once("\n      attributes:\n")
        .unwrap_or_else(|| panic!("{run}\n{text}"));
    let (attributes, _) = attributes
        .split_once("\n      readyState")
        .unwrap_or((attributes, ""));
    let (attributes, _) = attributes.split_once("priority:").unwrap();
    insta::assert_snapshot!(attributes, @r#"
      text: '{"json": {"a": [1, "x: y", null, 1.5], "file": "f", "eval": 1, "other": {}}, "number": 12}'
      json:
        a:
        - 1
        - 'x: y'
        -
        - 1.5
        file: f
        eval: 1
        other: {}
      number: 12
      keep: |
        {"json": {"a": [1, "x: y", null, 1.5], "file": "f", "eval": 1, "other": {}}, "number": 12}
    "#);
}

/// Any text comes back from the record as the same literal, and reading it runs nothing.
#[test]
fn s3_any_text_comes_back_from_the_record_as_it_was_printed() {
    let pieces = [
        "{{",
        "}}",
        "{%",
        "%}",
        "{#",
        "#}",
        " ",
        "lookup('pipe', 'touch ran')",
        "'",
        "\"",
        "\\",
        "|",
        "eval",
        "é",
        "\n",
        "\t",
        "+",
        "%7B",
        "{% raw %}",
        "{% endraw %}",
        ": ",
        "- ",
        "#",
        "1",
        "\u{85}",
        "\u{2028}",
        "\r",
        "<<REDACTED",
        "&",
        "*",
        "!",
    ];
    let mut seed: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut next = |most: usize| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % most
    };
    let texts: serde_json::Map<String, Json> = (0..400)
        .map(|number| {
            let text: String = (0..next(9)).map(|_| pieces[next(pieces.len())]).collect();
            (format!("t{number}"), Json::from(text))
        })
        .collect();
    let texts = Json::from(texts);
    let env = printing("{attributes: {all: '{{ stdout | from_json }}'}}");
    // A control character that stands in the output itself is removed before it becomes a value.
    let said = texts.to_string().replace('\u{85}', "\\u0085");
    let run = deploy(&env, &said);
    for _ in 0..2 {
        assert_eq!(read(&env, "all"), texts, "{run}");
        env.unfurl(["check"]).does_not_panic();
        assert_nothing_ran(&env, "random texts");
    }
}

/// Quoted values of other programs, and expressions of an author, are read as before.
#[test]
fn s3_expressions_that_an_author_recorded_are_evaluated() {
    let env = printing("{attributes: {a: '{{ stdout | trim }}'}}");
    deploy(&env, "first");
    let text = env.read("ensemble.yaml");
    let more = "a: first\n        b: {eval: .name}\n        c: '{{ 1 + 1 }}'\n        d: {q: '{{ x }}'}\n        e: {eval: {q: {eval: .name}}}\n        f: {eval: {scalar: plain}}";
    env.write("ensemble.yaml", &text.replace("a: first", more));
    let expected = [
        ("b", json!("node")),
        ("c", json!(2)),
        ("d", json!("{{ x }}")),
        ("e", json!({"eval": ".name"})),
    ];
    for (name, value) in expected {
        assert_eq!(read(&env, name), value, "{name}");
    }
}

/// A job that was cut off: its journal and the recovered record keep the text.
#[test]
fn s3_a_recovered_record_keeps_output_as_text() {
    let said = "{{ lookup('file', 'secret.txt') }}";
    let env = topology(
        "
            node_templates:
              node:
                type: unfurl.nodes.Default
                interfaces:
                  Standard:
                    create:
                      implementation: Shell
                      inputs:
                        command: cat said
                        resultTemplate: {attributes: {a: '{{ stdout }}'}}
                    configure:
                      implementation: Shell
                      inputs: {command: 'echo 1 > begun; exec sleep 5', shell: true}
            ",
    )
    .env();
    env.write("secret.txt", SECRET);
    env.write("said", said);
    let job = env.start(["deploy", "--approve"]);
    env.wait_for("begun");
    job.signal(nix::sys::signal::Signal::SIGKILL);
    job.ends();
    let run = env.unfurl(["recover"]);
    assert_eq!(read(&env, "a"), json!(said), "{run}");
    assert_nothing_ran(&env, said);
}

/// The flag restores the behaviour of Unfurl; trust in the project does not.
#[test]
fn s3_only_the_flag_evaluates_results() {
    let said = "{{ lookup('file', 'secret.txt') }}";
    let env = printing("{attributes: {a: '{{ stdout | trim }}'}}");
    env.write("said", said);
    let trust = format!("trusted: [{}]\n", env.work().display());
    env.write(
        "../home/.unfurl_home/unfurl.yaml",
        &format!("apiVersion: unfurl/v1alpha1\nkind: Project\n{trust}"),
    );
    env.unfurl(["deploy", "--approve"]).does_not_panic();
    assert_eq!(read(&env, "a"), json!(said));
    let env = printing("{attributes: {a: '{{ stdout | trim }}'}}");
    env.write("said", said);
    let run = env.unfurl(["deploy", "--approve", "--allow", "evaluate-results"]);
    let all = env.unfurl([
        "status",
        "--query",
        "::node::a",
        "--allow",
        "evaluate-results",
        "--output",
        "json",
    ]);
    assert_eq!(all.json()["result"], json!(SECRET), "{run}");
}
