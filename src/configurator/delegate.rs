//! Delegate: another operation does the work (spec/unfurl.md § (k)).

use super::template::failed;
use crate::expr::Error;
use crate::task::{
    Configurator, EffectResult, Outcome, Progress, Rendered, Run, Subtask, TaskView,
};
use crate::value::{Map, Value};

/// Runs `operation` on `target` with `inputs`, if `when` holds.
#[derive(Debug)]
pub(super) struct Delegate;

impl Configurator for Delegate {
    fn class_name(&self) -> &'static str {
        "unfurl.configurators.DelegateConfigurator"
    }

    fn can_dry_run(&self, _task: &TaskView<'_>) -> Result<bool, Error> {
        Ok(true)
    }

    fn render(&self, task: &TaskView<'_>) -> Result<Rendered, Error> {
        let mut data = Map::new();
        for name in ["operation", "target", "inputs"] {
            if let Some(value) = task.input(name)? {
                data.insert(name.into(), value);
            }
        }
        task.input("when")?;
        Ok(Rendered {
            files: Vec::new(),
            data: Value::from(data),
        })
    }

    fn begin(&self, rendered: Rendered) -> Box<dyn Run> {
        Box::new(DelegateRun {
            request: rendered.data,
        })
    }
}

#[derive(Debug)]
struct DelegateRun {
    request: Value,
}

impl Run for DelegateRun {
    fn step(&mut self, task: &TaskView<'_>, last: Option<EffectResult>) -> Progress {
        match last {
            None => self.start(task),
            Some(EffectResult::Subtask(Some(outcome))) => Progress::Done(Box::new(outcome)),
            Some(_) => Progress::Done(Box::new(passed_over(task))),
        }
    }
}

impl DelegateRun {
    fn start(&self, task: &TaskView<'_>) -> Progress {
        match task.input("when") {
            Err(error) => return Progress::Done(Box::new(failed(&error))),
            Ok(Some(when)) if !when.is_truthy() => {
                let modified = Some(false);
                let outcome = Outcome {
                    success: true,
                    modified,
                    ..Outcome::default()
                };
                return Progress::Done(Box::new(outcome));
            }
            Ok(_) => {}
        }
        let own = || task.settings.operation.to_string();
        let operation = self.request.get("operation").and_then(Value::as_str);
        Progress::Subtask(Subtask {
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

fn passed_over(task: &TaskView<'_>) -> Outcome {
    let simulated = task.settings.dry_run && task.settings.operation.operation != "check";
    Outcome {
        success: true,
        modified: Some(simulated),
        ..Outcome::default()
    }
}
