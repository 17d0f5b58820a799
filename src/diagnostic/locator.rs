//! Converts many spans into line and column numbers. Unlike [`Sources::position`], [`SourceLocator`] indexes
//! each text only once, so it suits callers that resolve many spans.

use std::cell::OnceCell;
use std::collections::HashMap;

use super::source::{Source, SourceId, SourcePosition, Sources, Span};

/// A converter from spans to lines and columns. It indexes each text once, on first use.
#[derive(Debug)]
pub struct SourceLocator<'a> {
    sources: &'a Sources,
    lines: HashMap<SourceId, OnceCell<LineIndex>>,
}

/// The byte offsets of the line starts in a text, and the offsets of the bytes that are not the first byte
/// of a character.
#[derive(Debug)]
struct LineIndex {
    starts: Vec<usize>,
    inner: Vec<usize>,
}

impl<'a> SourceLocator<'a> {
    pub fn new(sources: &'a Sources) -> Self {
        let lines = sources.iter().map(|(id, _)| (id, OnceCell::new()));
        Self {
            sources,
            lines: lines.collect(),
        }
    }

    /// Returns the start of a span as path, line and column. None for values that come from no text.
    pub fn locate(&self, span: Span) -> Option<SourcePosition> {
        let source = self.sources.get(span.source)?;
        let lines = self.lines.get(&span.source)?;
        let lines = lines.get_or_init(|| LineIndex::of(source));
        let at = (span.start as usize).min(source.text.len());
        let line = lines.starts.partition_point(|start| *start <= at);
        let start = lines.starts[line.checked_sub(1)?];
        let inner_until = |at: usize| lines.inner.partition_point(|inner| *inner < at);
        let column = at - start - (inner_until(at) - inner_until(start)) + 1;
        Some(SourcePosition {
            path: source.path.clone(),
            line,
            column,
        })
    }
}

impl LineIndex {
    fn of(source: &Source) -> Self {
        let bytes = || source.text.bytes().enumerate();
        let after_breaks = bytes()
            .filter(|(_, byte)| *byte == b'\n')
            .map(|(at, _)| at + 1);
        let inner = bytes().filter(|(_, byte)| byte & 0xC0 == 0x80);
        Self {
            starts: std::iter::once(0).chain(after_breaks).collect(),
            inner: inner.map(|(at, _)| at).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_and_characters_as_messages_do() {
        let mut sources = Sources::default();
        let id = sources.add("a.yaml", "äö: ü\nb: ß # x\n", None);
        let places = SourceLocator::new(&sources);
        for start in 0..20 {
            let span = Span::new(id, start, start + 1);
            let text = sources
                .get(id)
                .map(|source| source.text.clone())
                .unwrap_or_default();
            if text.is_char_boundary(start as usize) || start as usize > text.len() {
                assert_eq!(places.locate(span), sources.position(span));
            }
        }
        assert_eq!(places.locate(Span::NONE), None);
    }
}
