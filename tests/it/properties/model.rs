//! A random service template as a model, and its text. The `oracle` derives from the model what jobs must do.

use std::fmt::{Debug, Formatter, Write as _};

use serde_json::{Map, Value as Json, json};

/// An operation of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Op {
    Check,
    Discover,
    Create,
    Configure,
    Start,
    Stop,
    Delete,
}

impl Op {
    pub(super) const ALL: [Self; 7] = [
        Self::Check,
        Self::Discover,
        Self::Create,
        Self::Configure,
        Self::Start,
        Self::Stop,
        Self::Delete,
    ];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Discover => "discover",
            Self::Create => "create",
            Self::Configure => "configure",
            Self::Start => "start",
            Self::Stop => "stop",
            Self::Delete => "delete",
        }
    }

    pub(super) fn brings_up(self) -> bool {
        matches!(self, Self::Create | Self::Configure | Self::Start)
    }

    fn interface(self) -> &'static str {
        match self {
            Self::Check | Self::Discover => "Install",
            _ => "Standard",
        }
    }
}

/// The operations of a relationship. A set of them is a bit mask over these indices.
pub(super) const RELATIONSHIP_OPS: [&str; 8] = [
    "pre_configure_source",
    "pre_configure_target",
    "post_configure_source",
    "post_configure_target",
    "add_source",
    "add_target",
    "remove_source",
    "remove_target",
];

/// The syntax of a reference to a property or attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Function,
    Eval,
    Jinja,
    Concat,
}

/// The expression that a value consists of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Expr {
    /// A constant text with a number. An edit changes the number.
    Text(String, u32),
    Input(usize),
    /// A property of a node: node index, property index, syntax.
    Property(usize, usize, Form),
    /// The attribute that a task of a node sets, or an attribute with a default if no task sets one.
    Attribute(usize, Form),
}

/// The implementation of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Implementation {
    /// Whether a process runs (`Shell`). Otherwise only a template is evaluated.
    pub(super) process: bool,
    pub(super) reads: Vec<Expr>,
    /// The new value of the node's attribute `a`.
    pub(super) sets: Option<Expr>,
    /// Whether the result sets the node's status to `ok`.
    pub(super) reports: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Directive {
    Default,
    Dependent,
    Protected,
    Virtual,
    Discover,
    Check,
}

impl Directive {
    fn word(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Dependent => "dependent",
            Self::Protected => "protected",
            Self::Virtual => "virtual",
            Self::Discover => "discover",
            Self::Check => "check",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Requirement {
    pub(super) target: usize,
    /// The operations of the relationship, as bits of [`RELATIONSHIP_OPS`].
    pub(super) operations: u8,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) host: Option<Requirement>,
    pub(super) needs: Vec<Requirement>,
    /// The index of the node whose type is the base of this node's type.
    pub(super) base: Option<usize>,
    pub(super) properties: Vec<Expr>,
    /// The operations that the node or its type defines itself.
    pub(super) own: Vec<(Op, Implementation)>,
    /// Whether the operations are defined in the type instead of the template.
    pub(super) in_type: bool,
    pub(super) directive: Option<Directive>,
}

/// A service template, reduced to the parts that the property tests vary.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Model {
    /// The default value of each input.
    pub(super) inputs: Vec<u32>,
    pub(super) nodes: Vec<Node>,
    pub(super) outputs: Vec<Expr>,
}

/// Shows a failing case as the text of its ensemble.
impl Debug for Model {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "\n{}", self.text())
    }
}

pub(super) fn name(node: usize) -> String {
    format!("n{node}")
}

impl Model {
    /// The operations of a node, including those that its type inherits.
    pub(super) fn operations(&self, node: usize) -> Vec<(Op, &Implementation)> {
        let of = |op: Op| {
            let mut at = Some(node);
            while let Some(here) = at {
                let stated = &self.nodes[here];
                let own = stated.own.iter().find(|(own, _)| *own == op);
                if let Some((_, found)) = own.filter(|_| here == node || stated.in_type) {
                    return Some((op, found));
                }
                at = stated.base;
            }
            None
        };
        Op::ALL.into_iter().filter_map(of).collect()
    }

