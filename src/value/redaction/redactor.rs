//! A filter for the output of a command while it runs.

use std::fmt::{Debug, Formatter};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Secrets;
use super::parts::MAX_NEEDLE;
use crate::value::HIDDEN_OUTPUT;

/// The maximum number of bytes held back while waiting for the end of a line.
const MAX_BUFFERED: usize = 64 << 10;

/// The number of bytes that are searched again together with what follows, because a secret may begin in them.
const CONTEXT: usize = 2 * MAX_NEEDLE;

/// A filter that passes output on as long as no form of a secret occurs in it.
///
/// Works line by line and therefore also finds a secret that arrives in two pieces. Once a secret was found, one line
/// says so, and nothing else passes.
pub struct Redactor {
    secrets: Secrets,
    /// The texts that are removed without a replacement.
    marks: Arc<[Vec<u8>]>,
    buffered: Vec<u8>,
    /// The end of what was passed on.
    context: Vec<u8>,
    /// True if a secret was found in this output, or in the other one of the same command.
    found: Arc<AtomicBool>,
    is_said: bool,
}

impl Redactor {
    /// Creates the filters for both outputs of a command, which also remove the marks.
    pub fn pair(secrets: &Secrets, marks: impl IntoIterator<Item = String>) -> (Self, Self) {
        let marks: Arc<[_]> = marks.into_iter().map(String::into_bytes).collect();
        let found = Arc::new(AtomicBool::new(false));
        let redactor = || Self {
            secrets: secrets.clone(),
            marks: Arc::clone(&marks),
            buffered: Vec::new(),
            context: Vec::new(),
            found: Arc::clone(&found),
            is_said: false,
        };
        (redactor(), redactor())
    }

    /// Adds output and returns the part of it that may be shown now.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        if self.secrets.is_empty() && self.marks.is_empty() {
            return bytes.to_vec();
        }
        if self.is_hidden() {
            return self.notice(true);
        }
        self.buffered.extend_from_slice(bytes);
        let line_end = self.buffered.iter().rposition(|byte| *byte == b'\n');
        let end = match line_end {
            Some(end) => end + 1,
            // The end of a long line stays, because a secret may begin there.
            None if self.buffered.len() > MAX_BUFFERED => self.buffered.len() - CONTEXT,
            None => return Vec::new(),
        };
        let searched = if line_end.is_some() {
            end
        } else {
            self.buffered.len()
        };
        self.pass(end, searched)
    }

    /// Returns the remainder at the end of the output.
    pub fn finish(&mut self) -> Vec<u8> {
        if self.is_hidden() {
            return self.notice(!self.buffered.is_empty());
        }
        let end = self.buffered.len();
        self.pass(end, end)
    }

    fn is_hidden(&self) -> bool {
        self.found.load(Ordering::Relaxed)
    }

    /// Returns the first `end` bytes of the buffer, if no secret is in the first `searched` bytes.
    fn pass(&mut self, end: usize, searched: usize) -> Vec<u8> {
        let rest = self.buffered.split_off(end);
        let mut passed = std::mem::replace(&mut self.buffered, rest);
        for mark in self.marks.iter() {
            passed = without(passed, mark);
        }
        if self.secrets.is_empty() {
            return passed;
        }
        let before = std::mem::take(&mut self.context);
        let shown = before.len() + passed.len();
        let mut text = before.clone();
        text.extend_from_slice(&passed);
        text.extend_from_slice(&self.buffered[..searched - end]);
        if let Some(place) = self.secrets.first_place_in(&text) {
            return self.hide(&text[..shown], before.len(), place);
        }
        text.truncate(shown);
        self.context = text.split_off(shown.saturating_sub(CONTEXT));
        passed
    }

    /// Returns the lines before the one in which a secret begins, and a line that says that the rest is hidden.
    fn hide(&mut self, text: &[u8], from: usize, place: usize) -> Vec<u8> {
        self.found.store(true, Ordering::Relaxed);
        self.buffered.clear();
        let clean = &text[..place.clamp(from, text.len())];
        let line_start = clean.iter().rposition(|byte| *byte == b'\n');
        let line_start = line_start.map_or(0, |at| at + 1).max(from);
        let mut passed = text[from..line_start].to_vec();
        passed.extend(self.notice(true));
        passed
    }

    /// Returns the line that says that output is hidden, the first time that there is something to hide.
    fn notice(&mut self, has_output: bool) -> Vec<u8> {
        self.buffered.clear();
        if self.is_said || !has_output {
            return Vec::new();
        }
        self.is_said = true;
        format!("{HIDDEN_OUTPUT}\n").into_bytes()
    }
}

impl Debug for Redactor {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redactor").finish_non_exhaustive()
    }
}

/// Returns a text without the places where a mark occurs.
fn without(text: Vec<u8>, mark: &[u8]) -> Vec<u8> {
    if mark.is_empty() || !text.windows(mark.len()).any(|part| part == mark) {
        return text;
    }
    let mut kept = Vec::with_capacity(text.len());
    let mut rest = text.as_slice();
    while let Some(at) = rest.windows(mark.len()).position(|part| part == mark) {
        kept.extend_from_slice(&rest[..at]);
        rest = &rest[at + mark.len()..];
    }
    kept.extend_from_slice(rest);
    kept
}
