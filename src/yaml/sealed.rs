//! Encryption of the secrets in values that are written: [`TagWriter`] encrypts, and secrets that a text has already
//! keep their encrypted form.

use std::sync::Arc;

use super::encrypted::EncryptedScalar;
use super::{Node, NodeKind};
use crate::value::{ExternalKind, REDACTED, Value};

/// An encoder of secret values, which a higher layer implements.
pub trait TagWriter: std::fmt::Debug + Send + Sync {
    /// Encrypts a value. None if no key is known; the value is then redacted.
    fn write(&self, value: &Value) -> Option<EncryptedScalar>;
}

/// Returns the scalar of a node that was not decrypted.
fn scalar_of(node: &Node) -> Option<EncryptedScalar> {
    match node.kind() {
        NodeKind::Str(text) => EncryptedScalar::new(node.tag()?, text),
        _ => None,
    }
}

/// Returns a value whose secrets are encrypted when it is written.
pub fn seal(value: &Value, writer: &dyn TagWriter) -> Value {
    seal_or_keep(value, None, Some(writer))
}

/// The place of a value in a text: the node as it is decrypted, and the same node as the text has it.
#[derive(Clone, Copy)]
pub struct EncryptedPlace<'n> {
    pub opened: &'n Node,
    pub closed: &'n Node,
}

impl<'n> EncryptedPlace<'n> {
    fn part(self, find: impl Fn(&'n Node) -> Option<&'n Node>) -> Option<Self> {
        Some(Self {
            opened: find(self.opened)?,
            closed: find(self.closed)?,
        })
    }

    /// Returns the scalar of the text if it stands for this value.
    fn scalar_of(self, value: &Value) -> Option<EncryptedScalar> {
        let scalar = scalar_of(self.closed)?;
        let is_closed = value.as_str() == Some(REDACTED);
        (is_closed || self.opened.to_value() == *value).then_some(scalar)
    }
}

/// Like [`seal`], for a value that replaces another one: secrets that are the same keep their encrypted text.
pub fn seal_or_keep(
    value: &Value,
    place: Option<EncryptedPlace<'_>>,
    writer: Option<&dyn TagWriter>,
) -> Value {
    let is_redacted = matches!(value, Value::Str(text) if **text == *REDACTED);
    if let Some(place) = place
        && (is_redacted || matches!(value, Value::Sensitive(_)))
        && let Some(kept) = place.scalar_of(value)
    {
        return kept.to_value(Some(value.reveal()));
    }
    match value {
        Value::Sensitive(_) if EncryptedScalar::of_value(value).is_some() => value.clone(),
        Value::Sensitive(inner) => {
            let written = writer.and_then(|writer| writer.write(inner.reveal()));
            written.map_or_else(|| value.clone(), |text| text.to_value(Some(inner.reveal())))
        }
        Value::External(external) if external.kind == ExternalKind::Local => {
            let hidden = external.value.clone().sensitive();
            seal_or_keep(&hidden, place, writer)
        }
        Value::List(items) => {
            let sealed = |(index, item): (usize, &Value)| {
                let place = place.and_then(|it| it.part(|node| node.as_seq()?.get(index)));
                seal_or_keep(item, place, writer)
            };
            Value::list(items.iter().enumerate().map(sealed))
        }
        Value::Map(map) => {
            let sealed = |(key, item): (&Arc<str>, &Value)| {
                let place = place.and_then(|it| it.part(|node| node.get(key)));
                (Arc::clone(key), seal_or_keep(item, place, writer))
            };
            Value::map(map.iter().map(sealed))
        }
        Value::Data(inner) => seal_or_keep(inner, place, writer).data(),
        other => other.clone(),
    }
}
