//! Patches of YAML text by route that keep all other bytes: comments, line breaks, order and style.
//! [`apply`] is the entry; `change` combines the patches, `edit` performs them on a `buffer`.

mod buffer;
mod change;
mod edit;
mod list;
mod mapping;
#[cfg(test)]
mod tests;

pub use edit::{PatchError, apply};
