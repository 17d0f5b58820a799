//! Exports the resolved model: types and templates with their relationships and source positions.

use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::{Value as Json, json};

use super::values::{self, Object};
use crate::diagnostic::{SourceLocator, Sources, Span};
use crate::tosca::{
    Artifact, CapabilityTemplate, Dependency, FROM_ENVIRONMENT, Facet, Group, Implementation,
    ImplementationKind, NodeTemplate, Operation, Operations, Policy, Property, PropertyDef,
    RelationshipTemplate, Requirement, Schema, ServiceTemplate, Substitution, Trigger, Workflow,
    WorkflowActivity, WorkflowStep,
};
use crate::value::{Map, REDACTED, Value};
use crate::yaml::Node;

/// Returns the model as one object. File names are relative to `base`.
pub fn model(service: &ServiceTemplate, sources: &Sources, base: &Path) -> Json {
    let writer = ModelWriter {
        service,
        places: SourceLocator::new(sources),
        base,
    };
    writer.model()
}

/// Writes a service template as JSON, with source positions relative to a base folder.
#[derive(Debug)]
pub(super) struct ModelWriter<'a> {
    pub(super) service: &'a ServiceTemplate,
    places: SourceLocator<'a>,
    base: &'a Path,
}

/// Creates an object without null and empty values.
pub(super) fn object<const N: usize>(parts: [(&str, Json); N]) -> Json {
    let is_empty = |value: &Json| match value {
        Json::Null => true,
        Json::Object(map) => map.is_empty(),
        Json::Array(items) => items.is_empty(),
        _ => false,
    };
    let present = parts.into_iter().filter(|(_, value)| !is_empty(value));
    Json::Object(
        present
            .map(|(key, value)| (key.to_owned(), value))
            .collect(),
    )
}

/// Converts a map to an object, value by value.
pub(super) fn each<'m, K: std::fmt::Display + 'm, V: 'm>(
    entries: impl IntoIterator<Item = (&'m K, &'m V)>,
    write: impl Fn(&V) -> Json,
) -> Json {
    let written = entries
        .into_iter()
        .map(|(name, value)| (name.to_string(), write(value)));
    Json::Object(written.collect::<Object>())
}

pub(super) fn text(text: Option<impl AsRef<str>>) -> Json {
    text.map(|text| Json::from(text.as_ref()))
        .unwrap_or_default()
}

pub(super) fn names(names: &[impl AsRef<str>]) -> Json {
    names.iter().map(|name| Json::from(name.as_ref())).collect()
}

/// Returns the type of a definition as text.
fn type_of(def: Option<&PropertyDef>) -> Json {
    def.map(|def| schema(&def.schema)).unwrap_or_default()
}

pub(super) fn map(map: &Map) -> Json {
    values::json(&Value::from(map.clone()))
}

fn nodes(nodes: &[Node]) -> Json {
    nodes
        .iter()
        .map(|node| values::json(&node.to_value()))
        .collect()
}

