//! The log of a job in a GitHub workflow: groups for tasks that succeeded, annotations for failures.
//!
//! A line of a task's output could be a command to the runner, such as `::error::` or `##[add-path]`. Such output
//! stands between `::stop-commands::` and a token that the task cannot know.

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;

use super::event::{FinishedTask, ProgressEvent, ProgressView};
use super::task_output::TaskOutput;
use super::tasks::{Silence, Tasks};
use super::titles::task_title;
use crate::diagnostic::SourcePosition;
use crate::job::LogLevel;
use crate::text::{escape_except_colours, is_unsafe};
use crate::ui::summary::TaskEnd;
use crate::ui::words;

/// Returns a token that nobody can guess.
pub type MakeToken = Box<dyn FnMut() -> String + Send>;

/// The view of a job in a GitHub workflow.
pub struct GithubLog {
    output: TaskOutput,
    tasks: Tasks,
    silence: Silence,
    make_token: MakeToken,
    /// The folder to which paths of places are relative.
    here: PathBuf,
    /// The checked out repository, to which GitHub's paths are relative.
    workspace: PathBuf,
}

impl std::fmt::Debug for GithubLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GithubLog").finish_non_exhaustive()
    }
}

impl GithubLog {
    /// Creates the view. Places are relative to `here`, and the repository is in `workspace`.
    pub fn new(here: PathBuf, workspace: PathBuf, make_token: MakeToken) -> Self {
        Self {
            output: TaskOutput::default(),
            tasks: Tasks::default(),
            silence: Silence::default(),
            make_token,
            here,
            workspace,
        }
    }

    /// Returns text of which the runner executes no line.
    pub fn guarded(text: &str, make_token: impl FnOnce() -> String) -> Cow<'_, str> {
        if !may_be_command(text) {
            return Cow::Borrowed(text);
        }
        let token = make_token();
        let end = if text.ends_with('\n') { "" } else { "\n" };
        Cow::Owned(format!(
            "::stop-commands::{token}\n{text}{end}::{token}::\n"
        ))
    }

    /// Appends text so that the runner executes none of its lines.
    fn add(&mut self, text: &str, out: &mut String) {
        let text = escape_except_colours(text);
        let text = Self::guarded(&text, &mut self.make_token);
        out.push_str(&text);
        if !text.is_empty() && !text.ends_with('\n') {
            out.push('\n');
        }
    }

    /// Appends an annotation, which GitHub also shows beside the line of the file.
    fn annotate(
        &self,
        level: LogLevel,
        (title, message): (&str, &str),
        place: Option<&SourcePosition>,
        out: &mut String,
    ) {
        let mut properties = Vec::new();
        if let Some(place) = place {
            let path = self.here.join(&place.path);
            let path = path.strip_prefix(&self.workspace).unwrap_or(&path);
            properties.push(format!("file={}", property(&path.display().to_string())));
            properties.push(format!("line={},col={}", place.line, place.column));
        }
        if !title.is_empty() {
            properties.push(format!("title={}", property(title)));
        }
        let space = if properties.is_empty() { "" } else { " " };
        let command = if level == LogLevel::Error {
            "error"
        } else {
            "warning"
        };
        let (properties, message) = (properties.join(","), data(message));
        words::append(
            out,
            format_args!("::{command}{space}{properties}::{message}\n"),
        );
    }

    fn add_group(&mut self, title: &str, text: &str, out: &mut String) {
        words::append(out, format_args!("::group::{}\n", data(title)));
        self.add(text, out);
        out.push_str("::endgroup::\n");
    }

    fn finish_task(&mut self, finished: &FinishedTask, out: &mut String) {
        let FinishedTask {
            task,
            instance,
            operation,
            end,
            elapsed,
            errors,
            place,
            ..
        } = finished;
        let output = self.output.take(*task).text;
        let title = task_title(instance, operation, *end, *elapsed);
        match end {
            TaskEnd::Success if output.is_empty() => self.add(&title, out),
            TaskEnd::Success => self.add_group(&title, &output, out),
            TaskEnd::Failed => {
                self.add(&title, out);
                self.add(&output, out);
                let title = format!("{instance}: {operation} failed");
                let message = match errors.as_slice() {
                    [] => title.clone(),
                    errors => errors.join("\n"),
                };
                self.annotate(LogLevel::Error, (&title, &message), place.as_ref(), out);
            }
            TaskEnd::Blocked => self.add(&title, out),
            TaskEnd::Skipped => {}
        }
    }
}

