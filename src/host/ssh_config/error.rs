//! Errors and warnings in `ssh_config` files, with their position.

use std::fmt::{Display, Formatter};

use crate::diagnostic::{Diagnostic, Severity, SourcePosition, Sources, Span};

/// A problem in an `ssh_config` file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigProblem {
    /// The file cannot be read; the text is the message of the system.
    #[error("{0}")]
    Unreadable(String),
    /// Users other than the owner may write the file, so its contents cannot be trusted.
    #[error("users other than the owner can write this file (mode {0:o})")]
    Writable(u32),
    #[error("the line has a NUL character")]
    Nul,
    /// The file contains bytes that are not UTF-8.
    #[error("the file is not valid UTF-8; invalid bytes are replaced")]
    NotText,
    /// Includes are nested deeper than the 16 levels that OpenSSH allows.
    #[error("includes are nested more than 16 levels deep")]
    TooDeep,
    /// More files are included than allowed.
    #[error("more than {0} files are included")]
    TooMany(usize),
    #[error("`{0}` has no argument")]
    NoArgument(String),
    #[error("`{0}` has an empty argument")]
    EmptyArgument(String),
    /// A keyword has too many arguments.
    #[error("`{keyword}` takes one argument; remove `{extra}`")]
    Extra { keyword: String, extra: String },
    #[error("a quote is not closed")]
    Quotes,
    #[error("unknown option `{0}`; it is ignored")]
    Unknown(String),
    /// A value is not valid for its keyword.
    #[error("`{value}` is not valid for `{keyword}`: expected {expected}")]
    Value {
        keyword: String,
        value: String,
        expected: &'static str,
    },
    /// A system file includes a path that starts with `~`.
    #[error("`{0}` cannot be included from a system file: `~` is only allowed in a user's file")]
    HomeInclude(String),
    #[error("`Match` has no criteria")]
    NoCriteria,
    /// A `Match` criterion has no argument.
    #[error("the criterion `{0}` has no argument")]
    NoCriterionArgument(String),
    /// `Match all` is combined with other criteria.
    #[error("`all` cannot be combined with other criteria")]
    AllWithOthers,
    /// The `Match` criterion does not exist.
    #[error("unknown criterion `{0}`")]
    UnknownCriterion(String),
    /// The criterion exists in newer versions of OpenSSH but is not supported here.
    #[error("the criterion `{0}` is not supported; its block is never used")]
    UnsupportedCriterion(String),
    /// The option has no effect here, although OpenSSH has it. Only verbose output says so.
    #[error("`{0}` has no effect here")]
    NoEffect(String),
    /// The value would trust any key of a host.
    #[error(
        "`StrictHostKeyChecking {0}` counts as `accept-new`: keys of unknown hosts are stored, and a changed key is refused"
    )]
    NotStrict(String),
    /// The option exists in OpenSSH but is not supported here.
    #[error("`{0}` is not supported; it is ignored")]
    Unsupported(String),
}

/// A problem together with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    pub problem: ConfigProblem,
    /// The file, the line and the column, counted from 1.
    pub location: SourcePosition,
    /// The text range of the line.
    pub span: Span,
}

impl Display for Error {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let SourcePosition { path, line, .. } = &self.location;
        match (&self.problem, line) {
            // The message of the system already names the file.
            (ConfigProblem::Unreadable(message), _) => f.write_str(message),
            (problem, 0) => write!(f, "{}: {problem}", path.display()),
            (problem, line) => write!(f, "{}:{line}: {problem}", path.display()),
        }
    }
}

impl std::error::Error for Error {}

impl Error {
    /// Returns an error diagnostic that shows the line.
    pub fn diagnostic(&self) -> Diagnostic {
        self.shown_by(Diagnostic::error)
    }

    /// Returns a note that shows the line.
    pub fn note(&self) -> Diagnostic {
        let mut note = self.shown_by(Diagnostic::warning);
        note.severity = Severity::Note;
        note
    }

    /// Returns a warning diagnostic that shows the line.
    pub fn warning(&self) -> Diagnostic {
        self.shown_by(Diagnostic::warning)
    }

    fn shown_by(&self, make: fn(String) -> Diagnostic) -> Diagnostic {
        let message = if self.span.is_some() {
            self.problem.to_string()
        } else {
            self.to_string()
        };
        let diagnostic = make(message).label(self.span, "");
        match &self.problem {
            ConfigProblem::Writable(_) => diagnostic.help("run `chmod go-w` on the file"),
            ConfigProblem::Unknown(_) => diagnostic.help(
                "if the option is for another program, list it in `IgnoreUnknown` above this line",
            ),
            _ => diagnostic,
        }
    }
}

/// The errors of a configuration that OpenSSH would reject, too.
#[derive(Debug, Clone)]
pub struct RejectedConfig {
    /// The errors, of which at least one exists.
    pub errors: Vec<Error>,
    /// The texts of the files, for diagnostics.
    pub sources: Sources,
}

impl Display for RejectedConfig {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        for (at, error) in self.errors.iter().enumerate() {
            write!(f, "{}{error}", if at == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

impl std::error::Error for RejectedConfig {}
