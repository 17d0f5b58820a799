//! Runs tasks and commands over hosts: the engine, its driver, and the face that shows them.

mod drive;
mod find;
mod hosts;
mod request;
mod run;
mod visit;

pub use drive::{RunbookReport, perform};
pub use find::{LoadedTasks, load};
pub(super) use hosts::place_of_string;
pub use hosts::{HostsRequest, KnownHosts};
pub use request::{AdHoc, HostsView, RunbookRequest};
pub use visit::HostVisit;