impl ProgressView for GithubLog {
    fn event(&mut self, at: Duration, event: &ProgressEvent, out: &mut String) {
        let before = out.len();
        self.tasks.update(at, event);
        match event {
            ProgressEvent::TaskStarted { task, .. } => self.output.start(*task, at),
            ProgressEvent::Output { task, text, .. } => {
                if let Some(text) = self.output.add(*task, text) {
                    let title = self.tasks.output_so_far(*task);
                    self.add_group(&title, &text, out);
                }
            }
            ProgressEvent::TaskFinished(finished) => self.finish_task(finished, out),
            ProgressEvent::Message {
                level,
                text,
                styled,
            } => match level {
                LogLevel::Warning | LogLevel::Error => self.annotate(*level, ("", text), None, out),
                _ => {
                    let plain = format!("{}: {text}", level.as_str());
                    self.add(styled.as_deref().unwrap_or(&plain), out);
                }
            },
            ProgressEvent::Problem(problem) => {
                self.add(&problem.text, out);
                if problem.level >= LogLevel::Warning {
                    // The check is the title, except for problems that have none of their own.
                    let check = problem.json["check"].as_str().unwrap_or_default();
                    let title = if check == "load" { "" } else { check };
                    let text = (title, problem.message.as_str());
                    self.annotate(problem.level, text, problem.place.as_ref(), out);
                }
            }
            ProgressEvent::JobStarted { .. }
            | ProgressEvent::Remaining(_)
            | ProgressEvent::JobFinished { .. } => {}
        }
        if out.len() > before {
            self.silence.end(at);
        }
    }

    fn tick(&mut self, at: Duration, out: &mut String) {
        let mut line = String::new();
        self.silence.tick(at, &self.tasks, &mut line);
        self.add(&line, out);
    }

    fn finish(&mut self, _at: Duration, out: &mut String) {
        for task in self.output.take_all() {
            self.add(&task.text, out);
        }
    }
}

/// Returns true if the runner could take a line of the text for a command.
///
/// The runner ignores white space before `::`, and finds `##[` anywhere in a line.
fn may_be_command(text: &str) -> bool {
    let mut lines = text.split(['\n', '\r']);
    lines.any(|line| {
        let start = line.find(|c: char| c.is_alphanumeric());
        line[..start.unwrap_or(line.len())].contains("::") || line.contains("##[")
    })
}

