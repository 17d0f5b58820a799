//! What is wrong about a chain of executors.

/// Why there is no such chain. Nothing has run where one of these is told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExecutorError {
    /// It is neither a name nor a list with names (X4).
    #[error("`{0}` are no executors: a name is expected, or a list with at least one")]
    Specification(String),
    /// The text is no YAML.
    #[error("the {what} `{text}` cannot be read: {why}")]
    Text {
        /// `executors` or `options of executors`.
        what: &'static str,
        /// The text.
        text: String,
        /// Why not.
        why: String,
    },
    /// The options are no map.
    #[error("the options of executors are {0}, not a map")]
    Options(&'static str),
    /// There is no executor of this name (X7).
    #[error("executor `{name}` is not available: {why}; built in are {known}")]
    Unknown {
        /// The name.
        name: String,
        /// Which program was looked for.
        why: String,
        /// Those that are always there.
        known: String,
    },
    /// An executor lacks what it needs.
    #[error("executor `{executor}` needs the option `{option}` in the configuration")]
    Missing {
        /// The executor.
        executor: &'static str,
        /// The option.
        option: &'static str,
    },
    /// An option has a value that it cannot have. The value is not told: it may be a secret.
    #[error("the option `{option}` of executors must be {expected}")]
    Value {
        /// The option.
        option: String,
        /// What it must be.
        expected: &'static str,
    },
    /// No executor has an option of this name.
    #[error("no executor has the option `{option}`; there are {known}")]
    UnknownOption {
        /// The option.
        option: String,
        /// All that there are.
        known: String,
    },
}

impl ExecutorError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Specification(_) => Some("write `[splay, direct]`, for example"),
            Self::Unknown { .. } => Some(
                "an executor of your own is a program: a path with a `/`, or a file in \
                 `executors/` beside the ensemble",
            ),
            Self::Missing { .. } => Some(
                "set it under `executors` of the environment: who asks for a run must not choose \
                 it",
            ),
            _ => None,
        }
    }
}
