//! Reads a service template from its parsed YAML.
//!
//! [`read`] is the entry of the module: it loads the types of all imported files, reads the topology, matches
//! requirements and substitutes nested topologies. The other functions read single templates that are outside
//! of the topology, and check input values.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;

use super::check::check;
use super::match_state::MatchState;
use super::nesting::flatten;
use super::node_template::{NodeReader, UnmatchedTemplate};
use super::options::ReadOptions;
use super::overlay::{decorators, overrides, written_node_templates};
use super::relationship::PlainRelationships;
use super::requirement_resolver::RequirementResolver;
use super::scope::{TypeScope, description, values_at};
use super::template::{NodeTemplate, ServiceTemplate, TopologyTemplate};
use super::template_index::TemplateIndex;
use super::topology::{ExtraTemplates, TopologyDraft};
use super::type_loader::Importer;
use super::type_loader::{LoadedFile, LoadedTypes, load};
use super::types::{ROOT, Types};
use super::unfetched_imports::join_with_unknown_names;
use crate::diagnostic::{Check, Diagnostic, Diagnostics, Span};
use crate::name::TemplateName;
use crate::value::{FoldMap, Map};
use crate::yaml::{Mapping, Node};

/// Reads a service template. Returns it with all problems found.
///
/// The template is `None` only if `root` is not a map. If the problems contain an error, the parts that the
/// error is about are missing.
pub fn read(
    root: &Node,
    base_dir: &Path,
    importer: &mut dyn Importer,
    options: &ReadOptions,
) -> (Option<ServiceTemplate>, Diagnostics) {
    let empty = Mapping::default();
    let map = match root.as_map() {
        Some(map) => map,
        None if root.is_null() => &empty,
        None => {
            let mismatch = root.type_mismatch("a service template", "a map");
            return (None, mismatch.into());
        }
    };
    let LoadedTypes {
        mut types,
        files,
        conditions,
    } = load(root, base_dir, importer, options);
    types.directories.clone_from(&options.directories);
    types.strict = options.check_references;
    types.check_ancestry();
    let scope = TypeScope::of(&types, ROOT);
    let overrides = overrides(scope, map, options);
    let more = ExtraTemplates::of(overrides.as_ref(), options);
    let draft = scope.draft(map.get("topology_template"), more);
    let patterns = patterns(&types, &files);
    let topology = flatten(&types, draft, &patterns, options.match_declared);
    let substitutable = patterns.iter().filter_map(TopologyDraft::substitution);
    let substitutable = substitutable.filter_map(|it| it.type_key).collect();
    drop(patterns);
    let decorators = decorators(&files);
    let unused = types.unused();
    if options.check_unused {
        types.resolve_all();
    }
    let template = ServiceTemplate {
        metadata: metadata(map),
        description: description(map),
        repositories: repositories(&files),
        conditions,
        blueprints: map.get("deployment_blueprints").cloned(),
        written_node_templates: written_node_templates(map, overrides.as_ref(), &decorators),
        decorators,
        own_topology: map.get("topology_template").cloned(),
        overrides: overrides.unwrap_or_default(),
        topology: Arc::new(topology),
        substitutable,
        imported_artifacts: imported_artifacts(&files),
        types: Arc::new(types),
    };
    let problems = unused.downgrade_errors(template.types.take_problems(), root.span().source);
    (Some(template), join_with_unknown_names(problems))
}

/// Returns the names of the artifacts of node templates in imported files.
fn imported_artifacts(files: &[LoadedFile]) -> HashSet<Arc<str>> {
    let templates = files.iter().skip(1).filter_map(|file| {
        let topology = file.root.get("topology_template")?;
        topology.get("node_templates")?.as_map()
    });
    let artifacts = templates
        .flat_map(|map| map.iter())
        .filter_map(|(_, entry)| entry.value.get("artifacts")?.as_map());
    let names = artifacts.flat_map(|map| map.iter()).map(|(name, _)| name);
    names.map(Arc::clone).collect()
}

