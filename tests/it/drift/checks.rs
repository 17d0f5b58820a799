//! What each configurator can say about drift, and what a repair runs.

use super::{drift, finding, findings};
use crate::support::TestEnv;

fn ensemble(nodes: &str) -> TestEnv {
    TestEnv::with_ensemble(&format!(
        "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    interface_types:
      Maintenance:
        derived_from: tosca.interfaces.Root
        operations: {{repair: {{}}}}
    node_types:
      Conf:
        derived_from: tosca.nodes.Root
        properties:
          greeting: {{type: string}}
    topology_template:
      inputs:
        greeting: {{type: string, default: hello}}
      node_templates:
{nodes}"
    ))
}

const CONF: &str = r#"
        conf:
          type: Conf
          properties:
            greeting: {get_input: greeting}
          interfaces:
            Standard:
              operations:
                configure:
                  implementation: Template
                  inputs:
                    run:
                      eval:
                        file: out/conf.txt
                        contents: "first\n{{ SELF.greeting }}\nlast"
"#;

const OTHERS: &str = "
        plain:
          type: tosca:Root
          interfaces:
            Standard: {operations: {configure: echo made}}
        passed:
          type: tosca:Root
          interfaces:
            Standard:
              operations:
                configure:
                  implementation: Delegate
                  inputs: {operation: Standard.configure, target: conf}
        checked:
          type: tosca:Root
          interfaces:
            Standard: {operations: {configure: touch made}}
            Install:
              operations:
                check:
                  implementation: Shell
                  inputs:
                    command: test -e made
                    resultTemplate:
                      readyState: \"{{ 'ok' if success else 'error' }}\"
";

/// The path of a rendered file as findings have it: from the folder of the ensemble, so that it is the same in each clone.
const CONF_FILE: &str = "out/conf.txt";

#[test]
fn a_rendered_file_is_compared_and_an_operation_without_a_check_is_counted() {
    let env = ensemble(&(CONF.to_owned() + OTHERS));
    env.unfurl(["deploy", "--approve"]).succeeds();
    let (code, document) = drift(&env, &[]);
    assert_eq!(code, 1, "{document:#}");
    assert_eq!(findings(&document), ["cannot-tell plain status: - → -"]);
    let reason = finding(&document, "status")["reason"].as_str().unwrap();
    assert_eq!(
        reason,
        "no check operation, and `Standard.configure` cannot be compared"
    );
    let counts = |document: &serde_json::Value| {
        let ensemble = &document["ensembles"][0];
        (ensemble["looked_at"].as_u64(), ensemble["total"].as_u64())
    };
    assert_eq!(counts(&document), (Some(2), Some(3)));

    env.write("out/conf.txt", "first\nby hand\nlast");
    std::fs::remove_file(env.work().join("made")).unwrap();
    let (code, document) = drift(&env, &[]);
    assert_eq!(code, 3, "{document:#}");
    let file = finding(&document, CONF_FILE);
    assert_eq!(
        (&file["kind"], &file["to"]),
        (&"outside".into(), &"changed".into())
    );
    let lines = file["lines"].as_str().unwrap();
    assert!(lines.contains("-by hand\n+hello\n"), "{lines}");
    assert!(findings(&document).contains(&"outside checked status: ok → error".to_owned()));

    env.unfurl(["drift", "--repair", "--approve"]).exits(1);
    assert_eq!(env.read("out/conf.txt"), "first\nhello\nlast");
    let (code, document) = drift(&env, &["-i", "conf", "-i", "checked"]);
    assert_eq!((code, findings(&document)), (0, Vec::new()));
}

#[test]
fn a_changed_value_is_pending_and_raises_no_alarm() {
    let env = ensemble(CONF);
    env.unfurl(["deploy", "--approve"]).succeeds();
    let words = ["--var", "input_greeting", "bye"];
    let (code, document) = drift(&env, &words);
    assert_eq!(code, 0, "{document:#}");
    let file = format!("pending conf {CONF_FILE}: as written → changed");
    assert_eq!(
        findings(&document),
        [file, "pending conf greeting: hello → bye".to_owned()]
    );
}

#[test]
fn an_instance_without_a_template_is_unmanaged() {
    let env = ensemble(&(CONF.to_owned() + OTHERS));
    env.unfurl(["deploy", "--approve"]).succeeds();
    let text = env.read("ensemble.yaml");
    let (start, end) = (
        text.find("        plain:").unwrap(),
        text.find("        passed:").unwrap(),
    );
    env.write("ensemble.yaml", &(text[..start].to_owned() + &text[end..]));
    let (code, document) = drift(&env, &[]);
    assert_eq!(code, 0, "{document:#}");
    assert_eq!(findings(&document), ["unmanaged plain status: - → -"]);
    let reason = finding(&document, "status")["reason"].as_str().unwrap();
    assert_eq!(reason, "the model has no template `plain`");
}

