//! Security of secrets in messages and names: S4, errors and names of a task that read a secret.

use crate::support::{Run, TestEnv};

const SECRET: &str = "hush-7431-quietly";

/// Deploys an instance with a secret property `pw`, whose task has these settings.
fn deploy(implementation: &str) -> (TestEnv, Run) {
    let env = TestEnv::with_ensemble(&format!(
        "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    topology_template:
      node_templates:
        a:
          type: unfurl.nodes.Generic
          properties:
            pw: {{eval: {{sensitive: {{get_env: PWV}}}}}}
          interfaces:
            Standard:
              configure:
                {implementation}
"
    ));
    let env = env.variable("PWV", SECRET);
    let run = env.unfurl(["deploy", "--approve"]).does_not_panic();
    (env, run)
}

#[track_caller]
fn has_no_secret(env: &TestEnv, run: &Run, subject: &str) {
    assert!(!run.all().contains(SECRET), "{subject}: {run}");
    for (name, bytes) in env.files() {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(SECRET), "{subject}: {name}: {text}");
    }
}

/// V14, siblings: messages of a task that fails quote its values.
#[test]
fn s4_errors_of_a_task_show_no_secret() {
    let printing = "implementation: Shell\n                environment: {PW: {eval: .::pw}}\n                \
                    inputs: {command: 'printf %s \"$PW\"', resultTemplate: ";
    let mut cases: Vec<String> = [
        "{readyState: \"{{ stdout|trim }}\"}",
        "[{name: \"{{ stdout|trim }}\"}]",
        "[{name: \"{{ stdout|trim }}\", template: a}]",
        "[{name: b, template: a, parent: \"{{ stdout|trim }}\"}]",
        "{attributes: {k: \"{{ lookup(stdout) }}\"}}",
        "{attributes: {k: \"{{ SELF.pw | to_datetime }}\"}}",
        "{attributes: {k: \"{{ SELF.pw | int(base=SELF.pw) }}\"}}",
        "{attributes: {k: {eval: {file: {eval: .::pw}}, select: contents}}}",
        "{attributes: \"{{ {SELF.pw: 1} }}\"}",
        "{attributes: {k: \"{{ {SELF.pw: 1} }}\"}}",
        "[{name: \"{{ SELF.pw }}\", template: a}]",
    ]
    .iter()
    .map(|template| format!("{printing}{template}}}"))
    .collect();
    for settings in ["cwd: {eval: .::pw}", "shell: {eval: .::pw}"] {
        cases.push(format!(
            "implementation: Shell\n                inputs: {{command: echo, {settings}}}"
        ));
    }
    cases.push(
        "implementation: Shell\n                inputs: {command: {get_input: {eval: .::pw}}}"
            .to_owned(),
    );
    for case in cases {
        let (env, run) = deploy(&case);
        has_no_secret(&env, &run, &case);
        for command in [&["plan"][..], &["explain", "a"], &["status"], &["export"]] {
            has_no_secret(&env, &env.unfurl(command), &case);
        }
    }
}

/// S4: the keys of maps are names, which records show.
#[test]
fn s4_output_brings_no_secret_into_names() {
    for (command, template) in [
        (
            r#"printf "{\"token\": {\"tok-%s\": true}}" "$PW""#,
            "{attributes: \"{{ stdout | from_json }}\"}",
        ),
        (
            r#"printf "{\"%s\": 1}" "$PW""#,
            "{attributes: \"{{ stdout | from_json }}\"}",
        ),
        (
            r#"printf "{\"%s\": 1}" "$PW""#,
            "{attributes: {k: \"{{ stdout | from_json }}\"}}",
        ),
    ] {
        let (env, run) = deploy(&format!(
            "implementation: Shell\n                environment: {{PW: {{eval: .::pw}}}}\n                \
             inputs: {{command: '{command}', resultTemplate: {template}}}"
        ));
        has_no_secret(&env, &run, command);
    }
}

/// S4 and S17: control characters in a secret are removed from what a terminal shows.
#[test]
fn s4_control_characters_hide_no_secret() {
    for command in [
        "echo $PW | grep --color=always 7431",
        r#"printf "hush-\0007431-quietly\n""#,
        r#"printf "hush-\033[1m7431-quietly\n" >&2"#,
        r#"printf "hush-\3427431-quietly\n"; exit 1"#,
    ] {
        let (env, run) = deploy(&format!(
            "implementation: Shell\n                environment: {{PW: {{eval: .::pw}}}}\n                \
             inputs: {{shell: true, command: '{command}'}}"
        ));
        has_no_secret(&env, &run, command);
    }
}

