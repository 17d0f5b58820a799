//! The summary of a job in Markdown, for the page of a pipeline (`GITHUB_STEP_SUMMARY`).

use std::time::Duration;

use super::markdown::{MAX_CELL, MAX_LENGTH, code, escape};
use super::words;
use crate::job::InstanceAction;

/// The length that is kept free for the lines that tell what was cut.
const RESERVE: usize = 500;
/// The part of the summary that outputs may take.
const MAX_OUTPUTS: usize = 16_000;

/// A finished job, as the page of a pipeline shows it.
#[derive(Debug, Clone)]
pub struct StepSummary {
    pub id: String,
    pub workflow: String,
    /// The result of the job in words, such as `ok`.
    pub result: String,
    /// The counts of instances by effect, such as `3 created, 1 changed`.
    pub counts: String,
    pub elapsed: Option<Duration>,
    pub instances: Vec<StepInstance>,
    /// The outputs with their values as text. Secrets are redacted.
    pub outputs: Vec<(String, String)>,
}

/// An instance that a job worked on.
#[derive(Debug, Clone)]
pub struct StepInstance {
    pub name: String,
    pub action: InstanceAction,
    pub result: StepResult,
    /// The first error, or the operations that ran.
    pub detail: String,
}

/// The result of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepResult {
    Done,
    /// An operation failed.
    Failed,
    /// An operation could not run, because something that it depends on had failed.
    NotRun,
}

impl StepInstance {
    /// Returns the place in the table: failures come first, then deletions.
    fn rank(&self) -> u8 {
        match (self.result, self.action) {
            (StepResult::Failed, _) => 0,
            (StepResult::NotRun, _) => 1,
            (StepResult::Done, InstanceAction::Delete) => 2,
            (StepResult::Done, InstanceAction::Replace | InstanceAction::InDoubt) => 3,
            (StepResult::Done, _) => 4,
        }
    }
}

impl StepSummary {
    /// Renders the summary in Markdown, within the limit of GitHub. A last line tells what was cut.
    pub fn markdown(&self) -> String {
        let (workflow, result) = (code(&self.workflow), code(&self.result));
        let mut text = format!("### {workflow}: {result}\n\n");
        let counts = Some(self.counts.as_str()).filter(|counts| !counts.is_empty());
        let mut facts = vec![escape(counts.unwrap_or("nothing to do"))];
        facts.extend(self.elapsed.map(words::duration));
        facts.push(format!("job {}", code(&self.id)));
        words::append(&mut text, format_args!("{}\n", facts.join(" · ")));
        let (outputs, cut_outputs) = self.outputs();
        let mut cut = Vec::new();
        let cut_rows = self.add_instances(&mut text, MAX_LENGTH - RESERVE - outputs.len());
        if cut_rows > 0 {
            cut.push(words::count(cut_rows, "more instance"));
        }
        if cut_outputs > 0 {
            cut.push(words::count(cut_outputs, "more output"));
        }
        text.push_str(&outputs);
        if !cut.is_empty() {
            let line = format_args!(
                "\nCut here: {}. <code>unfurl history {}</code> shows everything.\n",
                cut.join(" and "),
                escape(&self.id)
            );
            words::append(&mut text, line);
        }
        text
    }

    /// Appends the table of instances up to a length of the text. Returns the number of rows that were cut.
    fn add_instances(&self, text: &mut String, max_length: usize) -> usize {
        if self.instances.is_empty() {
            return 0;
        }
        text.push_str("\n| Instance | Action | Result | Detail |\n| --- | --- | --- | --- |\n");
        let mut sorted: Vec<&StepInstance> = self.instances.iter().collect();
        sorted.sort_by_key(|instance| instance.rank());
        for (place, instance) in sorted.iter().enumerate() {
            let result = match instance.result {
                StepResult::Done => "ok",
                StepResult::Failed => "**failed**",
                StepResult::NotRun => "**not run**",
            };
            let row = format!(
                "| {} | {} | {result} | {} |\n",
                code(&instance.name),
                escape(&format!(
                    "{} {}",
                    instance.action.symbol(),
                    instance.action.verb()
                )),
                escape(&words::shorten(&instance.detail, MAX_CELL)),
            );
            if text.len() + row.len() > max_length {
                return sorted.len() - place;
            }
            text.push_str(&row);
        }
        0
    }

