//! The parser of paths such as `::web::tags[name=x]?::0`. `path_eval` evaluates the parsed segments.

use super::error::Error;

/// A segment of a path: a key with an optional test, a modifier and filters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Segment {
    /// The key to look up. [`Key::None`] keeps the current item.
    pub(super) key: Key,
    /// The test that the found value must pass.
    pub(super) test: Option<ValueTest>,
    /// The modifier `?`, or `!` within a filter.
    pub(super) modifier: Modifier,
    /// The filters: each one is a path that must have a result.
    pub(super) filters: Vec<Vec<Self>>,
}

/// The key that a segment looks up.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Key {
    /// No key: the segment keeps the current item.
    #[default]
    None,
    /// `*` selects every value of a map.
    Every,
    /// `$name` uses the value of a variable as the key.
    Variable(String),
    /// An index into a list; negative numbers count from the end.
    Index(i64),
    Name(String),
}

/// A comparison `=value` or `!=value` at the end of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ValueTest {
    pub(super) negated: bool,
    pub(super) value: String,
}

/// A modifier before or after a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Modifier {
    #[default]
    None,
    /// `?` stops after the first match.
    First,
    /// `!` requires that no match exists.
    Not,
}

/// The maximum nesting depth of filters.
const DEPTH: usize = 64;

/// The maximum number of segments in a path.
const MAX_SEGMENTS: usize = 1000;

pub(super) fn parse(text: &str) -> Result<Vec<Segment>, Error> {
    let mut parser = PathParser { text, at: 0 };
    let segments = parser.path(0)?;
    if parser.at < text.len() {
        return Err(parser.error("a `]` has no matching `[`"));
    }
    match segments.as_slice() {
        [only] if *only == Segment::default() => Err(parser.error("the path is empty")),
        _ => Ok(segments),
    }
}

struct PathParser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> PathParser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn error(&self, problem: &'static str) -> Error {
        Error::Syntax {
            expression: self.text.to_owned(),
            at: self.at,
            problem,
        }
    }

    /// Parses segments up to the end of the text or the `]` that closes a filter.
    fn path(&mut self, depth: usize) -> Result<Vec<Segment>, Error> {
        if depth > DEPTH {
            return Err(self.error("the filters nest too deeply"));
        }
        let mut segments = vec![self.segment(depth)?];
        while let Some(rest) = self.rest().strip_prefix("::") {
            self.at = self.text.len() - rest.len();
            if segments.len() >= MAX_SEGMENTS {
                return Err(self.error("the path has too many steps"));
            }
            segments.push(self.segment(depth)?);
        }
        Ok(segments)
    }

    fn segment(&mut self, depth: usize) -> Result<Segment, Error> {
        let mut segment = parse_segment(self.word());
        while self.rest().starts_with('[') {
            self.at += 1;
            segment.filters.push(self.path(depth + 1)?);
            if !self.rest().starts_with(']') {
                return Err(self.error("a `]` is missing"));
            }
            self.at += 1;
        }
        if !segment.filters.is_empty() {
            let start = self.at;
            let after = parse_segment(self.word());
            if after.key != Key::None || self.rest().starts_with('[') {
                self.at = start;
                return Err(self.error("expected `::`, `?`, `=` or `!=` after `]`"));
            }
            segment.test = after.test.or(segment.test);
            if after.modifier != Modifier::None {
                segment.modifier = after.modifier;
            }
        }
        Ok(segment)
    }

    /// Returns the text up to the next `::`, `[` or `]`.
    fn word(&mut self) -> &'a str {
        let rest = self.rest();
        let colons = rest.find("::").unwrap_or(rest.len());
        let end = rest[..colons].find(['[', ']']).unwrap_or(colons);
        self.at += end;
        rest[..end].trim()
    }
}

/// Parses a segment without its filters.
fn parse_segment(word: &str) -> Segment {
    let (word, modifier) = if let Some(word) = word.strip_prefix('!').filter(|_| !is_test(word)) {
        (word, Modifier::Not)
    } else if let Some(word) = word.strip_suffix('?') {
        (word, Modifier::First)
    } else {
        (word, Modifier::None)
    };
    let (key, test) = match word.split_once('=') {
        Some((key, value)) => {
            let (key, negated) = match key.strip_suffix('!') {
                Some(key) => (key, true),
                None => (key, false),
            };
            let value = value.to_owned();
            (key, Some(ValueTest { negated, value }))
        }
        None => (word, None),
    };
    Segment {
        key: key_of(key),
        test,
        modifier,
        filters: Vec::new(),
    }
}

fn is_test(word: &str) -> bool {
    word.starts_with("!=")
}

fn key_of(key: &str) -> Key {
    if key.is_empty() {
        Key::None
    } else if key == "*" {
        Key::Every
    } else if let Some(name) = key.strip_prefix('$') {
        Key::Variable(name.to_owned())
    } else if let Ok(index) = key.trim().parse() {
        Key::Index(index)
    } else {
        Key::Name(key.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn a_path_has_steps_with_filters_tests_and_modifiers() {
        let path = parse("::web::tags[name!=x][!y]?::$k::-1::*").unwrap();
        let keys: Vec<_> = path.iter().map(|segment| segment.key.clone()).collect();
        assert_eq!(
            keys,
            [
                Key::None,
                Key::Name("web".into()),
                Key::Name("tags".into()),
                Key::Variable("k".into()),
                Key::Index(-1),
                Key::Every
            ]
        );
        assert_eq!(path[2].modifier, Modifier::First);
        assert_eq!(path[2].filters.len(), 2);
        assert!(path[2].filters[0][0].test.as_ref().unwrap().negated);
        assert_eq!(path[2].filters[1][0].modifier, Modifier::Not);
    }

    #[test]
    fn what_is_wrong_with_a_path_is_said_with_its_place() {
        insta::assert_snapshot!(problem("::a[b"), @"`::a[b` is not an expression: a `]` is missing at character 6");
        insta::assert_snapshot!(problem("::a]"), @"`::a]` is not an expression: a `]` has no matching `[` at character 4");
        insta::assert_snapshot!(problem("::a[b]c"), @"`::a[b]c` is not an expression: expected `::`, `?`, `=` or `!=` after `]` at character 7");
        insta::assert_snapshot!(problem(""), @"`` is not an expression: the path is empty at character 1");
    }
}
