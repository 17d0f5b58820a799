//! The delimiters of tags, the search for tags, and the lengths of expressions and strings between them.

use std::borrow::Cow;
use std::cmp::Reverse;

/// The delimiters of blocks, variables and comments, in this order.
#[derive(Debug, Clone)]
pub(super) struct Delimiters(pub(super) [[String; 2]; 3]);

impl Default for Delimiters {
    fn default() -> Self {
        Self([["{%", "%}"], ["{{", "}}"], ["{#", "#}"]].map(|pair| pair.map(str::to_owned)))
    }
}

/// The kind of a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TagKind {
    Variable,
    Comment,
    Block,
}

/// The search for the starts of tags in a text. No part of the text is searched twice for one kind.
#[derive(Debug)]
pub(super) struct TagFinder<'a> {
    text: &'a str,
    kinds: [(TagKind, &'a [String; 2]); 3],
    /// The next start of each kind; searched again only after it has been passed.
    next: [Option<usize>; 3],
}

impl<'a> TagFinder<'a> {
    pub(super) fn new(text: &'a str, delimiters: &'a Delimiters) -> Self {
        let [block, variable, comment] = &delimiters.0;
        Self {
            text,
            kinds: [
                (TagKind::Variable, variable),
                (TagKind::Comment, comment),
                (TagKind::Block, block),
            ],
            next: [Some(0); 3],
        }
    }

    /// Returns the place, the kind and the delimiters of the first tag that starts at a place or after it. The longest
    /// delimiter counts.
    pub(super) fn find(&mut self, from: usize) -> Option<(usize, TagKind, &'a [String; 2])> {
        for (start, (_, pair)) in self.next.iter_mut().zip(self.kinds) {
            if start.is_some_and(|at| at < from || from == 0) {
                let found = self.text[from..].find(pair[0].as_str());
                *start = found.map(|at| from + at).filter(|_| !pair[0].is_empty());
            }
        }
        let starts = self.next.iter().zip(self.kinds).filter_map(|(start, tag)| {
            let (kind, pair) = tag;
            Some(((*start)?, Reverse(pair[0].len()), kind, pair))
        });
        let (at, _, kind, pair) =
            starts.min_by_key(|(at, length, kind, _)| (*at, *length, *kind))?;
        Some((at, kind, pair))
    }
}

/// Rewrites the text between the delimiters of variables and blocks. Comments and raw blocks stay.
///
/// `rewrite` receives the kind of the tag, its text, and the rest of the template after that text.
pub(super) fn rewrite_tags<'a>(
    text: &'a str,
    delimiters: &Delimiters,
    mut rewrite: impl FnMut(TagKind, &'a str, &'a str) -> Cow<'a, str>,
) -> String {
    let mut finder = TagFinder::new(text, delimiters);
    let mut output = String::with_capacity(text.len() + 64);
    let mut here = 0;
    while let Some((at, kind, [start, end])) = finder.find(here) {
        let begin = at + start.len();
        output.push_str(&text[here..begin]);
        let rest = &text[begin..];
        let length = if kind == TagKind::Comment {
            rest.find(end.as_str()).unwrap_or(rest.len())
        } else {
            expression_length(rest, end)
        };
        let (inner, after) = rest.split_at(length);
        here = begin + length;
        let words = inner.trim_start_matches(['-', '+']).trim_start();
        if kind == TagKind::Block && words.starts_with("raw") {
            let end = after.find("endraw").unwrap_or(after.len());
            output.push_str(&rest[..length + end]);
            here += end;
        } else if kind == TagKind::Comment {
            output.push_str(inner);
        } else {
            output.push_str(&rewrite(kind, inner, after));
        }
    }
    output.push_str(&text[here..]);
    output
}

/// Returns the length of an expression up to its end delimiter, ignoring delimiters in strings and brackets.
pub(super) fn expression_length(text: &str, end: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if depth == 0 && rest.starts_with(end) {
            return at;
        }
        let Some(first) = rest.chars().next() else {
            break;
        };
        at += match first {
            '\'' | '"' => string_length(rest),
            '(' | '[' | '{' => {
                depth += 1;
                1
            }
            ')' | ']' | '}' => {
                depth = depth.saturating_sub(1);
                1
            }
            other => other.len_utf8(),
        };
    }
    text.len()
}

/// Returns the length of the string at the start of the text, including its quotes.
pub(super) fn string_length(text: &str) -> usize {
    let mut characters = text.char_indices();
    let Some((_, quote)) = characters.next() else {
        return 0;
    };
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => drop(characters.next()),
            end if end == quote => return at + end.len_utf8(),
            _ => {}
        }
    }
    text.len()
}
