//! Renders the end of a job for people: a line per instance, the failures, and the result.
//!
//! `cli::job_result` fills a [`JobResult`] from the report of the job.

use std::time::Duration;

use unicode_width::UnicodeWidthStr as _;

use super::action::{count_actions, done_counts, planned_counts};
use super::paint::{Paint, Tone};
use super::words;
use crate::diagnostic::SourcePosition;
use crate::job::InstanceAction;
use crate::name::{ChangeId, Status};

/// The maximum number of instances that are listed of each kind: with trouble, and without.
const MAX_ROWS: usize = 20;
/// The maximum number of failures that are shown in full.
const MAX_FAILURES: usize = 3;
/// The maximum number of lines of output shown for a failure.
const MAX_OUTPUT_LINES: usize = 10;
/// The maximum length of a line of output, in characters.
const MAX_LINE: usize = 400;
/// The maximum length of the first line of a commit message, in characters.
const MAX_SUBJECT: usize = 72;
/// The maximum number of instances that a commit message lists.
const MAX_COMMIT_ROWS: usize = 100;
/// The maximum width of the column of names.
const MAX_NAME: usize = 40;

/// The result of a job for people.
#[derive(Debug, Clone, Default)]
pub struct JobResult {
    /// The workflow of the job, such as `deploy`.
    pub workflow: String,
    pub end: JobEnd,
    /// The instances for which tasks ran or should have run, in the order of the plan.
    pub instances: Vec<InstanceRow>,
    /// The number of other instances that exist and needed nothing.
    pub unchanged: usize,
    /// The number of these instances that are degraded or in error nevertheless, by status.
    pub troubled: Vec<(Status, usize)>,
    /// The failed tasks.
    pub failures: Vec<TaskFailure>,
    /// The reason for which the job was given up, if it was.
    pub aborted: Option<String>,
    /// Commands that continue after a failure, each with its purpose.
    pub next: Vec<(String, &'static str)>,
}

/// The way in which a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum JobEnd {
    #[default]
    Done,
    Failed,
    Interrupted,
    DryRun,
    /// A dry run in which a task failed.
    DryRunFailed,
}

/// An instance for which tasks ran or should have run.
#[derive(Debug, Clone)]
pub struct InstanceRow {
    pub name: String,
    pub outcome: InstanceOutcome,
    /// The number of operations that ran.
    pub operations: usize,
    /// The time that they took. `None` if the times are not real.
    pub elapsed: Option<Duration>,
    /// The status of the instance at the end of the job.
    pub status: Option<Status>,
    /// The reason for which the instance was not reached.
    pub cause: Option<String>,
}

/// The effect of a job on an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstanceOutcome {
    /// The operation failed.
    Failed {
        operation: String,
    },
    /// The operation was cut off, so that its effect is unknown.
    InDoubt {
        operation: String,
    },
    NotRun,
    Done(InstanceAction),
}

/// A failed task with what a person needs to find the cause.
#[derive(Debug, Clone)]
pub struct TaskFailure {
    pub instance: String,
    pub operation: String,
    pub errors: Vec<String>,
    /// The last lines that the task wrote.
    pub output: Vec<String>,
    /// The position of the operation in its source file.
    pub place: Option<SourcePosition>,
}

impl JobResult {
    /// Renders a line per instance, failures first, and then the failures with their details.
    pub fn text(&self, job: ChangeId, paint: Paint) -> String {
        let mut text = String::new();
        let is_bad = |row: &&InstanceRow| row.outcome.is_bad();
        let bad: Vec<_> = self.instances.iter().filter(is_bad).collect();
        let good: Vec<_> = self.instances.iter().filter(|row| !is_bad(row)).collect();
        let shown = || bad.iter().take(MAX_ROWS).chain(good.iter().take(MAX_ROWS));
        let name = |row: &InstanceRow| words::one_line(&row.name).width();
        let names = shown().map(|row| name(row)).max().unwrap_or(0);
        let labels = shown().map(|row| self.label(row).width()).max();
        let widths = (labels.unwrap_or(0), names.min(MAX_NAME));
        for rows in [&bad, &good] {
            for row in rows.iter().take(MAX_ROWS) {
                self.write_row(&mut text, row, widths, paint);
            }
            if let Some(more) = rows.len().checked_sub(MAX_ROWS).filter(|more| *more > 0) {
                let more = words::thousands(more);
                let line = format!("and {more} more; `unfurl history {job}` lists all");
                words::append(
                    &mut text,
                    format_args!("{}\n", paint.tone(Tone::Dim, &line)),
                );
            }
        }
        self.write_failures(&mut text, job, paint);
        text
    }

