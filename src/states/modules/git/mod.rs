//! The `git` module: repositories and their settings (P29).

mod config;
mod create;
mod desired;
mod detached;
mod functions;
mod latest;
mod repository;
mod update;

pub(super) use functions::MODULE;
