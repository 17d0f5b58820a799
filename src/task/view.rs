//! The view that a configurator has of its task: settings, inputs, and access to this machine through
//! traits.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::tool::ToolProvider;
use crate::expr::{Context, Error, Evaluator, LocalContext, Read, Var};
use crate::host::services::HostServices;
use crate::host::{Location, Variables};
use crate::name::{OperationRef, Status};
use crate::topology::InventoryHost;
use crate::value::{Map, Value};

/// The settings of a task that do not depend on its inputs.
#[derive(Debug, Clone, Copy)]
pub struct TaskSettings<'a> {
    pub operation: &'a OperationRef,
    /// The outputs of the operation with the attributes that they set, as written.
    pub outputs: &'a Map,
    /// Whether the run must not change anything.
    pub dry_run: bool,
    /// Whether the run only compares what the operation has made with what it would make now. Such a run must change
    /// nothing.
    pub check_only: bool,
    /// The ensemble's folder, in which commands run.
    pub base_dir: &'a Path,
    /// The longest time that a command may run.
    pub time_limit: Option<Duration>,
    /// Whether output of commands is shown while they run.
    pub echo: bool,
    /// The maximum size of long outputs of a command that are kept whole.
    pub capture: u64,
    /// The target's own status, without its dependencies.
    pub target_status: Option<Status>,
}

/// A task as its configurator sees it.
#[derive(Clone, Copy)]
pub struct TaskView<'a> {
    pub settings: TaskSettings<'a>,
    /// The inputs as written, not evaluated.
    pub inputs: &'a Map,
    evaluator: &'a Evaluator,
    context: &'a Context,
    environment: &'a dyn EnvironmentProvider,
    local_context: &'a dyn LocalContext,
    /// Variables that override those that the methods get as values.
    variables: &'a [(Arc<str>, Var)],
}

/// Provides the environment of a task's commands on demand.
pub trait EnvironmentProvider: ToolProvider {
    /// Returns the complete set of environment variables.
    fn variables(&self) -> Result<Variables, Error>;

    /// Returns the machine that the operation names as its host.
    fn machine(&self) -> Result<OperationHost, Error>;

    /// Returns the variables that the operation adds to the environment of its commands.
    fn added_variables(&self) -> Result<Variables, Error>;

    /// Returns the machine on which a playbook of the operation runs, as a host of an inventory. None stands for this
    /// machine.
    fn inventory_host(&self) -> Result<Option<InventoryHost>, Error>;

    /// Returns the services that a run of a task list over these hosts needs.
    ///
    /// Hosts that are instances of the topology are reached as the model describes.
    fn host_services(&self, hosts: &[String]) -> Result<HostServices, Error>;
}

/// The machine on which an operation runs.
#[derive(Debug, Clone, Default)]
pub struct OperationHost {
    pub location: Location,
    /// Environment variables that the operation adds on that machine.
    pub variables: Variables,
    /// An identifier of this run of the operation that is unique and safe in file names.
    pub key: String,
}

impl std::fmt::Debug for dyn EnvironmentProvider + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Environment")
    }
}

