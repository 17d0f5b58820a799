//! A YAML writer that gives the output of `PyYAML`, for the filters `to_yaml` and `to_nice_yaml`.
use crate::value::{Map, Value};

/// The options of the YAML output.
#[derive(Debug, Clone, Copy)]
pub(super) struct DumpStyle {
    /// The number of columns per level.
    pub(super) indent: usize,
    /// Whether lists and maps are in brackets. None means only those that hold no other list or map.
    pub(super) brackets: Option<bool>,
    pub(super) sorted: bool,
    /// The column after which lines are broken.
    pub(super) width: usize,
    /// True if texts with a colon within brackets are quoted, as the emitter in Python does. The emitter in C
    /// quotes only those whose colon could end a key.
    pub(super) quotes_colons: bool,
}

/// The maximum nesting depth of values.
const DEPTH: usize = 200;

/// Writes a value as a YAML document.
pub(super) fn dump(value: &Value, style: DumpStyle) -> Result<String, String> {
    let mut writer = DumpWriter {
        text: String::new(),
        column: 0,
        style,
    };
    writer.node(value, 0, 0)?;
    writer.text.push('\n');
    Ok(writer.text)
}

/// Writes a value as a YAML document with one item per line and sorted keys, as `PyYAML` does.
pub fn pyyaml_text(value: &Value) -> Result<String, String> {
    let style = DumpStyle {
        indent: 2,
        brackets: Some(false),
        sorted: true,
        width: 80,
        quotes_colons: false,
    };
    dump(value, style)
}

/// Writes a value as a YAML document with the keys in their order, in brackets or with one item per line.
pub fn pyyaml_text_in_order(value: &Value, brackets: bool) -> Result<String, String> {
    let style = DumpStyle {
        indent: 2,
        brackets: Some(brackets),
        sorted: false,
        width: 80,
        quotes_colons: true,
    };
    dump(value, style)
}

struct DumpWriter {
    text: String,
    column: usize,
    style: DumpStyle,
}

impl DumpWriter {
    fn put(&mut self, text: &str) {
        self.text += text;
        self.column = match text.rfind('\n') {
            Some(at) => text[at + 1..].chars().count(),
            None => self.column + text.chars().count(),
        };
    }

    /// Moves to a column: on the current line if it is free from there, otherwise on the next line.
    fn go_to(&mut self, column: usize) {
        let free = self.text.is_empty()
            || self.text.ends_with('\n')
            || (self.column < column && self.text.ends_with(['-', '?']));
        if !free {
            self.put("\n");
        }
        self.put(&" ".repeat(column.saturating_sub(self.column)));
    }

    fn in_brackets(&self, value: &Value) -> bool {
        let is_plain = |value: &Value| !matches!(value, Value::List(_) | Value::Map(_));
        match (value, self.style.brackets) {
            (Value::List(items), _) if items.is_empty() => true,
            (Value::Map(map), _) if map.is_empty() => true,
            (_, Some(brackets)) => brackets,
            (Value::List(items), None) => items.iter().all(is_plain),
            (Value::Map(map), None) => map.values().all(is_plain),
            _ => true,
        }
    }

