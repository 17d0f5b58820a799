//! A parser of Python literals. Like Ansible's native Jinja2, templates convert a rendered text that is a
//! literal to its value.

use std::sync::Arc;

use crate::value::{List, Map, Value};

/// The maximum nesting depth of brackets.
const DEPTH: usize = 100;

/// Returns the value of a rendered text: that of the literal, or the text itself.
pub(in crate::expr) fn native(text: &str) -> Value {
    match python_literal(text) {
        // A quoted text keeps its quotes, while its escapes are resolved.
        Some(Value::Str(inner)) => {
            let quote = text.chars().next().unwrap_or('"');
            Value::from(format!("{quote}{inner}{quote}"))
        }
        Some(value) => value,
        None => text.into(),
    }
}

/// Parses a Python literal, as `ast.literal_eval` does. None if the text is not a literal.
pub fn python_literal(text: &str) -> Option<Value> {
    let first = text.bytes().next()?;
    if !(first.is_ascii_digit() || b"+-.([{\"'TFN".contains(&first)) {
        return None;
    }
    let mut parser = LiteralParser {
        bytes: text.as_bytes(),
        text,
        at: 0,
        open: 0,
    };
    let first = parser.item()?;
    parser.blank();
    let mut items = vec![first];
    let mut is_tuple = false;
    while parser.eat(b',') {
        is_tuple = true;
        parser.blank();
        if parser.peek().is_none_or(|byte| byte == b'\n') {
            break;
        }
        items.push(parser.item()?);
        parser.blank();
    }
    parser.open = 1;
    parser.blank();
    if parser.at < text.len() {
        return None;
    }
    if is_tuple {
        return Some(items.into());
    }
    items.pop()
}

struct LiteralParser<'a> {
    bytes: &'a [u8],
    text: &'a str,
    at: usize,
    open: usize,
}

