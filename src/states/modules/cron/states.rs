//! The states of the module `cron`: jobs, environment variables and whole crontabs.
//!
//! Each state reads the crontab, edits its parsed form and installs the whole table.

use super::crontab::{CronJob, Crontab, Schedule};
use super::crontab::{commit_crontab, crontab_user, install_change, read_crontab};
use super::desired::DesiredCronJob;
use crate::states::modules::accounts;
use crate::states::modules::decision::{act_or_fail, failure, single_change, unchanged};
use crate::states::{
    FactCache, Halt, Mode, StateCall, StateDecision, StateFunction, StateModule, StateOutcome,
    refuse,
};
use crate::text::diff;

pub(in crate::states::modules) static MODULE: StateModule = StateModule {
    name: "cron",
    functions: &[
        StateFunction::new("present", present)
            .about("Adds a line to the crontab of a user, or updates it.")
            .options("user minute hour daymonth month dayweek comment commented identifier special")
            .reversed_by("absent"),
        StateFunction::new("absent", absent)
            .about("Removes a line from the crontab of a user.")
            .accepts_more()
            .options("user identifier special")
            .irreversible("the schedule of the removed job is not recorded"),
        StateFunction::new("file", file)
            .about("Makes a file the whole crontab of a user.")
            .accepts_more()
            .options("source_hash source_hash_name user template context replace defaults backup")
            .irreversible("the previous crontab is not recorded"),
        StateFunction::new("env_present", env_present)
            .about("Sets a variable in the crontab of a user.")
            .options("value user")
            .reversed_by("env_absent"),
        StateFunction::new("env_absent", env_absent)
            .about("Removes a variable from the crontab of a user.")
            .options("user")
            .irreversible("the previous value of the variable is not recorded"),
    ],
    watch: None,
    aggregate: None,
};

/// Decides `cron.present`: adds a job to a crontab, or updates it.
pub(super) fn present(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let desired = DesiredCronJob::from_call(call)?;
    let name = desired.job.command.clone();
    let table = Crontab::parse(&read_crontab(call, facts, &desired.user)?);
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
    commit_crontab(&desired.user, &name, &table, would, was)
}

/// Decides `cron.absent`: removes a job from a crontab.
pub(super) fn absent(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let desired = DesiredCronJob::from_call(call)?;
    let name = desired.job.command.clone();
    let mut table = Crontab::parse(&read_crontab(call, facts, &desired.user)?);
    let is_meant = |job: &CronJob| {
        let is_kind = match &job.schedule {
            Schedule::Special(word) => {
                desired.is_special && desired.job.schedule == Schedule::Special(word.clone())
            }
            Schedule::Times(_) => !desired.is_special,
        };
        is_kind && job.matches(&name, desired.job.identifier.as_deref())
    };
    let Some(index) = table.jobs.iter().position(is_meant) else {
        let word = match call.mode {
            Mode::Test => "is",
            Mode::Apply => "already",
        };
        return unchanged(format!("Cron {name} {word} absent"));
    };
    table.jobs.remove(index);
    let would = format!("Cron {name} is set to be removed");
    let was = format!("Cron {name} removed from {}'s crontab", desired.user);
    commit_crontab(&desired.user, &name, &table, would, was)
}

/// Decides `cron.env_present`: sets a variable of a crontab.
pub(super) fn env_present(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let user = crontab_user(call)?;
    let name = call.name;
    let value = call.text("value")?.unwrap_or_default();
    if name.contains(['=', ' ', '\n']) || value.contains('\n') {
        return refuse(format!(
            "`{name}` cannot be set in a crontab: the name must have no `=` or space, and the value must be a single line"
        ));
    }
    let mut table = Crontab::parse(&read_crontab(call, facts, &user)?);
    let index = table.variables.iter().position(|(it, _)| it == name);
    let (would, was) = match index {
        Some(index) => {
            let old = &table.variables[index].1;
            if *old == value || (value.is_empty() && old == "\"\"") {
                return unchanged(format!("Cron env {name} already present"));
            }
            table.variables.remove(index);
            ("updated", format!("Cron env {name} updated"))
        }
        None => (
            "added",
            format!("Cron env {name} added to {user}'s crontab"),
        ),
    };
    table.variables.push((name.to_owned(), value));
    let would = format!("Cron env {name} is set to be {would}");
    commit_crontab(&user, name, &table, would, was)
}

