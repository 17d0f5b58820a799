//! Unfurl's extensions of the TOSCA model: blueprints, imported ensembles, decorators and directives.

use serde_json::Value as Json;

use super::drafts::{ensemble, text};
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

/// An ensemble with blueprints. `environment` and `spec` are additional content of these sections.
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
    assert!(said.contains("none is selected"), "{said}");
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
        "the instance `b` has the parent `nobody`, which does not exist",
        "ensemble.yaml:6:5",
    ]);
}

/// The types that both ensembles use.
const NETS: &str = "node_types:
      Net:
        derived_from: tosca.nodes.Root
        properties: {cidr: {type: string}, twice: {type: string, default: '{{ SELF.cidr }} {{ SELF.cidr }}'}}
        attributes: {id: {type: string, required: false}}
        capabilities: {port: {type: tosca.capabilities.Endpoint}}
        interfaces:
          Standard:
            configure:
              implementation: Template
              inputs: {done: {status: ok}, resultTemplate: {attributes: {id: '{{ SELF.cidr }}-id'}}}
            delete: {implementation: Template, inputs: {done: {status: absent}}}
      App:
        derived_from: tosca.nodes.Root
        requirements: [{net: {node: Net, occurrences: [0, 1]}}]
        interfaces:
          Standard:
            configure:
              implementation: Template
              inputs: {done: {status: ok}, run: '{{ \".targets::net::id\" | eval }} {{ \"::net::twice\" | eval }} {{ \"::net::.name\" | eval }}'}
            delete: {implementation: Template, inputs: {done: {status: absent}}}";

/// Two ensembles in one project: `net` has an instance, and `app` uses it.
///
/// `external` is the environment's `external` section; `net` is the template `net` in `app`.
fn two_ensembles(external: &str, net: &str) -> TestEnv {
    let head = "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    ";
    let env = TestEnv::new();
    env.write(
        "unfurl.yaml",
        &text(
            "
                apiVersion: unfurl/v1.0.0
                kind: Project
                ensembles: [{alias: nets, file: net/ensemble.yaml}]
                environments:
                  defaults:
                    external: {<external>}
                ",
        )
        .with("external", external)
        .build(),
    );
    env.write(
        "net/ensemble.yaml",
        &format!(
            "{head}{NETS}
    topology_template:
      outputs: {{where: {{value: {{eval: '::own::id'}}}}}}
      node_templates: {{own: {{type: Net, properties: {{cidr: ten}}}}, net: {{type: Net, properties: {{cidr: two}}}}}}
"
        ),
    );
    env.write(
        "app/ensemble.yaml",
        &format!(
            "{head}{NETS}
    topology_template:
      outputs: {{id: {{value: {{eval: '::net::id'}}}}}}
      node_templates:
        net: {{type: Net{net}}}
        app: {{type: App, requirements: [{{net: net}}]}}
"
        ),
    );
    env
}

const BASE: &str = "base: {manifest: {file: net/ensemble.yaml}}";
const IMPORTED: &str = ", directives: [select], imported: 'base:own'";

fn in_folder(env: &TestEnv, folder: &str, command: &str) -> Json {
    env.unfurl([command, "--approve", "--output", "json", folder])
        .succeeds()
        .json()
}

fn ensemble_of(env: &TestEnv, folder: &str) -> Json {
    serde_yaml::from_str(&env.read(&format!("{folder}/ensemble.yaml"))).unwrap()
}

#[test]
fn a_template_stands_for_an_instance_of_another_ensemble() {
    let env = two_ensembles(BASE, IMPORTED);
    in_folder(&env, "net", "deploy");
    let net = env.read("net/ensemble.yaml");
    let summary = in_folder(&env, "app", "deploy");
    assert_eq!(summary["job"]["total"], 1, "{summary}");
    assert_eq!(summary["outputs"]["id"], "ten-id");
    let record = ensemble_of(&env, "app")["status"]["instances"]["net"].clone();
    let expected = serde_json::json!(
        {"template": "net", "imported": "base:own", "priority": "required"});
    assert_eq!(record, expected);
    let changes = std::fs::read_dir(env.work().join("app/changes")).unwrap();
    let changes: Vec<_> = changes.map(|entry| entry.unwrap().path()).collect();
    let changes = std::fs::read_to_string(&changes[0]).unwrap();
    assert!(changes.contains("run: ten-id ten ten net\n"), "{changes}");
    assert!(changes.contains("digestKeys: run\n"), "{changes}");
    // The recorded values are still current, so no task runs.
    let again = in_folder(&env, "app", "deploy");
    assert_eq!(again["job"]["changed"], 0);
    env.write("net/ensemble.yaml", &net.replace("ten-id", "other-id"));
    let changed = in_folder(&env, "app", "deploy");
    assert_eq!(changed["outputs"]["id"], "other-id");
    assert_eq!(changed["job"]["ok"], 1, "{changed}");
    let torn = in_folder(&env, "app", "teardown");
    assert_eq!(torn["job"]["total"], 1, "{torn}");
    assert!(env.read("net/ensemble.yaml").contains("local: ok"));
}

