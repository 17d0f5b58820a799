//! The end of a run: reads what the tool has left, keeps the state, and closes the private folder.

use std::path::PathBuf;

use zeroize::Zeroizing;

use super::command_line::{BACKUP, PLAN, STATE};
use super::judgement::{Judged, judge};
use super::recovered::{newer_state, sealed_state};
use super::run::{ERRORED_STATE, LOCK_FILE, OPEN_MODE, SECRET_MODE, STAMP, Stage, TerraformRun};
use super::settings::{Goal, StateLocation};
use super::state_file::ToolState;
use super::steps::done;
use crate::host::{PrivateOutput, PrivateStep};
use crate::task::{RunStep, SavedPlan, TaskOutcome, TaskView};

impl TerraformRun {
    /// Reads what the tool has left.
    pub(super) fn collect(&mut self, task: &TaskView<'_>) -> RunStep {
        let mut steps = Vec::new();
        for file in [STATE, BACKUP, PLAN] {
            steps.push(PrivateStep::Read {
                file: file.to_owned(),
            });
        }
        for name in [ERRORED_STATE, LOCK_FILE] {
            let path = self.inside(task, name);
            steps.extend(path.map(|path| PrivateStep::Load { path }));
        }
        self.stage = Stage::Collect;
        self.work(task, steps)
    }

    pub(super) fn collected(&mut self, task: &TaskView<'_>, left: &PrivateOutput) -> RunStep {
        if !left.exit.is_ok() {
            let mut outcome = self.outcome(task, None);
            outcome.success = false;
            outcome
                .errors
                .push(self.kept_message(&left.exit.to_string()));
            return done(outcome);
        }
        let content = |place: usize| left.contents.get(place).cloned().flatten();
        let candidates = [content(0), content(1), content(3)];
        let has_errored = candidates[2].is_some();
        let state = candidates.into_iter().flatten().reduce(newer_state);
        let mut steps = Vec::new();
        let mut warning = None;
        let after = state.filter(|_| self.goal.changes() && self.files.has_state);
        if let Some(state) = after
            .as_ref()
            .filter(|state| self.before.as_ref() != Some(*state))
        {
            match self.keep_state(task, state) {
                Ok((step, text)) => {
                    steps.extend(step);
                    warning = text;
                }
                Err(problem) => {
                    let problem = self.kept_message(&problem);
                    let mut outcome = self.outcome(task, after.as_deref());
                    outcome.success = false;
                    outcome.errors.push(problem);
                    return done(outcome);
                }
            }
        }
        if self.is_initialised {
            steps.extend(self.keep_initialised(content(4)));
        }
        if has_errored {
            let path = self.inside(task, ERRORED_STATE);
            steps.extend(path.map(|path| PrivateStep::Drop { path }));
        }
        steps.extend(self.drop_own_files(task));
        steps.push(PrivateStep::Remove);
        let mut outcome = self.outcome(task, after.as_deref());
        outcome.warnings.extend(warning);
        outcome.warnings.extend(self.refused_plan.take());
        if let Some(plan) = content(2).filter(|_| self.goal == Goal::Check && outcome.success) {
            let basis = self.plan_basis(task);
            outcome.saved_plan = basis.ok().map(|basis| SavedPlan {
                basis,
                bytes: Zeroizing::new(plan),
            });
        }
        self.stage = Stage::Close(Box::new(outcome));
        self.work(task, steps)
    }

    pub(super) fn outcome(&self, task: &TaskView<'_>, state: Option<&[u8]>) -> TaskOutcome {
        let Some(run) = &self.run else {
            return TaskOutcome::refused("the tool was not run");
        };
        let judged = Judged {
            goal: self.goal,
            tool: &self.tool,
            run,
            output: &self.output,
            before: self.before.as_deref().and_then(ToolState::read),
            state: state.and_then(ToolState::read),
            differences: &self.differences,
            version: self.version.as_ref(),
            secrets: &self.secrets(),
            command: &self.command_text,
        };
        judge(task, &judged)
    }

    fn kept_message(&self, problem: &str) -> String {
        format!(
            "the state cannot be kept: {problem}; it stays in clear text in `{}`, and the next job takes it from there",
            self.files.private.display()
        )
    }

    /// Returns the step that keeps a state, encrypted, with a warning.
    fn keep_state(
        &self,
        task: &TaskView<'_>,
        state: &[u8],
    ) -> Result<(Option<PrivateStep>, Option<String>), String> {
        let is_for_real = !task.settings.dry_run;
        let root = if is_for_real { "active" } else { "planned" };
        let Some(path) = self.location.file(&self.instance, root) else {
            return Ok((None, None));
        };
        let cipher = task.tool().cipher();
        let (text, warning) = sealed_state(cipher, self.location.as_str(), state)?;
        let mode = match self.location {
            StateLocation::Artifacts => OPEN_MODE,
            _ => SECRET_MODE,
        };
        let bytes = text.into_bytes();
        Ok((Some(PrivateStep::Keep { path, bytes, mode }), warning))
    }

    /// Returns the steps that keep the lock file and note what was initialised.
    fn keep_initialised(&self, lock_file: Option<Vec<u8>>) -> Vec<PrivateStep> {
        let artifacts = PathBuf::from("active/artifacts").join(&self.instance);
        let lock = lock_file.map(|bytes| PrivateStep::Keep {
            path: artifacts.join(LOCK_FILE),
            bytes,
            mode: OPEN_MODE,
        });
        let stamp = PrivateStep::Keep {
            path: self.local(STAMP),
            bytes: self.stamp_text().into_bytes(),
            mode: OPEN_MODE,
        };
        lock.into_iter().chain([stamp]).collect()
    }

    /// Ends the run. The private folder is removed, if it has nothing that is not kept.
    pub(super) fn give_up(&mut self, task: &TaskView<'_>, outcome: TaskOutcome) -> RunStep {
        let is_open = !self.files.private.as_os_str().is_empty();
        let may_have_changed = self.run.is_some() && self.goal.changes();
        if !is_open || may_have_changed {
            return done(outcome);
        }
        self.files.private = PathBuf::new();
        self.stage = Stage::Close(Box::new(outcome));
        let mut steps = self.drop_own_files(task);
        steps.push(PrivateStep::Remove);
        self.work(task, steps)
    }
}
