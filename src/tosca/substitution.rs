//! Reads and checks `substitution_mappings`.
//!
//! The mappings state which node type a topology can substitute for, and how its inputs, attributes,
//! requirements and capabilities map to those of the substituted node. `nesting.rs` applies them.

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::diagnostic::{Check, Diagnostic, Span};
use crate::name::TemplateName;
use crate::text::did_you_mean;
use crate::value::Value;
use crate::yaml::{MapEntry, Mapping, Node, NodeKind};

use super::check::is_expression;
use super::definition::ParameterDef;
use super::keys::{NODE_FILTER, SUBSTITUTION, SUBSTITUTION_FILTER};
use super::node_filter::NodeFilter;
use super::node_template::{NodeReader, UnmatchedTemplate};
use super::scope::{TypeScope, values};
use super::section::TypeSection;
use super::template::{MappingTarget, NodeTemplate, PartMapping, Substitution};

/// The name of the template that is created if a mapping names a node type but no node template.
const REPRESENTATIVE_NODE: &str = "_substitution_mapping";

impl NodeTemplate {
    /// Whether the template was created to represent a nested topology whose mapping names no node.
    pub fn is_created_representative(&self) -> bool {
        let name = self.name.as_str().rsplit(':').next();
        self.nested_in.is_some() && name == Some(REPRESENTATIVE_NODE)
    }
}

/// The sections that map parts of the nested topology to parts of the substituted node.
const MAPPED_SECTIONS: &[&str] = &["properties", "attributes", "requirements", "capabilities"];