#[test]
fn a_template_finds_the_instance_of_its_name_where_all_may_be_searched() {
    let external = "base: {manifest: {file: net/ensemble.yaml}, instance: '*'}";
    let env = two_ensembles(external, ", directives: [select]");
    in_folder(&env, "net", "deploy");
    assert_eq!(in_folder(&env, "app", "deploy")["outputs"]["id"], "two-id");
    let record = ensemble_of(&env, "app")["status"]["instances"]["net"].clone();
    assert_eq!(record["imported"], "base:net");
    let env = two_ensembles(BASE, ", directives: [select]");
    env.unfurl(["plan", "app"])
        .succeeds()
        .says(&["no external ensemble has an instance for the node template `net`"]);
}

#[test]
fn an_ensemble_of_the_project_is_known_by_its_name() {
    let env = two_ensembles("", ", imported: 'nets:own'");
    in_folder(&env, "net", "deploy");
    assert_eq!(in_folder(&env, "app", "deploy")["outputs"]["id"], "ten-id");
}

#[test]
fn a_missing_external_ensemble_or_instance_is_reported_with_its_position() {
    let env = two_ensembles(BASE, ", imported: 'base:nothing'");
    env.unfurl(["plan", "app"]).exits(64).says(&[
        "node template `net` represents `base:nothing`, which no external ensemble has",
        "app/ensemble.yaml:30:9",
    ]);
    let env = two_ensembles("base: {manifest: {file: nowhere.yaml}}", IMPORTED);
    env.unfurl(["plan", "app"]).exits(64).says(&[
        "the external ensemble `base` cannot be used: there is no file",
        "unfurl.yaml:6:16",
    ]);
    let env = two_ensembles(
        "base: {manifest: {file: net/ensemble.yaml}, instance: nobody}",
        IMPORTED,
    );
    env.unfurl(["plan", "app"])
        .exits(64)
        .says(&["it has no instance `nobody`"]);
    let env = two_ensembles(BASE, IMPORTED);
    in_folder(&env, "net", "deploy");
    in_folder(&env, "app", "deploy");
    let text = env.read("app/ensemble.yaml");
    env.write(
        "app/ensemble.yaml",
        &text.replace("imported: base:own", "imported: base:gone"),
    );
    env.unfurl(["plan", "app"]).exits(64).says(&[
        "the recorded instance `net` represents `base:gone`, which no external ensemble has",
    ]);
}

#[test]
fn values_of_another_ensemble_are_as_its_schema_says() {
    let ensemble = |select: &str| {
        let env = text(
            "
                apiVersion: unfurl/v1.0.0
                kind: Ensemble
                environment:
                  external:
                    other:
                      manifest: {file: other.yaml}
                      instance: it
                      schema: {number: {type: number}, more: {default: fallback}}
                spec:
                  service_template:
                    tosca_definitions_version: tosca_simple_unfurl_1_0_0
                    topology_template:
                      outputs: {o: {value: {eval: {external: other}, select: <select>}}}
                      node_templates: {}
                ",
        )
        .with("select", select)
        .env();
        env.write(
            "other.yaml",
            "{apiVersion: unfurl/v1.0.0, kind: Ensemble, spec: {instances: {it: {attributes: {number: x, text: y}}}}}",
        );
        env
    };
    let deployed = deploy(&ensemble("more"));
    assert_eq!(deployed["outputs"]["o"], "fallback");
    assert_eq!(deploy(&ensemble("text"))["outputs"]["o"], "y");
    ensemble("number")
        .unfurl(["deploy", "--approve"])
        .does_not_panic()
        .says(&[
            "the attribute `number` of the external ensemble `other` does not match its `schema`",
        ]);
}

#[test]
fn ensembles_that_use_each_other_are_read_once() {
    let env = two_ensembles(
        "base: {manifest: {file: net/ensemble.yaml}}, user: {manifest: {file: app/ensemble.yaml}}",
        IMPORTED,
    );
    in_folder(&env, "net", "deploy");
    assert_eq!(in_folder(&env, "app", "deploy")["outputs"]["id"], "ten-id");
}

