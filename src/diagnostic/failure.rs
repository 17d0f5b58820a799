//! What goes wrong as a whole: a kind, which decides what becomes of it, and problems for people.

use std::fmt::{Debug, Display, Formatter};

use super::{Diagnostic, Diagnostics, Sources};

/// Why something as a whole failed.
#[derive(Debug, Clone)]
pub struct Failure<K> {
    /// What kind of failure it is.
    pub kind: K,
    /// What is wrong, and where.
    pub problems: Diagnostics,
    /// The texts that the problems point into.
    pub sources: Sources,
}

impl<K> Failure<K> {
    /// A failure with one message, and what to do about it if that is known.
    pub fn new(kind: K, message: impl ToString, hint: Option<String>) -> Self {
        let diagnostic = Diagnostic::error(message).help_if(hint);
        Self::with_sources(kind, diagnostic, Sources::default())
    }

    /// A failure with places in texts.
    pub fn with_sources(kind: K, problems: impl Into<Diagnostics>, sources: Sources) -> Self {
        Self {
            kind,
            problems: problems.into(),
            sources,
        }
    }

    /// The same failure as one of another kind.
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
