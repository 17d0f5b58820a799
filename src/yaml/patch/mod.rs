//! Edits a text at routes and keeps every other byte: comments, line breaks, order and style.

mod change;
mod edit;
mod list;
mod mapping;
mod buffer;
#[cfg(test)]
mod tests;

pub use edit::{PatchError, apply};
