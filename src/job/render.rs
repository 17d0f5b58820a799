//! Renders tasks: decides which are left out, which must wait for others, and which are ready.

use std::sync::Arc;

use super::compare::Change;
use super::engine::Engine;
use super::event::Level;
use super::task::{Stage, TaskIndex};
use super::undecided::Unchanged;
use super::world::{FolderKey, Folders};
use crate::name::Priority;
use crate::plan::{Reason, StepId, Workflow};
use crate::value::{Handle, Value};

/// A live attribute that a deferred step read, with the value it had.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Awaited {
    pub(super) of: Handle,
    pub(super) name: Arc<str>,
    pub(super) value: Value,
}

/// What came of rendering one task.
#[derive(Debug)]
pub(super) enum Rendering {
    Ready,
    /// It reads what others have yet to set.
    Waits(Vec<StepId>, Vec<Awaited>),
    /// It reads what steps before it set, which have ended when its turn comes.
    Follows(Vec<StepId>),
    Failed(String),
    Wrong(Box<crate::expr::Error>),
}

impl Engine {
    /// Renders the whole plan, in order. What reads attributes that others have yet to set is
    /// deferred, and so is the rest of its group.
    pub fn render(&mut self, folders: &mut dyn Folders) {
        self.compare_upgrades();
        self.render_steps(0, folders);
    }

    /// Renders the steps of the plan from one on.
    pub(super) fn render_steps(&mut self, first: StepId, folders: &mut dyn Folders) {
        for step in first..self.plan.steps.len() {
            if !self.is_conditional(step) {
                self.prepare(step);
            }
        }
        self.settle_unchanged();
        self.tell_unknown_secrets();
        self.settle_unchanged();
        let mut deferred_group = None;
        for step in first..self.plan.steps.len() {
            let Some(task) = self.task_of[step] else {
                continue;
            };
            // What may not be needed is rendered when it is.
            let now = self.tasks[task].stage == Stage::Planned && !self.is_conditional(step);
            if !now || !self.includes(task) {
                continue;
            }
            if deferred_group.is_some() && deferred_group == self.plan.steps[step].group {
                self.tasks[task].stage = Stage::Deferred;
                continue;
            }
            if self.render_task(step, task, folders) {
                deferred_group = self.plan.steps[step].group;
            }
        }
    }

    /// Whether a task is part of the job: templates that are only defaults wait until somebody
    /// needs them.
    pub fn includes(&self, task: TaskIndex) -> bool {
        let task = &self.tasks[task];
        let goal = &self.options.goal;
        goal.workflow != Workflow::Deploy
            || goal.is_filtered()
            || task.priority == Priority::Critical
            || task.reason == Reason::Prune
            || task.follows
            || self.is_needed(task.target)
    }

    fn is_needed(&self, target: Handle) -> bool {
        let owner = self.topology.source_of(target).unwrap_or(target);
        self.topology.priority(owner) >= Priority::Required
    }

    /// Leaves out what cannot take part in a dry run, and what has not changed.
    pub(super) fn prepare(&mut self, step: StepId) {
        let Some(index) = self.task_of[step] else {
            return;
        };
        if !self.tasks[index].errors.is_empty() {
            return;
        }
        if let Some(why) = self.was_done(index) {
            return self.skip(step, index, why);
        }
        let mut reads = self.environment_reads(index);
        if self.options.goal.dry_run {
            let (can, more) = self.with_view(index, true, |view| {
                self.tasks[index].configurator.can_dry_run(view)
            });
            reads.append(&more);
            if !can.unwrap_or(false) {
                let text = "Skipping task: it doesn't support dry run.";
                self.say(Level::Warning, format!("{}: {text}", self.label(index)));
                self.commit_reads(index, &reads);
                self.skip(step, index, "it does not support dry run");
                return;
            }
        }
        if self.tasks[index].reason == Reason::Upgrade && !self.outdated.contains_key(&index) {
            if !self.may_reconfigure(index) {
                self.commit_reads(index, &reads);
                self.skip(step, index, "no change detected");
                return;
            }
            self.tasks[index].reason = Reason::Reconfigure;
            self.plan.steps[step].reason = Reason::Reconfigure;
        }
        if self.plan.decided.contains(&step) {
            self.commit_reads(index, &reads);
            self.tasks[index].change = self.change_of_decided(index);
        } else if self.tasks[index].reason == Reason::Reconfigure {
            let (change, more) = self.has_changed(index);
            reads.append(&more);
            self.commit_reads(index, &reads);
            if !change.is_change() {
                let task = index;
                self.unchanged.push(Unchanged { step, task, reads });
            }
            self.tasks[index].change = change;
        } else {
            self.commit_reads(index, &reads);
        }
    }

    fn change_of_decided(&self, index: TaskIndex) -> Change {
        let task = &self.tasks[index];
        if self.is_of_the_model(task) {
            self.model_change(task.target, &task.operation)
        } else {
            self.has_changed(index).0
        }
    }

    pub(super) fn skip(&mut self, step: StepId, index: TaskIndex, why: &str) {
        self.tasks[index].stage = Stage::Skipped;
        self.tasks[index].note = Some(why.to_owned());
        self.list(index);
        self.finish_step(step);
        self.reassign_final(step);
    }

