//! The states `user.present` and `user.absent`.
//!
//! Changes users with `useradd`, `usermod`, `userdel`, `chpasswd` and `chage`, and reads the accounts
//! again to judge the result.

use super::desired::{self, DesiredUser, REDACTED_PASSWORD};
use super::password_hash::Password;
use crate::host::change::{Change, CommandRun, ModeAndOwner};
use crate::host::fact::Domain;
use crate::states::modules::accounts::{
    AGING_FIELDS, GECOS_FIELDS, Groups, User, check_name, find_user, prefetch_user,
};
use crate::states::modules::decision::{act, failure, run_change, single_change, unchanged};
use crate::states::modules::file_change;
use crate::states::{
    FactCache, Halt, Mode, StateCall, StateDecision, StateFunction, StateModule, StateOutcome,
};
use crate::text::quote_word;
use crate::value::{Map, Value};

pub(in crate::states::modules) static MODULE: StateModule = StateModule {
    name: "user",
    functions: &[
        StateFunction::new("present", present)
            .about("Creates a user with its groups, home and shell.")
            .options(OPTIONS)
            .reversed_by("absent"),
        StateFunction::new("absent", absent)
            .about("Removes a user.")
            .options("purge force local")
            .irreversible("the uid, groups and files of the user are not recorded"),
    ],
    watch: None,
    aggregate: None,
};

const OPTIONS: &str = "uid gid usergroup gid_from_name groups optional_groups remove_groups home \
    createhome persist_home password hash_password enforce_password empty_password password_lock \
    shell unique system fullname roomnumber workphone homephone other loginclass date mindays \
    maxdays inactdays warndays expire nologinit allow_uid_change allow_gid_change local \
    win_homedrive win_profile win_logonscript win_description";

/// Decides `user.present`: creates or changes a user.
pub(super) fn present(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let mut desired = DesiredUser::from_call(call)?;
    prefetch_user(facts, &desired.name)?;
    let groups = Groups::probe(facts)?;
    let is_missing = |name: &&String| groups.by_name(name).is_none();
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
        if let Some(desired_groups) = &mut desired.groups {
            desired_groups.retain(|name| !missing.contains(name));
        }
    }
    let Some(user) = find_user(facts, &desired.name)? else {
        return create_user(desired, &groups, &missing);
    };
    let differences = desired.differences(&user, &groups);
    if let Some(why) = desired.forbidden_change(&user, &differences) {
        return failure(why);
    }
    if differences.is_empty() {
        let comment = format!("User {} is present and up to date", desired.name);
        return unchanged(comment);
    }
    change_user(desired, user, &groups, &differences, &missing)
}

/// Decides to change an existing user.
fn change_user(
    desired: DesiredUser,
    before: User,
    groups: &Groups,
    differences: &Map,
    missing: &[String],
) -> Result<StateDecision, Halt> {
    let mut comment = String::from("The following user attributes are set to be changed:\n");
    for (key, value) in differences {
        comment = format!("{comment}{key}: {value}\n");
    }
    if !missing.is_empty() {
        let missing = missing.join(",");
        comment = format!("{comment}groups (pending creation): {missing}\n");
    }
    let predicted = StateOutcome::planned(comment);
    let steps = change_steps(&desired, &before, differences);
    let info = before.info(groups);
    act(predicted, steps, move |complaint, facts| {
        prefetch_user(facts, &desired.name)?;
        let groups = Groups::probe(facts)?;
        let Some(after) = find_user(facts, &desired.name)? else {
            return Ok(StateOutcome::failed(format!(
                "User {} does not exist any more",
                desired.name
            )));
        };
        let mut changes = Map::new();
        for (key, value) in after.info(&groups) {
            if info.get(&key) != Some(&value) {
                changes.insert(key, value);
            }
        }
        add_shadow_changes(&before, &after, &mut changes);
        let remaining = desired.differences(&after, &groups);
        if complaint.is_none() && remaining.is_empty() {
            return Ok(StateOutcome::changed(
                changes,
                format!("Updated user {}", desired.name),
            ));
        }
        let why = complaint.unwrap_or_default();
        let text = format!(
            "These values could not be changed: {}\n{why}",
            Value::from(remaining)
        );
        Ok(StateOutcome::failed_with(
            changes,
            text.trim_end().to_owned(),
        ))
    })
}

