//! One file per use case. Each wires the layers below and holds no rules of its own; faces show
//! what comes back.

pub mod commit;
mod committing;
pub mod deploy;
mod executors;
pub mod explain;
pub mod export;
mod failure;
pub mod git;
mod hands;
pub mod history;
pub mod hosts;
pub mod lock;
mod locked;
pub mod merge_driver;
pub mod plan;
mod prepared;
mod query;
pub mod recover;
mod remote_lock;
mod request;
pub mod rescue;
mod resume;
mod running;
pub mod status;
pub mod tasks;
mod upstream;
mod view;
mod watch;

pub use crate::exec::{GUARD_COMMAND, stand_guard, watch_signals};
pub use crate::export::json_schema as schema;
pub use crate::session::SessionOptions;

pub use failure::{Failure, FailureKind};
pub use query::{Answer, QueryRequest};
pub use request::{JobRequest, RunSettings, SaveSettings};
pub use view::{Decision, JobReport, View};
