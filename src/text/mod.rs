//! Helpers for text that know nothing of what it means.

pub mod base64;
mod glob;
mod quote;
mod similar;
mod url;

pub use glob::Glob;
pub use quote::{shlex_join, shlex_quote, quote_word, quote_words, force_quote_word};
pub use similar::did_you_mean;
pub use url::{with_login_redacted, without_logins};
