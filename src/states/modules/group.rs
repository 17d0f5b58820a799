//! The state module `group`: groups and their members (OP24).
//!
//! Creates, changes and removes groups with `groupadd`, `groupmod`, `gpasswd` and `groupdel`.

use super::accounts::{Group, Groups, check_name, name_list};
use super::decision::{act, act_or_fail, done, failure, run_change, single_change, unchanged};
use crate::host::change::Change;
use crate::host::fact::Domain;
use crate::states::{
    FactCache, Halt, StateCall, StateDecision, StateFunction, StateModule, StateOutcome,
};
use crate::text::quote_word;
use crate::value::{Map, Value};

pub(super) static MODULE: StateModule = StateModule {
    name: "group",
    functions: &[
        StateFunction::new("present", present)
            .about("Creates a group with its members.")
            .options("gid system addusers delusers members non_unique local")
            .reversed_by("absent"),
        StateFunction::new("absent", absent)
            .about("Removes a group.")
            .options("local")
            .irreversible("the gid and the members of the group are not recorded"),
    ],
    watch: None,
    aggregate: None,
};

/// A group as described by the arguments of `group.present`.
struct DesiredGroup {
    name: String,
    gid: Option<i64>,
    members: Option<Vec<String>>,
    add: Vec<String>,
    remove: Vec<String>,
}

impl DesiredGroup {
    fn from_call(call: &StateCall<'_>) -> Result<Self, Halt> {
        check_name(call.name)?;
        let texts = |key: &str| -> Result<Vec<String>, Halt> {
            let names = call.texts(key)?;
            names.iter().try_for_each(|name| check_name(name))?;
            Ok(names)
        };
        let members = match call.arg("members") {
            Some(_) => Some(texts("members")?),
            None => None,
        };
        Ok(Self {
            name: call.name.to_owned(),
            gid: call
                .int("gid")
                .map_err(|_| Halt::Failed("Invalid gid".into()))?,
            members,
            add: texts("addusers")?,
            remove: texts("delusers")?,
        })
    }

    /// Returns the differences to an existing group, in the form of Salt's changes.
    fn differences(&self, group: &Group) -> Map {
        let mut changes = Map::new();
        if let Some(gid) = self.gid.filter(|gid| *gid != 0 && *gid != group.gid) {
            changes.insert("gid".into(), gid.into());
        }
        if let Some(members) = &self.members {
            let differs = members.iter().any(|it| !group.members.contains(it))
                || group.members.iter().any(|it| !members.contains(it));
            if differs && members.is_empty() {
                changes.insert("delusers".into(), name_list(&group.members));
            } else if differs {
                changes.insert("members".into(), name_list(members));
            }
        }
        let add = self.add.iter().filter(|it| !group.members.contains(it));
        let remove = self.remove.iter().filter(|it| group.members.contains(it));
        for (key, names) in [
            ("addusers", add.cloned().collect::<Vec<String>>()),
            ("delusers", remove.cloned().collect()),
        ] {
            if !names.is_empty() {
                changes.insert(key.into(), name_list(&names));
            }
        }
        changes
    }
}

fn present(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let desired = DesiredGroup::from_call(call)?;
    if desired.members.is_some()
        && (call.arg("addusers").is_some() || call.arg("delusers").is_some())
    {
        return done(StateOutcome::planned(
            "Error: Conflicting options \"members\" with \"addusers\" and/or \"delusers\" can not be used together. ",
        ));
    }
    if desired.add.iter().any(|name| desired.remove.contains(name)) {
        return done(StateOutcome::planned(
            "Error. Same user(s) can not be added and deleted simultaneously",
        ));
    }
    let groups = Groups::probe(facts)?;
    let Some(group) = groups.by_name(&desired.name) else {
        return create_group(call, desired, &groups);
    };
    let differences = desired.differences(group);
    if differences.is_empty() {
        let comment = format!("Group {} is present and up to date", desired.name);
        return unchanged(comment);
    }
    let mut comment = String::from("The following group attributes are set to be changed:\n");
    for (key, value) in &differences {
        comment = format!("{comment}{key}: {value}\n");
    }
    let steps = vec![group_change(change_command(call, &desired, &differences))];
    let predicted = StateOutcome::planned(comment.clone());
    act(predicted, steps, move |complaint, facts| {
        let groups = Groups::probe(facts)?;
        let remaining = groups
            .by_name(&desired.name)
            .map_or_else(Map::new, |group| desired.differences(group));
        if complaint.is_none() && remaining.is_empty() {
            let changes = single_change("Final", "All changes applied successfully");
            return Ok(StateOutcome::changed(changes, comment.clone()));
        }
        let why = complaint.unwrap_or_default();
        let text = format!("{comment}Some changes could not be applied");
        let outcome = StateOutcome::failed_with(single_change("Failed", remaining), text);
        Ok(with_warning(outcome, why))
    })
}

