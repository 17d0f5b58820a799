//! SSH connections: connecting, authentication, host keys, and a pool of open connections.
//!
//! [`ConnectionPool`] is the entry. This module does not know what is done over a connection.

mod admission;
mod algorithms;
mod auth;
mod byte_stream;
mod client;
mod connect;
mod connection;
mod failure;
mod file_cache;
mod idle_shells;
mod keys;
mod known_hosts;
mod known_hosts_command;
mod known_hosts_file;
mod login_files;
mod pool;
mod short_ecdsa_key;

pub(super) use client::pipe_channel;
pub(super) use connection::{Connection, KILL_TIMEOUT};
pub(super) use failure::{ConnectFailure, display_name};
pub(super) use idle_shells::ShellPlace;
pub use known_hosts::has_known_key;
pub use pool::{ConnectionPool, PoolLimits};
pub(super) use pool::{Lease, OpenShell};
