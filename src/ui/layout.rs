//! The style of texts that show values: colours, width, and how much is shown.

use super::paint::{Paint, Tone, visible_chars};
use super::words;

/// The style of a text with values.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    pub paint: Paint,
    /// The width of the screen in columns.
    pub width: usize,
    /// Whether long values and long lists are shown in full.
    pub is_full: bool,
}

impl Layout {
    /// Creates a style without colours that shortens long values.
    pub const fn plain(width: usize) -> Self {
        Self {
            paint: Paint::plain(),
            width,
            is_full: false,
        }
    }

    /// Appends a line with a place at its end, or on a line of its own if it does not fit.
    ///
    /// `length` is the number of characters of the line without colours.
    pub(super) fn line_with_place(
        self,
        text: &mut String,
        indent: usize,
        (line, length): (&str, usize),
        place: Option<&str>,
    ) {
        words::append(text, format_args!("{:indent$}{line}", ""));
        if let Some(place) = place {
            let used = indent + length + 3 + place.chars().count();
            let place = self.paint.tone(Tone::Dim, place);
            if used <= self.width {
                words::append(text, format_args!("   {place}"));
            } else {
                words::append(text, format_args!("\n{:1$}{place}", "", indent + 3));
            }
        }
        text.push('\n');
    }

    /// Appends words, wrapped between them. Lines after the first have a deeper indentation.
    pub(super) fn wrapped<'w>(
        self,
        text: &mut String,
        indent: usize,
        words: impl Iterator<Item = &'w str>,
    ) {
        words::append(text, format_args!("{:indent$}", ""));
        let mut used = indent;
        let mut is_first = true;
        for word in words {
            let length = visible_chars(word);
            if is_first {
                used += length;
            } else if used + 1 + length <= self.width {
                text.push(' ');
                used += 1 + length;
            } else {
                words::append(text, format_args!("\n{:1$}", "", indent + 4));
                used = indent + 4 + length;
            }
            text.push_str(word);
            is_first = false;
        }
        text.push('\n');
    }
}
