//! Machines: what can be asked of them, where they are, and how they are reached.
//!
//! Decides nothing about order: who asks is `runbook` or a job, by way of the runner.

mod action;
mod address;
mod base64;
pub(crate) mod batch;
pub mod book;
mod capture;
pub mod change;
mod copy;
mod exec;
mod executor;
pub mod fact;
mod far;
pub mod inventory;
mod lane;
pub(crate) mod native;
mod output;
mod passwords;
mod pattern;
mod people;
mod place;
mod pool;
mod reader;
mod remote;
mod request;
mod script;
mod sftp;
mod ssh;
pub mod ssh_config;
mod stream;
mod transfer;
mod tree;
mod way;
mod wire;

pub use action::{Action, Answer, Background, Command, Content, DEFAULT_SHELL, Get, Program, Put};
pub use address::{Address, AddressError, DEFAULT_PORT, HostParts};
pub use capture::{Capture, Captured, DEFAULT_KEPT_BYTES};
pub use executor::{
    Become, Chain, ChainProgress, ChainRun, ChainSpec, Executor, ExecutorError, Nobody, Note, Own,
    Resolved, Spread, Start, Surroundings,
};
pub use output::{
    ActionResult, Changed, Exit, Question, ReadOutput, RunOutput, Stream, TransferOutput,
};
pub use passwords::Passwords;
pub use people::{Endpoint, Forward, Forwarding, Terminal};
pub use place::{Container, Destination, HostKeys, Identities, Place, Route, Secret};
pub use pool::{Call, Pool, PoolLimits};
pub use request::{Request, Stop};
pub(crate) use script::quoted;
