//! The writer of canonical YAML. It writes each record of an ensemble, and [`FragmentWriter`] writes the
//! changed parts of patched files.

use std::fmt::Write as _;
use std::sync::Arc;

use super::encrypted::EncryptedScalar;
use super::quote::{self, Chomp, ScalarPosition, ScalarStyle};
use crate::value::{List, Map, REDACTED, Value};

/// The maximum length of a key without `?`, in bytes.
///
/// Readers look at most 1024 characters ahead for the colon, escapes included.
const LONGEST_SIMPLE_KEY: usize = 128;

/// Writes a value as block YAML. Each line is indented by `indent` spaces and ends with a line break.
///
/// Lists are not indented below their key, texts are quoted if any reader could take them for another type,
/// and sensitive values are redacted unless they are encrypted.
pub fn emit(value: &Value, indent: usize) -> String {
    let mut writer = EmitWriter::new(true);
    writer.document(value, indent);
    writer.out
}

/// Writes a value on one line in flow style, for use within `{}` and `[]`.
pub(super) fn emit_flow(value: &Value) -> String {
    let mut writer = EmitWriter::new(false);
    writer.flow(value);
    writer.out
}

/// A writer of the fragments that patches insert.
#[derive(Debug, Clone, Copy)]
pub(super) struct FragmentWriter {
    /// Whether a fragment may end with a literal block. A following indented comment would become part of
    /// its text.
    pub(super) literal_end: bool,
}

impl FragmentWriter {
    /// Writes the entries of a block mapping at a column.
    pub(super) fn entries(self, map: &Map, column: usize) -> String {
        let mut writer = EmitWriter::new(false);
        writer.map(map, column, false);
        self.end(writer)
    }

    /// Writes the items of a block list at a column.
    pub(super) fn items(self, items: &List, column: usize) -> String {
        let mut writer = EmitWriter::new(false);
        writer.list(items, column, false);
        self.end(writer)
    }

    /// Writes a value as a whole document.
    pub(super) fn document(self, value: &Value) -> String {
        let mut writer = EmitWriter::new(false);
        writer.document(value, 0);
        self.end(writer)
    }

    /// Writes a value after `key:`, or after `-` if it is an item. `column` is that of the key or the dash.
    pub(super) fn value(self, value: &Value, column: usize, item: bool) -> RenderedValue {
        let mut writer = EmitWriter::new(false);
        if item {
            writer.item(value, column);
        } else {
            writer.value_after_key(value, column);
        }
        let mut head = self.end(writer);
        let line = head.find('\n').map_or(head.len(), |end| end + 1);
        let body = head.split_off(line);
        head.truncate(head.trim_end_matches('\n').len());
        RenderedValue { head, body }
    }

    fn end(self, mut writer: EmitWriter) -> String {
        if let Some((start, end, text)) = writer.literal.take()
            && !self.literal_end
            && writer.out[end..].trim_end().is_empty()
        {
            writer.out.truncate(start);
            quote::write_inline(&mut writer.out, &text, ScalarStyle::Double);
            writer.out.push('\n');
        }
        writer.out
    }
}

/// A rendered value: the text after `key:` or `-`, and the lines below it.
pub(super) struct RenderedValue {
    /// The rest of the line: empty, or a space and text without a line break.
    pub(super) head: String,
    /// The lines below: empty, or complete lines.
    pub(super) body: String,
}

/// Returns the value to write: for an external value its expression, if it has one.
pub(super) fn written_form(value: &Value) -> &Value {
    match value {
        Value::External(external) if external.expression.is_null() => written_form(&external.value),
        Value::External(external) => written_form(&external.expression),
        Value::Data(inner) => match &**inner {
            // The expression of a file or path from outside could be another one when it is read.
            Value::External(external) => written_form(&external.value),
            inner => written_form(inner),
        },
        Value::Entity(entity) => entity.expression(),
        other => other,
    }
}

struct EmitWriter {
    out: String,
    /// Whether `|+` may be used. Text after such a block must not start with an empty line.
    keep: bool,
    /// The last literal block: its start, its end and its text.
    literal: Option<(usize, usize, Arc<str>)>,
}

impl EmitWriter {
    fn new(keep: bool) -> Self {
        Self {
            out: String::new(),
            keep,
            literal: None,
        }
    }

    fn document(&mut self, value: &Value, indent: usize) {
        match written_form(value) {
            Value::Map(map) if !map.is_empty() => self.map(map, indent, false),
            Value::List(items) if !items.is_empty() => self.list(items, indent, false),
            scalar => {
                self.pad(indent);
                match scalar {
                    Value::Null => self.out.push_str("null"),
                    scalar => self.scalar(scalar, indent),
                }
                self.out.push('\n');
            }
        }
    }

    fn pad(&mut self, mut indent: usize) {
        const BLANKS: &str = "                                                                ";
        while indent > BLANKS.len() {
            self.out.push_str(BLANKS);
            indent -= BLANKS.len();
        }
        self.out.push_str(&BLANKS[..indent]);
    }

