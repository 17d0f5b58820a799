//! Renders nested data like Salt's `nested` outputter: one line per key or value, indented by four
//! columns per level.

use crate::ui::words::one_line;
use crate::value::Value;

/// The additional indent of values below their key, in columns.
const INDENT_STEP: usize = 4;

/// Appends data indented by a number of columns. Sensitive values are redacted.
pub fn nested(value: &Value, indent: usize, text: &mut String) {
    match value {
        Value::Map(map) => {
            line("----------", indent, text);
            let mut sorted: Vec<_> = map.iter().collect();
            sorted.sort_by_key(|(key, _)| *key);
            for (key, value) in sorted {
                line(&format!("{}:", one_line(key)), indent, text);
                nested(value, indent + INDENT_STEP, text);
            }
        }
        Value::List(items) => {
            for item in items.iter() {
                if let Value::Map(_) | Value::List(_) = item {
                    line("|_", indent, text);
                    nested(item, indent + 2, text);
                } else {
                    let mut inner = String::new();
                    nested(item, 0, &mut inner);
                    for (nth, part) in inner.lines().enumerate() {
                        let lead = if nth == 0 { "- " } else { "  " };
                        line(&format!("{lead}{part}"), indent, text);
                    }
                }
            }
        }
        Value::Null => line("None", indent, text),
        Value::Bool(true) => line("True", indent, text),
        Value::Bool(false) => line("False", indent, text),
        Value::Str(words) => {
            for part in words.lines() {
                line(&one_line(part), indent, text);
            }
        }
        other => line(&other.redacted().to_string(), indent, text),
    }
}

fn line(words: &str, indent: usize, text: &mut String) {
    text.extend(std::iter::repeat_n(' ', indent));
    text.push_str(words);
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_shown_as_salt_shows_it() {
        let mut text = String::new();
        let value = Value::map([
            ("retcode", Value::from(3)),
            ("stderr", Value::str("")),
            ("stdout", Value::str("hi\nthere")),
            ("none", Value::Null),
            (
                "list",
                Value::list([Value::from("a"), Value::map([("k", true.into())])]),
            ),
            ("secret", Value::from("hush").sensitive()),
        ]);
        nested(&value, 2, &mut text);
        insta::assert_snapshot!(text, @r"
          ----------
          list:
              - a
              |_
                ----------
                k:
                    True
          none:
              None
          retcode:
              3
          secret:
              <<REDACTED>>
          stderr:
          stdout:
              hi
              there
        ");
    }
}
