//! Rendering: decides which tasks are skipped, which must wait for others, and which are ready to run.

use super::change::DetectedChange;
use super::compare::RecordComparison;
use super::deferred_change::UnchangedStep;
use super::engine::Engine;
use super::evaluation::Evaluation;
use super::event::LogLevel;
use super::ports::TaskFolders;
use super::recorded_form::{can_be_equal, is_reference};
use super::schedule::{Steps as _, WaitKind};
use super::task::{Task, TaskIndex};
use super::task_stage::{ErrorReach, TaskStage};
use crate::expr::{Error, Reads};
use crate::plan::{ChangeDetection, Reason, StepId};
use crate::task::{RenderedTask, TaskView};
use crate::value::Value;

/// The skip reason of tasks that do not support dry runs.
pub(super) const NO_DRY_RUN: &str = "it does not support dry run";
/// The skip reason of tasks whose inputs have not changed.
pub(super) const NO_CHANGE: &str = "no change detected";

/// The result of rendering a task.
enum RenderResult {
    Ready(RenderedTask),
    /// The task must wait for other steps.
    Deferred(WaitKind),
    /// The task cannot run.
    Failed(ErrorReach, String),
    Invalid(Box<Error>),
}

impl Evaluation<'_> {
    /// Renders a task, and also returns the values read.
    pub(super) fn render(&self, task: &Task) -> (Result<RenderedTask, Error>, Reads) {
        self.with_view(task, true, |view| {
            let rendered = task.spec.configurator.render(view)?;
            self.check_arguments(task, view)?;
            view.environment().map(|_| rendered)
        })
    }

    /// Checks the arguments of the executed artifact, if the configurator has read them.
    fn check_arguments(&self, task: &Task, view: &TaskView<'_>) -> Result<(), Error> {
        if task.spec.artifact.is_none() || !view.has_read_input("arguments") {
            return Ok(());
        }
        let arguments = view.input("arguments")?.unwrap_or_default();
        match self.argument_problems(task, &arguments) {
            problems if problems.is_empty() => Ok(()),
            problems => Err(Error::Function {
                function: "arguments".into(),
                problem: problems.join("; "),
            }),
        }
    }

    /// Whether a task can take part in a dry run. Also returns the values read.
    pub(super) fn can_dry_run(&self, task: &Task) -> (bool, Reads) {
        let (can, reads) =
            self.with_view(task, true, |view| task.spec.configurator.can_dry_run(view));
        (can.unwrap_or(false), reads)
    }
}

impl Engine {
    /// Renders the whole plan in order.
    ///
    /// A task that reads attributes which other tasks have yet to set is deferred together with the rest
    /// of its group.
    pub fn render(&mut self, folders: &mut dyn TaskFolders) {
        self.compare_upgrades();
        self.render_steps(0, folders);
    }

    /// Finds upgrade tasks whose target has properties that differ from the recorded ones.
    ///
    /// Must run before any other evaluation, because reading a property updates the recorded value.
    fn compare_upgrades(&mut self) {
        for index in 0..self.ledger.tasks.len() {
            let task = &self.ledger.tasks[index];
            if task.spec.reason == Reason::Upgrade {
                let outdated = self.evaluation().outdated_property(task);
                self.ledger.tasks[index].outdated = outdated;
            }
        }
    }

    /// Renders the steps of the plan from `first` on.
    pub(super) fn render_steps(&mut self, first: StepId, folders: &mut dyn TaskFolders) {
        let mut unchanged = Vec::new();
        for step in first..self.plan.steps.len() {
            if !self.job_steps().is_conditional(step) {
                unchanged.extend(self.prepare_step(step));
            }
        }
        self.skip_unchanged(&unchanged);
        self.warn_unknown_secrets();
        let mut deferred_group = None;
        for step in first..self.plan.steps.len() {
            let Some(task) = self.steps.tasks[step] else {
                continue;
            };
            let is_planned = matches!(self.ledger.tasks[task].stage, TaskStage::Planned);
            let steps = self.job_steps();
            // Steps that may not be needed are rendered only when they are.
            if !is_planned || steps.is_conditional(step) || !steps.includes(task) {
                continue;
            }
            if deferred_group.is_some() && deferred_group == self.plan.steps[step].group {
                self.ledger.tasks[task].stage = TaskStage::Deferred;
                continue;
            }
            if self.render_task(step, task, folders) {
                deferred_group = self.plan.steps[step].group;
            }
        }
    }

