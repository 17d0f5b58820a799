//! A user's crontab: reading, parsing, writing and installing.
//!
//! Salt's format: unmanaged lines first, then a header line, then managed variables and jobs. A comment
//! line above a job may carry the job's identifier. [`Crontab`] is the parsed form that the states
//! edit.

use crate::host::change::{Change, CommandRun};
use crate::host::fact::Domain;
use crate::states::modules::accounts::{self, check_name};
use crate::states::modules::decision::{act_or_fail, run_probe, single_change, stdout_text};
use crate::states::{FactCache, Halt, Mode, StateCall, StateDecision, StateOutcome, refuse};
use crate::text::quote_word;

/// Returns the user whose crontab the state manages; `root` by default.
pub(super) fn crontab_user(call: &StateCall<'_>) -> Result<String, Halt> {
    let user = call.text_or("user", "root")?;
    check_name(&user)?;
    Ok(user)
}

/// Returns the domain that crontab changes touch: the spool folder.
fn spool_domain() -> Domain {
    Domain::Path("/var/spool/cron".to_owned())
}

/// Reads a user's crontab; empty if the user has none.
pub(super) fn read_crontab(
    call: &StateCall<'_>,
    facts: &FactCache,
    user: &str,
) -> Result<String, Halt> {
    if user != "root" && accounts::find_user(facts, user)?.is_none() {
        // An earlier state of the same run may create the user.
        return match call.mode {
            Mode::Test => Ok(String::new()),
            Mode::Apply => refuse(format!(
                "User {user} does not exist, so its crontab cannot be managed"
            )),
        };
    }
    let user = quote_word(user);
    let text = format!(
        "command -v crontab >/dev/null || exit 127; \
         if [ \"$(id -un)\" = {user} ]; then crontab -l; else crontab -u {user} -l; fi"
    );
    let probed = run_probe(facts, text, spool_domain())?;
    if probed.code == 127 {
        return refuse(
            "Crontabs cannot be managed: the program `crontab` is not installed on this machine",
        );
    }
    Ok(stdout_text(probed).into_owned())
}

/// Returns the change that installs a crontab.
///
/// The text goes through a pipe to `crontab -`, which checks the text before replacing the old table.
pub(super) fn install_change(user: &str, text: &str) -> Change {
    let user = quote_word(user);
    let command =
        format!("if [ \"$(id -un)\" = {user} ]; then crontab -; else crontab -u {user} -; fi");
    let mut run = CommandRun::new(command).touching([spool_domain()]);
    run.shown = Some(format!("crontab -u {user} -"));
    run.stdin = Some(text.as_bytes().to_vec());
    Change::Run(run)
}

/// Decides to install an edited table.
///
/// `would` and `was` are the comments of the dry run and of the real run.
pub(super) fn commit_crontab(
    user: &str,
    name: &str,
    table: &Crontab,
    would: String,
    was: String,
) -> Result<StateDecision, Halt> {
    let steps = vec![install_change(user, &table.to_text())];
    let predicted = StateOutcome::planned(would);
    let changes = single_change(user, name);
    let failed = format!("Cron {name} for user {user} failed to commit with error");
    let outcome = StateOutcome::changed(changes, was);
    act_or_fail(predicted, steps, outcome, format!("{failed} \n"))
}

/// The line above the managed part of a crontab.
const MANAGED_HEADER: &str = "# Lines below here are managed by Salt, do not edit";

/// The marker in a comment line that precedes a job's identifier.
const IDENTIFIER_MARKER: &str = "SALT_CRON_IDENTIFIER";

/// The name by which Salt refers to jobs without an identifier.
const NO_IDENTIFIER: &str = "NO ID SET";

/// The prefix of a job that is commented out.
const DISABLED_PREFIX: &str = "#DISABLED#";

/// The times at which a job runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Schedule {
    /// Minute, hour, day of the month, month, day of the week.
    Times([String; 5]),
    /// A keyword such as `@daily` instead of the five times.
    Special(String),
}