impl TypeScope<'_> {
    /// Reads the `substitution_mappings` (or `root`) of a topology.
    pub(super) fn substitution(self, map: &Mapping) -> Option<Substitution> {
        let is_blank = |node: &Node| node.is_null() || node.as_map().is_some_and(Mapping::is_empty);
        let stated = |key| map.entry(key).filter(|entry| !is_blank(&entry.value));
        let entry = stated("substitution_mappings").or_else(|| stated("root"))?;
        let subject = || "`substitution_mappings`".to_owned();
        let mapping = self.map(&entry.value, subject)?;
        self.problems()
            .report_unknown_keys(&SUBSTITUTION, "`substitution_mappings`", mapping);
        let type_node = mapping.get("node_type").or_else(|| mapping.get("type"));
        let key =
            type_node.and_then(|node| self.require(node.as_str()?, TypeSection::Node, node.span()));
        let node = self
            .text_at(mapping, "node", subject)
            .map(TemplateName::new);
        if node.is_none() && type_node.is_none() {
            let message = "`substitution_mappings` has neither `node` nor `node_type`";
            let problem = Diagnostic::error(message)
                .check(Check::InvalidSubstitution)
                .label(entry.key_span, "");
            self.report(
                problem.help(
                    "add `node_type` with the node type that the topology can substitute for",
                ),
            );
        }
        if node.is_some() {
            self.check_no_parts(mapping);
        }
        self.check_interfaces(mapping);
        Some(Substitution {
            node,
            node_type: key.map(|key| self.types.name(key)),
            type_key: key,
            properties: mapping
                .get("properties")
                .filter(|node| !node.is_null())
                .map(|_| self.mapped(mapping, "properties")),
            attributes: self.mapped(mapping, "attributes"),
            requirements: self.mapped(mapping, "requirements"),
            capabilities: self.mapped(mapping, "capabilities"),
            filter: self.substitution_filter(mapping),
            mapping: values(&entry.value),
            span: entry.key_span,
        })
    }

    /// Reports mapped parts beside `node`. A node that represents the topology does so with all its own
    /// parts.
    fn check_no_parts(self, mapping: &Mapping) {
        for key in MAPPED_SECTIONS {
            let Some(entry) = mapping.entry(key).filter(|entry| !entry.value.is_null()) else {
                continue;
            };
            let message = format!("`substitution_mappings` cannot have `{key}` beside `node`");
            let problem = Diagnostic::error(message)
                .check(Check::InvalidSubstitution)
                .label(entry.key_span, "");
            self.report(problem.help("replace `node` by `node_type`, or remove the section"));
        }
    }

    fn check_interfaces(self, mapping: &Mapping) {
        let Some(entry) = mapping
            .entry("interfaces")
            .filter(|entry| !entry.value.is_null())
        else {
            return;
        };
        let subject = || "`interfaces` of `substitution_mappings`".to_owned();
        if self.map(&entry.value, subject).is_some() {
            let message = "`interfaces` of `substitution_mappings` has no effect";
            let problem = Diagnostic::warning(message)
                .check(Check::UnusedKey)
                .label(entry.key_span, "");
            self.report(problem.help("the operations of the nested templates run instead"));
        }
    }

    /// Reads a section of the mapping: a map, or a list of maps with one key each.
    fn mapped(self, mapping: &Mapping, key: &str) -> IndexMap<Arc<str>, PartMapping> {
        let mut mapped = IndexMap::new();
        let Some(node) = mapping.get(key).filter(|node| !node.is_null()) else {
            return mapped;
        };
        let items = node.as_seq().unwrap_or(std::slice::from_ref(node));
        for item in items {
            let subject = || format!("`{key}` of `substitution_mappings`");
            for (name, entry) in self.map(item, subject).into_iter().flatten() {
                let to = mapped_to(&entry.value, key == "properties");
                if to.is_none() {
                    let message = format!(
                        "`{name}` in `{key}` of `substitution_mappings` has no valid target"
                    );
                    let problem = Diagnostic::error(message)
                        .check(Check::InvalidSubstitution)
                        .label(entry.value.span(), "");
                    self.report(problem.help("write a list: the node template, then the name"));
                }
                mapped.extend(to.map(|to| {
                    let mapping = PartMapping {
                        target: to,
                        span: entry.key_span,
                        words: word_spans(&entry.value),
                    };
                    (Arc::clone(name), mapping)
                }));
            }
        }
        mapped
    }

    /// Reads the filter that substituted templates must meet: a node filter, bare or under `node_filter`.
    fn substitution_filter(self, mapping: &Mapping) -> Option<Node> {
        let subject = "`substitution_filter`";
        let node = mapping
            .get("substitution_filter")
            .filter(|node| !node.is_null())?;
        let mut map = self.map(node, || subject.to_owned())?;
        let mut filter = node;
        if let Some(inner) = map.get("node_filter") {
            self.problems()
                .report_unknown_keys(&SUBSTITUTION_FILTER, subject, map);
            map = self.map(inner, || format!("`node_filter` of {subject}"))?;
            filter = inner;
        }
        self.problems()
            .report_unknown_keys(&NODE_FILTER, subject, map);
        for key in ["properties", "capabilities"] {
            self.list_at(map, key, || subject.to_owned());
        }
        Some(filter.clone())
    }

    /// Checks inputs and properties against each other if no property is mapped.
    ///
    /// Each input then takes the property of the same name. Every required property needs an input, and every
    /// required input needs a property.
    fn check_inputs_by_name(
        self,
        substitution: &Substitution,
        inputs: &IndexMap<Arc<str>, Arc<ParameterDef>>,
    ) {
        let node_type = substitution.type_key.filter(|_| {
            self.types.strict && substitution.node.is_none() && substitution.properties.is_none()
        });
        let Some(node_type) = node_type.and_then(|key| self.types.node_type_of(key)) else {
            return;
        };
        let needs = |def: &ParameterDef| def.required && def.default.is_none();
        for (name, def) in &node_type.properties {
            if needs(def) && !inputs.contains_key(name) {
                let message = format!(
                    "`{}` requires property `{name}`, for which the topology has no input",
                    node_type.name
                );
                let problem = Diagnostic::error(message)
                    .check(Check::InvalidSubstitution)
                    .label(substitution.span, "substitutes for it")
                    .label(def.span, "declared here");
                self.report(problem.help(format!("add an input `{name}`, or map the property")));
            }
        }
        for (name, def) in inputs {
            if needs(def) && !node_type.properties.contains_key(name) {
                let message = format!(
                    "input `{name}` has no default, and `{}` has no property of that name",
                    node_type.name
                );
                let problem = Diagnostic::warning(message)
                    .check(Check::InvalidSubstitution)
                    .label(def.span, "declared here");
                self.report(problem.help("add a default, or map a property to the input"));
            }
        }
    }

    /// Turns mappings to an unknown input into mappings to a value.
    ///
    /// Descriptors of network functions (NFV) write the required value of a property this way.
    pub(super) fn resolve_value_mappings(
        self,
        substitution: &mut Substitution,
        inputs: &IndexMap<Arc<str>, Arc<ParameterDef>>,
    ) {
        for (name, mapped) in substitution.properties.iter_mut().flatten() {
            let MappingTarget::Input(text) = &mapped.target else {
                continue;
            };
            if inputs.contains_key(text) {
                continue;
            }
            if let Some(similar) = did_you_mean(text, inputs.keys().map(|input| &**input)) {
                let message =
                    format!("property `{name}` is mapped to the value `{text}`, not to an input");
                let problem = Diagnostic::warning(message)
                    .check(Check::InvalidSubstitution)
                    .label(mapped.span, "");
                self.report(problem.help(similar));
            }
            mapped.target = MappingTarget::Value(Value::Str(Arc::clone(text)));
        }
    }

    /// Checks that the nodes, inputs and parts that a mapping names exist.
    pub(super) fn check_substitution(
        self,
        substitution: &Substitution,
        inputs: &IndexMap<Arc<str>, Arc<ParameterDef>>,
        unmatched: &[UnmatchedTemplate],
    ) {
        let names = || unmatched.iter().map(|it| it.template.name.as_str());
        if let Some(node) = &substitution.node
            && !names().any(|name| *node == name)
        {
            let message =
                format!("`substitution_mappings` names `{node}`, which is not a node template");
            let problem = Diagnostic::error(message)
                .check(Check::InvalidSubstitution)
                .label(substitution.span, "");
            self.report(problem.help_if(did_you_mean(node.as_str(), names())));
        }
        self.check_inputs_by_name(substitution, inputs);
        let by_name: HashMap<&str, &UnmatchedTemplate> = unmatched
            .iter()
            .map(|it| (it.template.name.as_str(), it))
            .collect();
        for (section, name, mapped) in substitution.parts() {
            let unknown = match &mapped.target {
                MappingTarget::Value(_) | MappingTarget::Input(_) => None,
                MappingTarget::Member { node, path } => match by_name.get(node.as_str()) {
                    None => Some(UnknownPart {
                        word: 0,
                        subject: format!("`{node}`, which is not a node template"),
                        help: did_you_mean(node.as_str(), names()),
                    }),
                    Some(found) => unknown_member(section, found, path),
                },
            };
            if let Some(unknown) = unknown {
                let message = format!(
                    "`{name}` in `{section}` of `substitution_mappings` names {}",
                    unknown.subject
                );
                let place = mapped.words.get(unknown.word).unwrap_or(&mapped.span);
                let problem = Diagnostic::error(message)
                    .check(Check::InvalidSubstitution)
                    .label(*place, "");
                self.report(problem.help_if(unknown.help));
            }
        }
    }

    /// Creates the template that represents the topology, for a mapping that names only a node type.
    pub(super) fn representative_node(
        self,
        substitution: &Substitution,
    ) -> Option<UnmatchedTemplate> {
        let stated = ["node_type", "type"].map(|key| substitution.mapping.get(key));
        let name: Arc<str> = stated.into_iter().flatten().next()?.as_str()?.into();
        let mut mapping = Mapping::default();
        let entry = MapEntry::new(
            substitution.span,
            Node::new(NodeKind::Str(name), substitution.span, None),
        );
        mapping.insert("type", entry);
        let node = Node::new(NodeKind::Map(mapping), substitution.span, None);
        let mut reader = NodeReader::new(self);
        reader.incomplete = Some(REPRESENTATIVE_NODE.into());
        reader.read(&REPRESENTATIVE_NODE.into(), &node, substitution.span)
    }

    /// Whether a topology can substitute for a template, by type, property values and filter.
    pub(super) fn can_replace(self, substitution: &Substitution, template: &NodeTemplate) -> bool {
        let lineage = self.types.lineage(template.node_type.key);
        let fits = substitution
            .type_key
            .is_some_and(|key| lineage.contains(&key));
        let properties = substitution.properties.iter().flatten();
        let mut values = properties.filter_map(|(name, mapped)| match &mapped.target {
            MappingTarget::Value(value) => Some((name, value)),
            _ => None,
        });
        let agrees = values.all(|(name, value)| {
            let set = template
                .properties
                .get(name)
                .map(|property| &property.value);
            set.is_none_or(|set| is_expression(set) || is_expression(value) || set == value)
        });
        fits && agrees
            && substitution.filter.as_ref().is_none_or(|node| {
                let scope = self;
                NodeFilter { scope, node }.admits(template)
            })
    }
}

