//! Secrets that stand as they are in the files of an ensemble, so that no message shows them.

use super::connections;
use crate::diagnostic::{Diagnostics, Sources, Span};
use crate::project::Environment;
use crate::tosca::{Property, ServiceTemplate};
use crate::value::{Secrets, Value};
use crate::yaml::{Node, NodeKind};

/// The literal secrets of an ensemble.
#[derive(Debug, Default)]
pub(super) struct LiteralSecrets {
    /// The places of the secrets.
    pub(super) spans: Vec<Span>,
    secrets: Secrets,
}

impl LiteralSecrets {
    /// Finds the secrets: sensitive properties and inputs, values with the tag `!sensitive`, and those of the
    /// environment.
    pub(super) fn find(
        root: &Node,
        environment: Option<&Environment>,
        service: Option<&ServiceTemplate>,
        sources: &Sources,
    ) -> Self {
        let mut found = Self::default();
        if let Some(environment) = environment {
            found.spans = connections::secrets(environment, service);
        }
        if let Some(service) = service {
            found.add_template(root, environment, service);
        }
        if sources
            .iter()
            .any(|(_, source)| source.text.contains("!sensitive"))
        {
            found.add_tagged(root);
        }
        found.spans.retain(|span| span.is_some());
        found
    }

    fn add_template(
        &mut self,
        root: &Node,
        environment: Option<&Environment>,
        service: &ServiceTemplate,
    ) {
        let topology = &service.topology;
        let nodes = topology.nodes.values().map(|node| &node.properties);
        let relationships = topology.relationships.values().map(|it| &it.properties);
        for properties in nodes.chain(relationships) {
            properties.values().for_each(|it| self.add_property(it));
        }
        let given = root.get("spec").and_then(|spec| spec.get("inputs"));
        let in_environment = environment.and_then(|it| it.section("inputs"));
        for (name, definition) in topology.inputs.iter().filter(|(_, it)| it.is_sensitive()) {
            if let Some(default) = &definition.default {
                self.add(default, definition.default_span);
            }
            for section in [given, in_environment].into_iter().flatten() {
                if let Some(node) = section.get(name) {
                    self.add(&node.to_value(), node.span());
                }
            }
        }
    }

    fn add_property(&mut self, property: &Property) {
        let definition = property.definition.as_ref();
        let is_sensitive = definition.is_some_and(|it| it.is_sensitive());
        if is_sensitive || property.value.has_sensitive() {
            self.add(&property.value, property.span);
        }
    }

    /// Adds the nodes with the tag.
    fn add_tagged(&mut self, root: &Node) {
        let mut open = vec![root];
        while let Some(node) = open.pop() {
            if node.tag() == Some("!sensitive") {
                self.add(&node.to_value(), node.span());
                continue;
            }
            match node.kind() {
                NodeKind::Seq(items) => open.extend(items.iter()),
                NodeKind::Map(map) => open.extend(map.iter().map(|(_, entry)| &entry.value)),
                _ => {}
            }
        }
    }

    /// Adds a value, unless an expression computes it.
    fn add(&mut self, value: &Value, span: Span) {
        let is_template = |text: &str| text.contains("{{");
        let is_computed = value.as_map().is_some() && !value.has_sensitive()
            || value.as_str().is_some_and(is_template);
        if !is_computed && !value.is_null() {
            self.spans.push(span);
            self.secrets.gather(&value.clone().sensitive());
        }
    }

    /// Hides the secrets in the texts of problems.
    pub(super) fn hide_in(&self, problems: Diagnostics) -> Diagnostics {
        if self.secrets.is_empty() {
            return problems;
        }
        let hide = |text: &mut String| *text = self.secrets.redact(text);
        let hidden = problems.into_iter().map(|mut problem| {
            hide(&mut problem.message);
            problem
                .labels
                .iter_mut()
                .for_each(|label| hide(&mut label.text));
            if let Some(help) = &mut problem.help {
                hide(help);
            }
            problem
        });
        hidden.collect()
    }
}
