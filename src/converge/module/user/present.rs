//! A user is brought to be as described.

use super::create::create;
use super::desired::{Desired, HIDDEN};
use super::steps::{account_change, days_step, long_name, password_step};
use crate::converge::module::accounts::{DAYS, GECOS, Groups, User, ask, user};
use crate::converge::module::command::{act, failure, unchanged};
use crate::converge::module::step;
use crate::converge::{Call, Facts, Halt, Mode, Outcome, Verdict};
use crate::host::change::{Change, Like};
use crate::text::quoted;
use crate::value::{Map, Value};

/// Makes a user, or changes one.
pub(super) fn present(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let mut desired = Desired::of(call)?;
    ask(facts, &desired.name)?;
    let groups = Groups::of(facts)?;
    let is_missing = |name: &&String| groups.named(name).is_none();
    let missing: Vec<String> = desired
        .groups
        .iter()
        .flatten()
        .filter(is_missing)
        .cloned()
        .collect();
    if !missing.is_empty() {
        if call.mode == Mode::Apply {
            return failure(format!(
                "The following group(s) are not present: {}",
                missing.join(",")
            ));
        }
        if let Some(wanted) = &mut desired.groups {
            wanted.retain(|name| !missing.contains(name));
        }
    }
    let Some(user) = user(facts, &desired.name)? else {
        return create(desired, &groups, &missing);
    };
    let differences = desired.differences(&user, &groups);
    if let Some(why) = desired.forbidden(&user, &differences) {
        return failure(why);
    }
    if differences.is_empty() {
        let comment = format!("User {} is present and up to date", desired.name);
        return unchanged(comment);
    }
    change(desired, user, &groups, &differences, &missing)
}

/// Brings a user that is there to be as wanted.
fn change(
    desired: Desired,
    before: User,
    groups: &Groups,
    differences: &Map,
    missing: &[String],
) -> Result<Verdict, Halt> {
    let mut comment = String::from("The following user attributes are set to be changed:\n");
    for (key, value) in differences {
        comment = format!("{comment}{key}: {value}\n");
    }
    if !missing.is_empty() {
        let missing = missing.join(",");
        comment = format!("{comment}groups (pending creation): {missing}\n");
    }
    let predicted = Outcome::planned(comment);
    let steps = change_steps(&desired, &before, differences);
    let info = before.info(groups);
    act(predicted, steps, move |complaint, facts| {
        ask(facts, &desired.name)?;
        let groups = Groups::of(facts)?;
        let Some(after) = user(facts, &desired.name)? else {
            return Ok(Outcome::failed(format!("User {} is gone", desired.name)));
        };
        let mut changes = Map::new();
        for (key, value) in after.info(&groups) {
            if info.get(&key) != Some(&value) {
                changes.insert(key, value);
            }
        }
        add_shadow_changes(&before, &after, &mut changes);
        let left = desired.differences(&after, &groups);
        if complaint.is_none() && left.is_empty() {
            return Ok(Outcome::changed(
                changes,
                format!("Updated user {}", desired.name),
            ));
        }
        let why = complaint.unwrap_or_default();
        let text = format!(
            "These values could not be changed: {}\n{why}",
            Value::from(left)
        );
        Ok(Outcome::failed_with(changes, text.trim_end().to_owned()))
    })
}

fn add_shadow_changes(before: &User, after: &User, changes: &mut Map) {
    let (Some(old), Some(new)) = (&before.shadow, &after.shadow) else {
        return;
    };
    if old.hash != new.hash {
        changes.insert("passwd".into(), HIDDEN.into());
    }
    for (place, key) in DAYS.into_iter().enumerate() {
        if old.days[place] != new.days[place] {
            changes.insert(key.into(), new.days[place].into());
        }
    }
}

/// The commands for what differs: one for the user, one for its days, one for its password.
fn change_steps(desired: &Desired, user: &User, differences: &Map) -> Vec<Change> {
    let name = quoted(&desired.name);
    let mut options = Vec::new();
    for (key, value) in differences {
        let text = quoted(&value.to_string());
        match key.as_ref() {
            "uid" if desired.is_unique => options.push(format!("-u {text}")),
            "uid" => options.push(format!("-o -u {text}")),
            "gid" => options.push(format!("-g {text}")),
            "shell" => options.push(format!("-s {text}")),
            "home" if desired.moves_home => options.push(format!("-m -d {text}")),
            "home" => options.push(format!("-d {text}")),
            "password_lock" if value.is_truthy() => options.push("-L".to_owned()),
            "password_lock" => options.push("-U".to_owned()),
            "groups" => {
                let names: Vec<String> = value
                    .as_list()
                    .into_iter()
                    .flatten()
                    .map(Value::to_string)
                    .collect();
                let append = if desired.removes_groups { "" } else { "-a " };
                options.push(format!("{append}-G {}", quoted(&names.join(","))));
            }
            _ => {}
        }
    }
    if GECOS.iter().any(|key| differences.contains_key(*key)) {
        options.push(format!("-c {}", quoted(&long_name(desired, Some(user)))));
    }
    let mut steps = Vec::new();
    if !options.is_empty() {
        steps.push(account_change(format!(
            "usermod {} {name}",
            options.join(" ")
        )));
    }
    if let Some(home) = differences.get("homeDoesNotExist")
        && !(desired.moves_home && user.has_home)
    {
        steps.push(step::folder(
            &home.to_string(),
            Like {
                mode: Some(0o755),
                user: Some(desired.name.clone()),
                group: Some(user.gid.to_string()),
            },
        ));
        // A home is a fact of accounts too.
        steps.push(account_change("true".to_owned()));
    }
    if differences.contains_key("passwd") || differences.contains_key("empty_password") {
        steps.extend(password_step(desired));
    }
    steps.extend(days_step(desired, |key| differences.contains_key(key)));
    steps
}
