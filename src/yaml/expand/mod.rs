//! Expands merge directives: `+/pointer`, `+*anchor`, `+./relative` and `+include`.

mod document;
mod expander;
mod include;
mod resolution;
#[cfg(test)]
mod tests;

pub use document::{Expanded, MergeRecord, expand};
