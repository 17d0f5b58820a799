//! The steps of a task in their order, with what the blocks around them say about them.

use std::path::PathBuf;

use super::{EnvSettings, StepAction, Steps, Task, TaskName, TaskStep, Tasks, TemplateText};
use crate::diagnostic::Span;

/// A step of a task with what the blocks around it say about it.
#[derive(Clone)]
pub(super) struct PlacedStep<'a> {
    pub(super) step: &'a TaskStep,
    /// True if the step need not run, or if its failure is handled.
    pub(super) is_conditional: bool,
    /// The local folder of the step. None if templates decide.
    pub(super) folder: Option<PathBuf>,
}

/// A template file that a step of a task renders.
pub(super) struct TemplateFile {
    pub(super) task: TaskName,
    pub(super) path: PathBuf,
    pub(super) text: String,
    /// The position of the step.
    pub(super) span: Span,
}

/// Returns all settings in a task: those of the task, of its blocks, and of `set`.
pub(super) fn settings_of(task: &Task) -> Vec<&EnvSettings> {
    let of_steps = placed_steps(task);
    let of_steps = of_steps
        .into_iter()
        .filter_map(|placed| match &placed.step.action {
            StepAction::Set(settings) => Some(&**settings),
            StepAction::Block(block) => block.settings.as_ref(),
            _ => None,
        });
    task.settings.iter().chain(of_steps).collect()
}

/// Returns all steps of a task in their order, with those of its blocks.
pub(super) fn placed_steps(task: &Task) -> Vec<PlacedStep<'_>> {
    let mut found = Vec::new();
    let folder = within(Some(task.folder.to_path_buf()), task.options.lcd.as_ref());
    let mut open = Vec::new();
    let is_conditional = task.condition.is_some();
    push_steps(&mut open, &task.steps, is_conditional, folder.as_ref());
    while let Some(placed) = open.pop() {
        if let StepAction::Block(block) = &placed.step.action {
            let is_conditional = placed.is_conditional;
            let folder = placed.folder.as_ref();
            push_steps(&mut open, &block.always, is_conditional, folder);
            push_steps(&mut open, &block.rescue, true, folder);
            let is_rescued = is_conditional || !block.rescue.is_empty();
            push_steps(&mut open, &block.steps, is_rescued, folder);
        }
        found.push(placed);
    }
    found
}

/// Adds steps to a stack, the first one last.
fn push_steps<'a>(
    stack: &mut Vec<PlacedStep<'a>>,
    steps: &'a Steps,
    is_conditional: bool,
    folder: Option<&PathBuf>,
) {
    stack.extend(steps.iter().rev().map(|step| PlacedStep {
        step,
        is_conditional: is_conditional
            || step.condition.is_some()
            || step.for_each.is_some()
            || step.warn_only,
        folder: within(folder.cloned(), step.options.lcd.as_ref()),
    }));
}

fn within(folder: Option<PathBuf>, lcd: Option<&TemplateText>) -> Option<PathBuf> {
    match lcd {
        None => folder,
        Some(lcd) if lcd.is_template() => None,
        Some(lcd) => folder.map(|folder| folder.join(lcd.as_str())),
    }
}

impl Tasks {
    /// Returns the paths of the files with variables. Paths that are templates are known only while tasks run.
    pub fn variable_files(&self) -> Vec<PathBuf> {
        let of_tasks = self.named.values().flat_map(|task| settings_of(task));
        let settings = self.settings.iter().chain(of_tasks);
        let paths = settings.flat_map(|settings| {
            let plain = settings.vars_files.iter().filter(|it| !it.is_template());
            plain.map(|file| settings.folder.join(file.as_str()))
        });
        paths.collect()
    }
}
