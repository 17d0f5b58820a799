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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Diagnostics;
    use crate::yaml::{TagError, TagReader, emit, parse_text};

    /// Reverses texts.
    #[derive(Debug)]
    struct Reverse;

    fn reversed(text: &str) -> String {
        text.trim_end().chars().rev().collect()
    }

    impl TagReader for Reverse {
        fn read(&self, tag: &str, text: &str, _: &str) -> Option<Result<Value, TagError>> {
            let value = Value::from(reversed(text)).sensitive();
            (tag == "!vault").then_some(Ok(value))
        }
    }

    impl TagWriter for Reverse {
        fn write(&self, value: &Value) -> Option<EncryptedScalar> {
            let text = Arc::from(reversed(value.as_str()?) + "\n");
            EncryptedScalar::new("!vault", &text)
        }
    }

    /// Writes a value in place of a text.
    fn replaced(text: &str, value: &Value) -> String {
        let closed = parse_text(crate::yaml::Schema::Core, text).unwrap();
        let opened = closed.opened(&Reverse, &mut Diagnostics::default());
        let place = EncryptedPlace {
            opened: &opened,
            closed: &closed,
        };
        emit(&seal_or_keep(value, Some(place), Some(&Reverse)), 0)
    }

    #[test]
    fn secrets_that_stay_keep_their_text_and_others_are_encrypted() {
        // The text in the file has a blank that a new encryption would not have.
        let text = "a: !vault 'cba '\nb: !vault fed\nc: [!vault 'ihg ', 1]\n";
        let secret = |text: &str| Value::from(text).sensitive();
        let value = Value::map([
            ("a", secret("abc")),
            ("b", secret("new")),
            ("c", Value::list([secret("ghi"), 2.into()])),
            ("d", Value::from("open")),
        ]);
        insta::assert_snapshot!(replaced(text, &value), @r"
        a: !vault 'cba '
        b: !vault |
          wen
        c:
        - !vault 'ihg '
        - 2
        d: open
        ");
    }

    #[test]
    fn values_that_stay_closed_keep_their_text() {
        let value = Value::map([("a", Value::from(REDACTED)), ("b", Value::from(REDACTED))]);
        insta::assert_snapshot!(replaced("a: !vault 'cba '\n", &value), @r"
        a: !vault 'cba '
        b: <<REDACTED>>
        ");
        let closed = parse_text(crate::yaml::Schema::Core, "a: !vault 'cba '\n").unwrap();
        assert_eq!(emit(&closed.to_value(), 0), "a: !vault 'cba '\n");
        assert_eq!(closed.to_value().to_string(), "{'a': <<REDACTED>>}");
    }

    #[test]
    fn without_a_key_secrets_are_redacted_and_local_values_too() {
        let value = Value::list([
            Value::from("abc").sensitive(),
            Value::from("x").local_if(true),
        ]);
        assert_eq!(
            emit(&seal_or_keep(&value, None, None), 0),
            "- <<REDACTED>>\n- <<REDACTED>>\n"
        );
        assert_eq!(emit(&value, 0), "- <<REDACTED>>\n- <<REDACTED>>\n");
        insta::assert_snapshot!(emit(&seal(&value, &Reverse), 0), @r"
        - !vault |
          cba
        - !vault |
          x
        ");
    }
}
