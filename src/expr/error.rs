//! What can go wrong in an expression.

use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::value::{Handle, Secrets};

use super::reads::Reads;

/// How many of those that asked for each other an error names.
const MAX_TRAIL: usize = 8;

/// Something whose evaluation failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Site {
    /// An attribute of an entity.
    Attribute(Handle, Arc<str>),
    /// An input of the task.
    Input(Arc<str>),
}

/// What can go wrong in an expression.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// A path that cannot be read.
    #[error("`{expression}` is not an expression: {problem} at character {}", at + 1)]
    Syntax {
        /// The text of the expression.
        expression: String,
        /// The byte at which it goes wrong.
        at: usize,
        /// What is wrong there.
        problem: &'static str,
    },
    /// Something a template needs and nothing defines.
    #[error("{message} in the template `{template}`")]
    Undefined {
        /// What is not defined, and where: `` `nope` is not defined on `::a` ``.
        message: String,
        /// The text of the template, cut if it is long.
        template: String,
    },
    /// A template that cannot be read or rendered.
    #[error("cannot render the template `{template}`: {problem}")]
    Template {
        /// The text of the template, cut if it is long.
        template: String,
        /// What is wrong.
        problem: String,
    },
    /// A map that names no known function.
    #[error("there is no function in {expression}")]
    UnknownFunction {
        /// The map.
        expression: String,
    },
    /// A function that cannot do what it is asked for.
    #[error("`{function}`: {problem}")]
    Function {
        /// The function.
        function: String,
        /// What is wrong.
        problem: String,
    },
    /// What runs a program, uses the network or writes, and was not allowed.
    #[error("`{name}` {action} while planning; allow it with `--allow {name}`")]
    Refused {
        /// The name to allow.
        name: String,
        /// What it does.
        action: &'static str,
    },
    /// A function that is not for what nobody trusts.
    #[error("`{function}` is not evaluated here: only functions that read nothing outside are")]
    NotInSandbox {
        /// The function.
        function: String,
    },
    /// An input that the topology does not declare.
    #[error("undefined input `{name}`")]
    UndefinedInput {
        /// The input.
        name: String,
    },
    /// An expression whose `strict` demands a result.
    #[error("the expression {expression} must {demand}")]
    Required {
        /// The expression.
        expression: String,
        /// What it must do: return results, or not be null.
        demand: &'static str,
    },
    /// Values that refer to each other more deeply than any model needs.
    #[error("expressions refer to each other more than {limit} levels deep")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// Loops and paths that come by more than any model needs.
    #[error("the expression goes through more than {limit} items")]
    TooLong {
        /// The limit.
        limit: usize,
    },
    /// An error within something.
    #[error("{error}")]
    Within {
        /// What is wrong.
        error: Box<Self>,
        /// What was evaluated, and what asked for it, and so on.
        trail: Vec<Site>,
    },
    /// A mistake in this program.
    #[error("internal error: {0}")]
    Internal(&'static str),
}

impl Error {
    /// The same error, within something.
    #[must_use]
    pub(super) fn within(self, site: Site) -> Self {
        let (error, mut trail) = match self {
            Self::Within { error, trail } => (error, trail),
            error => (Box::new(error), Vec::new()),
        };
        if trail.len() < MAX_TRAIL && trail.last() != Some(&site) {
            trail.push(site);
        }
        Self::Within { error, trail }
    }

    /// The same error without the secrets among what was read before it.
    #[must_use]
    pub fn redacted(mut self, reads: &Reads) -> Self {
        let mut secrets = Secrets::default();
        for (_, value) in reads {
            secrets.gather(value);
        }
        if !secrets.is_empty() {
            self.redact(&secrets);
        }
        self
    }

    fn redact(&mut self, secrets: &Secrets) {
        let texts: [Option<&mut String>; 2] = match self {
            Self::Within { error, .. } => return error.redact(secrets),
            Self::Undefined {
                message: what,
                template,
            } => [Some(what), Some(template)],
            Self::Template { template, problem } => [Some(template), Some(problem)],
            Self::Function { problem, .. } => [Some(problem), None],
            Self::Syntax { expression, .. }
            | Self::UnknownFunction { expression }
            | Self::Required { expression, .. } => [Some(expression), None],
            _ => return,
        };
        for text in texts.into_iter().flatten() {
            *text = secrets.redact(text);
        }
    }

    /// The error itself, whatever it is within.
    pub fn innermost(&self) -> &Self {
        match self {
            Self::Within { error, .. } => error.innermost(),
            error => error,
        }
    }

    /// What was evaluated when it went wrong, and what asked for it, and so on.
    pub fn trail(&self) -> &[Site] {
        match self {
            Self::Within { trail, .. } => trail,
            _ => &[],
        }
    }

    /// Adds what to do about it.
    pub fn explain(&self, diagnostic: Diagnostic) -> Diagnostic {
        match self.innermost() {
            Self::Undefined { .. } => {
                diagnostic.help("define it, or give a value in its place with `| default(…)`")
            }
            Self::UndefinedInput { name } => diagnostic.help(format!(
                "declare the input, or give a default: `get_input: [{name}, …]`"
            )),
            Self::Refused { .. } => diagnostic
                .help("or list the project under `trusted` in `unfurl.yaml` of your home project"),
            Self::UnknownFunction { .. } => {
                diagnostic.help("write `q: …` to keep a map from being evaluated")
            }
            _ => diagnostic,
        }
    }
}
