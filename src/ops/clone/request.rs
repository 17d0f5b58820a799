//! The options of `unfurl clone` as data.

use std::path::{Path, PathBuf};

use crate::ops::init::InitRequest;

/// The options of `unfurl clone`.
#[derive(Debug, Clone, Default)]
pub struct CloneOptions {
    /// The source as the user wrote it.
    pub source: String,
    /// The folder as the user wrote it; empty for none.
    pub destination: String,
    /// The options for a new ensemble, which `unfurl init` has, too.
    pub init: InitRequest,
    /// Whether a folder that exists is moved aside.
    pub overwrite: bool,
    /// Whether to prepare the project for work on its template, without an ensemble.
    pub design: bool,
}

/// The place of a clone: an absolute path, and the project around it.
#[derive(Debug, Clone)]
pub(super) struct Destination {
    pub(super) folder: PathBuf,
    /// The folder with the project file of the project that contains the path.
    pub(super) project: Option<PathBuf>,
}

impl Destination {
    /// Whether the user named the project itself, and no folder in it.
    pub(super) fn is_project(&self) -> bool {
        self.project.as_deref().is_some_and(|project| {
            project == self.folder
                || (project.ends_with(crate::project::PROJECT_FOLDER)
                    && project.parent() == Some(&self.folder))
        })
    }

    /// Returns the folder relative to the project; empty for the project itself.
    pub(super) fn inside(&self) -> PathBuf {
        let project = self.project.as_deref().unwrap_or(Path::new("/"));
        let inside = self.folder.strip_prefix(project).unwrap_or(Path::new(""));
        if self.is_project() {
            PathBuf::new()
        } else {
            inside.to_owned()
        }
    }
}