impl LiteralParser<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Skips white space and comments. Line breaks count as white space only inside brackets.
    fn blank(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\r' | b'\x0c' => self.at += 1,
                b'\n' if self.open > 0 => self.at += 1,
                b'#' => {
                    let rest = &self.bytes[self.at..];
                    self.at += rest
                        .iter()
                        .position(|byte| *byte == b'\n')
                        .unwrap_or(rest.len());
                }
                _ => break,
            }
        }
    }

    fn item(&mut self) -> Option<Value> {
        match self.peek()? {
            b'[' => self.list(b']').map(Value::from),
            b'(' => self.tuple(),
            b'{' => self.map_or_set(),
            b'"' | b'\'' => self.strings(),
            b'+' | b'-' => self.signed(),
            b'0'..=b'9' | b'.' => self.number(),
            _ => self.word(),
        }
    }

    fn open(&mut self) -> Option<()> {
        self.at += 1;
        self.open += 1;
        self.blank();
        (self.open <= DEPTH).then_some(())
    }

    fn list(&mut self, end: u8) -> Option<List> {
        let mut items = List::new();
        self.each(end, |parser| {
            items.push(parser.item()?);
            Some(())
        })?;
        Some(items)
    }

    /// Parses comma-separated items up to the closing bracket.
    fn each(&mut self, end: u8, mut read: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.open()?;
        while !self.eat(end) {
            read(self)?;
            self.blank();
            if !self.eat(b',') && self.peek()? != end {
                return None;
            }
            self.blank();
        }
        self.open -= 1;
        Some(())
    }

    fn tuple(&mut self) -> Option<Value> {
        let start = self.at;
        let mut items = self.list(b')')?;
        // A single item in parentheses is a tuple only if a comma follows it.
        let inside = self.text[start..self.at - 1].trim_end();
        if items.len() == 1 && !inside.ends_with(',') {
            return items.pop();
        }
        Some(items.into())
    }

    fn map_or_set(&mut self) -> Option<Value> {
        let start = (self.at, self.open);
        if let Some(map) = self.map() {
            return Some(map.into());
        }
        (self.at, self.open) = start;
        let items = self.list(b'}')?;
        let mut set = List::new();
        for item in items {
            if !set.contains(&item) {
                set.push(item);
            }
        }
        Some(set.into())
    }

    fn map(&mut self) -> Option<Map> {
        let mut map = Map::new();
        self.each(b'}', |parser| {
            let key = parser.item()?;
            parser.blank();
            if !parser.eat(b':') {
                return None;
            }
            parser.blank();
            map.insert(Arc::from(key.to_string()), parser.item()?);
            Some(())
        })?;
        Some(map)
    }

    fn word(&mut self) -> Option<Value> {
        let words = [
            ("True", Value::Bool(true)),
            ("False", Value::Bool(false)),
            ("None", Value::Null),
        ];
        let rest = &self.text[self.at..];
        let (word, value) = words.into_iter().find(|(word, _)| rest.starts_with(word))?;
        let after = rest[word.len()..].chars().next();
        if after.is_some_and(|after| after.is_alphanumeric() || "_.('\"".contains(after)) {
            return None;
        }
        self.at += word.len();
        Some(value)
    }

    fn signed(&mut self) -> Option<Value> {
        let negative = self.peek() == Some(b'-');
        self.at += 1;
        self.blank();
        if !self.peek()?.is_ascii_digit() && self.peek() != Some(b'.') {
            return None;
        }
        let number = self.number()?;
        if !negative {
            return Some(number);
        }
        match number {
            Value::Int(int) => Some(Value::Int(-int)),
            Value::Float(float) => Some(Value::Float(-float)),
            Value::Big(digits) if &*digits == "9223372036854775808" => Some(Value::Int(i64::MIN)),
            Value::Big(digits) => Some(Value::Big(format!("-{digits}").into())),
            _ => None,
        }
    }

    fn number(&mut self) -> Option<Value> {
        let rest = &self.text[self.at..];
        let mut end = 0;
        let mut before = 0u8;
        for byte in rest.bytes() {
            let exponent = matches!(before, b'e' | b'E') && !rest.starts_with("0x");
            if !(byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.')
                && !(exponent && (byte == b'+' || byte == b'-'))
            {
                break;
            }
            before = byte;
            end += 1;
        }
        self.at += end;
        number(&rest[..end])
    }

    /// Parses one string or several adjacent strings, which Python joins.
    fn strings(&mut self) -> Option<Value> {
        let mut text = String::new();
        while let Some(quote @ (b'"' | b'\'')) = self.peek() {
            self.string(quote, &mut text)?;
            self.blank();
        }
        Some(text.into())
    }

    fn string(&mut self, quote: u8, text: &mut String) -> Option<()> {
        let long = self.bytes[self.at..].starts_with(&[quote; 3]);
        self.at += if long { 3 } else { 1 };
        loop {
            let rest = &self.text[self.at..];
            let character = rest.chars().next()?;
            if long && rest.as_bytes().starts_with(&[quote; 3]) {
                self.at += 3;
                return Some(());
            }
            self.at += character.len_utf8();
            match character {
                '\\' => self.escape(text)?,
                '\n' if !long => return None,
                other if !long && other == char::from(quote) => return Some(()),
                other => text.push(other),
            }
        }
    }

    fn escape(&mut self, text: &mut String) -> Option<()> {
        let character = self.text[self.at..].chars().next()?;
        self.at += character.len_utf8();
        match character {
            '\n' => {}
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' => text.push('\r'),
            'a' => text.push('\x07'),
            'b' => text.push('\x08'),
            'f' => text.push('\x0c'),
            'v' => text.push('\x0b'),
            '\\' | '\'' | '"' => text.push(character),
            'x' => text.push(self.code(2, 16)?),
            'u' => text.push(self.code(4, 16)?),
            'U' => text.push(self.code(8, 16)?),
            '0'..='7' => {
                self.at -= 1;
                let rest = &self.bytes[self.at..];
                let length = rest
                    .iter()
                    .take(3)
                    .take_while(|b| matches!(b, b'0'..=b'7'))
                    .count();
                text.push(self.code(length, 8)?);
            }
            'N' => return None,
            other => {
                text.push('\\');
                text.push(other);
            }
        }
        Some(())
    }

    fn code(&mut self, length: usize, radix: u32) -> Option<char> {
        let digits = self.text.get(self.at..self.at + length)?;
        self.at += length;
        char::from_u32(u32::from_str_radix(digits, radix).ok()?)
    }
}

