//! Runs a plan: order, limits, transitions of status and node state. The coordinator is the only
//! writer of the topology; it asks a runner for effects and performs none itself.

mod added;
mod artifact;
mod because;
mod begun;
mod cause;
mod change;
mod compare;
mod create;
mod cut_off;
mod digest;
mod drive;
mod elsewhere;
mod engine;
mod evaluation;
mod event;
mod finish;
mod gate;
mod history;
mod ledger;
mod live;
mod model;
mod observe;
mod options;
mod plan_steps;
mod problem;
mod proposal;
mod recording;
mod render;
mod report;
mod schedule;
mod stage;
mod start;
mod subtask;
mod task;
mod task_record;
mod undecided;
mod update;
mod view;
mod wait;
mod withheld;
mod world;

pub use begun::mark_left;
pub use cause::{Comparison, Difference, DifferenceKind, Side};
pub use change::Change;
pub use digest::Digest;
#[cfg(test)]
pub use digest::SecretDigest;
pub use drive::{Ports, Progress};
pub use engine::{Engine, Parts};
pub use event::{
    Error, Event, InstanceChange, JobFacts, JobHead, JobStart, Journal, JournalError, Level,
    NoJournal, Sink,
};
pub use history::{CutOff, History, LastOperation, Recorded};
pub use options::{JobOptions, Recording};
pub use problem::explain;
pub use proposal::{Proposal, ProposedTask, Readiness};
#[cfg(test)]
pub use report::ReportedValues;
pub use report::{FinishedJob, Questions, Report, ReportedTask, StepState};
pub use task::{TargetState, TaskIndex};
pub use task_record::{Completion, TaskRecord};
#[cfg(test)]
pub use task_record::{DependencyRecord, TargetName, TaskData, TaskEnd, TaskTurn};
pub use world::{FolderKey, Folders, Keys, Places, PortError};
