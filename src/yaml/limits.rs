//! How large and how deep a document may be.

/// What a reader accepts; the rest is refused with a diagnostic, at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many collections may stand inside each other.
    pub max_depth: usize,
    /// How many nodes there may be if every alias and every merge is a copy. A text may always
    /// have as many as it has bytes.
    pub max_nodes: u32,
    /// How many bytes a text may have.
    pub max_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_depth: 250,
            max_nodes: 10_000_000,
            max_bytes: 1 << 30,
        }
    }
}
