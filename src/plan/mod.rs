//! Decides what to do and why; touches nothing. A plan names instances that do not exist yet as
//! drafts; the job makes them.

mod delete;
mod deploy;
mod error;
mod goal;
mod leave;
mod operation;
mod order;
mod planner;
mod reconnect;
mod run;
mod sequence;
mod step;
mod unknown;
mod workflow;

pub use error::Error;
pub use goal::{AdHoc, ChangeDetection, Goal, Removal, Repair, Resumed, Workflow};
#[cfg(test)]
pub use leave::Leave;
pub use operation::{find_operation, operation_named};
#[cfg(test)]
pub use order::template_order;
pub use order::{left_out, refuse_cycles};
pub use planner::{Repeats, plan, plan_added};
#[cfg(test)]
pub use step::Step;
pub use step::{Activity, Group, GroupId, Item, Plan, Reason, StepId, Target, When};
pub use unknown::{refusal, without_effect};

#[cfg(test)]
mod tests;
