//! Edits a text at routes and keeps every other byte: comments, line breaks, order and style.

mod buffer;
mod change;
mod edit;
mod list;
mod mapping;
#[cfg(test)]
mod tests;

pub use edit::{PatchError, apply};
