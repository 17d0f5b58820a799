//! Renders the paragraph of an instance in a plan: its effect, its operations with their work and causes, and the
//! values of a new instance.

use super::view::{PlanInstance, PlanOperation};
use crate::job::{DifferenceKind, InstanceAction};
use crate::task::TaskWork;
use crate::text::shlex_join;
use crate::ui::layout::Layout;
use crate::ui::paint::Tone;
use crate::ui::value_text::{is_long, text_counts, value_text};
use crate::ui::words;
use crate::value::Value;

/// The maximum number of properties of a new instance that are shown.
const MAX_VALUES: usize = 12;
/// The maximum number of instances that are named together.
const MAX_NAMES: usize = 8;

impl PlanInstance {
    pub(super) fn write(&self, text: &mut String, layout: Layout) {
        let name = words::one_line(&self.name);
        let kind = match &*self.type_name {
            "" => String::new(),
            kind => format!(" ({})", words::one_line(kind)),
        };
        let label = self.action.label(layout.paint);
        let length = self.action.symbol().len() + 1 + self.action.verb().len();
        let length = length + 1 + name.chars().count() + kind.chars().count();
        let name = layout.paint.tone(Tone::Strong, &name);
        let place = self.place.as_ref().map(ToString::to_string);
        let line = format!("{label} {name}{kind}");
        layout.line_with_place(text, 0, (&line, length), place.as_deref());
        let mut last = None;
        for operation in &self.operations {
            operation.write(text, &mut last, layout);
        }
        self.write_values(text, layout);
    }

    /// Appends the properties of a new instance, folded.
    fn write_values(&self, text: &mut String, layout: Layout) {
        if self.values.is_empty() {
            return;
        }
        let max = if layout.is_full {
            usize::MAX
        } else {
            MAX_VALUES
        };
        let last = self.values.len() - 1;
        let shown = self.values.iter().take(max).enumerate();
        let mut shown: Vec<String> = shown
            .map(|(place, (name, value))| {
                let value = match value {
                    Some(value) => value_text(value, layout.is_full),
                    None => "(known after the job)".to_owned(),
                };
                let comma = if place == last { "" } else { "," };
                format!("{} = {value}{comma}", words::one_line(name))
            })
            .collect();
        if let Some(more) = self.values.len().checked_sub(max).filter(|more| *more > 0) {
            shown.push(format!("and {more} more (`--detail` shows all)"));
        }
        layout.wrapped(text, 4, shown.iter().map(String::as_str));
    }
}

impl PlanOperation {
    /// `last` is the reason of the operation before, which is not repeated.
    fn write(&self, text: &mut String, last: &mut Option<String>, layout: Layout) {
        let task = &self.task;
        let mut line = words::one_line(&task.operation).into_owned();
        if let Some(requirement) = &self.requirement {
            let requirement = words::one_line(requirement);
            words::append(&mut line, format_args!(" (requirement `{requirement}`)"));
        }
        if let Some(condition) = &self.condition {
            words::append(&mut line, format_args!(" if {condition} fails"));
        }
        let reason = self.reason();
        if last.as_ref() != Some(&reason) {
            words::append(&mut line, format_args!(": {}", words::one_line(&reason)));
            *last = Some(reason);
        }
        words::append(text, format_args!("    {line}\n"));
        for error in &self.errors {
            let error = format!("cannot be rendered: {}", words::one_line(error));
            words::append(
                text,
                format_args!("      {}\n", layout.paint.tone(Tone::Bad, &error)),
            );
        }
        if let Some(work) = &self.work {
            write_work(text, work, layout);
        }
        if task.note.as_deref() == Some("render waiting for dependents") {
            text.push_str("      some values are known only after other operations of this job\n");
        }
        self.shown_changes(layout).write_changes(text, 6, layout);
    }

    /// Returns the task with the changes that the text shows: a changed command that follows from other changes is
    /// shown as the command that runs.
    fn shown_changes(&self, layout: Layout) -> super::view::PlanTask {
        let mut task = self.task.clone();
        if matches!(self.work, Some(TaskWork::Command(_))) && !layout.is_full {
            task.changes.retain(|change| {
                let difference = &change.difference;
                let is_command = difference.kind == DifferenceKind::Input
                    && matches!(&*difference.name, "command" | "cmd");
                !is_command || change.follows.is_empty()
            });
        }
        task
    }

