//! Helpers for text that know nothing of what it means.

pub mod base64;
mod quote;
mod similar;

pub use quote::quote_for_shell;
pub use similar::did_you_mean;
