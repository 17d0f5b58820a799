//! A text as lines and columns, and the edits of it.

use std::cell::OnceCell;

use super::PatchError;
use crate::yaml::{Node, NodeKind};

/// A text under edit.
pub(super) struct EditBuffer<'t> {
    pub(super) text: &'t str,
    newline: &'static str,
    splices: Vec<Splice>,
    indented_comments: OnceCell<bool>,
}

struct Splice {
    start: usize,
    end: usize,
    text: String,
}

impl<'t> EditBuffer<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let first = text.find('\n');
        let windows = first.is_some_and(|end| text[..end].ends_with('\r'));
        Self {
            text,
            newline: if windows { "\r\n" } else { "\n" },
            splices: Vec::new(),
            indented_comments: OnceCell::new(),
        }
    }

    /// Replaces a range. Ranges that meet must not overlap.
    pub(super) fn splice(&mut self, start: usize, end: usize, text: &str) {
        let text = if self.newline == "\n" {
            text.to_owned()
        } else {
            text.replace('\n', self.newline)
        };
        self.splices.push(Splice { start, end, text });
    }

    /// The text after all edits.
    pub(super) fn finish(mut self) -> Result<String, PatchError> {
        // What is inserted at a place comes before what is replaced from there on.
        self.splices
            .sort_by_key(|splice| (splice.start, splice.end));
        let grown: usize = self.splices.iter().map(|splice| splice.text.len()).sum();
        let mut out = String::with_capacity(self.text.len() + grown);
        let mut done = 0;
        for splice in &self.splices {
            let retained = self
                .text
                .get(done..splice.start)
                .ok_or(PatchError::Entangled)?;
            out.push_str(retained);
            out.push_str(&splice.text);
            done = splice.end;
        }
        out.push_str(self.text.get(done..).ok_or(PatchError::Entangled)?);
        // Without a last line break, a literal block would lose its own.
        let last = self
            .splices
            .last()
            .filter(|last| last.end == self.text.len());
        if last.is_some_and(|last| last.text.contains('\n')) && !out.ends_with('\n') {
            out.push_str(self.newline);
        }
        Ok(out)
    }

    /// The start of the line that holds a place, behind a byte order mark.
    pub(super) fn line_start(&self, place: usize) -> usize {
        let start = self.text[..place]
            .rfind('\n')
            .map_or(0, |newline| newline + 1);
        let mark = if start == 0 && self.text.starts_with('\u{feff}') {
            3
        } else {
            0
        };
        (start + mark).min(place)
    }

    /// The end of the line that holds a place, before its line break.
    pub(super) fn line_end(&self, place: usize) -> usize {
        let rest = &self.text[place..];
        let line = rest.find('\n').map_or(rest, |end| &rest[..end]);
        place + line.strip_suffix('\r').unwrap_or(line).len()
    }

    /// Where the document's value starts with its tag, its anchor or its header: behind comments,
    /// directives and `---`; that of a value which stands on the line of `---` starts behind it.
    pub(super) fn document_start(&self) -> usize {
        let mark = self.text.strip_prefix('\u{feff}');
        let mut place = self.text.len() - mark.unwrap_or(self.text).len();
        while place < self.text.len() {
            let line = &self.text[place..self.line_end(place)];
            let marked = line.strip_prefix("---");
            let rest = marked.filter(|rest| rest.is_empty() || rest.starts_with([' ', '\t']));
            let content = rest.unwrap_or(line).trim_start_matches([' ', '\t']);
            if !content.is_empty() && !content.starts_with('#') && !line.starts_with('%') {
                return if rest.is_some() { place + 3 } else { place };
            }
            place = self.next_line(place);
        }
        place
    }

    /// The start of the next line, or the end of the text.
    pub(super) fn next_line(&self, place: usize) -> usize {
        self.text[place..]
            .find('\n')
            .map_or(self.text.len(), |end| place + end + 1)
    }

    /// Behind the lines of what ends at a place, with the comments below that are indented more
    /// than its column: they are about it.
    pub(super) fn behind_lines(&self, place: usize, column: usize) -> usize {
        let mut end = self.next_line(place);
        let mut next = end;
        while next < self.text.len() {
            let line = &self.text[next..self.line_end(next)];
            let start = line.trim_start_matches(' ');
            next = self.next_line(next);
            if start.starts_with('#') && line.len() - start.len() > column {
                end = next;
            } else if !line.trim().is_empty() {
                break;
            }
        }
        end
    }

    /// Whether a comment stands on an indented line, where it would become part of a block scalar
    /// that comes before it.
    pub(super) fn has_indented_comments(&self) -> bool {
        *self.indented_comments.get_or_init(|| {
            self.text.match_indices('#').any(|(place, _)| {
                let before = self.text[..place].trim_end_matches([' ', '\t']);
                before.len() < place && (before.is_empty() || before.ends_with('\n'))
            })
        })
    }

    /// The text of the line before a place.
    pub(super) fn prefix(&self, place: usize) -> &'t str {
        &self.text[self.line_start(place)..place]
    }

    /// Where the tag and the anchor of a node on the same line start, or the node itself.
    pub(super) fn with_properties(&self, place: usize) -> usize {
        let start = self.line_start(place);
        let mut place = place;
        loop {
            let before = self.text[start..place].trim_end_matches([' ', '\t']);
            let word = before
                .rfind([' ', '\t', ',', '[', '{'])
                .map_or(0, |blank| blank + 1);
            if word == before.len() || !before[word..].starts_with(['&', '!']) {
                return place;
            }
            place = start + word;
        }
    }

    /// Keeps the value of a block scalar at the end of a text without a last line break, when
    /// something is to follow: nothing may be added to it.
    pub(super) fn close_block_scalar(&mut self, start: usize) {
        let before = self.text[..start].trim_end();
        let header = before.trim_end_matches(|c: char| c.is_ascii_digit() || "+-".contains(c));
        let indicators = &before[header.len()..];
        if header.ends_with(['|', '>']) && !indicators.contains('-') {
            let retained = indicators.replace('+', "");
            self.splice(header.len(), before.len(), &format!("-{retained}"));
        }
    }

    /// Behind the colon of a key that ends at a place.
    pub(super) fn behind_colon(&self, key_end: usize) -> Option<usize> {
        let rest = &self.text[key_end..];
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        rest[blanks..]
            .starts_with(':')
            .then_some(key_end + blanks + 1)
    }

    /// The dash before an item that starts at a place.
    pub(super) fn dash_before(&self, place: usize) -> Option<usize> {
        let before = self.text[..self.with_properties(place)].trim_end_matches([' ', '\t']);
        before.ends_with('-').then(|| before.len() - 1)
    }

    /// Whether a collection is in flow style. That of a map whose first key is a list starts with
    /// `[` too.
    pub(super) fn has_brackets(&self, node: &Node) -> bool {
        let text = &self.text[node.span().start as usize..];
        match node.kind() {
            NodeKind::Map(_) => text.starts_with('{'),
            NodeKind::Seq(_) => text.starts_with('['),
            _ => false,
        }
    }

    /// The blanks and the comment that end the line, if nothing else does.
    pub(super) fn comment_at(&self, place: usize) -> Option<&'t str> {
        let rest = &self.text[place..self.line_end(place)];
        let trimmed = rest.trim_start_matches([' ', '\t']);
        let blank = trimmed.is_empty();
        (blank || trimmed.starts_with('#')).then_some(if blank { "" } else { rest })
    }

    /// The end of an alias that stands behind a place.
    pub(super) fn alias_at(&self, place: usize) -> Option<usize> {
        let rest = &self.text[place..];
        let start = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let name = rest[start..].strip_prefix('*')?;
        let end = name.find([' ', '\t', '\r', '\n', ',', ']', '}']);
        Some(place + start + 1 + end.unwrap_or(name.len()))
    }
}