    /// Returns the reason in plain words.
    fn reason(&self) -> String {
        let task = &self.task;
        if let Some(text) = &task.reason_text {
            return text.strip_prefix("it ").unwrap_or(text).to_owned();
        }
        match &*task.reason {
            "" => "sets a state".to_owned(),
            "add" => "does not exist yet".to_owned(),
            "reconfigure" if task.candidates.is_empty() => "values have changed".to_owned(),
            "reconfigure" => "a value has changed".to_owned(),
            "run" | "undeploy" | "stop" | "check" | "discover" => "requested".to_owned(),
            "upgrade" => "`--upgrade`".to_owned(),
            reason => format!("workflow `{reason}`"),
        }
    }
}

/// Appends a line with the work of an operation.
fn write_work(text: &mut String, work: &TaskWork, layout: Layout) {
    let line = match work {
        TaskWork::Command(Value::Null) | TaskWork::Configurator(_) => return,
        TaskWork::Command(command) => {
            write_command(text, command, layout);
            return;
        }
        TaskWork::Attributes(names) if names.is_empty() => "runs no program".to_owned(),
        TaskWork::Attributes(names) => format!("sets {}", words::names(names, MAX_NAMES)),
        TaskWork::Operation { operation, target } => match target {
            Some(target) => format!("runs {operation} of {target}"),
            None => format!("runs {operation}"),
        },
        TaskWork::Task(task) => format!("runs the task {}", value_text(task, layout.is_full)),
        TaskWork::Module(Value::Null) => "applies its configuration".to_owned(),
        TaskWork::Module(module) => {
            format!("applies the module {}", value_text(module, layout.is_full))
        }
        TaskWork::States(Value::Null) => "applies the states of the top file".to_owned(),
        TaskWork::States(states) => {
            format!("applies the states {}", value_text(states, layout.is_full))
        }
    };
    words::append(text, format_args!("      {}\n", words::one_line(&line)));
}

/// Appends a command line, wrapped. A long script becomes counts.
fn write_command(text: &mut String, command: &Value, layout: Layout) {
    let line = match command {
        Value::List(items) => shlex_join(items.iter().map(ToString::to_string)),
        other => other.to_string(),
    };
    if !layout.is_full && is_long(&Value::from(line.as_str())) {
        words::append(text, format_args!("      $ {}\n", text_counts(&line, "")));
        return;
    }
    let mut prompt = Some("$");
    for line in line.trim_end().lines() {
        let line = words::one_line(line);
        let words = prompt.take().into_iter().chain(line.split(' '));
        layout.wrapped(text, 6, words);
    }
}

/// Returns true if an instance does not survive an effect.
pub(super) fn is_removal(action: InstanceAction) -> bool {
    matches!(action, InstanceAction::Delete | InstanceAction::Replace)
}

/// Appends instances whose details are not shown. Each one that is removed or in doubt has a line of its own.
pub(super) fn write_more(
    text: &mut String,
    action: InstanceAction,
    more: &[&PlanInstance],
    layout: Layout,
) {
    let label = action.label(layout.paint);
    if is_removal(action) || action == InstanceAction::InDoubt {
        for instance in more {
            words::append(
                text,
                format_args!("{label} {}\n", words::one_line(&instance.name)),
            );
        }
        return;
    }
    let names: Vec<_> = more
        .iter()
        .take(MAX_NAMES)
        .map(|it| words::one_line(&it.name))
        .collect();
    let rest = more.len() - names.len();
    let rest = match rest {
        0 => String::new(),
        rest => format!(" and {} more", words::thousands(rest)),
    };
    let list = format!("{}{rest} (`--detail` shows each)", names.join(", "));
    let head = format!("{label} {} more:", words::thousands(more.len()));
    let words = std::iter::once(&*head).chain(list.split(' '));
    layout.wrapped(text, 0, words);
}
