//! Problems with places in the text: sources, spans, diagnostics. Shows nothing; `ui` does.

mod failure;
mod locator;
mod problem;
mod source;

pub use failure::Failure;
pub use locator::SourceLocator;
pub use problem::{Diagnostic, Diagnostics, Label, Severity};
pub use source::{Source, SourceId, SourcePosition, Sources, Span};
