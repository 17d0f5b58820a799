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
pub(super) use connect::Opener;
pub(super) use connection::{Connection, KILLING, NoSession, run_text};
pub(super) use failure::shown;
pub use pool::PoolLimits;
pub(super) use pool::{Connections, Lane, Lease};
