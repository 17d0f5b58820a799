//! Implements `unfurl drift`: compares model, record and reality, and changes nothing but the drift record.

mod accept;
mod history;
mod hosts;
mod log;
mod look;
mod origin;
mod place;
mod recorded;
mod repair;
mod rules;
mod run;

pub use accept::{AcceptRequest, Accepted, WrittenRule, accept};
pub use hosts::{HostDriftRequest, drift_of_hosts};
pub use log::{DriftLog, read_log};
pub use recorded::RecordedDrift;
pub use repair::{DriftRepair, RepairScope, choose_repairs, repair};
pub use run::{DriftRequest, drift};
