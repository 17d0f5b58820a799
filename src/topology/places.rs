//! Where the values of a topology are written.

use super::entity::Kind;
use super::topology::Topology;
use crate::diagnostic::Span;
use crate::tosca::{AttributeDecl, Property};
use crate::value::Handle;

impl Topology {
    /// Where the value of an attribute is written; nowhere if a task has set it.
    pub fn place_of(&self, of: Handle, name: &str) -> Span {
        let of = self.stand_in(of).unwrap_or(of);
        self.known_place(of, name).unwrap_or(Span::NONE)
    }

    fn known_place(&self, of: Handle, name: &str) -> Option<Span> {
        let entity = self.get(of)?;
        let held = matches!(entity.kind, Kind::Inputs | Kind::Outputs);
        if !held && entity.attributes.contains_key(name) {
            return None;
        }
        let of_property = |property: Option<&Property>| property.map(|property| property.span);
        let of_attribute = |attribute: Option<&AttributeDecl>| {
            attribute.and_then(|attribute| Some(attribute.definition.as_ref()?.default_span))
        };
        match &entity.kind {
            Kind::Root => None,
            Kind::Artifact { artifact, .. } => of_property(artifact.properties.get(name)),
            Kind::Inputs => self.place_of_input(self.root_of(of), name),
            Kind::Outputs => {
                let outputs = &self.template_at(self.root_of(of)).outputs;
                outputs.get(name).map(|output| output.span)
            }
            Kind::Node(node) => of_property(node.template.properties.get(name))
                .or_else(|| of_attribute(node.template.attributes.get(name))),
            Kind::Capability { .. } => {
                let template = entity.capability()?;
                of_property(template.properties.get(name))
                    .or_else(|| of_attribute(template.attributes.get(name)))
            }
            Kind::Relationship { template, .. } => of_property(template.properties.get(name))
                .or_else(|| of_attribute(template.attributes.get(name))),
        }
    }

    fn place_of_input(&self, root: Handle, name: &str) -> Option<Span> {
        let outside = self.nested_at(root).and_then(|(outer, nested)| {
            let property = nested.inputs.get(name)?;
            let template = self.template().nodes.get(outer)?;
            template.properties.get(property)
        });
        if let Some(property) = outside {
            return Some(property.span);
        }
        if root == self.root()
            && let Some(place) = self.input_places.get(name)
        {
            return Some(*place);
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