    fn label(&self, row: &InstanceRow) -> String {
        let is_dry = matches!(self.end, JobEnd::DryRun | JobEnd::DryRunFailed);
        match &row.outcome {
            InstanceOutcome::Failed { .. } => "  failed".to_owned(),
            InstanceOutcome::InDoubt { .. } => {
                format!("{} in doubt", InstanceAction::InDoubt.symbol())
            }
            InstanceOutcome::NotRun => "  not run".to_owned(),
            InstanceOutcome::Done(action) if is_dry => {
                format!("{} {}", action.symbol(), action.verb())
            }
            InstanceOutcome::Done(action) => format!("{} {}", action.symbol(), action.past()),
        }
    }

    fn write_row(
        &self,
        text: &mut String,
        row: &InstanceRow,
        (labels, names): (usize, usize),
        paint: Paint,
    ) {
        let label = self.label(row);
        let tone = match &row.outcome {
            InstanceOutcome::Failed { .. } => Tone::Bad,
            InstanceOutcome::InDoubt { .. } => Tone::Doubt,
            InstanceOutcome::NotRun => Tone::Warning,
            InstanceOutcome::Done(action) => action.tone(),
        };
        let name = words::one_line(&row.name);
        let mut details = match &row.outcome {
            InstanceOutcome::Failed { operation } | InstanceOutcome::InDoubt { operation } => {
                vec![words::one_line(operation).into_owned()]
            }
            InstanceOutcome::NotRun => Vec::new(),
            InstanceOutcome::Done(InstanceAction::Check) => {
                row.status.iter().map(ToString::to_string).collect()
            }
            InstanceOutcome::Done(_) if row.operations == 0 => Vec::new(),
            InstanceOutcome::Done(_) => vec![words::count(row.operations, "operation")],
        };
        if let InstanceOutcome::Done(action) = row.outcome
            && action != InstanceAction::Check
        {
            let trouble = row.status.filter(|status| is_trouble(*status));
            details.extend(trouble.map(|status| format!("now {status}")));
        }
        details.extend(row.cause.as_deref().map(|why| format!("because {why}")));
        details.extend(row.elapsed.map(words::duration));
        let pad = |text: &str, width: usize| " ".repeat(width.saturating_sub(text.width()));
        let mut line = paint.tone(tone, &label);
        line.push_str(&pad(&label, labels));
        line.push_str("  ");
        line.push_str(&name);
        if !details.is_empty() {
            line.push_str(&pad(&name, names));
        }
        for detail in details {
            line.push_str("  ");
            line.push_str(&detail);
        }
        words::append(text, format_args!("{line}\n"));
    }

    fn write_failures(&self, text: &mut String, job: ChangeId, paint: Paint) {
        for failure in self.failures.iter().take(MAX_FAILURES) {
            failure.write(text, paint);
        }
        if let Some(reason) = self.aborted.as_ref().filter(|_| self.failures.is_empty()) {
            let head = paint.tone(Tone::Bad, "the job was given up");
            let reason = words::one_line(reason);
            words::append(text, format_args!("\n{head}: {reason}\n"));
        }
        let hidden = self.failures.len().saturating_sub(MAX_FAILURES);
        if hidden > 0 {
            let more = words::count(hidden, "other failure");
            words::append(
                text,
                format_args!("\nand {more}; `unfurl history {job}` shows all\n"),
            );
        }
        if self.next.is_empty() {
            return;
        }
        words::append(
            text,
            format_args!("\n{}\n", paint.tone(Tone::Strong, "Next:")),
        );
        let width = self.next.iter().map(|(command, _)| command.width()).max();
        let width = width.unwrap_or(0);
        for (command, purpose) in &self.next {
            let command = words::one_line(command);
            let pad = " ".repeat(width.saturating_sub(command.width()));
            words::append(text, format_args!("  {command}{pad}  {purpose}\n"));
        }
    }

