//! The framing of a script's output: words that end with a NUL byte, and between them pieces whose
//! length an earlier word gives.

use std::borrow::Cow;

/// A cursor over the unread rest of an output.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frames<'a> {
    rest: &'a [u8],
}

impl<'a> Frames<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Returns the next word, or none if its end is missing.
    pub(super) fn word(&mut self) -> Option<&'a [u8]> {
        let end = self.rest.iter().position(|byte| *byte == 0)?;
        let (word, rest) = self.rest.split_at(end);
        self.rest = &rest[1..];
        Some(word)
    }

    /// Returns the next word as text.
    pub(super) fn text(&mut self) -> Option<Cow<'a, str>> {
        self.word().map(String::from_utf8_lossy)
    }

    /// Returns the next word as a number.
    pub(super) fn number<N: std::str::FromStr>(&mut self) -> Option<N> {
        self.text()?.trim().parse().ok()
    }

    /// Returns the bytes before the next word that ends with `mark`, or none if there is none.
    pub(super) fn until(&mut self, mark: &[u8]) -> Option<&'a [u8]> {
        let ends = self.rest.iter().enumerate().filter(|(_, byte)| **byte == 0);
        let mut ends = ends.map(|(end, _)| end);
        let end = ends.find(|end| self.rest[..*end].ends_with(mark))?;
        let piece = &self.rest[..end - mark.len()];
        self.rest = &self.rest[end + 1..];
        Some(piece)
    }

    /// Returns the next `length` bytes, or none if fewer are left.
    pub(super) fn piece(&mut self, length: usize) -> Option<&'a [u8]> {
        let (piece, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(piece)
    }
}

/// Splits the heading of a frame into its letter and the numbers after it.
pub(super) fn heading(word: &str) -> Option<(char, Vec<usize>)> {
    let mut signs = word.chars();
    let letter = signs.next()?;
    let numbers = signs.as_str().split_whitespace().map(str::parse);
    Some((letter, numbers.collect::<Result<_, _>>().ok()?))
}

/// The exit code of a command that exceeded its time limit.
pub(super) const TIMEOUT_CODE: i32 = 124;

/// Whether the exit code of a command with a time limit means that the limit ended it.
///
/// Implementations of `timeout` differ: some report 124, others the code of SIGTERM or SIGKILL.
pub(super) fn is_timeout_code(code: i32) -> bool {
    [TIMEOUT_CODE, 128 + 15, 128 + 9].contains(&code)
}
