//! The job that a state describes, and how it goes into a table.

use sha2::{Digest as _, Sha256};

use super::crontab::user;
use super::crontab::{Job, Table, When};
use crate::converge::{Call, Halt, refuse};

/// The job that a state describes.
pub(super) struct Desired {
    pub(super) user: String,
    pub(super) job: Job,
    /// Whether it says when the job runs at special times.
    pub(super) is_special: bool,
}

fn identifier(call: &Call<'_>, command: &str) -> Result<Option<String>, Halt> {
    // An identifier that is nothing means none; one that is not given means the command.
    if call
        .args
        .get("identifier")
        .is_some_and(crate::value::Value::is_null)
    {
        return Ok(None);
    }
    let given = call.text("identifier")?.filter(|text| text != "False");
    Ok(Some(given.unwrap_or_else(|| command.to_owned())))
}

impl Desired {
    /// Reads the arguments of a state.
    pub(super) fn of(call: &Call<'_>) -> Result<Self, Halt> {
        const KEYS: [&str; 5] = ["minute", "hour", "daymonth", "month", "dayweek"];
        let command = call.name.trim().to_owned();
        if command.contains('\n') {
            return refuse("a cron job is one line");
        }
        let mut times: [String; 5] = Default::default();
        for (time, key) in times.iter_mut().zip(KEYS) {
            let text = call.text_or(key, "*")?.to_lowercase();
            if text.is_empty() || text.contains(char::is_whitespace) {
                return refuse(format!("`{key}: {text}` is no time"));
            }
            *time = text;
        }
        let special = call.text("special")?;
        let is_special = special.is_some();
        let identifier = identifier(call, &command)?;
        if identifier.as_ref().is_some_and(|it| it.contains('\n')) {
            return refuse("an identifier is one line");
        }
        Ok(Self {
            user: user(call)?,
            job: Job {
                when: special.map_or(When::Times(times), When::Special),
                command,
                comment: call.text("comment")?,
                identifier,
                is_disabled: call.flag("commented", false),
            },
            is_special,
        })
    }

    /// The table with the job in it, and whether it was there before; none if it is as wanted.
    pub(super) fn apply(&self, mut table: Table) -> Option<(Table, bool)> {
        let wanted = &self.job;
        let place = table
            .jobs
            .iter()
            .position(|job| job.is_meant(&wanted.command, wanted.identifier.as_deref()));
        let mut job = wanted.clone();
        if let Some(place) = place {
            let old = &table.jobs[place];
            job.when = self.kept_times(old);
            if job.comment.is_none() {
                job.comment.clone_from(&old.comment);
            }
            // A comment line that has only the identifier is no comment.
            let comment = |job: &Job| job.comment.clone().filter(|text| !text.is_empty());
            let is_same = job.when == old.when
                && job.command == old.command
                && comment(&job) == comment(old)
                && job.is_disabled == old.is_disabled
                && job.identifier == old.identifier;
            if is_same {
                return None;
            }
            table.jobs.remove(place);
        }
        if let When::Times(times) = &mut job.when {
            self.draw(times);
        }
        table.jobs.push(job);
        table.sort();
        Some((table, place.is_some()))
    }

    /// A time that is `random` stays as it was once drawn.
    fn kept_times(&self, old: &Job) -> When {
        let (When::Times(wanted), When::Times(old)) = (&self.job.when, &old.when) else {
            return self.job.when.clone();
        };
        let mut times = wanted.clone();
        for (time, old) in times.iter_mut().zip(old) {
            if time == "random" && old != "*" {
                time.clone_from(old);
            }
        }
        When::Times(times)
    }

    /// Draws times that are `random` or a range such as `2:10`. The lot is the job itself, so
    /// that a dry run draws what the run after it does.
    fn draw(&self, times: &mut [String; 5]) {
        const RANGES: [(u64, u64); 5] = [(0, 59), (0, 23), (1, 28), (1, 12), (0, 6)];
        for (place, time) in times.iter_mut().enumerate() {
            let range = match time.split_once(':') {
                _ if time == "random" => Some(RANGES[place]),
                Some((from, to)) => from.parse().ok().zip(to.parse().ok()),
                None => None,
            };
            let Some((from, to)) = range.map(|(one, two): (u64, u64)| (one.min(two), one.max(two)))
            else {
                continue;
            };
            let lot = lot(&[&self.user, &self.job.command, &place.to_string()]);
            *time = (from + lot % (to - from + 1)).to_string();
        }
    }
}

/// A number that is the same for the same texts, and else like drawn.
fn lot(texts: &[&str]) -> u64 {
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
