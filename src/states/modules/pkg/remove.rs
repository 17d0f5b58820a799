//! The states `pkg.removed`, `pkg.purged` and `pkg.uptodate`.
//!
//! Purging also removes configuration files. `uptodate` upgrades all installed packages.

use super::desired::{DesiredPackage, apt_change, apt_command, parse_desired, refresh_change};
use super::package_database::{InstalledPackages, available_upgrades};
use crate::states::modules::decision::{act, old_new, unchanged};
use crate::states::{FactCache, Halt, StateCall, StateDecision, StateOutcome};
use crate::value::{Map, Value};

/// Whether a removal keeps or deletes configuration files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RemovalMode {
    Remove,
    Purge,
}

impl RemovalMode {
    fn word(self) -> &'static str {
        match self {
            Self::Remove => "remove",
            Self::Purge => "purge",
        }
    }

    /// Returns the form of the verb for an action in progress.
    fn gerund(self) -> &'static str {
        match self {
            Self::Remove => "removing",
            Self::Purge => "purging",
        }
    }
}

/// Decides `pkg.removed`: removes packages but keeps their configuration files.
pub(super) fn removed(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    uninstall(call, facts, RemovalMode::Remove)
}

/// Decides `pkg.purged`: removes packages with their configuration files.
pub(super) fn purged(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    uninstall(call, facts, RemovalMode::Purge)
}

fn uninstall(
    call: &StateCall<'_>,
    facts: &FactCache,
    mode: RemovalMode,
) -> Result<StateDecision, Halt> {
    let all_desired = parse_desired(call)?;
    let before = InstalledPackages::probe(facts)?;
    let ignore_epoch = call.flag("ignore_epoch", false);
    let is_target = |desired: &DesiredPackage| {
        let is_there = before
            .version(&desired.name)
            .is_some_and(|version| desired.constraint.accepts(version, ignore_epoch));
        let is_remaining = mode == RemovalMode::Purge
            && before
                .config_only
                .contains(before.native_name(&desired.name));
        is_there || is_remaining
    };
    let mut targets: Vec<String> = all_desired
        .iter()
        .filter(|desired| is_target(desired))
        .map(|desired| before.native_name(&desired.name).to_owned())
        .collect();
    targets.sort();
    if targets.is_empty() {
        return unchanged(absence_comment(&all_desired, mode));
    }
    let word = mode.word();
    let removal = |name: &String| (name.as_str().into(), old_new("", format!("{word}d")));
    let changes: Map = targets.iter().map(removal).collect();
    let names = targets.join(", ");
    let predicted = StateOutcome::would_change(
        changes,
        format!("The following packages will be {word}d: {names}."),
    );
    let steps = vec![apt_change(apt_command(
        word,
        &[],
        targets.iter().map(String::as_str),
    ))];
    act(predicted, steps, move |complaint, facts| {
        let after = InstalledPackages::probe(facts)?;
        let changes = removal_changes(&before, &after, mode);
        if let Some(why) = complaint {
            let verb = mode.gerund();
            let text = format!("An error was encountered while {verb} package(s): {why}");
            return Ok(StateOutcome::failed_with(changes, text));
        }
        Ok(evaluate_result(
            &all_desired,
            &targets,
            &after,
            mode,
            changes,
        ))
    })
}

/// Returns the comment if none of the packages is installed.
fn absence_comment(all_desired: &[DesiredPackage], mode: RemovalMode) -> &'static str {
    let has_versions = all_desired.iter().any(|desired| desired.version.is_some());
    match mode {
        RemovalMode::Remove if has_versions => {
            "All specified packages (matching specified versions) are already absent"
        }
        RemovalMode::Remove => "All specified packages are already absent",
        RemovalMode::Purge => "None of the targeted packages are installed or partially installed",
    }
}

/// Returns the changes of a removal; purged configuration counts as a change.
fn removal_changes(
    before: &InstalledPackages,
    after: &InstalledPackages,
    mode: RemovalMode,
) -> Map {
    let removed = before.changes_to(after);
    if mode == RemovalMode::Remove {
        return removed;
    }
    let mut purged = Map::new();
    for name in before.config_only.difference(&after.config_only) {
        if !after.installed.contains_key(name) {
            purged.insert(name.as_str().into(), old_new("", ""));
        }
    }
    // Salt's form: packages that were installed, and packages of which only configuration was left.
    Map::from_iter([
        ("installed".into(), Value::from(removed)),
        ("removed".into(), Value::from(purged)),
    ])
}

fn evaluate_result(
    all_desired: &[DesiredPackage],
    targets: &[String],
    after: &InstalledPackages,
    mode: RemovalMode,
    changes: Map,
) -> StateOutcome {
    let word = mode.word();
    let is_remaining = |name: &&String| {
        after.version(name).is_some()
            || (mode == RemovalMode::Purge && after.config_only.contains(*name))
    };
    let failed: Vec<&str> = targets
        .iter()
        .filter(is_remaining)
        .map(String::as_str)
        .collect();
    if !failed.is_empty() {
        let text = format!(
            "The following packages failed to {word}: {}.",
            failed.join(", ")
        );
        return StateOutcome::failed_with(changes, text);
    }
    let mut absent: Vec<&str> = all_desired
        .iter()
        .map(|desired| after.native_name(&desired.name))
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
    StateOutcome::changed(changes, comment)
}

/// Decides `pkg.uptodate`: upgrades all packages, or those named in `pkgs`.
pub(super) fn uptodate(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let is_full = call.flag("dist_upgrade", false);
    let before = InstalledPackages::probe(facts)?;
    let only = match call.arg("pkgs") {
        Some(_) => Some(call.texts("pkgs")?),
        None => None,
    };
    let is_selected = |name: &String| only.as_ref().is_none_or(|only| only.contains(name));
    let upgrades: Vec<[String; 3]> = available_upgrades(facts, is_full)?
        .into_iter()
        .filter(|[name, ..]| is_selected(name))
        .collect();
    let refreshes = call.flag("refresh", false);
    if upgrades.is_empty() && !refreshes {
        return unchanged("System is already up-to-date");
    }
    let mut steps = Vec::new();
    if refreshes {
        steps.push(refresh_change(call)?);
    }
    let verb = if is_full { "dist-upgrade" } else { "upgrade" };
    let text = match &only {
        Some(only) => apt_command(
            "install",
            &["--only-upgrade"],
            only.iter().map(String::as_str),
        ),
        None => apt_command(verb, &[], []),
    };
    steps.push(apt_change(text));
    let expected: Map = upgrades
        .iter()
        .map(|[name, old, new]| (name.as_str().into(), old_new(old.as_str(), new.as_str())))
        .collect();
    let predicted = if upgrades.is_empty() {
        StateOutcome::unchanged("System is already up-to-date")
    } else {
        StateOutcome::would_change(expected, "System update will be performed")
    };
    act(predicted, steps, move |complaint, facts| {
        let changes = before.changes_to(&InstalledPackages::probe(facts)?);
        Ok(match complaint {
            Some(why) => StateOutcome::failed_with(
                changes,
                format!("An error was encountered while updating packages: {why}"),
            ),
            None if changes.is_empty() => StateOutcome::unchanged("System is already up-to-date"),
            None => StateOutcome::changed(changes, "Upgrade ran successfully"),
        })
    })
}
