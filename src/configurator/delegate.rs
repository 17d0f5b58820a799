//! The Delegate configurator: runs another operation as a subtask (rule U-k).

use super::template::error_outcome;
use crate::expr::Error;
use crate::plan::CheckAbility;
use crate::task::{
    Configurator, EffectResult, OperationRun, RenderedTask, RunStep, Subtask, TaskOutcome,
    TaskView, TaskWork, WorkInputs,
};
use crate::value::{Map, Value};

/// Runs `operation` on `target` with `inputs`, if `when` is true.
#[derive(Debug)]
pub(super) struct DelegateConfigurator;

impl Configurator for DelegateConfigurator {
    fn class_name(&self) -> &'static str {
        "unfurl.configurators.DelegateConfigurator"
    }

    fn check_ability(&self, inputs: &Map) -> CheckAbility {
        match inputs.get("target").filter(|target| !target.is_null()) {
            None => CheckAbility::Compares,
            Some(target) if target.as_str() == Some("SELF") => CheckAbility::Compares,
            // The other instance has a check of its own.
            Some(_) => CheckAbility::MakesNothing,
        }
    }

    fn can_dry_run(&self, _task: &TaskView<'_>) -> Result<bool, Error> {
        Ok(true)
    }

    fn render(&self, task: &TaskView<'_>) -> Result<RenderedTask, Error> {
        let mut data = Map::new();
        for name in ["operation", "target", "inputs"] {
            if let Some(value) = task.input(name)? {
                data.insert(name.into(), value);
            }
        }
        task.input("when")?;
        Ok(RenderedTask {
            files: Vec::new(),
            data: Value::from(data),
        })
    }

    fn work(&self, inputs: &WorkInputs<'_>, _rendered: Option<&Value>) -> TaskWork {
        let text = |name| {
            inputs
                .get(name)
                .map(|value: &Value| value.redacted().to_string())
        };
        match text("operation") {
            Some(operation) => TaskWork::Operation {
                operation,
                target: text("target"),
            },
            None => TaskWork::Configurator(self.class_name()),
        }
    }

    fn begin(&self, rendered: RenderedTask) -> Box<dyn OperationRun> {
        Box::new(DelegateRun {
            request: rendered.data,
        })
    }
}

/// The run of a Delegate task: waits for its subtask.
#[derive(Debug)]
struct DelegateRun {
    request: Value,
}

impl OperationRun for DelegateRun {
    fn step(&mut self, task: &TaskView<'_>, last: Option<EffectResult>) -> RunStep {
        match last {
            None => self.start(task),
            Some(EffectResult::Subtask(Some(outcome))) => RunStep::Done(Box::new(outcome)),
            Some(_) => RunStep::Done(Box::new(skipped_outcome(task))),
        }
    }
}

impl DelegateRun {
    fn start(&self, task: &TaskView<'_>) -> RunStep {
        match task.input("when") {
            Err(error) => return RunStep::Done(Box::new(error_outcome(&error))),
            Ok(Some(when)) if !when.is_truthy() => {
                let modified = Some(false);
                let outcome = TaskOutcome {
                    success: true,
                    modified,
                    ..TaskOutcome::default()
                };
                return RunStep::Done(Box::new(outcome));
            }
            Ok(_) => {}
        }
        let own = || task.settings.operation.to_string();
        let operation = self.request.get("operation").and_then(Value::as_str);
        RunStep::Subtask(Subtask {
            operation: operation.map_or_else(own, str::to_owned),
            target: self
                .request
                .get("target")
                .filter(|target| !target.is_null())
                .cloned(),
            inputs: self.request.get("inputs").cloned().unwrap_or(Value::Null),
            control: &["operation", "target", "inputs", "when", "arguments"],
        })
    }
}

fn skipped_outcome(task: &TaskView<'_>) -> TaskOutcome {
    let simulated = task.settings.dry_run && task.settings.operation.operation != "check";
    TaskOutcome {
        success: true,
        modified: Some(simulated),
        ..TaskOutcome::default()
    }
}
