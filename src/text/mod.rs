//! Helpers for text that know nothing of what it means.

pub mod base64;
mod glob;
mod quote;
mod similar;
mod url;

pub use glob::Glob;
pub use quote::{join_for_shell, quote_for_shell, quoted, quoted_all, quoted_always};
pub use similar::did_you_mean;
pub use url::{with_login_redacted, without_logins};
