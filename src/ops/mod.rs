//! One file per use case. Each wires the layers below and holds no rules of its own; faces show
//! what comes back.

mod blueprint;
pub mod commit;
mod committing;
mod conditions;
mod decorators;
mod departed;
pub mod deploy;
mod dirty;
pub mod explain;
pub mod export;
mod externals;
mod failure;
pub mod git;
mod hands;
pub mod history;
mod identity;
mod imports;
mod instances;
mod journal;
mod links;
pub mod lock;
mod log;
pub mod merge_driver;
mod past;
pub mod plan;
mod prepared;
mod push;
mod record_files;
pub mod recover;
mod repositories;
mod resume;
pub mod schema;
mod session;
mod start_time;
pub mod status;
mod unknown;
mod upstream;
pub mod validate;
mod view;
mod watch;
mod world;

pub use committing::{CommitMade, CommitRequest, Commits};
pub use failure::{Failure, FailureKind};
pub use session::{JobRequest, SessionOptions};
pub use view::{Decision, JobReport, View, query};
