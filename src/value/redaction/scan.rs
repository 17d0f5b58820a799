//! Searches a text for windows: as it stands, across the ends of lines, between single characters, and as hexadecimal
//! digits. Each search jumps over stretches in which nothing can be found.

use std::ops::{ControlFlow, Range};

use super::windows::{BLOCK, WINDOW, WindowSet, window_of};

/// The kinds of bytes besides hexadecimal digits, as values of [`KINDS`].
const OTHER: u8 = 16;
const SEPARATOR: u8 = 17;
const PREFIX: u8 = 18;

/// The value of each hexadecimal digit, and the kind of each other byte.
const KINDS: [u8; 256] = kinds();

/// The number of hexadecimal digits of a window.
const DIGITS: usize = 2 * WINDOW;

/// The number of bytes that single characters take that stand apart and have the bytes of a window, at least.
///
/// A character has up to four bytes.
const APART: usize = WINDOW + 1;

const fn kinds() -> [u8; 256] {
    let mut kinds = [OTHER; 256];
    let separators = b":,-\\\"'[]{}%_;&#=. \t\r\n";
    let mut at = 0;
    while at < separators.len() {
        kinds[separators[at] as usize] = SEPARATOR;
        at += 1;
    }
    let digits = b"0123456789abcdef";
    let mut value = 0;
    while value < 16 {
        kinds[digits[value as usize] as usize] = value;
        kinds[digits[value as usize].to_ascii_uppercase() as usize] = value;
        value += 1;
    }
    kinds[b'x' as usize] = PREFIX;
    kinds[b'X' as usize] = PREFIX;
    kinds
}

/// Gets the place of each window that is found, and ends the search with `Break`.
type Found<'f> = dyn FnMut(Range<usize>) -> ControlFlow<()> + 'f;

impl WindowSet {
    /// Returns true if a text has a window of this set.
    pub(super) fn occurs_in(&self, text: &[u8]) -> bool {
        self.search(text, &mut |_| ControlFlow::Break(()))
            .is_break()
    }

    /// Returns the places of the windows of this set in a text, in no particular order.
    pub(super) fn places_in(&self, text: &[u8]) -> Vec<Range<usize>> {
        let mut places = Vec::new();
        let collected = self.search(text, &mut |place| {
            places.push(place);
            ControlFlow::Continue(())
        });
        debug_assert!(collected.is_continue());
        places
    }

    fn search(&self, text: &[u8], found: &mut Found<'_>) -> ControlFlow<()> {
        if self.is_empty() || text.len() < WINDOW {
            return ControlFlow::Continue(());
        }
        self.search_plain(text, found)?;
        self.search_lines(text, found)?;
        self.search_apart(text, found)?;
        self.search_digits(text, found)
    }

    /// Searches the text as it stands.
    fn search_plain(&self, text: &[u8], found: &mut Found<'_>) -> ControlFlow<()> {
        let mut end = WINDOW;
        while let Some(bytes) = text.get(end - BLOCK..end) {
            if bytes
                .try_into()
                .is_ok_and(|block| self.may_have_block(block))
            {
                let ends = end..=(end + WINDOW - BLOCK).min(text.len());
                for end in ends {
                    self.check(text[end - WINDOW..end].iter().zip(end - WINDOW..), found)?;
                }
            }
            // No window that contains the block is left.
            end += WINDOW - BLOCK + 1;
        }
        ControlFlow::Continue(())
    }

    /// Checks the window of eight bytes, each with its place.
    fn check<'t>(
        &self,
        bytes: impl Iterator<Item = (&'t u8, usize)>,
        found: &mut Found<'_>,
    ) -> ControlFlow<()> {
        let (mut window, mut places) = ([0; WINDOW], [0; WINDOW]);
        let mut count = 0;
        for (byte, place) in bytes.take(WINDOW) {
            (window[count], places[count]) = (*byte, place);
            count += 1;
        }
        if count == WINDOW && self.has(window_of(window)) {
            return found(places[0]..places[WINDOW - 1] + 1);
        }
        ControlFlow::Continue(())
    }