    /// Writes the lines of a map. `inline` means that the first line is already indented.
    fn map(&mut self, map: &Map, indent: usize, mut inline: bool) {
        for (key, value) in map {
            if !std::mem::take(&mut inline) {
                self.pad(indent);
            }
            if key.len() > LONGEST_SIMPLE_KEY {
                self.out.push_str("? ");
                self.key(key);
                self.out.push('\n');
                self.pad(indent);
                self.out.push(':');
                self.item(value, indent);
            } else {
                self.key(key);
                self.out.push(':');
                self.value_after_key(value, indent);
            }
        }
    }

    fn key(&mut self, key: &str) {
        quote::write_inline(&mut self.out, key, quote::style(key, ScalarPosition::Key));
    }

    fn value_after_key(&mut self, value: &Value, indent: usize) {
        match written_form(value) {
            Value::Map(map) if !map.is_empty() => {
                self.out.push('\n');
                self.map(map, indent + 2, false);
            }
            Value::List(items) if !items.is_empty() => {
                self.out.push('\n');
                self.list(items, indent, false);
            }
            scalar => self.scalar_after_key(scalar, indent),
        }
    }

    /// Writes the lines of a list. `inline` means that the first line is already indented.
    fn list(&mut self, items: &List, indent: usize, mut inline: bool) {
        for item in items {
            if !std::mem::take(&mut inline) {
                self.pad(indent);
            }
            self.out.push('-');
            self.item(item, indent);
        }
    }

    fn item(&mut self, item: &Value, indent: usize) {
        match written_form(item) {
            Value::Map(map) if !map.is_empty() => {
                self.out.push(' ');
                self.map(map, indent + 2, true);
            }
            Value::List(items) if !items.is_empty() => {
                self.out.push(' ');
                self.list(items, indent + 2, true);
            }
            scalar => self.scalar_after_key(scalar, indent),
        }
    }

    fn scalar_after_key(&mut self, scalar: &Value, indent: usize) {
        if !matches!(scalar, Value::Null) {
            self.out.push(' ');
            self.scalar(scalar, indent);
        }
        self.out.push('\n');
    }

    /// Writes a scalar or an empty collection without the final line break.
    fn scalar(&mut self, scalar: &Value, indent: usize) {
        match scalar {
            Value::Str(text) => match quote::style(text, ScalarPosition::Block) {
                ScalarStyle::Literal(Chomp::Keep) if !self.keep => {
                    quote::write_inline(&mut self.out, text, ScalarStyle::Double);
                }
                ScalarStyle::Literal(chomp) => self.literal(text, chomp, indent + 2),
                style => quote::write_inline(&mut self.out, text, style),
            },
            other => match EncryptedScalar::of_value(other) {
                Some(encrypted) => {
                    self.out.push_str(&encrypted.tag);
                    self.out.push(' ');
                    self.scalar(&Value::Str(encrypted.text), indent);
                }
                None => self.flow(other),
            },
        }
    }

