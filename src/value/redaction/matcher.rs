//! Finds the forms of all secrets of a set in texts.

use std::ops::Range;
use std::sync::Arc;

use super::parts::Parts;
use crate::text::OutputFilter;

/// The searches for the secrets of a set, in groups.
///
/// A set grows while a job runs. Groups of similar size are joined, so that n secrets, added one by one, take a time
/// in the order of n log n.
#[derive(Clone, Default)]
pub(super) struct Matcher {
    /// Each group with the number of its secrets, in the order of the set.
    groups: Vec<(usize, Arc<Parts>)>,
}

impl Matcher {
    /// Returns a matcher for all `secrets`. The groups of this matcher are the first of them.
    pub(super) fn extended(&self, secrets: &[&str]) -> Self {
        let mut groups = self.groups.clone();
        let mut start = groups.iter().map(|(count, _)| count).sum::<usize>();
        if start == secrets.len() {
            return self.clone();
        }
        while let Some((count, _)) = groups.pop_if(|(count, _)| *count <= secrets.len() - start) {
            start -= count;
        }
        let added = &secrets[start..];
        let parts = Parts::new(added.iter().copied());
        groups.push((added.len(), Arc::new(parts)));
        Self { groups }
    }

    /// Returns true if a form of a secret occurs in a text, also between control characters and escape sequences.
    pub(super) fn occurs_in(&self, text: &[u8]) -> bool {
        self.is_in(text) || (!is_plain(text) && self.is_in(shown(text).as_bytes()))
    }

    fn is_in(&self, text: &[u8]) -> bool {
        self.groups.iter().any(|(_, parts)| parts.occur_in(text))
    }

    /// Returns the places to hide in a text, in order and apart from each other.
    ///
    /// A line in which control characters interrupt a secret is hidden as a whole.
    pub(super) fn places_in(&self, text: &[u8]) -> Vec<Range<usize>> {
        if !self.occurs_in(text) {
            return Vec::new();
        }
        let mut places = Vec::new();
        for (_, parts) in &self.groups {
            parts.find_in(text, &mut places);
        }
        let mut places = joined(places);
        if !is_plain(text) {
            let lines = self.interrupted_lines(text, &places);
            places.extend(lines);
            places = joined(places);
        }
        places
    }

    /// Returns the lines in which a secret appears once control characters are removed.
    fn interrupted_lines(&self, text: &[u8], places: &[Range<usize>]) -> Vec<Range<usize>> {
        let mut lines = Vec::new();
        let mut start = 0;
        let mut found = places.iter().peekable();
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let end = start + line.len();
            let mut rest = Vec::with_capacity(line.len());
            let mut at = start;
            while let Some(place) = found.next_if(|place| place.start < end) {
                rest.extend_from_slice(&text[at..place.start.max(at)]);
                rest.push(b'<');
                at = place.end.clamp(at, end);
            }
            rest.extend_from_slice(&text[at..end]);
            if !is_plain(&rest) && self.is_in(shown(&rest).as_bytes()) {
                let is_ended = line.ends_with(b"\n");
                lines.push(start..end - usize::from(is_ended));
            }
            start = end;
        }
        lines
    }
}

fn is_plain(text: &[u8]) -> bool {
    let is_plain = |byte: &u8| matches!(byte, b'\t' | b'\n' | b' '..=b'~');
    text.iter().all(is_plain)
}

/// Returns a text as a terminal shows it, without control characters and escape sequences.
fn shown(text: &[u8]) -> String {
    OutputFilter::plain(&String::from_utf8_lossy(text))
}

/// Joins places that touch or overlap.
fn joined(mut places: Vec<Range<usize>>) -> Vec<Range<usize>> {
    places.sort_unstable_by_key(|place| (place.start, place.end));
    let mut joined: Vec<Range<usize>> = Vec::with_capacity(places.len());
    for place in places {
        match joined.last_mut() {
            Some(last) if place.start <= last.end => last.end = last.end.max(place.end),
            _ => joined.push(place),
        }
    }
    joined
}
