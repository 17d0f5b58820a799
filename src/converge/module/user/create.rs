//! A user is made.

use super::desired::{self, Desired, HIDDEN};
use super::hash::Password;
use super::steps::{account_change, days_step, long_name, password_step};
use crate::converge::module::accounts::{Groups, User, ask, user};
use crate::converge::module::command::act;
use crate::converge::{Halt, Outcome, Verdict};
use crate::text::quoted;

/// Makes a user.
pub(super) fn create(
    desired: Desired,
    groups: &Groups,
    missing: &[String],
) -> Result<Verdict, Halt> {
    let mut comment = format!("User {} set to be added", desired.name);
    if !missing.is_empty() {
        comment = format!("{comment} (pending groups: {})", missing.join(","));
    }
    let predicted = Outcome::planned(comment);
    let mut steps = vec![account_change(add_command(&desired, groups))];
    steps.extend(password_step(&desired));
    steps.extend(days_step(&desired, |_| true));
    act(predicted, steps, move |complaint, facts| {
        ask(facts, &desired.name)?;
        let groups = Groups::of(facts)?;
        Ok(created(
            &desired,
            user(facts, &desired.name)?.as_ref(),
            &groups,
            complaint,
        ))
    })
}

fn add_command(desired: &Desired, groups: &Groups) -> String {
    let mut words = vec!["useradd".to_owned()];
    let mut option = |option: &str, value: &str| words.push(format!("{option} {}", quoted(value)));
    if let Some(shell) = &desired.shell {
        option("-s", shell);
    }
    if let Some(uid) = desired.uid {
        option("-u", &uid.to_string());
    }
    let is_there = |name: &&String| groups.named(name).is_some();
    let optional = desired.optional_groups.iter().filter(is_there);
    let mut member: Vec<&str> = desired
        .groups
        .iter()
        .flatten()
        .chain(optional)
        .map(String::as_str)
        .collect();
    let is_named_alike = groups.named(&desired.name).is_some();
    if let Some(gid) = &desired.gid {
        option("-g", gid);
    } else if is_named_alike
        && (desired.has_own_group == Some(true) || member.contains(&desired.name.as_str()))
    {
        option("-g", &desired.name);
        member.retain(|name| *name != desired.name);
    }
    member.dedup();
    if !member.is_empty() {
        option("-G", &member.join(","));
    }
    if let Some(home) = &desired.home {
        option("-d", home);
    }
    let long_name = long_name(desired, None);
    if !long_name.is_empty() {
        option("-c", &long_name);
    }
    let flags = [
        (
            desired.gid.is_none() && !is_named_alike && desired.has_own_group == Some(true),
            "-U",
        ),
        (desired.has_own_group == Some(false), "-N"),
        (desired.creates_home, "-m"),
        (!desired.creates_home, "-M"),
        (desired.skips_log, "-l"),
        (!desired.is_unique, "-o"),
        (desired.is_system, "-r"),
    ];
    let flags = flags.into_iter().filter(|(is_set, _)| *is_set);
    words.extend(flags.map(|(_, flag)| flag.to_owned()));
    words.push(quoted(&desired.name));
    words.join(" ")
}

fn created(
    desired: &Desired,
    user: Option<&User>,
    groups: &Groups,
    complaint: Option<&str>,
) -> Outcome {
    let name = &desired.name;
    let why = complaint.unwrap_or_default();
    let Some(user) = user else {
        let text = format!("Failed to create new user {name}\n{why}");
        return Outcome::failed(text.trim_end().to_owned());
    };
    let mut changes = user.info(groups);
    if !desired.creates_home {
        changes.insert("home".into(), "".into());
    }
    match &desired.password {
        None => {}
        Some(Password::Empty) => {
            changes.insert("password".into(), "".into());
        }
        Some(_) => {
            changes.insert("password".into(), HIDDEN.into());
        }
    }
    for (key, _, place) in desired::DAYS {
        if let Some(days) = desired.days[place].filter(|days| *days != 0) {
            changes.insert(key.into(), days.into());
        }
    }
    let outcome = Outcome::changed(changes, format!("New user {name} created"));
    if complaint.is_none() {
        return outcome;
    }
    Outcome {
        result: Some(false),
        comment: format!("User {name} created but not as described\n{why}"),
        ..outcome
    }
}
