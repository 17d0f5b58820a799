//! Finds the line with a random word in the output of a shell, however the output is split into pieces.

/// The maximum length of a report after its mark.
const MAX_REPORT_BYTES: usize = 64;

/// A filter that removes the line with the mark from an output.
///
/// The rest of that line is the report of the shell: the id of a process, or how a command ended.
#[derive(Debug)]
pub(super) struct MarkFilter {
    mark: Vec<u8>,
    pending: Vec<u8>,
    report: Option<String>,
}

impl MarkFilter {
    pub(super) fn new(mark: &str) -> Self {
        Self {
            mark: format!("{mark} ").into_bytes(),
            pending: Vec::new(),
            report: None,
        }
    }

    /// Returns the report, once it has arrived.
    pub(super) fn report(&self) -> Option<&str> {
        self.report.as_deref()
    }

    /// Adds bytes and returns those that can be passed on.
    ///
    /// Bytes that may belong to the mark's line are held back.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        if self.report.is_some() {
            return bytes.to_vec();
        }
        self.pending.extend_from_slice(bytes);
        let all = std::mem::take(&mut self.pending);
        let mark = self.mark.as_slice();
        let Some(start) = all.windows(mark.len()).position(|part| part == mark) else {
            let begins = |length: &usize| all.ends_with(&mark[..*length]);
            let overlap = (1..mark.len().min(all.len() + 1)).rev().find(begins);
            let (taken, held) = all.split_at(all.len() - overlap.unwrap_or(0));
            self.pending = held.to_vec();
            return taken.to_vec();
        };
        let after = start + mark.len();
        let Some(length) = all[after..].iter().position(|byte| *byte == b'\n') else {
            if all.len() - after > MAX_REPORT_BYTES {
                // This is no report, and the rest of the line may never end.
                self.report = Some(String::new());
                return all;
            }
            self.pending = all[start..].to_vec();
            return all[..start].to_vec();
        };
        let word = String::from_utf8_lossy(&all[after..after + length]);
        self.report = Some(word.trim().to_owned());
        [&all[..start], &all[after + length + 1..]].concat()
    }

    /// Returns the bytes held back, at the end of the output.
    pub(super) fn end(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.pending)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_without_the_line_is_kept_whole() {
        let mut filter = MarkFilter::new("mark");
        let mut all = filter.push(b"before ma");
        all.extend(filter.push(b"rk"));
        all.extend(filter.push(b"et mark"));
        all.extend(filter.end());
        assert_eq!(all, b"before market mark");
    }

    #[test]
    fn a_line_that_never_ends_is_not_kept() {
        let mut filter = MarkFilter::new("mark");
        let mut all = filter.push(b"mark ");
        for _ in 0..100 {
            all.extend(filter.push(b"xxxxxxxxxx"));
            assert!(filter.pending.len() < 100);
        }
        assert_eq!(all.len(), 1005);
    }
}
