//! SSH: connections, who may log in, and whose keys are trusted.
//!
//! Knows nothing of what is done over a connection, and opens each when it is told to: which ones
//! there are is for the pool to decide.

mod auth;
mod client;
mod connect;
mod connection;
mod failure;
mod keys;
mod known_hosts;
mod line;

pub(super) use client::join;
pub(super) use connect::{AnyFuture, Opener, Ways};
pub(super) use connection::{Connection, KILLING, NoSession, run_text};
pub(super) use failure::{Failure, shown};
pub(super) use keys::Keys;
