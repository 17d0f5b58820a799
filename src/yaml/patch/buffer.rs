//! The text buffer of a patch: computes lines and columns and collects the edits (splices), which are
//! applied at the end.

use std::cell::OnceCell;

use super::PatchError;
use crate::yaml::{Node, NodeKind};

/// A text together with its pending edits.
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

    /// Schedules the replacement of a byte range. Adjacent ranges are allowed, overlapping ones are not.
    pub(super) fn splice(&mut self, start: usize, end: usize, text: &str) {
        let text = if self.newline == "\n" {
            text.to_owned()
        } else {
            text.replace('\n', self.newline)
        };
        self.splices.push(Splice { start, end, text });
    }

    /// Returns the text with the edits applied.
    pub(super) fn finish(mut self) -> Result<String, PatchError> {
        // An insertion at a position precedes a replacement that starts there.
        self.splices
            .sort_by_key(|splice| (splice.start, splice.end));
        let grown: usize = self.splices.iter().map(|splice| splice.text.len()).sum();
        let mut out = String::with_capacity(self.text.len() + grown);
        let mut done = 0;
        for splice in &self.splices {
            let retained = self
                .text
                .get(done..splice.start)
                .ok_or(PatchError::Overlapping)?;
            out.push_str(retained);
            out.push_str(&splice.text);
            done = splice.end;
        }
        out.push_str(self.text.get(done..).ok_or(PatchError::Overlapping)?);
        // Without a final line break, a literal block would lose its own.
        let last = self
            .splices
            .last()
            .filter(|last| last.end == self.text.len());
        if last.is_some_and(|last| last.text.contains('\n')) && !out.ends_with('\n') {
            out.push_str(self.newline);
        }
        Ok(out)
    }

    /// Returns the start of the line at a position, after a byte order mark.
    pub(super) fn line_start(&self, offset: usize) -> usize {
        let start = self.text[..offset]
            .rfind('\n')
            .map_or(0, |newline| newline + 1);
        let mark = if start == 0 && self.text.starts_with('\u{feff}') {
            3
        } else {
            0
        };
        (start + mark).min(offset)
    }

    /// Returns the end of the line at a position, before its line break.
    pub(super) fn line_end(&self, offset: usize) -> usize {
        let rest = &self.text[offset..];
        let line = rest.find('\n').map_or(rest, |end| &rest[..end]);
        offset + line.strip_suffix('\r').unwrap_or(line).len()
    }

    /// Returns the start of the document's value, including its tag, anchor or block header.
    ///
    /// The value follows comments, `%` directives and `---`. If it is on the line of `---`, it starts right
    /// after the marker.
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

    /// Returns the start of the next line, or the end of the text.
    pub(super) fn next_line(&self, place: usize) -> usize {
        self.text[place..]
            .find('\n')
            .map_or(self.text.len(), |end| place + end + 1)
    }

    /// Returns the end of the lines of an element that ends at a position.
    ///
    /// The comments below it that are indented more than its column belong to it.
    pub(super) fn element_end(&self, place: usize, column: usize) -> usize {
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

    /// Whether an indented comment line exists, which would become part of a block scalar written before it.
    pub(super) fn has_indented_comments(&self) -> bool {
        *self.indented_comments.get_or_init(|| {
            self.text.match_indices('#').any(|(place, _)| {
                let before = self.text[..place].trim_end_matches([' ', '\t']);
                before.len() < place && (before.is_empty() || before.ends_with('\n'))
            })
        })
    }

    /// Returns the text between the line start and a position.
    pub(super) fn prefix(&self, place: usize) -> &'t str {
        &self.text[self.line_start(place)..place]
    }

    /// Returns the start of the tag and anchor of a node on the same line, or of the node itself.
    pub(super) fn start_with_properties(&self, place: usize) -> usize {
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

    /// Fixes the value of a block scalar at the end of a text without a final line break, before lines are
    /// appended.
    pub(super) fn close_block_scalar(&mut self, start: usize) {
        let before = self.text[..start].trim_end();
        let header = before.trim_end_matches(|c: char| c.is_ascii_digit() || "+-".contains(c));
        let indicators = &before[header.len()..];
        if header.ends_with(['|', '>']) && !indicators.contains('-') {
            let retained = indicators.replace('+', "");
            self.splice(header.len(), before.len(), &format!("-{retained}"));
        }
    }

    /// Returns the position after the colon of a key.
    pub(super) fn after_colon(&self, key_end: usize) -> Option<usize> {
        let rest = &self.text[key_end..];
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        rest[blanks..]
            .starts_with(':')
            .then_some(key_end + blanks + 1)
    }

    /// Returns the position of the dash before an item.
    pub(super) fn dash_before(&self, place: usize) -> Option<usize> {
        let before = self.text[..self.start_with_properties(place)].trim_end_matches([' ', '\t']);
        before.ends_with('-').then(|| before.len() - 1)
    }

    /// Whether a collection is in flow style. A block map whose first key is a list also starts with `[`.
    pub(super) fn has_brackets(&self, node: &Node) -> bool {
        let text = &self.text[node.span().start as usize..];
        match node.kind() {
            NodeKind::Map(_) => text.starts_with('{'),
            NodeKind::Seq(_) => text.starts_with('['),
            _ => false,
        }
    }

    /// Returns the white space and comment up to the end of the line. None if other text follows.
    pub(super) fn comment_at(&self, place: usize) -> Option<&'t str> {
        let rest = &self.text[place..self.line_end(place)];
        let trimmed = rest.trim_start_matches([' ', '\t']);
        let blank = trimmed.is_empty();
        (blank || trimmed.starts_with('#')).then_some(if blank { "" } else { rest })
    }

    /// Returns the end of an alias that follows a position.
    pub(super) fn alias_at(&self, place: usize) -> Option<usize> {
        let rest = &self.text[place..];
        let start = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let name = rest[start..].strip_prefix('*')?;
        let end = name.find([' ', '\t', '\r', '\n', ',', ']', '}']);
        Some(place + start + 1 + end.unwrap_or(name.len()))
    }
}