fn group_change(text: String) -> Change {
    run_change(text, [Domain::Accounts])
}

fn change_command(call: &StateCall<'_>, desired: &DesiredGroup, differences: &Map) -> String {
    let name = quote_word(&desired.name);
    let mut commands = Vec::new();
    for (key, value) in differences {
        let users = value.as_list().map(Vec::as_slice).unwrap_or_default();
        let each = |option: &str| {
            let one =
                |user: &Value| format!("gpasswd {option} {} {name}", quote_word(&user.to_string()));
            users.iter().map(one).collect::<Vec<String>>()
        };
        match key.as_ref() {
            "gid" => {
                let twice = if call.flag("non_unique", false) {
                    "-o "
                } else {
                    ""
                };
                commands.push(format!("groupmod {twice}-g {value} {name}"));
            }
            "addusers" => commands.extend(each("-a")),
            "delusers" => commands.extend(each("-d")),
            _ => commands.push(members_command(&desired.name, desired.members.as_deref())),
        }
    }
    commands.join(" && ")
}

fn members_command(name: &str, members: Option<&[String]>) -> String {
    let members = members.unwrap_or_default().join(",");
    format!("gpasswd -M {} {}", quote_word(&members), quote_word(name))
}

fn create_group(
    call: &StateCall<'_>,
    desired: DesiredGroup,
    groups: &Groups,
) -> Result<StateDecision, Halt> {
    let non_unique = call.flag("non_unique", false);
    if let Some(gid) = desired.gid.filter(|_| !non_unique)
        && let Some(other) = groups.by_gid(gid)
    {
        return failure(format!(
            "Group {} is not present but gid {gid} is already taken by group {}",
            desired.name, other.name
        ));
    }
    let mut text = String::from("groupadd");
    if let Some(gid) = desired.gid {
        text = format!("{text} -g {gid}");
    }
    if non_unique {
        text.push_str(" -o");
    }
    if call.flag("system", false) {
        text.push_str(" -r");
    }
    text = format!("{text} {}", quote_word(&desired.name));
    let members = desired.members.as_ref().filter(|it| !it.is_empty());
    let members = if desired.add.is_empty() {
        members
    } else {
        Some(&desired.add)
    };
    if let Some(members) = members {
        text = format!(
            "{text} && {}",
            members_command(&desired.name, Some(members))
        );
    }
    let comment = format!("Group {} set to be added", desired.name);
    let steps = vec![group_change(text)];
    act(
        StateOutcome::planned(comment),
        steps,
        move |complaint, facts| {
            let groups = Groups::probe(facts)?;
            Ok(evaluate_creation(
                &desired,
                groups.by_name(&desired.name),
                complaint,
            ))
        },
    )
}

fn evaluate_creation(
    desired: &DesiredGroup,
    group: Option<&Group>,
    complaint: Option<&str>,
) -> StateOutcome {
    let name = &desired.name;
    let why = complaint.unwrap_or_default();
    let Some(group) = group else {
        let text = format!("Failed to create new group {name}\n{why}");
        return StateOutcome::failed(text.trim_end().to_owned());
    };
    let remaining = desired.differences(group);
    if remaining.is_empty() && complaint.is_none() {
        return StateOutcome::changed(group.info(), format!("New group {name} created"));
    }
    let text = format!("Group {name} has been created but, some changes could not be applied");
    let outcome = StateOutcome::failed_with(single_change("Failed", remaining), text);
    with_warning(outcome, why)
}

/// Adds the error of a command, which Salt's comments do not have, as a warning.
fn with_warning(outcome: StateOutcome, why: &str) -> StateOutcome {
    let warnings = Some(why.trim_end()).filter(|why| !why.is_empty());
    StateOutcome {
        warnings: warnings.into_iter().map(str::to_owned).collect(),
        ..outcome
    }
}

fn absent(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    check_name(call.name)?;
    let groups = Groups::probe(facts)?;
    let name = call.name.to_owned();
    if groups.by_name(&name).is_none() {
        return unchanged("Group not present");
    }
    let predicted = StateOutcome::planned(format!("Group {name} is set for removal"));
    let steps = vec![group_change(format!("groupdel {}", quote_word(&name)))];
    let outcome = StateOutcome::changed(single_change(&name, ""), format!("Removed group {name}"));
    let complaint = format!("Failed to remove group {name}\n");
    act_or_fail(predicted, steps, outcome, complaint)
}
