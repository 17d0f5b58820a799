//! Runs tasks and commands over hosts: the engine, the runner, and the face that shows them.

mod drive;
mod find;
mod hosts;
mod visit;

pub use drive::{AdHoc, HostsView, RunbookReport, RunbookRequest, perform};
pub use find::{LoadedTasks, load};
pub(super) use hosts::place_of_string;
pub use hosts::{HostsRequest, KnownHosts};
pub use visit::HostVisit;
