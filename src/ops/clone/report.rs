//! The result of `unfurl clone`.

use std::path::PathBuf;

use crate::git::Revision;

/// The thing that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClonedThing {
    /// A new ensemble.
    Ensemble(PathBuf),
    /// A project that has ensembles already.
    ProjectWithEnsembles(PathBuf),
    /// A project, because the user wanted no ensemble.
    Project(PathBuf),
    /// A project that has neither ensembles nor templates.
    EmptyProject(PathBuf),
    /// The template of a project, to work on.
    Blueprint(PathBuf),
}

/// The result of `unfurl clone`.
#[derive(Debug, Clone)]
pub struct CloneReport {
    pub made: ClonedThing,
    /// The source, without user and password.
    pub source: String,
    /// The folder that was cloned; `None` if only an ensemble was created.
    pub folder: Option<PathBuf>,
    pub revision: Option<Revision>,
    /// The repositories of ensembles and packages that were cloned with the project.
    pub nested: Vec<PathBuf>,
    pub notes: Vec<String>,
}

impl CloneReport {
    pub(super) fn new(made: ClonedThing, source: String) -> Self {
        Self {
            made,
            source,
            folder: None,
            revision: None,
            nested: Vec::new(),
            notes: Vec::new(),
        }
    }
}
