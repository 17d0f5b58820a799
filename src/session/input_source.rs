//! The origins of input values, in their order of precedence.

use std::fmt::{Display, Formatter};

use crate::diagnostic::Span;

/// The origin of an input's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputSource {
    /// The option `--var input_NAME`, with the name of the input.
    Option(String),
    /// A file of `--var-file`, with the place of the value.
    File(Span),
    /// The environment variable with this name.
    Variable(String),
    /// The section `inputs` of the environment.
    Environment(Span),
    /// The section `spec.inputs` of the ensemble.
    Ensemble(Span),
    /// The default in the service template.
    Default(Span),
    /// An optional input without a value.
    Unset,
}

impl InputSource {
    /// Returns the place of the value in a text. [`Span::NONE`] if no text contains the value.
    pub fn span(&self) -> Span {
        match self {
            Self::File(span)
            | Self::Environment(span)
            | Self::Ensemble(span)
            | Self::Default(span) => *span,
            Self::Option(_) | Self::Variable(_) | Self::Unset => Span::NONE,
        }
    }

    /// Whether the user gave the value with the command and not in a file of the project.
    pub fn is_given(&self) -> bool {
        matches!(self, Self::Option(_) | Self::File(_) | Self::Variable(_))
    }

    /// Returns the source as lists show it, without its place.
    pub fn label(&self) -> String {
        match self {
            Self::Option(name) => format!("--var input_{name}"),
            Self::File(_) => "--var-file".to_owned(),
            Self::Variable(name) => name.clone(),
            Self::Ensemble(_) => "spec.inputs".to_owned(),
            Self::Environment(_) | Self::Default(_) | Self::Unset => self.kind().to_owned(),
        }
    }

    /// Returns the word for the source in JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Option(_) => "option",
            Self::File(_) => "file",
            Self::Variable(_) => "variable",
            Self::Environment(_) => "environment",
            Self::Ensemble(_) => "ensemble",
            Self::Default(_) => "default",
            Self::Unset => "unset",
        }
    }
}

/// Names the source for messages, without its place.
impl Display for InputSource {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Option(name) => write!(f, "`--var input_{name}`"),
            Self::File(_) => f.write_str("`--var-file`"),
            Self::Variable(name) => write!(f, "the variable `{name}`"),
            Self::Environment(_) => f.write_str("the environment"),
            Self::Ensemble(_) => f.write_str("`spec.inputs`"),
            Self::Default(_) => f.write_str("the default"),
            Self::Unset => f.write_str("no value"),
        }
    }
}
