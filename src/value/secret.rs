//! Redaction of secrets: gathers them from values and finds or replaces them in other texts. Every text that
//! is shown, recorded or put on a command line passes through the rules of this file.

use std::fmt::{Debug, Formatter};
use std::sync::Arc;

use indexmap::IndexSet;

use super::{Map, REDACTED, Value};
use crate::text::OutputFilter;

/// The minimum length, in bytes, of a secret or a line of one that is searched for within other texts.
///
/// Shorter ones occur by chance and would make every text unreadable.
const MIN_LENGTH: usize = 3;

/// The maximum number of bytes held back while waiting for the end of a line.
const MAX_BUFFERED: usize = 64 << 10;

/// A set of secret texts. Clones share their content.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secrets(Arc<IndexSet<String>>);

impl Secrets {
    /// Adds a secret, unless it is empty.
    pub fn add(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !text.is_empty() && !self.0.contains(&text) {
            Arc::make_mut(&mut self.0).insert(text);
        }
    }

    /// Adds the texts of the sensitive values within a value.
    pub fn gather(&mut self, value: &Value) {
        self.gather_within(value, false);
    }

    fn gather_within(&mut self, value: &Value, secret: bool) {
        match value {
            Value::Sensitive(inner) => self.gather_within(inner, true),
            Value::List(items) => items
                .iter()
                .for_each(|item| self.gather_within(item, secret)),
            Value::Map(map) => map
                .values()
                .for_each(|item| self.gather_within(item, secret)),
            Value::Data(inner) => self.gather_within(inner, secret),
            Value::External(external) => self.gather_within(&external.value, secret),
            other if secret && !other.is_null() => self.add(other.to_string()),
            _ => {}
        }
    }

    /// Adds the secrets of another set.
    pub fn append(&mut self, others: &Self) {
        if self.is_empty() {
            self.clone_from(others);
        } else {
            others.0.iter().for_each(|secret| self.add(secret.as_str()));
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the texts to search for: each secret and each of its lines, longest first.
    ///
    /// Lines count because a program may print only part of a secret. The order ensures that a secret that
    /// contains another one leaves no rest.
    pub fn parts(&self) -> Vec<&str> {
        let mut parts: Vec<&str> = self.all_parts().collect();
        parts.sort_unstable_by_key(|text| (std::cmp::Reverse(text.len()), *text));
        parts.dedup();
        parts
    }

    fn all_parts(&self) -> impl Iterator<Item = &str> {
        let whole = self.0.iter().map(String::as_str);
        let lines = self.0.iter().flat_map(|secret| secret.lines());
        whole.chain(lines).filter(|text| text.len() >= MIN_LENGTH)
    }

    /// Whether a text is a secret, or contains one or a line of one.
    pub fn occur_in(&self, text: &str) -> bool {
        self.0.contains(text) || self.all_parts().any(|part| text.contains(part))
    }

    /// Whether a text may contain a secret, even a very short one. Use only where a false positive is
    /// harmless.
    pub fn may_occur_in(&self, text: &str) -> bool {
        self.occur_in(text) || self.0.iter().any(|secret| text.contains(secret.as_str()))
    }

    /// Replaces each secret in a text by [`REDACTED`].
    pub fn redact(&self, text: &str) -> String {
        let parts = self.parts().into_iter();
        parts.fold(text.to_owned(), |text, part| text.replace(part, REDACTED))
    }

    /// Replaces each secret in a text by asterisks of the same length, so that positions stay valid.
    pub fn mask(&self, text: &str) -> String {
        let parts = self.parts().into_iter();
        parts.fold(text.to_owned(), |text, part| {
            text.replace(part, &"*".repeat(part.len()))
        })
    }

    /// Marks the texts and numbers of a value as sensitive that contain a secret, and maps with such a key.
    pub fn mark(&self, value: Value) -> Value {
        match value {
            Value::List(items) => Value::list(items.iter().map(|item| self.mark(item.clone()))),
            Value::Map(map) => {
                let marked = map
                    .iter()
                    .map(|(key, item)| (Arc::clone(key), self.mark(item.clone())));
                let marked = Value::from(marked.collect::<Map>());
                marked.sensitive_if(map.keys().any(|key| self.occur_in(key)))
            }
            Value::Str(_) | Value::Int(_) | Value::Float(_) | Value::Big(_) => {
                let text = value.to_string();
                value.sensitive_if(self.occur_in(&text))
            }
            Value::Data(inner) => self.mark(Arc::unwrap_or_clone(inner)).data(),
            other => other,
        }
    }
}

impl Debug for Secrets {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} x {REDACTED}", self.0.len())
    }
}

