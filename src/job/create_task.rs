//! Creation of tasks: their configurator, inputs, and the variables that their expressions see.

use std::sync::Arc;

use indexmap::IndexMap;

use super::change::DetectedChange;
use super::connections::CONNECTIONS;
use super::evaluation::Evaluation;
use super::task::{TargetState, Task, TaskInputs, TaskReads, TaskSpec, TaskWrites};
use super::task_stage::TaskStage;
use crate::expr::{Context, DirectoryOwner, Inputs, Var};
use crate::name::{OperationRef, Priority};
use crate::plan::Reason;
use crate::task::{ChooseError, Configurator};
use crate::tosca::Operation;
use crate::value::{Handle, Map, Value};

impl Evaluation<'_> {
    /// Creates a task. `inputs` override those of the operation.
    ///
    /// If no configurator can run the operation, the task carries the error.
    pub(super) fn make_task(
        &self,
        target: Handle,
        reference: OperationRef,
        operation: Arc<Operation>,
        inputs: Option<&Map>,
    ) -> Task {
        let (configurator, mut raw, errors) = self.configurator_of(&operation);
        if let Some(inputs) = inputs {
            raw.extend(
                inputs
                    .iter()
                    .map(|(name, value)| (Arc::clone(name), value.clone())),
            );
        }
        configurator.add_inputs(
            &mut raw,
            &*self.context.local_context,
            &self.options.base_dir,
        );
        let artifact = self.executed_artifact(target, &operation);
        self.add_arguments(target, artifact, &operation, &mut raw);
        let declared = raw.len();
        self.add_artifact_inputs(artifact, &operation, &mut raw);
        let context = self.context_of(target, &reference);
        Task {
            writes: TaskWrites::default(),
            spec: TaskSpec {
                target,
                reference,
                operation,
                configurator,
                artifact,
                reason: Reason::Run,
                priority: Priority::Required,
                start_state: None,
                group: None,
                step: None,
                is_final: false,
                is_for_added: false,
                parent: None,
                check_only: false,
                depth: 0,
            },
            inputs: TaskInputs {
                raw: Arc::new(raw),
                declared,
                context,
            },
            reads: TaskReads::default(),
            change: DetectedChange::None,
            outdated: None,
            changes: IndexMap::new(),
            errors,
            compared: Vec::new(),
            folders: Vec::new(),
            target_state: self.target_state(target),
            stage: TaskStage::Planned,
        }
    }

    /// Returns the current status and state of a target.
    fn target_state(&self, target: Handle) -> TargetState {
        let entity = self.topology.entity(target);
        TargetState {
            status: entity.local,
            state: entity.state,
        }
    }

    fn context_of(&self, target: Handle, reference: &OperationRef) -> Context {
        let mut context = Context::new(target);
        context.base_dir.clone_from(&self.options.base_dir);
        context.directory_owner = self.task_directories(target, reference);
        context
    }

    fn configurator_of(&self, operation: &Operation) -> (Arc<dyn Configurator>, Map, Vec<String>) {
        let chosen = (self.context.choose)(operation);
        let missing = self.missing_primary(operation);
        match missing.map_or(chosen, Err) {
            Ok((configurator, raw)) => (configurator, raw, Vec::new()),
            Err(error) => (
                Arc::new(UnrunnableConfigurator),
                Map::new(),
                vec![error.to_string()],
            ),
        }
    }

    /// Returns the error of a `primary` whose text names nothing that can run.
    fn missing_primary(&self, operation: &Operation) -> Option<ChooseError> {
        let system = &self.context.local_context;
        let service = self.topology.service();
        let base_dir = &self.options.base_dir;
        let text = service.missing_primary(operation, base_dir, &|path| system.exists(path))?;
        Some(ChooseError::NoFile(text.to_owned()))
    }

    fn task_directories(&self, target: Handle, reference: &OperationRef) -> DirectoryOwner {
        DirectoryOwner {
            instance: Some(self.directory_name(target).into()),
            operation: Some(reference.operation.shared()),
        }
    }

    /// Sets the variables that the task's expressions see.
    pub(super) fn set_task_variables(&self, task: &mut Task) {
        let workflow = self.plan_workflow(task);
        let settings = Value::map([
            ("verbose", Value::Int(0)),
            (
                "name",
                Value::from(format!("for {}: {}", task.spec.reason, task.spec.reference)),
            ),
            ("dryrun", Value::Bool(self.options.goal.dry_run)),
            ("workflow", Value::from(workflow)),
            (
                "operation",
                Value::str(task.spec.reference.operation.as_str()),
            ),
            (
                "timeout",
                Value::from(task.time_limit().map(|limit| limit.as_secs_f64())),
            ),
            (
                "target",
                Value::str(self.topology.entity(task.spec.target).local_name()),
            ),
            ("reason", Value::from(task.spec.reason.to_string())),
            (
                "cwd",
                Value::from(self.options.base_dir.display().to_string()),
            ),
        ]);
        let vars = &mut task.inputs.context.vars;
        for (name, value) in &self.options.vars {
            vars.set(name.as_str(), Var::Value(value.clone()));
        }
        vars.set("task", Var::Value(settings));
        let connections = self.connections_variable(task.spec.target, &task.spec.operation);
        vars.set(CONNECTIONS, connections);
        let artifact = task.spec.artifact;
        let artifact = artifact.map_or(Value::Null, |of| self.topology.reference(of));
        vars.set("implementation", Var::Value(artifact));
        if let Some(host) = self.operation_host(task.spec.target, &task.spec.operation) {
            vars.set("OPERATION_HOST", Var::Value(self.topology.reference(host)));
        }
        let arguments = Value::map([("eval", Value::from("$inputs::arguments"))]);
        vars.set("arguments", Var::Lazy(arguments));
        let inputs = Inputs::new(task.inputs.raw.as_ref().clone());
        vars.set("inputs", Var::Inputs(Arc::new(inputs)));
    }

    fn plan_workflow(&self, task: &Task) -> String {
        match self.workflow_of(task.spec.group) {
            Some(workflow) => workflow.to_string(),
            None => self.options.goal.workflow.as_str().to_owned(),
        }
    }
}

/// A placeholder for a missing configurator. The task's errors state what is missing.
#[derive(Debug)]
struct UnrunnableConfigurator;

impl Configurator for UnrunnableConfigurator {
    fn class_name(&self) -> &'static str {
        "unfurl.configurator.Configurator"
    }

    fn can_dry_run(&self, _task: &crate::task::TaskView<'_>) -> Result<bool, crate::expr::Error> {
        Ok(true)
    }

    fn render(
        &self,
        _task: &crate::task::TaskView<'_>,
    ) -> Result<crate::task::RenderedTask, crate::expr::Error> {
        Ok(crate::task::RenderedTask::default())
    }

    fn begin(&self, _rendered: crate::task::RenderedTask) -> Box<dyn crate::task::OperationRun> {
        Box::new(Self)
    }
}

impl crate::task::OperationRun for UnrunnableConfigurator {
    fn step(
        &mut self,
        _task: &crate::task::TaskView<'_>,
        _last: Option<crate::task::EffectResult>,
    ) -> crate::task::RunStep {
        crate::task::RunStep::Done(Box::default())
    }
}
