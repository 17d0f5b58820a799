//! Job execution: runs a plan with its order, limits, and transitions of status and node state.
//!
//! [`Engine`] coordinates a job and is the only writer of the topology. It requests effects from a driver
//! (`exec`) and performs none itself.

mod added_instances;
mod adopted;
mod adopted_run;
mod artifact;
mod change;
mod change_diff;
mod check_run;
mod compare;
mod compared_file;
mod configurator_files;
mod connections;
mod create_task;
mod deferred_change;
mod digest;
pub mod drift;
mod engine;
mod evaluation;
mod event;
mod execution;
mod file_reads;
mod finish;
mod forecast;
mod found_statuses;
mod history;
mod instance_action;
mod instance_updates;
mod ledger;
mod live_attributes;
mod local_values;
mod missing_secret;
mod model_change;
mod operation_host;
mod options;
mod outcome_secrets;
mod partial_create;
mod plan_steps;
mod ports;
mod problem;
mod proposal;
mod proposed_values;
mod proposing;
mod query_trace;
mod reads;
mod reason_text;
mod recorded_form;
mod recording;
mod recovery;
mod render;
mod report;
mod schedule;
mod start;
mod start_check;
mod subtask;
mod task;
mod task_record;
mod task_stage;
mod task_tool;
mod task_view;
mod unrenderable;
mod usual_times;
mod wait_conditions;

pub use adopted::Adopted;
pub use change::DetectedChange;
pub use change_diff::{Comparison, Difference, DifferenceKind, DifferenceSide};
#[cfg(test)]
pub use digest::SecretDigest;

pub use digest::TaskDigest;
pub use engine::{Engine, EngineParts};
pub use event::{
    Error, EventJournal, EventSink, InstanceChange, JobEvent, JobFacts, JobHead, JobStart,
    JournalError, LogLevel, NullJournal,
};
pub use execution::{JobPorts, JobProgress};
pub use forecast::Forecast;
pub use found_statuses::apply_found_statuses;
pub use history::{LastOperation, OperationHistory, RecordedReads, UnfinishedWork};
pub use instance_action::InstanceAction;
pub use options::{JobOptions, Recording};
pub use partial_create::mark_unfinished_instances;
pub use ports::{DigestKeyProvider, FolderKey, HostLocator, PortError, TaskFolders};
pub use problem::explain_error;
pub use proposal::{Proposal, ProposalExtent, ProposedTask, ProposedValue, Readiness};
pub use query_trace::traced_query;
#[cfg(test)]
pub use report::ReportedValues;
pub use report::{FinishedJob, JobQueries, Report, ReportedTask, StepState};
pub use task::{TargetState, TaskIndex};
pub use task_record::{Completion, TaskRecord};
#[cfg(test)]
pub use task_record::{DependencyRecord, TargetName, TaskData, TaskEnd, TaskUnit};
pub use usual_times::PastRun;
