//! What can go wrong in an expression.

use crate::diagnostic::{Diagnostic, Span};

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
    #[error("{what} in the template `{template}`")]
    Undefined {
        /// What is not defined, and where: `` `nope` is not defined on `::a` ``.
        what: String,
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
    Unsafe {
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
    /// A mistake in this program.
    #[error("internal error: {0}")]
    Internal(&'static str),
}

impl Error {
    /// Says what is wrong, with the place of the text the expression is in.
    pub fn diagnostic(&self, span: Span) -> Diagnostic {
        let diagnostic = Diagnostic::error(self).label(span, "evaluated here");
        match self {
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
