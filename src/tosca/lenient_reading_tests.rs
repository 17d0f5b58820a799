//! Tests of lenient reading: harmless mistakes in public templates produce a warning, not an error.

use super::testing::read_template;
use crate::value::Value;

#[test]
fn a_type_in_the_wrong_section_is_what_it_derives_from() {
    let case = read_template(
        "
node_types:
  Cap: {derived_from: tosca.capabilities.Endpoint}
  T: {capabilities: {c: {type: Cap}}}
topology_template: {node_templates: {a: {type: T}}}
",
    );
    insta::assert_snapshot!(case.report(), @"
    service.yaml:3:3: `Cap` is a capability type, but it is declared among the node types
      hint: move it to `capability_types`
    ");
    assert!(case.node("a").capabilities.contains_key("c"));
}

#[test]
fn a_value_in_place_of_an_inherited_definition_is_its_default() {
    let case = read_template(
        "
node_types:
  Base: {properties: {port: {type: integer}}}
  T: {derived_from: Base, properties: {port: 80}}
topology_template: {node_templates: {a: {type: T}}}
",
    );
    insta::assert_snapshot!(case.report(), @"
    service.yaml:4:40: property `port` of `T` is a value, not a definition; it is taken as the default
      hint: write the value under `default:`
    ");
    assert_eq!(case.node("a").properties["port"].value, Value::from(80));
}

#[test]
fn an_artifact_of_a_template_completes_the_one_of_its_type() {
    let case = read_template(
        "
artifact_types: {Image: {properties: {os: {type: string}}}}
repositories: {r: {url: 'https://example.com'}}
node_types:
  T: {artifacts: {image: {type: Image, file: a.img, repository: r, artifact_version: '2', properties: {os: x}}}}
topology_template: {node_templates: {a: {type: T, artifacts: {image: {deploy_path: /b}}}}}
",
    );
    assert_eq!(case.report(), "");
    let image = &case.node("a").artifacts["image"];
    assert_eq!(image.file, Value::from("a.img"));
    assert_eq!(image.repository.as_deref(), Some("r"));
    assert_eq!(image.properties["os"].value, Value::from("x"));
    assert_eq!(image.fields["deploy_path"], Value::from("/b"));
}

#[test]
fn names_may_be_written_in_any_script() {
    let case =
        read_template("topology_template: {node_templates: {燈: {type: tosca.nodes.Root}}}\n");
    assert_eq!(case.report(), "");
}

#[test]
fn an_operation_that_is_an_empty_list_does_nothing() {
    let case = read_template(
        "
node_types: {T: {interfaces: {Standard: {create: []}}}}
topology_template: {node_templates: {a: {type: T}}}
",
    );
    assert_eq!(case.report(), "");
    assert!(!case.node("a").operations.implemented("Standard", "create"));
}

#[test]
fn a_capability_that_only_the_type_asks_for_may_be_missing() {
    let case = read_template(
        "
node_types:
  Db: {}
  App: {requirements: [{db: {node: Db, capability: tosca.capabilities.Attachment}}]}
topology_template: {node_templates: {db: {type: Db}, app: {type: App, requirements: [{db: db}]}}}
",
    );
    insta::assert_snapshot!(case.report(), @"
    service.yaml:5:87: requirement `db` of node template `app` needs capability `tosca.capabilities.Attachment`, which `db` does not have
      hint: the capabilities of `db` are `feature`
    ");
    insta::assert_snapshot!(case.targets("app"), @"db → db (tosca.relationships.Root, none)");
}

#[test]
fn a_word_of_old_yaml_says_whether_a_property_is_required() {
    let case = read_template(
        "
node_types: {T: {properties: {a: {type: string, required: no}, b: {type: string, required: maybe}}}}
topology_template: {node_templates: {a: {type: T, properties: {b: x}}}}
",
    );
    insta::assert_snapshot!(case.report(), @"
    service.yaml:2:59: `no` is a string in YAML; `required` of property `a` of `T` is false
      hint: write `false`
    service.yaml:2:92: `required` of property `b` of `T` must be true or false
    ");
}

#[test]
fn one_dependency_needs_no_list() {
    let case = read_template(
        "
topology_template:
  node_templates:
    a:
      type: tosca.nodes.Root
      artifacts: {tool: {file: tool.sh}}
      interfaces: {Standard: {create: {implementation: {primary: run.sh, dependencies: tool}}}}
",
    );
    assert_eq!(case.report(), "");
    let create = case.node("a").operations.get("Standard", "create").cloned();
    let implementation = create.and_then(|create| create.implementation.clone());
    assert_eq!(implementation.map(|it| it.dependencies.len()), Some(1));
}
