//! The output of `unfurl export`, and the secrets that it hides.

use std::fs;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::support::TestEnv;

const APP: &str = "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    metadata: {template_name: My App}
    node_types:
      Db:
        derived_from: tosca.nodes.Root
        properties:
          size: {type: scalar-unit.size, default: 1 GB, metadata: {default_unit: MB, user_settable: true}}
          password: {type: string, default: hush1, metadata: {sensitive: true}}
        attributes: {address: {type: string}}
        interfaces: {Standard: {configure: {implementation: Template, inputs: {done: {status: ok}}}}}
      App:
        derived_from: tosca.nodes.Root
        properties:
          kind: {type: string, constraints: [{valid_values: [a, b]}]}
          text: {type: string, required: false}
        requirements:
          - db: {node: Db, node_filter: {properties: [{size: {greater_than: 2 GB}}]}}
    topology_template:
      inputs: {who: {type: string, default: you}, token: {type: string, default: hush2, metadata: {sensitive: true}}}
      outputs: {url: {value: 'http://here'}}
      node_templates:
        app: {type: App, properties: {kind: a, text: !sensitive hush3}, requirements: [{db: main}]}
        main: {type: Db, properties: {size: 3 GB, password: {eval: {sensitive: hush4}}}}
      groups: {all: {type: tosca.groups.Root, members: [app, main]}}
      policies: [{near: {type: tosca.policies.Root, targets: [all]}}]
      workflows: {again: {steps: {one: {target: main, activities: [{call_operation: Standard.configure}]}}}}
";

const FORMATS: [&str; 6] = [
    "deployment",
    "deployments",
    "blueprint",
    "environments",
    "model-json",
    "model-yaml",
];

fn export(env: &TestEnv, more: &[&str]) -> Json {
    let arguments = ["export"].iter().chain(more);
    env.unfurl(arguments).succeeds().json()
}

fn keys(value: &Json) -> Vec<&str> {
    let map = value.as_object().unwrap();
    map.keys().map(String::as_str).collect()
}

#[test]
fn an_ensemble_outside_of_git_is_exported() {
    let env = TestEnv::with_ensemble(APP);
    let answer = export(&env, &[]);
    let expected = [
        "ResourceType",
        "ResourceTemplate",
        "Overview",
        "DeploymentTemplate",
        "ApplicationBlueprint",
        "Resource",
        "Deployment",
        "DeploymentEnvironment",
    ];
    assert_eq!(keys(&answer), expected);
    assert_eq!(keys(&answer["ResourceType"]), ["App", "Db", "__primary"]);
    assert_eq!(
        keys(&answer["ResourceTemplate"]),
        ["app", "main", "__primary"]
    );
    let main = &answer["ResourceTemplate"]["main"];
    assert_eq!(
        main["properties"][0],
        json!({"name": "size", "value": 3000})
    );
    let constraint = &answer["ResourceTemplate"]["app"]["dependencies"][0]["constraint"];
    assert_eq!(
        constraint["inputsSchema"]["properties"]["size"],
        json!({"exclusiveMinimum": 2000})
    );
    let blueprint = &answer["ApplicationBlueprint"]["my-app"];
    assert_eq!(blueprint["primary"], "__primary");
    let template = &answer["DeploymentTemplate"]["work"];
    let variables: Vec<&str> = template["environmentVariableNames"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Json::as_str)
        .collect();
    let expected = ["APP_WHO", "APP_TOKEN", "APP_URL", "APP_KIND", "APP_TEXT"];
    assert_eq!(variables, expected);
    assert!(template.get("commitTime").is_none());
}

#[test]
fn types_are_named_after_the_repository_in_git() {
    let env = TestEnv::with_ensemble(APP);
    env.git(&["init", "--quiet"]);
    env.git(&["add", "--all"]);
    env.git(&["commit", "--quiet", "--message", "one"]);
    let first = env.git(&["rev-parse", "HEAD"]);
    env.write("other", "x");
    env.git(&["add", "--all"]);
    env.git(&["commit", "--quiet", "--message", "two"]);
    let time = env.git(&[
        "log",
        "-1",
        "--format=%cd",
        "--date=format:%Y-%m-%d %H:%M:%S",
        "HEAD~1",
    ]);
    let answer = export(&env, &[]);
    let name = format!("App@{first}");
    assert_eq!(answer["ResourceTemplate"]["app"]["type"], name);
    assert_eq!(answer["ResourceType"][&name]["name"], name);
    let commit = answer["DeploymentTemplate"]["work"]["commitTime"]
        .as_str()
        .unwrap();
    assert!(commit.starts_with(&time), "{commit}");

    env.git(&[
        "remote",
        "add",
        "origin",
        "https://me:pw@example.com/a/b.git",
    ]);
    let answer = export(&env, &["--format", "blueprint"]);
    assert_eq!(
        answer["ResourceTemplate"]["app"]["type"],
        "App@example.com/a/b"
    );
    assert!(!answer.to_string().contains("pw@"));
}

