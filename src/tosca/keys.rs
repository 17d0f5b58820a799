//! The keys that each kind of entity knows: one table for each.

use crate::diagnostic::{Diagnostic, Severity};
use crate::text::did_you_mean;
use crate::yaml::{Key, Mapping, Rest, Shape, Table};

use super::problems::Problems;

/// The keys an entity knows, and how bad one is that it does not.
#[derive(Debug)]
pub(super) struct Keys {
    pub(super) table: Table,
    pub(super) unknown: Severity,
}

macro_rules! keys {
    (@rest Error) => { Rest::Refused };
    (@rest Warning) => { Rest::Open };
    (@rest Error $rest:expr) => { Rest::Each($rest) };
    ($($name:ident $unknown:ident $what:literal $about:literal $(each($rest:expr))? {
        $($key:literal $shape:expr, $says:literal;)*
    })*) => {
        $(
            #[doc = $about]
            pub(super) static $name: Keys = Keys {
                table: Table {
                    name: $what,
                    about: $about,
                    keys: &[$(Key { name: $key, shape: $shape, about: $says }),*],
                    required: &[],
                    rest: keys!(@rest $unknown $($rest)?),
                },
                unknown: Severity::$unknown,
            };
        )*
    };
}

use Shape::{Any, Flag, Imports, List, ListOf, Map, MapOf, MapOfTextOr, Named, Names, Of, Scalar};
use Shape::{Text, TextOr, Words};

/// The versions of the language that can be read.
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

/// The keys of a service template, and all that stand below them.
pub const fn service_template_keys() -> &'static Table {
    &SERVICE_TEMPLATE.table
}

