//! Renders the summary of a job with the words of Unfurl.

use super::super::summary::{SummaryView, TaskRow};
use super::super::{Align, Table, words};
use crate::name::{NodeState, Status};
use crate::value::{Map, Value};

/// The maximum number of lines of a task's output.
const MAX_OUTPUT_LINES: usize = 2;

/// Renders the summary of a job as Unfurl does: a line of counts, and a table of all tasks with their
/// results below. The result of the query follows.
pub fn summary_text(job: &SummaryView, width: u16) -> String {
    let mut text = format!("Job {} completed", job.id);
    if job.tasks.is_empty() {
        let status = job.status;
        words::append(&mut text, format_args!(": {status}. No tasks ran.\n"));
    } else {
        if let Some(elapsed) = job.elapsed {
            words::append(&mut text, format_args!(" in {}", words::seconds(elapsed)));
        }
        let counts = counts(job);
        words::append(
            &mut text,
            format_args!(": {}. {counts}:\n    \n", job.status),
        );
        write_table(&mut text, &job.tasks, width);
    }
    if let Some(query) = &job.query {
        text.push_str(&query.upstream_text());
    }
    text
}

fn counts(job: &SummaryView) -> String {
    let counts = job.counts();
    format!(
        "{} tasks ({} changed, {} ok, {} failed, {} blocked, {} unknown, {} skipped)",
        counts.total,
        counts.changed,
        counts.ok,
        counts.error,
        counts.blocked,
        counts.unknown,
        counts.skipped
    )
}

/// Writes the table. A line ends each row, and the result of its task stands above this line.
fn write_table(text: &mut String, tasks: &[TaskRow], width: u16) {
    let headings = [
        "Task",
        "Resource",
        "Operation",
        "Reason",
        "Status",
        "State",
        "Changed",
    ];
    let mut table = Table::new(&headings).align(0, Align::Right);
    for (place, task) in tasks.iter().enumerate() {
        let number = format!("{} ({})", place + 1, task.end.as_str());
        table.row([
            number.as_str(),
            &task.nested_name,
            &task.operation,
            &task.reason,
            &status(task),
            task.target_state.map_or("", NodeState::as_str),
            if task.changed { "Yes" } else { "No" },
        ]);
    }
    // Each row is one line, because nothing is wrapped.
    let rendered = table.render(u16::MAX);
    let mut lines = rendered.lines();
    let border = lines.next().unwrap_or_default();
    let mut write = |line: &str| words::append(text, format_args!("{line}\n"));
    write(border);
    for line in lines.by_ref().take(2) {
        write(line);
    }
    for (task, line) in tasks.iter().zip(lines) {
        write(line);
        for line in result(task, usize::from(width)) {
            write(&line);
        }
        write(border);
    }
}

/// Returns the status after the task in capitals if it still holds, else the statuses after the task
/// and after the job.
fn status(task: &TaskRow) -> String {
    match (task.target_status, task.final_status) {
        (None, _) => String::new(),
        (Some(then), Some(now)) if then != now => format!("{then}/{now}"),
        (Some(then), _) => Status::as_str(then).to_uppercase(),
    }
}

/// Returns the lines that show the result of a task: long values stand last, and the end is cut.
fn result(task: &TaskRow, width: usize) -> Vec<String> {
    if !task.output.is_truthy() {
        return Vec::new();
    }
    let output = task.output.redacted();
    let message = output.as_map().and_then(|map| map.get("msg"));
    let shown = match (message, output.as_map()) {
        (Some(message), _) if message.is_truthy() => message.to_string(),
        (_, Some(map)) => {
            let mut entries: Vec<_> = map.iter().enumerate().collect();
            entries.sort_by_key(|(place, (_, value))| length(value).unwrap_or(*place));
            let entries = entries.into_iter();
            let entries = entries.map(|(_, (key, value))| (key.clone(), value.clone()));
            Value::map(entries).to_string()
        }
        (_, None) => output.to_string(),
    };
    let shown = format!(" Output: {}", words::one_line(&shown));
    let shown: Vec<char> = shown.chars().collect();
    let lines = shown.chunks(width.max(20)).take(MAX_OUTPUT_LINES);
    lines.map(|line| line.iter().collect()).collect()
}

/// Returns the length of a text, list or map.
fn length(value: &Value) -> Option<usize> {
    let text = value.as_str().map(|text| text.chars().count());
    text.or_else(|| value.as_list().map(Vec::len))
        .or_else(|| value.as_map().map(Map::len))
}

#[cfg(test)]
mod tests {
    use super::super::super::summary::tests::sample;
    use super::*;

    #[test]
    fn each_task_has_a_row_and_its_result_below() {
        let text = summary_text(&sample(), 60);
        insta::assert_snapshot!(text.replace("    \n", "....\n"), @r"
        Job A6BL7Jg00000 completed in 0.108s: error. 4 tasks (1 changed, 1 ok, 1 failed, 1 blocked, 0 unknown, 1 skipped):
        ....
        ─────────────────────────────────────────────────────────────────────────────────
         Task          Resource   Operation   Reason   Status       State        Changed
        ─────────────────────────────────────────────────────────────────────────────────
         1 (success)   db         configure   add      pending/ok   configured   Yes
        ─────────────────────────────────────────────────────────────────────────────────
          2 (failed)   web        configure   add      ERROR        configured   No
         Output: {'rc': 1, 'stdout': 'hi\n'}
        ─────────────────────────────────────────────────────────────────────────────────
         3 (blocked)   proxy      configure   add      PENDING      configured   No
        ─────────────────────────────────────────────────────────────────────────────────
         4 (skipped)   dns        configure   add      OK           configured   No
        ─────────────────────────────────────────────────────────────────────────────────
        ");
    }

    #[test]
    fn a_job_without_tasks_has_one_line() {
        let mut job = sample();
        job.tasks.clear();
        assert_eq!(
            summary_text(&job, 80),
            "Job A6BL7Jg00000 completed: error. No tasks ran.\n"
        );
    }
}
