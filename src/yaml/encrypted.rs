//! Encrypted scalars as values, which the emitter writes as they are.

use std::sync::Arc;

use crate::value::{External, ExternalKind, Map, Value};

/// The tags of encrypted scalars.
const ENCRYPTED_TAGS: [&str; 4] = ["!vault", "!vault-json", "!vault-binary", "!age"];

/// An encrypted scalar: its tag and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncryptedScalar {
    pub tag: Arc<str>,
    pub text: Arc<str>,
}

impl EncryptedScalar {
    /// Returns the scalar with this tag and text. None if the tag is none of an encrypted scalar.
    pub(super) fn new(tag: &str, text: &Arc<str>) -> Option<Self> {
        ENCRYPTED_TAGS.contains(&tag).then(|| Self {
            tag: tag.into(),
            text: Arc::clone(text),
        })
    }

    /// Returns the scalar that a value carries.
    pub(super) fn of_value(value: &Value) -> Option<Self> {
        let Value::Sensitive(inner) = value else {
            return None;
        };
        let Value::External(external) = &**inner else {
            return None;
        };
        let parts = external.expression.as_map()?.first()?;
        let (tag, Value::Str(text)) = parts else {
            return None;
        };
        (external.kind == ExternalKind::Encrypted).then(|| Self {
            tag: Arc::clone(tag),
            text: Arc::clone(text),
        })
    }

    /// Returns a value that is written as this scalar. `clear` is the decrypted value, if it is known.
    pub(super) fn to_value(&self, clear: Option<&Value>) -> Value {
        let text = Value::Str(Arc::clone(&self.text));
        Value::External(Arc::new(External {
            kind: ExternalKind::Encrypted,
            value: clear.unwrap_or(&text).clone(),
            parts: Map::new(),
            expression: Value::map([(Arc::clone(&self.tag), text.clone())]),
            digest: None,
            exact: None,
        }))
        .sensitive()
    }
}
