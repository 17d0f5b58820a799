//! Tests of the parts around the types and the topology: version, repositories, descriptions and named types.

use super::ReadOptions;
use super::testing::{read_template, read_template_with};
use crate::diagnostic::Severity;

#[test]
fn a_repository_needs_a_url() {
    let case = read_template(
        "
repositories:
  a: https://example.com/a
  b: {url: file:b}
  c: {description: no address}
  d:
  github.com/x/*: {revision: v1}
",
    );
    insta::assert_snapshot!(case.report(), @"
    service.yaml:5:3: repository `c` has no `url`
      hint: add `url:` with its address or the path of a folder
    service.yaml:6:3: repository `d` has no `url`
      hint: add `url:` with its address or the path of a folder
    ");
}

#[test]
fn a_description_is_a_text() {
    let case = read_template(
        "
description: {a: b}
node_types: {T: {description: [a], properties: {description: {type: map, default: {}}}}}
topology_template:
  description: 1
  inputs: {i: {type: string, description: {x: y}, default: x}}
  node_templates: {t: {type: T, properties: {description: {a: b}}}}
",
    );
    insta::assert_snapshot!(case.report(), @"
    service.yaml:2:14: `description` of a service template must be a string, not a map
    service.yaml:6:43: `description` of input `i` of the topology must be a string, not a map
    service.yaml:3:31: `description` of node type `T` must be a string, not a list
    ");
    assert!(case.problems.has_errors() && !case.problems.stop_loading());
}

#[test]
fn a_template_in_tosca_1_0_begins_with_its_version() {
    let late = |version: &str| {
        let text = format!("description: x\ntosca_definitions_version: {version}\n");
        read_template(text.leak()).report()
    };
    insta::assert_snapshot!(late("tosca_simple_yaml_1_0"), @"
    service.yaml:2:1: `tosca_definitions_version` must be the first line of a template in TOSCA 1.0
      hint: move it to the top of the file
    ");
    assert_eq!(late("tosca_simple_yaml_1_3"), "");
    let address = "http://docs.oasis-open.org/tosca/ns/simple/yaml/1.0";
    let text = format!("tosca_definitions_version: {address}\n");
    assert_eq!(read_template(text.leak()).report(), "");
}

#[test]
fn a_pattern_may_look_around_and_ends_after_many_steps() {
    let case = read_template(
        r"
node_types:
  T:
    properties:
      name: {type: string, constraints: [{pattern: '(?!-)[a-z0-9-]{1,63}(?<!-)'}]}
      slow: {type: string, constraints: [{pattern: '(a|b|ab)*\1d'}], required: false}
      bad: {type: string, constraints: [{pattern: '(?<!a'}], required: false}
topology_template:
  node_templates:
    right: {type: T, properties: {name: my-name}}
    wrong: {type: T, properties: {name: -name}}
    slow: {type: T, properties: {name: a, slow: ababababababababababababababababababababababababababababxd}}
",
    );
    insta::assert_snapshot!(case.report(), @r"
    service.yaml:7:51: `pattern` `(?<!a` is not a supported regular expression: opening parenthesis without closing parenthesis
    service.yaml:11:41: the value `-name` of property `name` in node template `wrong` does not match the pattern `(?!-)[a-z0-9-]{1,63}(?<!-)`
      hint: choose a value that the constraints of `name` allow
    service.yaml:12:49: the value `ababababababababababababababababababababababababababababxd` of property `slow` in node template `slow` cannot be matched with the pattern `(a|b|ab)*\1d`: the search takes more than 1000000 steps; write the expression with less ambiguity
      hint: choose a value that the constraints of `slow` allow
    ");
}

#[test]
fn a_list_of_types_names_types_that_exist() {
    let text = "
imports: [types.yaml]
capability_types: {C: {valid_source_types: [tosca.nodes.Rot, tosca.nodes.Root]}}
group_types: {G: {members: [D]}}
topology_template: {node_templates: {}}
";
    let files = [(
        "types.yaml",
        "capability_types: {D: {valid_source_types: [Nothing]}}",
    )];
    let options = ReadOptions {
        check_unused: true,
        ..ReadOptions::default()
    };
    let case = read_template_with(text, &files, &options);
    insta::assert_snapshot!(case.report(), @"
    service.yaml:3:45: there is no node type `tosca.nodes.Rot`
      hint: did you mean `tosca.nodes.Root`?
    service.yaml:4:29: `D` is a capability type, but a node type is required
    types.yaml:1:45: there is no node type `Nothing`
      hint: declare it under `node_types` or import it
    ");
    let in_unused_type = case.problems.iter().last();
    assert!(in_unused_type.is_some_and(|it| it.severity == Severity::Warning));
}
