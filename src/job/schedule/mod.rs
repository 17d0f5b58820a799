//! Decides when the turn of a step comes: order, waiting, conditions, exclusion. The scheduler knows
//! steps by number and instances by handle; it evaluates nothing and changes no task.

mod admission;
mod exclusive;
mod order;
mod scheduler;
mod steps;
#[cfg(test)]
mod testing;
mod waits;

pub(super) use admission::Admission;
pub(super) use exclusive::Exclusive;
pub(super) use scheduler::{ADDED, Scheduler};
pub(super) use steps::Steps;
pub(super) use waits::{Awaited, Wait, Waits};
