//! The `cron` module: jobs and variables of crontabs, in Salt's format (P28).

mod crontab;
mod file;
mod table;

use sha2::{Digest as _, Sha256};

use super::command::{act, done, one};
use crate::converge::{Call, Facts, Function, Halt, Mode, Module, Outcome, Reverse, Verdict};
use crate::value::Map;
use crontab::{crontab, install, user};
use table::{Job, Table, When};

/// The module.
pub(super) static MODULE: Module = Module {
    name: "cron",
    functions: &[
        Function {
            name: "present",
            run: present,
            required: &[],
            optional: &[
                "user",
                "minute",
                "hour",
                "daymonth",
                "month",
                "dayweek",
                "comment",
                "commented",
                "identifier",
                "special",
            ],
            reverse: Reverse::By("absent"),
        },
        Function {
            name: "absent",
            run: absent,
            required: &[],
            optional: &["user", "identifier", "special"],
            reverse: Reverse::Never("when the job ran is not known any more"),
        },
        Function {
            name: "file",
            run: file::file,
            required: &[],
            optional: &[
                "source_hash",
                "source_hash_name",
                "user",
                "template",
                "context",
                "replace",
                "defaults",
                "backup",
            ],
            reverse: Reverse::Never("the crontab that was there before is not known any more"),
        },
        Function {
            name: "env_present",
            run: env_present,
            required: &[],
            optional: &["value", "user"],
            reverse: Reverse::By("env_absent"),
        },
        Function {
            name: "env_absent",
            run: env_absent,
            required: &[],
            optional: &["user"],
            reverse: Reverse::Never("the value of the variable is not known any more"),
        },
    ],
    watch: None,
    aggregate: None,
};

/// The job that a state describes.
struct Wish {
    user: String,
    job: Job,
    /// Whether it says when the job runs at special times.
    is_special: bool,
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

impl Wish {
    fn of(call: &Call<'_>) -> Result<Self, Halt> {
        const KEYS: [&str; 5] = ["minute", "hour", "daymonth", "month", "dayweek"];
        let command = call.name.trim().to_owned();
        if command.contains('\n') {
            return Err(Halt::Failed("a cron job is one line".into()));
        }
        let mut times: [String; 5] = Default::default();
        for (time, key) in times.iter_mut().zip(KEYS) {
            let text = call
                .text(key)?
                .unwrap_or_else(|| "*".to_owned())
                .to_lowercase();
            if text.is_empty() || text.contains(char::is_whitespace) {
                return Err(Halt::Failed(format!("`{key}: {text}` is no time")));
            }
            *time = text;
        }
        let special = call.text("special")?;
        let is_special = special.is_some();
        let identifier = identifier(call, &command)?;
        if identifier.as_ref().is_some_and(|it| it.contains('\n')) {
            return Err(Halt::Failed("an identifier is one line".into()));
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
    fn apply(&self, mut table: Table) -> Option<(Table, bool)> {
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

fn present(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let wish = Wish::of(call)?;
    let name = wish.job.command.clone();
    let table = Table::read(&crontab(call, facts, &wish.user)?);
    let Some((table, was_there)) = wish.apply(table) else {
        return done(Outcome::same(format!("Cron {name} already present")));
    };
    let (would, was) = if was_there {
        ("updated", format!("Cron {name} updated"))
    } else {
        let user = &wish.user;
        ("added", format!("Cron {name} added to {user}'s crontab"))
    };
    let would = format!("Cron {name} is set to be {would}");
    commit(&wish.user, &name, &table, (would, was))
}

/// Installs a table; `would` and `was` are the comments.
fn commit(
    user: &str,
    name: &str,
    table: &Table,
    (would, was): (String, String),
) -> Result<Verdict, Halt> {
    let steps = vec![install(user, &table.write())];
    let predicted = Outcome::would(Map::new(), would);
    let changes = one(user, name);
    let failed = format!("Cron {name} for user {user} failed to commit with error");
    act(predicted, steps, move |complaint, _| {
        Ok(match complaint {
            None => Outcome::changed(changes.clone(), was.clone()),
            Some(why) => Outcome::failed(format!("{failed} \n{why}")),
        })
    })
}

fn absent(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let wish = Wish::of(call)?;
    let name = wish.job.command.clone();
    let mut table = Table::read(&crontab(call, facts, &wish.user)?);
    let is_meant = |job: &Job| {
        let is_kind = match &job.when {
            When::Special(word) => wish.is_special && wish.job.when == When::Special(word.clone()),
            When::Times(_) => !wish.is_special,
        };
        is_kind && job.is_meant(&name, wish.job.identifier.as_deref())
    };
    let Some(place) = table.jobs.iter().position(is_meant) else {
        let word = match call.mode {
            Mode::Test => "is",
            Mode::Apply => "already",
        };
        return done(Outcome::same(format!("Cron {name} {word} absent")));
    };
    table.jobs.remove(place);
    let would = format!("Cron {name} is set to be removed");
    let was = format!("Cron {name} removed from {}'s crontab", wish.user);
    commit(&wish.user, &name, &table, (would, was))
}

fn env_present(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let user = user(call)?;
    let name = call.name;
    let value = call.text("value")?.unwrap_or_default();
    if name.contains(['=', ' ', '\n']) || value.contains('\n') {
        return Err(Halt::Failed(format!(
            "`{name}` is no variable of a crontab"
        )));
    }
    let mut table = Table::read(&crontab(call, facts, &user)?);
    let place = table.variables.iter().position(|(it, _)| it == name);
    let (would, was) = match place {
        Some(place) => {
            let old = &table.variables[place].1;
            if *old == value || (value.is_empty() && old == "\"\"") {
                return done(Outcome::same(format!("Cron env {name} already present")));
            }
            table.variables.remove(place);
            ("updated", format!("Cron env {name} updated"))
        }
        None => (
            "added",
            format!("Cron env {name} added to {user}'s crontab"),
        ),
    };
    table.variables.push((name.to_owned(), value));
    let would = format!("Cron env {name} is set to be {would}");
    commit(&user, name, &table, (would, was))
}

fn env_absent(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let user = user(call)?;
    let name = call.name.trim();
    let mut table = Table::read(&crontab(call, facts, &user)?);
    let Some(place) = table.variables.iter().rposition(|(it, _)| it == name) else {
        let word = match call.mode {
            Mode::Test => "is",
            Mode::Apply => "already",
        };
        return done(Outcome::same(format!("Cron env {name} {word} absent")));
    };
    table.variables.remove(place);
    let would = format!("Cron env {name} is set to be removed");
    let was = format!("Cron env {name} removed from {user}'s crontab");
    commit(&user, name, &table, (would, was))
}
