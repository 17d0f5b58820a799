//! The style of written texts: plain, quoted or as a literal block. The emitter uses it for keys and values.

use super::scalar;
use crate::text::is_unsafe;

/// The position at which a text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScalarPosition {
    /// The value of a key, or an item of a block collection.
    Block,
    Key,
    /// Any position within `{}` or `[]`.
    Flow,
}

/// The style of a written scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScalarStyle {
    Plain,
    Single,
    Double,
    Literal(Chomp),
}

/// The treatment of line breaks at the end of a literal block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chomp {
    /// `|-` for a text without a final line break.
    Strip,
    /// `|` for a text with one final line break.
    Clip,
    /// `|+` for a text with several final line breaks.
    Keep,
}

impl Chomp {
    pub(super) fn header(self) -> &'static str {
        match self {
            Self::Strip => "|-",
            Self::Clip => "|",
            Self::Keep => "|+",
        }
    }
}

/// Returns the plainest style in which each reader finds the same text.
pub(super) fn style(text: &str, position: ScalarPosition) -> ScalarStyle {
    let bytes = text.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return ScalarStyle::Single;
    };
    let mut quote = *first == b' ' || *last == b' ' || starts_specially(bytes, position);
    let (mut lines, mut tabs) = (false, false);
    for (place, byte) in bytes.iter().enumerate() {
        match byte {
            b'\n' => lines = true,
            b'\t' => tabs = true,
            0..0x20 | 0x7f => return ScalarStyle::Double,
            b':' => {
                quote |= position == ScalarPosition::Flow
                    || matches!(bytes.get(place + 1), None | Some(b' ' | b'\n'));
            }
            b'#' => quote |= place > 0 && matches!(bytes[place - 1], b' ' | b'\n'),
            b',' | b'[' | b']' | b'{' | b'}' | b'?' => quote |= position == ScalarPosition::Flow,
            0xc2 | 0xd8 | 0xe2 | 0xef | 0xf3 | 0xf4 if is_unprintable(text, place) => {
                return ScalarStyle::Double;
            }
            _ => {}
        }
    }
    if lines {
        return literal_chomp(text, position).map_or(ScalarStyle::Double, ScalarStyle::Literal);
    }
    match (tabs, quote || scalar::is_ambiguous(text)) {
        (true, _) => ScalarStyle::Double,
        (false, true) => ScalarStyle::Single,
        (false, false) => ScalarStyle::Plain,
    }
}

/// Whether the first characters have a meaning in YAML.
fn starts_specially(bytes: &[u8], position: ScalarPosition) -> bool {
    match bytes {
        [b'-' | b'?' | b':', ..] => {
            position == ScalarPosition::Flow
                || matches!(bytes.get(1), None | Some(b' ' | b'\n'))
                || bytes.starts_with(b"---")
        }
        [first, ..] => b",[]{}#&*!|>'\"%@`".contains(first) || bytes.starts_with(b"..."),
        [] => true,
    }
}

/// Whether a character that must be escaped begins at a byte.
fn is_unprintable(text: &str, place: usize) -> bool {
    let character = text.get(place..).and_then(|rest| rest.chars().next());
    character.is_some_and(is_escaped)
}

/// Whether a character would steer a terminal, or readers reject it or take it for a line break.
fn is_escaped(c: char) -> bool {
    is_unsafe(c) || matches!(c, '\u{feff}' | '\u{fffe}' | '\u{ffff}' | '\u{10ffff}')
}

/// Returns the chomping for a text of several lines, if a literal block is safe for it.
///
/// Readers disagree about white space at the start of the first line, and editors remove it at line ends.
fn literal_chomp(text: &str, position: ScalarPosition) -> Option<Chomp> {
    let blank = [' ', '\t'];
    if position != ScalarPosition::Block
        || text.starts_with([' ', '\t', '\n'])
        || text.split('\n').any(|line| line.ends_with(blank))
    {
        return None;
    }
    Some(match text.as_bytes() {
        [.., b'\n', b'\n'] => Chomp::Keep,
        [.., b'\n'] => Chomp::Clip,
        _ => Chomp::Strip,
    })
}

/// Writes a text on one line.
pub(super) fn write_inline(out: &mut String, text: &str, style: ScalarStyle) {
    match style {
        ScalarStyle::Plain => out.push_str(text),
        ScalarStyle::Single => {
            out.push('\'');
            for (place, part) in text.split('\'').enumerate() {
                out.push_str(if place == 0 { "" } else { "''" });
                out.push_str(part);
            }
            out.push('\'');
        }
        ScalarStyle::Double | ScalarStyle::Literal(_) => write_double(out, text),
    }
}

fn write_double(out: &mut String, text: &str) {
    use std::fmt::Write as _;
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..' ' | '\u{7f}'..='\u{9f}' => {
                write!(out, "\\x{:02x}", u32::from(c)).expect("writing to a string cannot fail");
            }
            ..='\u{ffff}' if is_escaped(c) => {
                write!(out, "\\u{:04x}", u32::from(c)).expect("writing to a string cannot fail");
            }
            c if is_escaped(c) => {
                write!(out, "\\U{:08x}", u32::from(c)).expect("writing to a string cannot fail");
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
