//! Substitution mapping: nested topologies that implement node templates of an outer topology.

use serde_json::Value as Json;

use super::drafts::{Draft, ensemble, text};
use super::support::TestEnv;

/// Node types whose operations write their actions to a file.
const TYPES: &str = "node_types:
  Told:
    derived_from: tosca.nodes.Root
    properties:
      text: {type: string, default: nothing}
    attributes:
      seen: {type: string, required: false}
    interfaces:
      Standard:
        create:
          implementation: Template
          inputs:
            done: {status: ok}
            resultTemplate:
              attributes: {seen: '{{ SELF.text }}'}
        delete:
          implementation: Template
          inputs: {done: {status: absent}}
";

/// An ensemble with this topology, which can use `nested.yaml`.
fn with_nested(topology: &str) -> Draft {
    let text = "
        imports: [nested.yaml]
        topology_template:
          <topology>
        ";
    ensemble(text).with("topology", topology)
}

fn targets(summary: &Json) -> Vec<String> {
    let tasks = summary["tasks"].as_array().unwrap().iter();
    tasks
        .map(|task| task["target"].as_str().unwrap().to_owned())
        .collect()
}

fn deploy(env: &TestEnv) -> Json {
    env.unfurl(["deploy", "--approve", "--output", "json"])
        .succeeds()
        .json()
}