    /// Returns the last line of the summary: how the job ended, with counts.
    pub fn line(&self, job: ChangeId, elapsed: Option<Duration>, paint: Paint) -> String {
        let (done, noun) = workflow_words(&self.workflow);
        let counts = self.counts();
        if self.instances.is_empty() && matches!(self.end, JobEnd::Done | JobEnd::DryRun) {
            let line = self.idle_line();
            let has_trouble = !self.troubled.is_empty();
            let tone = if has_trouble {
                Tone::Warning
            } else {
                Tone::Good
            };
            return format!("{}\n", paint.tone(tone, &line));
        }
        let (head, tone) = match self.end {
            JobEnd::Done if self.has_trouble() => (done, Tone::Warning),
            JobEnd::Done => (done, Tone::Good),
            JobEnd::Failed => (format!("{noun} failed"), Tone::Bad),
            JobEnd::Interrupted => (format!("{noun} interrupted"), Tone::Warning),
            JobEnd::DryRun => ("Dry run".to_owned(), Tone::Good),
            JobEnd::DryRunFailed => ("Dry run failed".to_owned(), Tone::Bad),
        };
        let mut line = paint.tone(tone, &head);
        if !counts.is_empty() {
            words::append(&mut line, format_args!(": {}", counts.join(", ")));
        }
        if matches!(self.end, JobEnd::DryRun | JobEnd::DryRunFailed) {
            line.push_str("; nothing was changed");
        }
        if let Some(elapsed) = elapsed {
            words::append(&mut line, format_args!(" in {}", words::duration(elapsed)));
        }
        if !matches!(self.end, JobEnd::DryRun | JobEnd::DryRunFailed) {
            words::append(&mut line, format_args!(" (job {job})"));
        }
        line.push('\n');
        line
    }

    /// Returns the message of the commit of the job's record: `deploy: create 3, change 1 (web, db) [job …]`,
    /// and all instances with their effects in the body.
    pub fn commit_message(&self, job: ChangeId) -> String {
        let is_bad = |row: &&InstanceRow| row.outcome.is_bad();
        let bad = self.instances.iter().filter(is_bad);
        let rows: Vec<_> = bad
            .chain(self.instances.iter().filter(|row| !is_bad(row)))
            .collect();
        let plain = Self {
            end: JobEnd::DryRun,
            instances: self.instances.clone(),
            ..Self::default()
        };
        let counts = plain.counts().join(", ");
        let workflow = words::one_line(&self.workflow);
        let end = format!(" [job {job}]");
        if rows.is_empty() {
            return format!("{workflow}: update the record{end}");
        }
        let start = format!("{workflow}: {counts}");
        let names: Vec<_> = rows.iter().map(|row| words::one_line(&row.name)).collect();
        let room = MAX_SUBJECT.saturating_sub(start.chars().count() + end.chars().count());
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        let names = names_within(&names, room);
        let mut text = format!("{start}{}{end}\n\n", names.unwrap_or_default());
        for row in rows.iter().take(MAX_COMMIT_ROWS) {
            let label = self.label(row);
            words::append(
                &mut text,
                format_args!("{} {}\n", label.trim(), words::one_line(&row.name)),
            );
        }
        if let Some(more) = rows
            .len()
            .checked_sub(MAX_COMMIT_ROWS)
            .filter(|more| *more > 0)
        {
            words::append(
                &mut text,
                format_args!("and {} more\n", words::thousands(more)),
            );
        }
        text
    }

    /// Returns true if an instance in the scope of the job is degraded or in error after the job.
    ///
    /// An instance whose operations succeeded in this job is judged by these, as in Unfurl.
    pub fn is_degraded(&self) -> bool {
        let is_judged = |row: &&InstanceRow| match row.outcome {
            InstanceOutcome::Done(action) => action == InstanceAction::Check,
            _ => true,
        };
        let rows = self.instances.iter().filter(is_judged);
        let rows = rows.filter_map(|row| row.status);
        let others = self.troubled.iter().map(|(status, _)| *status);
        let mut all = rows.chain(others);
        all.any(|status| matches!(status, Status::Degraded | Status::Error))
    }