/// An ensemble with decorators that imports a file with types and a decorator.
fn with_decorators(decorators: &str) -> TestEnv {
    let env = ensemble("
            imports: [types.yaml]
            decorators:
              <decorators>
            topology_template:
              outputs: {a: {value: {eval: '::a::p'}}, b: {value: {eval: '::b::s'}}, q: {value: {eval: '::a::q'}}, c: {value: {eval: '::c::s'}}}
              node_templates:
                b: {type: N, properties: {p: own}}
                a: {type: N}
                c: {type: M, properties: {p: own}}
            ").with("decorators", decorators).env();
    env.write(
        "types.yaml",
        "tosca_definitions_version: tosca_simple_unfurl_1_0_0
decorators: {'::c': {properties: {s: imported}}}
node_types:
  N:
    derived_from: tosca.nodes.Root
    properties: {p: {type: string}, q: {type: string, default: dq}, s: {type: string, default: ds}}
    interfaces: {Standard: {configure: {implementation: Template, inputs: {done: {status: ok}}}}}
  M: {derived_from: N}
",
    );
    env
}

#[test]
fn decorators_are_merged_into_the_templates_that_they_find() {
    let env = with_decorators(
        "      '::a': {properties: {p: given, q: '{{ \".name\" | eval }}-{{ template.type }}'}}
      '::*::[.type=N]': {properties: {s: all}}
      '::b': {requirements: [{dependency: a}]}
      '::nothing': {properties: {p: none}}",
    );
    let outputs = deploy(&env)["outputs"].clone();
    let expected = serde_json::json!({"a": "given", "b": "all", "q": "a-N", "c": "imported"});
    assert_eq!(outputs, expected);
    assert_eq!(deploy(&env)["job"]["changed"], 0);
    let env = with_decorators(
        "      '::a': {properties: {p: x}}
      '::b': {requirements: [{dependency: a}]}",
    );
    assert_eq!(planned(&env), ["a", "b", "c"]);
    env.unfurl(["validate"]).succeeds();
}

#[test]
fn decorators_name_templates_and_types() {
    let env = with_decorators(
        "      N: {properties: {p: type, s: type}}
      M: {properties: {s: derived}}
      b: {properties: {p: name}}
      'N[p=own]': {properties: {q: filtered, p: last}}
      nothing: {properties: {p: none}}",
    );
    let run = env.unfurl(["validate"]).succeeds();
    assert_eq!(
        run.stderr.matches("the decorator `").count(),
        1,
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("the decorator `nothing` has no effect"));
    let outputs = deploy(&env)["outputs"].clone();
    let expected = serde_json::json!({"a": "type", "b": "type", "q": "dq", "c": "derived"});
    assert_eq!(outputs, expected);
    let text = env.unfurl(["plan", "--query", "::b::p"]).succeeds().stdout;
    assert!(text.contains("last"), "{text}");
    let text = env.unfurl(["plan", "--query", "::b::q"]).succeeds().stdout;
    assert!(text.contains("filtered"), "{text}");
}

#[test]
fn an_invalid_decorator_is_refused_with_its_position() {
    let env = with_decorators("      '::a': {properties: {p: '{{ nowhere.at }}'}}");
    env.unfurl(["plan"])
        .exits(64)
        .says(&["the decorator `::a`: ", "ensemble.yaml:8:7"]);
    let env = with_decorators("      '::a': {propertes: {p: x}}");
    env.unfurl(["plan"]).exits(64).says(&[
        "node template `a` has no key `propertes`",
        "ensemble.yaml:8:14",
    ]);
}

/// An ensemble with a template for each directive.
const DIRECTIVES: &str = "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    node_types:
      N:
        derived_from: tosca.nodes.Root
        requirements: [{dep: {node: N, occurrences: [0, 1]}}]
        interfaces:
          Install:
            check: {implementation: Template, inputs: {done: {status: ok}}}
            discover: {implementation: Template, inputs: {done: {status: ok}}}
          Standard:
            configure: {implementation: Template, inputs: {done: {status: ok}}}
            delete: {implementation: Template, inputs: {done: {status: absent}}}
      O: {derived_from: tosca.nodes.Root}
      R: {derived_from: N, requirements: [{must: {node: O}}]}
    topology_template:
      node_templates:
        user: {type: N, requirements: [{dep: default}]}
        default: {type: N, directives: [default]}
        unused: {type: N, directives: [default]}
        user2: {type: N, requirements: [{dep: dependent}]}
        dependent: {type: N, directives: [dependent]}
        alone: {type: N, directives: [dependent]}
        unmet: {type: R, directives: [conditional]}
        virtual: {type: N, directives: [virtual]}
        found: {type: N, directives: [discover]}
        checked: {type: N, directives: [check]}
        kept: {type: N, directives: [protected]}
        odd: {type: N, directives: [anything]}
";

#[test]
fn directives_say_what_becomes_of_a_template() {
    let env = TestEnv::with_ensemble(DIRECTIVES);
    let tasks = |command: &str| -> Vec<String> {
        let run = env.unfurl([command, "--approve", "--output", "json"]);
        let summary = run.succeeds().json();
        let tasks = summary["tasks"].as_array().unwrap().iter();
        let tasks = tasks.filter(|task| !task["status"].is_null());
        let text = |task: &Json, key: &str| task[key].as_str().unwrap_or_default().to_owned();
        tasks
            .map(|task| format!("{} {}", text(task, "target"), text(task, "operation")))
            .collect()
    };
    let deployed = [
        "default configure",
        "user configure",
        "dependent configure",
        "user2 configure",
        "found discover",
        "checked check",
        "kept configure",
        "odd configure",
    ];
    assert_eq!(tasks("deploy"), deployed);
    assert_eq!(tasks("deploy"), ["checked check"]);
    let torn = [
        "user delete",
        "default delete",
        "user2 delete",
        "dependent delete",
        "odd delete",
    ];
    assert_eq!(tasks("teardown"), torn);
    let instances = env.ensemble()["status"]["instances"].clone();
    let names: Vec<&String> = instances.as_object().unwrap().keys().collect();
    assert!(!names.iter().any(|name| *name == "virtual"), "{names:?}");
    assert_eq!(instances["kept"]["readyState"]["local"], "ok");
    assert_eq!(instances["found"]["created"], Json::Null);
}

const ADDING: &str = "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    node_types:
      N:
        derived_from: tosca.nodes.Root
        properties: {p: {type: string}}
        requirements: [{host: {node: M, occurrences: [0, 1]}}]
        interfaces: {Standard: {delete: {implementation: Template, inputs: {done: {status: absent}}}}}
      M:
        derived_from: tosca.nodes.Root
        interfaces:
          Standard:
            configure:
              implementation: Template
              inputs:
                done: {status: ok}
                resultTemplate: |
                  - name: dynamic
                    parent: SELF
                    template: TEMPLATE
                    readyState: ok
                    attributes: {found: 1}
            delete: {implementation: Template, inputs: {done: {status: absent}}}
    topology_template:
      outputs: {o: {value: {eval: '::dynamic::p'}}}
      node_templates: {m: {type: M}}
";

#[test]
fn an_instance_that_a_task_adds_with_its_own_template_is_there_the_next_time() {
    let template = "{type: N, properties: {p: x}}";
    let env = TestEnv::with_ensemble(&ADDING.replace("TEMPLATE", template));
    let summary = deploy(&env);
    assert_eq!(summary["job"]["status"], "ok", "{summary}");
    assert_eq!(summary["outputs"]["o"], "x");
    let text = env.read("ensemble.yaml");
    assert!(
        text.starts_with(&ADDING.replace("TEMPLATE", template)),
        "{text}"
    );
    let saved = env.ensemble();
    let discovered = &saved["spec"]["discovered"]["dynamic"];
    let expected = serde_json::json!(
        {"type": "N", "properties": {"p": "x"}, "requirements": [{"host": "m"}]});
    assert_eq!(*discovered, expected);
    let record = &saved["status"]["instances"]["m"]["instances"]["dynamic"];
    assert_eq!(record["template"], "dynamic");
    assert_eq!(record["created"], "::m");
    assert_eq!(record["attributes"]["found"], 1);
    assert_eq!(deploy(&env)["outputs"]["o"], "x");
    assert_eq!(
        env.ensemble()["status"]["instances"],
        saved["status"]["instances"]
    );
    let status = env.unfurl(["status"]).succeeds();
    assert!(status.stdout.contains("  dynamic  ok"), "{status}");
    env.unfurl(["teardown", "--approve"]).succeeds();
}

#[test]
fn a_template_that_a_task_gives_and_that_is_wrong_fails_the_task() {
    let env = TestEnv::with_ensemble(&ADDING.replace("TEMPLATE", "{type: Nowhere}"));
    env.unfurl(["deploy", "--approve"])
        .does_not_panic()
        .says(&["cannot add the instance `dynamic`: there is no node type `Nowhere`"]);
    assert!(!env.read("ensemble.yaml").contains("discovered"));
}