/// V14: the snippet of a problem shows neither the secret that it is about nor one beside it.
#[test]
fn s4_snippets_show_no_literal_secret() {
    let ensemble = |properties: &str| {
        format!(
            "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  inputs: {{token: hush-7431-token, other: {{a: 1}}}}
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    node_types:
      T:
        derived_from: tosca.nodes.Root
        properties:
          pw: {{type: integer, metadata: {{sensitive: true}}}}
          text: {{type: string, metadata: {{sensitive: true}}}}
          port: {{type: integer}}
    topology_template:
      inputs: {{token: {{type: integer, sensitive: true}}, other: {{type: integer}}}}
      node_templates:
        a: {{type: T, properties: {{{properties}}}}}
"
        )
    };
    for properties in [
        "pw: hush-7431-quietly, text: x, port: 1",
        "pw: 1, text: hush-7431-quietly, port: wrong",
        "pw: 1, text: hush-7431-quietly, port: 1, unknown: y",
        "pw: 1, text: x, port: !sensitive hush-7431-quietly",
        "pw: [hush-7431-quietly], text: x, port: 1",
    ] {
        let env = TestEnv::with_ensemble(&ensemble(properties));
        for command in [
            "validate",
            "plan",
            "validate --output json",
            "validate ensemble.yaml",
        ] {
            let run = env.unfurl(command.split(' ')).does_not_panic();
            has_no_secret_of(&run, properties);
        }
    }
}

#[track_caller]
fn has_no_secret_of(run: &Run, subject: &str) {
    for secret in [SECRET, "hush-7431-token"] {
        assert!(!run.all().contains(secret), "{subject}: {run}");
    }
    assert!(!run.all().is_empty());
}

/// V14: messages about the arguments of functions show no secret.
#[test]
fn s4_messages_of_functions_show_no_secret() {
    for call in [
        "\"{{ lookup(SELF.pw, 'x') }}\"",
        "\"{{ lookup('file', SELF.pw) }}\"",
        "{get_input: {eval: .::pw}}",
        "{eval: {file: {eval: .::pw}}, select: contents}",
        "{eval: {lookup: {eval: .::pw}}}",
        "\"{{ SELF[SELF.pw] }}\"",
        "\"{{ SELF.pw | eval }}\"",
        "\"{{ (SELF.pw ~ '{') | from_json }}\"",
    ] {
        let (env, run) = deploy(&format!(
            "implementation: Shell\n                inputs: {{command: echo, x: {call}, resultTemplate: \
             {{attributes: {{k: {call}}}}}}}"
        ));
        has_no_secret(&env, &run, call);
        for command in [&["plan"][..], &["explain", "a"], &["status"], &["export"]] {
            has_no_secret(&env, &env.unfurl(command), call);
        }
    }
}

/// V14: a file that a template writes keeps the mark of its contents.
#[test]
fn s4_files_with_secrets_are_private() {
    let write = "\"{{ {'eval': {'file': 'kept.txt', 'contents': SELF.pw}} | eval }}\"";
    let (env, run) = deploy(&format!(
        "implementation: Template\n                inputs: {{run: {write}, done: {{status: ok}}}}"
    ));
    run.succeeds();
    let path = env.work().join("kept.txt");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), SECRET);
    let mode = std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
}

/// `--reveal` prints one output in clear, and only to the standard output.
#[test]
fn s4_an_output_is_revealed_on_request_and_never_logged() {
    let env = TestEnv::with_ensemble(
        "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    topology_template:
      outputs:
        password: {value: {eval: {sensitive: {get_env: PWV}}}}
        other: {value: {eval: {sensitive: {concat: [{get_env: PWV}, -other]}}}}
      node_templates: {}
",
    );
    let env = env.variable("PWV", SECRET);
    let run = env.unfurl([
        "deploy",
        "--approve",
        "--logfile",
        "all.log",
        "--reveal",
        "password",
    ]);
    let run = run.succeeds();
    assert!(
        run.stdout.contains(&format!("password: {SECRET}\n")),
        "{run}"
    );
    assert!(
        run.stdout.contains("other: <<REDACTED>>") && !run.stderr.contains(SECRET),
        "{run}"
    );
    for (name, bytes) in env.files() {
        assert!(!String::from_utf8_lossy(&bytes).contains(SECRET), "{name}");
    }
    let json = env.unfurl([
        "deploy",
        "--approve",
        "--output",
        "json",
        "--reveal",
        "other",
    ]);
    assert_eq!(json.json()["outputs"]["other"], format!("{SECRET}-other"));
    assert_eq!(json.json()["outputs"]["password"], "<<REDACTED>>");
    let run = env.unfurl(["status", "--reveal", "password"]).succeeds();
    assert_eq!(run.stdout, format!("{SECRET}\n"));
    let words = [
        "status", "--reveal", "password", "--reveal", "other", "--output", "json",
    ];
    let json = env.unfurl(words).json();
    assert_eq!(json["outputs"]["other"], format!("{SECRET}-other"));
    for command in ["status", "deploy"] {
        env.unfurl([command, "--reveal", "pasword"])
            .exits(2)
            .says(&[
                "the topology has no output `pasword`, which `--reveal` names",
                "did you mean `password`?",
            ]);
    }
}
