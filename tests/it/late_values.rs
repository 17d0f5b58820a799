//! Values that follow from attributes which other tasks set: new ones are used at once, and a second deploy runs
//! nothing.

use crate::support::TestEnv;

const TYPES: &str = "
tosca_definitions_version: tosca_simple_yaml_1_3
node_types:
  Front:
    derived_from: tosca.nodes.Root
    properties: {size: {type: integer, default: 3}}
    attributes: {url: {type: string}}
  Server:
    derived_from: tosca.nodes.Root
    properties: {size: {type: integer}}
    attributes: {url: {type: string}}
    interfaces:
      Standard:
        configure:
          implementation: Template
          inputs:
            done: {status: ok}
            resultTemplate: {attributes: {url: 'http://{{ SELF.size }}'}}
  Client:
    derived_from: tosca.nodes.Root
    properties: {first: {type: string}, second: {type: string}}
    interfaces:
      Standard:
        configure:
          implementation: Cmd
          inputs: {cmd: 'echo {{ SELF.first }} {{ SELF.second }} >> log'}
";

/// The topology that stands in for a `Front`. It takes its URL from the template `server` of another text.
const NESTED: &str = "
tosca_definitions_version: tosca_simple_yaml_1_3
imports: [<imports>]
topology_template:
  inputs:
    size: {type: integer, default: 1}
  substitution_mappings:
    node_type: <type>
    properties: {size: [size]}
    attributes: {url: [server, url]}
  node_templates:
    server: {type: <server>, properties: {size: {get_input: size}}}
";

/// An ensemble with a client that reads the URL of `front`.
const ENSEMBLE: &str = "
apiVersion: unfurl/v1alpha1
kind: Ensemble
spec:
  service_template:
    imports: [<imports>]
    topology_template:
      node_templates:
        front: {type: <type>, properties: {size: 3}}
        client:
          type: Client
          requirements: [{dependency: front}]
          properties: {first: {eval: '::front::url'}, second: {eval: '.::first'}}
      outputs:
        url: {value: {eval: '::front::url'}}
";

fn follows_at_once_and_settles(env: &TestEnv) {
    let deploy = || {
        let run = env.unfurl(["deploy", "--approve", "--output", "json"]);
        run.succeeds().json()
    };
    let lines = || env.read_if("log").unwrap_or_default();
    assert_eq!(deploy()["outputs"]["url"], "http://3");
    assert_eq!(lines(), "http://3 http://3\n");
    let before = env.tracked();
    env.unfurl(["deploy", "--approve"])
        .succeeds()
        .prints(&["Nothing to do"]);
    assert_eq!(env.tracked(), before);
    // A changed value goes through all levels.
    let text = env.read("ensemble.yaml");
    env.write("ensemble.yaml", &text.replace("size: 3}", "size: 4}"));
    assert_eq!(deploy()["outputs"]["url"], "http://4");
    assert_eq!(lines(), "http://3 http://3\nhttp://4 http://4\n");
    env.unfurl(["deploy", "--approve"])
        .succeeds()
        .prints(&["Nothing to do"]);
}

fn ensemble(imports: &str, type_name: &str) -> TestEnv {
    let text = ENSEMBLE.replace("<imports>", imports);
    let env = TestEnv::with_ensemble(&text.replace("<type>", type_name));
    env.write("types.yaml", TYPES);
    env
}

fn nested(imports: &str, type_name: &str, server: &str) -> String {
    let text = NESTED.replace("<imports>", imports);
    text.replace("<type>", type_name)
        .replace("<server>", server)
}

#[test]
fn properties_that_follow_from_an_attribute_are_new_when_it_is() {
    follows_at_once_and_settles(&ensemble("types.yaml", "Server"));
}

#[test]
fn an_attribute_of_a_nested_topology_settles() {
    let env = ensemble("types.yaml, nested.yaml", "Front, directives: [substitute]");
    env.write("nested.yaml", &nested("types.yaml", "Front", "Server"));
    follows_at_once_and_settles(&env);
}

#[test]
fn an_attribute_of_a_topology_that_a_named_node_represents_settles() {
    let env = ensemble(
        "types.yaml, nested.yaml",
        "Server, directives: [substitute]",
    );
    let text = nested("types.yaml", "Server", "Server");
    let start = text.find("    node_type").unwrap();
    let end = text.find("  node_templates").unwrap();
    let named = format!(
        "{}    node: server\n{}",
        &text[..start],
        text[end..].replace("{get_input: size}", "1")
    );
    env.write("nested.yaml", &named);
    follows_at_once_and_settles(&env);
}

#[test]
fn an_attribute_of_a_topology_nested_in_a_nested_one_settles() {
    let types = TYPES.replace(
        "  Client:",
        "  Middle:\n    derived_from: tosca.nodes.Root\n    properties: {size: {type: integer, default: 3}}\n    attributes: {url: {type: string}}\n  Client:",
    );
    let env = ensemble("types.yaml, nested.yaml", "Front, directives: [substitute]");
    env.write("types.yaml", &types);
    let middle = nested(
        "types.yaml, leaf.yaml",
        "Front",
        "Middle, directives: [substitute]",
    );
    env.write("nested.yaml", &middle);
    env.write("leaf.yaml", &nested("types.yaml", "Middle", "Server"));
    follows_at_once_and_settles(&env);
}
