//! Splits the output of a command into lines.

/// The maximum length of a line in bytes. Longer lines are left out, since no tool reports so much at once.
const MAX_LINE_BYTES: usize = 1 << 20;

/// Collects bytes until a line is complete.
#[derive(Debug, Default)]
pub(super) struct LineSplitter {
    rest: Vec<u8>,
    /// True while the end of a line is awaited that is too long.
    is_skipping: bool,
}

impl LineSplitter {
    /// Takes the next bytes and returns the lines that they complete, without line ends.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let is_end = part.ends_with(b"\n");
            let is_fitting = self.rest.len().saturating_add(part.len()) <= MAX_LINE_BYTES;
            if !self.is_skipping && is_fitting {
                self.rest.extend_from_slice(part);
            } else {
                self.is_skipping = true;
                self.rest.clear();
            }
            if is_end && !std::mem::take(&mut self.is_skipping) {
                lines.extend(self.finish());
            }
        }
        lines
    }

    /// Returns the last line, which has no end. None if the output ended with a complete line.
    pub(super) fn finish(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.rest);
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end_matches(['\r', '\n']);
        (!line.is_empty()).then(|| line.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_joined_over_pieces_and_empty_ones_are_left_out() {
        let mut splitter = LineSplitter::default();
        assert_eq!(splitter.push(b"on"), [""; 0]);
        assert_eq!(splitter.push(b"e\r\n\ntwo\nthr"), ["one", "two"]);
        assert_eq!(splitter.push(b"ee"), [""; 0]);
        assert_eq!(splitter.finish().as_deref(), Some("three"));
        assert_eq!(splitter.finish(), None);
    }

    #[test]
    fn a_line_that_is_too_long_is_left_out_and_the_next_one_is_not() {
        let mut splitter = LineSplitter::default();
        let piece = vec![b'x'; MAX_LINE_BYTES / 2 + 1];
        assert_eq!(splitter.push(&piece), [""; 0]);
        assert_eq!(splitter.push(&piece), [""; 0]);
        assert!(splitter.rest.is_empty());
        assert_eq!(splitter.push(b"end\nnext\n"), ["next"]);
    }
}
