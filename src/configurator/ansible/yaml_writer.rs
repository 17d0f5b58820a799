//! Writes values as YAML for Ansible, which reads YAML 1.1 and evaluates templates in all texts.
//!
//! Texts are quoted unless they are plain words, so that YAML 1.1 reads each of them as the text that it is. Plain scalars
//! of the model that YAML 1.1 reads otherwise, such as `yes`, `0644` and `12:30`, are written as they were, so that Ansible
//! reads them as in a playbook.

use crate::value::{Map, Value};

/// The words that YAML 1.1 does not read as text.
const SPECIAL_WORDS: [&str; 10] = [
    "yes", "no", "on", "off", "true", "false", "null", "y", "n", "nan",
];
/// The number of spaces by which a level is indented.
const INDENT: usize = 2;
/// The marks of templates. A text without them is the same for Ansible whether it is evaluated or not.
const TEMPLATE_MARKS: [&str; 3] = ["{{", "{%", "{#"];

/// Returns true if Ansible would evaluate a text.
pub(super) fn is_ansible_template(text: &str) -> bool {
    TEMPLATE_MARKS.iter().any(|mark| text.contains(mark))
}

/// Returns a value as a YAML document. Texts that are secret or data get the tag `!unsafe`, so that Ansible does not
/// evaluate templates in them.
pub(super) fn to_ansible_yaml(value: &Value) -> String {
    let mut out = String::new();
    write_node(value, 0, false, &mut out);
    if !out.ends_with('\n') {
        out.push('\n');
    }
    out
}

/// Writes a node at the start of a line, or behind `key: ` if it is a scalar or empty.
fn write_node(value: &Value, indent: usize, is_foreign: bool, out: &mut String) {
    match value {
        Value::Sensitive(inner) | Value::Data(inner) => write_node(inner, indent, true, out),
        Value::External(external) => match external.plain_text() {
            Some(text) => out.push_str(text),
            None => write_node(&external.value, indent, is_foreign, out),
        },
        Value::List(items) if !items.is_empty() => {
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    out.push_str(&" ".repeat(indent));
                }
                out.push_str("- ");
                write_node(item, indent + INDENT, is_foreign, out);
                end_line(out);
            }
        }
        Value::Map(map) if !map.is_empty() => write_map(map, indent, is_foreign, out),
        other => write_scalar(other, is_foreign, out),
    }
}

fn write_map(map: &Map, indent: usize, is_foreign: bool, out: &mut String) {
    for (place, (key, item)) in map.iter().enumerate() {
        if place > 0 {
            out.push_str(&" ".repeat(indent));
        }
        out.push_str(&text(key));
        out.push(':');
        if is_nested(item) {
            out.push('\n');
            out.push_str(&" ".repeat(indent + INDENT));
            write_node(item, indent + INDENT, is_foreign, out);
        } else {
            out.push(' ');
            write_node(item, indent, is_foreign, out);
        }
        end_line(out);
    }
}

fn end_line(out: &mut String) {
    if !out.ends_with('\n') {
        out.push('\n');
    }
}

/// Returns true if a value takes lines of its own.
fn is_nested(value: &Value) -> bool {
    match value.reveal() {
        Value::List(items) => !items.is_empty(),
        Value::Map(map) => !map.is_empty(),
        Value::External(external) => is_nested(&external.value),
        _ => false,
    }
}

fn write_scalar(value: &Value, is_foreign: bool, out: &mut String) {
    let scalar = match value {
        Value::Bool(truth) => truth.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Big(digits) => digits.to_string(),
        Value::Float(number) if number.is_nan() => ".nan".to_owned(),
        Value::Float(number) if number.is_infinite() && *number > 0.0 => ".inf".to_owned(),
        Value::Float(number) if number.is_infinite() => "-.inf".to_owned(),
        Value::Float(number) => format!("{number:?}"),
        Value::Str(word) if is_foreign && is_ansible_template(word) => {
            format!("!unsafe {}", quoted(word))
        }
        Value::Str(word) => text(word),
        Value::List(_) => "[]".to_owned(),
        Value::Map(_) => "{}".to_owned(),
        _ => "null".to_owned(),
    };
    out.push_str(&scalar);
}

/// Returns a text as a scalar.
fn text(word: &str) -> String {
    let lower = word.to_ascii_lowercase();
    let is_first = |first: char| first.is_ascii_alphabetic() || first == '_';
    let is_plain = word.starts_with(is_first)
        && word
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_.-/".contains(&byte));
    if is_plain && !SPECIAL_WORDS.contains(&&*lower) {
        word.to_owned()
    } else {
        quoted(word)
    }
}

/// Returns a text in double quotes.
fn quoted(word: &str) -> String {
    let mut out = String::with_capacity(word.len() + 2);
    out.push('"');
    for character in word.chars() {
        let code = u32::from(character);
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            ' '..='~'
            | '\u{a0}'..='\u{2027}'
            | '\u{202a}'..='\u{d7ff}'
            | '\u{e000}'..='\u{fefe}'
            | '\u{ff00}'..='\u{fffd}' => out.push(character),
            _ if code <= 0xff => out.push_str(&format!("\\x{code:02x}")),
            _ if code <= 0xffff => out.push_str(&format!("\\u{code:04x}")),
            _ => out.push_str(&format!("\\U{code:08x}")),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_keep_their_kind_for_a_reader_of_yaml_1_1() {
        let value = Value::map([
            ("mode", Value::str("0644")),
            ("become", Value::str("yes").with_plain_text("yes".into())),
            ("octal", Value::Int(644).with_plain_text("0644".into())),
            ("answer", Value::str("yes")),
            ("time", Value::str("12:30:00")),
            ("empty", Value::str("")),
            ("on", Value::str("a: b # c")),
            (
                "list",
                Value::list(["x".into(), Value::Int(3), Value::Null]),
            ),
            ("none", Value::list([])),
            (
                "tasks",
                Value::list([Value::map([
                    ("shell", Value::str("echo \"{{ x }}\"\ttab\n")),
                    ("args", Value::map([("chdir", Value::str("/tmp"))])),
                ])]),
            ),
            ("odd", Value::str("\u{7f}\u{85}\u{1F600}\u{feff}é")),
        ]);
        insta::assert_snapshot!(to_ansible_yaml(&value), @r#"
        mode: "0644"
        become: yes
        octal: 0644
        answer: "yes"
        time: "12:30:00"
        empty: ""
        "on": "a: b # c"
        list:
          - x
          - 3
          - null
        none: []
        tasks:
          - shell: "echo \"{{ x }}\"\ttab\n"
            args:
              chdir: "/tmp"
        odd: "\x7f\x85\U0001f600\ufeffé"
        "#);
    }

    #[test]
    fn a_text_from_outside_is_not_evaluated_by_ansible() {
        let value = Value::list([
            Value::str("{{ x }}"),
            Value::str("{{ x }}").data(),
            Value::str("yes").data(),
            Value::map([("a", Value::str("{% y %}"))]).sensitive(),
        ]);
        insta::assert_snapshot!(to_ansible_yaml(&value), @r#"
        - "{{ x }}"
        - !unsafe "{{ x }}"
        - "yes"
        - a: !unsafe "{% y %}"
        "#);
    }
}