    /// Returns true if an operation `check` of the job found an instance in error, whatever the record said before.
    pub fn found_error(&self) -> bool {
        let checked = self.instances.iter();
        let mut checked =
            checked.filter(|row| row.outcome == InstanceOutcome::Done(InstanceAction::Check));
        checked.any(|row| row.status == Some(Status::Error))
    }

    fn has_trouble(&self) -> bool {
        let rows = self.instances.iter();
        let mut statuses = rows.filter_map(|row| row.status);
        !self.troubled.is_empty() || statuses.any(is_trouble)
    }

    fn idle_line(&self) -> String {
        let good = self.unchanged - self.troubled.iter().map(|(_, count)| count).sum::<usize>();
        let is = |count: usize| if count == 1 { "is" } else { "are" };
        let mut parts = Vec::new();
        if self.workflow == "deploy" && self.unchanged > 0 {
            if good > 0 || self.troubled.is_empty() {
                let instances = counted(good);
                parts.push(format!("{instances} {} as planned", is(good)));
            }
            for (status, count) in &self.troubled {
                let instances = if parts.is_empty() {
                    counted(*count)
                } else {
                    words::thousands(*count)
                };
                parts.push(format!("{instances} {} {}", is(*count), of_status(*status)));
            }
        }
        if parts.is_empty() {
            "Nothing to do.".to_owned()
        } else {
            format!("Nothing to do: {}.", parts.join(", "))
        }
    }

    /// Lists what became of the instances, failures first.
    fn counts(&self) -> Vec<String> {
        let mut counts = Vec::new();
        let count = |wanted: fn(&InstanceOutcome) -> bool| {
            let rows = self.instances.iter();
            rows.filter(|row| wanted(&row.outcome)).count()
        };
        let mut add = |count: usize, word: &str| {
            if count > 0 {
                counts.push(format!("{} {word}", words::thousands(count)));
            }
        };
        add(
            count(|it| matches!(it, InstanceOutcome::Failed { .. })),
            "failed",
        );
        add(
            count(|it| matches!(it, InstanceOutcome::InDoubt { .. })),
            "in doubt",
        );
        add(count(|it| *it == InstanceOutcome::NotRun), "not run");
        let (actions, mut statuses) = self.done_counts();
        counts.extend(actions);
        let unchanged =
            self.unchanged - self.troubled.iter().map(|(_, count)| count).sum::<usize>();
        if unchanged > 0 {
            counts.push(format!("{} unchanged", words::thousands(unchanged)));
        }
        statuses.sort_by_key(|(status, _)| *status);
        let statuses = statuses.iter();
        counts.extend(
            statuses.map(|(status, count)| {
                format!("{} {}", words::thousands(*count), of_status(*status))
            }),
        );
        counts
    }

    /// Returns the effects on the instances whose tasks are done, in words, and the numbers of instances by
    /// the status that is shown. Instances that were only checked have no effect but a status.
    fn done_counts(&self) -> (Option<String>, Vec<(Status, usize)>) {
        let rows = self.instances.iter();
        let done: Vec<(InstanceAction, Option<Status>)> = rows
            .filter_map(|row| match row.outcome {
                InstanceOutcome::Done(action) => Some((action, row.status)),
                _ => None,
            })
            .collect();
        let mut statuses: Vec<(Status, usize)> = self.troubled.clone();
        let only_checked = self.end == JobEnd::Done || self.end == JobEnd::Failed;
        if only_checked
            && done
                .iter()
                .all(|(action, _)| *action == InstanceAction::Check)
        {
            for (_, status) in &done {
                count_status(&mut statuses, status.unwrap_or(Status::Unknown));
            }
            return (None, statuses);
        }
        let actions = count_actions(done.iter().map(|(action, _)| *action));
        let actions = match self.end {
            JobEnd::DryRun | JobEnd::DryRunFailed => planned_counts(&actions),
            _ => done_counts(&actions),
        };
        let troubles = done.iter().filter_map(|(_, status)| *status);
        for status in troubles.filter(|status| is_trouble(*status)) {
            count_status(&mut statuses, status);
        }
        (Some(actions).filter(|it| !it.is_empty()), statuses)
    }
}

