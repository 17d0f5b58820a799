//! Messages about runs of `ansible-playbook` that failed: the failures of hosts, or the program with its version, its
//! command and its last lines.

use super::report::PlaybookReport;
use crate::host::{Exit, RunOutput};
use crate::text::{OutputFilter, shlex_join};
use crate::value::Secrets;

/// The oldest version of ansible-core with which the callback plugin is tested.
const OLDEST_VERSION: (u32, u32) = (2, 14);
/// The number of last lines that a message has.
const LAST_LINES: usize = 8;
/// The maximum number of hosts that a message lists.
const MAX_HOSTS: usize = 20;
/// Starts of lines that are not worth a place among the last lines.
const NOISE: [&str; 2] = ["[WARNING]", "[DEPRECATION WARNING]"];

/// The data of a run that messages need.
pub(super) struct FailedRun<'a> {
    pub(super) words: &'a [String],
    pub(super) output: &'a RunOutput,
    /// The end of the program as a text that follows its name.
    pub(super) exit_reason: String,
    pub(super) report: &'a PlaybookReport,
    /// The first line of `ansible-playbook --version`, if it was asked.
    pub(super) version: Option<&'a str>,
    pub(super) secrets: &'a Secrets,
}

impl FailedRun<'_> {
    /// Returns the messages about the failure.
    pub(super) fn messages(&self) -> Vec<String> {
        let mut messages = self.host_messages();
        if messages.is_empty() || !matches!(self.output.exit, Exit::Code(_)) {
            messages.push(self.program_message());
        }
        messages
    }

    fn host_messages(&self) -> Vec<String> {
        let failures: Vec<_> = self.report.failures_that_count().collect();
        let shown = failures.iter().take(MAX_HOSTS);
        let mut messages: Vec<String> = shown
            .map(|failure| self.secrets.redact(&failure.to_string()))
            .collect();
        if failures.len() > MAX_HOSTS {
            let more = failures.len() - MAX_HOSTS;
            messages.push(format!("{more} more failures are in the log of the job"));
        }
        messages
    }

    /// Returns the message about the program itself.
    fn program_message(&self) -> String {
        let program = self.words.first().map_or("", String::as_str);
        if let Exit::NotFound(reason) = &self.output.exit {
            return format!(
                "{reason}; install ansible-core {}.{} or newer, such as with `pipx install ansible-core`, or set the \
                 input `command` to the path of `ansible-playbook`",
                OLDEST_VERSION.0, OLDEST_VERSION.1
            );
        }
        let version = self.version_text();
        let command = self.secrets.redact(&shlex_join(self.words));
        let mut message = format!("`{program}`{version}: {}: {command}", self.reason());
        let lines = self.last_lines();
        if !lines.is_empty() {
            message.push_str(&format!("\n{}", lines.join("\n")));
        }
        if let Some(hint) = self.hint() {
            message.push_str(&format!("\n{hint}"));
        }
        message
    }

    fn version_text(&self) -> String {
        match (&self.report.version, self.version) {
            (Some(version), _) => format!(" (ansible-core {version})"),
            (None, Some(line)) => format!(" ({line})"),
            (None, None) => String::new(),
        }
    }

    fn reason(&self) -> String {
        match &self.output.exit {
            Exit::Code(0) if self.report.matched_nothing() => {
                "no host matches the `hosts` of the playbook, so nothing was done".to_owned()
            }
            Exit::Code(0) if self.report.end.is_none() => {
                "ended with exit code 0, but did not report the end of the playbook, so its result is unknown"
                    .to_owned()
            }
            Exit::Code(0) => "ended with exit code 0, although hosts failed".to_owned(),
            _ => self.exit_reason.clone(),
        }
    }

    /// Returns advice about the version.
    fn hint(&self) -> Option<String> {
        let (major, minor) = OLDEST_VERSION;
        let known = self.report.version.as_deref().or(self.version)?;
        let is_old = version_numbers(known).is_some_and(|found| found < OLDEST_VERSION);
        is_old.then(|| {
            format!("this version is too old; ansible-core {major}.{minor} or newer is needed")
        })
    }

    /// Returns the last lines of the error output, or else of the output.
    fn last_lines(&self) -> Vec<String> {
        let errors = self.output.stderr.text();
        let errors = errors.lines().map(OutputFilter::plain);
        let is_relevant = |line: &String| {
            let line = line.trim();
            !line.is_empty() && !NOISE.iter().any(|noise| line.starts_with(noise))
        };
        let mut lines: Vec<String> = errors.map(|line| line.trim_end().to_owned()).collect();
        lines.retain(is_relevant);
        if lines.is_empty() {
            lines = self.report.other_lines.iter().cloned().collect();
        }
        let from = lines.len().saturating_sub(LAST_LINES);
        let last = lines.drain(from..);
        last.map(|line| format!("  {}", self.secrets.redact(&line)))
            .collect()
    }
}

/// Returns the first two numbers of a version in a text.
fn version_numbers(text: &str) -> Option<(u32, u32)> {
    let start = text.find(|c: char| c.is_ascii_digit())?;
    let mut parts = text[start..].split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_a_version_are_found() {
        let numbers = |text: &str| version_numbers(text);
        assert_eq!(numbers("ansible-playbook [core 2.15.9]"), Some((2, 15)));
        assert_eq!(numbers("ansible-playbook 2.9.27"), Some((2, 9)));
        assert_eq!(numbers("2.19.0b1"), Some((2, 19)));
        assert_eq!(numbers("none"), None);
    }
}
