//! One file per use case. Each wires the layers below and holds no rules of its own; faces show
//! what comes back.

pub mod commit;
mod job_commit;
pub mod deploy;
mod executor_chain;
pub mod explain;
pub mod export;
mod failure;
pub mod git;
mod job_driver;
pub mod history;
pub mod hosts;
pub mod lock;
mod job_lock;
pub mod merge_driver;
pub mod plan;
mod planned_job;
mod query;
pub mod recover;
mod remote_lock;
mod request;
pub mod rescue;
mod resume;
mod job_run;
pub mod status;
pub mod tasks;
mod upstream;
mod frontend;
mod event_watcher;

pub use crate::exec::{GUARD_COMMAND, run_guard, watch_signals};
pub use crate::export::json_schema as schema;
pub use crate::session::SessionOptions;

pub use failure::{Failure, FailureKind};
pub use query::{QueryResult, QueryRequest};
pub use request::{JobRequest, RunSettings, SaveSettings};
pub use frontend::{Decision, JobReport, JobFrontend};
