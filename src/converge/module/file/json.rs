//! Values as JSON the way Python's encoder writes it.
#![expect(
    clippy::format_push_string,
    reason = "what is formatted is short, and cannot fail this way"
)]

use crate::value::{Map, Value};

/// How JSON is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Style {
    /// What each level is indented by; none for one line.
    indent: Option<String>,
    /// What stands between items, and between a key and its value.
    separators: (String, String),
    /// Whether keys are sorted.
    sorted: bool,
    /// Whether what is not ASCII is escaped.
    ascii: bool,
}

impl Style {
    /// By the options of `file.serialize`: two spaces and sorted keys unless said otherwise.
    pub(super) fn of(options: &Map, is_encoded: bool) -> Self {
        let flag = |key: &str, otherwise| options.get(key).map_or(otherwise, Value::is_truthy);
        let separators = options.get("separators").and_then(Value::as_list);
        let separator = |place: usize, otherwise: &str| {
            separators
                .and_then(|all| all.get(place))
                .map_or_else(|| otherwise.to_owned(), ToString::to_string)
        };
        Self {
            indent: match options.get("indent") {
                None => Some("  ".to_owned()),
                Some(Value::Int(count)) => usize::try_from(*count).ok().map(|it| " ".repeat(it)),
                Some(Value::Str(text)) => Some(text.to_string()),
                Some(_) => None,
            },
            separators: (separator(0, ","), separator(1, ": ")),
            sorted: flag("sort_keys", true),
            ascii: flag("ensure_ascii", !is_encoded),
        }
    }
}

/// A value as a JSON text, without a newline at its end.
pub(super) fn text(value: &Value, style: &Style) -> String {
    let mut out = String::new();
    write(value, style, 0, &mut out);
    out
}

fn write(value: &Value, style: &Style, depth: usize, out: &mut String) {
    match value.reveal() {
        Value::Null => out.push_str("null"),
        Value::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Value::Int(number) => out.push_str(&number.to_string()),
        Value::Big(digits) => out.push_str(digits),
        Value::Float(number) if number.is_nan() => out.push_str("NaN"),
        Value::Float(number) if number.is_infinite() => {
            out.push_str(if *number > 0.0 {
                "Infinity"
            } else {
                "-Infinity"
            });
        }
        Value::List(items) if items.is_empty() => out.push_str("[]"),
        Value::Map(map) if map.is_empty() => out.push_str("{}"),
        Value::List(items) => {
            out.push('[');
            for (place, item) in items.iter().enumerate() {
                separate(style, place, depth + 1, out);
                write(item, style, depth + 1, out);
            }
            end(style, depth, out);
            out.push(']');
        }
        Value::Map(map) => {
            let mut pairs: Vec<_> = map.iter().collect();
            if style.sorted {
                pairs.sort_by_key(|(key, _)| *key);
            }
            out.push('{');
            for (place, (key, item)) in pairs.into_iter().enumerate() {
                separate(style, place, depth + 1, out);
                quote(key, style.ascii, out);
                out.push_str(&style.separators.1);
                write(item, style, depth + 1, out);
            }
            end(style, depth, out);
            out.push('}');
        }
        number @ Value::Float(_) => out.push_str(&number.to_string()),
        other => quote(&other.to_string(), style.ascii, out),
    }
}

fn separate(style: &Style, place: usize, depth: usize, out: &mut String) {
    if place > 0 {
        out.push_str(&style.separators.0);
    }
    end(style, depth, out);
}

fn end(style: &Style, depth: usize, out: &mut String) {
    if let Some(indent) = &style.indent {
        out.push('\n');
        out.push_str(&indent.repeat(depth));
    }
}

fn quote(text: &str, ascii: bool, out: &mut String) {
    out.push('"');
    for sign in text.chars() {
        match sign {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            sign if sign < ' ' => {
                out.push_str(&format!("\\u{:04x}", u32::from(sign)));
            }
            sign if ascii && !sign.is_ascii() => {
                for unit in sign.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            sign => out.push(sign),
        }
    }
    out.push('"');
}
