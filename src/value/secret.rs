//! Finds secrets in values, so that texts that repeat them can be redacted.

use super::{REDACTED, Value};

/// Texts shorter than this many bytes are not looked for: they would tear up all other text.
const SHORTEST: usize = 3;

/// Each secret and each of its lines, longest first: what prints a secret may print part of it,
/// and one inside of another must not leave a rest.
pub fn secret_lines(secrets: &[String]) -> Vec<&str> {
    let lines = secrets.iter().flat_map(|secret| secret.lines());
    let whole = secrets.iter().map(String::as_str);
    let mut all: Vec<&str> = whole
        .chain(lines)
        .filter(|text| text.len() >= SHORTEST)
        .collect();
    all.sort_unstable_by_key(|text| std::cmp::Reverse(text.len()));
    all.dedup();
    all
}

/// A text without any of the secrets.
pub fn without_secrets(text: &str, secrets: &[String]) -> String {
    let lines = secret_lines(secrets).into_iter();
    lines.fold(text.to_owned(), |text, secret| {
        text.replace(secret, REDACTED)
    })
}

impl Value {
    /// Adds the texts of all that is sensitive in the value.
    pub fn gather_secrets(&self, secrets: &mut Vec<String>) {
        self.gather(false, secrets);
    }

    fn gather(&self, within: bool, secrets: &mut Vec<String>) {
        let secret = within || matches!(self, Self::Sensitive(_));
        match self.reveal() {
            Self::List(items) => items.iter().for_each(|item| item.gather(secret, secrets)),
            Self::Map(map) => map.values().for_each(|item| item.gather(secret, secrets)),
            other if secret && !other.is_null() => secrets.push(other.to_string()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_inside_of_another_leaves_no_rest() {
        let inner = Value::from("hunter2").sensitive();
        let outer = Value::list([Value::from("hunter2-long\nsecond line")]).sensitive();
        let mut secrets = Vec::new();
        Value::list([inner, outer, Value::from("open")]).gather_secrets(&mut secrets);
        assert_eq!(
            without_secrets("open hunter2-long, second line of hunter2", &secrets),
            "open <<REDACTED>>, <<REDACTED>> of <<REDACTED>>"
        );
    }
}