impl Substitution {
    /// Returns every mapped part, with its section and its name.
    pub(super) fn parts(&self) -> impl Iterator<Item = (&'static str, &Arc<str>, &PartMapping)> {
        let properties = self.properties.iter().flatten();
        let named = |section| move |(name, mapped)| (section, name, mapped);
        properties
            .map(named("properties"))
            .chain(self.attributes.iter().map(named("attributes")))
            .chain(self.requirements.iter().map(named("requirements")))
            .chain(self.capabilities.iter().map(named("capabilities")))
    }
}

/// A part that a mapping names and that does not exist.
struct UnknownPart {
    /// The place of its name among the words of the mapping.
    word: usize,
    /// The part, for the message.
    subject: String,
    help: Option<String>,
}

/// Returns the mapped part of a template, if the template does not have the part.
fn unknown_member(
    section: &str,
    found: &UnmatchedTemplate,
    path: &[Arc<str>],
) -> Option<UnknownPart> {
    let template = &found.template;
    let first = path.first()?;
    let mut names: Vec<&str> = Vec::new();
    let has_capability = template.capabilities.contains_key(first);
    let (is_known, subject) = match section {
        "requirements" => {
            let declared = template.node_type.requirements.contains_key(first);
            let stated = found.stated.iter().any(|def| def.name == *first);
            names.extend(template.node_type.requirements.keys().map(|name| &**name));
            (declared || stated, "requirement")
        }
        "capabilities" => {
            names.extend(template.capabilities.keys().map(|name| &**name));
            (has_capability, "capability")
        }
        "properties" => {
            let own = template.node_type.properties.contains_key(first)
                || template.properties.contains_key(first)
                || template.node_type.open;
            names.extend(template.node_type.properties.keys().map(|name| &**name));
            (own || (path.len() > 1 && has_capability), "property")
        }
        // Attributes may be unknown until the first run sets them.
        _ => (true, "attribute"),
    };
    (!is_known).then(|| UnknownPart {
        word: 1,
        subject: format!(
            "the {subject} `{first}` of `{}`, which it does not have",
            template.name
        ),
        help: did_you_mean(first, names),
    })
}

