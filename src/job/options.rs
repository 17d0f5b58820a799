//! How a job is run.

use std::path::PathBuf;
use std::sync::Arc;

use crate::host::ExecutorChain;
use crate::plan::JobGoal;

/// How much of a job is recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Recording {
    /// Nothing: it does not run, or nobody wants its record.
    #[default]
    Disabled,
    /// Its record, made when it has ended.
    AtEnd,
    /// Each event as it happens, and its record.
    Journal,
}

/// How a job is run.
#[derive(Debug, Clone)]
pub struct JobOptions {
    /// What it is to reach.
    pub goal: JobGoal,
    /// What tells the ensemble from all others.
    pub ensemble: String,
    /// When it starts: the basis of its change ids.
    pub start: jiff::Timestamp,
    /// How many tasks may run at the same time; 1 gives upstream's order exactly.
    pub parallel: usize,
    /// The folder of the ensemble.
    pub base_dir: PathBuf,
    /// Whether the output of commands is shown while they run.
    pub echo: bool,
    /// The process's environment with the rules of the ensemble's environment applied.
    pub environment: Vec<(String, String)>,
    /// The executors that the commands of operations go through, if any.
    pub chain: Option<Arc<ExecutorChain>>,
    /// Variables that the user gave to all expressions.
    pub vars: Vec<(String, String)>,
}
