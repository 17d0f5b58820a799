//! Keeps foreign text from steering a terminal.
//!
//! Two ways, one table of unsafe characters ([`is_unsafe`]): output of commands passes an
//! [`OutputFilter`], which removes escape sequences as a whole and may keep colours. All other text
//! is escaped by [`escape_controls`], so that nothing of it is hidden.

mod colours;
mod escape;
mod links;
mod output_filter;
mod pieces;
mod unsafe_chars;

pub use escape::{escape_controls, escape_except_colours, escape_with_links, without_controls};
pub use links::{LinkBase, place_link};
pub use output_filter::{Delivery, OutputFilter};
pub use unsafe_chars::is_unsafe;

#[cfg(test)]
mod tests;
