//! Values in INI inventories: literals of Python, all else as text.

use crate::value::{Map, Value};

/// How deep lists and dictionaries may stand in each other.
const MAX_DEPTH: usize = 64;

/// The value that a text means.
pub(super) fn read(text: &str) -> Value {
    let mut reader = Reader { rest: text.trim() };
    match reader.value(0) {
        Some(value) if reader.rest.is_empty() => value,
        _ => Value::str(text),
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn skip(&mut self, sign: char) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        match self.rest.chars().next()? {
            '[' => self.items(depth, '[', ']').map(Value::list),
            '(' => self.items(depth, '(', ')').map(Value::list),
            '{' => self.entries(depth),
            '"' | '\'' => self.text().map(Value::str),
            _ => self.word(),
        }
    }

    fn items(&mut self, depth: usize, open: char, close: char) -> Option<Vec<Value>> {
        self.skip(open);
        let mut items = Vec::new();
        while !self.skip(close) {
            items.push(self.value(depth + 1)?);
            if !self.skip(',') && !self.rest.starts_with(close) {
                return None;
            }
        }
        Some(items)
    }

    fn entries(&mut self, depth: usize) -> Option<Value> {
        self.skip('{');
        let mut map = Map::new();
        while !self.skip('}') {
            let key = self.value(depth + 1)?;
            if !self.skip(':') {
                return None;
            }
            let value = self.value(depth + 1)?;
            let key = key.as_str().map_or_else(|| key.to_string(), str::to_owned);
            map.insert(key.into(), value);
            if !self.skip(',') && !self.rest.starts_with('}') {
                return None;
            }
        }
        Some(Value::from(map))
    }

    fn text(&mut self) -> Option<String> {
        let mut characters = self.rest.char_indices();
        let (_, quote) = characters.next()?;
        let mut text = String::new();
        while let Some((at, c)) = characters.next() {
            match c {
                '\\' => match characters.next()?.1 {
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    c @ ('\\' | '\'' | '"') => text.push(c),
                    c => text.extend(['\\', c]),
                },
                c if c == quote => {
                    self.rest = self.rest[at + 1..].trim_start();
                    return Some(text);
                }
                c => text.push(c),
            }
        }
        None
    }

    fn word(&mut self) -> Option<Value> {
        let end = self.rest.find([',', ':', ']', '}', ')', ' ']);
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        let value = match word {
            "True" => Value::Bool(true),
            "False" => Value::Bool(false),
            "None" => Value::Null,
            word => number(word)?,
        };
        self.rest = rest.trim_start();
        Some(value)
    }
}

/// A number as Python reads it: none that begins with a zero too much.
fn number(word: &str) -> Option<Value> {
    let digits = word.strip_prefix(['-', '+']).unwrap_or(word);
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let has_zero = digits.len() > 1 && digits.starts_with('0');
    let is_whole = digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_whole {
        let is_zero = digits.bytes().all(|byte| byte == b'0');
        let is_odd = has_zero && !is_zero;
        return word.parse().ok().filter(|_| !is_odd).map(Value::Int);
    }
    let is_float = digits
        .bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'-' | b'+'));
    is_float
        .then(|| word.parse().ok().map(Value::Float))
        .flatten()
}
