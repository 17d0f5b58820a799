//! What Unfurl adds to the model of TOSCA: blueprints, other ensembles, directives.

use serde_json::Value as Json;

use super::support::TestEnv;

fn planned(env: &TestEnv) -> Vec<String> {
    let plan = env.unfurl(["plan", "--output", "json"]).succeeds().json();
    let steps = plan.as_array().unwrap().iter();
    steps
        .filter_map(|step| step["instance"].as_str())
        .map(str::to_owned)
        .collect()
}

fn deploy(env: &TestEnv) -> Json {
    env.unfurl(["deploy", "--approve", "--output", "json"])
        .succeeds()
        .json()
}

/// An ensemble with blueprints; `environment` and `spec` are more of these sections.
fn with_blueprints(environment: &str, spec: &str) -> TestEnv {
    TestEnv::with_ensemble(&format!(
        "apiVersion: unfurl/v1.0.0
kind: Ensemble
environment: {{{environment}}}
spec:
{spec}
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    node_types:
      N:
        derived_from: tosca.nodes.Root
        requirements: [{{other: {{node: N, occurrences: [0, 1]}}}}]
        interfaces: {{Standard: {{configure: {{implementation: Template, inputs: {{done: {{status: ok}}}}}}}}}}
    topology_template: {{node_templates: {{a: {{type: N}}}}}}
    deployment_blueprints:
      aws:
        cloud: unfurl.relationships.ConnectsTo.AWSAccount
        node_templates: {{b: {{type: N}}, a: {{type: N, requirements: [{{other: b}}]}}}}
      k8s:
        cloud: unfurl.relationships.ConnectsTo.K8sCluster
        resource_templates: {{c: {{type: N}}}}
        node_templates: {{d: {{type: N}}}}
"
    ))
}

#[test]
fn the_environment_names_the_blueprint() {
    let env = with_blueprints("deployment_blueprint: aws", "");
    assert_eq!(planned(&env), ["b", "a"]);
    let summary = deploy(&env);
    assert_eq!(summary["job"]["ok"], 2);
    assert_eq!(deploy(&env)["job"]["changed"], 0);
    let env = with_blueprints("deployment_blueprint: k8s", "");
    assert_eq!(planned(&env), ["a", "c"]);
}

#[test]
fn blueprints_of_the_ensemble_go_before_those_of_the_template() {
    let spec = "  deployment_blueprints: {aws: {node_templates: {e: {type: N}}},
    json: {resourceTemplates: [f, a], ResourceTemplate: {f: {type: N}, g: {type: N}}}}";
    let env = with_blueprints("deployment_blueprint: aws", spec);
    assert_eq!(planned(&env), ["a", "e"]);
    let env = with_blueprints("deployment_blueprint: json", spec);
    assert_eq!(planned(&env), ["a", "f"]);
}

#[test]
fn a_blueprint_that_is_not_there_is_refused() {
    let env = with_blueprints("deployment_blueprint: awz", "");
    env.unfurl(["plan"]).exits(64).says(&[
        "there is no deployment blueprint `awz`",
        "ensemble.yaml:3:37",
        "did you mean `aws`?",
    ]);
}

#[test]
fn the_cloud_of_a_named_environment_chooses_the_blueprint() {
    let env = with_blueprints("", "");
    env.write(
        "unfurl.yaml",
        "apiVersion: unfurl/v1.0.0
kind: Project
environments:
  prod: {connections: {primary_provider: {type: unfurl.relationships.ConnectsTo.K8sCluster}}}
  off: {connections: {primary_provider: {type: unfurl.relationships.ConnectsTo.AWSAccount}},
        primary_provider: none}
",
    );
    let plan = |environment: &str| {
        let run = env.unfurl(["plan", "--output", "json", "--use-environment", environment]);
        let run = run.succeeds();
        (run.json().as_array().unwrap().len(), run.stderr)
    };
    let (steps, said) = plan("prod");
    assert_eq!(steps, 2, "{said}");
    assert!(!said.contains("blueprint"), "{said}");
    let (steps, said) = plan("off");
    assert_eq!(steps, 1);
    assert!(said.contains("none is in use"), "{said}");
}