keys! {
    SERVICE_TEMPLATE Error "service_template" "What is to be deployed, and the types it uses" {
        "tosca_definitions_version" Words(VERSIONS), "The version of the language";
        "namespace" Text, "What names the types of this file everywhere";
        "metadata" Map, "Facts about the template, such as its name and author";
        "description" Text, "What it is for";
        "dsl_definitions" Any, "A place for anchors";
        "repositories" Map, "Where imported files and artifacts are, by name";
        "imports" Imports(&IMPORT.table), "Files whose types and templates are used";
        "artifact_types" MapOf(&ARTIFACT_TYPE.table), "Types of artifacts";
        "data_types" MapOf(&DATA_TYPE.table), "Types of values";
        "capability_types" MapOf(&CAPABILITY_TYPE.table), "Types of capabilities";
        "interface_types" MapOf(&INTERFACE_TYPE.table), "Types of interfaces";
        "relationship_types" MapOf(&RELATIONSHIP_TYPE.table), "Types of relationships";
        "node_types" MapOf(&NODE_TYPE.table), "Types of nodes";
        "group_types" MapOf(&GROUP_TYPE.table), "Types of groups";
        "policy_types" MapOf(&POLICY_TYPE.table), "Types of policies";
        "types" Map, "Types of any kind; what they derive from says of which";
        "topology_template" Of(&TOPOLOGY.table), "What is to be deployed";
        "template_name" Scalar, "The name of the template";
        "template_author" Scalar, "Who wrote it";
        "template_version" Scalar, "Its version";
        "relationship_templates" MapOf(&RELATIONSHIP_TEMPLATE.table), "Relationships with a name";
        "decorators" Map, "Properties that match many templates";
        "deployment_blueprints" Map, "Templates that replace others, by the name of a blueprint";
        "input_values" Map, "Values of inputs";
        "inputs_values" Map, "Values of inputs";
    }
    TOPOLOGY Error "topology_template" "What is to be deployed" {
        "description" Text, "What it is for";
        "inputs" MapOf(&PARAMETER.table), "What the user can or must give";
        "node_templates" MapOf(&NODE_TEMPLATE.table), "The nodes";
        "relationship_templates" MapOf(&RELATIONSHIP_TEMPLATE.table), "Relationships with a name";
        "outputs" MapOf(&PARAMETER.table), "What it gives back";
        "groups" MapOf(&GROUP.table), "Groups of nodes";
        "substitution_mappings" Of(&SUBSTITUTION.table), "What it can stand in for";
        "policies" Named(&POLICY.table), "Policies over nodes and groups";
        "workflows" MapOf(&WORKFLOW.table), "Workflows besides those built in";
        "root" Of(&SUBSTITUTION.table), "The node that represents it outside";
        "metadata" Map, "Facts about it";
    }
    IMPORT Error "import" "A file whose types and templates are used" {
        "file" Text, "Its path from the folder of this file, or from its repository";
        "repository" Text, "The repository that it is in";
        "namespace_uri" Text, "What names its types everywhere";
        "namespace_prefix" Text, "What to put before the names of its types";
        "when" Any, "Whether to import it";
        "uri_prefix" Text, "What to put before the names of its types";
    }
    NODE_TYPE Error "node_type" "A type of nodes" {
        "derived_from" Names, "The types it extends";
        "metadata" Map, "Facts about the type";
        "version" Scalar, "Its version";
        "description" Text, "What it is for";
        "properties" MapOf(&PROPERTY.table), "What its nodes are configured with";
        "attributes" MapOf(&PROPERTY.table), "What is known of its nodes once they exist";
        "requirements" Named(&REQUIREMENT.table), "What its nodes need of others";
        "capabilities" MapOfTextOr(&CAPABILITY.table), "What its nodes offer to others";
        "interfaces" MapOf(&INTERFACE.table), "What can be done with its nodes";
        "artifacts" MapOfTextOr(&ARTIFACT.table), "Files that its operations use";
        "instance_keys" Any, "What tells instances apart";
        "title" Text, "What people call it";
    }
    RELATIONSHIP_TYPE Error "relationship_type" "A type of relationships" {
        "derived_from" Names, "The types it extends";
        "metadata" Map, "Facts about the type";
        "version" Scalar, "Its version";
        "description" Text, "What it is for";
        "properties" MapOf(&PROPERTY.table), "What its relationships are configured with";
        "attributes" MapOf(&PROPERTY.table), "What is known once they exist";
        "interfaces" MapOf(&INTERFACE.table), "What can be done with them";
        "valid_target_types" Names, "The capability types it can point at";
        "credential" Any, "What it takes to connect";
        "name" Text, "Its name";
        "title" Text, "What people call it";
    }
    CAPABILITY_TYPE Warning "capability_type" "A type of capabilities" {
        "derived_from" Names, "The types it extends";
        "metadata" Map, "Facts about the type";
        "version" Scalar, "Its version";
        "description" Text, "What it is for";
        "properties" MapOf(&PROPERTY.table), "What capabilities are configured with";
        "attributes" MapOf(&PROPERTY.table), "What is known once they exist";
        "valid_source_types" Names, "The node types that may use it";
    }
    INTERFACE_TYPE Warning "interface_type" "A type of interfaces" {
        "derived_from" Names, "The types it extends";
        "metadata" Map, "Facts about the type";
        "version" Scalar, "Its version";
        "description" Text, "What it is for";
        "inputs" Map, "Inputs of all its operations";
        "operations" MapOfTextOr(&OPERATION.table), "Its operations";
        "notifications" Map, "Its notifications";
    }
    ARTIFACT_TYPE Error "artifact_type" "A type of artifacts" {
        "derived_from" Names, "The types it extends";
        "metadata" Map, "Facts about the type";
        "version" Scalar, "Its version";
        "description" Text, "What it is for";
        "properties" MapOf(&PROPERTY.table), "What artifacts are configured with";
        "attributes" MapOf(&PROPERTY.table), "What is known once they exist";
        "interfaces" MapOf(&INTERFACE.table), "What can be done with them";
        "mime_type" Text, "The media type of the files";
        "file_ext" Names, "How the names of the files end";
    }
    DATA_TYPE Warning "data_type" "A type of values" {
        "derived_from" Names, "The type it extends or narrows";
        "metadata" Map, "Facts about the type";
        "version" Scalar, "Its version";
        "description" Text, "What it is for";
        "properties" MapOf(&PROPERTY.table), "The fields of its values";
        "type" Text, "The simple type that it narrows";
        "constraints" List, "What its values must meet";
        "key_schema" TextOr(&PROPERTY.table), "What the keys of a map must be";
        "entry_schema" TextOr(&PROPERTY.table), "What the items of a list or a map must be";
        "title" Text, "What people call it";
        "attributes" MapOf(&PROPERTY.table), "Fields that are known later";
    }
    GROUP_TYPE Error "group_type" "A type of groups" {
        "derived_from" Names, "The types it extends";
        "metadata" Map, "Facts about the type";
        "version" Scalar, "Its version";
        "description" Text, "What it is for";
        "properties" MapOf(&PROPERTY.table), "What groups are configured with";
        "attributes" MapOf(&PROPERTY.table), "What is known of groups";
        "members" Names, "The types that members may have";
        "interfaces" MapOf(&INTERFACE.table), "What can be done with groups";
        "capabilities" Map, "What groups offer to others";
        "requirements" Any, "What groups need of others";
    }
    POLICY_TYPE Warning "policy_type" "A type of policies" {
        "derived_from" Names, "The types it extends";
        "metadata" Map, "Facts about the type";
        "version" Scalar, "Its version";
        "description" Text, "What it is for";
        "properties" MapOf(&PROPERTY.table), "What policies are configured with";
        "targets" Names, "The types that targets may have";
        "triggers" Named(&TRIGGER.table), "What sets policies off";
    }
    ANY_TYPE Warning "type" "A type of any kind" {}
    PROPERTY Warning "property" "A property, an attribute or a schema; tools add their own keys" {
        "type" Text, "What its values are: string, integer, list, a data type, …";
        "description" Text, "What it is for";
        "required" Flag, "Whether a value must be given; true if it does not say";
        "default" Any, "The value when none is given";
        "status" Text, "supported, unsupported, experimental or deprecated";
        "constraints" List, "What its values must meet";
        "key_schema" TextOr(&PROPERTY.table), "What the keys of a map must be";
        "entry_schema" TextOr(&PROPERTY.table), "What the items of a list or a map must be";
        "metadata" Map, "Facts such as `sensitive` and `user_settable`";
        "title" Text, "What people call it";
        "value" Any, "Its value";
        "external-schema" Any, "A schema of another language";
        "external_schema" Any, "A schema of another language";
    }
    PARAMETER Error "parameter" "An input or an output" {
        "type" Text, "What its values are: string, integer, list, a data type, …";
        "value" Any, "The value of an output, often an expression";
        "description" Text, "What it is for";
        "default" Any, "The value when none is given";
        "constraints" List, "What its values must meet";
        "required" Flag, "Whether a value must be given; true if it does not say";
        "status" Text, "supported, unsupported, experimental or deprecated";
        "key_schema" TextOr(&PROPERTY.table), "What the keys of a map must be";
        "entry_schema" TextOr(&PROPERTY.table), "What the items of a list or a map must be";
        "metadata" Map, "Facts such as `sensitive`";
        "title" Text, "What people call it";
        "sensitive" Flag, "Whether its value must not be shown";
    }
    OUTPUT Warning "operation_output" "An output of an operation" {
        "type" Text, "What its values are: string, integer, list, a data type, …";
        "mapping" Any, "The attribute that it goes to";
        "description" Text, "What it is for";
        "default" Any, "The value when none is given";
        "value" Any, "The value of an output, often an expression";
        "constraints" List, "What its values must meet";
        "required" Flag, "Whether a value must be given; true if it does not say";
        "status" Text, "supported, unsupported, experimental or deprecated";
        "key_schema" TextOr(&PROPERTY.table), "What the keys of a map must be";
        "entry_schema" TextOr(&PROPERTY.table), "What the items of a list or a map must be";
        "metadata" Map, "Facts such as `sensitive`";
        "title" Text, "What people call it";
        "sensitive" Flag, "Whether its value must not be shown";
    }
    NODE_TEMPLATE Error "node_template" "A node to be deployed" {
        "type" Text, "Its node type";
        "description" Text, "What it is for";
        "metadata" Map, "Facts about the node";
        "directives" Names, "How it is treated: select, substitute, protected, default, …";
        "properties" Any, "What it is configured with: values or expressions";
        "attributes" Map, "Values that its attributes begin with";
        "requirements" Named(&REQUIREMENT.table), "Which nodes it needs, and how it relates to them";
        "capabilities" MapOf(&CAPABILITY.table), "What it offers to others";
        "interfaces" MapOf(&INTERFACE.table), "What can be done with it";
        "artifacts" MapOfTextOr(&ARTIFACT.table), "Files that its operations use";
        "node_filter" Of(&NODE_FILTER.table), "Which node to select or to substitute";
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
    RELATIONSHIP_TEMPLATE Error "relationship_template" "A relationship between two nodes" {
        "type" Text, "Its relationship type";
        "description" Text, "What it is for";
        "metadata" Map, "Facts about the relationship";
        "properties" Any, "What it is configured with: values or expressions";
        "attributes" Map, "Values that its attributes begin with";
        "interfaces" MapOf(&INTERFACE.table), "What can be done with it";
        "copy" Text, "The template that it begins as a copy of";
        "default_for" Scalar, "What it is the connection of: ANY, SELF, a node, a type or a capability";
        "directives" Names, "How it is treated";
        "derived_from" Names, "Left from a type";
        "requirements" Any, "As exports write them";
        "dependencies" List, "As exports write them";
        "name" Text, "Its name, as exports write it";
        "title" Text, "What people call it";
    }
    REQUIREMENT Warning "requirement" "What a node needs of another" {
        "node" Text, "The node template or the node type of the target";
        "capability" Text, "The capability of the target, by name or by type";
        "relationship" TextOr(&RELATIONSHIP_TEMPLATE.table), "The relationship: a type, a template, or one in place";
        "occurrences" List, "How many targets it needs: a lower and an upper bound";
        "node_filter" Of(&NODE_FILTER.table), "What the target must be like";
        "description" Text, "What it is for";
        "metadata" Map, "Facts about the requirement";
        "title" Text, "What people call it";
    }
    NODE_FILTER Error "node_filter" "What a node must be like" {
        "properties" Any, "Constraints on its properties, or values that they get";
        "capabilities" Any, "Constraints on its capabilities";
        "requirements" Any, "Constraints on what it requires";
        "artifacts" Any, "Constraints on its artifacts";
        "match" List, "Templates or expressions that give them";
    }
    CAPABILITY Error "capability" "What a node offers to others" {
        "type" Text, "Its capability type";
        "description" Text, "What it is for";
        "properties" Map, "Its properties: definitions in a type, values in a template";
        "attributes" Map, "Its attributes";
        "valid_source_types" Names, "The node types that may use it";
        "occurrences" List, "How many may use it";
        "metadata" Map, "Facts about the capability";
    }
    OPERATION Error "operation" "Something that can be done" {
        "description" Text, "What it is for";
        "implementation" TextOr(&IMPLEMENTATION.table), "What runs: a command, a configurator or an artifact";
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
    INTERFACE Error "interface" "Operations, by name, and what they share" each(TextOr(&OPERATION.table)) {
        "type" Text, "Its interface type";
        "inputs" Map, "Inputs of all its operations";
        "operations" Any, "Its operations";
        "notifications" Map, "Its notifications";
        "description" Text, "What it is for";
        "implementation" TextOr(&IMPLEMENTATION.table), "What runs where an operation does not say";
        "requirements" Names, "The connections that its operations need";
        "derived_from" Names, "The types it extends";
        "metadata" Map, "Facts about the interface";
        "outputs" Any, "Where outputs go";
    }
    INTERFACE_DEFAULTS Error "interface_defaults" "What the operations of all interfaces share" {
        "implementation" TextOr(&IMPLEMENTATION.table), "What runs where an operation does not say";
        "inputs" Map, "Inputs of all operations";
        "outputs" Any, "Where outputs go";
    }
    IMPLEMENTATION Error "implementation" "What runs when an operation is performed" {
        "primary" TextOr(&ARTIFACT.table), "The command or the artifact that runs";
        "dependencies" List, "Artifacts that must be there first";
        "timeout" Scalar, "How many seconds it may take";
        "className" Text, "The configurator that runs it";
        "operation_host" Text, "Where it runs: SELF, HOST, ORCHESTRATOR or a node";
        "environment" Any, "Rules for environment variables";
        "preConditions" Any, "A JSON schema that the target's attributes must meet";
        "invoke" Text, "The operation it stands for";
    }
    ARTIFACT Error "artifact" "A file or an image that operations use" {
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
        "interfaces" MapOf(&INTERFACE.table), "What can be done with it";
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
    GROUP Error "group" "A group of nodes" {
        "type" Text, "Its group type";
        "metadata" Map, "Facts about the group";
        "description" Text, "What it is for";
        "properties" Map, "What it is configured with";
        "attributes" Map, "Values that its attributes begin with";
        "members" Names, "Its nodes and groups";
        "interfaces" MapOf(&INTERFACE.table), "What can be done with it";
        "title" Text, "What people call it";
    }
    POLICY Error "policy" "A policy over nodes and groups" {
        "type" Text, "Its policy type";
        "metadata" Map, "Facts about the policy";
        "description" Text, "What it is for";
        "properties" Map, "What it is configured with";
        "targets" Names, "The nodes and groups it applies to";
        "triggers" Named(&TRIGGER.table), "What sets it off";
        "reservation" Any, "What it reserves";
        "title" Text, "What people call it";
    }
    TRIGGER Warning "trigger" "What sets a policy off, and what happens then" {
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
    WORKFLOW Error "workflow" "Steps in an order" {
        "metadata" Map, "Facts about the workflow";
        "description" Text, "What it is for";
        "inputs" MapOf(&PARAMETER.table), "What the user can or must give";
        "preconditions" ListOf(&PRECONDITION.table), "What must hold before it starts";
        "steps" MapOf(&STEP.table), "Its steps";
        "implementation" Any, "What runs instead of steps";
        "outputs" Any, "What it gives back";
    }
    STEP Error "step" "A step of a workflow" {
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
    PRECONDITION Error "precondition" "What must hold before a workflow starts" {
        "target" Text, "The node or the group";
        "target_relationship" Text, "The requirement whose relationship is meant";
        "condition" List, "The conditions";
    }
    SUBSTITUTION Error "substitution_mappings" "What a topology can stand in for" {
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
    SUBSTITUTION_FILTER Error "substitution_filter" "Which nodes a topology can stand in for" {
        "node_filter" Of(&NODE_FILTER.table), "What the node must be like";
    }
}

impl Keys {
    /// Whether a key is known.
    pub(super) fn knows(&self, key: &str) -> bool {
        self.table.knows(key)
    }

    /// Reports each key that is not known; `what` names the entity.
    pub(super) fn check(&self, problems: &Problems, what: &str, mapping: &Mapping) {
        for (key, entry) in mapping {
            if self.knows(key) {
                continue;
            }
            let message = format!("{what} has no key `{key}`");
            let mut diagnostic = match self.unknown {
                Severity::Error => Diagnostic::error(message),
                _ => Diagnostic::warning(message),
            }
            .label(entry.key_span, "");
            diagnostic.help = did_you_mean(key, self.table.names());
            problems.report(diagnostic);
        }
    }
}
