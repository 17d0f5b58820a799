//! Machines: what can be asked of them, where they are, and how they are reached.
//!
//! Decides nothing about order: who asks is `runbook` or a job, by way of the runner.

mod action;
mod address;
pub(crate) mod batch;
pub mod book;
mod capture;
mod chain;
pub mod change;
mod copy;
mod exec;
mod executor;
pub mod fact;
mod far;
pub mod helpers;
pub mod inventory;
pub(crate) mod native;
mod output;
mod passwords;
mod pattern;
mod people;
mod place;
mod place_error;
mod reader;
mod request;
mod script;
mod sftp;
mod ssh;
pub mod ssh_config;
mod stream;
mod transfer;
mod tree;
mod variables;
mod way;
mod wire;

pub use action::{
    Action, Answer, Background, Command, Content, DEFAULT_SHELL, Get, Program, Put, Question,
};
pub use address::{Address, AddressError, DEFAULT_PORT, HostParts};
pub use capture::{Capture, Captured, DEFAULT_KEPT_BYTES};
#[cfg(test)]
pub use chain::Own;
pub use chain::{Become, Chain, Executor, Nobody, Spread};
pub use executor::{ChainProgress, ChainRun, ChainSpec, ExecutorError, Note, Start, Surroundings};
pub(crate) use output::failure;
pub use output::{ActionResult, Changed, Exit, ReadOutput, RunOutput, Stream, TransferOutput};
pub use passwords::Passwords;
pub use passwords::Tries;
pub use people::{Endpoint, Forward, Forwarding, Terminal};
pub use place::{Container, Destination, HostKeys, Identities, Place, Route, Secret};
pub use place_error::PlaceError;
pub use request::Request;
pub use request::{Call, Stop};
pub use ssh::{Pool, PoolLimits};
pub use variables::Variables;
