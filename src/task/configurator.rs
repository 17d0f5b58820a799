//! The traits that implementations of TOSCA operations provide: [`Configurator`] renders a task and
//! starts an [`OperationRun`], which the engine steps through. Also the errors for operations that have
//! no usable configurator.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;

use super::effect::{EffectResult, RunProgress, RunStep};
use super::outcome::RenderedTask;
use super::view::TaskView;
use super::work::TaskWork;
use crate::expr::{Error, LocalContext};
use crate::plan::CheckAbility;
use crate::value::{Map, Value};

/// The reason why a task cannot run, phrased to follow "could not run: ".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfiguratorRefusal(pub String);

/// A way to implement an operation, such as a shell command or a template.
///
/// A configurator only decides; a runner performs the effects.
pub trait Configurator: Send + Sync + std::fmt::Debug {
    /// The configurator's class name, as job records write it.
    fn class_name(&self) -> &'static str;

    /// Whether the operation runs on its `operation_host`. Others run on this machine, whatever the host is.
    fn runs_on_operation_host(&self) -> bool {
        false
    }

    /// Names of inputs that are left out of the task's digest. Empty by default.
    fn excluded_from_digest(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the key in the metadata of attributes that get the output of the same name. None by default.
    fn output_metadata(&self) -> Option<&'static str> {
        None
    }

    /// Returns the names of programs of which the configurator needs one. If the `PATH` has none, an artifact with such a name
    /// is installed first. None by default.
    fn programs(&self) -> &'static [&'static str] {
        &[]
    }

    /// Adds inputs for dependencies of the operation that its written inputs do not show, such as the
    /// content of a file.
    ///
    /// The digest covers them, so a change of such a dependency counts as a change of the operation.
    /// `base_dir` is the ensemble's folder.
    fn add_inputs(&self, _inputs: &mut Map, _local_context: &dyn LocalContext, _base_dir: &Path) {}

    /// Returns the files and folders that the operation reads because of the value of an input. A change of their contents
    /// counts as a change of the operation.
    fn files_of_input(
        &self,
        _name: &str,
        _value: &Value,
        _local_context: &dyn LocalContext,
        _base_dir: &Path,
    ) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Returns how the configurator can look at what an operation has made, without changing anything. `inputs` are
    /// those of the operation as written.
    ///
    /// If it compares, tasks with [`TaskSettings::check_only`](super::TaskSettings::check_only) must change nothing and
    /// report the differences.
    fn check_ability(&self, _inputs: &Map) -> CheckAbility {
        CheckAbility::Cannot
    }

    /// Whether the task can take part in a dry run. By default its input `dryrun` decides.
    fn can_dry_run(&self, task: &TaskView<'_>) -> Result<bool, Error> {
        Ok(task.input("dryrun")?.is_some_and(|value| value.is_truthy()))
    }

    /// Checks whether this task can run now, and returns the reason if it cannot.
    fn can_run(&self, _task: &TaskView<'_>) -> Result<(), ConfiguratorRefusal> {
        Ok(())
    }

    /// Evaluates the inputs that the run needs.
    ///
    /// Files to be written are returned as data; rendering itself writes none.
    fn render(&self, task: &TaskView<'_>) -> Result<RenderedTask, Error>;

    /// Describes the work of a task for people.
    ///
    /// `inputs` has the inputs evaluated as far as possible, `rendered` the data of the rendered task.
    fn work(&self, _inputs: &WorkInputs<'_>, _rendered: Option<&Value>) -> TaskWork {
        TaskWork::Configurator(self.class_name())
    }

    /// Starts one run of the operation.
    fn begin(&self, rendered: RenderedTask) -> Box<dyn OperationRun>;
}

/// The inputs of a task for a description of its work.
#[derive(Debug, Clone, Copy)]
pub struct WorkInputs<'a> {
    /// The inputs as written.
    pub written: &'a Map,
    /// The inputs that were evaluated.
    pub evaluated: &'a IndexMap<Arc<str>, Value>,
}

impl<'a> WorkInputs<'a> {
    /// Returns an input: its value, or else the input as written.
    pub fn get(&self, name: &str) -> Option<&'a Value> {
        let found = self.evaluated.get(name);
        let found = found.or_else(|| self.written.get(name));
        found.filter(|value| !value.is_null())
    }
}

/// A single run of an operation, implemented as a small state machine.
pub trait OperationRun: std::fmt::Debug {
    /// Takes the result of the last requested step (None at the first call) and returns the next one.
    fn step(&mut self, task: &TaskView<'_>, last: Option<EffectResult>) -> RunStep;

    /// Takes a line that the current command wrote to its stdout, if the command reports lines.
    ///
    /// Returns the progress to report. None by default.
    fn progress(&mut self, _line: &str) -> Option<RunProgress> {
        None
    }
}

/// The reason why an operation has no configurator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChooseError {
    #[error("the operation has no implementation")]
    NoImplementation,
    /// A task list over hosts also names an `operation_host`.
    #[error(
        "the configurator `Task` does not support `operation_host`; set its input `hosts` instead"
    )]
    TaskOnRemoteHost,
    #[error(
        "unknown configurator `{name}`{from}; supported are Shell, Cmd, Template, Delegate, Task, States, \
         Ansible, Terraform"
    )]
    Unknown {
        name: String,
        /// The artifact that names the configurator, phrased for the message; empty if there is none.
        from: String,
    },
    /// The implementation is a Python class, which this program cannot run.
    #[error("the Python class `{class}`{from} cannot be run; use a shell command instead")]
    PythonClass {
        class: String,
        /// The artifact that names the class, phrased for the message; empty if there is none.
        from: String,
    },
    /// The text of `primary` is neither an artifact nor a configurator nor a file.
    #[error(
        "`{0}` is the `primary` of the implementation, but no artifact, configurator or file, so nothing runs; for a \
         command, write `implementation: {0}`, or `primary: Cmd` with the input `cmd`"
    )]
    NoFile(String),
    /// The implementation is an artifact whose type names no configurator.
    #[error("artifact `{0}` cannot be run: its type names no configurator")]
    Artifact(String),
}
