//! Newtypes for names. Readers of files convert strings to names; the rest of the program keeps the types
//! apart.

use std::borrow::Borrow;
use std::fmt::{Display, Formatter};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! name {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Creates a name from a string.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Returns the shared text without a copy.
            pub fn shared(&self) -> Arc<str> {
                Arc::clone(&self.0)
            }
        }

        impl Display for $name {
            fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl From<Arc<str>> for $name {
            fn from(text: Arc<str>) -> Self {
                Self(text)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer).map(Self::from)
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                &*self.0 == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                &*self.0 == *other
            }
        }
    };
}

name!(
    /// The name of a node template, unique within its topology.
    TemplateName
);
name!(
    /// The name of a TOSCA type, such as `tosca.nodes.Root`.
    TypeName
);
name!(
    /// The name of an instance, unique within its topology.
    InstanceName
);
name!(
    /// The key of an entity in records: `::name`, `::name::.requirements::[.name=x]`, ….
    InstanceKey
);
name!(
    /// The name of an interface, such as `Standard` or `Install`.
    InterfaceName
);
name!(
    /// The name of an operation within its interface, such as `configure`.
    OperationName
);

impl InterfaceName {
    /// Whether the operations of the interface create, configure or remove instances.
    pub fn is_lifecycle(&self) -> bool {
        matches!(self.as_str(), "Standard" | "Configure")
    }
}

impl OperationName {
    /// Whether the operation reverses the effect of others: `stop` or `delete`.
    pub fn is_teardown(&self) -> bool {
        matches!(self.as_str(), "stop" | "delete")
    }
}

/// An operation and its interface. Serialized as a pair.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(
    from = "(InterfaceName, OperationName)",
    into = "(InterfaceName, OperationName)"
)]
pub struct OperationRef {
    /// The interface, such as `Standard`; empty for a command that the user typed.
    pub interface: InterfaceName,
    /// The operation within the interface, such as `create`.
    pub operation: OperationName,
}

impl OperationRef {
    pub fn new(interface: impl Into<InterfaceName>, operation: impl Into<OperationName>) -> Self {
        Self {
            interface: interface.into(),
            operation: operation.into(),
        }
    }
}

impl From<(InterfaceName, OperationName)> for OperationRef {
    fn from((interface, operation): (InterfaceName, OperationName)) -> Self {
        Self {
            interface,
            operation,
        }
    }
}

impl From<OperationRef> for (InterfaceName, OperationName) {
    fn from(reference: OperationRef) -> Self {
        (reference.interface, reference.operation)
    }
}

impl Display for OperationRef {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        if self.interface.as_str().is_empty() {
            return f.write_str(self.operation.as_str());
        }
        write!(f, "{}.{}", self.interface, self.operation)
    }
}
