//! Text utilities without domain knowledge: base64, globs, shell quoting, spelling suggestions,
//! sizes and URLs.

pub mod base64;
mod glob;
mod quote;
mod similar;
mod size;
mod url;

pub use glob::Glob;
pub use quote::{force_quote_word, quote_word, quote_words, shlex_join, shlex_quote};
pub use similar::did_you_mean;
pub use size::{format_size, parse_size};
pub use url::{with_login_redacted, without_logins};
