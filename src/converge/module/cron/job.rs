//! Jobs are put into crontabs and removed from them.

use super::crontab::{commit, crontab};
use super::table::{Job, Table, When};
use super::wish::Wish;
use crate::converge::module::command::unchanged;
use crate::converge::{Call, Facts, Halt, Mode, Verdict};

/// Puts a job into a crontab, or updates it there.
pub(super) fn present(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let wish = Wish::of(call)?;
    let name = wish.job.command.clone();
    let table = Table::read(&crontab(call, facts, &wish.user)?);
    let Some((table, was_there)) = wish.apply(table) else {
        return unchanged(format!("Cron {name} already present"));
    };
    let (would, was) = if was_there {
        ("updated", format!("Cron {name} updated"))
    } else {
        let user = &wish.user;
        ("added", format!("Cron {name} added to {user}'s crontab"))
    };
    let would = format!("Cron {name} is set to be {would}");
    commit(&wish.user, &name, &table, would, was)
}

/// Removes a job from a crontab.
pub(super) fn absent(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
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
        return unchanged(format!("Cron {name} {word} absent"));
    };
    table.jobs.remove(place);
    let would = format!("Cron {name} is set to be removed");
    let was = format!("Cron {name} removed from {}'s crontab", wish.user);
    commit(&wish.user, &name, &table, would, was)
}
