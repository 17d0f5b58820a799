//! Turns what was typed into one call of a use case and an exit code.

mod args;
mod arguments;
mod commands;
mod commits;
mod entry;
mod output;
mod prompt;
mod request;
mod route;
mod screen;
mod views;

pub use entry::main;
