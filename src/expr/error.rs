//! The errors of expressions. [`Error::Within`] adds the chain of attributes and inputs whose evaluation led
//! to the error; [`Error::redacted`] removes secrets before a message is shown.

use std::sync::Arc;
use std::time::Duration;

use crate::diagnostic::Diagnostic;
use crate::text::format_size;
use crate::value::{Handle, Secrets};

use super::reads::Reads;

/// The maximum number of attributes and inputs that [`Error::Within`] lists.
const MAX_TRAIL: usize = 8;

/// An attribute or input whose evaluation failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Site {
    Attribute(Handle, Arc<str>),
    Input(Arc<str>),
}

/// An error of parsing or evaluating an expression.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// A syntax error in a path.
    #[error("`{expression}` is not an expression: {problem} at character {}", at + 1)]
    Syntax {
        expression: String,
        /// The offset of the first wrong byte.
        at: usize,
        problem: &'static str,
    },
    /// A name that a template uses and that is not defined.
    #[error("{message} in the template `{template}`")]
    Undefined {
        /// The message with the name and the entity, for example `` `nope` is not defined on `::a` ``.
        message: String,
        /// The text of the template, cut if it is long.
        template: String,
    },
    /// A template that cannot be parsed or rendered.
    #[error("cannot render the template `{template}`: {problem}")]
    Template {
        /// The text of the template, cut if it is long.
        template: String,
        problem: String,
    },
    /// A map that should be a function call but contains no known function name.
    #[error("{expression} is a map without a known function name")]
    UnknownFunction { expression: String },
    /// A function that cannot process its arguments.
    #[error("`{function}`: {problem}")]
    Function { function: String, problem: String },
    /// An action that runs a program, uses the network or writes, and that the user did not allow.
    #[error("`{name}` {action} while planning; allow it with `--allow {name}`")]
    Refused {
        /// The name that the user can pass to `--allow`.
        name: String,
        /// The action, as part of the message.
        action: &'static str,
    },
    /// A function that is not available in a sandboxed evaluation of untrusted expressions.
    #[error(
        "`{function}` cannot be used here: only functions that read nothing outside the model are allowed"
    )]
    NotInSandbox { function: String },
    /// A use of an input that the topology does not declare.
    #[error("undefined input `{name}`")]
    UndefinedInput { name: String },
    /// An expression without the result that its `strict` option demands.
    #[error("the expression {expression} must {demand}")]
    Required {
        expression: String,
        /// The demand, as part of the message: return results, or not be null.
        demand: &'static str,
    },
    /// References that nest deeper than the limit.
    #[error("expressions refer to each other more than {limit} levels deep")]
    TooDeep { limit: usize },
    /// Loops and paths that visit more items than the limit.
    #[error("the expression visits more than {limit} items")]
    TooLong { limit: usize },
    /// An evaluation that uses more CPU time than the limit.
    #[error(
        "the evaluation took more than {} s of CPU time; raise the limit with `--eval-timeout`",
        limit.as_secs_f64()
    )]
    TimedOut { limit: Duration },
    /// A value that is larger than the limit.
    #[error("the value is larger than {}; raise the limit with `--max-value`", format_size(*limit as u64))]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// A use of a value of which only a part is known.
    #[error("`{name}` cannot be used: {problem}")]
    Incomplete { name: String, problem: String },
    /// An evaluation that a signal ended.
    #[error("interrupted")]
    Interrupted,
    /// An error with the chain of evaluations that led to it.
    #[error("{error}")]
    Within {
        /// The original error, without the chain.
        error: Box<Self>,
        /// The attribute or input whose evaluation failed, then its reader, and so on outwards.
        trail: Vec<Site>,
    },
    /// An inconsistency in this program itself.
    #[error("internal error: {0}")]
    Internal(&'static str),
}

impl Error {
    /// Adds an attribute or input to the chain of evaluations that led to the error.
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

    /// Returns the error with the secrets among the values of `reads` redacted.
    #[must_use]
    pub fn redacted(mut self, reads: &Reads) -> Self {
        let mut secrets = Secrets::default();
        for (_, value) in reads {
            secrets.gather(value);
        }
        self.redact(&secrets);
        self
    }

    /// Redacts the secrets in the texts of the error.
    pub fn redact(&mut self, secrets: &Secrets) {
        let texts: [Option<&mut String>; 2] = match self {
            Self::Within { error, .. } => return error.redact(secrets),
            Self::Undefined {
                message: what,
                template,
            } => [Some(what), Some(template)],
            Self::Template { template, problem } => [Some(template), Some(problem)],
            Self::Function { function, problem } => [Some(function), Some(problem)],
            Self::Incomplete { name, problem } => [Some(name), Some(problem)],
            Self::Syntax { expression, .. }
            | Self::UnknownFunction { expression }
            | Self::Required { expression, .. } => [Some(expression), None],
            Self::UndefinedInput { name } => [Some(name), None],
            Self::NotInSandbox { function } => [Some(function), None],
            Self::Refused { .. }
            | Self::TooDeep { .. }
            | Self::TooLong { .. }
            | Self::TimedOut { .. }
            | Self::TooLarge { .. }
            | Self::Interrupted
            | Self::Internal(_) => return,
        };
        for text in texts.into_iter().flatten() {
            *text = secrets.redact(text);
        }
    }

    /// Whether the evaluation took too much CPU time.
    pub(super) fn is_timeout(&self) -> bool {
        matches!(self.innermost(), Self::TimedOut { .. })
    }

    /// Whether the same evaluation for another caller may succeed.
    pub(super) fn depends_on_caller(&self) -> bool {
        matches!(
            self.innermost(),
            Self::TooDeep { .. } | Self::TooLong { .. } | Self::Interrupted
        )
    }

    /// Whether the error ends an evaluation even if the expression ignores errors.
    pub(super) fn is_final(&self) -> bool {
        matches!(
            self.innermost(),
            Self::Refused { .. }
                | Self::TimedOut { .. }
                | Self::Incomplete { .. }
                | Self::Interrupted
        )
    }

    /// Returns the error without its chain of evaluations.
    pub fn innermost(&self) -> &Self {
        match self {
            Self::Within { error, .. } => error.innermost(),
            error => error,
        }
    }

    /// Returns the chain of evaluations that led to the error, innermost first.
    pub fn trail(&self) -> &[Site] {
        match self {
            Self::Within { trail, .. } => trail,
            _ => &[],
        }
    }

    /// Adds a hint about what to do to a diagnostic made from this error.
    pub fn explain(&self, diagnostic: Diagnostic) -> Diagnostic {
        match self.innermost() {
            Self::Undefined { .. } => {
                diagnostic.help("define the name, or supply a default value with `| default(…)`")
            }
            Self::UndefinedInput { name } => diagnostic.help(format!(
                "declare the input, or supply a default value: `get_input: [{name}, …]`"
            )),
            Self::Refused { .. } => diagnostic
                .help("or list the project under `trusted` in `unfurl.yaml` of your home project"),
            Self::UnknownFunction { .. } => diagnostic
                .help("correct the function name, or write `q: …` if the map is plain data"),
            _ => diagnostic,
        }
    }
}
