//! Turns what was typed into one call of a use case and an exit code.

mod args;
mod command_line;
mod commands;
mod commit_report;
mod entry;
mod job_views;
mod output;
mod prompt;
mod request;
mod route;
mod screen;

pub use entry::main;
