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
    /// The name given with `--exclude` does not exist.
    #[error("`--exclude {0}` leaves nothing out: nothing has that name")]
    UnknownExcluded(InstanceName),
    #[error("workflow not found: `{0}`")]
    UnknownWorkflow(String),
    /// Several interfaces of an instance have an operation of this name.
    #[error("`{}` may be `{first}` or `{second}`", first.operation)]
    AmbiguousOperation {
        first: OperationRef,
        second: OperationRef,
    },
    /// Templates require each other, so that none can be deployed first.
    #[error("templates require each other, so that none can be deployed first: {}", names(.path))]
    Cycle {
        /// The templates in the cycle. Each requires the next, and the last requires the first.
        path: Vec<TemplateName>,
        /// The source position of the first template's requirement.
        span: Span,
    },
    #[error("`{0}` is hosted on itself, through the instances that it is hosted on")]
    HostCycle(TemplateName),
    /// A new instance would take the name of a recorded one that has another template.
    #[error(
        "the instance `{name}` cannot be created: there is one of that name, of template `{of}`"
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
                diagnostic.help("name one of the templates under `node_templates`")
            }
            Error::HostCycle(_) => diagnostic.help("host one of them on something else"),
            Error::DuplicateName { .. } => diagnostic.help("give the new template another name"),
            Error::AmbiguousOperation { .. } => diagnostic.help("name the interface as well"),
            Error::UnknownExcluded(_) => diagnostic.help("name an instance or a template"),
            Error::UnknownInstance(_) | Error::UnknownWorkflow(_) => diagnostic,
        }
    }
}
