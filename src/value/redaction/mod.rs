//! Redaction of secrets: gathers them from values, and finds or replaces them in other texts, also when a program
//! has encoded them. Every text that is shown, recorded or put on a command line passes through these rules.

mod common_texts;
mod encodings;
mod matcher;
mod ordinary;
mod parts;
mod redactor;
mod scan;
mod secrets;
#[cfg(test)]
mod tests;
mod windows;

pub use ordinary::set_existing_names;
pub use redactor::Redactor;
pub use secrets::Secrets;