/// A managed job: the line of the crontab and the comment lines above.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CronJob {
    pub(super) schedule: Schedule,
    pub(super) command: String,
    pub(super) comment: Option<String>,
    pub(super) identifier: Option<String>,
    pub(super) is_disabled: bool,
}

/// A parsed crontab, as Salt manages one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Crontab {
    /// The lines above [`MANAGED_HEADER`], kept unchanged.
    unmanaged_lines: Vec<String>,
    pub(super) variables: Vec<(String, String)>,
    /// The jobs; jobs with [`Schedule::Times`] come before those with [`Schedule::Special`].
    pub(super) jobs: Vec<CronJob>,
}

impl CronJob {
    /// Whether a state refers to this job: by identifier, or by command if the job has no identifier.
    pub(super) fn matches(&self, command: &str, identifier: Option<&str>) -> bool {
        let is_named = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
        let expected = identifier.filter(|text| !text.is_empty());
        if !is_named(&self.identifier) {
            return self.command == command || expected == Some(NO_IDENTIFIER);
        }
        let own = self.identifier.as_deref().unwrap_or_default();
        own == expected.unwrap_or(NO_IDENTIFIER)
    }

    fn is_special(&self) -> bool {
        matches!(self.schedule, Schedule::Special(_))
    }

    fn write_lines(&self, text: &mut String) {
        if self.comment.is_some() || self.identifier.is_some() {
            text.push('#');
            if let Some(comment) = self.comment.as_deref().filter(|it| !it.is_empty()) {
                let comment = if self.is_special() {
                    comment.trim_end()
                } else {
                    comment
                };
                text.push(' ');
                text.push_str(&comment.replace('\n', "\n# "));
            }
            if let Some(identifier) = self.identifier.as_deref().filter(|it| !it.is_empty()) {
                text.extend([" ", IDENTIFIER_MARKER, ":", identifier]);
            }
            text.push('\n');
        }
        let disabled = if self.is_disabled {
            DISABLED_PREFIX
        } else {
            ""
        };
        let schedule = match &self.schedule {
            Schedule::Times(times) => times.join(" "),
            Schedule::Special(word) => word.clone(),
        };
        text.extend([disabled, &schedule, " ", &self.command, "\n"]);
    }
}

impl Crontab {
    /// Parses the output of `crontab -l`.
    pub(super) fn parse(text: &str) -> Self {
        let mut table = Self::default();
        let mut lines = text.lines().peekable();
        let header = "# DO NOT EDIT THIS FILE - edit the master and reinstall.";
        if lines.peek().is_some_and(|line| line.starts_with(header)) {
            lines.nth(2);
        }
        let mut is_ours = false;
        let mut note = JobComment::default();
        for line in lines {
            if line == MANAGED_HEADER {
                is_ours = true;
            } else if is_ours {
                table.parse_line(line, &mut note);
            } else {
                table.unmanaged_lines.push(line.to_owned());
            }
        }
        table.sort_jobs();
        table
    }

