//! Errors in the specification of an executor chain.

/// The reasons why a chain cannot be made. The action has not started yet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExecutorError {
    /// The specification is neither a name nor a list of names (X4).
    #[error("`{0}` is not a list of executors: give one name, or a list with at least one name")]
    Specification(String),
    /// The text is not valid YAML.
    #[error("the {part} `{text}` cannot be read: {why}")]
    Text {
        /// The part that was parsed: `executors` or `options of executors`.
        part: &'static str,
        text: String,
        /// The message of the YAML parser.
        why: String,
    },
    #[error("the options of executors are {0}, not a map")]
    Options(&'static str),
    /// No executor has this name (X7).
    #[error("executor `{name}` is not available: {why}; the built-in executors are {known}")]
    Unknown {
        name: String,
        /// The program file that was looked for.
        why: String,
        /// The names of the built-in executors.
        known: String,
    },
    /// An executor lacks a required option.
    #[error("executor `{executor}` needs the option `{option}` in the configuration")]
    Missing {
        executor: &'static str,
        option: &'static str,
    },
    /// An option has an invalid value. The value itself is not shown, as it may be a secret.
    #[error("the option `{option}` of executors must be {expected}")]
    Value {
        option: String,
        expected: &'static str,
    },
    #[error("no executor has the option `{option}`; the options are {known}")]
    UnknownOption { option: String, known: String },
}

impl ExecutorError {
    /// Returns advice on how to fix the error.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Specification(_) => Some("write `[splay, direct]`, for example"),
            Self::Unknown { .. } => Some(
                "a custom executor is a program: give a path with a `/`, or put a file into \
                 `executors/` beside the ensemble, `tasks.yaml` or the hosts file",
            ),
            Self::Missing { .. } => Some(
                "set it under `executors` of `tasks.yaml`, of a hosts file or of the \
                     environment: a request must not choose it",
            ),
            _ => None,
        }
    }
}
