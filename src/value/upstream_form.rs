//! The forms that a secret may have in a digest of Unfurl, and the combinations of them to try.

use std::sync::Arc;

use super::{ExternalKind, Value};

/// The form of a secret in a digest of Unfurl.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SecretForm {
    /// The value itself, where Unfurl does not know that it is secret, as with inputs of the topology.
    Clear,
    /// The text that replaces secrets.
    Redacted,
    /// The object of the function `secret` or `local`, of whatever name.
    Reference,
}

const FORMS: [SecretForm; 3] = [
    SecretForm::Clear,
    SecretForm::Redacted,
    SecretForm::Reference,
];

/// The maximum number of secrets that may each have another form. More secrets have one form together.
const MAX_SEPARATE: u32 = 4;

/// A form for each secret of some values, in the order in which the digest takes them.
pub(super) struct FormChoice {
    /// The forms as digits of base 3.
    number: usize,
    /// True if all secrets have the form of the lowest digit.
    is_uniform: bool,
}

impl FormChoice {
    /// Returns all choices for the secrets in the values. Without secrets there is only one.
    pub(super) fn all(values: &[&Value]) -> impl Iterator<Item = Self> {
        let secrets: u32 = values.iter().map(|value| count_secrets(value)).sum();
        let is_uniform = secrets > MAX_SEPARATE;
        let digits = if is_uniform { 1 } else { secrets };
        (0..FORMS.len().pow(digits)).map(move |number| Self { number, is_uniform })
    }

    /// Returns the form of the next secret.
    pub(super) fn of(&mut self, _: &Value) -> SecretForm {
        let form = FORMS[self.number % FORMS.len()];
        if !self.is_uniform {
            self.number /= FORMS.len();
        }
        form
    }
}

/// Returns a value in which each text that YAML 1.1 takes for a boolean is one. Unfurl 1.2 has recorded the
/// variable `yes` so.
pub fn with_yaml_1_1_booleans(value: &Value) -> Value {
    match value {
        Value::Str(text) => match &*text.to_lowercase() {
            "y" | "yes" | "on" | "true" => Value::Bool(true),
            "n" | "no" | "off" | "false" => Value::Bool(false),
            _ => value.clone(),
        },
        Value::List(items) => Value::list(items.iter().map(with_yaml_1_1_booleans)),
        Value::Map(map) => {
            let entries = map.iter();
            Value::map(entries.map(|(key, item)| (Arc::clone(key), with_yaml_1_1_booleans(item))))
        }
        Value::Sensitive(inner) => with_yaml_1_1_booleans(inner).sensitive(),
        Value::Data(inner) => with_yaml_1_1_booleans(inner),
        other => other.clone(),
    }
}

/// Returns the number of secrets in a value. A secret with secrets in it counts once for each.
fn count_secrets(value: &Value) -> u32 {
    let sum = |counts: &mut dyn Iterator<Item = u32>| counts.fold(0, u32::saturating_add);
    match value {
        Value::Sensitive(inner) => count_secrets(inner).saturating_add(1),
        Value::Data(inner) => count_secrets(inner),
        Value::List(items) => sum(&mut items.iter().map(count_secrets)),
        Value::Map(map) => sum(&mut map.values().map(count_secrets)),
        Value::External(external) if external.kind == ExternalKind::Local => {
            count_secrets(&external.value).saturating_add(1)
        }
        Value::External(external) => {
            count_secrets(external.digest.as_ref().unwrap_or(&external.value))
        }
        _ => 0,
    }
}
