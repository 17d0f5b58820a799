//! The `user` module: users, their groups, homes and passwords (P23).

mod hash;
mod wish;

use super::accounts::{DAYS, GECOS, Groups, User, ask, check_name, user};
use super::command::{act, done, one, quoted, run};
use crate::converge::{Call, Facts, Function, Halt, Mode, Module, Outcome, Reverse, Verdict};
use crate::host::change::{Change, Like, Run};
use crate::host::fact::Domain;
use crate::value::{Map, Value};
use hash::Password;
use wish::{HIDDEN, Wish};

/// The module.
pub(super) static MODULE: Module = Module {
    name: "user",
    functions: &[
        Function {
            name: "present",
            run: present,
            required: &[],
            optional: OPTIONS,
            reverse: Reverse::By("absent"),
        },
        Function {
            name: "absent",
            run: absent,
            required: &[],
            optional: &["purge", "force", "local"],
            reverse: Reverse::Never("its number, groups and files are not known any more"),
        },
    ],
    watch: None,
    aggregate: None,
};

const OPTIONS: &[&str] = &[
    "uid",
    "gid",
    "usergroup",
    "gid_from_name",
    "groups",
    "optional_groups",
    "remove_groups",
    "home",
    "createhome",
    "persist_home",
    "password",
    "hash_password",
    "enforce_password",
    "empty_password",
    "password_lock",
    "shell",
    "unique",
    "system",
    "fullname",
    "roomnumber",
    "workphone",
    "homephone",
    "other",
    "loginclass",
    "date",
    "mindays",
    "maxdays",
    "inactdays",
    "warndays",
    "expire",
    "nologinit",
    "allow_uid_change",
    "allow_gid_change",
    "local",
];

fn present(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let mut wish = Wish::of(call)?;
    ask(facts, &wish.name)?;
    let groups = Groups::of(facts)?;
    let is_missing = |name: &&String| groups.named(name).is_none();
    let missing: Vec<String> = wish
        .groups
        .iter()
        .flatten()
        .filter(is_missing)
        .cloned()
        .collect();
    if !missing.is_empty() {
        if call.mode == Mode::Apply {
            return done(Outcome::failed(format!(
                "The following group(s) are not present: {}",
                missing.join(",")
            )));
        }
        if let Some(wanted) = &mut wish.groups {
            wanted.retain(|name| !missing.contains(name));
        }
    }
    let Some(user) = user(facts, &wish.name)? else {
        return create(wish, &groups, &missing);
    };
    let differences = wish.differences(&user, &groups);
    if let Some(why) = wish.forbidden(&user, &differences) {
        return done(Outcome::failed(why));
    }
    if differences.is_empty() {
        let comment = format!("User {} is present and up to date", wish.name);
        return done(Outcome::same(comment));
    }
    change(wish, user, &groups, (&differences, &missing))
}

