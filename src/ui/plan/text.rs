//! Renders a plan as text: deletions first, each touched instance with its operations and changes, then inputs,
//! outputs and totals.

use super::instance::{is_removal, write_more};
use super::view::{PlanInstance, PlanValue, PlanView};
use crate::job::{DifferenceSide, InstanceAction};
use crate::ui::action::{count_actions, planned_counts};
use crate::ui::layout::Layout;
use crate::ui::paint::Tone;
use crate::ui::value_text::value_text;
use crate::ui::words;

/// The maximum number of deleted and replaced instances that are named next to the totals.
const MAX_NAMED: usize = 10;
/// The least room for a value, in characters.
const MIN_ROOM: usize = 20;

/// The style of a plan's text.
#[derive(Debug, Clone, Copy)]
pub struct PlanText {
    pub layout: Layout,
    /// Whether instances that the job leaves alone are listed, not only counted.
    pub lists_skipped: bool,
}

impl PlanView {
    /// Renders the plan for people. Without anything to do, this is one line.
    pub fn text(&self, style: PlanText) -> String {
        let layout = style.layout;
        if self.instances.is_empty() && self.external.is_empty() {
            let mut text = self.nothing_to_do(style.lists_skipped);
            self.write_other_drift(&mut text, layout);
            if style.lists_skipped {
                text.push_str(&self.skipped.text());
            }
            return text;
        }
        let heading = match &*self.ensemble {
            "" => format!("Plan for {}:", self.workflow),
            ensemble => format!(
                "Plan for {} of {}:",
                self.workflow,
                words::one_line(ensemble)
            ),
        };
        let mut text = layout.paint.tone(Tone::Strong, &heading);
        text.push('\n');
        for job in &self.external {
            let instance = words::one_line(&job.instance);
            let of = job.ensemble.as_ref();
            let of = of.map_or(String::new(), |path| format!(" of {}", path.display()));
            words::append(
                &mut text,
                format_args!("\nfirst: a job for {instance}{of}\n"),
            );
        }
        self.write_instances(&mut text, layout);
        write_values(&mut text, "inputs", &self.inputs, layout);
        write_values(&mut text, "outputs", &self.outputs, layout);
        if style.lists_skipped {
            text.push_str(&self.skipped.text());
        }
        text.push('\n');
        self.write_other_drift(&mut text, layout);
        self.write_totals(&mut text, layout);
        text
    }

    /// Appends a paragraph for each instance, deletions and replacements first.
    fn write_instances(&self, text: &mut String, layout: Layout) {
        let removes = |instance: &&PlanInstance| is_removal(instance.action);
        let removed = self.instances.iter().filter(removes);
        let others = self.instances.iter().filter(|instance| !removes(instance));
        for instance in removed.chain(others) {
            if instance.is_detailed {
                text.push('\n');
                instance.write(text, layout);
                let mut drifted = self.drifted.iter();
                if let Some((_, note)) = drifted.find(|(name, _)| *name == instance.name) {
                    write_drift(text, "    ", note, layout);
                }
            }
        }
        let mut is_first = true;
        for action in InstanceAction::ALL {
            let more = self.instances.iter();
            let more = more.filter(|it| it.action == action && !it.is_detailed);
            let more: Vec<&PlanInstance> = more.collect();
            if !more.is_empty() {
                if std::mem::take(&mut is_first) {
                    text.push('\n');
                }
                write_more(text, action, &more, layout);
            }
        }
    }

