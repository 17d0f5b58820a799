//! The port for included files: [`Loader`]. Higher layers implement it; the expansion of merge directives
//! calls it.

use super::Node;
use crate::diagnostic::{Diagnostics, SourceId, Span};

/// A request for the file of an include directive.
#[derive(Debug, Clone)]
pub struct IncludeRequest {
    /// The path of the file, without a URL fragment.
    pub file: String,
    /// The name of the repository that contains the file.
    pub repository: Option<String>,
    /// The URL of the repository, if the directive states one.
    pub repository_url: Option<String>,
    /// The environment variable that must be set, otherwise the directive has no effect (`when`).
    pub condition_variable: Option<String>,
    /// Whether a missing file is not an error.
    pub optional: bool,
    /// The position of the directive's key.
    pub span: Span,
    /// The text that contains the directive. Relative paths start from its directory.
    pub from: SourceId,
    /// The including document as far as it is expanded, for the lookup of its repositories.
    pub document: Node,
}

/// The result of a request for an included file.
#[derive(Debug, Clone)]
pub enum LoadResult {
    /// The file exists and was parsed.
    Found {
        source: SourceId,
        /// The unexpanded tree of the file.
        root: Node,
    },
    Missing,
    /// A condition of the directive is not met, so nothing is included.
    Skipped,
    /// The repository is not known yet; another directive may define it.
    Deferred,
}

/// Loads included files. An implementation owns the sources to which it adds their texts.
pub trait Loader {
    /// Reads and parses a file. The span of the request becomes `included_from` of the new source.
    fn load(&mut self, request: &IncludeRequest) -> Result<LoadResult, Diagnostics>;
}

/// A loader for documents without includes: it finds no file.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoLoader;

impl Loader for NoLoader {
    fn load(&mut self, _request: &IncludeRequest) -> Result<LoadResult, Diagnostics> {
        Ok(LoadResult::Missing)
    }
}
