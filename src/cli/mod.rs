//! The command line interface: turns the arguments into one call of a use case in `ops`, and the
//! result into text and an exit code.
//!
//! `entry` is the way in, `commands` holds one file per command, `screen` shows running work, and
//! `ui` (another module) renders the text.

mod args;
mod command_line;
mod commands;
mod commit_report;
mod entry;
mod job_views;
mod left_out;
mod limits;
mod output;
mod prompt;
mod request;
mod route;
mod screen;

pub use entry::main;