impl ModelWriter<'_> {
    fn model(&self) -> Json {
        let service = self.service;
        let topology = &service.topology;
        let outputs = each(&topology.outputs, |output| {
            let hidden = output.sensitive && !values::is_function(&output.value);
            object([
                ("type", type_of(output.definition.as_deref())),
                ("description", text(output.description.as_ref())),
                ("sensitive", flag(output.sensitive)),
                (
                    "value",
                    if hidden {
                        REDACTED.into()
                    } else {
                        values::json(&output.value)
                    },
                ),
                ("place", self.location(output.span)),
            ])
        });
        // The connections of the environment are not part of the model.
        let mut own_relationships = topology.relationships.clone();
        own_relationships.retain(|_, it| !it.metadata.contains_key(FROM_ENVIRONMENT));
        let substitution = topology.substitution.as_ref();
        let substitution = substitution.map(|it| self.substitution(it));
        object([
            ("metadata", map(&service.metadata)),
            ("description", text(service.description.as_ref())),
            ("inputs", self.definitions(&topology.inputs)),
            ("outputs", outputs),
            (
                "node_templates",
                each(&topology.nodes, |node| self.node(node)),
            ),
            (
                "relationship_templates",
                each(&own_relationships, |it| self.relationship(it)),
            ),
            ("groups", each(&topology.groups, |group| self.group(group))),
            (
                "policies",
                each(&topology.policies, |policy| self.policy(policy)),
            ),
            (
                "workflows",
                each(&topology.workflows, |it| self.workflow(it)),
            ),
            ("substitution_mappings", substitution.unwrap_or_default()),
            ("node_types", self.node_types()),
            ("relationship_types", self.relationship_types()),
        ])
    }

    pub(super) fn location(&self, span: Span) -> Json {
        self.location_text(span).map(Json::from).unwrap_or_default()
    }

    fn location_text(&self, span: Span) -> Option<String> {
        let mut place = self.places.locate(span)?;
        if let Ok(path) = place.path.strip_prefix(self.base) {
            place.path = path.to_owned();
        }
        Some(place.to_string())
    }

    pub(super) fn definitions(&self, defs: &IndexMap<Arc<str>, Arc<PropertyDef>>) -> Json {
        each(defs, |def| self.definition(def))
    }

    fn definition(&self, def: &PropertyDef) -> Json {
        let default = def
            .default
            .as_ref()
            .map(|default| secret(Some(def), default));
        object([
            ("type", schema(&def.schema)),
            ("title", text(def.title.as_ref())),
            ("description", text(def.description.as_ref())),
            ("required", def.required.into()),
            ("default", default.unwrap_or_default()),
            ("constraints", constraints(&def.schema)),
            ("metadata", map(&def.metadata)),
            ("place", self.location(def.span)),
        ])
    }

    fn properties(&self, all: &IndexMap<Arc<str>, Property>) -> Json {
        each(all, |property| self.property(property))
    }

    fn property(&self, property: &Property) -> Json {
        let def = property.definition.as_deref();
        let value = secret(def, &property.value);
        let is_expression = values::is_function(&property.value);
        let key = if is_expression { "expression" } else { "value" };
        let mut written = object([
            ("type", type_of(def)),
            ("default", flag(!property.set_on_template)),
            (
                "sensitive",
                flag(def.is_some_and(PropertyDef::is_sensitive)),
            ),
        ]);
        // An empty or null property value must stay, unlike other empty entries.
        written[key] = value;
        if let Some(place) = self.location_text(property.span) {
            written["place"] = place.into();
        }
        written
    }

    fn node(&self, node: &NodeTemplate) -> Json {
        let attributes = each(&*node.attributes, |attribute| {
            let def = attribute.definition.as_deref();
            let default = attribute.default.as_ref();
            let hidden = |value: &Value| {
                if attribute.sensitive && !values::is_function(value) {
                    REDACTED.into()
                } else {
                    secret(def, value)
                }
            };
            object([
                ("type", type_of(def)),
                ("default", default.map(hidden).unwrap_or_default()),
                ("sensitive", flag(attribute.sensitive)),
            ])
        });
        let occurrences = node.occurrences.map(bounds);
        let named = |(_, artifact): &(_, &Arc<Artifact>)| !artifact.is_inline();
        object([
            ("type", node.node_type.name.as_str().into()),
            ("description", text(node.description.as_ref())),
            ("place", self.location(node.span)),
            ("directives", names(&node.directives)),
            ("metadata", map(&node.metadata)),
            ("occurrences", occurrences.unwrap_or_default()),
            ("host", text(node.host())),
            ("properties", self.properties(&node.properties)),
            ("attributes", attributes),
            (
                "requirements",
                node.requirements
                    .iter()
                    .map(|it| self.requirement(it))
                    .collect(),
            ),
            (
                "capabilities",
                each(&*node.capabilities, |it| self.capability(it)),
            ),
            ("interfaces", self.interfaces(&node.operations)),
            (
                "artifacts",
                each(node.artifacts.iter().filter(named), |it| self.artifact(it)),
            ),
            ("node_filter", nodes(node.node_filter.as_slice())),
        ])
    }

    fn requirement(&self, requirement: &Requirement) -> Json {
        object([
            ("name", (*requirement.name).into()),
            ("target", text(requirement.target.as_ref())),
            ("capability", text(requirement.capability.as_ref())),
            ("relationship", self.relationship(&requirement.relationship)),
            ("occurrences", bounds(requirement.occurrences)),
            ("declared_only", flag(requirement.stated.is_none())),
            ("node_filter", nodes(&requirement.node_filter)),
            ("metadata", map(&requirement.metadata)),
            ("place", self.location(requirement.span)),
        ])
    }

    fn relationship(&self, relationship: &RelationshipTemplate) -> Json {
        object([
            ("name", text(relationship.name.as_ref())),
            ("type", relationship.relationship_type.name.as_str().into()),
            ("description", text(relationship.description.as_ref())),
            ("default_for", text(relationship.default_for.as_ref())),
            ("properties", self.properties(&relationship.properties)),
            ("interfaces", self.interfaces(&relationship.operations)),
            ("metadata", map(&relationship.metadata)),
            ("place", self.location(relationship.span)),
        ])
    }

    fn capability(&self, capability: &CapabilityTemplate) -> Json {
        object([
            ("type", capability.capability_type.name.as_str().into()),
            ("properties", self.properties(&capability.properties)),
            ("metadata", map(&capability.metadata)),
        ])
    }

    /// Returns the implemented operations, grouped by interface.
    pub(super) fn interfaces(&self, operations: &Operations) -> Json {
        let mut interfaces = Object::new();
        for interface in operations.interfaces() {
            let implemented = interface
                .operations
                .iter()
                .filter(|(_, it)| it.is_implemented());
            let written = each(implemented, |operation| self.operation(operation));
            let default = interface.default.as_ref().filter(|it| it.is_implemented());
            let written = object([
                ("type", text(interface.type_name.as_ref())),
                ("operations", written),
                (
                    "default",
                    default.map(|it| self.operation(it)).unwrap_or_default(),
                ),
            ]);
            if written.get("operations").is_some() || written.get("default").is_some() {
                interfaces.insert(interface.name.to_string(), written);
            }
        }
        interfaces.into()
    }

    fn operation(&self, operation: &Operation) -> Json {
        let inputs: Object = operation
            .inputs
            .iter()
            .map(|(name, value)| {
                let def = operation.input_defs.get(name).map(|def| &**def);
                (name.to_string(), secret(def, value))
            })
            .collect();
        let implementation = operation.implementation.as_ref();
        let implementation = implementation.map(|it| self.implementation(it));
        object([
            ("description", text(operation.description.as_ref())),
            ("implementation", implementation.unwrap_or_default()),
            ("invoke", text(operation.invoke.as_ref())),
            ("inputs", inputs.into()),
            ("outputs", map(&operation.outputs)),
            ("entry_state", text(operation.entry_state.as_ref())),
            ("metadata", map(&operation.metadata)),
            ("place", self.location(operation.span)),
        ])
    }

    fn implementation(&self, implementation: &Implementation) -> Json {
        let (kind, what) = match &implementation.kind {
            ImplementationKind::Configurator(name) => ("configurator", name),
            ImplementationKind::Command(command) => ("command", command),
            ImplementationKind::Artifact(name) => ("artifact", name),
            ImplementationKind::Unsupported(class) => ("class", class),
        };
        let dependencies: Vec<Json> = implementation
            .dependencies
            .iter()
            .map(|dependency| match dependency {
                Dependency::Named(name) => (**name).into(),
                Dependency::Inline(artifact) => self.artifact(artifact),
            })
            .collect();
        let seconds = implementation.timeout.map(|timeout| timeout.as_secs_f64());
        let primary = implementation.primary.as_ref();
        let primary = primary.map(|it| self.artifact(it));
        object([
            (kind, values::json(&Value::Str(what.clone()))),
            ("primary", primary.unwrap_or_default()),
            ("dependencies", dependencies.into()),
            (
                "operation_host",
                text(implementation.operation_host.as_ref()),
            ),
            ("environment", map(&implementation.environment)),
            ("timeout", seconds.map(values::number).unwrap_or_default()),
            ("place", self.location(implementation.span)),
        ])
    }

    fn artifact(&self, artifact: &Arc<Artifact>) -> Json {
        object([
            ("name", (*artifact.name).into()),
            ("type", artifact.definition.name.as_str().into()),
            ("description", text(artifact.description.as_ref())),
            ("file", values::json(&artifact.file)),
            ("repository", text(artifact.repository.as_ref())),
            ("fields", map(&artifact.fields)),
            ("properties", self.properties(&artifact.properties)),
            ("interfaces", self.interfaces(&artifact.operations)),
            ("metadata", map(&artifact.metadata)),
            ("place", self.location(artifact.span)),
        ])
    }

    fn group(&self, group: &Group) -> Json {
        object([
            ("type", group.type_name.as_str().into()),
            ("members", names(&group.members)),
            ("properties", self.properties(&group.properties)),
            ("metadata", map(&group.metadata)),
            ("place", self.location(group.span)),
        ])
    }

    fn policy(&self, policy: &Policy) -> Json {
        object([
            ("type", policy.type_name.as_str().into()),
            ("targets", names(&policy.targets)),
            ("properties", self.properties(&policy.properties)),
            (
                "triggers",
                each(&policy.triggers, |trigger| self.trigger(trigger)),
            ),
            ("metadata", map(&policy.metadata)),
            ("place", self.location(policy.span)),
        ])
    }

    fn trigger(&self, trigger: &Trigger) -> Json {
        let (requirement, capability) = match &trigger.facet {
            Some(Facet::Requirement(name)) => (Some(name), None),
            Some(Facet::Capability(name)) => (None, Some(name)),
            None => (None, None),
        };
        let period = trigger.period.as_ref().map(values::json);
        object([
            ("description", text(trigger.description.as_ref())),
            ("event", text(trigger.event.as_ref())),
            ("schedule", map(&trigger.schedule)),
            ("node", text(trigger.node.as_ref())),
            ("requirement", text(requirement)),
            ("capability", text(capability)),
            (
                "condition",
                trigger.condition.iter().map(values::json).collect(),
            ),
            ("period", period.unwrap_or_default()),
            ("evaluations", json!(trigger.evaluations)),
            ("method", text(trigger.method.as_ref())),
            ("action", trigger.action.iter().map(activity).collect()),
            ("place", self.location(trigger.span)),
        ])
    }

    fn workflow(&self, workflow: &Workflow) -> Json {
        let preconditions = workflow.preconditions.iter().map(|it| {
            let conditions: Vec<Json> = it.conditions.iter().map(values::json).collect();
            object([
                ("target", (*it.target).into()),
                ("conditions", conditions.into()),
            ])
        });
        object([
            ("description", text(workflow.description.as_ref())),
            ("inputs", self.definitions(&workflow.inputs)),
            ("preconditions", preconditions.collect()),
            ("steps", each(&workflow.steps, |step| self.step(step))),
            ("metadata", map(&workflow.metadata)),
            ("place", self.location(workflow.span)),
        ])
    }

    fn step(&self, step: &WorkflowStep) -> Json {
        object([
            ("target", (*step.target).into()),
            (
                "target_relationship",
                text(step.target_relationship.as_ref()),
            ),
            ("operation_host", text(step.operation_host.as_ref())),
            ("filter", step.filter.iter().map(values::json).collect()),
            ("activities", step.activities.iter().map(activity).collect()),
            ("on_success", names(&step.on_success)),
            ("on_failure", names(&step.on_failure)),
            ("place", self.location(step.span)),
        ])
    }

    fn substitution(&self, substitution: &Substitution) -> Json {
        object([
            ("node", text(substitution.node.as_ref())),
            ("node_type", text(substitution.node_type.as_ref())),
            ("mapping", map(&substitution.mapping)),
            ("place", self.location(substitution.span)),
        ])
    }
}