/// Two templates substituted by the same topology, and a template that requires the first of them.
fn two_copies() -> TestEnv {
    let env = with_nested("
            node_templates:
              user: {type: Told, requirements: [{dependency: one}]}
              one: {type: Outer, directives: [substitute], properties: {text: first}, requirements: [{host: base}]}
              two: {type: Outer, directives: [substitute], properties: {text: second}, requirements: [{host: base}]}
              base: {type: Told, properties: {text: base}}
            ").env();
    env.write(
        "nested.yaml",
        &text("
                <types>
                  Outer:
                    derived_from: Told
                    requirements: [{host: {node: Told}}]
                topology_template:
                  root: {node: main}
                  node_templates:
                    main: {type: Outer, properties: {text: own}, requirements: [{dependency: part}, {host: part}]}
                    part: {type: Told, properties: {text: '{{ ROOT.app.text }} on {{ ROOT.host.text }}'}}
                ").with("types", TYPES).build(),
    );
    env
}

#[test]
fn what_stands_in_for_a_template_is_deployed_once_for_each_and_torn_down() {
    let env = two_copies();
    let summary = deploy(&env);
    let order = ["base", "part", "main", "user", "part", "main"];
    assert_eq!(targets(&summary), order);

    let record = env.ensemble();
    let base = &record["status"]["instances"]["base"]["instances"];
    assert_eq!(base["one"]["imported"], ":one:main");
    assert!(base["one"]["readyState"].is_null());
    for (outer, text) in [("one", "first"), ("two", "second")] {
        let within = &base[outer]["substitution"]["instances"];
        assert_eq!(within["main"]["attributes"]["seen"], text);
        let seen = format!("{text} on base");
        assert_eq!(within["part"]["attributes"]["seen"], seen.as_str());
        assert_eq!(within["part"]["template"], "part");
    }

    let again = deploy(&env);
    assert_eq!(again["job"]["total"], 0, "{again}");
    let status = env.unfurl(["status"]).succeeds().stdout.clone();
    assert!(
        status
            .lines()
            .any(|line| line.contains("two:part") && line.contains(" ok ")),
        "{status}"
    );

    let run = env.unfurl(["teardown", "--approve", "--output", "json"]);
    let gone = targets(&run.succeeds().json());
    let place = |name: &str| gone.iter().position(|it| it == name).unwrap();
    assert_eq!(gone.len(), 6, "{gone:?}");
    assert!(place("user") < place("main") && place("main") < place("part"));
    assert_eq!(gone[5], "base", "{gone:?}");
    deploy(&env);
}

#[test]
fn an_outer_name_selects_all_that_stands_in_for_it() {
    let env = two_copies();
    env.unfurl(["deploy", "--approve", "--instance", "base"])
        .succeeds();
    let run = env.unfurl([
        "deploy",
        "--approve",
        "--output",
        "json",
        "--instance",
        "one",
    ]);
    assert_eq!(targets(&run.succeeds().json()), ["part", "main"]);
}

#[test]
fn a_topology_of_a_type_takes_inputs_requirements_and_gives_attributes_and_capabilities() {
    let env = with_nested("
            node_templates:
              app: {type: tosca.nodes.Root, requirements: [{db: {node: db, capability: service}}]}
              db: {type: Db, directives: [substitute], properties: {size: 'v{{ 2 + 3 }}', name: x}, requirements: [{host: disk}]}
              disk: {type: Told, properties: {text: disk}}
            outputs:
              url: {value: {eval: '::db::url'}}
              version: {value: {eval: '::db::version'}}
              port: {value: {eval: '::app::.names::db::port'}}
              within: {value: {eval: '::db:server::.targets::on::text'}}
            ").env();
    env.write(
        "nested.yaml",
        &text("
                <types>
                  Db:
                    derived_from: tosca.nodes.Root
                    properties: {size: {type: string}, name: {type: string}}
                    attributes: {url: {type: string}, version: {type: string}}
                    capabilities: {service: {type: tosca.capabilities.Endpoint, properties: {port: {default: 1}}}}
                    requirements: [{host: {node: Told}}]
                  Server:
                    derived_from: Told
                    capabilities: {sql: tosca.capabilities.Endpoint}
                    requirements: [{on: {node: Told, occurrences: [1, 1]}}]
                topology_template:
                  inputs: {amount: {type: string, default: none}}
                  substitution_mappings:
                    node_type: Db
                    properties: {size: [amount], name: [server, text]}
                    attributes: {url: [server, seen]}
                    requirements: [{host: [server, on]}]
                    capabilities: {service: [server, sql]}
                  node_templates:
                    server: {type: Server, capabilities: {sql: {properties: {port: 5432}}}}
                    other: {type: Told, properties: {text: {get_input: amount}}}
                  outputs: {version: {value: {eval: '::other::text'}}}
                ").with("types", TYPES).build(),
    );
    let summary = deploy(&env);
    let outputs = &summary["outputs"];
    assert_eq!(outputs["url"], "x", "{summary}");
    assert_eq!(outputs["version"], "v5", "{summary}");
    assert_eq!(outputs["port"], 5432, "{summary}");
    assert_eq!(outputs["within"], "disk", "{summary}");
    assert_eq!(deploy(&env)["job"]["total"], 0);
}

#[test]
fn only_what_the_root_of_a_topology_needs_is_deployed() {
    let env = with_nested(
        "
            root: {node: app}
            node_templates:
              app: {type: tosca.nodes.Root, requirements: [{dependency: needed}]}
              needed: {type: Told}
              other: {type: Told}
            ",
    )
    .env();
    env.write("nested.yaml", TYPES);
    assert_eq!(targets(&deploy(&env)), ["needed"]);
    assert_eq!(
        env.ensemble()["status"]["instances"]["other"]["priority"],
        "ignore"
    );
}

#[test]
fn a_template_inside_is_replaced_by_what_the_outer_one_requires_under_its_name() {
    let env = with_nested(
        "
            node_templates:
              replacement: {type: Told}
              outer: {type: Outer, directives: [substitute], requirements: [{place: replacement}]}
            outputs:
              target: {value: {eval: '::outer:inner::.targets::dependency::.name'}}
              sources: {value: {eval: '::replacement::.sources::dependency::.name'}}
            ",
    )
    .env();
    env.write(
        "nested.yaml",
        &text("
                <types>
                  Outer: {derived_from: Told, requirements: [{place: {node: place}}, {inner: {node: inner}}]}
                topology_template:
                  substitution_mappings: {node_type: Outer}
                  node_templates:
                    place: {type: Told}
                    inner: {type: Told, requirements: [{dependency: place}]}
                ").with("types", TYPES).build(),
    );
    let summary = deploy(&env);
    let order = ["replacement", "inner", "_substitution_mapping"];
    assert_eq!(targets(&summary), order, "{summary}");
    assert_eq!(summary["outputs"]["target"], "replacement");
    assert_eq!(summary["outputs"]["sources"], "inner");
    let record = env.ensemble();
    let within = &record["status"]["instances"]["outer"]["substitution"]["instances"];
    assert!(within["place"].is_null(), "{within}");
}

#[test]
fn topologies_nest_in_each_other() {
    let env = with_nested(
        "
            node_templates:
              top: {type: Outer, directives: [substitute], properties: {text: deep}}
            ",
    )
    .env();
    env.write(
        "nested.yaml",
        "imports: [inner.yaml, types.yaml]
node_types:
  Outer: {derived_from: Told}
topology_template:
  root: {node: main}
  node_templates:
    main: {type: Outer, requirements: [{dependency: middle}]}
    middle: {type: Inner, directives: [substitute], properties: {text: '{{ ROOT.app.text }}er'}}
",
    );
    env.write("types.yaml", TYPES);
    env.write(
        "inner.yaml",
        "imports: [types.yaml]
node_types: {Inner: {derived_from: Told}}
topology_template:
  substitution_mappings: {node: core}
  node_templates: {core: {type: Inner}}
",
    );
    assert_eq!(targets(&deploy(&env)), ["core", "main"]);
    let record = env.ensemble();
    let top = &record["status"]["instances"]["top"]["substitution"]["instances"];
    let core = &top["middle"]["substitution"]["instances"]["core"];
    assert_eq!(core["attributes"]["seen"], "deeper");
    assert_eq!(deploy(&env)["job"]["total"], 0);
}

#[test]
fn two_copies_of_a_nested_topology_have_separate_configurations() {
    let env = with_nested(
        "
            node_templates:
              one: {type: Set, directives: [substitute], properties: {text: a}}
              two: {type: Set, directives: [substitute], properties: {text: b}}
            ",
    )
    .env();
    env.write(
        "nested.yaml",
        "node_types:
  Set:
    derived_from: tosca.nodes.Root
    properties: {text: {type: string}}
    interfaces:
      Standard:
        configure: {implementation: Template, inputs: {done: {status: ok}, run: '{{ SELF.text }}'}}
topology_template:
  root: {node: main}
  node_templates: {main: {type: Set, properties: {text: none}}}
",
    );
    assert_eq!(deploy(&env)["job"]["changed"], 2);
    assert_eq!(deploy(&env)["job"]["skipped"], 2);
    let changed = env.read("ensemble.yaml").replace("{text: a}", "{text: c}");
    env.write("ensemble.yaml", &changed);
    let summary = deploy(&env);
    assert_eq!(summary["job"]["total"], 1, "{summary}");
}

#[test]
fn an_interface_is_served_by_a_connection_that_a_requirement_states() {
    let with = |connection: &str| {
        let nodes = "
            node_templates:
              cluster: {type: tosca.nodes.Root<connection>}
              user: {type: Connected}
            ";
        with_nested(nodes).with("connection", connection).env()
    };
    let types = text(
        "
            <types>
              Connected:
                derived_from: Told
                interfaces:
                  Standard:
                    requirements: [unfurl.relationships.ConnectsTo.K8sCluster]
            ",
    )
    .with("types", TYPES)
    .build();
    let without = with("");
    without.write("nested.yaml", &types);
    assert!(targets(&deploy(&without)).is_empty());
    let inline = ", requirements: [{connection: {relationship: {type: unfurl.relationships.ConnectsTo.K8sCluster, default_for: ANY}}}]";
    let with = with(inline);
    with.write("nested.yaml", &types);
    assert_eq!(targets(&deploy(&with)), ["user"]);
}
