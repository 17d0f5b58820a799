//! Figures about this process, as other programs report them to Prometheus.

use std::path::Path;

use crate::system::fs;

/// The size of a page of memory in bytes, on all machines that this program is built for.
const PAGE_BYTES: u64 = 4096;

/// The memory and the descriptors of this process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ProcessFigures {
    pub(super) resident_bytes: Option<u64>,
    pub(super) open_files: Option<usize>,
}

impl ProcessFigures {
    /// Reads the figures. A system without them gives none.
    pub(super) fn now() -> Self {
        let pages = fs::read_to_string(Path::new("/proc/self/statm"));
        let pages = pages.ok().and_then(|text| {
            let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
            pages.checked_mul(PAGE_BYTES)
        });
        // The listing itself has a descriptor open.
        let files = fs::list(Path::new("/proc/self/fd")).ok();
        Self {
            resident_bytes: pages,
            open_files: files.map(|files| files.len().saturating_sub(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_memory_and_descriptors() {
        let figures = ProcessFigures::now();
        assert!(figures.resident_bytes.is_some_and(|bytes| bytes > 100_000));
        assert!(
            figures
                .open_files
                .is_some_and(|files| (3..5000).contains(&files))
        );
    }
}
