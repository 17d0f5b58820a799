//! Texts that were read, and places in them.

use std::fmt::{Display, Formatter};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Names one text among [`Sources`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId(u32);

impl SourceId {
    /// The source of values that no text gave, such as options.
    pub const NONE: Self = Self(u32::MAX);
}

/// A range of bytes in one source; `start` and `end` count from 0, `end` is outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    /// The text.
    pub source: SourceId,
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl Span {
    /// The place of things that no text gave.
    pub const NONE: Self = Self {
        source: SourceId::NONE,
        start: 0,
        end: 0,
    };

    /// A range of bytes of `source`.
    pub const fn new(source: SourceId, start: u32, end: u32) -> Self {
        Self { source, start, end }
    }

    /// Whether it points into a text.
    pub fn is_some(self) -> bool {
        self.source != SourceId::NONE
    }
}

/// One text that was read.
#[derive(Debug, Clone)]
pub struct Source {
    /// The file it came from, as messages name it.
    pub path: PathBuf,
    /// All of it.
    pub text: Arc<str>,
    /// The directive that asked for it, if another text included it.
    pub included_from: Option<Span>,
}

/// All texts read so far.
#[derive(Debug, Clone, Default)]
pub struct Sources(Vec<Source>);

/// A place as people read it; line and column count from 1, columns in characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourcePosition {
    /// The file.
    pub path: PathBuf,
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Display for SourcePosition {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.path.display(), self.line, self.column)
    }
}

impl Sources {
    /// Adds a text and gives its id.
    pub fn add(
        &mut self,
        path: impl Into<PathBuf>,
        text: impl Into<Arc<str>>,
        included_from: Option<Span>,
    ) -> SourceId {
        let id = SourceId(u32::try_from(self.0.len()).unwrap_or(u32::MAX - 1));
        self.0.push(Source {
            path: path.into(),
            text: text.into(),
            included_from,
        });
        id
    }

    /// Puts another text in place of one, such as one with secrets covered. Spans stay, so it should
    /// be as long.
    pub fn replace(&mut self, id: SourceId, change: impl FnOnce(&str) -> String) {
        if let Some(source) = self.0.get_mut(id.0 as usize) {
            source.text = change(&source.text).into();
        }
    }

    /// The text of an id.
    pub fn get(&self, id: SourceId) -> Option<&Source> {
        self.0.get(id.0 as usize)
    }

    /// Each text with its id, in the order in which they were read.
    pub fn iter(&self) -> impl Iterator<Item = (SourceId, &Source)> {
        (0u32..).map(SourceId).zip(&self.0)
    }

    /// The id of the text read last from `path`.
    pub fn find(&self, path: &Path) -> Option<SourceId> {
        let place = self.0.iter().rposition(|source| source.path == path)?;
        u32::try_from(place).ok().map(SourceId)
    }

    /// Where a span starts, for people.
    pub fn position(&self, span: Span) -> Option<SourcePosition> {
        let source = self.get(span.source)?;
        let start = source.text.floor_char_boundary(span.start as usize);
        let before = &source.text[..start];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Some(SourcePosition {
            path: source.path.clone(),
            line: before.bytes().filter(|byte| *byte == b'\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        })
    }

    /// The bytes of a span, cut to what the text has.
    pub fn text(&self, span: Span) -> &str {
        let Some(source) = self.get(span.source) else {
            return "";
        };
        let start = source.text.floor_char_boundary(span.start as usize);
        let end = source
            .text
            .floor_char_boundary(span.end as usize)
            .max(start);
        &source.text[start..end]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_counts_lines_and_characters_from_one() {
        let mut sources = Sources::default();
        let id = sources.add("a.yaml", "a: é\nbé: 1\n", None);
        let place = sources.position(Span::new(id, 9, 10)).unwrap();
        assert_eq!(place.to_string(), "a.yaml:2:3");
        assert_eq!(sources.text(Span::new(id, 3, 5)), "é");
    }

    #[test]
    fn a_span_outside_of_its_text_is_cut() {
        let mut sources = Sources::default();
        let id = sources.add("a.yaml", "é", None);
        assert_eq!(sources.text(Span::new(id, 1, 99)), "é");
        assert!(sources.position(Span::NONE).is_none());
    }
}
