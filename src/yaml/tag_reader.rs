//! Tagged scalars, such as `!vault`, which a [`TagReader`] of a higher layer decodes.

use std::sync::Arc;

use super::{Node, NodeKind};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::value::{Map, Value};

/// A decoder of tagged scalars, such as `!vault`.
pub trait TagReader {
    /// Decodes a scalar. None if the reader does not handle the tag; the error explains why decoding failed.
    fn read(&self, tag: &str, text: &str) -> Option<Result<Value, String>>;
}

impl Node {
    /// Converts the node to a value without positions. `reader` decodes the tagged scalars.
    pub fn to_value_with(&self, reader: &dyn TagReader) -> Result<Value, Diagnostics> {
        let mut problems = Diagnostics::default();
        let value = decode(self, reader, &mut problems);
        if problems.has_errors() {
            Err(problems)
        } else {
            Ok(value)
        }
    }
}

fn decode(node: &Node, reader: &dyn TagReader, problems: &mut Diagnostics) -> Value {
    let value = match node.kind() {
        NodeKind::Seq(items) => {
            Value::list(items.iter().map(|item| decode(item, reader, problems)))
        }
        NodeKind::Map(mapping) => {
            let entries = mapping.iter();
            let map: Map = entries
                .map(|(key, entry)| (Arc::clone(key), decode(&entry.value, reader, problems)))
                .collect();
            Value::from(map)
        }
        NodeKind::Str(text) => match node.tag().and_then(|tag| reader.read(tag, text)) {
            Some(Ok(value)) => return value,
            Some(Err(reason)) => {
                let tag = node.tag().unwrap_or_default();
                problems.push(
                    Diagnostic::error(format!("cannot decode this `{tag}` value: {reason}"))
                        .label(node.span(), ""),
                );
                Value::Null
            }
            None => Value::Str(Arc::clone(text)),
        },
        _ => return node.to_value(),
    };
    value.sensitive_if(node.tag() == Some("!sensitive"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Sources;
    use crate::yaml::{Limits, parse};

    struct Reverse;

    impl TagReader for Reverse {
        fn read(&self, tag: &str, text: &str) -> Option<Result<Value, String>> {
            let text: String = text.chars().rev().collect();
            match tag {
                "!vault" if text.is_empty() => Some(Err("it is empty".to_owned())),
                "!vault" => Some(Ok(Value::from(text).sensitive())),
                _ => None,
            }
        }
    }

    fn read(text: &str) -> Result<Value, Diagnostics> {
        let mut sources = Sources::default();
        let id = sources.add("a.yaml", text, None);
        parse(&sources, id, &Limits::default())?.to_value_with(&Reverse)
    }

    #[test]
    fn a_reader_opens_its_own_tags() {
        let value = read("a: [!vault abc, !other d, !sensitive e]").unwrap();
        let items = value.get("a").unwrap();
        assert_eq!(items.to_string(), "[<<REDACTED>>, 'd', <<REDACTED>>]");
        assert_eq!(items.as_list().unwrap()[0].as_str(), Some("cba"));
    }

    #[test]
    fn what_cannot_be_opened_is_a_problem() {
        let problems = read("a: !vault ''").unwrap_err();
        let messages: Vec<_> = problems
            .iter()
            .map(|problem| problem.message.as_str())
            .collect();
        assert_eq!(messages, ["cannot decode this `!vault` value: it is empty"]);
    }
}
