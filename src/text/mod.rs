//! Text utilities without domain knowledge: base64, differences, globs, regular expressions, shell quoting, spelling suggestions, sizes, URLs,
//! and text that is safe for terminals.

pub mod base64;
pub mod diff;
mod glob;
mod pattern;
mod quote;
mod similar;
mod size;
mod terminal;
mod url;

pub use glob::Glob;
pub use pattern::{Pattern, PatternError, PatternFlags, PatternMatch};
pub use quote::{force_quote_word, quote_word, quote_words, shlex_join, shlex_quote, shlex_split};
pub use similar::{did_you_mean, is_close, most_similar};
pub use size::{approximate_size, format_size, parse_size};
pub use terminal::{
    Delivery, LinkBase, OutputFilter, escape_controls, escape_except_colours, escape_with_links,
    is_unsafe, place_link, without_controls,
};
pub use url::{folder_of_url, is_url, join_url, with_login_redacted, without_logins};
