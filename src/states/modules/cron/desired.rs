//! The job that a `cron` state describes, and how to merge it into a crontab.
//!
//! [`DesiredCronJob`] is read from the state's arguments. Random times are drawn deterministically from
//! the job itself.

use sha2::{Digest as _, Sha256};

use super::crontab::crontab_user;
use super::crontab::{CronJob, Crontab, Schedule};
use crate::states::{Halt, StateCall, refuse};

/// A cron job as described by a state's arguments.
pub(super) struct DesiredCronJob {
    pub(super) user: String,
    pub(super) job: CronJob,
    /// Whether the state has a `special` schedule such as `@daily`.
    pub(super) is_special: bool,
}

fn identifier(call: &StateCall<'_>, command: &str) -> Result<Option<String>, Halt> {
    // An explicit null means no identifier; a missing argument means the command itself.
    if call
        .args
        .get("identifier")
        .is_some_and(crate::value::Value::is_null)
    {
        return Ok(None);
    }
    let explicit = call.text("identifier")?.filter(|text| text != "False");
    Ok(Some(explicit.unwrap_or_else(|| command.to_owned())))
}

impl DesiredCronJob {
    /// Reads the job from the arguments of a state.
    pub(super) fn from_call(call: &StateCall<'_>) -> Result<Self, Halt> {
        const TIME_KEYS: [&str; 5] = ["minute", "hour", "daymonth", "month", "dayweek"];
        let command = call.name.trim().to_owned();
        if command.contains('\n') {
            return refuse("the command of a cron job must be a single line");
        }
        let mut times: [String; 5] = Default::default();
        for (time, key) in times.iter_mut().zip(TIME_KEYS) {
            let text = call.text_or(key, "*")?.to_lowercase();
            if text.is_empty() || text.contains(char::is_whitespace) {
                return refuse(format!(
                    "`{key}: {text}` is not a crontab time: it must not be empty or contain white space"
                ));
            }
            *time = text;
        }
        let special = call.text("special")?;
        let is_special = special.is_some();
        let identifier = identifier(call, &command)?;
        if identifier.as_ref().is_some_and(|it| it.contains('\n')) {
            return refuse("the `identifier` of a cron job must be a single line");
        }
        Ok(Self {
            user: crontab_user(call)?,
            job: CronJob {
                schedule: special.map_or(Schedule::Times(times), Schedule::Special),
                command,
                comment: call.text("comment")?,
                identifier,
                is_disabled: call.flag("commented", false),
            },
            is_special,
        })
    }

    /// Returns the table with the job inserted, and whether the job existed before; None if it is up to
    /// date.
    pub(super) fn apply(&self, mut table: Crontab) -> Option<(Crontab, bool)> {
        let desired = &self.job;
        let index = table
            .jobs
            .iter()
            .position(|job| job.matches(&desired.command, desired.identifier.as_deref()));
        let mut job = desired.clone();
        if let Some(index) = index {
            let old = &table.jobs[index];
            job.schedule = self.preserve_drawn_times(old);
            if job.comment.is_none() {
                job.comment.clone_from(&old.comment);
            }
            // A comment line that has only the identifier is read as an empty comment: it equals no comment.
            let comment = |job: &CronJob| job.comment.clone().filter(|text| !text.is_empty());
            let is_same = job.schedule == old.schedule
                && job.command == old.command
                && comment(&job) == comment(old)
                && job.is_disabled == old.is_disabled
                && job.identifier == old.identifier;
            if is_same {
                return None;
            }
            table.jobs.remove(index);
        }
        if let Schedule::Times(times) = &mut job.schedule {
            self.draw_random_times(times);
        }
        table.jobs.push(job);
        table.sort_jobs();
        Some((table, index.is_some()))
    }

    /// Returns the desired schedule, in which each `random` time keeps the value drawn earlier.
    fn preserve_drawn_times(&self, old: &CronJob) -> Schedule {
        let (Schedule::Times(desired), Schedule::Times(old)) = (&self.job.schedule, &old.schedule)
        else {
            return self.job.schedule.clone();
        };
        let mut times = desired.clone();
        for (time, old) in times.iter_mut().zip(old) {
            if time == "random" && old != "*" {
                time.clone_from(old);
            }
        }
        Schedule::Times(times)
    }

    /// Replaces times that are `random` or a range such as `2:10` by a drawn number.
    ///
    /// The number depends only on the job, so a dry run draws the same time as the real run.
    fn draw_random_times(&self, times: &mut [String; 5]) {
        const RANGES: [(u64, u64); 5] = [(0, 59), (0, 23), (1, 28), (1, 12), (0, 6)];
        for (index, time) in times.iter_mut().enumerate() {
            let range = match time.split_once(':') {
                _ if time == "random" => Some(RANGES[index]),
                Some((from, to)) => from.parse().ok().zip(to.parse().ok()),
                None => None,
            };
            let Some((from, to)) = range.map(|(one, two): (u64, u64)| (one.min(two), one.max(two)))
            else {
                continue;
            };
            let number = stable_number(&[&self.user, &self.job.command, &index.to_string()]);
            *time = (from + number % (to - from + 1)).to_string();
        }
    }
}

/// Returns a pseudo-random number that is the same for the same texts: the first eight bytes of their
/// SHA-256.
fn stable_number(texts: &[&str]) -> u64 {
    let mut sum = Sha256::new();
    for text in texts {
        sum.update(text);
        sum.update([0]);
    }
    let sum = sum.finalize();
    sum.iter()
        .take(8)
        .fold(0, |number, byte| (number << 8) | u64::from(*byte))
}