/// Returns the repositories that the files declare. The service template has priority over its imports.
fn repositories(files: &[LoadedFile]) -> IndexMap<Arc<str>, Node> {
    let sections = files
        .iter()
        .rev()
        .filter_map(|file| file.root.get("repositories")?.as_map());
    sections
        .flatten()
        .map(|(name, entry)| (Arc::clone(name), entry.value.clone()))
        .collect()
}

/// Returns the `metadata`, with the keys that TOSCA 1.0 places beside it.
fn metadata(map: &Mapping) -> Map {
    let mut metadata = values_at(map, "metadata");
    for key in ["template_name", "template_author", "template_version"] {
        if let Some(node) = map.get(key) {
            metadata
                .entry(key.into())
                .or_insert_with(|| node.to_value());
        }
    }
    metadata
}

/// Returns the topologies of imported files that can substitute for a node template.
fn patterns<'a>(types: &'a Types, files: &[LoadedFile]) -> Vec<TopologyDraft<'a>> {
    let draft = |file: &LoadedFile| {
        let node = file.root.get("topology_template")?;
        if node.get("substitution_mappings").is_none() && node.get("root").is_none() {
            return None;
        }
        let scope = TypeScope::of(types, file.namespace);
        Some(scope.draft(Some(node), ExtraTemplates::default()))
    };
    files.iter().skip(1).filter_map(draft).collect()
}

/// The place and the source of an input's value, for messages.
#[derive(Debug, Clone)]
pub struct InputOrigin {
    /// The place of the value. [`Span::NONE`] if no text contains it, or if it must not be shown.
    pub span: Span,
    /// The source as messages name it, such as `--var input_port`; None if the place says enough.
    pub named: Option<String>,
}

/// Checks the values of a topology's inputs.
///
/// Reports missing required inputs, and values that violate their definitions.
///
/// `origins` has the places and sources of values for messages.
pub fn check_inputs(
    types: &Types,
    topology: &TopologyTemplate,
    values: &Map,
    origins: &[(Arc<str>, InputOrigin)],
) -> Diagnostics {
    let origins: HashMap<&str, &InputOrigin> = origins
        .iter()
        .map(|(name, origin)| (&**name, origin))
        .collect();
    let mut problems = Diagnostics::default();
    for (name, def) in &topology.inputs {
        match values.get(name) {
            Some(value) => {
                let origin = origins.get(&**name);
                let span = origin.map_or(Span::NONE, |origin| origin.span);
                let named = origin.and_then(|origin| origin.named.as_ref());
                let named = named.map_or_else(String::new, |named| format!(" ({named})"));
                let subject = format_args!("input `{name}`{named}");
                let (_, found) = check(types, def, value, subject, (None, span));
                for problem in found {
                    problems.push(problem.label(def.span, "declared here"));
                }
            }
            None if def.required && def.default.is_none() => problems.push(
                Diagnostic::error(format!("input `{name}` is missing"))
                    .check(Check::MissingInput)
                    .contained()
                    .label(def.span, "declared here, without a default")
                    .help(format!(
                        "set it with `--var input_{name} VALUE`, and add `--save-inputs` to keep the value in \
                         `spec.inputs` of the ensemble; or set it there or under `inputs` of the environment"
                    )),
            ),
            None => {}
        }
    }
    problems
}

/// Reads a node template that is outside of the topology, such as the `template` of an instance.
///
/// Its requirements may name templates of the topology.
pub fn read_node_template(
    service: &ServiceTemplate,
    name: &TemplateName,
    node: &Node,
) -> (Option<NodeTemplate>, Diagnostics) {
    let scope = TypeScope::of(&service.types, ROOT);
    let template = scope.standalone_template(name, node, &service.topology);
    (template, service.types.take_problems())
}

/// Reads a relationship template that is outside of the topology, such as a connection of an environment.
pub fn read_relationship_template(
    service: &ServiceTemplate,
    name: &TemplateName,
    node: &Node,
) -> (Option<super::template::RelationshipTemplate>, Diagnostics) {
    let scope = TypeScope::of(&service.types, ROOT);
    let subject = format!("relationship template `{name}`");
    let template = scope.relationship_template(&subject, Some(name.clone()), node, None);
    (template, service.types.take_problems())
}

