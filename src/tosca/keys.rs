//! The keys that each kind of TOSCA entity accepts: one table per kind.
//!
//! The readers report unknown keys by these tables. `service_template_keys` gives them to the parts of the
//! program that complete or document keys.

use crate::yaml::{KeyTable, Shape, tables};

use Shape::{Any, Flag, Imports, List, ListOf, Map, MapOf, MapOfTextOr, Named, Names, Of, Scalar};
use Shape::{Text, TextOr, Words};

/// The values of `tosca_definitions_version` that can be read.
pub(super) const VERSIONS: &[&str] = &[
    "tosca_simple_unfurl_1_0_0",
    "tosca_simple_yaml_1_0",
    "tosca_simple_yaml_1_0_0",
    "tosca_simple_yaml_1_1",
    "tosca_simple_yaml_1_2",
    "tosca_simple_yaml_1_3",
    "tosca_simple_profile_for_nfv_1_0",
    "tosca_simple_profile_for_nfv_1_0_0",
    "tosca_simple_profile_for_mec_1_0_0",
    "http://docs.oasis-open.org/tosca/ns/simple/yaml/1.0",
];

/// The names of TOSCA 1.0, which wants the version to be on the first line.
pub(super) const VERSIONS_1_0: &[&str] = &[
    "tosca_simple_yaml_1_0",
    "tosca_simple_yaml_1_0_0",
    "http://docs.oasis-open.org/tosca/ns/simple/yaml/1.0",
];

/// Returns the keys of a service template, with the tables of all nested entities.
pub const fn service_template_keys() -> &'static KeyTable {
    &SERVICE_TEMPLATE
}

