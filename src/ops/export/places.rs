//! The places of things in texts.

use std::collections::HashMap;
use std::path::Path;

use crate::diagnostic::{SourceId, Sources, Span};

/// Finds the line and the column of many places in texts.
#[derive(Debug)]
pub(super) struct Places<'a> {
    sources: &'a Sources,
    base: &'a Path,
    lines: HashMap<SourceId, Lines>,
}

/// Where lines begin in a text, and which bytes begin no character.
#[derive(Debug)]
struct Lines {
    starts: Vec<usize>,
    inner: Vec<usize>,
}

impl<'a> Places<'a> {
    pub(super) fn new(sources: &'a Sources, base: &'a Path) -> Self {
        let lines = sources.iter().map(|(id, source)| {
            let bytes = || source.text.bytes().enumerate();
            let after_breaks = bytes()
                .filter(|(_, byte)| *byte == b'\n')
                .map(|(at, _)| at + 1);
            let starts = std::iter::once(0).chain(after_breaks).collect();
            let inner = bytes()
                .filter(|(_, byte)| byte & 0xC0 == 0x80)
                .map(|(at, _)| at)
                .collect();
            (id, Lines { starts, inner })
        });
        Self {
            sources,
            base,
            lines: lines.collect(),
        }
    }

    pub(super) fn of(&self, span: Span) -> Option<String> {
        let source = self.sources.get(span.source)?;
        let lines = self.lines.get(&span.source)?;
        let at = span.start as usize;
        let line = lines.starts.partition_point(|start| *start <= at);
        let start = lines.starts[line.checked_sub(1)?];
        let inner_until = |at: usize| lines.inner.partition_point(|inner| *inner < at);
        let column = at - start - (inner_until(at) - inner_until(start)) + 1;
        let path = source.path.strip_prefix(self.base).unwrap_or(&source.path);
        Some(format!("{}:{line}:{column}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_and_characters_as_messages_do() {
        let mut sources = Sources::default();
        let id = sources.add("a.yaml", "äö: ü\nb: ß # x\n", None);
        let places = Places::new(&sources, Path::new("/"));
        for start in 0..16 {
            let span = Span::new(id, start, start + 1);
            let text = sources
                .get(id)
                .map(|source| source.text.clone())
                .unwrap_or_default();
            if text.is_char_boundary(start as usize) {
                let expected = sources.place(span).map(|place| place.to_string());
                assert_eq!(places.of(span), expected);
            }
        }
        assert_eq!(places.of(Span::NONE), None);
    }
}
