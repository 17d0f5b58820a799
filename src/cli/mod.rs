//! The command line interface: turns the arguments into one call of a use case in `ops`, and the
//! result into text and an exit code.
//!
//! `entry` is the way in, `commands` holds one file per command, `screen` shows running work, and
//! `ui` (another module) renders the text.

mod args;
mod command_line;
mod command_words;
mod commands;
mod commit_report;
mod completion;
mod display;
mod entry;
mod github;
mod help;
mod job_result;
mod job_views;
mod left_out;
mod limits;
mod named_commands;
mod output;
mod plan_views;
mod prompt;
mod request;
mod route;
mod screen;
mod step_summary;
mod usage_error;

pub use entry::main;