    fn entries<'v>(&self, map: &'v Map) -> Vec<(&'v str, &'v Value)> {
        let mut entries: Vec<_> = map.iter().map(|(key, value)| (&**key, value)).collect();
        if self.style.sorted {
            entries.sort_by_key(|(key, _)| *key);
        }
        entries
    }

    fn node(&mut self, value: &Value, indent: usize, depth: usize) -> Result<(), String> {
        if depth > DEPTH {
            return Err(format!("the value nests more than {DEPTH} levels deep"));
        }
        match value {
            Value::List(_) | Value::Map(_) if self.in_brackets(value) => {
                self.flow(value, indent + self.style.indent, depth)
            }
            Value::List(items) => {
                for item in items.iter() {
                    self.go_to(indent);
                    self.put("-");
                    self.child(item, indent + self.style.indent, depth)?;
                }
                Ok(())
            }
            Value::Map(map) => {
                for (key, item) in self.entries(map) {
                    self.go_to(indent);
                    self.scalar(&key.into(), indent, false);
                    self.put(":");
                    if let Value::List(_) = item
                        && !self.in_brackets(item)
                    {
                        self.put("\n");
                        self.node(item, indent, depth + 1)?;
                    } else if matches!(item, Value::Map(_)) && !self.in_brackets(item) {
                        self.put("\n");
                        self.node(item, indent + self.style.indent, depth + 1)?;
                    } else {
                        self.child(item, indent + self.style.indent, depth)?;
                    }
                }
                Ok(())
            }
            other => {
                self.scalar(other, indent + self.style.indent, false);
                Ok(())
            }
        }
    }

    fn child(&mut self, value: &Value, indent: usize, depth: usize) -> Result<(), String> {
        let is_plain = !matches!(value, Value::List(_) | Value::Map(_));
        if is_plain {
            self.put(" ");
            self.scalar(value, indent, false);
            return Ok(());
        }
        if self.in_brackets(value) {
            self.put(" ");
            return self.flow(value, indent, depth + 1);
        }
        self.node(value, indent, depth + 1)
    }

    fn flow(&mut self, value: &Value, indent: usize, depth: usize) -> Result<(), String> {
        if depth > DEPTH {
            return Err(format!("the value nests more than {DEPTH} levels deep"));
        }
        let separate = |writer: &mut Self, place: usize| {
            if place > 0 {
                writer.put(",");
            }
            if writer.column > writer.style.width {
                writer.put("\n");
                writer.put(&" ".repeat(indent));
            } else if place > 0 {
                writer.put(" ");
            }
        };
        match value {
            Value::List(items) => {
                self.put("[");
                for (place, item) in items.iter().enumerate() {
                    separate(self, place);
                    self.flow(item, indent + self.style.indent, depth + 1)?;
                }
                self.put("]");
            }
            Value::Map(map) => {
                self.put("{");
                for (place, (key, item)) in self.entries(map).into_iter().enumerate() {
                    separate(self, place);
                    self.scalar(&key.into(), indent, true);
                    self.put(": ");
                    self.flow(item, indent + self.style.indent, depth + 1)?;
                }
                self.put("}");
            }
            other => self.scalar(other, indent, true),
        }
        Ok(())
    }

    fn scalar(&mut self, value: &Value, indent: usize, in_flow: bool) {
        match value {
            Value::Null => self.put("null"),
            Value::Bool(truth) => self.put(if *truth { "true" } else { "false" }),
            Value::Float(float) if float.is_nan() => self.put(".nan"),
            Value::Float(float) if float.is_infinite() => {
                self.put(if *float > 0.0 { ".inf" } else { "-.inf" });
            }
            Value::Float(_) => {
                let text = value.to_string();
                let text = match text.split_once('e') {
                    Some((digits, power)) if !digits.contains('.') => format!("{digits}.0e{power}"),
                    _ => text,
                };
                self.put(&text);
            }
            Value::Str(text) => self.string(text, indent, in_flow),
            other => self.put(&other.to_string()),
        }
    }

    fn string(&mut self, text: &str, indent: usize, in_flow: bool) {
        let needs_escape = |c: char| {
            (c.is_control() && c != '\n') || matches!(c, '\u{feff}' | '\u{2028}' | '\u{2029}')
        };
        let spaced_lines = text.contains(" \n") || text.contains("\n ");
        if text.contains(needs_escape)
            || spaced_lines
            || text.starts_with(' ') && text.contains('\n')
        {
            self.double(text);
        } else if is_plain(text, in_flow)
            && !(in_flow && self.style.quotes_colons && text.contains(':'))
        {
            self.folded(text, indent);
        } else {
            let breaks = text.contains('\n');
            self.put("'");
            let quoted = text.replace('\'', "''");
            if breaks {
                let lines: Vec<&str> = quoted.split('\n').collect();
                let margin = " ".repeat(indent);
                for (place, line) in lines.iter().enumerate() {
                    // A reader folds a single line break into a space, so the first one of each run is doubled.
                    match place.checked_sub(1).map(|before| (before, lines[before])) {
                        None => {}
                        Some((before, text)) if before == 0 || !text.is_empty() => {
                            self.put("\n\n");
                        }
                        Some(_) => self.put("\n"),
                    }
                    if place > 0 && (!line.is_empty() || place + 1 == lines.len()) {
                        self.put(&margin);
                    }
                    self.folded(line, indent);
                }
            } else {
                self.folded(&quoted, indent);
            }
            self.put("'");
        }
    }

    /// Writes words and breaks the line after one that exceeds the width.
    fn folded(&mut self, text: &str, indent: usize) {
        let mut words = text.split(' ').peekable();
        let mut single = true;
        while let Some(word) = words.next() {
            self.put(word);
            if let Some(next) = words.peek() {
                let breaks = single && !word.is_empty() && !next.is_empty();
                if breaks && self.column > self.style.width {
                    self.put("\n");
                    self.put(&" ".repeat(indent));
                } else {
                    self.put(" ");
                }
                single = true;
            }
        }
    }

    fn double(&mut self, text: &str) {
        let mut quoted = String::from("\"");
        for character in text.chars() {
            match character {
                '"' => quoted += "\\\"",
                '\\' => quoted += "\\\\",
                '\n' => quoted += "\\n",
                '\t' => quoted += "\\t",
                '\r' => quoted += "\\r",
                '\0' => quoted += "\\0",
                '\u{1b}' => quoted += "\\e",
                c if c.is_control() && u32::from(c) < 0x100 => {
                    quoted += &format!("\\x{:02X}", u32::from(c));
                }
                c @ ('\u{feff}' | '\u{2028}' | '\u{2029}') => {
                    quoted += &format!("\\u{:04X}", u32::from(c));
                }
                other => quoted.push(other),
            }
        }
        quoted.push('"');
        self.put(&quoted);
    }
}

