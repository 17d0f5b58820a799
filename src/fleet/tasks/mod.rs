//! Runs tasks and commands over hosts: joins the task engine to the driver and to a view.
//!
//! The module `tasks` of the crate decides what runs where; this module performs it.

mod find;
mod request;
mod run_tasks;
mod tasks_run;

pub use find::{LoadedTasks, find_tasks};
pub use request::{AdHocTask, HostsView, TasksRequest};
pub use run_tasks::{TasksReport, run_tasks};
