//! Runs a plan: order, limits, transitions of status and node state. The coordinator is the only
//! writer of the topology; it asks a runner for effects and performs none itself.

mod added_instances;
mod artifact;
mod reason_text;
mod partial_create;
mod change_diff;
mod change;
mod compare;
mod create_task;
mod recovery;
mod digest;
mod execution;
mod operation_host;
mod engine;
mod evaluation;
mod event;
mod finish;
mod start_check;
mod history;
mod ledger;
mod live_attributes;
mod model_change;
mod reads;
mod options;
mod plan_steps;
mod problem;
mod proposal;
mod recording;
mod render;
mod report;
mod schedule;
mod task_stage;
mod start;
mod subtask;
mod task;
mod task_record;
mod deferred_change;
mod instance_updates;
mod task_view;
mod wait_conditions;
mod missing_secret;
mod ports;

pub use partial_create::mark_unfinished_instances;
pub use change_diff::{Comparison, Difference, DifferenceKind, DifferenceSide};
pub use change::DetectedChange;
pub use digest::TaskDigest;
#[cfg(test)]
pub use digest::SecretDigest;
pub use execution::{JobPorts, JobProgress};
pub use engine::{Engine, EngineParts};
pub use event::{
    Error, JobEvent, InstanceChange, JobFacts, JobHead, JobStart, EventJournal, JournalError, LogLevel,
    NullJournal, EventSink,
};
pub use history::{UnfinishedWork, OperationHistory, LastOperation, RecordedReads};
pub use options::{JobOptions, Recording};
pub use problem::explain_error;
pub use proposal::{Proposal, ProposedTask, Readiness};
#[cfg(test)]
pub use report::ReportedValues;
pub use report::{FinishedJob, JobQueries, Report, ReportedTask, StepState};
pub use task::{TargetState, TaskIndex};
pub use task_record::{Completion, TaskRecord};
#[cfg(test)]
pub use task_record::{DependencyRecord, TargetName, TaskData, TaskEnd, TaskTurn};
pub use ports::{FolderKey, TaskFolders, DigestKeyProvider, HostLocator, PortError};
