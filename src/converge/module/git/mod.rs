//! The `git` module: repositories and their settings (P29).

mod config;
mod detached;
mod functions;
mod latest;
mod other;
mod repository;
mod update;
mod wish;

pub(super) use functions::MODULE;