fn add_shadow_changes(before: &User, after: &User, changes: &mut Map) {
    let (Some(old), Some(new)) = (&before.shadow, &after.shadow) else {
        return;
    };
    if old.hash != new.hash {
        changes.insert("passwd".into(), REDACTED_PASSWORD.into());
    }
    for (index, key) in AGING_FIELDS.into_iter().enumerate() {
        if old.days[index] != new.days[index] {
            changes.insert(key.into(), new.days[index].into());
        }
    }
}

/// Returns the changes for the differences: one command for the user, one for aging, one for the
/// password.
fn change_steps(desired: &DesiredUser, user: &User, differences: &Map) -> Vec<Change> {
    let name = quote_word(&desired.name);
    let options = usermod_options(desired, user, differences);
    let mut steps = Vec::new();
    if !options.is_empty() {
        let homes = desired.home.iter().chain([&user.home]);
        let touches = homes.map(|home| Domain::Path(home.clone()));
        steps.push(run_change(
            format!("usermod {} {name}", options.join(" ")),
            touches.chain([Domain::Accounts]),
        ));
    }
    if let Some(home) = differences.get("homeDoesNotExist")
        && !(desired.moves_home && user.has_home)
    {
        steps.push(file_change::folder(
            &home.to_string(),
            ModeAndOwner {
                mode: Some(0o755),
                user: Some(desired.name.clone()),
                group: Some(user.gid.to_string()),
            },
        ));
        // The folder change touches only the path; this makes the account facts, which include the home,
        // stale too.
        steps.push(account_change("true".to_owned()));
    }
    if differences.contains_key("passwd") || differences.contains_key("empty_password") {
        steps.extend(password_step(desired));
    }
    steps.extend(days_step(desired, |key| differences.contains_key(key)));
    steps
}

/// Returns the options of `usermod` for the differences.
fn usermod_options(desired: &DesiredUser, user: &User, differences: &Map) -> Vec<String> {
    let mut options = Vec::new();
    for (key, value) in differences {
        let text = quote_word(&value.to_string());
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
                options.push(format!("{append}-G {}", quote_word(&names.join(","))));
            }
            _ => {}
        }
    }
    if GECOS_FIELDS
        .iter()
        .any(|key| differences.contains_key(*key))
    {
        options.push(format!(
            "-c {}",
            quote_word(&long_name(desired, Some(user)))
        ));
    }
    options
}

/// Decides `user.absent`: removes a user and, with `purge`, the home folder.
pub(super) fn absent(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    check_name(call.name)?;
    let name = call.name.to_owned();
    prefetch_user(facts, &name)?;
    let Some(before) = find_user(facts, &name)? else {
        return unchanged(format!("User {name} is not present"));
    };
    let groups = Groups::probe(facts)?.of_user(&before);
    let predicted = StateOutcome::planned(format!("User {name} set for removal"));
    let mut text = String::from("userdel");
    let mut touches = vec![Domain::Accounts];
    if call.flag("purge", false) {
        text.push_str(" -r");
        touches.push(Domain::Path(before.home.clone()));
    }
    if call.flag("force", false) {
        text.push_str(" -f");
    }
    let steps = vec![run_change(format!("{text} {}", quote_word(&name)), touches)];
    act(predicted, steps, move |complaint, facts| {
        let after = Groups::probe(facts)?;
        let still_exists = find_user(facts, &name)?.is_some();
        if let Some(why) = complaint.filter(|_| still_exists) {
            return Ok(StateOutcome::failed(format!(
                "Failed to remove user {name}\n{why}"
            )));
        }
        let mut changes = Map::new();
        for group in groups.iter().filter(|group| after.by_name(group).is_none()) {
            changes.extend(single_change(&format!("{group} group"), "removed"));
        }
        changes.extend(single_change(&name, "removed"));
        Ok(StateOutcome::changed(
            changes,
            format!("Removed user {name}"),
        ))
    })
}

/// Decides to create a user who does not exist.
pub(super) fn create_user(
    desired: DesiredUser,
    groups: &Groups,
    missing: &[String],
) -> Result<StateDecision, Halt> {
    let mut comment = format!("User {} set to be added", desired.name);
    if !missing.is_empty() {
        comment = format!("{comment} (pending groups: {})", missing.join(","));
    }
    let predicted = StateOutcome::planned(comment);
    let home = match &desired.home {
        Some(home) => home.clone(),
        None => format!("/home/{}", desired.name),
    };
    let touches = [Domain::Accounts, Domain::Path(home)];
    let mut steps = vec![run_change(add_command(&desired, groups), touches)];
    steps.extend(password_step(&desired));
    steps.extend(days_step(&desired, |_| true));
    act(predicted, steps, move |complaint, facts| {
        prefetch_user(facts, &desired.name)?;
        let groups = Groups::probe(facts)?;
        Ok(evaluate_creation(
            &desired,
            find_user(facts, &desired.name)?.as_ref(),
            &groups,
            complaint,
        ))
    })
}

