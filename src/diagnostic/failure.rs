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
        Self::with_places(kind, diagnostic, Sources::default())
    }

    /// A failure with places in texts.
    pub fn with_places(kind: K, problems: impl Into<Diagnostics>, sources: Sources) -> Self {
        Self {
            kind,
            problems: problems.into(),
            sources,
        }
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