tables! {
    pub(super) SERVICE_TEMPLATE closed "service_template"
        "The topology to deploy, and the types it uses" {
        "tosca_definitions_version" Words(VERSIONS), "The version of the language";
        "namespace" Text, "The globally unique namespace of the types in this file";
        "metadata" Map, "Metadata of the template, such as its name and author";
        "description" Text, "A description for readers";
        "dsl_definitions" Any, "A place for anchors";
        "repositories" Map, "The repositories of imported files and artifacts, by name";
        "imports" Imports(&IMPORT), "Files whose types and templates are used";
        "artifact_types" MapOf(&ARTIFACT_TYPE), "Types of artifacts";
        "data_types" MapOf(&DATA_TYPE), "Types of values";
        "capability_types" MapOf(&CAPABILITY_TYPE), "Types of capabilities";
        "interface_types" MapOf(&INTERFACE_TYPE), "Types of interfaces";
        "relationship_types" MapOf(&RELATIONSHIP_TYPE), "Types of relationships";
        "node_types" MapOf(&NODE_TYPE), "Types of nodes";
        "group_types" MapOf(&GROUP_TYPE), "Types of groups";
        "policy_types" MapOf(&POLICY_TYPE), "Types of policies";
        "types" Map, "Types of any kind; `derived_from` determines the kind";
        "topology_template" Of(&TOPOLOGY), "The topology to deploy";
        "template_name" Scalar, "The name of the template";
        "template_author" Scalar, "The author of the template";
        "template_version" Scalar, "Its version";
        "relationship_templates" MapOf(&RELATIONSHIP_TEMPLATE), "Relationships with a name";
        "decorators" Map, "Properties that match many templates";
        "deployment_blueprints" Map, "Templates that replace others, by the name of a blueprint";
        "input_values" Map, "Values of inputs";
        "inputs_values" Map, "Values of inputs";
    }
    pub(super) TOPOLOGY closed "topology_template" "The topology to deploy" {
        "description" Text, "A description for readers";
        "inputs" MapOf(&PARAMETER), "The inputs that the user can or must provide";
        "node_templates" MapOf(&NODE_TEMPLATE), "The nodes";
        "relationship_templates" MapOf(&RELATIONSHIP_TEMPLATE), "Relationships with a name";
        "outputs" MapOf(&PARAMETER), "The values that it returns";
        "groups" MapOf(&GROUP), "Groups of nodes";
        "substitution_mappings" Of(&SUBSTITUTION), "The node type that the topology can substitute for";
        "policies" Named(&POLICY), "Policies over nodes and groups";
        "workflows" MapOf(&WORKFLOW), "Workflows in addition to the built-in ones";
        "root" Of(&SUBSTITUTION), "The node that represents the topology from outside";
        "metadata" Map, "Metadata of the topology";
    }
    pub(super) IMPORT closed "import" "A file whose types and templates are used" {
        "file" Text, "Its path, relative to the folder of this file or to its repository";
        "repository" Text, "The repository that contains it";
        "namespace_uri" Text, "The globally unique namespace of its types";
        "namespace_prefix" Text, "The prefix of the names of its types";
        "when" Any, "The condition for the import";
        "uri_prefix" Text, "The prefix of the names of its types";
    }
    pub(super) NODE_TYPE closed "node_type" "A type of nodes" {
        "derived_from" Names, "The types it extends";
        "metadata" Map, "Metadata of the type";
        "version" Scalar, "Its version";
        "description" Text, "A description for readers";
        "properties" MapOf(&PROPERTY), "The properties that configure its nodes";
        "attributes" MapOf(&PROPERTY), "The attributes of its nodes, known once the nodes exist";
        "requirements" Named(&REQUIREMENT), "The requirements of its nodes on other nodes";
        "capabilities" MapOfTextOr(&CAPABILITY), "The capabilities that its nodes offer to other nodes";
        "interfaces" MapOf(&INTERFACE), "The operations on its nodes";
        "artifacts" MapOfTextOr(&ARTIFACT), "Files that its operations use";
        "instance_keys" Any, "The keys that identify an instance";
        "title" Text, "The name to show to users";
    }
    pub(super) RELATIONSHIP_TYPE closed "relationship_type" "A type of relationships" {
        "derived_from" Names, "The types it extends";
        "metadata" Map, "Metadata of the type";
        "version" Scalar, "Its version";
        "description" Text, "A description for readers";
        "properties" MapOf(&PROPERTY), "The properties that configure its relationships";
        "attributes" MapOf(&PROPERTY), "The attributes, known once the entities exist";
        "interfaces" MapOf(&INTERFACE), "The operations on them";
        "valid_target_types" Names, "The capability types that can be the target";
        "credential" Any, "The credentials for the connection";
        "name" Text, "Its name";
        "title" Text, "The name to show to users";
    }
    pub(super) CAPABILITY_TYPE open "capability_type" "A type of capabilities" {
        "derived_from" Names, "The types it extends";
        "metadata" Map, "Metadata of the type";
        "version" Scalar, "Its version";
        "description" Text, "A description for readers";
        "properties" MapOf(&PROPERTY), "The properties that configure its capabilities";
        "attributes" MapOf(&PROPERTY), "The attributes, known once the entities exist";
        "valid_source_types" Names, "The node types that can use the capability";
    }
    pub(super) INTERFACE_TYPE open "interface_type" "A type of interfaces" {
        "derived_from" Names, "The types it extends";
        "metadata" Map, "Metadata of the type";
        "version" Scalar, "Its version";
        "description" Text, "A description for readers";
        "inputs" Map, "Inputs of all its operations";
        "operations" MapOfTextOr(&OPERATION), "Its operations";
        "notifications" Map, "Its notifications";
    }
    pub(super) ARTIFACT_TYPE closed "artifact_type" "A type of artifacts" {
        "derived_from" Names, "The types it extends";
        "metadata" Map, "Metadata of the type";
        "version" Scalar, "Its version";
        "description" Text, "A description for readers";
        "properties" MapOf(&PROPERTY), "The properties that configure its artifacts";
        "attributes" MapOf(&PROPERTY), "The attributes, known once the entities exist";
        "interfaces" MapOf(&INTERFACE), "The operations on them";
        "mime_type" Text, "The media type of the files";
        "file_ext" Names, "The extensions of the files";
    }
    pub(super) DATA_TYPE open "data_type" "A type of values" {
        "derived_from" Names, "The type that it extends or restricts";
        "metadata" Map, "Metadata of the type";
        "version" Scalar, "Its version";
        "description" Text, "A description for readers";
        "properties" MapOf(&PROPERTY), "The fields of its values";
        "type" Text, "The simple type that it restricts";
        "constraints" List, "The constraints on its values";
        "key_schema" TextOr(&PROPERTY), "The schema of the keys of a map";
        "entry_schema" TextOr(&PROPERTY), "The schema of the items of a list or a map";
        "title" Text, "The name to show to users";
        "attributes" MapOf(&PROPERTY), "Fields that are set when the entity exists";
    }
    pub(super) GROUP_TYPE closed "group_type" "A type of groups" {
        "derived_from" Names, "The types it extends";
        "metadata" Map, "Metadata of the type";
        "version" Scalar, "Its version";
        "description" Text, "A description for readers";
        "properties" MapOf(&PROPERTY), "The properties that configure its groups";
        "attributes" MapOf(&PROPERTY), "The attributes of its groups";
        "members" Names, "The types that members can have";
        "interfaces" MapOf(&INTERFACE), "The operations on its groups";
        "capabilities" Map, "The capabilities that its groups offer to other nodes";
        "requirements" Any, "The requirements of its groups on other nodes";
    }
    pub(super) POLICY_TYPE open "policy_type" "A type of policies" {
        "derived_from" Names, "The types it extends";
        "metadata" Map, "Metadata of the type";
        "version" Scalar, "Its version";
        "description" Text, "A description for readers";
        "properties" MapOf(&PROPERTY), "The properties that configure its policies";
        "targets" Names, "The types that targets can have";
        "triggers" Named(&TRIGGER), "The triggers that activate its policies";
    }
    pub(super) ANY_TYPE open "type" "A type of any kind" {}
    pub(super) PROPERTY open "property"
        "A property, an attribute or a schema; tools add their own keys" {
        "type" Text, "The type of its values: string, integer, list, a data type, …";
        "description" Text, "A description for readers";
        "required" Flag, "Whether a value is required; the default is true";
        "default" Any, "The default value";
        "status" Text, "supported, unsupported, experimental or deprecated";
        "constraints" List, "The constraints on its values";
        "key_schema" TextOr(&PROPERTY), "The schema of the keys of a map";
        "entry_schema" TextOr(&PROPERTY), "The schema of the items of a list or a map";
        "metadata" Map, "Metadata such as `sensitive` and `user_settable`";
        "title" Text, "The name to show to users";
        "value" Any, "Its value";
        "external-schema" Any, "A schema in another schema language";
        "external_schema" Any, "A schema in another schema language";
    }
    pub(super) PARAMETER closed "parameter" "An input or an output" {
        "type" Text, "The type of its values: string, integer, list, a data type, …";
        "value" Any, "The value of an output, often an expression";
        "description" Text, "A description for readers";
        "default" Any, "The default value";
        "constraints" List, "The constraints on its values";
        "required" Flag, "Whether a value is required; the default is true";
        "status" Text, "supported, unsupported, experimental or deprecated";
        "key_schema" TextOr(&PROPERTY), "The schema of the keys of a map";
        "entry_schema" TextOr(&PROPERTY), "The schema of the items of a list or a map";
        "metadata" Map, "Metadata such as `sensitive`";
        "title" Text, "The name to show to users";
        "sensitive" Flag, "Whether its value is secret and never shown";
    }
    pub(super) OUTPUT open "operation_output" "An output of an operation" {
        "type" Text, "The type of its values: string, integer, list, a data type, …";
        "mapping" Any, "The attribute that receives the value";
        "description" Text, "A description for readers";
        "default" Any, "The default value";
        "value" Any, "The value of an output, often an expression";
        "constraints" List, "The constraints on its values";
        "required" Flag, "Whether a value is required; the default is true";
        "status" Text, "supported, unsupported, experimental or deprecated";
        "key_schema" TextOr(&PROPERTY), "The schema of the keys of a map";
        "entry_schema" TextOr(&PROPERTY), "The schema of the items of a list or a map";
        "metadata" Map, "Metadata such as `sensitive`";
        "title" Text, "The name to show to users";
        "sensitive" Flag, "Whether its value is secret and never shown";
    }
    pub(super) NODE_TEMPLATE closed "node_template" "A node to deploy" {
        "type" Text, "Its node type";
        "description" Text, "A description for readers";
        "metadata" Map, "Metadata of the node";
        "directives" Names, "Directives for the orchestrator: select, substitute, protected, default, …";
        "properties" Any, "The properties that configure it: values or expressions";
        "attributes" Map, "The initial values of its attributes";
        "requirements" Named(&REQUIREMENT), "The nodes that it requires, and its relationships to them";
        "capabilities" MapOf(&CAPABILITY), "The capabilities that it offers to other nodes";
        "interfaces" MapOf(&INTERFACE), "The operations on it";
        "artifacts" MapOfTextOr(&ARTIFACT), "Files that its operations use";
        "node_filter" Of(&NODE_FILTER), "The condition for the node to select or to substitute";
        "copy" Text, "The template that it copies";
        "instance_keys" Any, "The keys that identify an instance";
        "imported" Text, "The instance of another ensemble that it represents";
        "derived_from" Names, "Ignored; remains from a type";
        "dependencies" List, "Requirements, in the form of exports";
        "name" Text, "Its name, in the form of exports";
        "title" Text, "The name to show to users";
        "occurrences" List, "The allowed number of instances: a lower and an upper bound";
        "count" Any, "The number of instances";
    }
    pub(super) RELATIONSHIP_TEMPLATE closed "relationship_template"
        "A relationship between two nodes" {
        "type" Text, "Its relationship type";
        "description" Text, "A description for readers";
        "metadata" Map, "Metadata of the relationship";
        "properties" Any, "The properties that configure it: values or expressions";
        "attributes" Map, "The initial values of its attributes";
        "interfaces" MapOf(&INTERFACE), "The operations on it";
        "copy" Text, "The template that it copies";
        "default_for" Scalar,
            "The targets whose default connection it is: ANY, SELF, a node, a type or a capability";
        "directives" Names, "Directives for the orchestrator";
        "derived_from" Names, "Ignored; remains from a type";
        "requirements" Any, "Ignored; written by exports";
        "dependencies" List, "Ignored; written by exports";
        "name" Text, "Its name, in the form of exports";
        "title" Text, "The name to show to users";
    }
    pub(super) REQUIREMENT open "requirement" "A requirement of a node on another node" {
        "node" Text, "The node template or the node type of the target";
        "capability" Text, "The capability of the target, by name or by type";
        "relationship" TextOr(&RELATIONSHIP_TEMPLATE),
            "The relationship: a type, a template or an inline definition";
        "occurrences" List, "The number of targets: a lower and an upper bound";
        "node_filter" Of(&NODE_FILTER), "The conditions on the target";
        "description" Text, "A description for readers";
        "metadata" Map, "Metadata of the requirement";
        "title" Text, "The name to show to users";
    }
    pub(super) NODE_FILTER closed "node_filter" "The conditions on a node" {
        "properties" Any, "Constraints on its properties, or values to set";
        "capabilities" Any, "Constraints on its capabilities";
        "requirements" Any, "Constraints on its requirements";
        "artifacts" Any, "Constraints on its artifacts";
        "match" List, "Templates, or expressions that return templates";
    }
    pub(super) CAPABILITY closed "capability" "A capability that a node offers to other nodes" {
        "type" Text, "Its capability type";
        "description" Text, "A description for readers";
        "properties" Map, "Its properties: definitions in a type, values in a template";
        "attributes" Map, "Its attributes";
        "valid_source_types" Names, "The node types that can use the capability";
        "occurrences" List, "The number of nodes that can use it: a lower and an upper bound";
        "metadata" Map, "Metadata of the capability";
    }
    pub(super) OPERATION closed "operation" "An operation on an entity" {
        "description" Text, "A description for readers";
        "implementation" TextOr(&IMPLEMENTATION),
            "The implementation: a command, a configurator or an artifact";
        "inputs" Map, "Its inputs: values or expressions";
        "outputs" Any, "The attributes that receive its outputs";
        "entry_state" Text, "The node state before it runs";
        "exit_state" Text, "The node state after it ran";
        "invoke" Text, "The operation to invoke instead";
        "metadata" Map, "Metadata of the operation";
        "timeout" Scalar, "The time limit in seconds";
        "operation_host" Text, "The host of the operation: SELF, HOST, ORCHESTRATOR or a node";
        "environment" Any, "Rules for environment variables";
    }
    pub(super) INTERFACE each(TextOr(&OPERATION)) "interface"
        "Operations by name, and their common settings" {
        "type" Text, "Its interface type";
        "inputs" Map, "Inputs of all its operations";
        "operations" Any, "Its operations";
        "notifications" Map, "Its notifications";
        "description" Text, "A description for readers";
        "implementation" TextOr(&IMPLEMENTATION), "The default implementation of the operations";
        "requirements" Names, "The connections that its operations require";
        "derived_from" Names, "The types it extends";
        "metadata" Map, "Metadata of the interface";
        "outputs" Any, "The attributes that receive the outputs";
    }
    pub(super) INTERFACE_DEFAULTS closed "interface_defaults"
        "The common settings of the operations of all interfaces" {
        "implementation" TextOr(&IMPLEMENTATION), "The default implementation of the operations";
        "inputs" Map, "Inputs of all operations";
        "outputs" Any, "The attributes that receive the outputs";
    }
    pub(super) IMPLEMENTATION closed "implementation" "The implementation of an operation" {
        "primary" TextOr(&ARTIFACT), "The command or the artifact to run";
        "dependencies" List, "Artifacts that must be installed first";
        "timeout" Scalar, "The time limit in seconds";
        "className" Text, "The configurator that runs the operation";
        "operation_host" Text, "The host of the operation: SELF, HOST, ORCHESTRATOR or a node";
        "environment" Any, "Rules for environment variables";
        "preConditions" Any, "A JSON schema that the attributes of the target must satisfy";
        "invoke" Text, "The operation to invoke instead";
    }
    pub(super) ARTIFACT closed "artifact" "A file or an image that operations use" {
        "metadata" Map, "Metadata of the artifact";
        "description" Text, "A description for readers";
        "file" Any, "Its path or its name";
        "repository" Text, "The repository that contains it";
        "deploy_path" Text, "The destination path on the target";
        "version" Scalar, "Its version";
        "checksum" Text, "Its checksum";
        "checksum_algorithm" Text, "The algorithm of the checksum";
        "permissions" Scalar, "The permissions of the file on the target";
        "intent" Text, "The purpose of the artifact";
        "target" Text, "The node that receives it";
        "order" Scalar, "Its position among the artifacts";
        "contents" Any, "The content, in place of a file";
        "type" Text, "Its artifact type";
        "properties" Any, "The properties that configure it";
        "interfaces" MapOf(&INTERFACE), "The operations on it";
        "dependencies" Any, "Artifacts that must be installed first";
        "mime_type" Text, "Its media type";
        "file_extensions" Names, "The extensions of its files";
        "required" Flag, "Whether templates must define it";
        "name" Text, "Its name";
        "title" Text, "The name to show to users";
        "directives" Names, "Directives for the orchestrator";
        "attributes" Map, "The initial values of its attributes";
        "artifact_version" Scalar, "Its version";
    }
    pub(super) GROUP closed "group" "A group of nodes" {
        "type" Text, "Its group type";
        "metadata" Map, "Metadata of the group";
        "description" Text, "A description for readers";
        "properties" Map, "The properties that configure it";
        "attributes" Map, "The initial values of its attributes";
        "members" Names, "The nodes and groups that are members";
        "interfaces" MapOf(&INTERFACE), "The operations on it";
        "title" Text, "The name to show to users";
    }
    pub(super) POLICY closed "policy" "A policy over nodes and groups" {
        "type" Text, "Its policy type";
        "metadata" Map, "Metadata of the policy";
        "description" Text, "A description for readers";
        "properties" Map, "The properties that configure it";
        "targets" Names, "The nodes and groups it applies to";
        "triggers" Named(&TRIGGER), "The triggers that activate the policy";
        "reservation" Any, "The reservation of resources";
        "title" Text, "The name to show to users";
    }
    pub(super) TRIGGER open "trigger" "An event that activates a policy, and the resulting action" {
        "description" Text, "A description for readers";
        "event" Any, "The event that activates the trigger";
        "event_type" Any, "The type of that event";
        "schedule" Any, "The time interval in which the trigger is active";
        "target_filter" Any, "The entities whose events are considered";
        "condition" Any, "The condition to check";
        "constraint" Any, "The condition to check";
        "period" Any, "The time for which the condition must hold";
        "evaluations" Any, "The number of evaluations for which the condition must hold";
        "method" Any, "The method that aggregates values";
        "action" Any, "The activities to perform";
        "name" Text, "Its name";
        "metadata" Map, "Metadata of the trigger";
    }
    pub(super) WORKFLOW closed "workflow" "A sequence of steps" {
        "metadata" Map, "Metadata of the workflow";
        "description" Text, "A description for readers";
        "inputs" MapOf(&PARAMETER), "The inputs that the user can or must provide";
        "preconditions" ListOf(&PRECONDITION), "The conditions that must hold before it starts";
        "steps" MapOf(&STEP), "Its steps";
        "implementation" Any, "The implementation that replaces the steps";
        "outputs" Any, "The values that it returns";
    }
    pub(super) STEP closed "step" "A step of a workflow" {
        "target" Text, "A node, a group or a node type";
        "target_relationship" Text, "The requirement that selects the relationship";
        "operation_host" Text, "The host of its operations";
        "filter" List, "Conditions on the target";
        "activities" List, "The activities, in order";
        "on_success" Names, "The next steps if it succeeds";
        "on_failure" Names, "The next steps if it fails";
        "description" Text, "A description for readers";
        "metadata" Map, "Metadata of the step";
        "inputs" Map, "Its inputs";
    }
    pub(super) PRECONDITION closed "precondition" "A condition that must hold before a workflow starts" {
        "target" Text, "The node or the group to check";
        "target_relationship" Text, "The requirement that selects the relationship";
        "condition" List, "The conditions";
    }
    pub(super) SUBSTITUTION closed "substitution_mappings" "The node type that a topology can substitute for" {
        "node" Text, "The node that represents the topology from outside";
        "node_type" Text, "The node type that it substitutes for";
        "type" Text, "The node type that it substitutes for";
        "requirements" Any, "The requirements of the substituted node, and the nested parts that they map to";
        "capabilities" Any, "The capabilities of the substituted node, and the nested parts that they map to";
        "properties" Any, "The properties of the substituted node, and the inputs or nested parts that they map to";
        "substitution_filter" Any, "The condition for the nodes that it can substitute for";
        "attributes" Any, "The attributes of the substituted node, and the nested parts that they map to";
        "interfaces" Any, "Ignored; the operations of the nested templates run";
    }
    pub(super) SUBSTITUTION_FILTER closed "substitution_filter"
        "The condition for the nodes that a topology can substitute for" {
        "node_filter" Of(&NODE_FILTER), "The conditions on the node";
    }
}
