//! References to entities of a topology, which name their entity in texts, records and digests.

use std::fmt::{Display, Formatter};
use std::sync::{Arc, OnceLock};

use super::value::{Handle, Value};

/// A reference to an entity of a topology: its handle for this run, and its names for everything that outlives
/// the run.
#[derive(Debug, Clone)]
pub struct EntityRef {
    handle: Handle,
    key: Arc<str>,
    outer: Option<Arc<str>>,
    expression: OnceLock<Value>,
}

impl EntityRef {
    pub fn handle(&self) -> Handle {
        self.handle
    }

    /// Returns the reference with another handle for the same entity.
    #[must_use]
    pub fn with_handle(&self, handle: Handle) -> Self {
        Self {
            handle,
            ..self.clone()
        }
    }

    /// Returns the expression that finds the entity again, as Unfurl's records have it.
    pub fn expression(&self) -> &Value {
        let reference = || Value::map([("ref", Value::Str(Arc::clone(&self.key)))]);
        self.expression.get_or_init(reference)
    }

    /// Returns the key that identifies the entity in its topology, such as `::web`.
    pub fn key(&self) -> &str {
        &self.key
    }
}

impl PartialEq for EntityRef {
    fn eq(&self, other: &Self) -> bool {
        self.handle == other.handle
    }
}

/// Formats the reference as Unfurl's `str()` does, such as `NodeInstance('web')`.
impl Display for EntityRef {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let key = &*self.key;
        let (class, name) = if key == "::root" {
            ("TopologyInstance", key)
        } else if key.contains("::.capabilities::") {
            ("CapabilityInstance", key)
        } else if key.contains("::.requirements::") {
            ("RelationshipInstance", key)
        } else if let Some((_, artifact)) = key.rsplit_once("::.artifacts::") {
            ("ArtifactInstance", artifact)
        } else {
            ("NodeInstance", key.strip_prefix("::").unwrap_or(key))
        };
        match &self.outer {
            Some(outer) => write!(f, "{class}('{outer}:{name}')"),
            None => write!(f, "{class}('{name}')"),
        }
    }
}

impl Value {
    /// Creates a reference to an entity. `outer` is the instance in whose nested topology the entity is.
    pub fn entity(handle: Handle, key: Arc<str>, outer: Option<Arc<str>>) -> Self {
        Self::Entity(Arc::new(EntityRef {
            handle,
            key,
            outer,
            expression: OnceLock::new(),
        }))
    }

    /// Returns the handle of the entity, if the value refers to one.
    pub fn as_entity(&self) -> Option<Handle> {
        match self.reveal() {
            Self::Entity(entity) => Some(entity.handle),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entity_prints_as_in_unfurl_and_without_its_handle() {
        let text = |key: &str| Value::entity(Handle(7), key.into(), None).to_string();
        assert_eq!(text("::web"), "NodeInstance('web')");
        assert_eq!(text("::root"), "TopologyInstance('::root')");
        assert_eq!(
            text("::web::.artifacts::setup"),
            "ArtifactInstance('setup')"
        );
        assert_eq!(
            text("::web::.capabilities::[.name=host]"),
            "CapabilityInstance('::web::.capabilities::[.name=host]')"
        );
        let nested = Value::entity(Handle(7), "::db".into(), Some("app".into()));
        assert_eq!(
            Value::list([nested]).to_string(),
            "[NodeInstance('app:db')]"
        );
    }
}