/// Returns the locations of the words of a mapped part: a list, bare or under `mapping`.
fn word_spans(node: &Node) -> Vec<Span> {
    let node = node.get("mapping").unwrap_or(node);
    let items = node.as_seq().unwrap_or(std::slice::from_ref(node));
    items.iter().map(Node::span).collect()
}

/// Reads the target of a mapped part: a list, bare or under `mapping`, or a `value`.
fn mapped_to(node: &Node, takes_values: bool) -> Option<MappingTarget> {
    if let Some(map) = node.as_map() {
        if let Some(inner) = map.get("mapping") {
            return inner.as_map().is_none().then(|| mapped_to(inner, false))?;
        }
        let value = map.get("value").filter(|_| takes_values);
        return value.map(|value| MappingTarget::Value(value.to_value()));
    }
    if let Some(name) = node.as_str() {
        return Some(MappingTarget::Input(name.into()));
    }
    let Some(items) = node.as_seq() else {
        // A bare value is one that the property of a substituted node must have.
        let is_value = takes_values && !node.is_null();
        return is_value.then(|| MappingTarget::Value(node.to_value()));
    };
    let mut names = items.iter().map(|item| item.as_str().map(Arc::from));
    let first: Arc<str> = names.next()??;
    let path = names.collect::<Option<Vec<_>>>()?;
    Some(if path.is_empty() {
        MappingTarget::Input(first)
    } else {
        let node = TemplateName::new(first);
        MappingTarget::Member { node, path }
    })
}

