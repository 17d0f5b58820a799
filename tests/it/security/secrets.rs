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