    /// Skips a step that does not support dry runs or is already done. Returns it if it is unchanged and
    /// may be skipped too.
    pub(super) fn prepare_step(&mut self, step: StepId) -> Option<UnchangedStep> {
        let index = self.steps.tasks[step]?;
        let task = &self.ledger.tasks[index];
        if !task.errors.is_empty() {
            return None;
        }
        if let Some(why) = self.already_done_reason(index) {
            self.skip(step, index, why);
            return None;
        }
        let task = &self.ledger.tasks[index];
        let mut reads = self.evaluation().environment_reads(task);
        let mut can_run = true;
        if self.options.goal.dry_run {
            let (can, more) = self.evaluation().can_dry_run(task);
            reads.append(&more);
            can_run = can;
        }
        let task = &self.ledger.tasks[index];
        if task.spec.reason == Reason::Upgrade && task.outdated.is_none() {
            if !self.evaluation().may_reconfigure(task) {
                self.commit_reads(index, &reads);
                self.skip(step, index, NO_CHANGE);
                return None;
            }
            self.ledger.tasks[index].spec.reason = Reason::Reconfigure;
            self.plan.steps[step].reason = Reason::Reconfigure;
        }
        if !can_run {
            self.skip_in_dry_run(step, index, &reads);
            return None;
        }
        if self.plan.decided.contains(&step) {
            self.commit_reads(index, &reads);
            self.ledger.tasks[index].change = self.decided_change(index);
        } else if self.ledger.tasks[index].spec.reason == Reason::Reconfigure {
            let (change, more) = self.compare(index);
            reads.append(&more);
            self.commit_reads(index, &reads);
            let is_change = change.is_change();
            self.ledger.tasks[index].change = change;
            let task = index;
            return (!is_change).then_some(UnchangedStep { step, task, reads });
        } else {
            self.commit_reads(index, &reads);
            self.note_pending_change(index);
        }
        None
    }

    /// Notes for the plan what a repair of drift changes in addition, because the model has changed since the last job.
    fn note_pending_change(&mut self, index: TaskIndex) {
        let target = self.ledger.tasks[index].spec.target;
        let name = &self.topology.entity(target).name;
        if self.options.goal.found.contains_key(name) {
            let (change, _) = self.compare(index);
            self.ledger.tasks[index].change = change;
        }
    }

    /// Skips a step that does not support dry runs. A step that has nothing to change is skipped for this
    /// reason instead.
    fn skip_in_dry_run(&mut self, step: StepId, index: TaskIndex, reads: &Reads) {
        let mut why = NO_DRY_RUN;
        let is_compared = self.ledger.tasks[index].spec.reason == Reason::Reconfigure;
        if is_compared && !self.plan.decided.contains(&step) {
            let (change, _) = self.compare(index);
            if !change.is_change() {
                why = NO_CHANGE;
            }
            self.ledger.tasks[index].change = change;
        }
        if why == NO_DRY_RUN {
            let text = "not tried, because it does not support dry runs";
            self.log(LogLevel::Verbose, format!("{}: {text}", self.label(index)));
        }
        self.commit_reads(index, reads);
        self.skip(step, index, why);
    }

    /// Compares a task with its operation's last record, and also returns the values read.
    pub(super) fn compare(&mut self, index: TaskIndex) -> (DetectedChange, Reads) {
        let task = &self.ledger.tasks[index];
        let RecordComparison {
            change,
            reads,
            has_unknown_secrets,
        } = self.evaluation().compare_with_last(task);
        if has_unknown_secrets {
            self.unknown_secrets.insert(task.spec.target);
        }
        (change, reads)
    }

    /// Compares a task with its operation's last record by model values only.
    pub(super) fn compare_model(&mut self, index: TaskIndex) -> DetectedChange {
        let spec = &self.ledger.tasks[index].spec;
        let change = self.evaluation().model_change(spec.target, &spec.operation);
        if change == DetectedChange::Unknown {
            self.unknown_secrets.insert(spec.target);
        }
        change
    }

    fn decided_change(&mut self, index: TaskIndex) -> DetectedChange {
        let task = &self.ledger.tasks[index];
        if self.evaluation().compares_model_only(task) {
            self.compare_model(index)
        } else {
            self.compare(index).0
        }
    }

    /// Warns about instances for which it is unknown whether secrets have changed.
    fn warn_unknown_secrets(&mut self) {
        let unknown = std::mem::take(&mut self.unknown_secrets);
        let warning = self.evaluation().describe_unknown_secrets(&unknown);
        if let Some(text) = warning {
            self.log(LogLevel::Warning, text);
        }
    }

    pub(super) fn skip(&mut self, step: StepId, index: TaskIndex, why: &str) {
        self.ledger.tasks[index].stage = TaskStage::Skipped(why.to_owned());
        self.ledger.list(index);
        self.finish_step(step);
        self.reassign_final(step);
    }

