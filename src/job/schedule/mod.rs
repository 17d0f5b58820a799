//! Scheduling: decides when a step may start, from order, waits, conditions and exclusion.
//!
//! The scheduler knows steps by number and instances by handle. It evaluates nothing and changes no task.

mod admission;
mod exclusive;
mod order;
mod scheduler;
mod steps;
#[cfg(test)]
mod testing;
mod wait_set;

pub(super) use admission::Admission;
pub(super) use exclusive::ExclusiveNodes;
pub(super) use scheduler::{ADDED_RANK, Scheduler};
pub(super) use steps::Steps;
pub(super) use wait_set::{AwaitedAttribute, WaitKind, WaitSet};