/// Whether a text needs no quotes.
fn is_plain(text: &str, in_flow: bool) -> bool {
    let Some(first) = text.chars().next() else {
        return false;
    };
    let second = text.chars().nth(1);
    let special = "#,[]{}&*!|>'\"%@`".contains(first)
        || ("-?:".contains(first) && second.is_none_or(char::is_whitespace));
    let in_flow_special = in_flow && text.contains([',', '[', ']', '{', '}', '?']);
    !(special
        || in_flow_special
        || (in_flow && text.contains(':') && (first == ':' || text.contains(": ")))
        || text.starts_with(' ')
        || text.ends_with([' ', ':'])
        || text.contains('\n')
        || text.contains(": ")
        || text.contains(" #")
        || text.starts_with("---")
        || text.starts_with("...")
        || is_ambiguous(text))
}

/// Whether YAML 1.1 would read an unquoted text as another type.
fn is_ambiguous(text: &str) -> bool {
    let words = [
        "null", "~", "true", "false", "yes", "no", "on", "off", "y", "n", "=", "<<", ".inf",
        "-.inf", "+.inf", ".nan",
    ];
    let lower = text.to_lowercase();
    if words.contains(&&*lower) {
        // `PyYAML` reads single letters as text.
        return !matches!(&*lower, "y" | "n");
    }
    let digits = lower.trim_start_matches(['-', '+']).replace('_', "");
    let starts = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    if !starts || !digits.contains(|c: char| c.is_ascii_digit()) {
        return false;
    }
    let based = ["0x", "0b", "0o"]
        .iter()
        .any(|prefix| digits.starts_with(prefix));
    let date = text.len() >= 8
        && text.split('-').count() == 3
        && text.chars().take(4).all(|c| c.is_ascii_digit());
    let sexagesimal =
        digits.contains(':') && digits.split(':').all(|part| part.parse::<f64>().is_ok());
    let exponent_is_float =
        !digits.contains('e') || (digits.contains('.') && digits.contains(['+', '-']));
    let number = digits.parse::<f64>().is_ok() && exponent_is_float;
    number
        || date
        || sexagesimal
        || (based && !digits.starts_with("0o") && i64::from_str_radix(&digits[2..], 16).is_ok())
}
