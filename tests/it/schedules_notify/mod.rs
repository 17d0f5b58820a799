//! Notices about the runs of schedules, and the metrics of `unfurl serve`.

mod delivery;
mod mail;
mod metrics;
mod metrics_limits;
mod occasions;
mod problems;
mod project;
mod receiver;
mod secrecy;
mod smtp;
mod survival;
