//! Reads the values of variables from `.tfvars` files: literals in HCL.

use crate::value::{Map, Value};

/// The deepest nesting of lists and maps.
const MAX_DEPTH: usize = 64;

/// Returns the values of a file.
///
/// # Errors
///
/// The text has something else than literals. The message says where.
pub(super) fn parse_tfvars(text: &str) -> Result<Map, String> {
    let mut reader = Reader { text, at: 0 };
    let mut values = Map::new();
    loop {
        reader.skip(true);
        if reader.rest().is_empty() {
            return Ok(values);
        }
        let (name, value) = reader.entry(0)?;
        values.insert(name.into(), value);
        reader.skip(false);
        if !reader.rest().is_empty() && !reader.take('\n') {
            return Err(reader.problem("a line has something after its value"));
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn problem(&self, reason: &str) -> String {
        let line = self.text[..self.at].matches('\n').count() + 1;
        format!("line {line}: {reason}")
    }

    fn take(&mut self, c: char) -> bool {
        let found = self.rest().starts_with(c);
        if found {
            self.at += c.len_utf8();
        }
        found
    }

    /// Skips blanks and comments, and line breaks on request.
    fn skip(&mut self, lines: bool) {
        loop {
            let rest = self.rest();
            let blank = |c: char| c.is_whitespace() && (lines || c != '\n');
            let length = rest.find(|c| !blank(c)).unwrap_or(rest.len());
            self.at += length;
            let rest = self.rest();
            if rest.starts_with('#') || rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                self.at += rest.find("*/").map_or(rest.len(), |end| end + 2);
            } else {
                return;
            }
        }
    }

    fn word(&mut self) -> &'a str {
        let rest = self.rest();
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    /// Reads `name = value`. In maps, names may be texts, and `:` may stand for `=`.
    fn entry(&mut self, depth: usize) -> Result<(String, Value), String> {
        let name = if self.rest().starts_with('"') {
            self.quoted()?
        } else {
            self.word().to_owned()
        };
        if name.is_empty() {
            return Err(self.problem("a name is missing"));
        }
        self.skip(false);
        let is_assigned = self.take('=') || (depth > 0 && self.take(':'));
        if !is_assigned {
            return Err(self.problem(&format!("`=` is missing after `{name}`")));
        }
        self.skip(false);
        Ok((name, self.value(depth + 1)?))
    }

    fn value(&mut self, depth: usize) -> Result<Value, String> {
        if depth > MAX_DEPTH {
            return Err(self.problem("values are nested too deeply"));
        }
        let rest = self.rest();
        match rest.chars().next() {
            Some('"') => self.quoted().map(Value::from),
            Some('[') => self.list(depth),
            Some('{') => self.map(depth),
            Some('<') if rest.starts_with("<<") => self.heredoc(),
            Some(c) if c == '-' || c.is_ascii_digit() => self.number(),
            _ => match self.word() {
                "true" => Ok(Value::Bool(true)),
                "false" => Ok(Value::Bool(false)),
                "null" => Ok(Value::Null),
                _ => Err(self.problem("a value is not a literal")),
            },
        }
    }

    fn number(&mut self) -> Result<Value, String> {
        let rest = self.rest();
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.');
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let number = &rest[..length];
        let value = match (number.parse::<i64>(), number.parse::<f64>()) {
            (Ok(integer), _) => Value::Int(integer),
            (_, Ok(float)) if float.is_finite() => Value::Float(float),
            _ => return Err(self.problem(&format!("`{number}` is not a number"))),
        };
        self.at += length;
        Ok(value)
    }

    fn list(&mut self, depth: usize) -> Result<Value, String> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.skip(true);
            if self.take(']') {
                return Ok(Value::list(items));
            }
            items.push(self.value(depth + 1)?);
            self.skip(true);
            if !self.take(',') && !self.rest().starts_with(']') {
                return Err(self.problem("a list has no `,` or `]` after an item"));
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Value, String> {
        self.at += 1;
        let mut map = Map::new();
        loop {
            self.skip(true);
            if self.take('}') {
                return Ok(Value::from(map));
            }
            let (name, value) = self.entry(depth)?;
            map.insert(name.into(), value);
            self.skip(false);
            if !self.take(',') && !self.rest().starts_with(['\n', '}']) {
                return Err(self.problem("a map has something after a value"));
            }
        }
    }

    fn quoted(&mut self) -> Result<String, String> {
        self.at += 1;
        let mut text = String::new();
        let mut chars = self.rest().char_indices();
        while let Some((at, c)) = chars.next() {
            let rest = &self.rest()[at..];
            match c {
                '"' => {
                    self.at += at + 1;
                    return Ok(text);
                }
                '\n' => break,
                '$' | '%' if rest[1..].starts_with('{') => {
                    return Err(self.problem("a text has an interpolation"));
                }
                // `$${` stands for `${`.
                '$' | '%' if rest[1..].starts_with([c]) && rest[2..].starts_with('{') => {
                    text.push(c);
                    text.push('{');
                    chars.next();
                    chars.next();
                }
                '\\' => {
                    let escape = chars.next().map(|(_, c)| c);
                    let length = match escape {
                        Some('u') => 4,
                        Some('U') => 8,
                        _ => 0,
                    };
                    let digits: String = chars.by_ref().take(length).map(|(_, c)| c).collect();
                    let unescaped = unescaped(escape, &digits);
                    text.push(unescaped.ok_or_else(|| self.problem("a text has a wrong escape"))?);
                }
                c => text.push(c),
            }
        }
        Err(self.problem("a text has no end"))
    }

    fn heredoc(&mut self) -> Result<Value, String> {
        self.at += 2;
        let is_indented = self.take('-');
        let word = self.word();
        self.skip(false);
        if word.is_empty() || !self.take('\n') {
            return Err(self.problem("a text that begins with `<<` has no word"));
        }
        let mut lines = Vec::new();
        for line in self.rest().split_inclusive('\n') {
            self.at += line.len();
            if line.trim() == word {
                // The line break after the word ends the entry.
                self.at -= usize::from(line.ends_with('\n'));
                return Ok(Value::from(heredoc_text(&lines, is_indented)));
            }
            if line.contains("${") || line.contains("%{") {
                return Err(self.problem("a text has an interpolation"));
            }
            lines.push(line);
        }
        Err(self.problem(&format!("a text has no end: `{word}` is missing")))
    }
}

fn unescaped(escape: Option<char>, digits: &str) -> Option<char> {
    match escape? {
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        c @ ('"' | '\\') => Some(c),
        'u' | 'U' => u32::from_str_radix(digits, 16)
            .ok()
            .and_then(char::from_u32),
        _ => None,
    }
}

fn heredoc_text(lines: &[&str], is_indented: bool) -> String {
    let indent = |line: &&str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let filled = lines.iter().filter(|line| !line.trim().is_empty());
    let least = if is_indented {
        filled.map(indent).min().unwrap_or(0)
    } else {
        0
    };
    let cut = |line: &&str| line.get(least..).unwrap_or("\n").to_owned();
    lines.iter().map(cut).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::emit;
    use proptest::prelude::*;

    #[test]
    fn literals_have_their_values() {
        let text = "# c\nregion = \"eu\" // d\nsize=3\nratio = 1.5e0\nnone = null\nlist = [\n  1, \"a\", # x\n  true,\n]\n\
                    tags = {\n  Name = \"a\\\"b$${c}\\u00e9\"\n  \"k.v\": { x = [] }, y = -1\n}\ntext = <<-END\n    a\n      b\n    END\n";
        let values = parse_tfvars(text).unwrap();
        insta::assert_snapshot!(emit(&Value::from(values), 0), @r#"
        region: eu
        size: 3
        ratio: 1.5
        none:
        list:
        - 1
        - a
        - true
        tags:
          Name: a"b${c}é
          k.v:
            x: []
          'y': -1
        text: |
          a
            b
        "#);
    }

    #[test]
    fn other_texts_are_refused_with_their_line() {
        for (text, problem) in [
            ("a = 1\nb = var.x\n", "line 2: a value is not a literal"),
            ("a = \"${x}\"", "line 1: a text has an interpolation"),
            ("a 1", "line 1: `=` is missing after `a`"),
            ("a = [1", "line 1: a list has no `,` or `]`"),
            ("a = 1 2", "line 1: a line has something after its value"),
            ("a = \"x", "a text has no end"),
            ("= 1", "a name is missing"),
        ] {
            let found = parse_tfvars(text).unwrap_err();
            assert!(found.contains(problem), "{text}: {found}");
        }
    }

    proptest! {
        #[test]
        fn any_text_ends(text in "[a\"\\[\\]{}=<\\-E\n#,$%\\\\u1é ]{0,60}") {
            drop(parse_tfvars(&text));
        }
    }
}