impl InstanceOutcome {
    /// Returns true if the instance is not as the job should have left it.
    const fn is_bad(&self) -> bool {
        !matches!(self, Self::Done(_))
    }
}

impl TaskFailure {
    fn write(&self, text: &mut String, paint: Paint) {
        let (operation, name) = (
            words::one_line(&self.operation),
            words::one_line(&self.instance),
        );
        let head = paint.tone(Tone::Bad, &format!("{operation} of {name} failed"));
        let place = self.place.as_ref().map_or_else(String::new, |place| {
            let place = place.to_string();
            format!("   {}", paint.tone(Tone::Dim, &words::one_line(&place)))
        });
        words::append(text, format_args!("\n{head}{place}\n"));
        for error in &self.errors {
            words::append(text, format_args!("  {}\n", words::one_line(error)));
        }
        if self.output.is_empty() {
            return;
        }
        let first = self.output.len().saturating_sub(MAX_OUTPUT_LINES);
        let title = if first > 0 {
            format!("the last {MAX_OUTPUT_LINES} lines of its output:")
        } else {
            "its output:".to_owned()
        };
        words::append(text, format_args!("  {title}\n"));
        for line in self.output.iter().skip(first) {
            let line = words::one_line(line);
            words::append(
                text,
                format_args!("    {}\n", words::shorten(&line, MAX_LINE)),
            );
        }
    }
}

/// Returns the first names, as many as fit, as ` (web, db and 2 more)`. `None` if not even the first fits.
fn names_within(names: &[&str], room: usize) -> Option<String> {
    let mut listed = (1..=names.len().min(MAX_ROWS)).rev().map(|count| {
        let more = names.len() - count;
        let more = if more > 0 {
            format!(" and {} more", words::thousands(more))
        } else {
            String::new()
        };
        let first: Vec<&str> = names.iter().take(count).copied().collect();
        format!(" ({}{more})", first.join(", "))
    });
    listed.find(|names| names.chars().count() <= room)
}

/// Returns true for a status that needs attention.
pub const fn is_trouble(status: Status) -> bool {
    matches!(status, Status::Degraded | Status::Error | Status::Unknown)
}

fn of_status(status: Status) -> String {
    match status {
        Status::Error => "in error".to_owned(),
        Status::Unknown => "with unknown status".to_owned(),
        status => status.to_string(),
    }
}

fn count_status(counts: &mut Vec<(Status, usize)>, status: Status) {
    match counts.iter_mut().find(|(known, _)| *known == status) {
        Some((_, count)) => *count += 1,
        None => counts.push((status, 1)),
    }
}

fn counted(count: usize) -> String {
    let noun = if count == 1 { "instance" } else { "instances" };
    format!("{} {noun}", words::thousands(count))
}

