//! A user is made.

use super::hash::Password;
use super::steps::{account_change, days_step, long_name, password_step};
use super::wish::{self, HIDDEN, Wish};
use crate::converge::module::accounts::{Groups, User, ask, user};
use crate::converge::module::command::act;
use crate::converge::{Halt, Outcome, Verdict};
use crate::text::quoted;
use crate::value::Map;

/// Makes a user.
pub(super) fn create(wish: Wish, groups: &Groups, missing: &[String]) -> Result<Verdict, Halt> {
    let mut comment = format!("User {} set to be added", wish.name);
    if !missing.is_empty() {
        comment = format!("{comment} (pending groups: {})", missing.join(","));
    }
    let predicted = Outcome::would(Map::new(), comment);
    let mut steps = vec![account_change(add_command(&wish, groups))];
    steps.extend(password_step(&wish));
    steps.extend(days_step(&wish, |_| true));
    act(predicted, steps, move |complaint, facts| {
        ask(facts, &wish.name)?;
        let groups = Groups::of(facts)?;
        Ok(created(
            &wish,
            user(facts, &wish.name)?.as_ref(),
            &groups,
            complaint,
        ))
    })
}

fn add_command(wish: &Wish, groups: &Groups) -> String {
    let mut words = vec!["useradd".to_owned()];
    let mut option = |option: &str, value: &str| words.push(format!("{option} {}", quoted(value)));
    if let Some(shell) = &wish.shell {
        option("-s", shell);
    }
    if let Some(uid) = wish.uid {
        option("-u", &uid.to_string());
    }
    let is_there = |name: &&String| groups.named(name).is_some();
    let optional = wish.optional_groups.iter().filter(is_there);
    let mut member: Vec<&str> = wish
        .groups
        .iter()
        .flatten()
        .chain(optional)
        .map(String::as_str)
        .collect();
    let is_named_alike = groups.named(&wish.name).is_some();
    if let Some(gid) = &wish.gid {
        option("-g", gid);
    } else if is_named_alike
        && (wish.has_own_group == Some(true) || member.contains(&wish.name.as_str()))
    {
        option("-g", &wish.name);
        member.retain(|name| *name != wish.name);
    }
    member.dedup();
    if !member.is_empty() {
        option("-G", &member.join(","));
    }
    if let Some(home) = &wish.home {
        option("-d", home);
    }
    let long_name = long_name(wish, None);
    if !long_name.is_empty() {
        option("-c", &long_name);
    }
    let flags = [
        (
            wish.gid.is_none() && !is_named_alike && wish.has_own_group == Some(true),
            "-U",
        ),
        (wish.has_own_group == Some(false), "-N"),
        (wish.creates_home, "-m"),
        (!wish.creates_home, "-M"),
        (wish.skips_log, "-l"),
        (!wish.is_unique, "-o"),
        (wish.is_system, "-r"),
    ];
    let flags = flags.into_iter().filter(|(is_set, _)| *is_set);
    words.extend(flags.map(|(_, flag)| flag.to_owned()));
    words.push(quoted(&wish.name));
    words.join(" ")
}

fn created(wish: &Wish, user: Option<&User>, groups: &Groups, complaint: Option<&str>) -> Outcome {
    let name = &wish.name;
    let why = complaint.unwrap_or_default();
    let Some(user) = user else {
        let text = format!("Failed to create new user {name}\n{why}");
        return Outcome::failed(text.trim_end().to_owned());
    };
    let mut changes = user.info(groups);
    if !wish.creates_home {
        changes.insert("home".into(), "".into());
    }
    match &wish.password {
        None => {}
        Some(Password::Empty) => {
            changes.insert("password".into(), "".into());
        }
        Some(_) => {
            changes.insert("password".into(), HIDDEN.into());
        }
    }
    for (key, _, place) in wish::DAYS {
        if let Some(days) = wish.days[place].filter(|days| *days != 0) {
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
