//! Text utilities without domain knowledge: base64, globs, shell quoting, spelling suggestions, sizes, URLs, and text
//! that is safe for terminals.

pub mod base64;
mod glob;
mod quote;
mod similar;
mod size;
mod terminal;
mod url;

pub use glob::Glob;
pub use quote::{force_quote_word, quote_word, quote_words, shlex_join, shlex_quote};
pub use similar::did_you_mean;
pub use size::{format_size, parse_size};
pub use terminal::{
    Delivery, OutputFilter, escape_controls, escape_except_colours, is_unsafe, without_controls,
};
pub use url::{with_login_redacted, without_logins};