    /// Renders one task and returns whether it must wait for others.
    pub(super) fn render_task(
        &mut self,
        step: StepId,
        index: TaskIndex,
        folders: &mut dyn TaskFolders,
    ) -> bool {
        match self.try_render(step, index, folders) {
            RenderResult::Ready(rendered) => {
                self.ledger.tasks[index].stage = TaskStage::Rendered(rendered);
            }
            RenderResult::Deferred(WaitKind::Deferred(steps, awaited)) => {
                self.ledger.tasks[index].stage = TaskStage::Deferred;
                self.scheduler.defer(step, steps, awaited);
                return true;
            }
            RenderResult::Deferred(WaitKind::UntilDue(steps)) => {
                self.ledger.tasks[index].stage = TaskStage::Planned;
                self.scheduler.wait(step, steps);
                return false;
            }
            RenderResult::Failed(reach, message) => {
                self.log(LogLevel::Error, format!("{}: {message}", self.label(index)));
                self.mark_unrenderable(step, index, reach, message);
            }
            RenderResult::Invalid(error) => {
                self.report_problem(index, &error);
                let reach = self.reach_of(step, &error);
                self.mark_unrenderable(step, index, reach, error.to_string());
            }
        }
        false
    }

    fn mark_unrenderable(
        &mut self,
        step: StepId,
        index: TaskIndex,
        reach: ErrorReach,
        message: String,
    ) {
        self.keep_requirements(step);
        let task = &mut self.ledger.tasks[index];
        task.stage = TaskStage::Unrenderable(reach);
        // Errors from creating the task are already in the list.
        if !task.errors.contains(&message) {
            task.errors.push(message);
        }
    }

    fn try_render(
        &mut self,
        step: StepId,
        index: TaskIndex,
        folders: &mut dyn TaskFolders,
    ) -> RenderResult {
        let task = &self.ledger.tasks[index];
        if let Some(error) = task.errors.first() {
            return RenderResult::Failed(ErrorReach::Task, error.clone());
        }
        let (rendered, reads) = self.evaluation().render(task);
        if !self.scheduler.is_released(step) {
            let waits = self.wait_set(step, index, &reads, rendered.is_err());
            if let Some(wait) = waits.for_step(step) {
                return RenderResult::Deferred(wait);
            }
        }
        let rendered = match rendered {
            Ok(rendered) => rendered,
            Err(error) => return RenderResult::Invalid(Box::new(error.redacted(&reads))),
        };
        let evaluation = self.evaluation();
        if let Some((of, name)) = evaluation.missing_secret_read(&self.ledger.tasks[index], &reads)
        {
            let text = evaluation.describe_missing_secret(of, &name);
            return RenderResult::Failed(ErrorReach::Task, text);
        }
        self.commit_reads(index, &reads);
        if !rendered.files.is_empty() {
            let key = self.folder_key(index);
            match folders.write(&key, &rendered.files) {
                Ok(paths) => self.ledger.tasks[index].folders = paths,
                Err(error) => return RenderResult::Failed(ErrorReach::Job, error.to_string()),
            }
        }
        RenderResult::Ready(rendered)
    }

    /// Makes the preceding step of a skipped final step the one that completes the workflow.
    pub(super) fn reassign_final(&mut self, step: StepId) -> Option<TaskIndex> {
        let task = &self.ledger.tasks[self.steps.tasks[step]?];
        let group = task.spec.group.filter(|_| task.spec.is_final)?;
        let siblings = self.job_steps().steps_of(group);
        let position = siblings.iter().position(|sibling| *sibling == step)?;
        let earlier = siblings[..position]
            .iter()
            .rev()
            .filter_map(|step| self.steps.tasks[*step]);
        let previous = earlier.into_iter().find(|other| {
            let other = &self.ledger.tasks[*other];
            other.spec.target == task.spec.target && !other.is_skipped()
        })?;
        self.ledger.tasks[previous].spec.is_final = true;
        Some(previous)
    }
}

impl Evaluation<'_> {
    /// Returns a phrase for the first property of a task's target that has changed.
    pub(super) fn outdated_property(&self, task: &Task) -> Option<String> {
        let target = task.spec.target;
        let evaluator = self.evaluator();
        let recorded = self.topology.entity(target).properties.iter();
        let mut changed = recorded.filter_map(|(name, recorded)| {
            // A property that cannot be evaluated is reported when the task is rendered.
            let now = evaluator.attribute(target, name).ok()?;
            let now = now.map_or(Value::Null, |now| now.with_externals_resolved());
            let is_hidden = now.has_sensitive() || is_reference(recorded);
            let is_equal = now == *recorded || is_hidden && can_be_equal(recorded, &now);
            (!is_equal).then(|| {
                let (recorded, now) = (recorded.redacted(), now.redacted());
                format!("its property `{name}` has changed from {recorded} to {now}")
            })
        });
        changed.next()
    }

    /// Whether a task may run because of other changes, as it may without `--upgrade`.
    pub(super) fn may_reconfigure(&self, task: &Task) -> bool {
        let customized = &self.topology.entity(task.spec.target).customized;
        match self.options.goal.change_detection {
            ChangeDetection::Skip => false,
            ChangeDetection::Evaluate => customized.is_none(),
            ChangeDetection::Always => true,
        }
    }
}
