//! Packages are removed, or purged with their configuration; everything is upgraded.

use super::desired::{Desired, all_desired, apt, apt_change, refresh};
use super::machine::{Packages, upgrades};
use crate::converge::module::command::{act, old_new, unchanged};
use crate::converge::{Call, Facts, Halt, Outcome, Verdict};
use crate::value::{Map, Value};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Remove,
    Purge,
}

impl Way {
    fn word(self) -> &'static str {
        match self {
            Self::Remove => "remove",
            Self::Purge => "purge",
        }
    }
}

/// Brings packages to be gone; their configuration stays.
pub(super) fn removed(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    uninstall(call, facts, Way::Remove)
}

/// Brings packages to be gone with their configuration.
pub(super) fn purged(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    uninstall(call, facts, Way::Purge)
}

fn uninstall(call: &Call<'_>, facts: &Facts, way: Way) -> Result<Verdict, Halt> {
    let all_desired = all_desired(call)?;
    let before = Packages::of(facts)?;
    let ignore_epoch = call.flag("ignore_epoch", false);
    let is_target = |desired: &Desired| {
        let is_there = before
            .version(&desired.name)
            .is_some_and(|version| desired.wanted.takes(version, ignore_epoch));
        let is_left = way == Way::Purge && before.removed.contains(before.normal(&desired.name));
        is_there || is_left
    };
    let mut targets: Vec<String> = all_desired
        .iter()
        .filter(|desired| is_target(desired))
        .map(|desired| before.normal(&desired.name).to_owned())
        .collect();
    targets.sort();
    if targets.is_empty() {
        let has_versions = all_desired.iter().any(|desired| desired.version.is_some());
        return unchanged(match way {
            Way::Remove if has_versions => {
                "All specified packages (matching specified versions) are already absent"
            }
            Way::Remove => "All specified packages are already absent",
            Way::Purge => "None of the targeted packages are installed or partially installed",
        });
    }
    let word = way.word();
    let gone = |name: &String| (name.as_str().into(), old_new("", format!("{word}d")));
    let changes: Map = targets.iter().map(gone).collect();
    let names = targets.join(", ");
    let predicted = Outcome::would(
        changes,
        format!("The following packages will be {word}d: {names}."),
    );
    let steps = vec![apt_change(apt(
        word,
        &[],
        targets.iter().map(String::as_str),
    ))];
    act(predicted, steps, move |complaint, facts| {
        let after = Packages::of(facts)?;
        let changes = changes_of(&before, &after, way);
        if let Some(why) = complaint {
            let verb = if way == Way::Purge {
                "purging"
            } else {
                "removing"
            };
            let text = format!("An error was encountered while {verb} package(s): {why}");
            return Ok(Outcome::failed_with(changes, text));
        }
        Ok(judge(&all_desired, &targets, &after, way, changes))
    })
}

/// Purged leftovers are changes too.
fn changes_of(before: &Packages, after: &Packages, way: Way) -> Map {
    let removed = before.changes_to(after);
    if way == Way::Remove {
        return removed;
    }
    let mut purged = Map::new();
    for name in before.removed.difference(&after.removed) {
        if !after.installed.contains_key(name) {
            purged.insert(name.as_str().into(), old_new("", ""));
        }
    }
    // Salt's shape: what was installed, and what had only left its configuration.
    Map::from_iter([
        ("installed".into(), Value::from(removed)),
        ("removed".into(), Value::from(purged)),
    ])
}

fn judge(
    all_desired: &[Desired],
    targets: &[String],
    after: &Packages,
    way: Way,
    changes: Map,
) -> Outcome {
    let word = way.word();
    let is_left = |name: &&String| {
        after.version(name).is_some() || (way == Way::Purge && after.removed.contains(*name))
    };
    let failed: Vec<&str> = targets.iter().filter(is_left).map(String::as_str).collect();
    if !failed.is_empty() {
        let text = format!(
            "The following packages failed to {word}: {}.",
            failed.join(", ")
        );
        return Outcome::failed_with(changes, text);
    }
    let mut absent: Vec<&str> = all_desired
        .iter()
        .map(|desired| after.normal(&desired.name))
        .filter(|name| targets.iter().all(|target| target != name))
        .collect();
    absent.sort_unstable();
    let comment = if absent.is_empty() {
        format!("All targeted packages were {word}d.")
    } else {
        format!(
            "The following packages were not installed: {} The following packages were {word}d: {}.",
            absent.join(", "),
            targets.join(", ")
        )
    };
    Outcome::changed(changes, comment)
}

/// Brings all packages, or those named, to their newest version.
pub(super) fn uptodate(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let is_full = call.flag("dist_upgrade", false);
    let before = Packages::of(facts)?;
    let only = match call.arg("pkgs") {
        Some(_) => Some(call.texts("pkgs")?),
        None => None,
    };
    let is_wanted = |name: &String| only.as_ref().is_none_or(|only| only.contains(name));
    let waiting: Vec<[String; 3]> = upgrades(facts, is_full)?
        .into_iter()
        .filter(|[name, ..]| is_wanted(name))
        .collect();
    let refreshes = call.flag("refresh", false);
    if waiting.is_empty() && !refreshes {
        return unchanged("System is already up-to-date");
    }
    let mut steps = Vec::new();
    if refreshes {
        steps.push(refresh(call)?);
    }
    let verb = if is_full { "dist-upgrade" } else { "upgrade" };
    let text = match &only {
        Some(only) => apt(
            "install",
            &["--only-upgrade"],
            only.iter().map(String::as_str),
        ),
        None => apt(verb, &[], []),
    };
    steps.push(apt_change(text));
    let expected: Map = waiting
        .iter()
        .map(|[name, old, new]| (name.as_str().into(), old_new(old.as_str(), new.as_str())))
        .collect();
    let predicted = if waiting.is_empty() {
        Outcome::same("System is already up-to-date")
    } else {
        Outcome::would(expected, "System update will be performed")
    };
    act(predicted, steps, move |complaint, facts| {
        let changes = before.changes_to(&Packages::of(facts)?);
        Ok(match complaint {
            Some(why) => Outcome::failed_with(
                changes,
                format!("An error was encountered while updating packages: {why}"),
            ),
            None if changes.is_empty() => Outcome::same("System is already up-to-date"),
            None => Outcome::changed(changes, "Upgrade ran successfully"),
        })
    })
}
