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

#[test]
fn instances_of_the_specification_exist_with_templates_of_their_own() {
    let env = TestEnv::with_ensemble(
        "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  instances:
    plain: {attributes: {a: 1}}
    inline: {template: {type: N, properties: {p: x}}, attributes: {b: 2}}
    on: {template: {name: other, type: N, properties: {p: z}}, parent: inline, created: false}
    named: {template: t, readyState: pending}
  discovered:
    inline: {type: N, properties: {p: old}}
    found: {type: N, properties: {p: f}}
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    node_types:
      N:
        derived_from: tosca.nodes.Root
        properties: {p: {type: string}}
        interfaces: {Standard: {configure: {implementation: Template, inputs: {done: {status: ok}, run: '{{ SELF.p }}'}}}}
    topology_template:
      outputs: {o: {value: '{{ \"::plain::a\" | eval }} {{ \"::inline::p\" | eval }} {{ \"::found::p\" | eval }}'}}
      node_templates: {t: {type: N, properties: {p: y}}}
status:
  instances: {found: {template: found, readyState: {local: ok}}}
",
    );
    let summary = deploy(&env);
    assert_eq!(summary["outputs"]["o"], "1 x f");
    assert_eq!(summary["job"]["changed"], 1, "{summary}");
    let instances = env.ensemble()["status"]["instances"].clone();
    assert_eq!(instances["plain"]["created"], "::root");
    assert_eq!(instances["plain"]["readyState"]["local"], "ok");
    assert_eq!(instances["inline"]["template"], "inline");
    assert_eq!(instances["inline"]["attributes"]["b"], 2);
    let on = &instances["inline"]["instances"]["on"];
    assert_eq!(
        (on["template"].as_str(), on["created"].as_bool()),
        (Some("other"), Some(false))
    );
    assert_eq!(instances["named"]["readyState"]["state"], "configured");
    let before = env.tracked();
    assert_eq!(deploy(&env)["job"]["changed"], 0);
    assert_eq!(env.tracked(), before);
}

#[test]
fn an_instance_of_the_specification_without_a_template_is_refused() {
    let env = TestEnv::with_ensemble(
        "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  instances:
    a: {template: nowhere}
    b: {parent: nobody}
",
    );
    env.unfurl(["plan"]).exits(64).says(&[
        "the instance `a` has no template in the model",
        "ensemble.yaml:5:5",
        "the instance `b` stands on `nobody`, which is not there",
        "ensemble.yaml:6:5",
    ]);
}
