//! Tasks and commands over hosts: the engine joined to its driver, and the face that shows them.

mod find;
mod request;
mod run_tasks;
mod tasks_run;

pub use find::{LoadedTasks, find_tasks};
pub use request::{AdHocTask, HostsView, TasksRequest};
pub use run_tasks::{TasksReport, run_tasks};
