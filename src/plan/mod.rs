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
mod repeat;
mod run;
mod sequence;
mod step;
mod unknown;
mod workflow;

pub use error::Error;
pub use goal::{AdHoc, ChangeDetection, Goal, Removal, Repair, Resumed, Workflow};
pub use leave::Leave;
pub use operation::{find_operation, operation_named};
pub use order::{left_out, refuse_cycles, template_order};
pub use planner::{Repeats, plan, plan_added};
pub use step::{Activity, Draft, Group, GroupId, Item, Plan, Reason, Step, StepId, Target, When};
pub use unknown::{refusal, without_effect};

#[cfg(test)]
mod tests;
