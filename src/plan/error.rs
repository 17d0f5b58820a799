//! Errors of planning and their diagnostics.

use crate::diagnostic::{Diagnostic, Span};
use crate::name::{InstanceName, OperationRef, TemplateName};

/// The reason why a plan cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The template of `--template` is not in the model.
    #[error("specified template not found: `{0}`")]
    UnknownTemplate(TemplateName),
    /// The instance that an ad-hoc run names does not exist.
    #[error("specified instance not found: `{0}`")]
    UnknownInstance(InstanceName),
    /// The machine of `--host` is no instance.
    #[error("specified instance not found: `{0}`")]
    UnknownHost(InstanceName),
    /// The name given with `--exclude` does not exist.
    #[error("`--exclude {0}` has no effect: no instance or template has this name")]
    UnknownExcluded(InstanceName),
    #[error("workflow not found: `{0}`")]
    UnknownWorkflow(String),
    /// Several interfaces of an instance have an operation of this name.
    #[error("the operation `{}` is ambiguous: it may be `{first}` or `{second}`", first.operation)]
    AmbiguousOperation {
        first: OperationRef,
        second: OperationRef,
    },
    /// Templates require each other, so that none can be deployed first.
    #[error("templates require each other, so none can be deployed first: {}", names(.path))]
    Cycle {
        /// The templates in the cycle. Each requires the next, and the last requires the first.
        path: Vec<TemplateName>,
        /// The source position of the first template's requirement.
        span: Span,
    },
    #[error("the hosts of `{0}` form a cycle")]
    HostCycle(TemplateName),
    /// A new instance would take the name of a recorded one that has another template.
    #[error(
        "the instance `{name}` cannot be created: an instance of the template `{of}` already has this name"
    )]
    DuplicateName {
        /// The name that both instances have.
        name: InstanceName,
        /// The template of the recorded instance.
        of: TemplateName,
    },
}

fn names(path: &[TemplateName]) -> String {
    let names: Vec<_> = path.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

impl From<Error> for Diagnostic {
    fn from(error: Error) -> Self {
        let diagnostic = match &error {
            Error::UnknownExcluded(_) => Self::error(&error),
            _ => Self::error(format!("could not create job: {error}")),
        };
        match error {
            Error::Cycle { span, .. } => diagnostic
                .label(span, "required here")
                .help("break the cycle by removing one of the requirements"),
            Error::UnknownTemplate(_) => {
                diagnostic.help("use the name of a template under `node_templates`")
            }
            Error::HostCycle(_) => diagnostic.help("give one of these templates another host"),
            Error::DuplicateName { .. } => diagnostic.help("give the new template another name"),
            Error::AmbiguousOperation { .. } => {
                diagnostic.help("add the interface to the name, for example `Standard.configure`")
            }
            Error::UnknownExcluded(_) => {
                diagnostic.help("use the name of an instance or of a template")
            }
            Error::UnknownHost(name) => diagnostic.help(format!(
                "Unfurl 1.2 runs such a command on this computer and does not say so; add a node template `{name}` with \
                 an endpoint, reach a machine outside of the ensemble with `unfurl run -H {name} -- COMMAND`, or leave \
                 `--host` out to run the command on this computer"
            )),
            Error::UnknownInstance(_) | Error::UnknownWorkflow(_) => diagnostic,
        }
    }
}