/// Escapes the message of a command.
fn data(text: &str) -> String {
    let text = text.trim_end_matches('\n').replace('%', "%25");
    // Other control characters mean nothing to the runner.
    let text: String = text
        .chars()
        .filter(|c| !is_unsafe(*c) || *c == '\r')
        .collect();
    text.replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes the value of a property of a command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;
    use proptest::prelude::*;

    fn view() -> GithubLog {
        let mut count = 0;
        let token = move || {
            count += 1;
            format!("unguessable{count}")
        };
        GithubLog::new("/repo/sub".into(), "/repo".into(), Box::new(token))
    }

    #[test]
    fn successes_are_groups_and_failures_stand_outside_with_an_annotation() {
        insta::assert_snapshot!(samples::show(&mut view()), @r"
        ::group::db: create (1.2 s)
        creating
        50 %
        ::endgroup::
        info: the plan has 2 steps
        ::warning::100 %25 full,%0D%0A::set-env name=a::b
        warning: the key `x` has no effect
         --> a,b/ensemble.yaml:12:7
        ::warning file=sub/a%2Cb/ensemble.yaml,line=12,col=7::the key `x` has no effect
        web: configure failed (1m05s)
        ::stop-commands::unguessable1
        ::error::x
        ##[error]y
        section_end:1:unfurl_1
        ::unguessable1::
        ::error file=sub/a%2Cb/ensemble.yaml,line=12,col=7,title=web%3A configure failed::exit code 3: 50 %25%0A::warning::y
        app:1: create was blocked
        dns: check (10 ms)
        ");
    }

    #[test]
    fn long_output_and_silence_are_not_kept_from_the_log() {
        let mut log = String::new();
        let mut view = view();
        for (at, event) in samples::job().into_iter().take(4) {
            view.event(Duration::from_millis(at), &event, &mut log);
        }
        view.tick(Duration::from_secs(59), &mut log);
        assert_eq!(log, "");
        view.tick(Duration::from_mins(1), &mut log);
        insta::assert_snapshot!(log, @"0 of 4 done; db: create running 59 s, 14 times longer than usual; web: configure running 59 s");
        log.clear();
        let output = ProgressEvent::Output {
            task: 1,
            stream: crate::host::Stream::Stdout,
            text: format!("{}\n", "x".repeat(1 << 20)),
        };
        view.event(Duration::from_secs(61), &output, &mut log);
        assert!(
            log.starts_with("::group::db: create, output so far\nxxx"),
            "{}",
            &log[..80]
        );
        assert!(log.ends_with("x\n::endgroup::\n"));
        view.tick(Duration::from_mins(2), &mut log);
        assert!(log.ends_with("::endgroup::\n"));
    }

    #[test]
    fn a_place_outside_of_the_repository_keeps_its_path() {
        let place = SourcePosition {
            path: "/etc/x.yaml".into(),
            line: 1,
            column: 2,
        };
        let mut text = String::new();
        view().annotate(LogLevel::Warning, ("a:b,c", "m"), Some(&place), &mut text);
        assert_eq!(
            text,
            "::warning file=/etc/x.yaml,line=1,col=2,title=a%3Ab%2Cc::m\n"
        );
    }

    /// Returns the lines that GitHub's runner would execute, by its rules.
    fn executed(log: &str) -> Vec<String> {
        let mut stopped: Option<String> = None;
        let mut commands = Vec::new();
        for line in log.split(['\n', '\r']) {
            let is_command = line.trim_start().starts_with("::") || line.contains("##[");
            if let Some(token) = &stopped {
                if line == format!("::{token}::") {
                    stopped = None;
                }
            } else if let Some(token) = line.strip_prefix("::stop-commands::") {
                stopped = Some(token.to_owned());
            } else if is_command {
                commands.push(line.to_owned());
            }
        }
        assert_eq!(stopped, None, "commands stay stopped");
        commands
    }

    proptest! {
        #[test]
        fn no_text_of_a_task_is_executed(
            text in "([ \\t]{0,2}(::|##\\[|%0A|\r|\n|x|:|::endgroup::|::token1::|::stop-commands::t\n)){0,12}",
            end in prop::sample::select(vec![TaskEnd::Success, TaskEnd::Failed, TaskEnd::Blocked]),
        ) {
            let mut log = String::new();
            let mut view = view();
            let output = ProgressEvent::Output {
                task: 1,
                stream: crate::host::Stream::Stdout,
                text: format!("{text}\n"),
            };
            view.event(Duration::ZERO, &output, &mut log);
            let finished = ProgressEvent::TaskFinished(FinishedTask {
                task: 1,
                instance: text.clone(),
                operation: text.clone(),
                end,
                changed: false,
                elapsed: Duration::ZERO,
                errors: vec![text.clone()],
                place: None,
            });
            view.event(Duration::ZERO, &finished, &mut log);
            let message = ProgressEvent::Message { level: LogLevel::Info, text, styled: None };
            view.event(Duration::ZERO, &message, &mut log);
            let commands = executed(&log);
            let own = |line: &String| {
                ["::group::", "::endgroup::", "::error title="].iter().any(|it| line.starts_with(it))
            };
            prop_assert!(commands.len() <= 2 && commands.iter().all(own), "{:?}\n{}", commands, log);
        }
    }
}