/// Parses a number in Python's notation. Complex numbers are not supported.
fn number(text: &str) -> Option<Value> {
    let plain = without_underscores(text)?;
    let radix = |prefixes: [&str; 2]| {
        prefixes
            .iter()
            .find_map(|prefix| plain.strip_prefix(prefix))
    };
    for (prefixes, radix_of) in [(["0x", "0X"], 16), (["0o", "0O"], 8), (["0b", "0B"], 2)] {
        if let Some(digits) = radix(prefixes) {
            return i64::from_str_radix(digits, radix_of).ok().map(Value::Int);
        }
    }
    if plain.bytes().all(|byte| byte.is_ascii_digit()) {
        if plain.len() > 1 && plain.starts_with('0') {
            return plain
                .bytes()
                .all(|byte| byte == b'0')
                .then_some(Value::Int(0));
        }
        return match plain.parse() {
            Ok(int) => Some(Value::Int(int)),
            Err(_) => Some(Value::Big(plain.into())),
        };
    }
    let known = |byte: u8| byte.is_ascii_digit() || b".eE+-".contains(&byte);
    if !plain.bytes().all(known) {
        return None;
    }
    plain.parse().ok().map(Value::Float)
}

/// Removes underscores, which may appear only between digits.
fn without_underscores(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let good = |place: usize| {
        let around = [place.checked_sub(1), place.checked_add(1)];
        around.into_iter().all(|place| {
            let byte = place.and_then(|place| bytes.get(place));
            byte.is_some_and(u8::is_ascii_hexdigit)
        })
    };
    let all = bytes
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'_')
        .all(|(at, _)| good(at));
    all.then(|| text.replace('_', ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let value = native(text);
        format!("{} {value:?}", value.kind())
    }

    #[test]
    fn a_literal_becomes_its_value() {
        let texts = [
            "1",
            "-5",
            "+5",
            "1_000",
            "0x10",
            "1e3",
            "1.50",
            "True",
            "None",
            "[1, 'a', {'b': None}]",
            "(1, 2)",
            "(1)",
            "1,2",
            "{1, 1, 2}",
            "{'a': [1,],}",
            "1 ",
            "1 # one",
            "1180591620717411303424",
        ];
        let shown: Vec<_> = texts.into_iter().map(shown).collect();
        insta::assert_snapshot!(shown.join("\n"), @"
        an integer 1
        an integer -5
        an integer 5
        an integer 1000
        an integer 16
        a float 1000.0
        a float 1.5
        a boolean True
        null None
        a list [1, 'a', {'b': None}]
        a list [1, 2]
        an integer 1
        a list [1, 2]
        a list [1, 2]
        a map {'a': [1]}
        an integer 1
        an integer 1
        an integer 1180591620717411303424
        ");
    }

    #[test]
    fn what_is_no_literal_stays_a_text() {
        let texts = [
            "10.0.0.1", "010", " 1", "true", "--5", "1+2", "1+2j", "a: b", "{a: 1}", "[1", "1\n2",
            "\"abc\"", "'it\\'s'", "Truely", "_1", "1__0", "x\n", "",
        ];
        let shown: Vec<_> = texts
            .into_iter()
            .map(|text| native(text).to_string())
            .collect();
        insta::assert_snapshot!(format!("{shown:?}"), @r#"["10.0.0.1", "010", " 1", "true", "--5", "1+2", "1+2j", "a: b", "{a: 1}", "[1", "1\n2", "\"abc\"", "'it's'", "Truely", "_1", "1__0", "x\n", ""]"#);
    }

    #[test]
    fn brackets_nest_only_so_deep() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert_eq!(native(&deep), Value::from(deep));
    }
}