    fn parse_line(&mut self, line: &str, note: &mut JobComment) {
        let (is_disabled, line) = match line.strip_prefix(DISABLED_PREFIX) {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        let (schedule, command) = if line.starts_with('@') {
            let mut words = line.split_whitespace();
            let schedule = words.next().unwrap_or_default().to_owned();
            let words: Vec<&str> = words.collect();
            if words.is_empty() {
                return;
            }
            (Schedule::Special(schedule), words.join(" "))
        } else if line.starts_with('#') {
            note.add_line(line);
            return;
        } else if let Some((name, value)) = parse_variable(line) {
            self.variables.push((name.to_owned(), value.to_owned()));
            return;
        } else {
            let mut parts = line.splitn(6, ' ').map(str::to_owned);
            let times = std::array::from_fn(|_| parts.next().unwrap_or_default());
            let Some(command) = parts.next() else {
                return;
            };
            (Schedule::Times(times), command)
        };
        let JobComment {
            comment,
            identifier,
        } = std::mem::take(note);
        self.jobs.push(CronJob {
            schedule,
            command,
            comment,
            identifier,
            is_disabled,
        });
    }

    /// Moves jobs with a special schedule behind the others.
    pub(super) fn sort_jobs(&mut self) {
        self.jobs.sort_by_key(CronJob::is_special);
    }

    /// Returns the text of the crontab for `crontab -`.
    pub(super) fn to_text(&self) -> String {
        let mut text = String::new();
        for line in &self.unmanaged_lines {
            text.push_str(line);
            text.push('\n');
        }
        text.push_str(MANAGED_HEADER);
        text.push('\n');
        for (name, value) in &self.variables {
            let value = if value.is_empty() {
                "\"\""
            } else {
                value.as_str()
            };
            text.extend([name, "=", value, "\n"]);
        }
        for job in &self.jobs {
            job.write_lines(&mut text);
        }
        text
    }
}

/// The comment and identifier collected from the comment lines above a job.
#[derive(Default)]
struct JobComment {
    comment: Option<String>,
    identifier: Option<String>,
}

impl JobComment {
    fn add_line(&mut self, line: &str) {
        let mut line = line.trim_start_matches(['#', ' ']);
        if let Some((comment, rest)) = line.split_once(IDENTIFIER_MARKER) {
            line = comment.trim_end();
            if let Some(identifier) = rest.get(1..).filter(|text| !text.is_empty()) {
                self.identifier = Some(identifier.to_owned());
            }
        }
        self.comment = Some(match self.comment.take() {
            None => line.to_owned(),
            Some(above) => format!("{above}\n{line}"),
        });
    }
}

/// Parses a `NAME=value` line. A space before the sign means that the line is a job.
fn parse_variable(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    (!name.is_empty() && !name.contains(' ')).then_some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# mine\n0 1 * * * /bin/mine\n# Lines below here are managed by Salt, do not edit\nPATH=/bin\n# nightly SALT_CRON_IDENTIFIER:backup\n5 2 * * * /bin/backup --all\n#DISABLED#* * * * * /bin/off\n# SALT_CRON_IDENTIFIER:boot\n@reboot /bin/boot\n";

    #[test]
    fn a_crontab_that_is_read_and_written_is_the_same() {
        let table = Crontab::parse(TEXT);
        assert_eq!(table.to_text(), TEXT);
        assert_eq!(table.variables, [("PATH".into(), "/bin".into())]);
        let [backup, off, boot] = table.jobs.as_slice() else {
            panic!("{table:?}");
        };
        assert_eq!(backup.identifier.as_deref(), Some("backup"));
        assert_eq!(backup.comment.as_deref(), Some("nightly"));
        assert_eq!(backup.command, "/bin/backup --all");
        assert!(off.is_disabled && off.identifier.is_none());
        assert_eq!(boot.schedule, Schedule::Special("@reboot".into()));
    }

    #[test]
    fn a_job_is_meant_by_its_identifier_or_else_by_its_command() {
        let table = Crontab::parse(TEXT);
        let [backup, off, _] = table.jobs.as_slice() else {
            panic!("{table:?}");
        };
        assert!(backup.matches("other", Some("backup")));
        assert!(!backup.matches("/bin/backup --all", Some("x")));
        assert!(!backup.matches("/bin/backup --all", None));
        assert!(off.matches("/bin/off", Some("x")));
        assert!(off.matches("/bin/off", None));
        assert!(!off.matches("/bin/on", Some("x")));
    }

    #[test]
    fn the_header_of_the_system_is_left_out() {
        let text =
            "# DO NOT EDIT THIS FILE - edit the master and reinstall.\n# (x)\n# (y)\n1 1 * * * a\n";
        assert_eq!(Crontab::parse(text).unmanaged_lines, ["1 1 * * * a"]);
    }
}