    fn literal(&mut self, text: &Arc<str>, chomp: Chomp, indent: usize) {
        let start = self.out.len();
        self.out.push_str(chomp.header());
        for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
            self.out.push('\n');
            if !line.is_empty() {
                self.pad(indent);
                self.out.push_str(line);
            }
        }
        self.literal = Some((start, self.out.len(), Arc::clone(text)));
    }

    fn flow(&mut self, value: &Value) {
        match written_form(value) {
            Value::Null => self.out.push_str("null"),
            Value::Entity(entity) => self.flow(entity.expression()),
            Value::Bool(true) => self.out.push_str("true"),
            Value::Bool(false) => self.out.push_str("false"),
            Value::Int(number) => {
                write!(self.out, "{number}").expect("writing to a string cannot fail");
            }
            Value::Big(digits) => self.out.push_str(digits),
            Value::Float(number) => self.float(*number),
            Value::Str(text) => {
                quote::write_inline(
                    &mut self.out,
                    text,
                    quote::style(text, ScalarPosition::Flow),
                );
            }
            Value::Sensitive(_) | Value::External(_) | Value::Data(_) => {
                match EncryptedScalar::of_value(value) {
                    Some(encrypted) => {
                        self.out.push_str(&encrypted.tag);
                        self.out.push(' ');
                        self.flow(&Value::Str(encrypted.text));
                    }
                    None => self.out.push_str(REDACTED),
                }
            }
            Value::List(items) => {
                self.out.push('[');
                for (place, item) in items.iter().enumerate() {
                    self.out.push_str(if place == 0 { "" } else { ", " });
                    self.flow(item);
                }
                self.out.push(']');
            }
            Value::Map(map) => {
                self.out.push('{');
                for (place, (key, item)) in map.iter().enumerate() {
                    self.out.push_str(if place == 0 { "" } else { ", " });
                    self.out.push_str(if key.len() > LONGEST_SIMPLE_KEY {
                        "? "
                    } else {
                        ""
                    });
                    quote::write_inline(
                        &mut self.out,
                        key,
                        quote::style(key, ScalarPosition::Flow),
                    );
                    self.out.push_str(": ");
                    self.flow(item);
                }
                self.out.push('}');
            }
        }
    }

    /// Writes a float as Python does, but always with a point, because YAML 1.1 reads `1e+16` as text.
    fn float(&mut self, number: f64) {
        if number.is_nan() {
            self.out.push_str(".nan");
        } else if number.is_infinite() {
            self.out
                .push_str(if number > 0.0 { ".inf" } else { "-.inf" });
        } else {
            let text = Value::Float(number).to_string();
            match text.split_once('e') {
                Some((mantissa, exponent)) if !mantissa.contains('.') => {
                    write!(self.out, "{mantissa}.0e{exponent}")
                        .expect("writing to a string cannot fail");
                }
                _ => self.out.push_str(&text),
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::diagnostic::Sources;
    use crate::yaml::{Limits, parse};
    use proptest::prelude::*;

    fn read(text: &str) -> Value {
        let mut sources = Sources::default();
        let id = sources.add("test.yaml", text, None);
        parse(&sources, id, &Limits::default()).unwrap().to_value()
    }

    #[test]
    fn collections_are_written_as_ruamel_writes_them() {
        let value = read(
            "{a: {b: [1, {c: 2, d: []}, [x, [z]], {}], e: ~}, f: '1', g: yes, h: 'a: b', i: {j: 1e16}}",
        );
        insta::assert_snapshot!(emit(&value, 0), @r"
        a:
          b:
          - 1
          - c: 2
            d: []
          - - x
            - - z
          - {}
          e:
        f: '1'
        g: 'yes'
        h: 'a: b'
        i:
          j: 1.0e+16
        ");
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "the expected text is long")]
    fn texts_are_quoted_only_where_a_reader_could_err() {
        let texts = [
            "",
            "plain text",
            "10.0.0.1",
            "::n::data",
            "{{ x }}",
            "- a",
            "-a",
            "it's",
            "'q'",
            "a #b",
            "a#b",
            "tab\t",
            "two\nlines",
            "line\n",
            "lines\n\n",
            " lead\nx",
            "\n",
            "a \nb",
            "# c\nd",
            "---",
            "<<",
            "<<REDACTED>>",
            "a:",
            "1_000",
            "\u{85}",
            "é",
            "😀",
            "@x",
            "a\r\nb",
            "null",
            "~",
            "2020-01-01",
            "12:30",
            "%",
            "a\n\nb",
            "[x",
            "*a",
            "&a",
            "!a",
            "?",
            "? x",
            ":x",
            ": x",
        ];
        let list = Value::list(texts.map(Value::from));
        insta::assert_snapshot!(emit(&list, 0), @r#"
        - ''
        - plain text
        - 10.0.0.1
        - ::n::data
        - '{{ x }}'
        - '- a'
        - -a
        - it's
        - '''q'''
        - 'a #b'
        - a#b
        - "tab\t"
        - |-
          two
          lines
        - |
          line
        - |+
          lines

        - " lead\nx"
        - "\n"
        - "a \nb"
        - |-
          # c
          d
        - '---'
        - '<<'
        - <<REDACTED>>
        - 'a:'
        - '1_000'
        - "\x85"
        - é
        - 😀
        - '@x'
        - "a\r\nb"
        - 'null'
        - '~'
        - '2020-01-01'
        - '12:30'
        - '%'
        - |-
          a

          b
        - '[x'
        - '*a'
        - '&a'
        - '!a'
        - '?'
        - '? x'
        - :x
        - ': x'
        "#);
        assert_eq!(read(&emit(&list, 0)), list);
    }

    #[test]
    fn what_must_not_show_does_not_show() {
        let value = Value::map([("s", Value::str("hush").sensitive())]);
        assert_eq!(emit(&value, 2), "  s: <<REDACTED>>\n");
    }

    fn text() -> impl Strategy<Value = String> {
        prop_oneof![
            "[a-z]{0,6}",
            "[-+0-9._:eExXoO]{1,6}",
            "[ -~\n]{0,12}",
            "[ab \n#:'\"-]{0,10}",
            "\\PC{0,6}",
            any::<String>(),
            Just("x".repeat(1200)),
        ]
    }

    pub(crate) fn tree() -> impl Strategy<Value = Value> {
        let scalar = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>()
                .prop_filter("not equal to itself", |n| !n.is_nan())
                .prop_map(Value::from),
            Just(Value::Big("123456789012345678901234567890".into())),
            text().prop_map(Value::from),
        ];
        scalar.prop_recursive(5, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::list),
                prop::collection::vec((text(), inner), 0..5).prop_map(Value::map),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_written_is_read_again(value in tree(), indent in 0_usize..5) {
            let written = emit(&value, indent);
            prop_assert_eq!(read(&written), value.clone(), "{}", written);
            prop_assert_eq!(emit(&read(&written), indent), written);
            let flow = emit_flow(&value);
            prop_assert_eq!(read(&flow), value, "{}", flow);
        }
    }
}
