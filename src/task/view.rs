//! What a configurator sees of its task.

use std::path::Path;
use std::time::Duration;

use crate::expr::{Context, Error, Evaluator, LocalContext, Var};
use crate::host::services::HostServices;
use crate::host::{Location, Variables};
use crate::name::{OperationRef, Status};
use crate::value::{Map, Value};

/// What holds for a task whatever its inputs.
#[derive(Debug, Clone, Copy)]
pub struct TaskSettings<'a> {
    /// The operation.
    pub operation: &'a OperationRef,
    /// Whether nothing may be changed.
    pub dry_run: bool,
    /// The folder of the ensemble, in which commands run.
    pub base_dir: &'a Path,
    /// How long a command may run.
    pub time_limit: Option<Duration>,
    /// Whether the output of commands is shown while they run.
    pub echo: bool,
    /// The target's own status.
    pub target_status: Option<Status>,
}

/// One task, as its configurator sees it.
#[derive(Clone, Copy)]
pub struct TaskView<'a> {
    /// What does not change.
    pub settings: TaskSettings<'a>,
    /// The inputs as they were written.
    pub inputs: &'a Map,
    evaluator: &'a Evaluator,
    context: &'a Context,
    environment: &'a dyn EnvironmentProvider,
    local_context: &'a dyn LocalContext,
}

/// Gives the environment of a task's commands when it is asked for.
pub trait EnvironmentProvider {
    /// The complete environment.
    fn variables(&self) -> Result<Variables, Error>;

    /// The machine that the operation names as its host.
    fn machine(&self) -> Result<OperationHost, Error>;

    /// What a run of tasks over hosts needs; those of the hosts that are instances are reached as
    /// the model says.
    fn helpers(&self, hosts: &[String]) -> Result<HostServices, Error>;
}

/// The machine on which an operation runs.
#[derive(Debug, Clone, Default)]
pub struct OperationHost {
    /// Where it is.
    pub location: Location,
    /// What the operation adds to the environment there.
    pub variables: Variables,
    /// Tells this run of the operation from all others, in characters that are good in file names.
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
    /// A view of a task; `hands` are its commands' environment and this machine.
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
        }
    }

    /// The value of an input; reading it counts.
    pub fn input(&self, name: &str) -> Result<Option<Value>, Error> {
        if self.inputs.contains_key(name) {
            self.evaluator.input(name, self.context)
        } else {
            Ok(None)
        }
    }

    /// The last error of what was evaluated for the task.
    pub fn take_failure(&self) -> Option<Error> {
        self.evaluator.take_failure()
    }

    /// The value of an input that is a string, or of anything printed as one.
    pub fn input_text(&self, name: &str) -> Result<Option<String>, Error> {
        let value = self.input(name)?.filter(|value| !value.is_null());
        Ok(value.map(|value| value.reveal().to_string()))
    }

    /// An input as it was written; looking at it does not count as reading it.
    pub fn raw(&self, name: &str) -> Option<&Value> {
        self.inputs.get(name).filter(|value| !value.is_null())
    }

    /// Evaluates something with further variables.
    pub fn evaluate_with(&self, raw: &Value, variables: &Map) -> Result<Value, Error> {
        let mut context = self.context.clone();
        for (name, value) in variables {
            context.vars.set(name.clone(), Var::Value(value.clone()));
        }
        self.evaluator.evaluate(raw, &context)
    }

    /// Reads YAML text.
    pub fn parse_yaml(&self, text: &str) -> Result<Value, Error> {
        self.local_context
            .parse_yaml(text)
            .map_err(|problem| Error::Function {
                function: "resultTemplate".to_owned(),
                problem: problem.to_string(),
            })
    }

    /// Whether a program of this name can be run in the task's environment.
    pub fn has_program(&self, name: &str) -> bool {
        self.local_context.which(name).is_some()
    }

    /// The machine that the operation names as its host; what is read to find it counts.
    pub fn machine(&self) -> Result<OperationHost, Error> {
        self.environment.machine()
    }

    /// What a run of tasks over hosts needs; what is read to find the hosts counts.
    pub fn helpers(&self, hosts: &[String]) -> Result<HostServices, Error> {
        self.environment.helpers(hosts)
    }

    /// This machine, for bounded reads.
    pub fn local_context(&self) -> &'a dyn LocalContext {
        self.local_context
    }

    /// Whether there is a file at a path of this machine.
    pub fn has_file(&self, path: &Path) -> bool {
        self.local_context.exists(path) && !self.local_context.is_dir(path)
    }

    /// The complete environment of the task's commands.
    pub fn environment(&self) -> Result<Variables, Error> {
        self.environment.variables()
    }
}
