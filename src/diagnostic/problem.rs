//! A single diagnostic and the collection that readers and checkers fill: a message, its severity, the
//! positions in texts, and a hint about what to do.

use super::Check;
use super::Span;

/// The severity of a diagnostic, in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Information for the user that is not a problem.
    Note,
    /// A probable problem; the work continues.
    Warning,
    /// An error that stops the work.
    Error,
}

/// A position in a text with a short remark about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    pub span: Span,
    /// The remark shown at the span; may be empty.
    pub text: String,
}

/// A problem to report: a message, labeled positions in texts, and a hint.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a diagnostic has no effect unless it is reported"]
pub struct Diagnostic {
    /// The severity, which decides whether the work stops.
    pub severity: Severity,
    /// The message: lowercase, without a final period.
    pub message: String,
    /// The labeled positions; the first one is the primary position.
    pub labels: Vec<Label>,
    /// A hint that tells the user what to do.
    pub help: Option<String>,
    /// The check that found the problem.
    pub check: Check,
    /// Whether an error concerns only the part that it names: loading goes on, and jobs do everything that does
    /// not depend on that part.
    pub contained: bool,
}

impl Diagnostic {
    /// Creates a diagnostic of severity [`Severity::Error`], which stops the work.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "callers pass both errors and texts"
    )]
    pub fn error(message: impl ToString) -> Self {
        Self::new(Severity::Error, &message)
    }

    /// Creates a diagnostic of severity [`Severity::Warning`]; the work continues.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "callers pass both errors and texts"
    )]
    pub fn warning(message: impl ToString) -> Self {
        Self::new(Severity::Warning, &message)
    }

    fn new(severity: Severity, message: &impl ToString) -> Self {
        Self {
            severity,
            message: message.to_string(),
            labels: Vec::new(),
            help: None,
            check: Check::default(),
            contained: false,
        }
    }

    /// Sets the check that found the problem.
    pub fn check(mut self, check: Check) -> Self {
        self.check = check;
        self
    }

    /// Marks an error that concerns only the part that it names, so that loading goes on.
    pub fn contained(mut self) -> Self {
        self.contained = true;
        self
    }

    /// Adds a label at a span. [`Span::NONE`] adds no label.
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Self {
        if span.is_some() {
            self.labels.push(Label {
                span,
                text: text.into(),
            });
        }
        self
    }

    /// Sets the hint that tells the user what to do.
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    /// Sets the hint if one is known.
    pub fn help_if(mut self, text: Option<impl Into<String>>) -> Self {
        self.help = text.map(Into::into);
        self
    }

    /// Returns the primary position, if the diagnostic has one.
    pub fn span(&self) -> Option<Span> {
        self.labels.first().map(|label| label.span)
    }
}

/// The diagnostics found so far, in the order found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    /// Appends a diagnostic after those found before.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }

    /// Appends the diagnostics of another collection, in their order.
    pub fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }

    /// Whether any diagnostic has the severity [`Severity::Error`].
    pub fn has_errors(&self) -> bool {
        self.0
            .iter()
            .any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Whether any error stops the reading of the whole, because it is not contained in a part.
    pub fn stop_loading(&self) -> bool {
        let stops = |it: &Diagnostic| it.severity == Severity::Error && !it.contained;
        self.0.iter().any(stops)
    }

    /// Whether the collection holds no diagnostics, not even notes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Turns each warning into an error that concerns the named part only.
    pub fn make_strict(&mut self) {
        for problem in &mut self.0 {
            if problem.severity == Severity::Warning {
                problem.severity = Severity::Error;
                problem.contained = true;
            }
        }
    }

    /// Returns the number of diagnostics of every severity.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the message of the first diagnostic, or an empty text if none exists.
    pub fn first_message(&self) -> String {
        self.0
            .first()
            .map_or_else(String::new, |first| first.message.clone())
    }

    /// Iterates over the diagnostics in the order found.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.0.iter()
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Self(vec![diagnostic])
    }
}

impl FromIterator<Diagnostic> for Diagnostics {
    fn from_iter<I: IntoIterator<Item = Diagnostic>>(problems: I) -> Self {
        Self(problems.into_iter().collect())
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}