    /// Appends a line for each drifted instance that has no paragraph.
    fn write_other_drift(&self, text: &mut String, layout: Layout) {
        let has_paragraph = |name: &String| {
            let mut instances = self.instances.iter();
            instances.any(|it| it.is_detailed && it.name == *name)
        };
        let others = self.drifted.iter().filter(|(name, _)| !has_paragraph(name));
        let others: Vec<_> = others.collect();
        for (name, note) in others.iter().take(MAX_NAMED) {
            write_drift(text, "", &format!("{name} {note}"), layout);
        }
        if let Some(more) = others.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
            write_drift(text, "", &format!("{more} more instances drifted"), layout);
        }
    }

    /// Appends the names of deleted instances and the counts of all effects.
    fn write_totals(&self, text: &mut String, layout: Layout) {
        for (action, label) in [
            (InstanceAction::Delete, "Deletes"),
            (InstanceAction::Replace, "Replaces"),
            (InstanceAction::InDoubt, "In doubt:"),
        ] {
            let of_action = self.instances.iter().filter(|it| it.action == action);
            let names: Vec<_> = of_action.map(|it| words::one_line(&it.name)).collect();
            if !names.is_empty() {
                let label = layout.paint.tone(action.tone(), label);
                let names = words::names(&names, MAX_NAMED);
                let hint = match action {
                    InstanceAction::InDoubt => " `--redo-in-doubt` runs the operation again.",
                    _ => "",
                };
                words::append(text, format_args!("{label} {names}.{hint}\n"));
            }
        }
        let failed = self.instances.iter().flat_map(|it| &it.operations);
        let failed = failed.filter(|it| !it.errors.is_empty()).count();
        if failed > 0 {
            let failed = format!(
                "{} cannot be rendered; `--exclude NAME` leaves an instance out.",
                words::count(failed, "operation")
            );
            words::append(
                text,
                format_args!("{}\n", layout.paint.tone(Tone::Bad, &failed)),
            );
        }
        let counts = planned_counts(&count_actions(self.instances.iter().map(|it| it.action)));
        let total = layout.paint.tone(Tone::Strong, &format!("Plan: {counts}"));
        let mut rest: Vec<String> = Vec::new();
        if self.unchanged > 0 {
            rest.push(format!("{} unchanged", words::thousands(self.unchanged)));
        }
        rest.extend(self.left_alone());
        match rest.join(", ") {
            rest if rest.is_empty() => words::append(text, format_args!("{total}.\n")),
            rest => words::append(text, format_args!("{total} ({rest}).\n")),
        }
    }

    /// Counts the instances that the job leaves alone.
    fn left_alone(&self) -> Vec<String> {
        let mut parts = Vec::new();
        if !self.skipped.skipped.is_empty() {
            parts.push(format!(
                "{} left alone",
                words::thousands(self.skipped.skipped.len())
            ));
        }
        if !self.skipped.orphans.is_empty() {
            parts.push(format!(
                "{} without a template",
                words::thousands(self.skipped.orphans.len())
            ));
        }
        parts
    }

    fn nothing_to_do(&self, lists_skipped: bool) -> String {
        let mut parts = Vec::new();
        if self.workflow == "deploy" && self.unchanged > 0 {
            let (noun, verb) = match self.unchanged {
                1 => ("instance", "is"),
                _ => ("instances", "are"),
            };
            let count = words::thousands(self.unchanged);
            parts.push(format!("{count} {noun} {verb} as planned"));
        }
        parts.extend(self.left_alone());
        let has_hidden = !self.skipped.skipped.is_empty() || !self.skipped.orphans.is_empty();
        let hint = match (has_hidden, lists_skipped) {
            (true, false) => " (`-v` says why)",
            _ => "",
        };
        match parts.join(", ") {
            parts if parts.is_empty() => "Nothing to do.\n".to_owned(),
            parts => format!("Nothing to do: {parts}{hint}.\n"),
        }
    }
}

/// Appends a line about drift that the last look found.
fn write_drift(text: &mut String, indent: &str, note: &str, layout: Layout) {
    let note = format!("! {}", words::one_line(note));
    let note = layout.paint.tone(Tone::Warning, &note);
    words::append(text, format_args!("{indent}{note}\n"));
}

/// Appends the section of inputs or outputs. Nothing without any.
fn write_values(text: &mut String, what: &str, values: &[PlanValue], layout: Layout) {
    let shown = values.iter().filter(|it| layout.is_full || it.is_changed());
    let values: Vec<&PlanValue> = shown.collect();
    if values.is_empty() {
        return;
    }
    let heading = layout
        .paint
        .tone(Tone::Strong, &format!("Changes to {what}:"));
    words::append(text, format_args!("\n{heading}\n"));
    for value in values {
        value.write(text, layout);
    }
}

impl PlanValue {
    fn is_changed(&self) -> bool {
        self.old != self.new || self.is_secret
    }

    fn write(&self, text: &mut String, layout: Layout) {
        let name = words::one_line(&self.name);
        let action = match (&self.old, &self.new) {
            (DifferenceSide::Missing, _) => InstanceAction::Create,
            (_, DifferenceSide::Missing) => InstanceAction::Delete,
            (_, new) if !self.is_changed() => {
                let value = Self::shown(new, layout.width, layout);
                let line = format!("    {name} = {value}");
                let length = line.chars().count();
                layout.line_with_place(text, 0, (&line, length), self.place());
                return;
            }
            _ => InstanceAction::Change,
        };
        let room = layout.width.saturating_sub(12 + name.chars().count());
        let old = Self::shown(&self.old, room / 2, layout);
        let new = Self::shown(&self.new, room / 2, layout);
        let plain = match action {
            InstanceAction::Create => format!("{name} = {new}"),
            InstanceAction::Delete => format!("{name}: {old} -> removed"),
            _ if self.is_secret => format!("{name}: changed (secret)"),
            _ => format!("{name}: {old} -> {new}"),
        };
        let symbol = action.symbol();
        let length = 2 + symbol.len() + plain.chars().count();
        let paint = layout.paint;
        let painted = match action {
            InstanceAction::Create => format!("{name} = {}", paint.tone(Tone::Good, &new)),
            InstanceAction::Change if !self.is_secret => format!(
                "{name}: {} -> {}",
                paint.tone(Tone::Bad, &old),
                paint.tone(Tone::Good, &new)
            ),
            _ => plain,
        };
        let line = format!("{} {painted}", paint.tone(action.tone(), symbol));
        layout.line_with_place(text, 2, (&line, length), self.place());
    }

    fn place(&self) -> Option<&str> {
        (!self.source.is_empty()).then_some(&*self.source)
    }

    fn shown(side: &DifferenceSide, room: usize, layout: Layout) -> String {
        match side {
            DifferenceSide::Value(value) if layout.is_full => value_text(value, true),
            DifferenceSide::Value(value) => {
                let text = value_text(value, false);
                words::shorten(&text, room.max(MIN_ROOM)).into_owned()
            }
            DifferenceSide::Missing => "nothing".to_owned(),
            DifferenceSide::Failed(_) => "cannot be evaluated".to_owned(),
            DifferenceSide::Unknown => "(known after the job)".to_owned(),
        }
    }
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
