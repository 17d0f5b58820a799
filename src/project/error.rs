//! The error type of the search for projects, ensembles and environments.
//!
//! An [`Error`] converts to [`Diagnostics`] with hints and locations.

use std::path::PathBuf;

use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::system::fs;
use crate::text::did_you_mean;

/// An error that prevents a project, an ensemble or an environment from being found or used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Neither the folder nor any folder above it has an ensemble or a project.
    #[error("there is no ensemble and no project in `{}` or any folder above it", folder.display())]
    NotFound {
        /// The folder in which the search started.
        folder: PathBuf,
    },
    /// The folder that the user names has neither an ensemble nor a project.
    #[error("there is no ensemble and no project in `{}`", folder.display())]
    NotFoundIn {
        /// The folder that the user's argument refers to.
        folder: PathBuf,
    },
    /// The file does not exist, and no project is present that could have an ensemble of the name.
    #[error("there is no ensemble `{name}`")]
    NoSuchFile {
        /// The argument of the user, as typed.
        name: String,
    },
    /// The project has no ensemble with the name.
    #[error("there is no file `{name}`, and the project `{}` has no ensemble of that name", project.display())]
    UnknownEnsemble {
        name: String,
        project: PathBuf,
        /// The names of the project's ensembles.
        known: Vec<String>,
    },
    /// The user names no ensemble, and the project has no default ensemble.
    #[error("the project `{}` has no default ensemble", project.display())]
    NoDefault {
        project: PathBuf,
        /// The names of the project's ensembles.
        known: Vec<String>,
    },
    /// The project lists an ensemble whose manifest does not exist.
    #[error("the project lists the ensemble `{}`, but the file does not exist", file.display())]
    MissingEnsemble {
        /// The expected path of the manifest.
        file: PathBuf,
        /// The location of the entry in the project file.
        span: Span,
    },
    /// The ensemble is in another project that has no known clone on this machine.
    #[error("the ensemble `{}` is in the project `{project}`, of which this project lists no clone", file.display())]
    OtherProject {
        /// The path of the manifest within that project.
        file: PathBuf,
        /// The name of the other project.
        project: String,
        /// The location of the entry in the project file.
        span: Span,
    },
    /// No environment of the project or of those it inherits from has the name.
    #[error("no environment named `{name}`")]
    UnknownEnvironment {
        name: String,
        /// The names of the existing environments.
        known: Vec<String>,
    },
    /// A file is readable, but its content is invalid.
    #[error("{}", first_message(.0))]
    Invalid(Diagnostics),
    #[error(transparent)]
    File(#[from] fs::Error),
}

fn first_message(problems: &Diagnostics) -> &str {
    problems
        .iter()
        .next()
        .map_or("the project is not valid", |problem| &problem.message)
}

impl From<Diagnostics> for Error {
    fn from(problems: Diagnostics) -> Self {
        Self::Invalid(problems)
    }
}

impl From<Error> for Diagnostics {
    fn from(error: Error) -> Self {
        let diagnostic = Diagnostic::error(&error);
        let diagnostic = match error {
            Error::Invalid(problems) => return problems,
            Error::NotFound { .. } | Error::NotFoundIn { .. } => diagnostic
                .help("give the path of an ensemble, or create a project with `unfurl init`"),
            Error::NoSuchFile { .. } => {
                diagnostic.help("give the path of an `ensemble.yaml` or of the folder it is in")
            }
            Error::UnknownEnsemble { known, .. } | Error::NoDefault { known, .. } => {
                with_list(diagnostic, "its ensembles are", &known)
            }
            Error::MissingEnsemble { span, .. } => diagnostic.label(span, "listed here"),
            Error::OtherProject { span, .. } => diagnostic
                .label(span, "listed here")
                .help("clone that project and list it under `localRepositories`"),
            Error::UnknownEnvironment { name, known } => {
                match did_you_mean(&name, known.iter().map(String::as_str)) {
                    Some(similar) => diagnostic.help(similar),
                    None if known.is_empty() => diagnostic
                        .help("declare it under `environments` of the project's `unfurl.yaml`"),
                    None => with_list(diagnostic, "the environments are", &known),
                }
            }
            Error::File(error) => match error.hint() {
                Some(hint) => diagnostic.help(hint),
                None => diagnostic,
            },
        };
        diagnostic.into()
    }
}

fn with_list(diagnostic: Diagnostic, words: &str, names: &[String]) -> Diagnostic {
    if names.is_empty() {
        return diagnostic;
    }
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    diagnostic.help(format!("{words} {}", names.join(", ")))
}
