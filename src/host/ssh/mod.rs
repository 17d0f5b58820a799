//! SSH: connections, who may log in, and whose keys are trusted.
//!
//! Knows nothing of what is done over a connection.

mod auth;
mod client;
mod connect;
mod connection;
mod failure;
mod keys;
mod known_hosts;
mod line;
mod pool;

pub(super) use client::join;
pub(super) use connection::{Connection, KILLING};
pub(super) use failure::shown;
pub(super) use pool::Lease;
pub use pool::{Pool, PoolLimits};
