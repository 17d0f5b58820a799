//! Expansion of merge directives: `+/pointer`, `+*anchor`, `+./relative` and `+include`. [`expand`] is the
//! entry; the modules `project` and `session` call it.

mod document;
mod expander;
mod include;
mod resolution;
#[cfg(test)]
mod tests;

pub use document::{Expanded, MergeRecord, expand, expand_for_merging, without_strategies};
