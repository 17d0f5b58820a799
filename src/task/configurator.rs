//! The contract of a configurator.

use std::path::Path;

use super::effect::{EffectResult, RunStep};
use super::outcome::RenderedTask;
use super::view::TaskView;
use crate::expr::{Error, LocalContext};
use crate::value::Map;

/// Why a task cannot run, in words that follow "could not run: ".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfiguratorRefusal(pub String);

/// One way to implement an operation. It decides; a runner acts.
pub trait Configurator: Send + Sync + std::fmt::Debug {
    /// The class name that records carry.
    fn class_name(&self) -> &'static str;

    /// Inputs that take no part in digests; none unless it names some.
    fn excluded_from_digest(&self) -> &'static [&'static str] {
        &[]
    }

    /// Adds inputs that stand for what the operation depends on besides what is written, so that a
    /// change of it is a change of the operation. The path is the folder of the ensemble.
    fn add_inputs(&self, _inputs: &mut Map, _local_context: &dyn LocalContext, _base_dir: &Path) {}

    /// Whether the task can take part in a dry run: where its input `dryrun` says so.
    fn can_dry_run(&self, task: &TaskView<'_>) -> Result<bool, Error> {
        Ok(task.input("dryrun")?.is_some_and(|value| value.is_truthy()))
    }

    /// Says whether this task can run now, or why not.
    fn can_run(&self, _task: &TaskView<'_>) -> Result<(), ConfiguratorRefusal> {
        Ok(())
    }

    /// Evaluates the inputs it needs; the files it wants come back as data.
    fn render(&self, task: &TaskView<'_>) -> Result<RenderedTask, Error>;

    /// Starts one run of the operation, a small state machine.
    fn begin(&self, rendered: RenderedTask) -> Box<dyn OperationRun>;
}

/// One run of an operation.
pub trait OperationRun: std::fmt::Debug {
    /// Takes the result of what it asked for, none at first, and says what comes next.
    fn step(&mut self, task: &TaskView<'_>, last: Option<EffectResult>) -> RunStep;
}

/// Why an operation has no configurator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChooseError {
    /// The operation has no implementation.
    #[error("the operation has no implementation")]
    NoImplementation,
    /// A task names an operation host.
    #[error("a task says by `hosts` where it runs, and not by `operation_host`")]
    TaskOnRemoteHost,
    /// No configurator has this name.
    #[error(
        "there is no configurator `{name}`{from}; known are Shell, Cmd, Template, Delegate, Task, States"
    )]
    Unknown {
        /// The name that the implementation gives.
        name: String,
        /// The artifact that asks for it, in words; empty if none does.
        from: String,
    },
    /// The implementation is a Python class.
    #[error("the Python class `{class}`{from} cannot be run; use a shell command instead")]
    PythonClass {
        /// The class.
        class: String,
        /// The artifact that asks for it, in words; empty if none does.
        from: String,
    },
    /// The implementation is an artifact that cannot be run.
    #[error("artifact `{0}` cannot be run: its type names no configurator")]
    Artifact(String),
}
