//! Turns what was typed into one call of a use case and an exit code.

mod arguments;
mod changes;
mod entry;
mod explain;
mod export;
mod git;
mod history;
mod host_files;
mod host_options;
mod host_screen;
mod inspect;
mod job;
mod lock;
mod misc;
mod options;
mod output;
mod reboot;
mod route;
mod run;
mod run_hosts;
mod screen;
mod state;
mod task;
mod views;
mod visit;

pub use entry::main;
