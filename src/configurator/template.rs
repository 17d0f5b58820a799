//! The Template configurator: starts no process; the result is the value of its inputs (rule U-k).

use super::result_template::{apply_done, apply_result_template, set_attributes};
use crate::expr::Error;
use crate::plan::CheckAbility;
use crate::task::{
    Configurator, EffectResult, OperationRun, RenderedTask, RunStep, TaskOutcome, TaskView,
    TaskWork, WorkInputs,
};
use crate::value::{Map, Value};

/// Evaluates `run` and `done` and applies `resultTemplate`.
#[derive(Debug)]
pub(super) struct TemplateConfigurator;

impl Configurator for TemplateConfigurator {
    fn class_name(&self) -> &'static str {
        "unfurl.configurators.TemplateConfigurator"
    }

    fn excluded_from_digest(&self) -> &'static [&'static str] {
        &["resultTemplate", "done"]
    }

    fn check_ability(&self, _inputs: &Map) -> CheckAbility {
        // The job compares the files that the expressions of the task write.
        CheckAbility::Compares
    }

    fn render(&self, task: &TaskView<'_>) -> Result<RenderedTask, Error> {
        let dry = if task.settings.dry_run {
            task.input("dryrun")?
        } else {
            None
        };
        let data = match dry.filter(|value| value.as_map().is_some()) {
            Some(value) => value,
            None => task.input("run")?.unwrap_or(Value::Null),
        };
        Ok(RenderedTask {
            files: Vec::new(),
            data,
        })
    }

    fn work(&self, inputs: &WorkInputs<'_>, _rendered: Option<&Value>) -> TaskWork {
        TaskWork::Attributes(set_attributes(inputs.written.get("resultTemplate")))
    }

    fn begin(&self, rendered: RenderedTask) -> Box<dyn OperationRun> {
        Box::new(TemplateRun {
            result: rendered.data,
        })
    }
}

/// The run of a Template task, which ends at once.
#[derive(Debug)]
struct TemplateRun {
    result: Value,
}

impl OperationRun for TemplateRun {
    fn step(&mut self, task: &TaskView<'_>, _last: Option<EffectResult>) -> RunStep {
        RunStep::Done(Box::new(self.outcome(task)))
    }
}

impl TemplateRun {
    fn outcome(&self, task: &TaskView<'_>) -> TaskOutcome {
        let mut outcome = TaskOutcome {
            success: true,
            ..TaskOutcome::default()
        };
        let done = match task.input("done") {
            Ok(done) => done.filter(|done| !done.is_null()),
            Err(error) => return error_outcome(&error),
        };
        outcome.result = Some(self.default_result(done.as_ref()));
        if let Some(done) = &done {
            apply_done(done, &mut outcome);
            if !outcome.errors.is_empty() {
                return outcome;
            }
        }
        let variables = outcome.result.as_ref().and_then(Value::marked_entries);
        apply_result_template(task, &variables.unwrap_or_default(), &mut outcome);
        if !outcome.errors.is_empty() {
            outcome.success = false;
        }
        outcome
    }

    fn default_result(&self, done: Option<&Value>) -> Value {
        if self.result.as_map().is_some() {
            return self.result.clone();
        }
        let outputs = done
            .and_then(Value::marked_entries)
            .and_then(|done| done.get("outputs").cloned())
            .unwrap_or(Value::Null);
        Value::from(Map::from_iter([
            ("run".into(), self.result.clone()),
            ("outputs".into(), outputs),
        ]))
    }
}

/// Returns the outcome for an error during a run. The effect is unknown, so the target gets the status
/// error.
pub(super) fn error_outcome(error: &Error) -> TaskOutcome {
    TaskOutcome {
        success: false,
        status: Some(crate::name::Status::Error),
        errors: vec![error.to_string()],
        result: None,
        ..TaskOutcome::default()
    }
}