impl TypeScope<'_> {
    /// Reads a node template. Its requirements may name templates of the topology.
    pub(super) fn standalone_template(
        self,
        name: &TemplateName,
        node: &Node,
        topology: &TopologyTemplate,
    ) -> Option<NodeTemplate> {
        let mut reader = NodeReader::new(self);
        let unmatched = reader.read(&name.shared(), node, node.span())?;
        let named = unmatched.stated.iter().filter_map(|def| def.node.as_ref());
        let mut all: Vec<UnmatchedTemplate> = named
            .filter_map(|node| topology.nodes.get(&*node.name))
            .filter(|template| template.name != *name)
            .map(|template| UnmatchedTemplate {
                template: NodeTemplate::clone(template),
                stated: Vec::new(),
            })
            .collect();
        let place = all.len();
        all.push(unmatched);
        let requirements = {
            let mut resolver = RequirementResolver {
                types: self.types,
                index: TemplateIndex::new(self.types, &all),
                relationships: &topology.relationships,
                plain: PlainRelationships::default(),
                match_declared: false,
                assignments: Vec::new(),
                outer_requirements: &FoldMap::default(),
                match_state: MatchState::default(),
            };
            resolver.requirements(place)
        };
        let mut template = all.pop()?.template;
        template.requirements = requirements;
        Some(template)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{read_template, read_template_with};
    use super::*;
    use crate::value::Value;

    #[test]
    fn a_hello_template_is_read() {
        let case = read_template(
            "
topology_template:
  inputs: {who: {type: string, default: world}}
  outputs: {said: {value: {eval: '::hello::said'}, description: What was said}}
  node_templates:
    hello:
      type: unfurl.nodes.Generic
      properties: {text: 'hi {{ TOPOLOGY.inputs.who }}', times: 2}
      interfaces: {Standard: {configure: echo hi}}
",
        );
        assert_eq!(case.report(), "");
        let hello = case.node("hello");
        assert_eq!(hello.properties["times"].value, Value::from(2));
        assert!(hello.is_a("tosca.nodes.Root") && hello.is_a("tosca:Root"));
        assert!(hello.operations.implemented("Standard", "configure"));
        assert!(case.service.topology.inputs["who"].default.is_some());
        assert!(
            case.service.topology.outputs["said"]
                .value
                .as_map()
                .is_some()
        );
    }

    #[test]
    fn templates_of_one_type_share_what_they_do_not_override() {
        let case = read_template(
            "
node_types:
  T:
    properties: {p: {type: string, default: x}}
    attributes: {a: {type: string}}
    interfaces: {Standard: {configure: echo}}
topology_template:
  node_templates: {a: {type: T}, b: {type: T}}
",
        );
        let (a, b) = (case.node("a"), case.node("b"));
        assert!(Arc::ptr_eq(&a.node_type, &b.node_type));
        assert!(Arc::ptr_eq(&a.operations, &b.operations));
        assert!(Arc::ptr_eq(&a.properties, &b.properties));
        assert!(Arc::ptr_eq(&a.attributes, &b.attributes));
        assert!(Arc::ptr_eq(&a.capabilities, &b.capabilities));
        assert!(Arc::ptr_eq(&a.artifacts, &b.artifacts));
    }

    #[test]
    fn misspelt_keys_and_names_get_a_hint() {
        let case = read_template(
            "
topology_templat: {}
node_types:
  Web: {derived_from: tosca.nodes.Rot, propertes: {}}
topology_template:
  node_template: {}
  node_templates:
    a: {type: Wbe}
    b: {type: Web, requirement: []}
    c: {}
    d: {type: tosca.capabilities.Root}
",
        );
        insta::assert_snapshot!(case.report(), @"
        service.yaml:2:1: a service template has no key `topology_templat`
          hint: did you mean `topology_template`?
        service.yaml:4:23: there is no node type `tosca.nodes.Rot`
          hint: did you mean `tosca.nodes.Root`?
        service.yaml:6:3: a topology template has no key `node_template`
          hint: did you mean `node_templates`?
        service.yaml:8:15: there is no node type `Wbe`
          hint: did you mean `Web`?
        service.yaml:9:20: node template `b` has no key `requirement`
          hint: did you mean `requirements`?
        service.yaml:4:40: node type `Web` has no key `propertes`
          hint: did you mean `properties`?
        service.yaml:10:5: node template `c` has no `type`
          hint: give it a `type`: the name of a node type
        service.yaml:11:15: `tosca.capabilities.Root` is a capability type, but a node type is required
        ");
    }

    #[test]
    fn shapes_that_make_no_sense_are_problems_and_nothing_more() {
        let case = read_template(
            "
node_types: [a, b]
relationship_types: {R: 1}
topology_template:
  inputs: [x]
  outputs: {o: {}, p: 1}
  node_templates:
    a: [1]
    b: {type: [x]}
    c: {type: tosca:Root, properties: 1, requirements: {host: b}, interfaces: {Standard: 1}}
    d: {type: tosca:Root, requirements: [x, {a: b, c: d}, {e: 1}], capabilities: [], artifacts: 1}
    1bad: {type: tosca:Root}
  relationship_templates: {r: 1, s: {type: R}}
  groups: {g: {type: tosca.groups.Root, members: [nobody]}}
  policies: [{p: {type: tosca.policies.Root, targets: [d, nobody]}}, 1]
  workflows: {w: {steps: {s: {target: a, activities: [1, {cal: x}], on_success: [t]}, t: 1}}}
  substitution_mappings: {node: nobody}
",
        );
        insta::assert_snapshot!(case.report(), @"
        service.yaml:2:13: `node_types` must be a map, not a list
        service.yaml:5:11: `inputs` must be a map, not a list
        service.yaml:6:13: output `o` has no `value`
        service.yaml:6:20: output `p` must be a map with a `type`, not an integer
        service.yaml:13:31: relationship template `r` must be a map, not an integer
        service.yaml:3:25: relationship type `R` must be a map, not an integer
        service.yaml:8:8: node template `a` must be a map, not a list
        service.yaml:9:15: the type of node template `b` must be a name
        service.yaml:10:39: `properties` of node template `c` must be a map, not an integer
        service.yaml:10:80: interface `Standard` of node template `c` must be a map, not an integer
        service.yaml:10:56: `requirements` of node template `c` must be a list, not a map
        service.yaml:11:97: `artifacts` of node template `d` must be a map, not an integer
        service.yaml:11:82: `capabilities` of node template `d` must be a map, not a list
        service.yaml:11:42: a requirement of `d` must be a map with one key, its name
        service.yaml:11:45: a requirement of `d` must be a map with one key, its name
        service.yaml:11:60: requirement `e` of `d` must be the name of a node, or a map, not an integer
        service.yaml:12:5: `1bad` is not a valid name for a node template
          hint: use letters, digits, `.`, `_`, `-` and `:`, and start with a letter
        service.yaml:14:51: group `g` names `nobody`, which is neither a node template nor a group
        service.yaml:15:59: policy `p` names `nobody`, which is neither a node template nor a group
        service.yaml:15:70: a policy must be a map, not an integer
        service.yaml:16:55: an activity of step `s` of workflow `w` must be a map with one key
        service.yaml:16:59: step `s` of workflow `w` has an unknown activity `cal`
        service.yaml:16:90: step `t` of workflow `w` must be a map, not an integer
        service.yaml:16:82: workflow `w` has no step `t`, which step `s` refers to
        service.yaml:17:3: `substitution_mappings` names `nobody`, which is not a node template
        ");
    }

    #[test]
    fn types_that_derive_from_each_other_are_a_problem_not_a_loop() {
        let case = read_template(
            "
node_types:
  A: {derived_from: B}
  B: {derived_from: [C, tosca.nodes.Root]}
  C: {derived_from: A}
  D: {derived_from: D}
topology_template: {node_templates: {a: {type: A}, d: {type: D}}}
",
        );
        insta::assert_snapshot!(case.report(), @"
        service.yaml:6:21: type `D` derives from itself
        service.yaml:3:3: types derive from each other: `A` → `B` → `C`
          hint: remove one `derived_from` from the cycle
        ");
    }

    #[test]
    fn a_type_inherits_from_several_types() {
        let case = read_template(
            "
node_types:
  Named: {properties: {name: {type: string, default: nobody}}}
  Sized: {properties: {size: {type: integer, default: 1}, name: {type: string, default: sized}}}
  Both: {derived_from: [Named, Sized], properties: {size: {default: 2}}}
topology_template: {node_templates: {a: {type: Both}}}
",
        );
        assert_eq!(case.report(), "");
        let a = case.node("a");
        assert_eq!(a.properties["name"].value.to_string(), "nobody");
        assert_eq!(a.properties["size"].value, Value::from(2));
        assert!(a.is_a("Sized") && a.is_a("Named") && !a.is_a("Other"));
        let refined = &a.node_type.properties["size"];
        let base = refined.base.as_ref().expect("it refines another");
        assert_eq!(base.default, Some(Value::from(1)));
        assert!(case.service.types.is_derived_from("Both", "tosca:Root"));
    }

    #[test]
    fn the_section_types_takes_types_of_every_kind() {
        let case = read_template(
            "
types:
  my.Node: {derived_from: tosca.nodes.Root, requirements: [{db: {node: my.Node, relationship: my.Link, occurrences: [0, 1]}}]}
  my.Link: {derived_from: tosca.relationships.DependsOn}
  my.Size: {derived_from: tosca.datatypes.Root, properties: {x: {type: integer}}}
topology_template:
  node_templates: {a: {type: my.Node, requirements: [{db: b}]}, b: {type: my.Node}}
",
        );
        assert_eq!(case.report(), "");
        insta::assert_snapshot!(case.targets("a"), @"db → b (my.Link, feature)");
    }

    #[test]
    fn imports_bring_types_with_and_without_a_prefix() {
        let files = [
            (
                "types.yaml",
                "imports: [more.yaml, types.yaml]\nnode_types: {N: {derived_from: M, interfaces: {Standard: {configure: ./run.sh}}}}",
            ),
            (
                "more.yaml",
                "imports: [{file: types.yaml}]\nnode_types: {M: {properties: {p: {type: string, default: m}}}}",
            ),
        ];
        let text = "
imports: [{file: types.yaml, namespace_prefix: l}, {file: types.yaml}]
topology_template: {node_templates: {a: {type: l.N}, b: {type: N}, c: {type: l.M}, d: {type: x.N}}}
";
        let case = read_template_with(text, &files, &ReadOptions::default());
        insta::assert_snapshot!(case.report(), @"
        service.yaml:3:94: there is no node type `x.N`
          hint: declare it under `node_types` or import it
        ");
        let (a, b) = (case.node("a"), case.node("b"));
        assert!(Arc::ptr_eq(&a.node_type, &b.node_type));
        assert_eq!(a.type_name, "l.N");
        assert!(a.is_a("l.M") && a.is_a("M") && b.is_a("l.N"));
        let operation = a
            .operations
            .get("Standard", "configure")
            .expect("it is there");
        assert_eq!(operation.base_dir.as_path(), Path::new("/imported"));
    }

    #[test]
    fn a_missing_import_is_reported_at_its_position() {
        let text = "imports: [gone.yaml, {repository: r}, {name: {file: also-gone.yaml}}]\n";
        let case = read_template_with(text, &[], &ReadOptions::default());
        insta::assert_snapshot!(case.report(), @"
        service.yaml:1:22: an import has no `file`
          hint: add `file:` with the path of the file to import
        service.yaml:1:11: there is no file `gone.yaml`
        service.yaml:1:53: there is no file `also-gone.yaml`
        ");
    }

    #[test]
    fn values_are_checked_against_types_and_constraints() {
        let case = read_template(
            "
data_types:
  Port: {type: integer, constraints: [{in_range: [1, 65535]}]}
  Endpoint: {properties: {host: {type: string}, port: {type: Port}, proto: {type: string, default: tcp}}}
node_types:
  T:
    properties:
      count: {type: integer, required: false, constraints: [{in_range: [1, 10]}]}
      kind: {type: string, required: false, constraints: [{valid_values: [a, b]}]}
      name: {type: string, required: false, constraints: [{pattern: '[a-z]+'}, {max_length: 3}]}
      size: {type: scalar-unit.size, required: false, constraints: [{greater_or_equal: 1 GB}]}
      ends: {type: list, entry_schema: {type: Endpoint}, required: false}
      secret: {type: integer, required: false, metadata: {sensitive: true}}
      needed: {type: any}
topology_template:
  node_templates:
    bad:
      type: T
      properties:
        count: 11
        kind: c
        name: A1x9
        size: 10 MB
        secret: hush
        ends: [{host: h, port: 70000}, {port: x, extra: 1}, {host: h, port: '{{ 1 }}'}]
        nedeed: 1
    good:
      type: T
      properties: {count: {get_input: c}, size: 2gb, ends: [{host: h, port: '80'}], needed: null, name: '{{ x }}'}
",
        );
        insta::assert_snapshot!(case.report(), @"
        service.yaml:17:5: node template `bad` has no property `needed`, which `T` requires
          hint: add `needed` to its `properties`
        service.yaml:20:16: the value `11` of property `count` in node template `bad` is not between 1 and 10
          hint: choose a value that the constraints of `count` allow
        service.yaml:21:15: the value `c` of property `kind` in node template `bad` is not one of `a`, `b`
          hint: choose a value that the constraints of `kind` allow
        service.yaml:22:15: the value `A1x9` of property `name` in node template `bad` does not match the pattern `[a-z]+`
          hint: choose a value that the constraints of `name` allow
        service.yaml:22:15: the value `A1x9` of property `name` in node template `bad` must have at most the length 3
          hint: choose a value that the constraints of `name` allow
        service.yaml:23:15: the value `10 MB` of property `size` in node template `bad` must be greater than or equal to `1 GB`
          hint: choose a value that the constraints of `size` allow
        service.yaml:24:17: the value <<REDACTED>> of property `secret` in node template `bad` is not an integer
          hint: the type of `secret` is `integer`
        service.yaml:25:32: the value `70000` of property `ends[0].port` in node template `bad` is not between 1 and 65535
          hint: choose a value that the constraints of `ends` allow
        service.yaml:25:47: the value `x` of property `ends[1].port` in node template `bad` is not an integer
          hint: the type of `ends` is `list`
        service.yaml:25:50: property `ends[1].extra` in node template `bad` is not a field of `Endpoint`
        service.yaml:25:40: property `ends[1]` in node template `bad` has no `host`, which the type `Endpoint` requires
        service.yaml:26:9: property `nedeed` is not declared on `T`
          hint: did you mean `needed`?
        ");
        let good = case.node("good");
        assert_eq!(good.properties["size"].value.to_string(), "2 GB");
        let ends = good.properties["ends"].value.to_string();
        assert_eq!(ends, "[{'host': 'h', 'port': 80, 'proto': 'tcp'}]");
    }

    #[test]
    fn a_property_of_a_derived_type_can_become_an_attribute_and_back() {
        let case = read_template(
            "
node_types:
  Base: {properties: {p: {type: string, default: x}}, attributes: {q: {type: string}}}
  Derived: {derived_from: Base, attributes: {p: {type: string}}, properties: {q: {type: string, default: y}}}
topology_template: {node_templates: {a: {type: Derived}}}
",
        );
        assert_eq!(case.report(), "");
        let a = case.node("a");
        assert!(a.attributes.contains_key("p") && a.properties.contains_key("p"));
        assert!(!a.attributes.contains_key("q") && a.properties.contains_key("q"));
    }

    #[test]
    fn inputs_are_checked_when_their_values_are_known() {
        let case = read_template(
            "
topology_template:
  inputs:
    cpus: {type: integer, default: 2, constraints: [{valid_values: [1, 2, 4]}]}
    who: {type: string}
    free: {}
    bad: {type: integer, default: many}
",
        );
        insta::assert_snapshot!(case.report(), @"
        service.yaml:7:35: the value `many` of input `bad` is not an integer
          hint: the type of `bad` is `integer`
        ");
        let values = [("cpus", Value::from(3)), ("free", Value::Null)];
        let values: Map = values.map(|(k, v)| (Arc::from(k), v)).into_iter().collect();
        let origins = [(
            Arc::from("cpus"),
            InputOrigin {
                span: Span::NONE,
                named: Some("`--var input_cpus`".to_owned()),
            },
        )];
        let service = &case.service;
        let problems = check_inputs(&service.types, &service.topology, &values, &origins);
        let messages: Vec<_> = problems.iter().map(|it| it.message.as_str()).collect();
        insta::assert_snapshot!(messages.join("\n"), @"
        the value `3` of input `cpus` (`--var input_cpus`) is not one of `1`, `2`, `4`
        input `who` is missing
        ");
    }

    #[test]
    fn a_blueprint_replaces_and_adds_templates() {
        let text = "
topology_template: {node_templates: {a: {type: tosca:Root}, b: {type: tosca:Root, requirements: [{dependency: a}]}}}
deployment_blueprints:
  dev: {node_templates: {a: {type: tosca:Root, requirements: [{dependency: c}]}, c: {type: tosca:Root}}}
";
        let options = ReadOptions {
            blueprint: Some(("dev".into(), Span::NONE)),
            ..ReadOptions::default()
        };
        let case = read_template_with(text, &[], &options);
        assert_eq!(case.report(), "");
        let names: Vec<_> = case
            .service
            .topology
            .nodes
            .keys()
            .map(TemplateName::as_str)
            .collect();
        assert_eq!(names, ["a", "b", "c"]);
        assert_eq!(case.node("a").requirements[0].target, Some("c".into()));
    }

    #[test]
    fn an_imported_topology_can_stand_in_for_a_node() {
        let files = [(
            "nested.yaml",
            "
node_types: {Nested: {properties: {p: {type: string}}}}
topology_template:
  root: {node: inner}
  node_templates: {inner: {type: Nested}}
",
        )];
        let text = "
imports: [nested.yaml]
topology_template: {node_templates: {outer: {type: Nested, directives: [substitute], properties: {p: x}}}}
";
        let case = read_template_with(text, &files, &ReadOptions::default());
        assert_eq!(case.report(), "");
        assert_eq!(
            case.node("outer").representative,
            Some("outer:inner".into())
        );
        assert_eq!(case.node("outer:inner").local_name(), "inner");
    }

    #[test]
    fn a_template_outside_of_the_topology_is_read_alone() {
        let case = read_template(
            "
node_types: {T: {properties: {p: {type: integer}}, interfaces: {Standard: {configure: echo}}}}
topology_template: {node_templates: {base: {type: T, properties: {p: 1}}}}
",
        );
        let mut sources = crate::diagnostic::Sources::default();
        let text = "{type: T, properties: {p: x}, requirements: [{host: base}]}";
        let source = sources.add("instance.yaml", text, None);
        let node = crate::yaml::parse(&sources, source, &crate::yaml::Limits::default()).unwrap();
        let (template, problems) = read_node_template(&case.service, &"lone".into(), &node);
        let template = template.expect("it has a type");
        assert_eq!(template.host(), Some(&"base".into()));
        let messages: Vec<_> = problems.iter().map(|it| it.message.as_str()).collect();
        insta::assert_snapshot!(messages.join("\n"), @"the value `x` of property `p` in node template `lone` is not an integer");
    }

    #[test]
    fn workflows_groups_and_policies_are_read() {
        let case = read_template(
            "
group_types: {G: {derived_from: tosca.groups.Root, properties: {x: {type: integer, default: 1}}}}
topology_template:
  node_templates: {a: {type: tosca:Root}, b: {type: tosca:Root}}
  groups: {g: {type: G, members: [a, b]}}
  policies: [{p: {type: tosca.policies.Root, targets: [g]}}]
  workflows:
    restart:
      preconditions: [{target: a, condition: [{state: [{equal: started}]}]}]
      steps:
        one:
          target: a
          activities: [{call_operation: Standard.stop}, {set_state: stopped}, {inline: other}]
          on_success: two
        two: {target: tosca.nodes.Root, activities: [{delegate: {workflow: check, inputs: {x: 1}}}]}
",
        );
        assert_eq!(case.report(), "");
        let topology = &case.service.topology;
        assert_eq!(topology.groups["g"].properties["x"].value, Value::from(1));
        assert_eq!(&*topology.policies["p"].targets[0], "g");
        let steps = &topology.workflows["restart"].steps;
        assert_eq!(steps["one"].activities.len(), 3);
        assert_eq!(&*steps["one"].on_success[0], "two");
    }
}
