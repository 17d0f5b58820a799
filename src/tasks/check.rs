//! Checks all tasks that the calls reach, before the first host is touched.
//!
//! The tasks are walked in the order in which they run: names in `execute`, circles, roles and local files are checked
//! on the way, and the names in templates once all tasks are known (`check_names`).

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;

use super::arguments::TaskArguments;
use super::check_names::NameCheck;
use super::host_list::ScopeSources;
use super::placed_steps::{PlacedStep, TemplateFile, placed_steps, settings_of};
use super::{
    EnvSettings, Execute, HostScope, ScopeText, StepAction, Task, TaskEngine, TaskName, TaskStep,
    TemplateText,
};
use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::host::services::RoleLookup;

/// A task whose steps are walked.
struct OpenTask<'a> {
    task: &'a Arc<Task>,
    steps: std::vec::IntoIter<PlacedStep<'a>>,
}

/// The walk through the tasks.
struct TaskCheck<'a> {
    engine: &'a TaskEngine,
    problems: Diagnostics,
    open: Vec<OpenTask<'a>>,
    reached: IndexMap<TaskName, &'a Arc<Task>>,
    /// Circles that were reported, by the task that would run within itself and the span of the call.
    circles: HashSet<(TaskName, Span)>,
    /// True once a step may have made files on this machine.
    may_have_files: bool,
    /// The template files that steps render.
    templates: Vec<TemplateFile>,
}

impl TaskEngine {
    /// Checks the queued calls and all tasks that they execute. Touches no host.
    pub fn check(&self) -> Diagnostics {
        let mut check = TaskCheck {
            engine: self,
            problems: Diagnostics::default(),
            open: Vec::new(),
            reached: IndexMap::new(),
            circles: HashSet::new(),
            may_have_files: false,
            templates: Vec::new(),
        };
        for call in self.calls() {
            check.open(&call.task);
            check.walk();
        }
        let tasks: Vec<&Arc<Task>> = check.reached.values().copied().collect();
        let TaskCheck {
            mut problems,
            templates,
            ..
        } = check;
        self.check_roles(&tasks, &mut problems);
        let settings: Vec<&EnvSettings> = tasks.iter().flat_map(|task| settings_of(task)).collect();
        NameCheck::new(&self.env().vars, &settings).check(&tasks, &templates, &mut problems);
        problems
    }

    /// Checks the roles of tasks and calls that are not templates.
    fn check_roles(&self, tasks: &[&Arc<Task>], problems: &mut Diagnostics) {
        let settings: Vec<&EnvSettings> = tasks.iter().flat_map(|task| settings_of(task)).collect();
        let is_known = |role: &str| {
            let set = settings.iter().any(|it| it.roledefs.contains_key(role));
            set || !matches!(
                self.look_up_role(role, self.env()),
                RoleLookup::Unknown { .. }
            )
        };
        let mut check = |roles: &mut dyn Iterator<Item = &str>, span: Span| {
            for role in roles.map(str::trim) {
                if role.is_empty() || TemplateText::new(role).is_template() || is_known(role) {
                    continue;
                }
                let RoleLookup::Unknown { hint } = self.look_up_role(role, self.env()) else {
                    continue;
                };
                let problem = Diagnostic::error(format!("there is no role `{role}`"));
                problems.push(problem.label(span, "").help_if(hint));
            }
        };
        for call in self.calls() {
            let sources = ScopeSources {
                call: &call.scope,
                task: &call.task.scope,
                env: &HostScope::default(),
            };
            let span = if call.scope.is_unspecified() {
                call.task.span
            } else {
                Span::NONE
            };
            check(&mut sources.select().roles.iter().map(String::as_str), span);
        }
        for task in tasks {
            for placed in placed_steps(task) {
                let StepAction::Execute(execute) = &placed.step.action else {
                    continue;
                };
                let roles = &execute.scope.roles;
                check(
                    &mut roles.iter().map(TemplateText::as_str),
                    placed.step.span,
                );
                let target = self.executed(task, execute).ok().flatten();
                if let Some(target) = target.filter(|_| names_no_host(&execute.scope)) {
                    check(
                        &mut target.scope.roles.iter().map(String::as_str),
                        target.span,
                    );
                }
            }
        }
    }

    /// Returns the task that a step executes. None if a template decides, an error if there is no such task.
    fn executed(
        &self,
        task: &Task,
        execute: &Execute,
    ) -> Result<Option<&Arc<Task>>, Option<String>> {
        let Some(name) = execute.task.as_ref().filter(|name| !name.is_template()) else {
            return Ok(None);
        };
        match self.tasks.find(name.as_str(), &task.namespace) {
            Some(target) => Ok(Some(target)),
            None => Err(self.tasks.hint(name.as_str())),
        }
    }
}