#[test]
fn what_was_deployed_is_exported() {
    let env = TestEnv::with_ensemble(APP);
    env.unfurl(["deploy", "--approve"]).succeeds();
    let answer = export(&env, &[]);
    let main = &answer["Resource"]["main"];
    assert_eq!(
        (&main["status"], &main["state"]),
        (&json!(1), &json!(5)),
        "{main}"
    );
    let deployment = &answer["Deployment"]["work"];
    assert_eq!(deployment["status"], 1);
    assert_eq!(deployment["workflow"], "deploy");
    assert_eq!(deployment["url"], "http://here");
    let connection = &answer["Resource"]["app"]["connections"][0];
    assert_eq!(connection["target"], "main");
}

#[test]
fn no_format_shows_a_secret_and_all_are_the_same_each_time() {
    let env = TestEnv::with_ensemble(APP);
    env.unfurl(["deploy", "--approve"]).succeeds();
    for format in FORMATS {
        let first = env.unfurl(["export", "--format", format]).succeeds();
        let second = env.unfurl(["export", "--format", format]).succeeds();
        assert_eq!(first.stdout, second.stdout, "{format}");
        assert!(!first.all().contains("hush"), "{first}");
    }
}

#[test]
fn nothing_runs_and_no_file_changes() {
    let text = APP.replace(
        "kind: a,",
        "kind: \"{{ lookup('pipe', 'touch ran; echo a') }}\",",
    );
    let env = TestEnv::with_ensemble(&text);
    for format in FORMATS {
        env.unfurl(["export", "--format", format]).succeeds();
    }
    assert_eq!(env.names(), ["ensemble.yaml"]);
}

#[test]
fn a_required_input_may_be_missing() {
    let env = TestEnv::with_ensemble(&APP.replace("default: you", "required: true"));
    env.unfurl(["validate"]).exits(1);
    let answer = export(&env, &[]);
    let primary = &answer["ResourceType"]["__primary"];
    assert_eq!(
        primary["inputsSchema"]["properties"]["who"]["required"],
        true
    );
}

#[test]
fn environments_and_deployments_of_a_project_are_exported() {
    let env = TestEnv::new();
    env.write("a/ensemble.yaml", APP);
    env.write(
        "b/ensemble.yaml",
        "apiVersion: unfurl/v1.0.0\nkind: Ensemble\n",
    );
    env.write("c/ensemble.yaml", APP);
    env.write(
        "unfurl.yaml",
        "apiVersion: unfurl/v1.0.0
kind: Project
ensembles:
  - {file: a/ensemble.yaml, environment: dev, project_id: 7, incremental_deploy: true}
  - {file: b/ensemble.yaml, environment: dev}
  - {file: c/ensemble.yaml}
environments:
  dev:
    secrets: {key: hush5}
    repositories: {lib: {url: 'https://me:hush6@example.com/lib.git', credential: {token: hush7}}}
    connections: {primary_provider: {type: tosca.relationships.Root}}
    instances:
      shared: {type: Db, imported: 'other:db'}
      own: {type: Db}
",
    );
    let run = env
        .unfurl(["export", "--format", "environments", "a"])
        .succeeds();
    assert!(!run.all().contains("hush"), "{run}");
    let answer = run.json();
    let dev = &answer["DeploymentEnvironment"]["dev"];
    assert_eq!(dev["primary_provider"]["name"], "primary_provider");
    assert_eq!(dev["instances"]["own"]["directives"], json!(["virtual"]));
    assert_eq!(dev["instances"]["shared"]["imported"], "other:db");
    assert_eq!(
        dev["repositories"]["lib"]["url"],
        "https://example.com/lib.git"
    );
    assert!(answer["ResourceType"].get("Db").is_some());
    let path = &answer["DeploymentPath"]["a"];
    assert_eq!(
        (&path["project_id"], &path["incremental_deploy"]),
        (&json!("7"), &json!(true))
    );
    assert_eq!(keys(&answer["DeploymentPath"]), ["a", "b"]);

    let run = env
        .unfurl(["export", "--format", "deployments", "a"])
        .succeeds()
        .says(&["`b/ensemble.yaml` cannot be exported"]);
    let deployments = run.json()["deployments"].clone();
    assert_eq!(deployments.as_array().unwrap().len(), 1);
    assert_eq!(keys(&deployments[0]["Deployment"]), ["a"]);
}

#[test]
fn blueprints_of_an_ensemble_are_exported() {
    let text = APP.replace(
        "spec:\n",
        "spec:
  deployment_blueprints:
    prod:
      title: Production
      node_templates:
        main: {type: Db, properties: {size: 5 GB}}
        more: {type: App, properties: {kind: b}, requirements: [{db: spare}]}
        spare: {type: Db}
",
    );
    let env = TestEnv::with_ensemble(&text);
    let answer = export(&env, &["--format", "blueprint"]);
    let prod = &answer["DeploymentTemplate"]["prod"];
    assert_eq!(prod["title"], "Production");
    assert_eq!(keys(&prod["ResourceTemplate"]), ["main", "more", "spare"]);
    let dependency = &prod["ResourceTemplate"]["more"]["dependencies"][0];
    assert_eq!(dependency["match"], "spare");
    assert_eq!(
        answer["ApplicationBlueprint"]["my-app"]["deploymentTemplates"],
        json!(["prod"])
    );
}