/// A filter that redacts secrets in a stream of output.
///
/// Works line by line and therefore also finds a secret that arrives in two pieces.
pub struct Redactor {
    parts: Vec<Vec<u8>>,
    /// The texts that are removed without a replacement.
    marks: Vec<Vec<u8>>,
    buffered: Vec<u8>,
}

impl Redactor {
    /// Creates a filter that redacts the secrets and removes the marks.
    pub fn new(secrets: &Secrets, marks: impl IntoIterator<Item = String>) -> Self {
        Self {
            parts: secrets.parts().into_iter().map(Vec::from).collect(),
            marks: marks.into_iter().map(String::into_bytes).collect(),
            buffered: Vec::new(),
        }
    }

    /// Adds output and returns the part of it that is complete and redacted.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        if self.parts.is_empty() && self.marks.is_empty() {
            return bytes.to_vec();
        }
        self.buffered.extend_from_slice(bytes);
        let line_end = self.buffered.iter().rposition(|byte| *byte == b'\n');
        let end = match line_end {
            Some(end) => end + 1,
            None if self.buffered.len() > MAX_BUFFERED => return self.start_of_long_line(),
            None => 0,
        };
        let rest = self.buffered.split_off(end);
        let whole = std::mem::replace(&mut self.buffered, rest);
        self.redact(whole)
    }

    /// Returns the start of a line that is too long to keep. Its end stays, because a secret may begin there.
    fn start_of_long_line(&mut self) -> Vec<u8> {
        let line = std::mem::take(&mut self.buffered);
        let mut start = self.redact(line);
        let parts = self.parts.iter().chain(&self.marks);
        let longest = parts.map(Vec::len).max().unwrap_or_default();
        let end = start.len().saturating_sub(longest);
        self.buffered = start.split_off(end);
        start
    }

    /// Returns the redacted remainder at the end of the output.
    pub fn finish(&mut self) -> Vec<u8> {
        let rest = std::mem::take(&mut self.buffered);
        self.redact(rest)
    }

    fn redact(&self, text: Vec<u8>) -> Vec<u8> {
        let parts = self.parts.iter();
        let text = parts.fold(text, |text, part| replace(text, part, REDACTED));
        let marks = self.marks.iter();
        let text = marks.fold(text, |text, mark| replace(text, mark, ""));
        let is_plain = |byte: &u8| matches!(byte, b'\t' | b'\n' | b' '..=b'~');
        if self.parts.is_empty() || text.iter().all(is_plain) {
            return text;
        }
        let lines = text.split_inclusive(|byte| *byte == b'\n');
        lines.flat_map(|line| self.redact_shown(line)).collect()
    }

    /// Hides a line in which a secret appears once control characters and escape sequences are removed.
    fn redact_shown(&self, line: &[u8]) -> Vec<u8> {
        let shown = OutputFilter::plain(&String::from_utf8_lossy(line));
        let shows = |part: &Vec<u8>| has_part(shown.as_bytes(), part);
        if !self.parts.iter().any(shows) {
            return line.to_vec();
        }
        let end = if line.ends_with(b"\n") { "\n" } else { "" };
        format!("{REDACTED}{end}").into_bytes()
    }
}

