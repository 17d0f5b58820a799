//! Turns what was typed into one call of a use case and an exit code.

mod arguments;
mod changes;
mod entry;
mod explain;
mod export;
mod git;
mod history;
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "the commands that take them come next")
)]
mod host_options;
mod inspect;
mod job;
mod lock;
mod misc;
mod options;
mod output;
mod run;
mod screen;
mod views;

pub use entry::main;
