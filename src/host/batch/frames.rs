//! The output of a script: words that end with a zero byte, and between them pieces of a length
//! that was told before.

use std::borrow::Cow;

/// What is left of an output.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frames<'a> {
    rest: &'a [u8],
}

impl<'a> Frames<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next word; none if it did not come whole.
    pub(super) fn word(&mut self) -> Option<&'a [u8]> {
        let end = self.rest.iter().position(|byte| *byte == 0)?;
        let (word, rest) = self.rest.split_at(end);
        self.rest = &rest[1..];
        Some(word)
    }

    /// The next word as text.
    pub(super) fn text(&mut self) -> Option<Cow<'a, str>> {
        self.word().map(String::from_utf8_lossy)
    }

    /// The next word as a number.
    pub(super) fn number<N: std::str::FromStr>(&mut self) -> Option<N> {
        self.text()?.trim().parse().ok()
    }

    /// The next piece of a length; none if it did not come whole.
    pub(super) fn piece(&mut self, length: usize) -> Option<&'a [u8]> {
        let (piece, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(piece)
    }
}

/// A word that names what follows: a letter, and a number or several.
pub(super) fn heading(word: &str) -> Option<(char, Vec<usize>)> {
    let mut signs = word.chars();
    let letter = signs.next()?;
    let numbers = signs.as_str().split_whitespace().map(str::parse);
    Some((letter, numbers.collect::<Result<_, _>>().ok()?))
}

/// The exit code of what ran too long.
pub(super) const TIMEOUT_CODE: i32 = 124;

/// Whether a command with a time limit ended by it: each `timeout` has its own code for that.
pub(super) fn is_timeout_code(code: i32) -> bool {
    [TIMEOUT_CODE, 128 + 15, 128 + 9].contains(&code)
}
