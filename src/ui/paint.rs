//! Adds colours to words, if the output shows colours.
//!
//! Colours only repeat the meaning of a word or a symbol: the text without them has the same words.

use anstyle::{AnsiColor, Style};

use super::words;
use crate::diagnostic::SourcePosition;
use crate::text::place_link;

/// Colours words, or leaves them as they are.
///
/// Text of others must be escaped first (`words::one_line`), as its colours would be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Paint {
    is_coloured: bool,
}

/// The meaning of a word, from which its colour follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// A result that is as it should be; something new.
    Good,
    /// Something to look at; something that changes.
    Warning,
    /// A failure; something that is deleted.
    Bad,
    /// Something unknown or in doubt.
    Doubt,
    /// Something running or informative.
    Note,
    /// A name or a heading.
    Strong,
    /// A detail of less importance, such as a position in a file.
    Dim,
}

impl Paint {
    /// Creates a painter. Without colours, all texts stay as they are.
    pub const fn new(is_coloured: bool) -> Self {
        Self { is_coloured }
    }

    /// Creates a painter that leaves texts as they are.
    pub const fn plain() -> Self {
        Self::new(false)
    }

    /// Returns the text in the colour of a meaning.
    pub fn tone(self, tone: Tone, text: &str) -> String {
        if !self.is_coloured || text.is_empty() {
            return text.to_owned();
        }
        let style = tone.style();
        format!("{style}{text}{style:#}")
    }

    /// Returns a position in a file, dimmed and with a link to the file where the terminal shows links.
    pub fn place(self, place: &SourcePosition) -> String {
        let text = place.to_string();
        let text = words::one_line(&text);
        if !self.is_coloured {
            return text.into_owned();
        }
        let linked = place_link(&place.path.to_string_lossy(), &text);
        self.tone(Tone::Dim, &linked)
    }
}

impl Tone {
    fn style(self) -> Style {
        let coloured = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
        match self {
            Self::Good => coloured(AnsiColor::Green),
            Self::Warning => coloured(AnsiColor::Yellow),
            Self::Bad => coloured(AnsiColor::Red),
            Self::Doubt => coloured(AnsiColor::Magenta),
            Self::Note => coloured(AnsiColor::Cyan),
            Self::Strong => Style::new().bold(),
            Self::Dim => Style::new().dimmed(),
        }
    }
}

/// Counts the characters of a painted text that a terminal shows.
pub(super) fn visible_chars(text: &str) -> usize {
    let mut count = 0;
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\x1b[") {
        count += before.chars().count();
        rest = after.split_once('m').map_or("", |(_, after)| after);
    }
    count + rest.chars().count()
}

/// Returns a text without colours and links, to compare its words with those of the plain text.
#[cfg(test)]
pub(super) fn without_colours(text: &str) -> String {
    let without = |mut rest: &str, begin: &str, end: &str| {
        let mut plain = String::new();
        while let Some((before, after)) = rest.split_once(begin) {
            plain.push_str(before);
            rest = after.split_once(end).map_or("", |(_, after)| after);
        }
        plain + rest
    };
    without(&without(text, "\x1b]8;;", "\x1b\\"), "\x1b[", "m")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_do_not_change_the_words() {
        let coloured = Paint::new(true).tone(Tone::Bad, "failed");
        assert_eq!(coloured, "\x1b[31mfailed\x1b[0m");
        assert_eq!(without_colours(&format!("a {coloured} b")), "a failed b");
        assert_eq!(visible_chars(&coloured), 6);
        assert_eq!(Paint::plain().tone(Tone::Bad, "failed"), "failed");
    }

    #[test]
    fn a_place_links_to_its_file() {
        let place = SourcePosition {
            path: "e.yaml".into(),
            line: 3,
            column: 5,
        };
        let linked = Paint::new(true).place(&place);
        assert!(linked.contains("]8;;place:e.yaml"), "{linked:?}");
        assert_eq!(without_colours(&linked), "e.yaml:3:5");
        assert_eq!(Paint::plain().place(&place), "e.yaml:3:5");
    }
}
