//! Why an operation has no configurator.

/// Why an operation has no configurator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChooseError {
    /// The operation has no implementation.
    #[error("the operation has no implementation")]
    NoImplementation,
    /// A task names an operation host.
    #[error("a task says by `hosts` where it runs, and not by `operation_host`")]
    TaskElsewhere,
    /// No configurator has this name.
    #[error(
        "there is no configurator `{name}`{from}; known are Shell, Cmd, Template, Delegate, Task, States"
    )]
    Unknown {
        /// The name that the implementation gives.
        name: String,
        /// The artifact that asks for it, in words; empty if none does.
        from: String,
    },
    /// The implementation is a Python class.
    #[error("the Python class `{class}`{from} cannot be run; use a shell command instead")]
    PythonClass {
        /// The class.
        class: String,
        /// The artifact that asks for it, in words; empty if none does.
        from: String,
    },
    /// The implementation is an artifact that cannot be run.
    #[error("artifact `{0}` cannot be run: its type names no configurator")]
    Artifact(String),
}
