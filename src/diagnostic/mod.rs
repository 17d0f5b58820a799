//! Diagnostics with positions in source texts: [`Sources`], [`Span`], [`Diagnostic`], [`Failure`]. All
//! layers create them; this module prints nothing, the module `ui` renders them.

mod check;
mod failure;
mod locator;
mod problem;
mod source;

pub use check::Check;
pub use failure::Failure;
pub use locator::SourceLocator;
pub use problem::{Diagnostic, Diagnostics, Label, Severity};
pub use source::{Source, SourceId, SourcePosition, Sources, Span};
