//! Jobs are put into crontabs and removed from them.

use super::crontab::{commit, crontab};
use super::desired::Desired;
use super::table::{Job, Table, When};
use crate::converge::module::command::unchanged;
use crate::converge::{Call, Facts, Halt, Mode, Verdict};

/// Puts a job into a crontab, or updates it there.
pub(super) fn present(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let desired = Desired::of(call)?;
    let name = desired.job.command.clone();
    let table = Table::read(&crontab(call, facts, &desired.user)?);
    let Some((table, was_there)) = desired.apply(table) else {
        return unchanged(format!("Cron {name} already present"));
    };
    let (would, was) = if was_there {
        ("updated", format!("Cron {name} updated"))
    } else {
        let user = &desired.user;
        ("added", format!("Cron {name} added to {user}'s crontab"))
    };
    let would = format!("Cron {name} is set to be {would}");
    commit(&desired.user, &name, &table, would, was)
}

/// Removes a job from a crontab.
pub(super) fn absent(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let desired = Desired::of(call)?;
    let name = desired.job.command.clone();
    let mut table = Table::read(&crontab(call, facts, &desired.user)?);
    let is_meant = |job: &Job| {
        let is_kind = match &job.when {
            When::Special(word) => {
                desired.is_special && desired.job.when == When::Special(word.clone())
            }
            When::Times(_) => !desired.is_special,
        };
        is_kind && job.is_meant(&name, desired.job.identifier.as_deref())
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
    let was = format!("Cron {name} removed from {}'s crontab", desired.user);
    commit(&desired.user, &name, &table, would, was)
}
