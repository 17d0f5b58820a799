//! Makes unsafe characters of messages visible, and removes those of recorded output.

use std::borrow::Cow;

use super::colours::permitted_colours;
use super::links::{CLOSE, LinkBase, LinkMark, link_mark, push_open};
use super::pieces::{Piece, Pieces};
use super::unsafe_chars::safe_prefix;

/// Replaces each unsafe character by its escape in JSON, such as `\u001b`. A carriage return before
/// a newline is removed.
///
/// JSON text keeps its meaning, because such characters occur only within its strings.
pub fn escape_controls(text: &str) -> Cow<'_, str> {
    let mut safe = safe_prefix(text);
    if safe == text.len() {
        return Cow::Borrowed(text);
    }
    let (mut shown, mut rest) = (String::with_capacity(text.len() + 16), text);
    loop {
        shown.push_str(&rest[..safe]);
        rest = &rest[safe..];
        let Some(c) = rest.chars().next() else {
            return Cow::Owned(shown);
        };
        rest = &rest[c.len_utf8()..];
        if c != '\r' || !rest.starts_with('\n') {
            push_escaped(&mut shown, c);
        }
        safe = safe_prefix(rest);
    }
}

/// Does the same, but lets colours and emphasis pass. Of a link to a place, only the text remains.
pub fn escape_except_colours(text: &str) -> Cow<'_, str> {
    escape_styled(text, None)
}

/// Does the same, but also lets links to places pass, resolved from a base.
pub fn escape_with_links<'t>(text: &'t str, base: &LinkBase) -> Cow<'t, str> {
    escape_styled(text, Some(base))
}

fn escape_styled<'t>(text: &'t str, base: Option<&LinkBase>) -> Cow<'t, str> {
    if safe_prefix(text) == text.len() {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut after = text.len();
    let mut is_linked = false;
    for (piece, raw) in Pieces::new(text) {
        after -= raw.len();
        match piece {
            Piece::Text(text) => shown.push_str(text),
            Piece::Control('\r') if text[text.len() - after..].starts_with('\n') => {}
            Piece::Control(c) => push_escaped(&mut shown, c),
            Piece::Colour(parameters) => match permitted_colours(parameters) {
                Some(codes) => push_colour(&mut shown, &codes),
                None => shown.push_str(&escape_controls(raw)),
            },
            Piece::Sequence => match (link_mark(raw), base) {
                (Some(LinkMark::Open(path)), Some(base)) => {
                    push_open(&mut shown, path, base);
                    is_linked = true;
                }
                (Some(LinkMark::Close), Some(_)) if is_linked => {
                    shown.push_str(CLOSE);
                    is_linked = false;
                }
                (Some(_), _) => {}
                (None, _) => shown.push_str(&escape_controls(raw)),
            },
        }
    }
    if is_linked {
        shown.push_str(CLOSE);
    }
    Cow::Owned(shown)
}

/// Removes escape sequences and those control characters that Unfurl removes from the output of a
/// command before it becomes a value.
pub fn without_controls(text: &str) -> Cow<'_, str> {
    if safe_prefix(text) == text.len() {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    for (piece, _) in Pieces::new(text) {
        match piece {
            Piece::Text(text) => kept.push_str(text),
            Piece::Control(c) if matches!(c, '\u{b}'..='\r') || !c.is_control() => kept.push(c),
            Piece::Control(_) | Piece::Colour(_) | Piece::Sequence => {}
        }
    }
    Cow::Owned(kept)
}

/// Appends an SGR sequence.
pub(super) fn push_colour(text: &mut String, codes: &str) {
    text.push_str("\u{1b}[");
    text.push_str(codes);
    text.push('m');
}

fn push_escaped(text: &mut String, c: char) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        text.push_str(&format!("\\u{unit:04x}"));
    }
}
