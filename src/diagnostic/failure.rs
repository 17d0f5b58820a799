//! The failure of a whole operation: a kind, which decides how the caller reacts, and diagnostics for the
//! user with the texts that they point into.

use std::fmt::{Debug, Display, Formatter};

use super::{Diagnostic, Diagnostics, Sources};

/// An error of a whole operation: its kind and the diagnostics that explain it.
#[derive(Debug, Clone)]
pub struct Failure<K> {
    pub kind: K,
    pub problems: Diagnostics,
    /// The texts that the spans of the problems point into.
    pub sources: Sources,
}

impl<K> Failure<K> {
    /// Creates a failure with one message and an optional hint about what to do.
    pub fn new(kind: K, message: impl ToString, hint: Option<String>) -> Self {
        let diagnostic = Diagnostic::error(message).help_if(hint);
        Self::with_sources(kind, diagnostic, Sources::default())
    }

    /// Creates a failure whose diagnostics point into texts.
    pub fn with_sources(kind: K, problems: impl Into<Diagnostics>, sources: Sources) -> Self {
        Self {
            kind,
            problems: problems.into(),
            sources,
        }
    }

    /// Converts the kind and keeps the problems.
    pub fn map_kind<L>(self, kind: impl FnOnce(K) -> L) -> Failure<L> {
        Failure::with_sources(kind(self.kind), self.problems, self.sources)
    }
}

impl<K> Display for Failure<K> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        for (place, problem) in self.problems.iter().enumerate() {
            f.write_str(if place == 0 { "" } else { "\n" })?;
            f.write_str(&problem.message)?;
        }
        Ok(())
    }
}

impl<K: Debug> std::error::Error for Failure<K> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_each_problem_on_a_line() {
        let problems = ["no host is left", "no role is known"].map(Diagnostic::error);
        let problems: Diagnostics = problems.into_iter().collect();
        let failure = Failure::with_sources("kind", problems, Sources::default());
        assert_eq!(failure.to_string(), "no host is left\nno role is known");
        assert_eq!(failure.map_kind(str::len).kind, 4);
    }
}
