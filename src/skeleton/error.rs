//! The errors of skeletons.

use std::path::PathBuf;

use crate::expr::DocumentError;
use crate::system::fs;

/// A reason why the files of a skeleton cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no skeleton `{name}`")]
    UnknownSkeleton { name: String, names: String },
    #[error("there is no template `{name}`")]
    UnknownExample { name: String, names: String },
    #[error("the skeleton `{}` has none of the files that a skeleton may have", folder.display())]
    NotASkeleton { folder: PathBuf, names: String },
    #[error("the skeleton's file `{file}`{} cannot be rendered: {}", place(error), error.problem)]
    Template { file: String, error: DocumentError },
    #[error("the variable `{name}` has an invalid value: {reason}")]
    Variable { name: String, reason: String },
    #[error("random bytes are not available: {0}")]
    Random(std::io::Error),
    #[error(transparent)]
    File(#[from] fs::Error),
}

impl Error {
    /// Returns a hint on how to fix the problem.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::UnknownSkeleton { names, .. } => {
                format!("the built-in skeletons are {names}; a folder with a skeleton works too")
            }
            Self::UnknownExample { names, .. } => format!("the templates are {names}"),
            Self::NotASkeleton { names, .. } => {
                format!("name the folder that has at least one of {names}")
            }
            Self::Template { .. } => {
                "correct the file, or pass the missing variable with `--var NAME VALUE`".to_owned()
            }
            Self::Variable { .. } => "write the value as YAML".to_owned(),
            Self::Random(_) => return None,
            Self::File(error) => return error.hint(),
        })
    }
}

/// Returns the line of an error, for the message.
fn place(error: &DocumentError) -> String {
    error
        .line
        .map_or_else(String::new, |line| format!(":{line}"))
}
