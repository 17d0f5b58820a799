//! A problem: what, where, why and what to do.

use super::Span;

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; nothing is wrong.
    Note,
    /// Something is probably wrong; work goes on.
    Warning,
    /// Work cannot go on.
    Error,
}

/// A place in a text with a few words on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What to say there; may be empty.
    pub text: String,
}

/// One problem: a message, places with words on them, causes and a hint.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a diagnostic that nobody sees tells nobody"]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong: lowercase, no final period.
    pub message: String,
    /// Places; the first is the primary one.
    pub labels: Vec<Label>,
    /// What to do about it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A problem that stops the work.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "callers hand over errors and texts alike"
    )]
    pub fn error(message: impl ToString) -> Self {
        Self::new(Severity::Error, &message)
    }

    /// A problem that does not stop the work.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "callers hand over errors and texts alike"
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
        }
    }

    /// Points at a place. A span that points nowhere is left out.
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Self {
        if span.is_some() {
            self.labels.push(Label {
                span,
                text: text.into(),
            });
        }
        self
    }

    /// Says what to do.
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    /// Says what to do, where that is known.
    pub fn help_if(mut self, text: Option<impl Into<String>>) -> Self {
        self.help = text.map(Into::into);
        self
    }

    /// The primary place, if it has one.
    pub fn span(&self) -> Option<Span> {
        self.labels.first().map(|label| label.span)
    }
}

/// All problems found so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    /// Adds one.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }

    /// Adds all of another collection.
    pub fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }

    /// Whether any of them stops the work.
    pub fn has_errors(&self) -> bool {
        self.0
            .iter()
            .any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The message of the first one; empty if there are none.
    pub fn first_message(&self) -> String {
        self.0
            .first()
            .map_or_else(String::new, |first| first.message.clone())
    }

    /// Each of them, in the order found.
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
