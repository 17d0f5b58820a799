//! Walks through a model and checks each of its parts.

use std::sync::Arc;

use indexmap::IndexMap;

use super::checker::{Checker, ModelChecks};
use super::members::Owner;
use super::operations::RESULT_INPUTS;
use super::value_place::ValuePlace;
use crate::diagnostic::{Check, Diagnostics};
use crate::text::did_you_mean;
use crate::tosca::{NodeTemplate, Operations, Property, RelationshipTemplate, ServiceTemplate};

/// Checks a model and returns the problems. All errors are contained: they concern the named part only.
pub fn check_model(service: &ServiceTemplate, checks: ModelChecks<'_>) -> Diagnostics {
    let mut checker = Checker::new(service, checks);
    checker.topology();
    checker.problems
}

impl<'a> Checker<'a> {
    fn topology(&mut self) {
        let topology = self.topology;
        for (name, input) in &topology.inputs {
            let Some(default) = input.default.as_ref().filter(|_| !input.is_sensitive()) else {
                continue;
            };
            let subject = || format!("the default of input `{name}`");
            let place = ValuePlace::new(Owner::Topology, None, input.default_span, &subject);
            self.value(default, place);
        }
        for (name, output) in &topology.outputs {
            let subject = || format!("output `{name}`");
            self.value(
                &output.value,
                ValuePlace::new(Owner::Topology, None, output.value_span, &subject),
            );
        }
        for node in topology.nodes.values().filter(|node| !node.is_orphaned) {
            self.node(node);
        }
        for relationship in topology.relationships.values() {
            self.relationship(relationship, None, None);
        }
        for workflow in topology.workflows.values() {
            self.workflow(workflow);
        }
    }

    fn node(&mut self, node: &'a NodeTemplate) {
        let within = node.nested_in.is_some().then_some(node);
        let owner = Owner::Node(node);
        let of_node = || format!("node template `{}`", node.name);
        if self.is_new(&node.properties, &node.node_type) {
            self.properties(&node.properties, owner, within, &of_node);
        }
        if self.is_new(&node.attributes, &node.node_type) {
            for (name, attribute) in &*node.attributes {
                let Some(value) = &attribute.default else {
                    continue;
                };
                let subject = || format!("attribute `{name}` of {}", of_node());
                self.value(value, ValuePlace::new(owner, within, node.span, &subject));
            }
        }
        if self.is_new(&node.capabilities, &node.node_type) {
            for (name, capability) in &*node.capabilities {
                let subject = || format!("capability `{name}` of {}", of_node());
                self.properties(&capability.properties, Owner::Other, within, &subject);
            }
        }
        if self.is_new(&node.artifacts, &node.node_type) {
            for (name, artifact) in &*node.artifacts {
                let subject = || format!("artifact `{name}` of {}", of_node());
                self.properties(&artifact.properties, Owner::Other, within, &subject);
            }
        }
        if self.is_new(&node.artifacts, &node.properties) {
            self.matches(node);
        }
        if self.is_new(&node.operations, &node.node_type) {
            self.operations(&node.operations, owner, Some(node), &of_node);
        }
        for requirement in &node.requirements {
            let relationship = &requirement.relationship;
            if requirement.target.is_some() && self.is_new(relationship, &node.node_type) {
                let target = requirement.target.as_ref();
                let target = target.and_then(|name| self.topology.nodes.get(name));
                self.relationship(relationship, Some(node), target.map(|node| &**node));
            }
        }
        self.requirements(node);
    }

    fn relationship(
        &mut self,
        relationship: &'a RelationshipTemplate,
        source: Option<&'a NodeTemplate>,
        target: Option<&'a NodeTemplate>,
    ) {
        let within = source.filter(|node| node.nested_in.is_some());
        let owner = Owner::Relationship {
            relationship,
            source,
            target,
        };
        let subject = || match &relationship.name {
            Some(name) => format!("relationship template `{name}`"),
            None => format!("relationship of type `{}`", relationship.type_name),
        };
        if self.is_new(&relationship.properties, &relationship.relationship_type) {
            self.properties(&relationship.properties, owner, within, &subject);
        }
        if self.is_new(&relationship.operations, &relationship.relationship_type) {
            self.operations(&relationship.operations, owner, source, &subject);
        }
    }

    pub(super) fn properties(
        &mut self,
        properties: &IndexMap<Arc<str>, Property>,
        owner: Owner<'_>,
        within: Option<&NodeTemplate>,
        of: &dyn Fn() -> String,
    ) {
        for (name, property) in properties {
            let definition = property.definition.as_ref();
            // Messages must not show parts of a secret.
            if definition.is_some_and(|definition| definition.is_sensitive()) {
                continue;
            }
            let subject = || format!("property `{name}` of {}", of());
            let place = ValuePlace {
                is_default: !property.set_on_template,
                // Artifacts have templates for the results of their tasks.
                open_variables: RESULT_INPUTS.contains(&&**name),
                ..ValuePlace::new(owner, within, property.span, &subject)
            };
            self.value(&property.value, place);
        }
    }

    /// Reports requirements that resemble one of the type and are not declared.
    fn requirements(&mut self, node: &'a NodeTemplate) {
        let declared = &node.node_type.requirements;
        for requirement in &node.requirements {
            let name = &requirement.name;
            if declared.contains_key(name) || requirement.definition.is_some() {
                continue;
            }
            let contained = |known: &str| name.contains(known) || known.contains(&**name);
            let known = declared.keys().map(|name| &**name);
            let Some(hint) = did_you_mean(name, known.filter(|known| !contained(known))) else {
                continue;
            };
            let message = format!(
                "node template `{}` states the requirement `{name}`, which its type `{}` does not declare",
                node.name, node.type_name
            );
            let span = requirement
                .stated
                .as_ref()
                .map_or(requirement.span, |it| it.span);
            self.error(
                Check::UndeclaredRequirement,
                message,
                span,
                name,
                Some(hint),
            );
        }
    }

    pub(super) fn operations(
        &mut self,
        operations: &'a Operations,
        owner: Owner<'a>,
        node: Option<&'a NodeTemplate>,
        of: &dyn Fn() -> String,
    ) {
        for operation in operations.iter() {
            self.operation(operation, owner, node, of);
        }
    }
}
