//! Whether an edited text reads as what was meant.

use super::PatchError;
use super::change::Change;
use crate::value::{REDACTED, Value};
use crate::yaml::emit::{emit_flow, visible};
use crate::yaml::{Kind, Node, Route, Schema, parse_text};

/// Reads an edited text again: whether it is what the change makes of the old tree.
///
/// The event parser reads some texts that YAML forbids, such as `: [2] : f`; an edit that would be
/// right in a valid text can break one of these. Takes as long as reading does.
pub(super) fn is_as_meant(text: &str, old: &Node, change: &Change) -> Result<bool, PatchError> {
    let Ok(new) = parse_text(Schema::Core, text) else {
        return Ok(false);
    };
    let old = old.to_value();
    let meant = match change.onto(Some(old.clone()), &Route::root())? {
        Some(meant) => meant,
        None if matches!(change, Change::Remove) => Value::Null,
        None => old,
    };
    Ok(is(&new, &meant))
}

/// Whether a node is what is written of a value.
fn is(node: &Node, value: &Value) -> bool {
    match (node.kind(), visible(value)) {
        // It stays where its text stays, and is not told where a text is written.
        (Kind::Str(text), Value::Sensitive(_)) if **text == *REDACTED => true,
        (_, Value::Sensitive(inner)) => is(node, inner),
        (Kind::Seq(items), Value::List(values)) => {
            items.len() == values.len()
                && items
                    .iter()
                    .zip(&**values)
                    .all(|(item, value)| is(item, value))
        }
        (Kind::Map(map), Value::Map(values)) => {
            map.len() == values.len()
                && map.iter().all(|(key, entry)| {
                    let value = values.get(&**key);
                    value.is_some_and(|value| is(&entry.value, value))
                })
        }
        (Kind::Seq(_) | Kind::Map(_), _) | (_, Value::List(_) | Value::Map(_)) => false,
        (Kind::Null, Value::Null | Value::Entity(_)) => true,
        (Kind::Str(text), Value::Str(other)) => text == other,
        // Some numbers are written alike, and not a number is like no other.
        (_, value) => emit_flow(&node.to_value()) == emit_flow(value),
    }
}
