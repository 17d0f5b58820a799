//! Implements schedules: `unfurl schedule` and `unfurl serve`.
//!
//! [`ProjectSchedules::load`] reads the schedules of a project. Their state is in `local/schedules/` of the project.

mod child;
mod commands;
mod ensembles;
mod figures;
mod install;
mod notify;
mod owner;
mod project_schedules;
mod reporter;
mod run;
mod server;
mod state_folder;

pub use commands::{
    ScheduleState, StartedRun, exit_code, overview, pause, read_log, run_now, undelivered, upcoming,
};
pub use install::{
    FileChange, FileState, InstallRequest, InstallTarget, Installation, install, uninstall,
};
pub use notify::FailedDelivery;
pub use project_schedules::{ProjectSchedules, SchedulesRequest};
pub use server::{ServeRequest, ServeView, serve};
pub use state_folder::damage_text;