impl Debug for Redactor {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redactor").finish_non_exhaustive()
    }
}

fn has_part(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len().max(1)).any(|window| window == part)
}

fn replace(text: Vec<u8>, secret: &[u8], by: &str) -> Vec<u8> {
    let mut shown = Vec::new();
    let mut found = false;
    let mut rest = text.as_slice();
    while let Some(at) = rest.windows(secret.len()).position(|part| part == secret) {
        shown.extend_from_slice(&rest[..at]);
        shown.extend_from_slice(by.as_bytes());
        found = true;
        rest = &rest[at + secret.len()..];
    }
    if !found {
        return text;
    }
    shown.extend_from_slice(rest);
    shown
}

impl<T: Into<String>> FromIterator<T> for Secrets {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Self {
        let mut secrets = Self::default();
        texts.into_iter().for_each(|text| secrets.add(text));
        secrets
    }
}

#[cfg(test)]
mod tests {
    use super::super::{External, ExternalKind};
    use super::*;

    fn secrets(texts: &[&str]) -> Secrets {
        texts.iter().copied().collect()
    }

    #[test]
    fn a_secret_inside_of_another_leaves_no_rest() {
        let inner = Value::from("hunter2").sensitive();
        let outer = Value::list([Value::from("hunter2-long\nsecond line")]).sensitive();
        let mut secrets = Secrets::default();
        secrets.gather(&Value::list([inner, outer, Value::from("open")]));
        let text = "open hunter2-long, second line of hunter2";
        assert_eq!(
            secrets.redact(text),
            "open <<REDACTED>>, <<REDACTED>> of <<REDACTED>>"
        );
        assert_eq!(
            secrets.mask(text),
            "open ************, *********** of *******"
        );
    }

    #[test]
    fn what_an_external_value_holds_is_found() {
        let external = |value: Value| {
            Value::External(Arc::new(External {
                kind: ExternalKind::Other,
                value,
                parts: Map::new(),
                expression: Value::Null,
                digest: None,
                exact: None,
            }))
        };
        let mut secrets = Secrets::default();
        let map = Value::map([("password", Value::from("hunter2").sensitive())]);
        secrets.gather(&external(map));
        secrets.gather(&external(Value::from("sesame")).sensitive());
        secrets.gather(&external(Value::from("open")));
        assert_eq!(secrets.parts(), ["hunter2", "sesame"]);
    }

    #[test]
    fn three_bytes_are_looked_for_within_texts_and_fewer_are_not() {
        let secrets = secrets(&["abc", "xy"]);
        assert!(secrets.occur_in("1abc2") && secrets.occur_in("abc"));
        assert!(!secrets.occur_in("1xy2"));
        assert_eq!(secrets.redact("1abc2xy"), "1<<REDACTED>>2xy");
        assert_eq!(secrets.mask("1abc2xy"), "1***2xy");
    }

    #[test]
    fn a_text_that_is_a_secret_is_found_however_short() {
        let secrets = secrets(&["xy"]);
        assert!(secrets.occur_in("xy"));
        assert!(secrets.may_occur_in("1xy2") && !secrets.may_occur_in("1x2y"));
    }

    #[test]
    fn a_line_of_a_secret_is_found() {
        let secrets = secrets(&["-----BEGIN-----\nabcdefghij\n"]);
        assert!(secrets.occur_in("key abcdefghij"));
        assert_eq!(secrets.redact("key abcdefghij"), "key <<REDACTED>>");
        assert_eq!(secrets.mask("key abcdefghij"), "key **********");
    }

    #[test]
    fn texts_and_numbers_that_repeat_secrets_are_marked() {
        let mut secrets = secrets(&["hunter2"]);
        secrets.gather(&Value::Int(8080).sensitive());
        let values = Value::list([
            Value::from("it is hunter2"),
            Value::from("open"),
            Value::Int(8080),
        ]);
        let marked = secrets.mark(values);
        assert_eq!(
            marked.redacted().to_string(),
            "['<<REDACTED>>', 'open', '<<REDACTED>>']"
        );
    }