#[test]
fn the_model_says_what_is_meant_and_where_it_stands() {
    let env = TestEnv::with_ensemble(APP);
    let model = export(&env, &["--format", "model-json"]);
    let app = &model["node_templates"]["app"];
    assert_eq!(app["place"], "ensemble.yaml:25:9");
    assert_eq!(app["properties"]["kind"]["value"], "a");
    assert_eq!(app["properties"]["kind"]["type"], "string");
    assert_eq!(app["properties"]["kind"]["place"], "ensemble.yaml:25:45");
    let requirement = &app["requirements"][0];
    assert_eq!(
        (&requirement["name"], &requirement["target"]),
        (&json!("db"), &json!("main"))
    );
    let main = &model["node_templates"]["main"];
    let operation = &main["interfaces"]["Standard"]["operations"]["configure"];
    assert_eq!(operation["implementation"]["configurator"], "Template");
    assert_eq!(
        main["properties"]["password"]["expression"],
        json!({"eval": {"sensitive": "<<REDACTED>>"}})
    );
    assert_eq!(model["groups"]["all"]["members"], json!(["app", "main"]));
    assert_eq!(model["policies"]["near"]["targets"], json!(["all"]));
    let step = &model["workflows"]["again"]["steps"]["one"];
    assert_eq!(
        step["activities"][0]["call_operation"],
        "Standard.configure"
    );
    assert_eq!(keys(&model["node_types"])[..2], ["App", "tosca.nodes.Root"]);
    assert_eq!(model["inputs"]["token"]["default"], "<<REDACTED>>");

    let yaml = env.unfurl(["export", "--format", "model-yaml"]).succeeds();
    let same: Json = serde_yaml::from_str(&yaml.stdout).unwrap();
    assert_eq!(same, model);
}

#[test]
fn a_file_is_written_as_the_policy_says() {
    let env = TestEnv::with_ensemble(APP);
    let to_file = ["export", "--file", "out.json"];
    let run = env.unfurl(to_file).succeeds();
    assert_eq!(run.stdout, "");
    let written = env.read("out.json");
    assert!(written.starts_with('{') && written.ends_with("}\n"));
    let with = |policy| to_file.into_iter().chain(["--overwrite", policy]);

    env.write("out.json", "mine");
    let run = env
        .unfurl(with("never"))
        .succeeds()
        .says(&["was not overwritten"]);
    assert_eq!(
        (env.read("out.json").as_str(), run.stdout.as_str()),
        ("mine", written.as_str())
    );
    env.unfurl(with("older")).succeeds();
    assert_eq!(env.read("out.json"), "mine");
    let past = std::time::SystemTime::now() - Duration::from_hours(1);
    let file = fs::File::options()
        .write(true)
        .open(env.work().join("out.json"));
    file.unwrap().set_modified(past).unwrap();
    env.unfurl(with("older")).succeeds();
    assert_eq!(env.read("out.json"), written);
    env.write("out.json", "mine");
    env.unfurl(with("always")).succeeds();
    assert_eq!(env.read("out.json"), written);
    assert_eq!(env.names(), ["ensemble.yaml", "out.json"]);
    env.unfurl(["export", "--file", "no/such/folder.json"])
        .exits(1);
}

#[test]
fn python_is_left_out_and_the_message_says_what_to_use() {
    let env = TestEnv::with_ensemble(APP);
    let says = ["is not supported", "model-yaml"];
    env.unfurl(["export", "--format", "python", "--python-target", "3.10"])
        .exits(2)
        .says(&says);
    env.unfurl(["export", "model.py"]).exits(2).says(&says);
}

#[test]
fn an_ensemble_with_errors_is_refused_with_their_places() {
    let env = TestEnv::with_ensemble(&APP.replace("type: App,", "type: Ap,"));
    env.unfurl(["export"]).exits(1).says(&[
        "there is no node type `Ap`",
        "ensemble.yaml:25:21",
        "did you mean `App`?",
    ]);
}

#[test]
fn an_export_is_not_written_over_its_sources_or_what_is_no_file() {
    let env = TestEnv::with_example("hello");
    let before = env.read("ensemble.yaml");
    let run = env.unfurl(["export", "--file", "ensemble.yaml"]);
    assert_eq!(run.code, 1, "{run}");
    assert!(
        run.stderr
            .contains("is one of the input files of the export")
    );
    assert_eq!(env.read("ensemble.yaml"), before);
    let made = Command::new("mkfifo")
        .arg(env.work().join("pipe"))
        .status()
        .unwrap();
    assert!(made.success());
    let run = env.unfurl(["export", "--file", "pipe"]);
    assert_eq!(run.code, 1, "{run}");
    assert!(run.stderr.contains("is not a regular file"));
}
