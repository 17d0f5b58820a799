//! What is wrong with a configuration, and where.

use std::fmt::{Display, Formatter};

use crate::diagnostic::{Diagnostic, SourcePosition, Sources, Span};

/// What is wrong at one place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigProblem {
    /// The file cannot be read. What the system said.
    #[error("{0}")]
    Unreadable(String),
    /// Others than its owner may write it, so anybody could have.
    #[error("others than its owner may write this file (mode {0:o})")]
    Writable(u32),
    /// There is a NUL in it.
    #[error("the line has a NUL character")]
    Nul,
    /// Bytes that are no UTF-8.
    #[error("the file is not UTF-8 text; other bytes are replaced")]
    NotText,
    /// More files include each other than OpenSSH follows, which is 16.
    #[error("files include each other more than 16 deep")]
    TooDeep,
    /// More files are included than anybody writes by hand.
    #[error("more than {0} files are included")]
    TooMany(usize),
    /// A keyword stands alone.
    #[error("`{0}` has no argument")]
    NoArgument(String),
    /// One of the arguments is empty.
    #[error("`{0}` has an empty argument")]
    EmptyArgument(String),
    /// There is more than the keyword takes.
    #[error("`{keyword}` takes one argument; `{extra}` is too much")]
    Extra {
        /// The keyword.
        keyword: String,
        /// The first word that is too much.
        extra: String,
    },
    /// A quote has no end.
    #[error("a quote is not closed")]
    Quotes,
    /// There is no such keyword.
    #[error("there is no option `{0}`; it is ignored")]
    Unknown(String),
    /// The value is none that the option takes.
    #[error("`{value}` is no value of `{keyword}`, which is {expected}")]
    Value {
        /// The keyword.
        keyword: String,
        /// What it was given.
        value: String,
        /// What it takes.
        expected: &'static str,
    },
    /// A system file may not name a user's home.
    #[error("`{0}` cannot be included here, for this is not a file of a user")]
    HomeInclude(String),
    /// `Match` has nothing to match.
    #[error("`Match` has no criteria")]
    NoCriteria,
    /// A criterion has nothing behind it.
    #[error("the criterion `{0}` has no argument")]
    NoCriterionArgument(String),
    /// `Match all` stands with others.
    #[error("`all` cannot stand with other criteria")]
    AllWithOthers,
    /// There is no such criterion.
    #[error("there is no criterion `{0}`")]
    UnknownCriterion(String),
    /// A criterion that newer versions of OpenSSH know.
    #[error("the criterion `{0}` is not supported; its block is never used")]
    UnsupportedCriterion(String),
    /// An option that cannot be followed here.
    #[error("`{0}` is not supported; it is ignored")]
    Unsupported(String),
}

/// A problem with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// What is wrong.
    pub problem: ConfigProblem,
    /// The file, the line and the column, counted from 1.
    pub location: SourcePosition,
    /// The line in the text of the file.
    pub span: Span,
}

impl Display for Error {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let SourcePosition { path, line, .. } = &self.location;
        match (&self.problem, line) {
            // The system's words name the file already.
            (ConfigProblem::Unreadable(message), _) => f.write_str(message),
            (problem, 0) => write!(f, "{}: {problem}", path.display()),
            (problem, line) => write!(f, "{}:{line}: {problem}", path.display()),
        }
    }
}

impl std::error::Error for Error {}

impl Error {
    /// As a diagnostic that stops the work and shows the line.
    pub fn diagnostic(&self) -> Diagnostic {
        self.shown_by(Diagnostic::error)
    }

    /// As a diagnostic that does not stop the work.
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
            ConfigProblem::Writable(_) => diagnostic.help("`chmod go-w` it"),
            ConfigProblem::Unknown(_) => {
                diagnostic.help("`IgnoreUnknown` above it makes it quiet, if it is for others")
            }
            _ => diagnostic,
        }
    }
}

/// A configuration that OpenSSH would not take either.
#[derive(Debug, Clone)]
pub struct RejectedConfig {
    /// What is wrong; never empty.
    pub errors: Vec<Error>,
    /// The texts of the files.
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
