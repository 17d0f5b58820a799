//! The parts of a loaded ensemble that exports read.

use crate::diagnostic::Sources;
use crate::ensemble::Manifest;
use crate::project::{Environment, Located};
use crate::tosca::ServiceTemplate;

/// An ensemble that is loaded, with the place where it was found.
#[derive(Debug, Clone, Copy)]
pub struct Loaded<'a> {
    /// The manifest.
    pub manifest: &'a Manifest,
    /// The model.
    pub service: &'a ServiceTemplate,
    /// The environment.
    pub environment: &'a Environment,
    /// The texts that the ensemble was read from.
    pub sources: &'a Sources,
    /// The place of the ensemble, and its project.
    pub located: &'a Located,
}
