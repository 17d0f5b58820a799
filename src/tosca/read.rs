//! Reads a service template.

use std::path::Path;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::yaml::Node;

use super::import::Importer;
use super::template::ServiceTemplate;

/// How to read a service template.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// Whether a requirement that only the type declares looks for its target by type, as
    /// ensembles of `unfurl/v1alpha1` expect.
    pub match_declared: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            match_declared: true,
        }
    }
}

/// Reads a service template; gives it, unless it makes no sense at all, and every problem found.
pub fn read(
    _root: &Node,
    _base_dir: &Path,
    _importer: &mut dyn Importer,
    _options: &ReadOptions,
) -> (Option<ServiceTemplate>, Diagnostics) {
    (
        None,
        Diagnostic::error("service templates cannot be read yet").into(),
    )
}