    /// Searches across the ends of lines, without white space.
    fn search_lines(&self, text: &[u8], found: &mut Found<'_>) -> ControlFlow<()> {
        let (mut bytes, mut places) = ([0; 2 * WINDOW], [0; 2 * WINDOW]);
        let mut rest = 0;
        while let Some(length) = text[rest..].iter().position(|byte| *byte == b'\n') {
            let newline = rest + length;
            rest = newline + 1;
            let mut start = WINDOW;
            for at in (0..newline).rev().take(WINDOW * WINDOW) {
                if start > 1 && !text[at].is_ascii_whitespace() {
                    start -= 1;
                    (bytes[start], places[start]) = (text[at], at);
                } else if start == 1 {
                    break;
                }
            }
            let mut end = WINDOW;
            for at in (rest..text.len()).take(WINDOW * WINDOW) {
                if !text[at].is_ascii_whitespace() {
                    (bytes[end], places[end]) = (text[at], at);
                    end += 1;
                    if end == 2 * WINDOW - 1 {
                        break;
                    }
                }
            }
            for end in start + WINDOW..=end {
                let is_possible = bytes[end - BLOCK..end].try_into();
                if is_possible.is_ok_and(|block| self.may_have_block(block)) {
                    let window = end - WINDOW..end;
                    let found_places = places[window.clone()].iter().copied();
                    self.check(bytes[window].iter().zip(found_places), found)?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Searches characters that stand apart, as `od -c` prints them.
    fn search_apart(&self, text: &[u8], found: &mut Found<'_>) -> ControlFlow<()> {
        let is_space = |at: usize| text[at].is_ascii_whitespace();
        // The further bytes of a character belong to the first one.
        let is_next = |at: usize| text[at] & 0xC0 == 0x80;
        let touches = |at: usize| !is_space(at) && !is_next(at) && !is_space(at - 1);
        let mut start = 0;
        while start + APART <= text.len() {
            let end = (start + APART).min(text.len());
            if let Some(at) = (start + 1..end).rev().find(|at| touches(*at)) {
                start = at;
                continue;
            }
            let rest = (start..text.len()).take(WINDOW * WINDOW);
            let apart = rest.take_while(|at| *at == start || !touches(*at));
            let single = apart.filter(|at| !is_space(*at));
            let bytes = single.map(|at| (&text[at], at));
            self.check(bytes, found)?;
            start += 1;
        }
        ControlFlow::Continue(())
    }

    /// Searches the bytes that hexadecimal digits stand for, whatever separates them.
    fn search_digits(&self, text: &[u8], found: &mut Found<'_>) -> ControlFlow<()> {
        let kind = |at: usize| KINDS[usize::from(text[at])];
        let mut start = 0;
        while start + DIGITS <= text.len() {
            let stretch = start..start + DIGITS;
            if let Some(other) = stretch.rev().find(|at| kind(*at) == OTHER) {
                start = other + 1;
                continue;
            }
            let end = (start + DIGITS..text.len()).find(|at| kind(*at) == OTHER);
            let end = end.unwrap_or(text.len());
            self.search_stretch(text, start..end, found)?;
            start = end;
        }
        ControlFlow::Continue(())
    }

    /// Searches a stretch of digits and separators.
    fn search_stretch(
        &self,
        text: &[u8],
        stretch: Range<usize>,
        found: &mut Found<'_>,
    ) -> ControlFlow<()> {
        let mut digits = 0_u64;
        let mut count = 0;
        let mut places = [0; DIGITS];
        let mut last = OTHER;
        for at in stretch {
            let kind = KINDS[usize::from(text[at])];
            match kind {
                0..=15 => {
                    digits = digits << 4 | u64::from(kind);
                    places[count % DIGITS] = at;
                    count += 1;
                    let first = places[count % DIGITS];
                    let bytes = digits.to_be_bytes();
                    let [.., a, b, c, d] = bytes;
                    if count >= DIGITS
                        && self.may_have_block([a, b, c, d])
                        && self.has(window_of(bytes))
                    {
                        found(first..at + 1)?;
                    }
                }
                // In `0x68`, the zero is no digit of the text.
                PREFIX if last == 0 => {
                    digits >>= 4;
                    count -= 1;
                }
                _ => {}
            }
            last = kind;
        }
        ControlFlow::Continue(())
    }
}
