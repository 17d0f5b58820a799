//! Source texts and positions in them: [`Sources`] owns each text that was read, and a [`Span`] names a byte
//! range in one of them. Diagnostics and YAML nodes carry spans; this module reads no files.

use std::fmt::{Display, Formatter};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The identifier of one text in [`Sources`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId(u32);

impl SourceId {
    /// The source of values that come from no text, such as command-line options.
    pub const NONE: Self = Self(u32::MAX);
}

/// A byte range in one source. Offsets count from 0; `end` is exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    /// The text that the byte range lies in.
    pub source: SourceId,
    /// The offset of the first byte.
    pub start: u32,
    /// The offset after the last byte.
    pub end: u32,
}

impl Span {
    /// The span of values that come from no text, such as command-line options.
    pub const NONE: Self = Self {
        source: SourceId::NONE,
        start: 0,
        end: 0,
    };

    /// Creates a span over the bytes `start..end` of `source`.
    pub const fn new(source: SourceId, start: u32, end: u32) -> Self {
        Self { source, start, end }
    }

    /// Whether the span points into a text, that is, is not [`Span::NONE`].
    pub fn is_some(self) -> bool {
        self.source != SourceId::NONE
    }
}

/// A source text with its path and, if it was included, the position of the include directive.
#[derive(Debug, Clone)]
pub struct Source {
    /// The path of the file, as messages show it.
    pub path: PathBuf,
    pub text: Arc<str>,
    /// The position of the include directive, if another text included this one.
    pub included_from: Option<Span>,
}

/// The source texts read so far, indexed by [`SourceId`].
#[derive(Debug, Clone, Default)]
pub struct Sources {
    texts: Vec<Source>,
    /// The total size of the texts in bytes.
    bytes: usize,
}

/// A position for messages: path, line and column. Line and column count from 1; the column counts
/// characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourcePosition {
    pub path: PathBuf,
    pub line: usize,
    pub column: usize,
}

impl Display for SourcePosition {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.path.display(), self.line, self.column)
    }
}

impl Sources {
    /// Adds a text and returns its id.
    pub fn add(
        &mut self,
        path: impl Into<PathBuf>,
        text: impl Into<Arc<str>>,
        included_from: Option<Span>,
    ) -> SourceId {
        let id = SourceId(u32::try_from(self.texts.len()).unwrap_or(u32::MAX - 1));
        let text = text.into();
        self.bytes = self.bytes.saturating_add(text.len());
        self.texts.push(Source {
            path: path.into(),
            text,
            included_from,
        });
        id
    }

    /// Returns the total size of the texts in bytes.
    pub fn total_bytes(&self) -> usize {
        self.bytes
    }

    /// Replaces a text, for example by one with its secrets redacted.
    ///
    /// Existing spans stay unchanged, so the new text should have the same length.
    pub fn replace(&mut self, id: SourceId, change: impl FnOnce(&str) -> String) {
        if let Some(source) = self.texts.get_mut(id.0 as usize) {
            source.text = change(&source.text).into();
        }
    }

    /// Returns the text with an id, or None for [`SourceId::NONE`].
    pub fn get(&self, id: SourceId) -> Option<&Source> {
        self.texts.get(id.0 as usize)
    }

    /// Iterates over the texts with their ids, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = (SourceId, &Source)> {
        (0u32..).map(SourceId).zip(&self.texts)
    }

    /// Returns the id of the text that was added last for `path`.
    pub fn find(&self, path: &Path) -> Option<SourceId> {
        let index = self.texts.iter().rposition(|source| source.path == path)?;
        u32::try_from(index).ok().map(SourceId)
    }

    /// Returns the start of a span as path, line and column. None for values that come from no text.
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

    /// Returns the bytes of a span, cut at the end of the text and at character boundaries.
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
