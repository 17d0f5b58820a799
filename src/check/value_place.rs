//! The place of a value in the model, for messages and for the scope of its expressions.

use super::members::Owner;
use crate::diagnostic::Span;
use crate::tosca::NodeTemplate;

/// The place of a value in the model.
#[derive(Clone, Copy)]
pub(super) struct ValuePlace<'a> {
    pub(super) owner: Owner<'a>,
    /// The node template in whose topology the value stands; `None` for the outermost topology.
    pub(super) within: Option<&'a NodeTemplate>,
    pub(super) span: Span,
    /// Names the value in messages, such as ``property `x` of node template `a` ``.
    pub(super) subject: &'a dyn Fn() -> String,
    /// True if templates of the value have variables that are not known statically.
    pub(super) open_variables: bool,
    /// True if the value is the default of a type.
    pub(super) is_default: bool,
}

impl<'a> ValuePlace<'a> {
    pub(super) fn new(
        owner: Owner<'a>,
        within: Option<&'a NodeTemplate>,
        span: Span,
        subject: &'a dyn Fn() -> String,
    ) -> Self {
        Self {
            owner,
            within,
            span,
            subject,
            open_variables: false,
            is_default: false,
        }
    }
}
