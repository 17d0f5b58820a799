//! The source positions at which values of a topology are written, for diagnostics.

use super::entity::{Entity, EntityKind};
use super::topology::Topology;
use crate::diagnostic::Span;
use crate::tosca::{AttributeDecl, Property};
use crate::value::Handle;

impl Topology {
    /// Returns the source position of an attribute's value. [`Span::NONE`] if a task has set it.
    pub fn span_of(&self, of: Handle, name: &str) -> Span {
        let of = self.stand_in(of).unwrap_or(of);
        self.find_span(of, name).unwrap_or(Span::NONE)
    }

    /// Returns the span of the implemented operation with this name. `Span::NONE` if the template of the instance
    /// has none.
    pub fn operation_span(&self, of: Handle, operation: &str) -> Span {
        let node = self.get(of).and_then(Entity::node);
        let operations = node.map(|node| &node.template.operations);
        let mut declared = operations.into_iter().flat_map(|it| it.interfaces());
        let found = declared.find_map(|interface| {
            let operation = interface.operations.get(operation)?;
            operation.is_implemented().then_some(operation.span)
        });
        found.unwrap_or(Span::NONE)
    }

    fn find_span(&self, of: Handle, name: &str) -> Option<Span> {
        let entity = self.get(of)?;
        let is_values = matches!(entity.kind, EntityKind::Inputs | EntityKind::Outputs);
        if !is_values && entity.attributes.contains_key(name) {
            return None;
        }
        let of_property = |property: Option<&Property>| property.map(|property| property.span);
        let of_attribute = |attribute: Option<&AttributeDecl>| {
            attribute.and_then(|attribute| Some(attribute.definition.as_ref()?.default_span))
        };
        match &entity.kind {
            EntityKind::Root => None,
            EntityKind::Artifact { artifact, .. } => of_property(artifact.properties.get(name)),
            EntityKind::Inputs => self.input_span(self.root_of(of), name),
            EntityKind::Outputs => {
                let outputs = &self.template_at(self.root_of(of)).outputs;
                outputs.get(name).map(|output| output.span)
            }
            EntityKind::Node(node) => of_property(node.template.properties.get(name))
                .or_else(|| of_attribute(node.template.attributes.get(name))),
            EntityKind::Capability { .. } => {
                let template = entity.capability()?;
                of_property(template.properties.get(name))
                    .or_else(|| of_attribute(template.attributes.get(name)))
            }
            EntityKind::Relationship { template, .. } => of_property(template.properties.get(name))
                .or_else(|| of_attribute(template.attributes.get(name))),
        }
    }

    fn input_span(&self, root: Handle, name: &str) -> Option<Span> {
        let outside = self.nested_at(root).and_then(|(outer, nested)| {
            let property = nested.inputs.get(name)?;
            let template = self.template().nodes.get(outer)?;
            template.properties.get(property)
        });
        if let Some(property) = outside {
            return Some(property.span);
        }
        if root == self.root()
            && let Some(span) = self.input_spans.get(name)
        {
            return Some(*span);
        }
        let input = self.template_at(root).inputs.get(name)?;
        let raw = self.entity(self.inputs_of(root)).attributes.get(name);
        let is_default = raw.is_some() && raw == input.default.as_ref();
        Some(if is_default && input.default_span.is_some() {
            input.default_span
        } else {
            input.span
        })
    }
}