    /// Returns the table of outputs, and the number of outputs that were cut.
    fn outputs(&self) -> (String, usize) {
        if self.outputs.is_empty() {
            return (String::new(), 0);
        }
        let mut text = "\n| Output | Value |\n| --- | --- |\n".to_owned();
        for (place, (name, value)) in self.outputs.iter().enumerate() {
            let row = format!(
                "| {} | {} |\n",
                code(name),
                code(&words::shorten(value, MAX_CELL))
            );
            if text.len() + row.len() > MAX_OUTPUTS {
                return (text, self.outputs.len() - place);
            }
            text.push_str(&row);
        }
        (text, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instance(name: &str, action: InstanceAction, error: Option<&str>) -> StepInstance {
        StepInstance {
            name: name.to_owned(),
            action,
            result: error.map_or(StepResult::Done, |_| StepResult::Failed),
            detail: error.unwrap_or("create, configure").to_owned(),
        }
    }

    fn summary(instances: Vec<StepInstance>) -> StepSummary {
        StepSummary {
            id: "A6BL7ntS0000".to_owned(),
            workflow: "deploy".to_owned(),
            result: "error".to_owned(),
            counts: "1 created, 1 deleted, 1 failed".to_owned(),
            elapsed: Some(Duration::from_millis(1_240)),
            instances,
            outputs: vec![
                ("url".to_owned(), "http://a|b".to_owned()),
                ("password".to_owned(), "<<REDACTED>>".to_owned()),
            ],
        }
    }

    #[test]
    fn failures_and_deletions_come_first() {
        use InstanceAction::{Change, Create, Delete};
        let text = summary(vec![
            instance("db", Create, None),
            instance("old", Delete, None),
            instance("web", Change, Some("exit code 3:\n<b>full</b> | `x` @you")),
        ])
        .markdown();
        insta::assert_snapshot!(text, @"
        ### <code>deploy</code>: <code>error</code>

        1 created, 1 deleted, 1 failed · 1.2 s · job <code>A6BL7ntS0000</code>

        | Instance | Action | Result | Detail |
        | --- | --- | --- | --- |
        | <code>web</code> | &#126; change | **failed** | exit code 3&#58; &#60;b&#62;full&#60;/b&#62; &#124; &#96;x&#96; &#64;you |
        | <code>old</code> | - delete | ok | create, configure |
        | <code>db</code> | + create | ok | create, configure |

        | Output | Value |
        | --- | --- |
        | <code>url</code> | <code>http&#58;//a&#124;b</code> |
        | <code>password</code> | <code>&#60;&#60;REDACTED&#62;&#62;</code> |
        ");
    }

    #[test]
    fn a_job_without_work_is_two_lines() {
        let text = StepSummary {
            counts: String::new(),
            outputs: Vec::new(),
            elapsed: None,
            result: "ok".to_owned(),
            ..summary(Vec::new())
        };
        insta::assert_snapshot!(text.markdown(), @"
        ### <code>deploy</code>: <code>ok</code>

        nothing to do · job <code>A6BL7ntS0000</code>
        ");
    }

    #[test]
    fn a_large_job_is_cut_within_the_limit_and_says_so() {
        let all = (0..5_000)
            .map(|number| instance(&format!("web-{number}"), InstanceAction::Create, None));
        let failed = instance("last", InstanceAction::Create, Some("no space left"));
        let mut summary = summary(all.chain([failed]).collect());
        summary.outputs = (0..2_000)
            .map(|n| (format!("o{n}"), "|".repeat(500)))
            .collect();
        let text = summary.markdown();
        assert!(text.len() <= MAX_LENGTH, "{}", text.len());
        assert!(text.contains("| <code>last</code> | + create | **failed** | no space left |"));
        let last = text.lines().last().unwrap();
        assert!(
            last.starts_with("Cut here: ") && last.contains(" more instances and "),
            "{last}"
        );
        let rows = text.lines().filter(|line| line.contains("web-")).count();
        assert!(
            last.contains(&format!("{} more instances", 5_000 - rows)),
            "{last}"
        );
    }
}