    #[test]
    fn secrets_are_not_shown() {
        assert_eq!(
            format!("{:?}", secrets(&["hunter2", "", "hunter2"])),
            "1 x <<REDACTED>>"
        );
        assert_eq!(format!("{:?}", redactor(&["hunter2"])), "Redactor { .. }");
    }

    fn redactor(texts: &[&str]) -> Redactor {
        Redactor::new(&secrets(texts), [])
    }

    fn shown(redactor: &mut Redactor, pieces: &[&str]) -> String {
        let mut shown: Vec<u8> = Vec::new();
        for piece in pieces {
            shown.extend(redactor.push(piece.as_bytes()));
        }
        shown.extend(redactor.finish());
        String::from_utf8(shown).unwrap_or_default()
    }

    #[test]
    fn a_secret_in_two_pieces_is_found() {
        let shown = shown(
            &mut redactor(&["hunter2"]),
            &["a\nit is hun", "ter2, ", "hunter2"],
        );
        assert_eq!(shown, "a\nit is <<REDACTED>>, <<REDACTED>>");
    }

    #[test]
    fn a_secret_inside_of_another_leaves_no_rest_in_an_output() {
        let mut redactor = redactor(&["hunter2", "hunter2-long", "ab"]);
        let shown = shown(&mut redactor, &["login hunter2-long, then hunter2 ab"]);
        assert_eq!(shown, "login <<REDACTED>>, then <<REDACTED>> ab");
    }

    #[test]
    fn each_line_of_a_secret_is_one() {
        let mut redactor = redactor(&["-----BEGIN-----\nabcdefghij\n"]);
        assert_eq!(
            shown(&mut redactor, &["key abcdefghij\n", "ok"]),
            "key <<REDACTED>>\nok"
        );
    }

    #[test]
    fn output_without_secrets_is_passed_on_at_once() {
        assert_eq!(redactor(&[]).push(b"1 of 3 ..."), b"1 of 3 ...");
    }

    #[test]
    fn a_secret_between_control_characters_does_not_show() {
        let secrets: Secrets = ["hunter27731"].into_iter().collect();
        for text in [
            "a hun\u{1b}[31mter27731 b\n",
            "hun\u{0}ter27731",
            "hunter\u{8}27731\n",
            "h\u{202e}unter27731\n",
            "\u{1b}[1mh\u{1b}[0munter27731",
        ] {
            let mut redactor = Redactor::new(&secrets, []);
            let mut shown = redactor.push(text.as_bytes());
            shown.extend(redactor.finish());
            let shown = String::from_utf8(shown).unwrap();
            assert_eq!(shown.trim_end(), REDACTED, "{text:?}");
        }
        let mut redactor = Redactor::new(&secrets, []);
        let other = "\u{1b}[31mred\u{1b}[0m \u{e9}\nhunter\n";
        let shown = redactor.push(other.as_bytes());
        assert_eq!(String::from_utf8(shown).unwrap(), other);
    }

    #[test]
    fn a_secret_at_the_limit_of_a_long_line_does_not_show() {
        let secrets: Secrets = ["hunter27731"].into_iter().collect();
        for before in MAX_BUFFERED - 12..MAX_BUFFERED + 12 {
            let mut redactor = Redactor::new(&secrets, []);
            let mut shown = redactor.push(&vec![b'x'; before]);
            for piece in ["hunt", "er27", "731", "\n"] {
                shown.extend(redactor.push(piece.as_bytes()));
            }
            shown.extend(redactor.finish());
            let shown = String::from_utf8(shown).unwrap();
            assert!(shown.ends_with(&format!("x{REDACTED}\n")), "{before}");
        }
    }
}
