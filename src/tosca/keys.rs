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
];

/// Returns the keys of a service template, with the tables of all nested entities.
pub const fn service_template_keys() -> &'static KeyTable {
    &SERVICE_TEMPLATE
}

tables! {
    pub(super) SERVICE_TEMPLATE closed "service_template"
        "What is to be deployed, and the types it uses" {
        "tosca_definitions_version" Words(VERSIONS), "The version of the language";
        "namespace" Text, "What names the types of this file everywhere";
        "metadata" Map, "Facts about the template, such as its name and author";
        "description" Text, "What it is for";
        "dsl_definitions" Any, "A place for anchors";
        "repositories" Map, "Where imported files and artifacts are, by name";
        "imports" Imports(&IMPORT), "Files whose types and templates are used";
        "artifact_types" MapOf(&ARTIFACT_TYPE), "Types of artifacts";
        "data_types" MapOf(&DATA_TYPE), "Types of values";
        "capability_types" MapOf(&CAPABILITY_TYPE), "Types of capabilities";
        "interface_types" MapOf(&INTERFACE_TYPE), "Types of interfaces";
        "relationship_types" MapOf(&RELATIONSHIP_TYPE), "Types of relationships";
        "node_types" MapOf(&NODE_TYPE), "Types of nodes";
        "group_types" MapOf(&GROUP_TYPE), "Types of groups";
        "policy_types" MapOf(&POLICY_TYPE), "Types of policies";
        "types" Map, "Types of any kind; what they derive from says of which";
        "topology_template" Of(&TOPOLOGY), "What is to be deployed";
        "template_name" Scalar, "The name of the template";
        "template_author" Scalar, "Who wrote it";
        "template_version" Scalar, "Its version";
        "relationship_templates" MapOf(&RELATIONSHIP_TEMPLATE), "Relationships with a name";
        "decorators" Map, "Properties that match many templates";
        "deployment_blueprints" Map, "Templates that replace others, by the name of a blueprint";
        "input_values" Map, "Values of inputs";
        "inputs_values" Map, "Values of inputs";
    }
    pub(super) TOPOLOGY closed "topology_template" "What is to be deployed" {
        "description" Text, "What it is for";
        "inputs" MapOf(&PARAMETER), "What the user can or must give";
        "node_templates" MapOf(&NODE_TEMPLATE), "The nodes";
        "relationship_templates" MapOf(&RELATIONSHIP_TEMPLATE), "Relationships with a name";
        "outputs" MapOf(&PARAMETER), "What it gives back";
        "groups" MapOf(&GROUP), "Groups of nodes";
        "substitution_mappings" Of(&SUBSTITUTION), "What it can stand in for";
        "policies" Named(&POLICY), "Policies over nodes and groups";
        "workflows" MapOf(&WORKFLOW), "Workflows besides those built in";
        "root" Of(&SUBSTITUTION), "The node that represents it outside";
        "metadata" Map, "Facts about it";
    }
    pub(super) IMPORT closed "import" "A file whose types and templates are used" {
        "file" Text, "Its path from the folder of this file, or from its repository";
        "repository" Text, "The repository that it is in";
        "namespace_uri" Text, "What names its types everywhere";
        "namespace_prefix" Text, "What to put before the names of its types";
        "when" Any, "Whether to import it";
        "uri_prefix" Text, "What to put before the names of its types";
    }
    pub(super) NODE_TYPE closed "node_type" "A type of nodes" {
        "derived_from" Names, "The types it extends";
        "metadata" Map, "Facts about the type";
        "version" Scalar, "Its version";
        "description" Text, "What it is for";
        "properties" MapOf(&PROPERTY), "What its nodes are configured with";
        "attributes" MapOf(&PROPERTY), "What is known of its nodes once they exist";
        "requirements" Named(&REQUIREMENT), "What its nodes need of others";
        "capabilities" MapOfTextOr(&CAPABILITY), "What its nodes offer to others";
        "interfaces" MapOf(&INTERFACE), "What can be done with its nodes";
        "artifacts" MapOfTextOr(&ARTIFACT), "Files that its operations use";
        "instance_keys" Any, "What tells instances apart";
        "title" Text, "What people call it";
    }
    pub(super) RELATIONSHIP_TYPE closed "relationship_type" "A type of relationships" {
        "derived_from" Names, "The types it extends";
        "metadata" Map, "Facts about the type";
        "version" Scalar, "Its version";
        "description" Text, "What it is for";
        "properties" MapOf(&PROPERTY), "What its relationships are configured with";
        "attributes" MapOf(&PROPERTY), "What is known once they exist";
        "interfaces" MapOf(&INTERFACE), "What can be done with them";
        "valid_target_types" Names, "The capability types it can point at";
        "credential" Any, "What it takes to connect";
        "name" Text, "Its name";
        "title" Text, "What people call it";
    }
    pub(super) CAPABILITY_TYPE open "capability_type" "A type of capabilities" {
        "derived_from" Names, "The types it extends";
        "metadata" Map, "Facts about the type";
        "version" Scalar, "Its version";
        "description" Text, "What it is for";
        "properties" MapOf(&PROPERTY), "What capabilities are configured with";
        "attributes" MapOf(&PROPERTY), "What is known once they exist";
        "valid_source_types" Names, "The node types that may use it";
    }
    pub(super) INTERFACE_TYPE open "interface_type" "A type of interfaces" {
        "derived_from" Names, "The types it extends";
        "metadata" Map, "Facts about the type";
        "version" Scalar, "Its version";
        "description" Text, "What it is for";
        "inputs" Map, "Inputs of all its operations";
        "operations" MapOfTextOr(&OPERATION), "Its operations";
        "notifications" Map, "Its notifications";
    }
    pub(super) ARTIFACT_TYPE closed "artifact_type" "A type of artifacts" {
        "derived_from" Names, "The types it extends";
        "metadata" Map, "Facts about the type";
        "version" Scalar, "Its version";
        "description" Text, "What it is for";
        "properties" MapOf(&PROPERTY), "What artifacts are configured with";
        "attributes" MapOf(&PROPERTY), "What is known once they exist";
        "interfaces" MapOf(&INTERFACE), "What can be done with them";
        "mime_type" Text, "The media type of the files";
        "file_ext" Names, "How the names of the files end";
    }
    pub(super) DATA_TYPE open "data_type" "A type of values" {
        "derived_from" Names, "The type it extends or narrows";
        "metadata" Map, "Facts about the type";
        "version" Scalar, "Its version";
        "description" Text, "What it is for";
        "properties" MapOf(&PROPERTY), "The fields of its values";
        "type" Text, "The simple type that it narrows";
        "constraints" List, "What its values must meet";
        "key_schema" TextOr(&PROPERTY), "What the keys of a map must be";
        "entry_schema" TextOr(&PROPERTY), "What the items of a list or a map must be";
        "title" Text, "What people call it";
        "attributes" MapOf(&PROPERTY), "Fields that are known later";
    }
    pub(super) GROUP_TYPE closed "group_type" "A type of groups" {
        "derived_from" Names, "The types it extends";
        "metadata" Map, "Facts about the type";
        "version" Scalar, "Its version";
        "description" Text, "What it is for";
        "properties" MapOf(&PROPERTY), "What groups are configured with";
        "attributes" MapOf(&PROPERTY), "What is known of groups";
        "members" Names, "The types that members may have";
        "interfaces" MapOf(&INTERFACE), "What can be done with groups";
        "capabilities" Map, "What groups offer to others";
        "requirements" Any, "What groups need of others";
    }
    pub(super) POLICY_TYPE open "policy_type" "A type of policies" {
        "derived_from" Names, "The types it extends";
        "metadata" Map, "Facts about the type";
        "version" Scalar, "Its version";
        "description" Text, "What it is for";
        "properties" MapOf(&PROPERTY), "What policies are configured with";
        "targets" Names, "The types that targets may have";
        "triggers" Named(&TRIGGER), "What sets policies off";
    }
    pub(super) ANY_TYPE open "type" "A type of any kind" {}
    pub(super) PROPERTY open "property"
        "A property, an attribute or a schema; tools add their own keys" {
        "type" Text, "What its values are: string, integer, list, a data type, …";
        "description" Text, "What it is for";
        "required" Flag, "Whether a value must be given; true if it does not say";
        "default" Any, "The value when none is given";
        "status" Text, "supported, unsupported, experimental or deprecated";
        "constraints" List, "What its values must meet";
        "key_schema" TextOr(&PROPERTY), "What the keys of a map must be";
        "entry_schema" TextOr(&PROPERTY), "What the items of a list or a map must be";
        "metadata" Map, "Facts such as `sensitive` and `user_settable`";
        "title" Text, "What people call it";
        "value" Any, "Its value";
        "external-schema" Any, "A schema of another language";
        "external_schema" Any, "A schema of another language";
    }
    pub(super) PARAMETER closed "parameter" "An input or an output" {
        "type" Text, "What its values are: string, integer, list, a data type, …";
        "value" Any, "The value of an output, often an expression";
        "description" Text, "What it is for";
        "default" Any, "The value when none is given";
        "constraints" List, "What its values must meet";
        "required" Flag, "Whether a value must be given; true if it does not say";
        "status" Text, "supported, unsupported, experimental or deprecated";
        "key_schema" TextOr(&PROPERTY), "What the keys of a map must be";
        "entry_schema" TextOr(&PROPERTY), "What the items of a list or a map must be";
        "metadata" Map, "Facts such as `sensitive`";
        "title" Text, "What people call it";
        "sensitive" Flag, "Whether its value must not be shown";
    }
    pub(super) OUTPUT open "operation_output" "An output of an operation" {
        "type" Text, "What its values are: string, integer, list, a data type, …";
        "mapping" Any, "The attribute that it goes to";
        "description" Text, "What it is for";
        "default" Any, "The value when none is given";
        "value" Any, "The value of an output, often an expression";
        "constraints" List, "What its values must meet";
        "required" Flag, "Whether a value must be given; true if it does not say";
        "status" Text, "supported, unsupported, experimental or deprecated";
        "key_schema" TextOr(&PROPERTY), "What the keys of a map must be";
        "entry_schema" TextOr(&PROPERTY), "What the items of a list or a map must be";
        "metadata" Map, "Facts such as `sensitive`";
        "title" Text, "What people call it";
        "sensitive" Flag, "Whether its value must not be shown";
    }
    pub(super) NODE_TEMPLATE closed "node_template" "A node to be deployed" {
        "type" Text, "Its node type";
        "description" Text, "What it is for";
        "metadata" Map, "Facts about the node";
        "directives" Names, "How it is treated: select, substitute, protected, default, …";
        "properties" Any, "What it is configured with: values or expressions";
        "attributes" Map, "Values that its attributes begin with";
        "requirements" Named(&REQUIREMENT), "Which nodes it needs, and how it relates to them";
        "capabilities" MapOf(&CAPABILITY), "What it offers to others";
        "interfaces" MapOf(&INTERFACE), "What can be done with it";
        "artifacts" MapOfTextOr(&ARTIFACT), "Files that its operations use";
        "node_filter" Of(&NODE_FILTER), "Which node to select or to substitute";
        "copy" Text, "The template that it begins as a copy of";
        "instance_keys" Any, "What tells instances apart";
        "imported" Text, "The instance of another ensemble that it stands for";
        "derived_from" Names, "Left from a type";
        "dependencies" List, "Requirements as exports write them";
        "name" Text, "Its name, as exports write it";
        "title" Text, "What people call it";
        "occurrences" List, "How many instances it may have";
        "count" Any, "How many instances it has";
    }
    pub(super) RELATIONSHIP_TEMPLATE closed "relationship_template"
        "A relationship between two nodes" {
        "type" Text, "Its relationship type";
        "description" Text, "What it is for";
        "metadata" Map, "Facts about the relationship";
        "properties" Any, "What it is configured with: values or expressions";
        "attributes" Map, "Values that its attributes begin with";
        "interfaces" MapOf(&INTERFACE), "What can be done with it";
        "copy" Text, "The template that it begins as a copy of";
        "default_for" Scalar,
            "What it is the connection of: ANY, SELF, a node, a type or a capability";
        "directives" Names, "How it is treated";
        "derived_from" Names, "Left from a type";
        "requirements" Any, "As exports write them";
        "dependencies" List, "As exports write them";
        "name" Text, "Its name, as exports write it";
        "title" Text, "What people call it";
    }
    pub(super) REQUIREMENT open "requirement" "What a node needs of another" {
        "node" Text, "The node template or the node type of the target";
        "capability" Text, "The capability of the target, by name or by type";
        "relationship" TextOr(&RELATIONSHIP_TEMPLATE),
            "The relationship: a type, a template, or one in place";
        "occurrences" List, "How many targets it needs: a lower and an upper bound";
        "node_filter" Of(&NODE_FILTER), "What the target must be like";
        "description" Text, "What it is for";
        "metadata" Map, "Facts about the requirement";
        "title" Text, "What people call it";
    }
    pub(super) NODE_FILTER closed "node_filter" "What a node must be like" {
        "properties" Any, "Constraints on its properties, or values that they get";
        "capabilities" Any, "Constraints on its capabilities";
        "requirements" Any, "Constraints on what it requires";
        "artifacts" Any, "Constraints on its artifacts";
        "match" List, "Templates or expressions that give them";
    }
    pub(super) CAPABILITY closed "capability" "What a node offers to others" {
        "type" Text, "Its capability type";
        "description" Text, "What it is for";
        "properties" Map, "Its properties: definitions in a type, values in a template";
        "attributes" Map, "Its attributes";
        "valid_source_types" Names, "The node types that may use it";
        "occurrences" List, "How many may use it";
        "metadata" Map, "Facts about the capability";
    }
    pub(super) OPERATION closed "operation" "Something that can be done" {
        "description" Text, "What it is for";
        "implementation" TextOr(&IMPLEMENTATION),
            "What runs: a command, a configurator or an artifact";
        "inputs" Map, "Its inputs: values or expressions";
        "outputs" Any, "Where its outputs go";
        "entry_state" Text, "The node state before it runs";
        "exit_state" Text, "The node state after it ran";
        "invoke" Text, "The operation it stands for";
        "metadata" Map, "Facts about the operation";
        "timeout" Scalar, "How many seconds it may take";
        "operation_host" Text, "Where it runs: SELF, HOST, ORCHESTRATOR or a node";
        "environment" Any, "Rules for environment variables";
    }
    pub(super) INTERFACE each(TextOr(&OPERATION)) "interface"
        "Operations, by name, and what they share" {
        "type" Text, "Its interface type";
        "inputs" Map, "Inputs of all its operations";
        "operations" Any, "Its operations";
        "notifications" Map, "Its notifications";
        "description" Text, "What it is for";
        "implementation" TextOr(&IMPLEMENTATION), "What runs where an operation does not say";
        "requirements" Names, "The connections that its operations need";
        "derived_from" Names, "The types it extends";
        "metadata" Map, "Facts about the interface";
        "outputs" Any, "Where outputs go";
    }
    pub(super) INTERFACE_DEFAULTS closed "interface_defaults"
        "What the operations of all interfaces share" {
        "implementation" TextOr(&IMPLEMENTATION), "What runs where an operation does not say";
        "inputs" Map, "Inputs of all operations";
        "outputs" Any, "Where outputs go";
    }
    pub(super) IMPLEMENTATION closed "implementation" "What runs when an operation is performed" {
        "primary" TextOr(&ARTIFACT), "The command or the artifact that runs";
        "dependencies" List, "Artifacts that must be there first";
        "timeout" Scalar, "How many seconds it may take";
        "className" Text, "The configurator that runs it";
        "operation_host" Text, "Where it runs: SELF, HOST, ORCHESTRATOR or a node";
        "environment" Any, "Rules for environment variables";
        "preConditions" Any, "A JSON schema that the target's attributes must meet";
        "invoke" Text, "The operation it stands for";
    }
    pub(super) ARTIFACT closed "artifact" "A file or an image that operations use" {
        "metadata" Map, "Facts about the artifact";
        "description" Text, "What it is for";
        "file" Any, "Its path or its name";
        "repository" Text, "The repository that it is in";
        "deploy_path" Text, "Where it goes on the target";
        "version" Scalar, "Its version";
        "checksum" Text, "Its checksum";
        "checksum_algorithm" Text, "How the checksum is made";
        "permissions" Scalar, "The permissions it gets on the target";
        "intent" Text, "What it is used for";
        "target" Text, "The node it goes to";
        "order" Scalar, "Its place among the artifacts";
        "contents" Any, "What it holds, instead of a file";
        "type" Text, "Its artifact type";
        "properties" Any, "What it is configured with";
        "interfaces" MapOf(&INTERFACE), "What can be done with it";
        "dependencies" Any, "Artifacts that must be there first";
        "mime_type" Text, "Its media type";
        "file_extensions" Names, "How the names of its files end";
        "required" Flag, "Whether templates must have it";
        "name" Text, "Its name";
        "title" Text, "What people call it";
        "directives" Names, "How it is treated";
        "attributes" Map, "Values that its attributes begin with";
        "artifact_version" Scalar, "Its version";
    }
    pub(super) GROUP closed "group" "A group of nodes" {
        "type" Text, "Its group type";
        "metadata" Map, "Facts about the group";
        "description" Text, "What it is for";
        "properties" Map, "What it is configured with";
        "attributes" Map, "Values that its attributes begin with";
        "members" Names, "Its nodes and groups";
        "interfaces" MapOf(&INTERFACE), "What can be done with it";
        "title" Text, "What people call it";
    }
    pub(super) POLICY closed "policy" "A policy over nodes and groups" {
        "type" Text, "Its policy type";
        "metadata" Map, "Facts about the policy";
        "description" Text, "What it is for";
        "properties" Map, "What it is configured with";
        "targets" Names, "The nodes and groups it applies to";
        "triggers" Named(&TRIGGER), "What sets it off";
        "reservation" Any, "What it reserves";
        "title" Text, "What people call it";
    }
    pub(super) TRIGGER open "trigger" "What sets a policy off, and what happens then" {
        "description" Text, "What it is for";
        "event" Any, "The event that sets it off";
        "event_type" Any, "The type of that event";
        "schedule" Any, "When it may be set off";
        "target_filter" Any, "Whose events count";
        "condition" Any, "What must hold";
        "constraint" Any, "What must hold";
        "period" Any, "For how long it must hold";
        "evaluations" Any, "How many times it must hold";
        "method" Any, "How values are summed up";
        "action" Any, "What happens";
        "name" Text, "Its name";
        "metadata" Map, "Facts about the trigger";
    }
    pub(super) WORKFLOW closed "workflow" "Steps in an order" {
        "metadata" Map, "Facts about the workflow";
        "description" Text, "What it is for";
        "inputs" MapOf(&PARAMETER), "What the user can or must give";
        "preconditions" ListOf(&PRECONDITION), "What must hold before it starts";
        "steps" MapOf(&STEP), "Its steps";
        "implementation" Any, "What runs instead of steps";
        "outputs" Any, "What it gives back";
    }
    pub(super) STEP closed "step" "A step of a workflow" {
        "target" Text, "A node, a group or a node type";
        "target_relationship" Text, "The requirement whose relationship is meant";
        "operation_host" Text, "Where its operations run";
        "filter" List, "Conditions on the target";
        "activities" List, "What it does, in order";
        "on_success" Names, "The steps that follow when it succeeds";
        "on_failure" Names, "The steps that follow when it fails";
        "description" Text, "What it is for";
        "metadata" Map, "Facts about the step";
        "inputs" Map, "Its inputs";
    }
    pub(super) PRECONDITION closed "precondition" "What must hold before a workflow starts" {
        "target" Text, "The node or the group";
        "target_relationship" Text, "The requirement whose relationship is meant";
        "condition" List, "The conditions";
    }
    pub(super) SUBSTITUTION closed "substitution_mappings" "What a topology can stand in for" {
        "node" Text, "The node that represents it outside";
        "node_type" Text, "The node type it stands for";
        "type" Text, "The node type it stands for";
        "requirements" Any, "Its requirements outside, and whose they are";
        "capabilities" Any, "Its capabilities outside, and whose they are";
        "properties" Any, "Its properties outside, and whose they are";
        "substitution_filter" Any, "Which nodes it can stand in for";
        "attributes" Any, "Its attributes outside, and whose they are";
        "interfaces" Any, "Its interfaces outside, and whose they are";
    }
    pub(super) SUBSTITUTION_FILTER closed "substitution_filter"
        "Which nodes a topology can stand in for" {
        "node_filter" Of(&NODE_FILTER), "What the node must be like";
    }
}
