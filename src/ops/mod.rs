//! The operations of the program: roughly one file per command. Each connects the layers below and contains
//! no rules of its own.
//!
//! User interfaces (`cli`, `ui`) call these functions and show the results.

pub mod add;
mod address_clone;
pub mod clone;
pub mod commit;
pub mod deploy;
pub mod doctor;
pub mod drift;
mod event_watcher;
mod executor_chain;
pub mod explain;
pub mod export;
pub mod fabfile;
mod failure;
mod frontend;
pub mod git;
pub mod git_setup;
pub mod history;
pub mod home;
pub mod host_passwords;
pub mod hosts;
mod ignored_files;
pub mod init;
mod input_digests;
mod input_saving;
mod job_commit;
mod job_driver;
mod job_lock;
mod job_plan;
mod job_run;
pub mod lock;
pub mod merge_driver;
mod model_errors;
pub mod names;
mod open_mirror;
mod outputs;
pub mod packages;
pub mod plan;
mod planned_job;
mod query;
mod quiet_frontend;
pub mod recover;
mod remote_lock;
mod replaced_text;
mod request;
pub mod rescue;
mod resume;
pub mod schedules;
pub mod secret;
mod secret_files;
mod shellcheck;
pub mod status;
pub mod tasks;
pub mod terraform_import;
mod terraform_module;
mod tool_states;
pub mod trust;
mod unread_variables;
mod upstream;
pub mod validate;

pub use crate::exec::{
    GUARD_COMMAND, TooFewDescriptors, prepare_process, run_guard, watch_signals,
};
pub use crate::export::json_schema as schema;
pub use crate::session::{GivenVariable, PlannedInput, SessionOptions, VarFile};

pub use failure::{Failure, FailureKind};
pub use frontend::{Decision, JobFrontend, JobReport};
pub use query::{QueryRequest, QueryResult};
pub use request::{JobRequest, RunSettings, SaveSettings};
