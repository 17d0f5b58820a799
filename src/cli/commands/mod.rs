//! The commands, one file each, and the code that several commands share.
//!
//! `entry` parses the command line and calls one function here, which returns the exit code.

pub(super) mod ad_hoc;
pub(super) mod add;
pub(super) mod clone;
pub(super) mod commit;
pub(super) mod completions;
pub(super) mod doctor;
pub(super) mod drift;
mod drift_accept;
mod drift_hosts;
mod drift_log;
mod drift_output;
mod drift_repair;
pub(super) mod explain;
pub(super) mod export;
pub(super) mod fact;
pub(super) mod forward;
pub(super) mod git;
pub(super) mod git_setup;
pub(super) mod history;
pub(super) mod home;
pub(super) mod hosts;
pub(super) mod import;
pub(super) mod init;
pub(super) mod job;
pub(super) mod lock;
pub(super) mod man;
pub(super) mod merge_driver;
pub(super) mod op;
pub(super) mod plan;
pub(super) mod recover;
pub(super) mod replay;
pub(super) mod run;
pub(super) mod schedule;
mod schedule_install;
pub(super) mod secret;
mod secret_input;
mod secret_rekey;
pub(super) mod serve;
pub(super) mod state;
mod state_doc;
pub(super) mod status;
pub(super) mod task;
pub(super) mod transfer;
pub(super) mod trust;
pub(super) mod validate;
