//! Errors that concern one part of a model: a deploy is refused, and what exists can be removed, stopped and checked.

use crate::support::TestEnv;

/// The three lines that `broken` changes have a comment.
const ENSEMBLE: &str = "
apiVersion: unfurl/v1alpha1
kind: Ensemble
spec:
  service_template:
    capability_types:
      Cap: {derived_from: tosca.capabilities.Root}
      Other: {derived_from: tosca.capabilities.Root}
    node_types:
      Host: {derived_from: tosca.nodes.Root, capabilities: {thing: {type: Cap}}}
      App:
        derived_from: tosca.nodes.Root
        properties:
          count: {type: integer, default: 3, constraints: [{in_range: [1, 5]}]}
          name: {type: string, required: false} # property
        requirements:
          - thing: {capability: Cap, occurrences: [0, 1]} # requirement
    topology_template:
      inputs:
        size: {type: integer, default: 1} # input
      node_templates:
        host:
          type: Host
          interfaces: &good
            Standard:
              operations:
                create: {implementation: Cmd, inputs: {cmd: 'true'}}
                delete: {implementation: Cmd, inputs: {cmd: 'echo {{ SELF[\".name\"] }} >> log'}}
        plain: {type: tosca.nodes.Root, interfaces: *good}
        app:
          type: App
          properties: {count: 3}
          requirements: [{thing: host}]
          interfaces: *good
";

fn broken() -> Vec<(&'static str, String)> {
    let change = |from: &str, to: &str| ENSEMBLE.replace(from, to);
    vec![
        (
            "is missing requirement `need`",
            change("# requirement", "\n          - need: {capability: Other}"),
        ),
        (
            "which is neither a node template nor a node type",
            change("{thing: host}", "{thing: {node: nothing}}"),
        ),
        (
            "has no property `needed`",
            change("# property", "\n          needed: {type: string}"),
        ),
        ("`9` of property `count`", change("count: 3}", "count: 9}")),
        (
            "`many` of property `count`",
            change("count: 3}", "count: many}"),
        ),
        (
            "input `needed` is missing",
            change("# input", "\n        needed: {type: string}"),
        ),
        ("`x` of input `size`", change("default: 1}", "default: x}")),
        (
            "needs capability `Cap`, which `plain` does not have",
            change("{thing: host}", "{thing: {node: plain, capability: Cap}}"),
        ),
    ]
}

#[test]
fn an_error_in_one_part_of_a_model_stops_no_teardown_and_no_check() {
    for (message, broken) in broken() {
        let env = TestEnv::with_ensemble(ENSEMBLE);
        env.unfurl(["deploy", "--approve"]).succeeds();
        let text = env.read("ensemble.yaml");
        let status = &text[text.find("\nstatus:").unwrap()..];
        env.write("ensemble.yaml", &format!("{}{status}", broken.trim_end()));
        let before = env.read("ensemble.yaml");
        env.unfurl(["validate"]).exits(1);
        for words in [
            &["deploy", "--approve"][..],
            &["plan"],
            &["discover", "--approve"],
        ] {
            env.unfurl(words).exits(64).says(&[message]);
        }
        assert_eq!(env.read("ensemble.yaml"), before, "{message}");
        env.unfurl(["status"]).succeeds();
        env.unfurl(["check", "--approve"]).succeeds();
        let run = env.unfurl(["teardown", "--approve"]).succeeds();
        run.says(&[message]);
        let log = env.read("log");
        let mut gone: Vec<_> = log.lines().collect();
        gone.sort_unstable();
        assert_eq!(gone, ["app", "host", "plain"], "{message}");
    }
}

#[test]
fn an_error_in_the_model_of_a_new_ensemble_stops_its_deploy() {
    for (message, broken) in broken() {
        let env = TestEnv::with_ensemble(&broken);
        env.unfurl(["deploy", "--approve"])
            .exits(64)
            .says(&[message]);
        assert_eq!(env.read_if("jobs.tsv"), None, "{message}");
    }
}

#[test]
fn a_removal_that_needs_what_is_missing_fails_alone() {
    let text = ENSEMBLE.replace(
        "# property",
        "\n          secret: {type: string, required: false}",
    );
    let text = text.replace(
        "properties: {count: 3}\n          requirements: [{thing: host}]\n          interfaces: *good",
        "properties: {count: 3, secret: {get_input: key}}\n          interfaces:\n            Standard:\n              operations:\n                create: {implementation: Cmd, inputs: {cmd: 'true'}}\n                delete: {implementation: Cmd, inputs: {cmd: 'echo {{ SELF.secret }} >> log'}}",
    );
    let text = text.replace("# input", "\n        key: {type: string}");
    let env = TestEnv::with_ensemble(&text);
    env.unfurl(["deploy", "--approve", "--var", "input_key", "k"])
        .succeeds();
    let run = env.unfurl(["teardown", "--approve"]).exits(64);
    run.says(&[
        "input `key` is missing",
        "cannot run: Standard.delete of `app`",
    ]);
    let log = env.read("log");
    let mut gone: Vec<_> = log.lines().collect();
    gone.sort_unstable();
    assert_eq!(gone, ["host", "plain"]);
}
