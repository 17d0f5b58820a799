//! Machines: what can be asked of them, where they are, and how they are reached.
//!
//! Decides nothing about order: who asks is `runbook` or a job, by way of the runner.

mod action;
mod address;
pub(crate) mod batch;
pub mod resolver;
mod capture;
mod chain;
pub mod change;
mod local_copy;
mod remote_command;
mod executor;
pub mod fact;
mod remote_fs;
pub mod services;
pub mod inventory;
pub(crate) mod native;
mod output;
mod passwords;
mod pattern;
mod interactive;
mod location;
mod location_error;
mod output_reader;
mod request;
mod script;
mod sftp;
mod ssh;
pub mod ssh_config;
mod shell_fs;
mod transfer;
mod transfer_files;
mod variables;
mod transport;
mod channel_io;

pub use action::{
    Action, PromptAnswer, Background, Command, Content, DEFAULT_SHELL, Get, Program, Put, Question,
};
pub use address::{Address, AddressError, DEFAULT_PORT, HostParts};
pub use capture::{CaptureBuffer, CapturedOutput, DEFAULT_CAPTURE_LIMIT};
#[cfg(test)]
pub use chain::CustomExecutor;
pub use chain::{BecomeUser, ExecutorChain, ChainExecutor, UnhandledPolicy, Spread};
pub use executor::{ChainProgress, ChainRun, ChainSpec, ExecutorError, ChainNote, ChainContext, ExecutorEnvironment};
pub(crate) use output::change_failure;
pub use output::{ActionResult, ChangeOutput, Exit, ReadOutput, RunOutput, Stream, TransferOutput};
pub use passwords::Passwords;
pub use passwords::AttemptCounter;
pub use interactive::{ForwardEndpoint, Forward, Forwarding, Terminal};
pub use location::{Container, Destination, HostKeys, Identities, Location, Route, Secret};
pub use location_error::LocationError;
pub use request::ActionRequest;
pub use request::{CallControl, StopLevel};
pub use ssh::{ConnectionPool, PoolLimits};
pub use variables::Variables;
