//! The parts of some secrets, ready to be found in texts.

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::encodings::encodings;
use super::ordinary::{is_ordinary, is_telling, password_of_url, telling_parts};
use super::windows::{WINDOW, WindowSet, windows};

/// The minimum length, in bytes, of a secret or a line of one that is searched for within other texts.
///
/// Shorter ones occur by chance and would make every text unreadable.
const MIN_LENGTH: usize = 3;

/// The maximum length of a form that is searched for as a whole. Of longer ones, the first bytes are.
pub(super) const MAX_NEEDLE: usize = 256;

/// The maximum size of all needles for a search that takes more memory and less time.
const MAX_FAST_NEEDLES: usize = 16 << 10;

/// The maximum number of windows of a secret as it is. Of a longer one, every second window counts, or fewer.
const MAX_WINDOWS: usize = 64 << 10;

/// The maximum number of windows of each other form of a secret.
const MAX_ENCODED_WINDOWS: usize = 16 << 10;

/// The maximum length of a secret whose other forms are searched for. Of a longer one, those of its start are.
const MAX_ENCODED: usize = 1 << 20;

/// The searches for the forms of some secrets.
pub(super) struct Parts {
    /// Forms that are found as a whole: short ones, and those of which some windows are ordinary.
    needles: Option<AhoCorasick>,
    /// Eight consecutive bytes of any form.
    windows: WindowSet,
}

/// The forms of secrets, before they are made ready.
#[derive(Default)]
struct Forms {
    needles: Vec<Vec<u8>>,
    windows: Vec<u64>,
}

impl Parts {
    pub(super) fn new<'s>(secrets: impl Iterator<Item = &'s str>) -> Self {
        let mut forms = Forms::default();
        for secret in secrets.filter(|secret| !is_ordinary(secret)) {
            forms.add_secret(secret);
        }
        let Forms {
            mut needles,
            mut windows,
        } = forms;
        needles.sort_unstable();
        needles.dedup();
        windows.sort_unstable();
        windows.dedup();
        Self {
            needles: search_for(&needles),
            windows: WindowSet::new(&windows),
        }
    }

    /// Returns true if a form of a secret occurs in a text without control characters.
    pub(super) fn occur_in(&self, text: &[u8]) -> bool {
        let needles = self.needles.as_ref();
        self.windows.occurs_in(text) || needles.is_some_and(|needles| needles.is_match(text))
    }

    /// Adds the places of the forms in a text.
    pub(super) fn find_in(&self, text: &[u8], places: &mut Vec<Range<usize>>) {
        places.extend(self.windows.places_in(text));
        if let Some(needles) = &self.needles {
            places.extend(needles.find_iter(text).map(|found| found.range()));
        }
    }
}

impl Forms {
    fn add_secret(&mut self, secret: &str) {
        self.add_text(secret);
        let trimmed = secret.trim();
        if trimmed.len() < secret.len() {
            self.add_text(trimmed);
        }
        if secret.contains('\n') {
            let lines = secret.lines().filter(|line| is_telling_line(line));
            lines.for_each(|line| self.add_needle(line.as_bytes(), true));
        }
        if let Some(password) = password_of_url(secret).filter(|it| !is_ordinary(it)) {
            self.add_text(password);
        }
    }

    fn add_text(&mut self, text: &str) {
        let parts = telling_parts(text);
        let is_whole = parts == [text];
        self.add_needle(text.as_bytes(), is_whole);
        let start = &text[..text.floor_char_boundary(MAX_ENCODED)];
        for form in encodings(start) {
            self.add_needle(&form, is_whole);
        }
        for part in parts {
            self.add_windows(part.as_bytes(), MAX_WINDOWS);
            let start = &part[..part.floor_char_boundary(MAX_ENCODED)];
            for form in encodings(start) {
                self.add_windows(&form, MAX_ENCODED_WINDOWS);
            }
        }
    }

    /// Adds a form that is searched for as a whole, unless its windows find all of it.
    fn add_needle(&mut self, form: &[u8], has_windows: bool) {
        let is_found = match form.len() {
            0..MIN_LENGTH => return,
            MIN_LENGTH..WINDOW => false,
            WINDOW..=MAX_NEEDLE => has_windows && windows(form).all(is_telling),
            _ => windows(form).any(is_telling),
        };
        if !is_found {
            self.needles
                .push(form[..form.len().min(MAX_NEEDLE)].to_vec());
        }
    }

    /// Adds windows of a form: all, or regularly spaced ones if there are too many.
    fn add_windows(&mut self, form: &[u8], limit: usize) {
        let step = form.len().div_ceil(limit).max(1);
        let telling = windows(form).step_by(step).filter(|it| is_telling(*it));
        self.windows.extend(telling);
    }
}

/// Returns true if a line of a secret is more than brackets and other punctuation, which occur in any text.
fn is_telling_line(line: &str) -> bool {
    let signs = line.chars().filter(|c| c.is_alphanumeric()).count();
    let is_common = || line.len() >= WINDOW && !windows(line.as_bytes()).any(is_telling);
    signs >= MIN_LENGTH && !is_ordinary(line) && !is_common()
}

/// Returns the search for needles in any case. None if there are none.
fn search_for(needles: &[Vec<u8>]) -> Option<AhoCorasick> {
    let size: usize = needles.iter().map(Vec::len).sum();
    let kind = match size {
        0 => return None,
        1..=MAX_FAST_NEEDLES => AhoCorasickKind::DFA,
        _ => AhoCorasickKind::ContiguousNFA,
    };
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::LeftmostLongest)
        .kind(Some(kind))
        .build(needles)
        .ok()
}