    /// Renders one task; says whether it must wait for others.
    pub(super) fn render_task(
        &mut self,
        step: StepId,
        index: TaskIndex,
        folders: &mut dyn Folders,
    ) -> bool {
        match self.try_render(step, index, folders) {
            Rendering::Ready => self.tasks[index].stage = Stage::Rendered,
            Rendering::Waits(steps, awaited) => {
                self.tasks[index].stage = Stage::Deferred;
                self.waiting.insert(step, steps);
                self.awaited.insert(step, awaited);
                return true;
            }
            Rendering::Follows(steps) => {
                self.tasks[index].stage = Stage::Planned;
                self.waiting.insert(step, steps);
                return false;
            }
            Rendering::Failed(message) => {
                self.say(Level::Error, format!("{}: {message}", self.label(index)));
                self.is_unrenderable(index, message);
            }
            Rendering::Wrong(error) => {
                self.tell_problem(index, &error);
                self.is_unrenderable(index, error.to_string());
            }
        }
        false
    }

    fn is_unrenderable(&mut self, index: TaskIndex, message: String) {
        let task = &mut self.tasks[index];
        task.stage = Stage::Unrenderable;
        // What made the task impossible from the start is among them already.
        if !task.errors.contains(&message) {
            task.errors.push(message);
        }
    }

    fn try_render(
        &mut self,
        step: StepId,
        index: TaskIndex,
        folders: &mut dyn Folders,
    ) -> Rendering {
        if let Some(error) = self.tasks[index].errors.first() {
            return Rendering::Failed(error.clone());
        }
        let (rendered, reads) = self.with_view(index, true, |view| {
            let rendered = self.tasks[index].configurator.render(view)?;
            view.environment().map(|_| rendered)
        });
        if !self.released.contains(&step) {
            let waits = self.waits_for(step, index, &reads, rendered.is_err());
            if let Some(waits) = waits.into_rendering(step) {
                return waits;
            }
        }
        let rendered = match rendered {
            Ok(rendered) => rendered,
            Err(error) => return Rendering::Wrong(Box::new(error.hushed(&reads))),
        };
        if let Some((of, name)) = self.withheld_read(index, &reads) {
            return Rendering::Failed(self.describe_withheld(of, &name));
        }
        self.commit_reads(index, &reads);
        if !rendered.files.is_empty() {
            let key = self.folder_key(index);
            match folders.write(&key, &rendered.files) {
                Ok(paths) => self.tasks[index].folders = paths,
                Err(error) => return Rendering::Failed(error),
            }
        }
        self.tasks[index].rendered = Some(rendered);
        Rendering::Ready
    }

    /// Marks the step before a left-out one as the one that completes the workflow.
    pub(super) fn reassign_final(&mut self, step: StepId) -> Option<TaskIndex> {
        let index = self.task_of[step]?;
        let group = self.tasks[index]
            .group
            .filter(|_| self.tasks[index].is_final)?;
        let siblings = self.steps_of(group);
        let place = siblings.iter().position(|sibling| *sibling == step)?;
        let earlier = siblings[..place]
            .iter()
            .rev()
            .filter_map(|step| self.task_of[*step]);
        let previous = earlier.into_iter().find(|other| {
            self.tasks[*other].target == self.tasks[index].target
                && self.tasks[*other].stage != Stage::Skipped
        })?;
        self.tasks[previous].is_final = true;
        Some(previous)
    }

    /// The steps directly in a group, in order.
    pub(super) fn steps_of(&self, group: crate::plan::GroupId) -> Vec<StepId> {
        let items = self.plan.groups[group].items.iter();
        items
            .filter_map(|item| match item {
                crate::plan::Item::Step(step) => Some(*step),
                crate::plan::Item::Group(_) => None,
            })
            .collect()
    }

    /// Names the folders of a task.
    pub fn folder_key(&self, index: TaskIndex) -> FolderKey {
        let task = &self.tasks[index];
        FolderKey {
            instance: self.directory_name(task.target),
            operation: task.reference.operation.to_string(),
        }
    }

    /// A task in words, for messages.
    pub fn label(&self, index: TaskIndex) -> String {
        let task = &self.tasks[index];
        format!(
            "{} of `{}`",
            task.reference,
            self.topology.entity(task.target).name
        )
    }

    /// Gives the job up where a required task cannot be rendered; says whether it did.
    pub fn gives_up(&mut self) -> bool {
        let serious = self.serious_errors();
        if serious.is_empty() {
            return false;
        }
        let text = format!("there were errors during rendering: {}", serious.join("; "));
        self.say(Level::Error, format!("Aborting job: {text}"));
        self.aborted = Some(text);
        true
    }

    /// The render errors for which the job must not run: those of required tasks.
    fn serious_errors(&self) -> Vec<String> {
        let failed = self.tasks.iter().enumerate().filter(|(_, task)| {
            task.stage == Stage::Unrenderable && task.priority >= Priority::Required
        });
        failed
            .map(|(index, task)| format!("{}: {}", self.label(index), task.errors.join("; ")))
            .collect()
    }
}
