//! Checks the arguments of `get_property` and `get_attribute` before any expression is evaluated.
//!
//! [`dangling_references`] is the entry. The reader calls it only if strict checks are requested.

use std::collections::HashSet;

use crate::diagnostic::{Check, Diagnostic, Span};
use crate::name::TemplateName;
use crate::text::did_you_mean;
use crate::value::Value;

use super::definition::TypeKey;
use super::template::{NodeTemplate, TopologyTemplate};

/// The maximum depth in a value at which functions are checked.
const MAX_DEPTH: usize = 64;

/// Returns a problem for each function that reads an unknown node or an undeclared property or attribute.
///
/// `substitutable` holds the node types that imported topologies can substitute for.
pub(super) fn dangling_references(
    topology: &TopologyTemplate,
    substitutable: &HashSet<TypeKey>,
) -> Vec<Diagnostic> {
    let mut checker = ReferenceChecker {
        topology,
        substitutable,
        problems: Vec::new(),
    };
    for (name, output) in &topology.outputs {
        checker.value(&output.value, &format!("output `{name}`"), output.span, 0);
    }
    // Names inside nested topologies refer to other nodes: check the outermost topology only.
    let outermost = topology.nodes.iter();
    for (name, node) in outermost.filter(|(_, node)| node.nested_in.is_none()) {
        let calls = |value: &Value| value.as_map().is_some() || value.as_list().is_some();
        let set = node.properties.iter();
        for (property, set) in set.filter(|(_, it)| it.set_on_template && calls(&it.value)) {
            let subject = format!("property `{property}` of node template `{name}`");
            checker.value(&set.value, &subject, set.span, 0);
        }
    }
    checker.problems
}

struct ReferenceChecker<'t> {
    topology: &'t TopologyTemplate,
    substitutable: &'t HashSet<TypeKey>,
    problems: Vec<Diagnostic>,
}

impl ReferenceChecker<'_> {
    fn value(&mut self, value: &Value, subject: &str, span: Span, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        if let Some(items) = value.as_list() {
            for item in items {
                self.value(item, subject, span, depth + 1);
            }
        }
        for (key, inner) in value.as_map().into_iter().flatten() {
            if matches!(&**key, "get_property" | "get_attribute") {
                self.call(key, inner, subject, span);
            }
            self.value(inner, subject, span, depth + 1);
        }
    }

    fn call(&mut self, function: &str, arguments: &Value, subject: &str, span: Span) {
        let arguments = arguments.as_list().map(Vec::as_slice).unwrap_or_default();
        let [first, second, rest @ ..] = arguments else {
            return;
        };
        let (Some(node), Some(name)) = (first.as_str(), second.as_str()) else {
            return;
        };
        if is_keyword(node) || node.contains(['{', ':']) {
            return;
        }
        let Some(template) = self.topology.nodes.get(node) else {
            if !self.topology.relationships.contains_key(node) {
                self.report_missing_node(function, node, subject, span);
            }
            return;
        };
        if !declares_path(template, name, rest.is_empty()) {
            let message = format!(
                "`{function}` of {subject} reads `{name}`, which node template `{node}` does not declare"
            );
            let names = template.properties.keys().chain(template.attributes.keys());
            // A nested topology has exactly the outputs that it declares, so the reference can never be
            // valid.
            let stood_in = template.representative.is_some()
                || self.substitutable.contains(&template.node_type.key);
            let problem = if stood_in {
                Diagnostic::error(message)
            } else {
                Diagnostic::warning(message)
            }
            .check(Check::UnknownAttribute)
            .label(span, "");
            self.problems
                .push(problem.help_if(did_you_mean(name, names.map(|name| &**name))));
        }
    }

    fn report_missing_node(&mut self, function: &str, node: &str, subject: &str, span: Span) {
        let message =
            format!("`{function}` of {subject} reads from `{node}`, which is not a node template");
        let names = self.topology.nodes.keys();
        let problem = Diagnostic::warning(message)
            .check(Check::UnknownTemplate)
            .label(span, "");
        self.problems
            .push(problem.help_if(did_you_mean(node, names.map(TemplateName::as_str))));
    }
}

fn is_keyword(name: &str) -> bool {
    let keywords = [
        "SELF",
        "SOURCE",
        "TARGET",
        "HOST",
        "ORCHESTRATOR",
        "OPERATION_HOST",
        "ANON",
        "TOPOLOGY",
    ];
    keywords.contains(&name)
}

/// Whether a node declares the name as a property or an attribute.
///
/// If the path continues (`ends` is false), the name may also be a capability or a requirement.
fn declares_path(node: &NodeTemplate, name: &str, ends: bool) -> bool {
    let declares = node.node_type.open
        || node.properties.contains_key(name)
        || node.node_type.properties.contains_key(name)
        || node.attributes.contains_key(name);
    let common = ["tosca_id", "tosca_name", "state"].contains(&name);
    let inner = || {
        node.capabilities.contains_key(name)
            || node.requirements.iter().any(|it| *it.name == *name)
            || node.node_type.requirements.contains_key(name)
            || is_keyword(name)
    };
    declares || common || (!ends && inner())
}

#[cfg(test)]
mod tests {
    use super::super::options::ReadOptions;
    use super::super::testing::read_template_with;

    #[test]
    fn what_a_function_reads_must_be_declared() {
        let text = "
node_types: {T: {properties: {p: {type: string, required: false}}, attributes: {a: {type: string}}, capabilities: {c: {type: tosca.capabilities.Endpoint}}}}
topology_template:
  node_templates:
    one: {type: T, properties: {p: {get_attribute: [onee, a]}}}
  outputs:
    good: {value: {concat: [{get_attribute: [one, a]}, {get_property: [one, p]}, {get_attribute: [one, state]}, {get_property: [one, c, port]}, {get_property: [SELF, x]}]}}
    bad: {value: [{get_attribute: [one, aa]}]}
    deep: {value: {get_attribute: [one, c]}}
    short: {value: {get_attribute: one}}
";
        let options = ReadOptions {
            check_references: true,
            ..ReadOptions::default()
        };
        insta::assert_snapshot!(read_template_with(text, &[], &options).report(), @"
        service.yaml:8:5: `get_attribute` of output `bad` reads `aa`, which node template `one` does not declare
          hint: did you mean `a`?
        service.yaml:9:5: `get_attribute` of output `deep` reads `c`, which node template `one` does not declare
        service.yaml:5:36: `get_attribute` of property `p` of node template `one` reads from `onee`, which is not a node template
          hint: did you mean `one`?
        ");
        assert_eq!(
            read_template_with(text, &[], &ReadOptions::default()).report(),
            ""
        );
    }
}