#[cfg(test)]
mod tests {
    use super::super::options::ReadOptions;
    use super::super::testing::{TestTemplate, read_template, read_template_with};

    const TYPES: &str = "
node_types:
  Outer:
    properties: {p: {type: string, default: x}, q: {type: string, required: false}}
    attributes: {a: {type: string}}
    capabilities: {c: tosca.capabilities.Endpoint}
    requirements: [{r: {node: Inner, occurrences: [0, 1]}}]
  Inner:
    properties: {p: {type: string, required: false}}
    capabilities: {c: tosca.capabilities.Endpoint}
    requirements: [{r: {node: Inner, occurrences: [0, 1]}}]
topology_template:
  inputs: {input: {type: string, default: none}}
  node_templates: {inner: {type: Inner}}
";

    fn report(mapping: &str) -> String {
        let text = format!("{TYPES}  substitution_mappings: {mapping}\n");
        read_template(text.leak()).report()
    }

    #[test]
    fn every_form_of_a_mapping_is_read() {
        let forms = [
            "{}",
            "{node: inner}",
            "{type: Outer}",
            "{node_type: Outer, properties: {p: i, q: {value: 1}}}",
            "{node_type: Outer, properties: {p: [i], q: {mapping: [i]}}}",
            "{node_type: Outer, properties: [{p: [inner, p]}, {q: [inner, c, port]}]}",
            "{node_type: Outer, attributes: {a: [inner, c, port]}}",
            "{node_type: Outer, requirements: [{r: [inner, r]}], capabilities: [{c: [inner, c]}]}",
            "{node_type: Outer, requirements: {r: {mapping: [inner, r]}}, capabilities: {c: [inner, c]}}",
            "{node_type: Outer, substitution_filter: {properties: [{p: x}]}}",
        ];
        for form in forms {
            assert_eq!(report(form), "", "{form}");
        }
    }

