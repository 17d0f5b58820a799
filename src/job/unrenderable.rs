//! Tasks that cannot be rendered: the reach of their errors, and the instances that stay because of them.

use super::engine::Engine;
use super::event::LogLevel;
use super::execution::{MAX_NAMES, first_names};
use super::schedule::Steps as _;
use super::task::TaskIndex;
use super::task_stage::{ErrorReach, TaskStage};
use crate::expr::Error;
use crate::name::Priority;
use crate::plan::StepId;
use crate::text::shlex_quote;

impl Engine {
    /// Returns the reach of an error in the values of a task.
    ///
    /// Unfurl (Python) begins no job with a value that cannot be evaluated, except to remove instances. An error
    /// without a trail comes from the configurator, which refuses its inputs.
    pub(super) fn reach_of(&self, step: StepId, error: &Error) -> ErrorReach {
        let is_refusal = error.trail().is_empty() && matches!(error, Error::Function { .. });
        if is_refusal || self.job_steps().removes(step) {
            ErrorReach::Task
        } else {
            ErrorReach::Job
        }
    }

    /// Gives up the job if an error of rendering reaches all of it, or if no task is left that can run. Returns
    /// whether it did.
    pub fn abort_if_unrenderable(&mut self) -> bool {
        let failed = self.unrenderable_tasks();
        if failed.is_empty() {
            return false;
        }
        let reaches_job = |index: &TaskIndex| {
            let task = &self.ledger.tasks[*index];
            let reach = match task.stage {
                TaskStage::Unrenderable(reach) => reach,
                _ => ErrorReach::Task,
            };
            task.spec.priority == Priority::Critical
                || reach == ErrorReach::Job && task.spec.priority >= Priority::Required
        };
        let mut serious: Vec<TaskIndex> = failed.iter().copied().filter(reaches_job).collect();
        if serious.is_empty() && !self.can_any_run() {
            serious.clone_from(&failed);
        }
        let hint = self.exclude_hint(if serious.is_empty() {
            &failed
        } else {
            &serious
        });
        if serious.is_empty() {
            let labels: Vec<_> = failed.iter().map(|index| self.label(*index)).collect();
            let text = format!(
                "cannot run: {}; the job runs everything that does not depend on {}; {hint}",
                first_names(&labels),
                if labels.len() == 1 { "it" } else { "them" },
            );
            self.log(LogLevel::Warning, text);
            return false;
        }
        let errors = serious.iter().map(|index| {
            let errors = self.ledger.tasks[*index].errors.join("; ");
            format!("{}: {errors}", self.label(*index))
        });
        let errors: Vec<_> = errors.collect();
        let text = format!(
            "there were errors during rendering: {}; {hint}",
            errors.join("; ")
        );
        self.log(LogLevel::Error, format!("Aborting job: {text}"));
        self.ledger.aborted = Some(text);
        true
    }

    fn unrenderable_tasks(&self) -> Vec<TaskIndex> {
        let tasks = self.ledger.tasks.iter().enumerate();
        let failed = tasks.filter(|(_, task)| matches!(task.stage, TaskStage::Unrenderable(_)));
        failed.map(|(index, _)| index).collect()
    }

    /// Whether the job has a step that can run before any other one has failed.
    fn can_any_run(&self) -> bool {
        let steps = self.job_steps();
        (0..self.plan.steps.len()).any(|step| match self.steps.tasks[step] {
            None => true,
            Some(task) => {
                let is_stopped = matches!(
                    self.ledger.tasks[task].stage,
                    TaskStage::Skipped(_) | TaskStage::Unrenderable(_)
                );
                !is_stopped && steps.includes(task) && !steps.is_conditional(step)
            }
        })
    }

    /// Returns a hint with the options that leave the instances of tasks out of the job.
    fn exclude_hint(&self, tasks: &[TaskIndex]) -> String {
        let mut names: Vec<String> = Vec::new();
        for index in tasks {
            let target = self.ledger.tasks[*index].spec.target;
            let owner = self.topology.source_of(target).unwrap_or(target);
            let name = shlex_quote(self.topology.entity(owner).name.as_str());
            if !names.contains(&name) {
                names.push(name);
            }
        }
        match names.len() {
            1 => format!("`--exclude {}` leaves the instance out", names[0]),
            2..=MAX_NAMES => {
                let options = names.join(" --exclude ");
                format!("`--exclude {options}` leaves the instances out")
            }
            _ => "`--exclude NAME` leaves an instance out".to_owned(),
        }
    }

    /// Notes an instance that stays because its removal cannot be rendered, so that the instances which it requires
    /// stay as well. Each instance is visited once in a job.
    pub(super) fn keep_requirements(&mut self, step: StepId) {
        let steps = self.job_steps();
        if self.options.goal.force || !steps.removes(step) {
            return;
        }
        let kept = steps.instance(step);
        let mut open = steps.required(kept);
        while let Some(required) = open.pop() {
            if required != kept && !self.kept.contains_key(&required) {
                self.kept.insert(required, kept);
                open.extend(self.job_steps().required(required));
            }
        }
    }

    /// Returns the reason why the instance that a step removes must stay. None if it can go.
    pub(super) fn kept_reason(&self, step: StepId) -> Option<String> {
        let steps = self.job_steps();
        let dependent = self.kept.get(&steps.instance(step)).copied()?;
        let dependent = steps.removes(step).then_some(dependent)?;
        let name = &self.topology.entity(dependent).name;
        Some(format!("`{name}` needs it and cannot be removed"))
    }
}