fn activity(activity: &WorkflowActivity) -> Json {
    match activity {
        WorkflowActivity::SetState(state) => json!({ "set_state": &**state }),
        WorkflowActivity::CallOperation { operation, inputs } => object([
            ("call_operation", operation.to_string().into()),
            ("inputs", map(inputs)),
        ]),
        WorkflowActivity::Delegate { workflow, inputs } => {
            object([("delegate", (**workflow).into()), ("inputs", map(inputs))])
        }
        WorkflowActivity::Inline { workflow, inputs } => {
            object([("inline", (**workflow).into()), ("inputs", map(inputs))])
        }
    }
}

fn flag(present: bool) -> Json {
    if present { true.into() } else { Json::Null }
}

pub(super) fn bounds(occurrences: crate::tosca::Occurrences) -> Json {
    let max = occurrences
        .max
        .map_or_else(|| json!("UNBOUNDED"), |max| json!(max));
    json!([occurrences.min, max])
}

/// Returns a value, or the redaction mark if it is secret. Expressions are shown, because they are not
/// evaluated here.
fn secret(def: Option<&PropertyDef>, value: &Value) -> Json {
    let may_hold = !values::is_function(value) || value.as_str().is_some();
    let is_secret = def.is_some_and(PropertyDef::is_sensitive) && may_hold;
    if is_secret && !value.is_null() {
        REDACTED.into()
    } else {
        values::json(value)
    }
}

/// Returns a type as an author writes it: `string`, `list of string`.
fn schema(schema: &Schema) -> Json {
    let mut name = schema.type_name.to_string();
    let mut inner = schema.entry.as_deref();
    while let Some(entry) = inner {
        name.push_str(" of ");
        name.push_str(entry.type_name.as_str());
        inner = entry.entry.as_deref();
    }
    name.into()
}

fn constraints(schema: &Schema) -> Json {
    let stated = schema
        .constraints
        .iter()
        .filter_map(|constraint| super::schema::constraint_value(&constraint.rule));
    stated
        .map(|(key, value)| json!({ key: values::json(&value) }))
        .collect()
}
