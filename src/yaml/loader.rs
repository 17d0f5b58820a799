//! What the layers above do for this one: fetch included files.

use super::Node;
use crate::diagnostic::{Diagnostics, SourceId, Span};

/// What an include directive asks for.
#[derive(Debug, Clone)]
pub struct IncludeRequest {
    /// The file, without fragment.
    pub file: String,
    /// The name of the repository it is in.
    pub repository: Option<String>,
    /// The URL of the repository, if the directive states it.
    pub repository_url: Option<String>,
    /// The environment variable that must be set, or the directive does nothing (`when`).
    pub condition_variable: Option<String>,
    /// Whether nothing is wrong if the file is missing.
    pub optional: bool,
    /// The directive's key.
    pub span: Span,
    /// The text that holds the directive: relative paths start from its folder.
    pub from: SourceId,
    /// What is known of the including document so far: its repositories can be looked up there.
    pub document: Node,
}

/// What came of a request.
#[derive(Debug, Clone)]
pub enum LoadResult {
    /// The file was read.
    Found {
        /// The text.
        source: SourceId,
        /// Its tree, not expanded.
        root: Node,
    },
    /// There is no such file.
    Missing,
    /// A condition of the directive does not hold, so nothing is included.
    Skipped,
    /// The repository is not known yet; another directive may bring it.
    Deferred,
}

/// Fetches included files. It owns the sources that it adds to.
pub trait Loader {
    /// Reads and parses a file; `included_from` of its source is the request's span.
    fn load(&mut self, request: &IncludeRequest) -> Result<LoadResult, Diagnostics>;
}

/// A loader for documents that include nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoLoader;

impl Loader for NoLoader {
    fn load(&mut self, _request: &IncludeRequest) -> Result<LoadResult, Diagnostics> {
        Ok(LoadResult::Missing)
    }
}
