//! Options of a job run: the goal, the limits, and how much is recorded.

use std::path::PathBuf;
use std::sync::Arc;

use super::adopted::Adopted;
use crate::host::{ExecutorChain, Variables};
use crate::plan::JobGoal;
use crate::value::Value;

/// How much of a job is recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Recording {
    /// No record: the job only plans, or the record is not wanted.
    #[default]
    Disabled,
    /// The record is written when the job has ended.
    AtEnd,
    /// Each event is journaled as it happens, and the record is written at the end.
    Journal,
}

/// The options of one job run. They do not change while it runs.
#[derive(Debug, Clone)]
pub struct JobOptions {
    pub goal: JobGoal,
    /// The unique identity of the ensemble, part of idempotency keys.
    pub ensemble: String,
    /// The start time, from which change ids are derived.
    pub start: jiff::Timestamp,
    /// The maximum number of tasks that run in parallel. With 1, the order is exactly that of Unfurl
    /// (Python).
    pub parallel: usize,
    pub base_dir: PathBuf,
    /// Whether output of commands is shown while they run.
    pub echo: bool,
    /// The maximum size of long outputs of a command that are kept whole.
    pub capture: u64,
    /// The process environment with the rules of the ensemble's environment applied.
    pub environment: Variables,
    /// The executors through which commands of operations run.
    pub chain: Option<Arc<ExecutorChain>>,
    /// The instances that exist already and are taken over.
    pub adopted: Vec<Adopted>,
    /// Variables that the user sets for all expressions.
    pub vars: Vec<(String, Value)>,
}