/// Returns true if the groups are the primary one only, of which Salt then makes the user no member.
fn is_primary_group_alone(names: &[&str], gid: &str, groups: &Groups) -> bool {
    let primary = groups.find(gid).map(|group| group.name.as_str());
    names.iter().all(|name| Some(*name) == primary)
}

fn add_command(desired: &DesiredUser, groups: &Groups) -> String {
    let mut words = vec!["useradd".to_owned()];
    let mut option =
        |option: &str, value: &str| words.push(format!("{option} {}", quote_word(value)));
    if let Some(shell) = &desired.shell {
        option("-s", shell);
    }
    if let Some(uid) = desired.uid {
        option("-u", &uid.to_string());
    }
    let is_there = |name: &&String| groups.by_name(name).is_some();
    let optional = desired.optional_groups.iter().filter(is_there);
    let mut member: Vec<&str> = desired
        .groups
        .iter()
        .flatten()
        .chain(optional)
        .map(String::as_str)
        .collect();
    let is_named_alike = groups.by_name(&desired.name).is_some();
    if let Some(gid) = &desired.gid {
        option("-g", gid);
        if is_primary_group_alone(&member, gid, groups) {
            member.clear();
        }
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
    words.push(quote_word(&desired.name));
    words.join(" ")
}

fn evaluate_creation(
    desired: &DesiredUser,
    user: Option<&User>,
    groups: &Groups,
    complaint: Option<&str>,
) -> StateOutcome {
    let name = &desired.name;
    let why = complaint.unwrap_or_default();
    let Some(user) = user else {
        let text = format!("Failed to create new user {name}\n{why}");
        return StateOutcome::failed(text.trim_end().to_owned());
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
            changes.insert("password".into(), REDACTED_PASSWORD.into());
        }
    }
    for (key, _, index) in desired::AGING_OPTIONS {
        if let Some(days) = desired.days[index].filter(|days| *days != 0) {
            changes.insert(key.into(), days.into());
        }
    }
    let outcome = StateOutcome::changed(changes, format!("New user {name} created"));
    if complaint.is_none() {
        return outcome;
    }
    StateOutcome {
        result: Some(false),
        comment: format!("User {name} created, but some settings could not be applied\n{why}"),
        ..outcome
    }
}

/// Returns the change that runs a command for accounts.
pub(super) fn account_change(text: String) -> Change {
    run_change(text, [Domain::Accounts])
}

/// Returns the GECOS text: desired fields first, else those of the existing user.
pub(super) fn long_name(desired: &DesiredUser, user: Option<&User>) -> String {
    let part = |index: usize| {
        let is = || user.map(|user| user.gecos[index].clone());
        desired.gecos[index].clone().or_else(is).unwrap_or_default()
    };
    let parts: Vec<String> = (0..GECOS_FIELDS.len()).map(part).collect();
    parts.join(",").trim_end_matches(',').to_owned()
}

/// Returns the change that sets the password; None if the state gives none.
///
/// The password goes through standard input, so that no process list shows it.
pub(super) fn password_step(desired: &DesiredUser) -> Option<Change> {
    let (text, stdin) = match desired.password.as_ref()? {
        Password::Empty => {
            return Some(account_change(format!(
                "passwd -d {}",
                quote_word(&desired.name)
            )));
        }
        Password::Hash(hash) => ("chpasswd -e", hash),
        Password::Plain(password) => ("chpasswd -c SHA512", password),
    };
    let mut run = CommandRun::new(text).touching([Domain::Accounts]);
    run.stdin = Some(format!("{}:{stdin}\n", desired.name).into_bytes());
    Some(Change::Run(run))
}

/// Returns the change that sets the selected aging fields; None if the state sets none of them.
pub(super) fn days_step(
    desired: &DesiredUser,
    is_selected: impl Fn(&str) -> bool,
) -> Option<Change> {
    let mut text = String::from("chage");
    for (key, option, index) in desired::AGING_OPTIONS {
        if let Some(days) = desired.days[index].filter(|_| is_selected(key)) {
            text = format!("{text} {option} {days}");
        }
    }
    (text != "chage").then(|| account_change(format!("{text} {}", quote_word(&desired.name))))
}
