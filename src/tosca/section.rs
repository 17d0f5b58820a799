//! The kinds of TOSCA types, and the sections of a service template that declare them.

/// A kind of type, which is also a section of a service template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum TypeSection {
    Node,
    Relationship,
    Capability,
    Interface,
    Artifact,
    Data,
    Group,
    Policy,
    /// The section `types`. The ancestors of an entry determine its kind.
    Any,
}

impl TypeSection {
    pub(super) const ALL: &'static [Self] = &[
        Self::Any,
        Self::Interface,
        Self::Data,
        Self::Capability,
        Self::Artifact,
        Self::Relationship,
        Self::Node,
        Self::Group,
        Self::Policy,
    ];

    /// Returns the key of the section in a service template.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Node => "node_types",
            Self::Relationship => "relationship_types",
            Self::Capability => "capability_types",
            Self::Interface => "interface_types",
            Self::Artifact => "artifact_types",
            Self::Data => "data_types",
            Self::Group => "group_types",
            Self::Policy => "policy_types",
            Self::Any => "types",
        }
    }

    /// Returns the section with the key.
    pub(super) fn from_key(key: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|section| section.key() == key)
    }

    /// Returns the prefix that the short names of normative types of the section omit.
    pub(super) fn prefix(self) -> &'static str {
        match self {
            Self::Node | Self::Any => "tosca.nodes.",
            Self::Relationship => "tosca.relationships.",
            Self::Capability => "tosca.capabilities.",
            Self::Interface => "tosca.interfaces.",
            Self::Artifact => "tosca.artifacts.",
            Self::Data => "tosca.datatypes.",
            Self::Group => "tosca.groups.",
            Self::Policy => "tosca.policies.",
        }
    }

    /// Returns the section of a normative type, by its full name.
    pub(super) fn from_normative_type(name: &str) -> Option<Self> {
        let mut sections = Self::ALL.iter().copied();
        sections.find(|section| *section != Self::Any && name.starts_with(section.prefix()))
    }

    /// Returns the type that types without `derived_from` derive from. `None` for data types.
    pub(super) fn root(self) -> Option<&'static str> {
        Some(match self {
            Self::Node | Self::Any => "tosca.nodes.Root",
            Self::Relationship => "tosca.relationships.Root",
            Self::Capability => "tosca.capabilities.Root",
            Self::Interface => "tosca.interfaces.Root",
            Self::Artifact => "tosca.artifacts.Root",
            Self::Group => "tosca.groups.Root",
            Self::Policy => "tosca.policies.Root",
            Self::Data => return None,
        })
    }

    /// Returns the noun for a type of the section, with its article, for messages.
    pub(super) fn noun_with_article(self) -> String {
        let article = match self {
            Self::Interface | Self::Artifact => "an",
            _ => "a",
        };
        format!("{article} {}", self.noun())
    }

    /// Returns the noun for a type of the section, for messages.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Node => "node type",
            Self::Relationship => "relationship type",
            Self::Capability => "capability type",
            Self::Interface => "interface type",
            Self::Artifact => "artifact type",
            Self::Data => "data type",
            Self::Group => "group type",
            Self::Policy => "policy type",
            Self::Any => "type",
        }
    }
}
