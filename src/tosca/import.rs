//! How a service template reaches the files it imports.

use std::path::PathBuf;
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, SourceId, Span};
use crate::yaml::Node;

/// Fetches imported files. A file asked for twice must answer with the same source, so that files
/// that import each other end.
pub trait Importer {
    /// Fetches one file, expanded, with its fragment applied.
    fn import(&mut self, request: &ImportRequest) -> Result<Imported, Diagnostic>;
}

/// A file that a service template asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportRequest {
    /// The file, relative to the one that asks or to the repository; it may end in `#/pointer`.
    pub file: Arc<str>,
    /// The repository it is in.
    pub repository: Option<Arc<str>>,
    /// Where it is asked for.
    pub span: Span,
    /// The text that asks for it.
    pub from: SourceId,
    /// The directory of the file that asks for it.
    pub base_dir: Arc<PathBuf>,
}

/// A file that was fetched.
#[derive(Debug, Clone)]
pub struct Imported {
    /// Its text.
    pub source: SourceId,
    /// Its content, expanded, with the fragment applied.
    pub root: Node,
    /// The directory that its own names are relative to.
    pub base_dir: PathBuf,
}

/// Imports nothing: every import is a problem.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoImports;

impl Importer for NoImports {
    fn import(&mut self, request: &ImportRequest) -> Result<Imported, Diagnostic> {
        let message = format!("`{}` cannot be imported here", request.file);
        Err(Diagnostic::error(message).label(request.span, ""))
    }
}
