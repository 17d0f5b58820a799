//! What became of a state, as its readers are told.

use std::time::Duration;

use crate::value::Map;

/// What became of a state.
#[derive(Debug, Clone, Copy)]
pub struct StateLine<'a> {
    /// Its ID.
    pub id: &'a str,
    /// Its function, with the module.
    pub function: &'a str,
    /// What it is about.
    pub name: &'a str,
    /// How it went (S43).
    pub result: Option<bool>,
    /// What happened.
    pub comment: &'a str,
    /// When it began: the time of day.
    pub started: &'a str,
    /// How long it took.
    pub elapsed: Duration,
    /// What it changed.
    pub changes: &'a Map,
    /// What is odd.
    pub warnings: &'a [String],
    /// What a dry run would do, as commands.
    pub commands: &'a [String],
}
