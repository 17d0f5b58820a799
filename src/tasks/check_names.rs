//! Checks the names in the templates of tasks, and their syntax.
//!
//! A name counts as known if anything that may run before could define it. So only names are reported that cannot be
//! defined in any case.

use std::collections::HashSet;
use std::sync::Arc;

use super::placed_steps::{TemplateFile, placed_steps};
use super::{EnvSettings, StepAction, Task, TaskStep, TemplateText};
use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::expr::{Fact, facts, raw_template_facts};
use crate::text::did_you_mean;
use crate::value::{Map, Value};

/// The names that templates of every task see.
const NAMES: [&str; 14] = [
    "host_string",
    "host",
    "user",
    "port",
    "data",
    "vars",
    "env",
    "task",
    "all_hosts",
    "effective_roles",
    "args",
    "kwargs",
    "failure",
    "result",
];

/// The check of the names in templates.
pub(super) struct NameCheck<'a> {
    /// The variables of the environment, and those that tasks may set.
    vars: HashSet<&'a str>,
    /// True if files with variables are read while the tasks run, so that their names are not known.
    has_files: bool,
}

impl<'a> NameCheck<'a> {
    /// Creates a check. `settings` are all that may change variables while the tasks run.
    pub(super) fn new(vars: &'a Map, settings: &[&'a EnvSettings]) -> Self {
        let set = settings.iter().flat_map(|settings| settings.vars.keys());
        Self {
            vars: vars.keys().chain(set).map(|name| &**name).collect(),
            has_files: settings.iter().any(|it| !it.vars_files.is_empty()),
        }
    }

    /// Checks the templates of tasks, and the template files that they render.
    pub(super) fn check(
        &self,
        tasks: &[&Arc<Task>],
        files: &[TemplateFile],
        problems: &mut Diagnostics,
    ) {
        for task in tasks {
            let mut of_task = self.of_task(task, problems);
            of_task.condition(task.condition.as_ref(), task.span);
            if let Some(value) = &task.returns {
                of_task.value(value, task.span);
            }
            if let Some(settings) = &task.settings {
                of_task.settings(settings, task.span);
            }
            for placed in placed_steps(task) {
                of_task.step(placed.step);
            }
            for file in files.iter().filter(|file| file.task == task.name) {
                of_task.file(file);
            }
        }
    }

    fn of_task<'c>(&'c self, task: &'c Task, problems: &'c mut Diagnostics) -> TaskNames<'c> {
        let mut names: HashSet<&str> = NAMES.into_iter().collect();
        names.extend(task.parameters.named.keys().map(|name| &**name));
        for placed in placed_steps(task) {
            names.extend(placed.step.register.as_deref());
            names.extend(placed.step.for_each.as_ref().map(|it| &*it.name));
        }
        TaskNames {
            check: self,
            names,
            problems,
        }
    }
}

/// The check of the templates of one task.
struct TaskNames<'a> {
    check: &'a NameCheck<'a>,
    /// The names that only this task knows.
    names: HashSet<&'a str>,
    problems: &'a mut Diagnostics,
}

impl TaskNames<'_> {
    fn step(&mut self, step: &TaskStep) {
        let span = step.span;
        self.condition(step.condition.as_ref(), span);
        if let Some(for_each) = &step.for_each {
            self.value(&for_each.items, span);
        }
        if let Some(until) = &step.until {
            self.condition(until.condition.as_ref(), span);
        }
        let options = &step.options;
        let texts = [&options.cd, &options.lcd, &options.shell, &options.stdin];
        let texts = texts.into_iter().flatten();
        let env = options.env.iter().map(|(_, value)| value);
        for text in texts.chain(env).chain(&options.prefix) {
            self.text(text, span);
        }
        match &step.action {
            StepAction::Run(text)
            | StepAction::Local(text)
            | StepAction::Abort(text)
            | StepAction::Echo(text)
            | StepAction::Prompt { text, .. } => self.text(text, span),
            StepAction::Sudo { text, user } => {
                self.text(text, span);
                if let Some(user) = user {
                    self.text(user, span);
                }
            }
            StepAction::Put(transfer) | StepAction::Template(transfer) => {
                self.text(&transfer.source, span);
                self.text(&transfer.target, span);
            }
            StepAction::Get(download) => {
                self.text(&download.source, span);
                download.target.iter().for_each(|it| self.text(it, span));
            }
            StepAction::Execute(execute) => {
                execute.task.iter().for_each(|task| self.text(task, span));
                execute.args.iter().for_each(|it| self.value(it, span));
                execute.kwargs.values().for_each(|it| self.value(it, span));
                let scope = [&execute.scope.hosts, &execute.scope.roles];
                let scope = scope.into_iter().flatten();
                scope.for_each(|name| self.text(name, span));
            }
            StepAction::Set(settings) => self.settings(settings, span),
            StepAction::Block(block) => {
                block.settings.iter().for_each(|it| self.settings(it, span));
            }
            StepAction::Fetch { .. } | StepAction::Call(_) => {}
        }
    }

    fn settings(&mut self, settings: &EnvSettings, span: Span) {
        let texts = [&settings.user, &settings.shell].into_iter().flatten();
        texts.for_each(|text| self.text(text, span));
        let values = settings.vars.values().chain(settings.prompts.values());
        values.for_each(|value| self.value(value, span));
    }

    fn text(&mut self, text: &TemplateText, span: Span) {
        if text.is_template() {
            self.value(&text.as_str().into(), span);
        }
    }

    /// Checks a condition, which may be an expression without braces.
    fn condition(&mut self, condition: Option<&TemplateText>, span: Span) {
        match condition {
            None => {}
            Some(condition) if condition.is_template() => self.text(condition, span),
            Some(condition) => {
                let braced = format!("{{{{ {} }}}}", condition.as_str());
                self.value(&braced.into(), span);
            }
        }
    }

    fn value(&mut self, value: &Value, span: Span) {
        self.facts(facts(value), span, "");
    }

    fn file(&mut self, file: &TemplateFile) {
        let place = format!(" (`{}`)", file.path.display());
        self.facts(raw_template_facts(&file.text), file.span, &place);
    }

    /// Reports what is wrong according to facts. `place` names the file, if it is another one.
    fn facts(&mut self, facts: Vec<Fact>, span: Span, place: &str) {
        for fact in facts {
            match fact {
                Fact::Syntax { message, line, .. } => {
                    let place = file_place(place, line);
                    let message = format!("a template has an error: {message}{place}");
                    self.problems
                        .push(Diagnostic::error(message).label(span, ""));
                }
                Fact::Variable { name, text, line } if !self.is_known(&name, &text) => {
                    let known = self.check.vars.iter().chain(&self.names).copied();
                    let hint = did_you_mean(&name, known);
                    let place = file_place(place, line);
                    let problem = Diagnostic::error(format!("`{name}` is not defined{place}"));
                    self.problems.push(problem.label(span, "").help_if(hint));
                }
                _ => {}
            }
        }
    }

    /// Returns true if a name may be defined. Names in conditional parts of templates need not be.
    fn is_known(&self, name: &str, template: &str) -> bool {
        self.names.contains(name)
            || self.check.vars.contains(name)
            || self.check.has_files
            || template.contains(" if ")
            || template.contains("{% if")
            || template.contains("{%- if")
            || template.contains(" and ")
            || template.contains(" or ")
    }
}

/// Returns the place of a problem in a template file. A template of the tasks file has the place of its step.
fn file_place(file: &str, line: usize) -> String {
    if file.is_empty() {
        return String::new();
    }
    format!("{file}, line {line}")
}
