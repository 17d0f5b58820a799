//! Expands merge directives: `+/pointer`, `+*anchor`, `+./relative` and `+include`.

mod document;
mod expanded;
mod expander;
mod include;
mod template;
#[cfg(test)]
mod tests;

pub use document::expand;
pub use expanded::{Expanded, Merge};
