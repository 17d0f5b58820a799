//! Plain scalars of YAML that keep their text, because readers of YAML 1.1 read it otherwise.

use std::sync::Arc;

use super::value::{External, ExternalKind, Map, Value};

/// The part of the external value that has the text.
const TEXT_PART: &str = "text";

impl Value {
    /// Returns a value that keeps the text of the plain scalar from which it was read, such as `0644` or `12:30`.
    #[must_use]
    pub fn with_plain_text(self, text: Arc<str>) -> Self {
        Self::External(Arc::new(External {
            kind: ExternalKind::PlainScalar,
            value: self,
            parts: Map::from_iter([(TEXT_PART.into(), Self::Str(text))]),
            expression: Self::Null,
            digest: None,
            exact: None,
        }))
    }
}

impl External {
    /// Returns the text of the plain scalar that a value was read from. None if the value keeps none.
    pub fn plain_text(&self) -> Option<&str> {
        let text = self.parts.get(TEXT_PART).and_then(Value::as_str);
        text.filter(|_| self.kind == ExternalKind::PlainScalar)
    }
}
