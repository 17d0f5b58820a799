//! Planning: decides which operations run on which instances, in which order, and why.
//!
//! [`plan`] turns a [`JobGoal`] and a topology into a [`Plan`]. A plan names instances that do not exist
//! yet as drafts; the job creates them. This module changes nothing and runs nothing.

mod check_ability;
mod delete;
mod deploy;
mod error;
mod goal;
mod look;
mod name_suggestions;
mod no_action;
mod operation;
mod order;
mod planner;
mod reconnect;
mod repair;
mod run;
mod sequence;
mod step;
mod workflow;

pub use check_ability::CheckAbility;
pub use error::Error;
pub use goal::{AdHoc, ChangeDetection, JobGoal, Removal, Repair, ResumedPlan, WorkflowKind};
pub use name_suggestions::{diagnose_error, unknown_names};
#[cfg(test)]
pub use no_action::NoActionReason;
pub use operation::{find_operation, parse_operation_name};
#[cfg(test)]
pub use order::template_order;
pub use order::{exclusion_reason, refuse_cycles};
pub use planner::{RepeatPolicy, plan, plan_added};
#[cfg(test)]
pub use step::PlanStep;
pub use step::{
    GroupId, Plan, PlanItem, Reason, RunCondition, StepActivity, StepGroup, StepId, StepTarget,
};

#[cfg(test)]
mod tests;
