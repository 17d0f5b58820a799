//! The answers of `unfurl drift`, for people and for programs.

mod blocks;
mod counts;
mod json;
mod junit;
mod log;
mod markdown;
mod next;
mod phrases;
mod sarif;
mod text;

#[cfg(test)]
mod tests;

pub use json::drift_json;
pub use junit::drift_junit;
pub use log::DriftLogView;
pub use markdown::drift_markdown;
pub use next::NextCommands;
pub use sarif::drift_sarif;
pub use text::{DriftStyle, drift_text};
