//! Expands merge directives: `+/pointer`, `+*anchor`, `+./relative` and `+include`.

mod document;
mod expander;
mod include;
mod template;
#[cfg(test)]
mod tests;

pub use document::{Expanded, Merge, expand};