/// Returns the words for a finished job of a workflow, and the noun for the job.
fn workflow_words(workflow: &str) -> (String, String) {
    let (done, noun) = match workflow {
        "deploy" => ("Deployed", "Deploy"),
        "undeploy" => ("Torn down", "Teardown"),
        "stop" => ("Stopped", "Stop"),
        "check" => ("Checked", "Check"),
        "discover" => ("Discovered", "Discover"),
        "run" => ("Run finished", "Run"),
        other => {
            let noun = format!("Workflow `{}`", words::one_line(other));
            return (format!("{noun} finished"), noun);
        }
    };
    (done.to_owned(), noun.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::paint::without_colours;
    use super::*;

    fn row(name: &str, outcome: InstanceOutcome, millis: u64) -> InstanceRow {
        InstanceRow {
            name: name.to_owned(),
            outcome,
            operations: usize::from(millis > 0) * 2,
            elapsed: (millis > 0).then(|| Duration::from_millis(millis)),
            status: Some(Status::Ok),
            cause: None,
        }
    }

    fn done(name: &str, action: InstanceAction) -> InstanceRow {
        row(name, InstanceOutcome::Done(action), 1_200)
    }

    fn failed(name: &str) -> InstanceRow {
        let operation = "configure".to_owned();
        row(name, InstanceOutcome::Failed { operation }, 100)
    }

    fn result(end: JobEnd, instances: Vec<InstanceRow>) -> JobResult {
        JobResult {
            workflow: "deploy".to_owned(),
            end,
            instances,
            ..JobResult::default()
        }
    }

    fn id() -> ChangeId {
        ChangeId::parse("A6BL7Jg00000").unwrap()
    }

    /// Returns the text with the last line; checks that colours keep the words.
    fn shown(result: &JobResult) -> String {
        let elapsed = Some(Duration::from_millis(12_300));
        let render = |paint| {
            let text = result.text(id(), paint);
            format!("{text}\n{}", result.line(id(), elapsed, paint))
        };
        let plain = render(Paint::plain());
        let coloured = render(Paint::new(true));
        assert!(coloured.contains("\x1b["));
        assert_eq!(without_colours(&coloured), plain);
        // The text that follows depends on the end of the last line.
        assert!(!coloured.contains("\n\x1b[0m"), "{coloured:?}");
        plain
    }

    #[test]
    fn a_job_has_a_line_per_instance_and_ends_with_its_result() {
        use InstanceAction::{Change, Create, Delete};
        let mut all = result(
            JobEnd::Done,
            vec![
                done("web", Create),
                done("database", Change),
                done("old", Delete),
            ],
        );
        all.instances[1].status = Some(Status::Degraded);
        all.unchanged = 2_980;
        insta::assert_snapshot!(shown(&all), @"
        + created  web       2 operations  1.2 s
        ~ changed  database  2 operations  now degraded  1.2 s
        - deleted  old       2 operations  1.2 s

        Deployed: 1 created, 1 changed, 1 deleted, 2,980 unchanged, 1 degraded in 12 s (job A6BL7Jg00000)
        ");
    }

    #[test]
    fn a_failure_comes_first_with_its_cause_and_the_next_commands() {
        let mut after = row("after", InstanceOutcome::NotRun, 0);
        after.cause = Some("`bad` failed".to_owned());
        let mut all = result(
            JobEnd::Failed,
            vec![done("db", InstanceAction::Create), failed("bad"), after],
        );
        all.failures.push(TaskFailure {
            instance: "bad".to_owned(),
            operation: "configure".to_owned(),
            errors: vec!["exit code 3".to_owned()],
            output: (1..=12)
                .map(|number| format!("line {number}\x1b[31m"))
                .collect(),
            place: Some(SourcePosition {
                path: "ensemble.yaml".into(),
                line: 31,
                column: 9,
            }),
        });
        all.next = vec![
            ("unfurl explain bad".to_owned(), "shows the cause"),
            ("unfurl deploy".to_owned(), "runs what is still to do"),
        ];
        insta::assert_snapshot!(shown(&all), @r"
          failed   bad    configure  0.1 s
          not run  after  because `bad` failed
        + created  db     2 operations  1.2 s

        configure of bad failed   ensemble.yaml:31:9
          exit code 3
          the last 10 lines of its output:
            line 3\u001b[31m
            line 4\u001b[31m
            line 5\u001b[31m
            line 6\u001b[31m
            line 7\u001b[31m
            line 8\u001b[31m
            line 9\u001b[31m
            line 10\u001b[31m
            line 11\u001b[31m
            line 12\u001b[31m

        Next:
          unfurl explain bad  shows the cause
          unfurl deploy       runs what is still to do

        Deploy failed: 1 failed, 1 not run, 1 created in 12 s (job A6BL7Jg00000)
        ");
    }

    #[test]
    fn many_instances_and_failures_are_counted() {
        let names = |kind: &str, count| {
            (0..count)
                .map(|at| format!("{kind}{at}"))
                .collect::<Vec<_>>()
        };
        let mut rows: Vec<_> = names("bad", 21).iter().map(|name| failed(name)).collect();
        rows.extend(
            names("web", 3_000)
                .iter()
                .map(|name| done(name, InstanceAction::Create)),
        );
        let mut all = result(JobEnd::Failed, rows);
        for name in names("bad", 21) {
            all.failures.push(TaskFailure {
                instance: name,
                operation: "configure".to_owned(),
                errors: vec!["exit code 3".to_owned()],
                output: Vec::new(),
                place: None,
            });
        }
        let text = shown(&all);
        assert!(text.lines().count() < 60, "{text}");
        for part in [
            "and 1 more; `unfurl history A6BL7Jg00000` lists all\n",
            "and 2,980 more; `unfurl history A6BL7Jg00000` lists all\n",
            "and 18 other failures; `unfurl history A6BL7Jg00000` shows all\n",
            "Deploy failed: 21 failed, 3,000 created in 12 s",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn each_end_of_a_job_has_its_line() {
        let line = |result: &JobResult| result.line(id(), None, Paint::plain());
        let mut idle = result(JobEnd::Done, Vec::new());
        assert_eq!(line(&idle), "Nothing to do.\n");
        idle.unchanged = 30;
        assert_eq!(line(&idle), "Nothing to do: 30 instances are as planned.\n");
        idle.troubled = vec![(Status::Degraded, 1)];
        let text = "Nothing to do: 29 instances are as planned, 1 is degraded.\n";
        assert_eq!(line(&idle), text);
        idle.unchanged = 1;
        assert_eq!(line(&idle), "Nothing to do: 1 instance is degraded.\n");

        let create = || done("web", InstanceAction::Create);
        let dry = result(JobEnd::DryRun, vec![create()]);
        assert_eq!(line(&dry), "Dry run: create 1; nothing was changed\n");
        let mut cut = row(
            "db",
            InstanceOutcome::InDoubt {
                operation: "configure".to_owned(),
            },
            100,
        );
        cut.status = Some(Status::Unknown);
        let late = row("late", InstanceOutcome::NotRun, 0);
        let interrupted = result(JobEnd::Interrupted, vec![create(), cut, late]);
        let text = "Deploy interrupted: 1 in doubt, 1 not run, 1 created (job A6BL7Jg00000)\n";
        assert_eq!(line(&interrupted), text);
    }

    #[test]
    fn a_commit_message_has_counts_and_names_in_one_line() {
        use InstanceAction::{Change, Create};
        let rows = vec![done("web", Create), failed("db"), done("cache", Change)];
        let message = result(JobEnd::Failed, rows).commit_message(id());
        insta::assert_snapshot!(message, @"
        deploy: 1 failed, create 1, change 1 (db, web, cache) [job A6BL7Jg00000]

        failed db
        + created web
        ~ changed cache
        ");
        let many = (0..3_000)
            .map(|at| done(&format!("web{at}"), Create))
            .collect();
        let message = result(JobEnd::Done, many).commit_message(id());
        let (subject, body) = message.split_once("\n\n").unwrap();
        assert_eq!(
            subject,
            "deploy: create 3,000 (web0, web1 and 2,998 more) [job A6BL7Jg00000]"
        );
        assert_eq!(body.lines().count(), 101);
        let none = result(JobEnd::Done, Vec::new()).commit_message(id());
        assert_eq!(none, "deploy: update the record [job A6BL7Jg00000]");
    }

    #[test]
    fn a_check_counts_what_it_found() {
        let check = |name, status| {
            let mut row = done(name, InstanceAction::Check);
            row.status = Some(status);
            row
        };
        let mut all = result(
            JobEnd::Done,
            vec![
                check("web", Status::Ok),
                check("db", Status::Error),
                check("log", Status::Ok),
            ],
        );
        all.workflow = "check".to_owned();
        insta::assert_snapshot!(shown(&all), @"
        > checked  web  ok  1.2 s
        > checked  db   error  1.2 s
        > checked  log  ok  1.2 s

        Checked: 2 ok, 1 in error in 12 s (job A6BL7Jg00000)
        ");
        assert!(all.is_degraded());
    }
}
