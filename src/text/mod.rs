//! Helpers for text that know nothing of what it means.

pub mod base64;
mod glob;
mod quote;
mod similar;
mod url;

pub use glob::Glob;
pub use quote::{force_quote_word, quote_word, quote_words, shlex_join, shlex_quote};
pub use similar::did_you_mean;
pub use url::{with_login_redacted, without_logins};
