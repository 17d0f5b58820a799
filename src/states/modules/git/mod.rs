//! The `git` module: repositories and their settings (P29).

mod config;
mod desired;
mod detached;
mod functions;
mod latest;
mod create;
mod repository;
mod update;

pub(super) use functions::MODULE;
