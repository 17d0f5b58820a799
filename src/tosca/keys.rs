//! The keys that each kind of entity knows: one table for each.

use crate::diagnostic::{Diagnostic, Severity};
use crate::yaml::Mapping;

use super::problems::Problems;
use super::similar::did_you_mean;

/// The keys an entity knows, and how bad one is that it does not.
#[derive(Debug)]
pub(super) struct Keys {
    pub(super) known: &'static [&'static str],
    pub(super) unknown: Severity,
}

macro_rules! keys {
    ($($(#[$meta:meta])* $name:ident $unknown:ident [$($key:literal)*];)*) => {
        $(
            $(#[$meta])*
            pub(super) static $name: Keys = Keys {
                known: &[$($key),*],
                unknown: Severity::$unknown,
            };
        )*
    };
}

keys! {
    SERVICE_TEMPLATE Error [
        "tosca_definitions_version" "namespace" "metadata" "description" "dsl_definitions"
        "repositories" "imports" "artifact_types" "data_types" "capability_types"
        "interface_types" "relationship_types" "node_types" "group_types" "policy_types" "types"
        "topology_template" "template_name" "template_author" "template_version"
        "relationship_templates" "decorators" "deployment_blueprints" "input_values"
        "inputs_values"
    ];
    TOPOLOGY Error [
        "description" "inputs" "node_templates" "relationship_templates" "outputs" "groups"
        "substitution_mappings" "policies" "workflows" "root" "metadata"
    ];
    IMPORT Error ["file" "repository" "namespace_uri" "namespace_prefix" "when" "uri_prefix"];
    NODE_TYPE Error [
        "derived_from" "metadata" "version" "description" "properties" "attributes"
        "requirements" "capabilities" "interfaces" "artifacts" "instance_keys" "title"
    ];
    RELATIONSHIP_TYPE Error [
        "derived_from" "metadata" "version" "description" "properties" "attributes" "interfaces"
        "valid_target_types" "credential" "name" "title"
    ];
    CAPABILITY_TYPE Warning [
        "derived_from" "metadata" "version" "description" "properties" "attributes"
        "valid_source_types"
    ];
    INTERFACE_TYPE Warning [
        "derived_from" "metadata" "version" "description" "inputs" "operations" "notifications"
    ];
    ARTIFACT_TYPE Error [
        "derived_from" "metadata" "version" "description" "properties" "attributes" "interfaces"
        "mime_type" "file_ext"
    ];
    DATA_TYPE Warning [
        "derived_from" "metadata" "version" "description" "properties" "type" "constraints"
        "key_schema" "entry_schema" "title" "attributes"
    ];
    GROUP_TYPE Error [
        "derived_from" "metadata" "version" "description" "properties" "attributes" "members"
        "interfaces" "capabilities" "requirements"
    ];
    POLICY_TYPE Warning [
        "derived_from" "metadata" "version" "description" "properties" "targets" "triggers"
    ];
    ANY_TYPE Warning [];
    /// A property, an attribute or a schema; tools add their own keys to these.
    PROPERTY Warning [
        "type" "description" "required" "default" "status" "constraints" "key_schema"
        "entry_schema" "metadata" "title" "value" "external-schema" "external_schema"
    ];
    PARAMETER Error [
        "type" "value" "description" "default" "constraints" "required" "status" "key_schema"
        "entry_schema" "metadata" "title" "sensitive"
    ];
    NODE_TEMPLATE Error [
        "type" "description" "metadata" "directives" "properties" "attributes" "requirements"
        "capabilities" "interfaces" "artifacts" "node_filter" "copy" "instance_keys" "imported"
        "derived_from" "dependencies" "name" "title" "occurrences" "count"
    ];
    RELATIONSHIP_TEMPLATE Error [
        "type" "description" "metadata" "properties" "attributes" "interfaces" "copy"
        "default_for" "directives" "derived_from" "requirements" "dependencies" "name" "title"
    ];
    REQUIREMENT Warning [
        "node" "capability" "relationship" "occurrences" "node_filter" "description" "metadata"
        "title"
    ];
    NODE_FILTER Error [
        "properties" "capabilities" "requirements" "artifacts" "match"
    ];
    CAPABILITY Error [
        "type" "description" "properties" "attributes" "valid_source_types" "occurrences"
        "metadata"
    ];
    OPERATION Error [
        "description" "implementation" "inputs" "outputs" "entry_state" "exit_state" "invoke"
        "metadata" "timeout" "operation_host" "environment"
    ];
    /// What an interface says besides its operations.
    INTERFACE Error [
        "type" "inputs" "operations" "notifications" "description" "implementation"
        "requirements" "derived_from" "metadata" "outputs"
    ];
    INTERFACE_DEFAULTS Error ["implementation" "inputs" "outputs"];
    IMPLEMENTATION Error [
        "primary" "dependencies" "timeout" "className" "operation_host" "environment"
        "preConditions" "invoke"
    ];
    ARTIFACT Error [
        "metadata" "description" "file" "repository" "deploy_path" "version" "checksum"
        "checksum_algorithm" "permissions" "intent" "target" "order" "contents" "type"
        "properties" "interfaces" "dependencies" "mime_type" "file_extensions" "required"
        "name" "title" "directives" "attributes" "artifact_version"
    ];
    GROUP Error [
        "type" "metadata" "description" "properties" "attributes" "members" "interfaces" "title"
    ];
    POLICY Error [
        "type" "metadata" "description" "properties" "targets" "triggers" "reservation" "title"
    ];
    TRIGGER Warning [
        "description" "event" "event_type" "schedule" "target_filter" "condition" "constraint"
        "period" "evaluations" "method" "action" "name" "metadata"
    ];
    WORKFLOW Error [
        "metadata" "description" "inputs" "preconditions" "steps" "implementation" "outputs"
    ];
    STEP Error [
        "target" "target_relationship" "operation_host" "filter" "activities" "on_success"
        "on_failure" "description" "metadata" "inputs"
    ];
    PRECONDITION Error ["target" "target_relationship" "condition"];
    SUBSTITUTION Error [
        "node" "node_type" "type" "requirements" "capabilities" "properties"
        "substitution_filter" "attributes" "interfaces"
    ];
}

impl Keys {
    /// Reports each key that is not known; `what` names the entity.
    pub(super) fn check(&self, problems: &Problems, what: &str, mapping: &Mapping) {
        for (key, entry) in mapping {
            if self.known.contains(&&**key) {
                continue;
            }
            let message = format!("{what} has no key `{key}`");
            let mut diagnostic = match self.unknown {
                Severity::Error => Diagnostic::error(message),
                _ => Diagnostic::warning(message),
            }
            .label(entry.key_span, "");
            diagnostic.help = did_you_mean(key, self.known.iter().copied());
            problems.report(diagnostic);
        }
    }
}
