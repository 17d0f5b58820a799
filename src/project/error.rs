//! Why a project, an ensemble or an environment was not found.

use std::path::PathBuf;

use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::system::fs;

/// Why a project, an ensemble or an environment was not found, or is not usable.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Neither the folder nor any above has an ensemble or a project.
    #[error("there is no ensemble and no project in `{}` or any folder above it", folder.display())]
    NotFound {
        /// Where the search began.
        folder: PathBuf,
    },
    /// The folder asked for has none.
    #[error("there is no ensemble and no project in `{}`", folder.display())]
    NotFoundIn {
        /// The folder.
        folder: PathBuf,
    },
    /// There is no such file, and no project that could know the name.
    #[error("there is no ensemble `{name}`")]
    NoSuchFile {
        /// What was asked for.
        name: String,
    },
    /// The project knows no ensemble of this name.
    #[error("there is no file `{name}`, and the project `{}` has no ensemble of that name", project.display())]
    UnknownEnsemble {
        /// What was asked for.
        name: String,
        /// The project's folder.
        project: PathBuf,
        /// The names it knows.
        known: Vec<String>,
    },
    /// The project has no ensemble to take if none is named.
    #[error("the project `{}` has no default ensemble", project.display())]
    NoDefault {
        /// The project's folder.
        project: PathBuf,
        /// The names it knows.
        known: Vec<String>,
    },
    /// The project lists an ensemble that is not there.
    #[error("the ensemble `{}` is not there", file.display())]
    MissingEnsemble {
        /// Where it should be.
        file: PathBuf,
        /// Where the project says so.
        span: Span,
    },
    /// The ensemble is in another project that is not known here.
    #[error("the ensemble `{}` is in the project `{project}`, which is not known here", file.display())]
    OtherProject {
        /// The ensemble within that project.
        file: PathBuf,
        /// The project's name.
        project: String,
        /// Where the project says so.
        span: Span,
    },
    /// There is no environment of this name.
    #[error("no environment named `{name}`")]
    UnknownEnvironment {
        /// What was asked for.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// A file says what it must not.
    #[error("{}", first_message(.0))]
    Invalid(Diagnostics),
    /// A file operation failed.
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
            Error::NotFound { .. } | Error::NotFoundIn { .. } => {
                diagnostic.help("name one, or create a project with `unfurl init`")
            }
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
            Error::UnknownEnvironment { known, .. } => {
                with_list(diagnostic, "there are the environments", &known)
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
