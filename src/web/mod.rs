//! The metrics server of `unfurl serve --metrics`: `/metrics` for Prometheus and `/healthz`, on this machine only.
//!
//! The server only reads a snapshot, which the schedules of the process keep up to date.

mod address;
mod connection;
mod process;
mod prometheus;
mod server;

pub use address::MetricsAddress;
pub use server::MetricsServer;