fn names_no_host(scope: &ScopeText) -> bool {
    scope.hosts.is_empty() && scope.roles.is_empty()
}

impl<'a> TaskCheck<'a> {
    fn open(&mut self, task: &'a Arc<Task>) {
        if !self.reached.contains_key(&task.name) {
            self.reached.insert(Arc::clone(&task.name), task);
            let steps = placed_steps(task).into_iter();
            self.open.push(OpenTask { task, steps });
        }
    }

    /// Walks the open task and all tasks that it executes.
    fn walk(&mut self) {
        while let Some(open) = self.open.last_mut() {
            let task = open.task;
            match open.steps.next() {
                Some(placed) => self.step(task, &placed),
                None => drop(self.open.pop()),
            }
        }
    }

    fn step(&mut self, task: &'a Arc<Task>, placed: &PlacedStep<'a>) {
        let step = placed.step;
        match &step.action {
            StepAction::Execute(execute) => self.execute(task, execute, step),
            StepAction::Put(transfer) => self.file(task, placed, &transfer.source, false),
            StepAction::Template(transfer) => self.file(task, placed, &transfer.source, true),
            StepAction::Local(_) | StepAction::Get(_) | StepAction::Fetch { .. } => {
                self.may_have_files = true;
            }
            _ => {}
        }
    }

    fn execute(&mut self, task: &'a Arc<Task>, execute: &'a Execute, step: &TaskStep) {
        let span = step.span;
        let engine = self.engine;
        let target = match engine.executed(task, execute) {
            Ok(Some(target)) => target,
            // A template decides, so every task may run.
            Ok(None) => {
                self.may_have_files = true;
                return;
            }
            Err(_) if engine.env().switches.skip_unknown_tasks || asks_whether_to_skip(step) => {
                return;
            }
            Err(hint) => {
                let name = execute.task.as_ref().map_or("", TemplateText::as_str);
                let message = format!(
                    "task `{}` executes `{name}`, which does not exist",
                    task.name
                );
                let problem = Diagnostic::error(message).label(span, "");
                return self.problems.push(problem.help_if(hint));
            }
        };
        if let Some(start) = self
            .open
            .iter()
            .position(|open| open.task.name == target.name)
        {
            return self.circle(start, target, span);
        }
        let arguments = TaskArguments::bind(target, execute.args.clone(), execute.kwargs.clone());
        if let Err(problem) = arguments {
            self.problems
                .push(Diagnostic::error(problem).label(span, ""));
        }
        self.open(target);
    }

    /// Reports a task that would run within itself.
    fn circle(&mut self, start: usize, target: &Arc<Task>, span: Span) {
        if !self.circles.insert((Arc::clone(&target.name), span)) {
            return;
        }
        let names = self.open[start..].iter().map(|open| &*open.task.name);
        let names: Vec<&str> = names.chain([&*target.name]).collect();
        let message = format!(
            "task `{}` executes itself: {}",
            target.name,
            names.join(" → ")
        );
        let help = "repeat steps with `for_each`, or with `until`";
        let problem = Diagnostic::error(message).label(span, "").help(help);
        self.problems.push(problem);
    }

    /// Checks that a local file exists, unless a step before it may make it.
    fn file(
        &mut self,
        task: &Task,
        placed: &PlacedStep<'_>,
        source: &TemplateText,
        is_template: bool,
    ) {
        let Some(folder) = &placed.folder else {
            return;
        };
        if self.may_have_files || placed.is_conditional || source.is_template() {
            return;
        }
        let path = folder.join(source.as_str());
        let files = &self.engine.services.context;
        let is_folder = files.is_dir(&path);
        let is_there = (files.exists(&path) || files.is_link(&path)) && !(is_template && is_folder);
        if is_there && is_template {
            let text = files.read(&path).map(String::from_utf8);
            if let Ok(Ok(text)) = text {
                self.templates.push(TemplateFile {
                    task: Arc::clone(&task.name),
                    path,
                    text,
                    span: placed.step.span,
                });
            }
            return;
        }
        if !is_there && !has_wildcards(&path) {
            let message = format!("there is no file `{}`", path.display());
            let problem = Diagnostic::error(message).label(placed.step.span, "");
            self.problems.push(problem);
        }
    }
}

/// Returns true if a step runs only where unknown tasks are skipped.
fn asks_whether_to_skip(step: &TaskStep) -> bool {
    let condition = step.condition.as_ref().map_or("", TemplateText::as_str);
    condition.contains("skip_unknown_tasks")
}

/// Returns true if a path may be a pattern for several files.
fn has_wildcards(path: &Path) -> bool {
    path.to_string_lossy().contains(['*', '?', '['])
}
