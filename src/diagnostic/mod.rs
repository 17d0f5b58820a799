//! Problems with places in the text: sources, spans, diagnostics. Shows nothing; `ui` does.

mod failure;
mod places;
mod problem;
mod source;

pub use failure::Failure;
pub use places::Places;
pub use problem::{Diagnostic, Diagnostics, Label, Severity};
pub use source::{Place, Source, SourceId, Sources, Span};