/// An instance whose check says what the file `state` says.
fn repairable(repair: &str) -> String {
    format!(
        "
        server:
          type: tosca:Root
          interfaces:
            Standard:
              operations:
                create: echo create >> ran
                configure: echo configure >> ran; echo ok > state
                start: echo start >> ran
{repair}
            Install:
              operations:
                check:
                  implementation: Shell
                  inputs:
                    command: cat state
                    resultTemplate:
                      readyState: \"{{{{ stdout | trim }}}}\"
"
    )
}

#[test]
fn a_degraded_instance_is_repaired_by_its_repair_operation_or_else_configured() {
    let own = "            Maintenance: {type: Maintenance, operations: {repair: \"echo repair >> ran; echo ok > state\"}}";
    for (repair, expected) in [("", "configure\n"), (own, "repair\n")] {
        let env = ensemble(&repairable(repair));
        env.unfurl(["deploy", "--approve"]).succeeds();
        env.write("ran", "");
        env.write("state", "degraded\n");
        env.unfurl(["check"]).succeeds();
        env.unfurl(["check", "--jobexitcode", "degraded"]).exits(64);
        env.unfurl(["deploy", "--approve"]).succeeds();
        assert_eq!(env.read("ran"), "", "a deploy alone repairs nothing");
        env.unfurl(["deploy", "--approve", "--repair", "degraded"])
            .succeeds();
        assert_eq!(env.read("ran"), expected);
        assert_eq!(drift(&env, &[]).0, 0);
        // The same through `drift`, which needs no recorded check.
        env.write("ran", "");
        env.write("state", "degraded\n");
        assert_eq!(drift(&env, &[]).0, 3);
        env.unfurl(["drift", "--repair", "--approve"]).succeeds();
        assert_eq!(env.read("ran"), expected);
    }
}

#[test]
fn a_check_gives_the_same_answer_each_time() {
    let env = ensemble(&repairable(""));
    env.unfurl(["deploy", "--approve"]).succeeds();
    for (state, code) in [("error", 64), ("degraded", 0)] {
        env.write("state", state);
        for _ in 0..5 {
            let run = env.unfurl(["check"]).exits(code);
            let expected = match code {
                0 => "1 degraded",
                _ => "1 in error",
            };
            assert!(run.all().contains(expected), "{run}");
            assert_eq!(drift(&env, &[]).0, 3);
        }
    }
    env.write("state", "error");
    env.unfurl(["check", "--jobexitcode", "never"]).succeeds();
}

#[test]
fn the_policy_of_a_template_or_an_environment_says_what_a_repair_by_policy_does() {
    let policies = "
environment:
  drift:
    policies:
    - {instance: b*, on_drift: ask}
";
    let node = |name: &str, metadata: &str| {
        format!(
            "
        {name}:
          type: tosca:Root
          metadata: {{{metadata}}}
          interfaces:
            Standard: {{operations: {{configure: touch {name}}}}}
            Install: {{operations: {{check: {{implementation: Shell, inputs: {{command: test -e {name}, resultTemplate: {{readyState: \"{{{{ 'ok' if success else 'error' }}}}\"}}}}}}}}}}
"
        )
    };
    let nodes = node("a", "on_drift: repair") + &node("b1", "") + &node("c", "");
    let env = ensemble(&nodes);
    let text = env.read("ensemble.yaml");
    env.write("ensemble.yaml", &(text + policies));
    env.unfurl(["deploy", "--approve"]).succeeds();
    for name in ["a", "b1", "c"] {
        std::fs::remove_file(env.work().join(name)).unwrap();
    }
    let words = [
        "drift",
        "--repair",
        "--by-policy",
        "--approve",
        "--output",
        "json",
    ];
    let document = env.unfurl(words).exits(3).json();
    let repair = &document["ensembles"][0]["repair"];
    assert_eq!(repair["instances"], serde_json::json!(["a"]));
    assert_eq!(repair["ask"][0]["instance"], "b1");
    let exists = |name: &str| env.work().join(name).exists();
    assert_eq!(
        [exists("a"), exists("b1"), exists("c")],
        [true, false, false]
    );
}

/// An instance whose check has an operation host but runs here, because `Shell` always does.
const HOSTED: &str = "
        away:
          type: tosca.nodes.Compute
          attributes: {public_ip: 192.0.2.1}
        app:
          type: tosca.nodes.Root
          interfaces:
            Standard: {configure: {implementation: Shell, inputs: {command: 'true'}}}
            Install:
              check:
                implementation: {primary: Shell, operation_host: away}
                inputs:
                  command: echo error
                  resultTemplate: {readyState: '{{ stdout | trim }}'}
";

#[test]
fn a_finding_names_no_machine_that_was_not_asked() {
    let env = ensemble(HOSTED);
    env.unfurl(["deploy", "--approve"]).succeeds();
    let (code, document) = drift(&env, &[]);
    assert_eq!((code, findings(&document).len()), (3, 1), "{document:#}");
    assert!(
        finding(&document, "status")["host"].is_null(),
        "{document:#}"
    );
}
