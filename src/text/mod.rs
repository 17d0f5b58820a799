//! Text utilities without domain knowledge: base64, globs, shell quoting, spelling suggestions and URLs.

pub mod base64;
mod glob;
mod quote;
mod similar;
mod url;

pub use glob::Glob;
pub use quote::{force_quote_word, quote_word, quote_words, shlex_join, shlex_quote};
pub use similar::did_you_mean;
pub use url::{with_login_redacted, without_logins};