/// Brings a user that is there to be as wanted.
fn change(
    wish: Wish,
    before: User,
    groups: &Groups,
    (differences, missing): (&Map, &[String]),
) -> Result<Verdict, Halt> {
    let mut comment = String::from("The following user attributes are set to be changed:\n");
    for (key, value) in differences {
        comment = format!("{comment}{key}: {value}\n");
    }
    if !missing.is_empty() {
        let missing = missing.join(",");
        comment = format!("{comment}groups (pending creation): {missing}\n");
    }
    let predicted = Outcome::would(Map::new(), comment);
    let steps = change_steps(&wish, &before, differences);
    let info = before.info(groups);
    act(predicted, steps, move |complaint, facts| {
        ask(facts, &wish.name)?;
        let groups = Groups::of(facts)?;
        let Some(after) = user(facts, &wish.name)? else {
            return Ok(Outcome::failed(format!("User {} is gone", wish.name)));
        };
        let mut changes = Map::new();
        for (key, value) in after.info(&groups) {
            if info.get(&key) != Some(&value) {
                changes.insert(key, value);
            }
        }
        add_shadow_changes(&before, &after, &mut changes);
        let left = wish.differences(&after, &groups);
        if complaint.is_none() && left.is_empty() {
            return Ok(Outcome::changed(
                changes,
                format!("Updated user {}", wish.name),
            ));
        }
        let why = complaint.unwrap_or_default();
        let text = format!(
            "These values could not be changed: {}\n{why}",
            Value::from(left)
        );
        Ok(Outcome {
            changes,
            ..Outcome::failed(text.trim_end().to_owned())
        })
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
fn change_steps(wish: &Wish, user: &User, differences: &Map) -> Vec<Change> {
    let name = quoted(&wish.name);
    let mut options = Vec::new();
    for (key, value) in differences {
        let text = quoted(&value.to_string());
        match key.as_ref() {
            "uid" if wish.is_unique => options.push(format!("-u {text}")),
            "uid" => options.push(format!("-o -u {text}")),
            "gid" => options.push(format!("-g {text}")),
            "shell" => options.push(format!("-s {text}")),
            "home" if wish.moves_home => options.push(format!("-m -d {text}")),
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
                let append = if wish.removes_groups { "" } else { "-a " };
                options.push(format!("{append}-G {}", quoted(&names.join(","))));
            }
            _ => {}
        }
    }
    if GECOS.iter().any(|key| differences.contains_key(*key)) {
        options.push(format!("-c {}", quoted(&long_name(wish, Some(user)))));
    }
    let mut steps = Vec::new();
    if !options.is_empty() {
        steps.push(account_change(format!(
            "usermod {} {name}",
            options.join(" ")
        )));
    }
    if let Some(home) = differences.get("homeDoesNotExist")
        && !(wish.moves_home && user.has_home)
    {
        steps.push(Change::Folder {
            path: home.to_string(),
            parents: false,
            like: Like {
                mode: Some(0o755),
                user: Some(wish.name.clone()),
                group: Some(user.gid.to_string()),
            },
        });
        // A home is a fact of accounts too.
        steps.push(account_change("true".to_owned()));
    }
    if differences.contains_key("passwd") || differences.contains_key("empty_password") {
        steps.extend(password_step(wish));
    }
    steps.extend(days_step(wish, |key| differences.contains_key(key)));
    steps
}

fn account_change(text: String) -> Change {
    run(text, [Domain::Accounts])
}

/// The long name with the parts that are wanted, and those that are there.
fn long_name(wish: &Wish, user: Option<&User>) -> String {
    let part = |place: usize| {
        let is = || user.map(|user| user.gecos[place].clone());
        wish.gecos[place].clone().or_else(is).unwrap_or_default()
    };
    let parts: Vec<String> = (0..GECOS.len()).map(part).collect();
    parts.join(",").trim_end_matches(',').to_owned()
}

/// Sets the password. It goes through a pipe: a list of processes never shows it.
fn password_step(wish: &Wish) -> Option<Change> {
    let (text, stdin) = match wish.password.as_ref()? {
        Password::Empty => {
            return Some(account_change(format!("passwd -d {}", quoted(&wish.name))));
        }
        Password::Hash(hash) => ("chpasswd -e", hash),
        Password::Plain(password) => ("chpasswd -c SHA512", password),
    };
    let mut run = Run::new(text).touching([Domain::Accounts]);
    run.stdin = Some(format!("{}:{stdin}\n", wish.name).into_bytes());
    Some(Change::Run(run))
}

fn days_step(wish: &Wish, is_wanted: impl Fn(&str) -> bool) -> Option<Change> {
    let mut text = String::from("chage");
    for (key, option, place) in wish::DAYS {
        if let Some(days) = wish.days[place].filter(|_| is_wanted(key)) {
            text = format!("{text} {option} {days}");
        }
    }
    (text != "chage").then(|| account_change(format!("{text} {}", quoted(&wish.name))))
}

fn create(wish: Wish, groups: &Groups, missing: &[String]) -> Result<Verdict, Halt> {
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

fn absent(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    check_name(call.name)?;
    let name = call.name.to_owned();
    ask(facts, &name)?;
    let Some(before) = user(facts, &name)? else {
        return done(Outcome::same(format!("User {name} is not present")));
    };
    let groups = Groups::of(facts)?.of_user(&before);
    let predicted = Outcome::would(Map::new(), format!("User {name} set for removal"));
    let mut text = String::from("userdel");
    let mut touches = vec![Domain::Accounts];
    if call.flag("purge", false) {
        text.push_str(" -r");
        touches.push(Domain::Path(before.home.clone()));
    }
    if call.flag("force", false) {
        text.push_str(" -f");
    }
    let steps = vec![run(format!("{text} {}", quoted(&name)), touches)];
    act(predicted, steps, move |complaint, facts| {
        let after = Groups::of(facts)?;
        let is_left = user(facts, &name)?.is_some();
        if let Some(why) = complaint.filter(|_| is_left) {
            return Ok(Outcome::failed(format!(
                "Failed to remove user {name}\n{why}"
            )));
        }
        let mut changes = Map::new();
        for group in groups.iter().filter(|group| after.named(group).is_none()) {
            changes.extend(one(&format!("{group} group"), "removed"));
        }
        changes.extend(one(&name, "removed"));
        Ok(Outcome::changed(changes, format!("Removed user {name}")))
    })
}
