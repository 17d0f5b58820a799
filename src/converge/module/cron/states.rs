//! The states of the module `cron`: jobs, variables and whole tables.

use super::crontab::{Job, Table, When};
use super::crontab::{commit, crontab, install, user};
use super::desired::Desired;
use crate::converge::module::command::{act_or_fail, failure, one, unchanged};
use crate::converge::{Call, Facts, Function, Halt, Mode, Module, Outcome, Verdict, diff, refuse};

/// The module.
pub(in crate::converge::module) static MODULE: Module = Module {
    name: "cron",
    functions: &[
        Function::new("present", present)
            .options("user minute hour daymonth month dayweek comment commented identifier special")
            .reversed_by("absent"),
        Function::new("absent", absent)
            .options("user identifier special")
            .irreversible("when the job ran is not known any more"),
        Function::new("file", file)
            .options("source_hash source_hash_name user template context replace defaults backup")
            .irreversible("the crontab that was there before is not known any more"),
        Function::new("env_present", env_present)
            .options("value user")
            .reversed_by("env_absent"),
        Function::new("env_absent", env_absent)
            .options("user")
            .irreversible("the value of the variable is not known any more"),
    ],
    watch: None,
    aggregate: None,
};

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

/// Sets a variable of a crontab.
pub(super) fn env_present(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let user = user(call)?;
    let name = call.name;
    let value = call.text("value")?.unwrap_or_default();
    if name.contains(['=', ' ', '\n']) || value.contains('\n') {
        return refuse(format!("`{name}` is no variable of a crontab"));
    }
    let mut table = Table::read(&crontab(call, facts, &user)?);
    let place = table.variables.iter().position(|(it, _)| it == name);
    let (would, was) = match place {
        Some(place) => {
            let old = &table.variables[place].1;
            if *old == value || (value.is_empty() && old == "\"\"") {
                return unchanged(format!("Cron env {name} already present"));
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
    commit(&user, name, &table, would, was)
}

/// Removes a variable from a crontab.
pub(super) fn env_absent(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let user = user(call)?;
    let name = call.name.trim();
    let mut table = Table::read(&crontab(call, facts, &user)?);
    let Some(place) = table.variables.iter().rposition(|(it, _)| it == name) else {
        let word = match call.mode {
            Mode::Test => "is",
            Mode::Apply => "already",
        };
        return unchanged(format!("Cron env {name} {word} absent"));
    };
    table.variables.remove(place);
    let would = format!("Cron env {name} is set to be removed");
    let was = format!("Cron env {name} removed from {user}'s crontab");
    commit(&user, name, &table, would, was)
}

/// Brings a user's crontab to be that of a file.
pub(super) fn file(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let user = user(call)?;
    let is = crontab(call, facts, &user)?;
    if !call.flag("replace", true) && !is.trim().is_empty() {
        let comment = format!("User {user} already has a crontab. No changes made");
        return unchanged(comment);
    }
    let wanted = match wanted(call, facts)? {
        Ok(text) => text,
        Err(comment) => return failure(comment),
    };
    if is == wanted {
        let comment = format!("Crontab for user {user} is in the correct state");
        return unchanged(comment);
    }
    let changes = one("diff", difference(&is, &wanted));
    let predicted = Outcome::would(
        changes.clone(),
        format!("Crontab for user {user} is set to be updated"),
    );
    let steps = vec![install(&user, &wanted)];
    let outcome = Outcome::changed(changes, format!("Crontab for user {user} was updated"));
    let complaint = format!("Unable to update user {user} crontab. Error: ");
    act_or_fail(predicted, steps, outcome, complaint)
}

/// The text of the file, rendered if it is a template; or why there is none.
fn wanted(call: &Call<'_>, facts: &Facts) -> Result<Result<String, String>, Halt> {
    let Some(path) = call.name.strip_prefix("salt://") else {
        return Ok(Err(format!(
            "Unable to manage file: `{}` is no file of the state tree: write salt://…",
            call.name
        )));
    };
    let Some(bytes) = call.world.roots.read(path)? else {
        return Ok(Err(format!("Source file {} not found", call.name)));
    };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let text = match call.text("template")?.as_deref() {
        None => text,
        Some("jinja") => call.rendered(&text, path, facts)?,
        Some(other) => {
            return Ok(Err(format!(
                "Specified template format {other} is not supported"
            )));
        }
    };
    // A crontab whose last line has no end is refused.
    Ok(Ok(if text.is_empty() || text.ends_with('\n') {
        text
    } else {
        text + "\n"
    }))
}

fn difference(before: &str, after: &str) -> String {
    diff::unified(&diff::lines(before), &diff::lines(after)).concat()
}