impl std::fmt::Debug for TaskView<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskView")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl<'a> TaskView<'a> {
    /// Creates a view of a task. `ports` gives access to the commands' environment and to this machine.
    pub fn new(
        settings: TaskSettings<'a>,
        inputs: &'a Map,
        evaluator: &'a Evaluator,
        context: &'a Context,
        ports: (&'a dyn EnvironmentProvider, &'a dyn LocalContext),
    ) -> Self {
        let (environment, local_context) = ports;
        Self {
            settings,
            inputs,
            evaluator,
            context,
            environment,
            local_context,
            variables: &[],
        }
    }

    /// Returns the view with variables that override those that the methods get as values.
    #[must_use]
    pub fn with_variables<'b>(self, variables: &'b [(Arc<str>, Var)]) -> TaskView<'b>
    where
        'a: 'b,
    {
        TaskView { variables, ..self }
    }

    /// Evaluates an input. The read is recorded as a dependency of the task.
    pub fn input(&self, name: &str) -> Result<Option<Value>, Error> {
        if self.inputs.contains_key(name) {
            self.evaluator.input(name, self.context)
        } else {
            Ok(None)
        }
    }

    /// Returns true if the task has read an input.
    pub fn has_read_input(&self, name: &str) -> bool {
        self.evaluator.has_read(&Read::Input(name.into()))
    }

    /// Takes the last error that occurred while evaluating for the task.
    pub fn take_failure(&self) -> Option<Error> {
        self.evaluator.take_failure()
    }

    /// Evaluates an input and converts its value to text. Null counts as missing.
    pub fn input_text(&self, name: &str) -> Result<Option<String>, Error> {
        let value = self.input(name)?.filter(|value| !value.is_null());
        Ok(value.map(|value| value.reveal().to_string()))
    }

    /// Returns an input as written. This does not record a read.
    pub fn raw_input(&self, name: &str) -> Option<&Value> {
        self.inputs.get(name).filter(|value| !value.is_null())
    }

    /// Evaluates an expression with additional variables.
    pub fn evaluate_with(&self, raw: &Value, variables: &Map) -> Result<Value, Error> {
        self.evaluator.evaluate(raw, &self.context_with(variables))
    }

    fn context_with(&self, variables: &Map) -> Context {
        let mut context = self.context.clone();
        for (name, value) in variables {
            context.vars.set(name.clone(), Var::Value(value.clone()));
        }
        for (name, variable) in self.variables {
            context.vars.set(name.clone(), variable.clone());
        }
        context
    }

    /// Evaluates a value that is a document: a text that renders to YAML, or a map or list.
    ///
    /// Output of commands gives values for the scalars of a text, and never its structure. Returns whether
    /// the value was a text.
    pub fn evaluate_document(&self, raw: &Value, variables: &Map) -> Result<(Value, bool), Error> {
        let context = self.context_with(variables);
        self.evaluator.evaluate_document(raw, &context)
    }

    /// Marks a value from outside as data, which is never evaluated.
    pub fn foreign(&self, value: Value) -> Value {
        self.evaluator.foreign(value)
    }

    /// Whether a program of this name can be run in the task's environment.
    pub fn has_program(&self, name: &str) -> bool {
        self.local_context.which(name).is_some()
    }

    /// Returns the machine that the operation names as its host. Values read to find it are recorded as
    /// dependencies.
    pub fn machine(&self) -> Result<OperationHost, Error> {
        self.environment.machine()
    }

    /// Returns the services for a run of a task list over hosts. Values read to find the hosts are
    /// recorded as dependencies.
    pub fn host_services(&self, hosts: &[String]) -> Result<HostServices, Error> {
        self.environment.host_services(hosts)
    }

    /// Returns what a tool with a state of its own needs to know about the task.
    pub fn tool(&self) -> &'a dyn ToolProvider {
        self.environment
    }

    /// Returns access to this machine, for bounded reads.
    pub fn local_context(&self) -> &'a dyn LocalContext {
        self.local_context
    }

    /// Whether a path of this machine is an existing file (not a folder).
    pub fn has_file(&self, path: &Path) -> bool {
        self.local_context.exists(path) && !self.local_context.is_dir(path)
    }

    /// Returns the folder in which the files of the task are rendered.
    pub fn work_folder(&self) -> Result<PathBuf, Error> {
        let owner = &self.context.directory_owner;
        let folder = self.local_context.directory(owner, "operation");
        folder.map_err(|problem| Error::Function {
            function: "get_dir".to_owned(),
            problem: problem.to_string(),
        })
    }

    /// Returns the variables that the operation adds to the environment of its commands.
    pub fn added_variables(&self) -> Result<Variables, Error> {
        self.environment.added_variables()
    }

    /// Returns the machine on which a playbook of the operation runs, as a host of an inventory. None stands for this
    /// machine. Values read to find it are recorded as dependencies.
    pub fn inventory_host(&self) -> Result<Option<InventoryHost>, Error> {
        self.environment.inventory_host()
    }

    /// Returns the complete environment of the task's commands.
    pub fn environment(&self) -> Result<Variables, Error> {
        self.environment.variables()
    }
}