/// Decides `cron.env_absent`: removes a variable from a crontab.
pub(super) fn env_absent(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let user = crontab_user(call)?;
    let name = call.name.trim();
    let mut table = Crontab::parse(&read_crontab(call, facts, &user)?);
    let Some(index) = table.variables.iter().rposition(|(it, _)| it == name) else {
        let word = match call.mode {
            Mode::Test => "is",
            Mode::Apply => "already",
        };
        return unchanged(format!("Cron env {name} {word} absent"));
    };
    table.variables.remove(index);
    let would = format!("Cron env {name} is set to be removed");
    let was = format!("Cron env {name} removed from {user}'s crontab");
    commit_crontab(&user, name, &table, would, was)
}

/// Decides `cron.file`: replaces a user's whole crontab with a file of the state tree.
pub(super) fn file(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let user = crontab_user(call)?;
    let is = read_crontab(call, facts, &user)?;
    if !call.flag("replace", true) && !is.trim().is_empty() {
        let comment = format!("User {user} already has a crontab. No changes made");
        return unchanged(comment);
    }
    let desired = match render_crontab_file(call, facts)? {
        Ok(text) => text,
        Err(comment) => return failure(comment),
    };
    if is == desired {
        let comment = format!("Crontab for user {user} is in the correct state");
        return unchanged(comment);
    }
    let group = first_group(facts, &user)?;
    let is = if is.ends_with('\n') { is } else { is + "\n" };
    let diff = unified_diff(&is, &desired);
    let comment = format!("The following values are set to be changed:\ndiff: {diff}\n");
    let predicted = StateOutcome::planned(comment);
    let mut changes = single_change("diff", diff);
    // Salt writes the text to a file of its own first, and reports the owner that it gives to that file.
    let owners = [("user", Some(&user)), ("group", group.as_ref())];
    for (key, owner) in owners {
        if let Some(owner) = owner.filter(|owner| *owner != "root") {
            changes.extend(single_change(key, owner.as_str()));
        }
    }
    let steps = vec![install_change(&user, &desired)];
    let outcome = StateOutcome::changed(changes, format!("Crontab for user {user} was updated"));
    let complaint = format!("Unable to update user {user} crontab. Error: ");
    act_or_fail(predicted, steps, outcome, complaint)
}

/// Returns the first of the groups of a user; None if there is no such user.
fn first_group(facts: &FactCache, user: &str) -> Result<Option<String>, Halt> {
    accounts::prefetch_user(facts, user)?;
    let Some(found) = accounts::find_user(facts, user)? else {
        return Ok(None);
    };
    let groups = accounts::Groups::probe(facts)?.of_user(&found);
    Ok(groups.into_iter().next())
}

/// Returns the text of the crontab file, rendered if it is a template.
///
/// The inner error is the comment of the failed state.
fn render_crontab_file(
    call: &StateCall<'_>,
    facts: &FactCache,
) -> Result<Result<String, String>, Halt> {
    let Some(path) = call.name.strip_prefix("salt://") else {
        return Ok(Err(format!(
            "Unable to manage file: `{}` is not in the state tree: write salt://…",
            call.name
        )));
    };
    let Some(bytes) = call.context.roots.read(path)? else {
        return Ok(Err(format!("Source file {} not found", call.name)));
    };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let text = match call.text("template")?.as_deref() {
        None => text,
        Some("jinja") => call.render_template(&text, path, facts)?,
        Some(other) => {
            return Ok(Err(format!(
                "Specified template format {other} is not supported"
            )));
        }
    };
    // `crontab` refuses a table whose last line has no line end.
    Ok(Ok(if text.is_empty() || text.ends_with('\n') {
        text
    } else {
        text + "\n"
    }))
}

fn unified_diff(before: &str, after: &str) -> String {
    diff::unified_diff(&diff::lines(before), &diff::lines(after)).concat()
}