    #[test]
    fn what_a_mapping_names_must_be_there() {
        let reported = [
            "{properties: {}}",
            "{node_type: Outr}",
            "{node: inner, properties: {p: i}}",
            "{node_type: Outer, properties: {p: nput}}",
            "{node_type: Outer, properties: {p: [inner, z]}}",
            "{node_type: Outer, requirements: {r: [nobody, r]}}",
            "{node_type: Outer, requirements: {r: [inner, z]}}",
            "{node_type: Outer, capabilities: {c: [inner, z]}}",
            "{node_type: Outer, capabilities: {c: 1}}",
            "{node_type: Outer, interfaces: {Standard: {create: w}}}",
        ]
        .map(report);
        insta::assert_snapshot!(reported.join("\n"), @"
        service.yaml:15:3: `substitution_mappings` has neither `node` nor `node_type`
          hint: add `node_type` with the node type that the topology can substitute for
        service.yaml:15:38: there is no node type `Outr`
          hint: did you mean `Outer`?
        service.yaml:15:40: `substitution_mappings` cannot have `properties` beside `node`
          hint: replace `node` by `node_type`, or remove the section
        service.yaml:15:58: property `p` is mapped to the value `nput`, not to an input
          hint: did you mean `input`?
        service.yaml:15:69: `p` in `properties` of `substitution_mappings` names the property `z` of `inner`, which it does not have
        service.yaml:15:64: `r` in `requirements` of `substitution_mappings` names `nobody`, which is not a node template
        service.yaml:15:71: `r` in `requirements` of `substitution_mappings` names the requirement `z` of `inner`, which it does not have
        service.yaml:15:71: `c` in `capabilities` of `substitution_mappings` names the capability `z` of `inner`, which it does not have
        service.yaml:15:63: `c` in `capabilities` of `substitution_mappings` has no valid target
          hint: write a list: the node template, then the name
        service.yaml:15:45: `interfaces` of `substitution_mappings` has no effect
          hint: the operations of the nested templates run instead
        ");
    }

    fn nested(main: &str, file: &'static str) -> TestTemplate {
        let text = format!(
            "
imports: [nested.yaml]
topology_template:
  node_templates: {{{main}}}
"
        );
        read_template_with(
            text.leak(),
            &[("nested.yaml", file)],
            &ReadOptions::default(),
        )
    }

    #[test]
    fn a_filter_chooses_what_a_topology_stands_in_for() {
        let file = "
node_types: {T: {properties: {p: {type: string, default: x}}}}
topology_template: {substitution_mappings: {node_type: T, substitution_filter: {properties: [{p: y}]}}}
";
        let main = "a: {type: T, directives: [substitute], properties: {p: y}}, b: {type: T, directives: [substitute]}";
        let case = nested(main, file);
        assert!(case.node("a").representative.is_some());
        insta::assert_snapshot!(case.report(), @"
        service.yaml:4:80: no imported topology can substitute for node template `b`
          hint: import a file whose `substitution_mappings` names `T`, or remove the directive `substitute`
        ");
    }

    #[test]
    fn a_value_that_a_property_must_have_chooses_as_well() {
        let file = "
node_types: {T: {properties: {flavour: {type: string, default: simple}}}}
topology_template: {substitution_mappings: {node_type: T, properties: {flavour: simple}}}
";
        let main = "a: {type: T, directives: [substitute]}, b: {type: T, directives: [substitute], properties: {flavour: complex}}";
        let case = nested(main, file);
        assert!(case.node("a").representative.is_some());
        insta::assert_snapshot!(case.report(), @"
        service.yaml:4:60: no imported topology can substitute for node template `b`
          hint: import a file whose `substitution_mappings` names `T`, or remove the directive `substitute`
        ");
    }

    #[test]
    fn a_topology_is_not_nested_in_itself() {
        let file = "
node_types: {T: {}}
topology_template:
  root: {node: main}
  node_templates: {main: {type: T, requirements: [{dependency: again}]}, again: {type: T, directives: [substitute]}}
";
        let case = nested("a: {type: T, directives: [substitute]}", file);
        insta::assert_snapshot!(case.report(), @"
        nested.yaml:5:74: no imported topology can substitute for node template `a:again`
          hint: a topology cannot be nested in itself; remove the directive `substitute`
        ");
        assert_eq!(case.node("a:main").local_name(), "main");
    }

    #[test]
    fn what_the_type_inside_requires_must_be_set_outside() {
        let file = "
node_types: {T: {properties: {p: {type: string}}, requirements: [{r: {node: T, occurrences: [0, 1]}}]}}
topology_template:
  root: {node: main}
  node_templates: {main: {type: T, requirements: [{r: other}]}, other: {type: T, properties: {p: x}}}
";
        let main = "a: {type: T, directives: [substitute], requirements: [{r: b}]}, b: {type: T, properties: {p: y}}";
        let case = nested(main, file);
        insta::assert_snapshot!(case.report(), @"
        service.yaml:4:20: node template `a` has no property `p`, which `T` requires
          hint: add `p` to its `properties`
        ");
        insta::assert_snapshot!(case.targets("a:main"), @"r → b (tosca.relationships.Root, feature)");
        let names: Vec<_> = case
            .service
            .topology
            .nodes
            .keys()
            .map(ToString::to_string)
            .collect();
        assert_eq!(names, ["a:main", "a:other", "a", "b"]);
    }
}