    pub(super) fn has(&self, node: usize, op: Op) -> bool {
        self.operations(node).iter().any(|(own, _)| *own == op)
    }

    /// The nodes that a node requires directly.
    pub(super) fn targets(&self, node: usize) -> impl Iterator<Item = usize> {
        self.requirements(node)
            .map(|(_, requirement)| requirement.target)
    }

    /// The requirements of a node with their names, in the order of the text.
    pub(super) fn requirements(
        &self,
        node: usize,
    ) -> impl Iterator<Item = (&'static str, &Requirement)> {
        let node = &self.nodes[node];
        let host = node.host.iter().map(|host| ("host", host));
        host.chain(node.needs.iter().map(|need| ("dependency", need)))
    }

    /// The attribute of a node that other nodes read: `a` if an operation sets it when the node is brought
    /// up, otherwise `d`, which has a default.
    pub(super) fn attribute(&self, node: usize) -> &'static str {
        let finds = self.nodes[node].directive == Some(Directive::Discover);
        let sets = |(op, implementation): &(Op, &Implementation)| {
            let runs = if finds {
                *op == Op::Discover
            } else {
                op.brings_up()
            };
            runs && implementation.sets.is_some()
        };
        if self.operations(node).iter().any(sets) {
            "a"
        } else {
            "d"
        }
    }

    pub(super) fn text(&self) -> String {
        let mut text = String::from(
            "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    relationship_types:
",
        );
        self.write_relationship_types(&mut text);
        text.push_str(
            "    node_types:
      Base:
        derived_from: tosca.nodes.Root
        properties:
          p0: {type: string, default: nothing}
          p1: {type: string, default: nothing}
          p2: {type: string, default: nothing}
        attributes:
          a: {type: string}
          d: {type: string, default: early}
        requirements:
          - host: {node: tosca.nodes.Root, relationship: tosca.relationships.HostedOn, capability: tosca.capabilities.Root, occurrences: [0, 1]}
",
        );
        for node in 0..self.nodes.len() {
            self.write_type(&mut text, node);
        }
        text.push_str("    topology_template:\n      inputs:\n");
        for (place, value) in self.inputs.iter().enumerate() {
            let value = input_text(place, *value);
            line(
                &mut text,
                &format!("        i{place}: {{type: string, default: {value}}}"),
            );
        }
        text.push_str("      outputs:\n");
        for (place, value) in self.outputs.iter().enumerate() {
            line(
                &mut text,
                &format!("        o{place}: {{value: {}}}", self.expression(value)),
            );
        }
        text.push_str("      node_templates:\n");
        for node in 0..self.nodes.len() {
            self.write_node(&mut text, node);
        }
        text
    }

    fn write_relationship_types(&self, text: &mut String) {
        for node in 0..self.nodes.len() {
            for (place, (kind, requirement)) in self.requirements(node).enumerate() {
                let base = match kind {
                    "host" => "tosca.relationships.HostedOn",
                    _ => "tosca.relationships.DependsOn",
                };
                line(text, &format!("      R{node}_{place}:"));
                line(text, &format!("        derived_from: {base}"));
                let operations: Map<String, Json> = RELATIONSHIP_OPS
                    .iter()
                    .enumerate()
                    .filter(|(bit, _)| requirement.operations >> bit & 1 == 1)
                    .map(|(_, op)| ((*op).to_owned(), json!({"implementation": "Template"})))
                    .collect();
                if !operations.is_empty() {
                    let operations = json!({"Configure": {"operations": operations}});
                    line(text, &format!("        interfaces: {operations}"));
                }
            }
        }
        line(
            text,
            "      Unused: {derived_from: tosca.relationships.Root}",
        );
    }

    fn write_type(&self, text: &mut String, place: usize) {
        let node = &self.nodes[place];
        let base = node
            .base
            .map_or_else(|| "Base".to_owned(), |base| format!("T{base}"));
        line(text, &format!("      T{place}:"));
        line(text, &format!("        derived_from: {base}"));
        if node.in_type {
            self.write_interfaces(text, place);
        }
    }

    fn write_node(&self, text: &mut String, place: usize) {
        let node = &self.nodes[place];
        line(text, &format!("        n{place}:"));
        line(text, &format!("          type: T{place}"));
        if let Some(directive) = node.directive {
            line(
                text,
                &format!("          directives: [{}]", directive.word()),
            );
        }
        if !node.properties.is_empty() {
            line(text, "          properties:");
            for (property, value) in node.properties.iter().enumerate() {
                let value = self.expression(value);
                line(text, &format!("            p{property}: {value}"));
            }
        }
        if self.requirements(place).next().is_some() {
            line(text, "          requirements:");
            for (at, (kind, requirement)) in self.requirements(place).enumerate() {
                let to = json!({"node": name(requirement.target), "relationship": format!("R{place}_{at}")});
                line(text, &format!("            - {kind}: {to}"));
            }
        }
        if !node.in_type {
            self.write_interfaces(text, place);
        }
    }

    fn write_interfaces(&self, text: &mut String, place: usize) {
        let node = &self.nodes[place];
        if node.own.is_empty() {
            return;
        }
        let indent = if node.in_type {
            "        "
        } else {
            "          "
        };
        line(text, &format!("{indent}interfaces:"));
        for interface in ["Install", "Standard"] {
            let own = node
                .own
                .iter()
                .filter(|(op, _)| op.interface() == interface);
            let mut own = own.peekable();
            if own.peek().is_some() {
                line(
                    text,
                    &format!("{indent}  {interface}:\n{indent}    operations:"),
                );
            }
            for (op, implementation) in own {
                let definition = self.implementation(implementation);
                line(text, &format!("{indent}      {}: {definition}", op.word()));
            }
        }
    }

    fn implementation(&self, of: &Implementation) -> Json {
        let reads: Vec<Json> = of.reads.iter().map(|read| self.expression(read)).collect();
        let mut inputs = Map::new();
        if of.process {
            let command = std::iter::once(json!("echo")).chain(reads).collect();
            inputs.insert("command".to_owned(), Json::Array(command));
        } else {
            inputs.insert("run".to_owned(), Json::Array(reads));
        }
        let mut result = Map::new();
        if let Some(value) = &of.sets {
            result.insert(
                "attributes".to_owned(),
                json!({"a": self.expression(value)}),
            );
        }
        if of.reports {
            result.insert("readyState".to_owned(), json!({"local": "ok"}));
        }
        if !result.is_empty() {
            inputs.insert("resultTemplate".to_owned(), Json::Object(result));
        }
        let configurator = if of.process { "Shell" } else { "Template" };
        json!({"implementation": configurator, "inputs": inputs})
    }

    fn expression(&self, of: &Expr) -> Json {
        let (node, key, function) = match of {
            Expr::Text(text, number) => return json!(format!("{text}-{number}")),
            Expr::Input(place) => return json!({"get_input": format!("i{place}")}),
            Expr::Property(node, property, _) => (*node, format!("p{property}"), "get_property"),
            Expr::Attribute(node, _) => (*node, self.attribute(*node).to_owned(), "get_attribute"),
        };
        let (Expr::Property(.., form) | Expr::Attribute(_, form)) = of else {
            return Json::Null;
        };
        let node = name(node);
        match form {
            Form::Function => json!({function: [node, key]}),
            Form::Eval => json!({"eval": format!("::{node}::{key}")}),
            Form::Jinja => json!(format!("<{{{{ '::{node}::{key}' | eval }}}}>")),
            Form::Concat => json!({"concat": ["<", {function: [node, key]}, ">"]}),
        }
    }
}

fn input_text(place: usize, value: u32) -> String {
    format!("input{place}-{value}")
}

fn line(text: &mut String, what: &str) {
    writeln!(text, "{what}").unwrap();
}
