//! The files of a new project or ensemble: skeletons and examples in the program, skeletons of the user, and
//! their rendering. This module writes nothing.
//!
//! [`Skeleton`] holds templates; [`render_project`] and [`render_ensemble`] make [`NewFile`]s of them.
//! [`Example`] is a complete ensemble to copy.

mod built_in;
mod error;
mod examples;
mod new_file;
mod password;
mod project_files;
mod render;
mod source;

pub use error::Error;
pub use examples::{Example, bare_files};
pub use new_file::NewFile;
pub use password::{VaultPassword, random_uuid};
pub use project_files::{
    EnsembleFile, ProjectFiles, TemplateInclude, git_files, render_ensemble, render_project,
};
pub use source::Skeleton;
