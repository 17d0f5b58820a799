//! Tasks and commands over hosts: the engine joined to its driver, and the face that shows them.

mod drive;
mod find;
mod request;
mod run;

pub use drive::{RunbookReport, run_tasks};
pub use find::{LoadedTasks, find_tasks};
pub use request::{AdHoc, HostsView, RunbookRequest};
