//! The states `pkg.installed` and `pkg.latest`: install packages, or bring them to a version.
//!
//! Both compare dpkg's database and apt's candidates with the desired packages, run one apt
//! transaction, and compare again to judge the result. Package files (`sources`) are handled in
//! `source`.

use std::collections::BTreeSet;

use super::desired::{
    DesiredPackage, apt_change, apt_command, apt_options, install_error, parse_desired,
    refresh_change,
};
use super::hold;
use super::package_database::{Candidates, InstalledPackages};
use super::source;
use super::version::{VersionConstraint, compare};
use crate::host::change::Change;
use crate::states::modules::decision::{act, done, failure, old_new, unchanged};
use crate::states::{FactCache, Halt, StateCall, StateDecision, StateOutcome};
use crate::value::{Map, Value};

/// Decides `pkg.installed`: installs packages that are missing or at another version.
pub(super) fn installed(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    if matches!(call.arg("pkgs"), Some(Value::List(items)) if items.is_empty()) {
        return unchanged("No packages to install provided");
    }
    if call.arg("sources").is_some() {
        return source::installed(call, facts);
    }
    let all_desired = parse_desired(call)?;
    let before = InstalledPackages::probe(facts)?;
    let ignore_epoch = call.flag("ignore_epoch", false);
    let reinstall = call.flag("reinstall", false);
    let needs_candidate = |desired: &&DesiredPackage| {
        reinstall
            || desired.constraint == VersionConstraint::Latest
            || !desired.is_met(&before, ignore_epoch)
    };
    let queried: Vec<&DesiredPackage> = all_desired.iter().filter(needs_candidate).collect();
    let names = queried.iter().map(|desired| desired.name.as_str());
    let candidates = Candidates::probe(facts, names, call.text("fromrepo")?.as_deref())?;
    let is_target = |desired: &DesiredPackage| {
        reinstall
            || !desired.is_met(&before, ignore_epoch)
            || (desired.constraint == VersionConstraint::Latest
                && can_upgrade(desired, &before, &candidates))
    };
    let targets: Vec<DesiredPackage> = all_desired
        .iter()
        .filter(|desired| is_target(desired))
        .cloned()
        .collect();
    if targets.is_empty() {
        return already_installed(call, facts, &all_desired);
    }
    let mut steps = match needs_refresh(call, &targets, &candidates) {
        Ok(true) => vec![refresh_change(call)?],
        Ok(false) => Vec::new(),
        Err(outcome) => return done(*outcome),
    };
    steps.push(install_step(call, &targets, &before, &candidates)?);
    let holding = hold::desired_hold(call);
    if let Some(hold) = holding {
        let names = all_desired.iter().map(|desired| desired.name.as_str());
        steps.push(hold::hold_change(hold, names));
    }
    let plan = InstallPlan {
        all_desired,
        targets,
        before,
        ignore_epoch,
        holding,
        reinstall,
    };
    let predicted = dry_run_outcome(&plan, &candidates);
    act(predicted, steps, move |complaint, facts| {
        let after = InstalledPackages::probe(facts)?;
        Ok(evaluate_result(&plan, complaint, &after))
    })
}

/// Whether the package lists are updated first: on request, or if apt does not know a package.
///
/// The error is the failed outcome if the update is forbidden and a package is unknown.
fn needs_refresh(
    call: &StateCall<'_>,
    targets: &[DesiredPackage],
    candidates: &Candidates,
) -> Result<bool, Box<StateOutcome>> {
    let is_unknown = |desired: &&DesiredPackage| !candidates.contains(&desired.name);
    let unknown: BTreeSet<&str> = targets
        .iter()
        .filter(is_unknown)
        .map(|desired| desired.name.as_str())
        .collect();
    let refreshes = call.arg("refresh").map(Value::is_truthy);
    if unknown.is_empty() || refreshes != Some(false) {
        return Ok(refreshes == Some(true) || !unknown.is_empty());
    }
    let unknown: Vec<&str> = unknown.into_iter().collect();
    Err(Box::new(StateOutcome::failed(format!(
        "The following package(s) were not found, and no possible matches were found in the package db: {}",
        unknown.join(", ")
    ))))
}

/// The packages to install, and the reading from before the transaction.
struct InstallPlan {
    all_desired: Vec<DesiredPackage>,
    targets: Vec<DesiredPackage>,
    before: InstalledPackages,
    ignore_epoch: bool,
    holding: Option<bool>,
    reinstall: bool,
}

fn can_upgrade(
    desired: &DesiredPackage,
    before: &InstalledPackages,
    candidates: &Candidates,
) -> bool {
    let installed = before.version(&desired.name);
    let newest = candidates.newest(&desired.name);
    matches!((installed, newest), (Some(installed), Some(newest))
        if compare(newest, installed).is_gt())
}

/// Decides the case in which all packages are installed: at most their holds change.
fn already_installed(
    call: &StateCall<'_>,
    facts: &FactCache,
    all_desired: &[DesiredPackage],
) -> Result<StateDecision, Halt> {
    let has_versions = all_desired.iter().any(|desired| desired.version.is_some());
    let comment = format!(
        "All specified packages are already installed{}",
        if has_versions {
            " and are at the desired version"
        } else {
            ""
        }
    );
    match hold::desired_hold(call) {
        None => unchanged(comment),
        Some(hold) => {
            let names = all_desired.iter().map(|desired| desired.name.as_str());
            hold::hold_after_install(facts, names, hold, &comment)
        }
    }
}

fn install_step(
    call: &StateCall<'_>,
    targets: &[DesiredPackage],
    before: &InstalledPackages,
    candidates: &Candidates,
) -> Result<Change, Halt> {
    let (words, is_downgrade) = package_words(call, targets, before, candidates);
    let options = apt_options(call, is_downgrade)?;
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    Ok(apt_change(apt_command(
        "install",
        &options,
        words.iter().map(String::as_str),
    )))
}

/// Returns the words of packages with their versions for apt, and true if one of them is a downgrade.
pub(super) fn package_words(
    call: &StateCall<'_>,
    targets: &[DesiredPackage],
    before: &InstalledPackages,
    candidates: &Candidates,
) -> (Vec<String>, bool) {
    let ignore_epoch = call.flag("ignore_epoch", false);
    let mut words = Vec::new();
    let mut is_downgrade = false;
    for desired in targets {
        let best = candidates.best(&desired.name, |it| {
            desired.constraint.accepts(it, ignore_epoch)
        });
        let version = match &desired.constraint {
            VersionConstraint::Any | VersionConstraint::Latest => None,
            // If no version matches, apt gets the text as it is and reports the available versions.
            VersionConstraint::Exact(version) => Some(best.unwrap_or(version).to_owned()),
            VersionConstraint::All(_) => best.map(str::to_owned),
        };
        let installed = before.version(&desired.name);
        is_downgrade |=
            matches!((installed, &version), (Some(old), Some(new)) if compare(new, old).is_lt());
        words.push(match version {
            Some(version) => format!("{}={version}", desired.name),
            None => desired.name.clone(),
        });
    }
    (words, is_downgrade)
}

/// Returns the outcome of a dry run.
fn dry_run_outcome(plan: &InstallPlan, candidates: &Candidates) -> StateOutcome {
    let mut changes = Map::new();
    for desired in &plan.targets {
        let takes = |version: &str| desired.constraint.accepts(version, plan.ignore_epoch);
        let new = candidates.best(&desired.name, takes).unwrap_or("installed");
        changes.insert(desired.name.as_str().into(), old_new("", new));
    }
    let names: Vec<&str> = plan
        .targets
        .iter()
        .map(|desired| desired.name.as_str())
        .collect();
    let verb = if plan.reinstall {
        "reinstalled"
    } else {
        "installed/updated"
    };
    let comment = format!(
        "The following packages would be {verb}: {}",
        names.join(", ")
    );
    StateOutcome::would_change(changes, comment)
}

fn evaluate_result(
    plan: &InstallPlan,
    complaint: Option<&str>,
    after: &InstalledPackages,
) -> StateOutcome {
    let mut changes = plan.before.changes_to(after);
    if let Some(complaint) = complaint {
        return StateOutcome::failed_with(changes, install_error(complaint));
    }
    let is_met = |desired: &&DesiredPackage| desired.is_met(after, plan.ignore_epoch);
    let is_target = |desired: &DesiredPackage| {
        plan.targets
            .iter()
            .any(|target| target.name == desired.name)
    };
    let failed: Vec<String> = plan
        .targets
        .iter()
        .filter(|desired| !is_met(desired))
        .map(DesiredPackage::shown)
        .collect();
    let good: Vec<&DesiredPackage> = plan.all_desired.iter().filter(is_met).collect();
    let (modified, same): (Vec<&DesiredPackage>, Vec<&DesiredPackage>) =
        good.into_iter().partition(|desired| is_target(desired));
    let mut comments = Vec::new();
    if !failed.is_empty() {
        let failed = failed.join(", ");
        comments.push(format!(
            "The following packages failed to install/update: {failed}"
        ));
    }
    if plan.reinstall {
        comments.extend(
            modified
                .iter()
                .map(|desired| format!("Package {} was reinstalled.", desired.shown())),
        );
    } else if !modified.is_empty() {
        comments.push(installed_comment(&modified));
    }
    if let Some(hold) = plan.holding {
        hold::add_hold_changes(
            hold,
            &plan.before,
            &plan.all_desired,
            &mut changes,
            &mut comments,
        );
    }
    if !same.is_empty() {
        comments.push(same_comment(&same));
    }
    StateOutcome {
        result: Some(failed.is_empty()),
        ..StateOutcome::changed(changes, comments.join("\n"))
    }
}

/// Returns Salt's comment, which names a few packages but only counts many.
fn installed_comment(modified: &[&DesiredPackage]) -> String {
    let summary: Vec<String> = modified.iter().map(|desired| desired.shown()).collect();
    let summary = summary.join(", ");
    if summary.len() < 20 {
        return format!("The following packages were installed/updated: {summary}");
    }
    let (plural, were) = plural(modified.len());
    let count = modified.len();
    format!("{count} targeted package{plural} {were} installed/updated.")
}

fn same_comment(same: &[&DesiredPackage]) -> String {
    let count = same.len();
    if count <= 20 {
        let summary: Vec<String> = same.iter().map(|desired| desired.shown()).collect();
        let summary = summary.join(", ");
        return format!("The following packages were already installed: {summary}");
    }
    let (plural, were) = plural(count);
    format!("{count} targeted package{plural} {were} already installed")
}

fn plural(count: usize) -> (&'static str, &'static str) {
    if count > 1 {
        ("s", "were")
    } else {
        ("", "was")
    }
}

/// Decides `pkg.latest`: brings packages to apt's candidate version.
pub(super) fn latest(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    if matches!(call.arg("pkgs"), Some(Value::List(items)) if items.is_empty()) {
        return unchanged("No packages to install provided");
    }
    let all_desired = parse_desired(call)?;
    let before = InstalledPackages::probe(facts)?;
    let names = all_desired.iter().map(|desired| desired.name.as_str());
    let candidates = Candidates::probe(facts, names, call.text("fromrepo")?.as_deref())?;
    let mut targets = Vec::new();
    let mut unknown = Vec::new();
    for desired in &all_desired {
        let is_there = before.version(&desired.name).is_some();
        match candidates.newest(&desired.name) {
            Some(_) if !is_there => targets.push(desired.clone()),
            Some(_) if can_upgrade(desired, &before, &candidates) => targets.push(desired.clone()),
            None if !is_there && !before.provides(&desired.name) => unknown.push(desired.clone()),
            _ => {}
        }
    }
    let refreshes = call.arg("refresh").map(Value::is_truthy);
    if !unknown.is_empty() && refreshes == Some(false) {
        let problems: Vec<String> = unknown
            .iter()
            .map(|desired| format!("No information found for '{}'.", desired.name))
            .collect();
        return failure(problems.join(" "));
    }
    let first = refreshes == Some(true) || !unknown.is_empty();
    targets.extend(unknown);
    if targets.is_empty() && !first {
        return unchanged(up_to_date_comment(&all_desired));
    }
    upgrade(
        call,
        UpgradePlan {
            all_desired,
            targets,
            before,
        },
        first,
        &candidates,
    )
}

/// The packages of `pkg.latest`, and the reading from before the transaction.
struct UpgradePlan {
    all_desired: Vec<DesiredPackage>,
    targets: Vec<DesiredPackage>,
    before: InstalledPackages,
}

fn upgrade(
    call: &StateCall<'_>,
    plan: UpgradePlan,
    refresh_first: bool,
    candidates: &Candidates,
) -> Result<StateDecision, Halt> {
    let mut steps = Vec::new();
    if refresh_first {
        steps.push(refresh_change(call)?);
    }
    // The updated lists may offer newer versions of all desired packages.
    let words = if refresh_first {
        &plan.all_desired
    } else {
        &plan.targets
    };
    let options = apt_options(call, false)?;
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let words = words.iter().map(|desired| desired.name.as_str());
    steps.push(apt_change(apt_command("install", &options, words)));
    let predicted = if plan.targets.is_empty() {
        StateOutcome::unchanged(up_to_date_comment(&plan.all_desired))
    } else {
        dry_run_upgrade_outcome(&plan, candidates)
    };
    let newest: Vec<(String, Option<String>)> = plan
        .targets
        .iter()
        .map(|desired| {
            let newest = candidates.newest(&desired.name).map(str::to_owned);
            (desired.name.clone(), newest)
        })
        .collect();
    act(predicted, steps, move |complaint, facts| {
        let after = InstalledPackages::probe(facts)?;
        let changes = plan.before.changes_to(&after);
        if let Some(complaint) = complaint {
            let text = format!("An error was encountered while installing package(s): {complaint}");
            return Ok(StateOutcome::failed_with(changes, text));
        }
        Ok(evaluate_upgrade(&plan, &newest, changes, &after))
    })
}

fn evaluate_upgrade(
    plan: &UpgradePlan,
    newest: &[(String, Option<String>)],
    changes: Map,
    after: &InstalledPackages,
) -> StateOutcome {
    if changes.is_empty() && newest.is_empty() {
        return StateOutcome::unchanged(up_to_date_comment(&plan.all_desired));
    }
    let is_upgraded =
        |(name, version): &&(String, Option<String>)| match (after.version(name), version) {
            (Some(installed), Some(newest)) => !compare(installed, newest).is_lt(),
            (installed, None) => installed.is_some() || after.provides(name),
            (None, Some(_)) => false,
        };
    let (mut good, bad): (Vec<_>, Vec<_>) = newest.iter().partition(is_upgraded);
    good.sort();
    let join = |items: &[&(String, Option<String>)]| {
        let names: Vec<&str> = items.iter().map(|(name, _)| name.as_str()).collect();
        names.join(", ")
    };
    let mut comments = Vec::new();
    if !bad.is_empty() {
        comments.push(format!(
            "The following packages failed to update: {}",
            join(&bad)
        ));
    }
    if !good.is_empty() {
        comments.push(format!(
            "The following packages were successfully installed/upgraded: {}",
            join(&good)
        ));
    }
    let mut same: Vec<&str> = plan
        .all_desired
        .iter()
        .map(|desired| desired.name.as_str())
        .filter(|name| newest.iter().all(|(target, _)| target != name))
        .collect();
    same.sort_unstable();
    if !same.is_empty() {
        comments.push(format!(
            "The following packages were already up-to-date: {}",
            same.join(", ")
        ));
    }
    StateOutcome {
        result: Some(bad.is_empty()),
        ..StateOutcome::changed(changes, comments.join(" "))
    }
}

fn dry_run_upgrade_outcome(plan: &UpgradePlan, candidates: &Candidates) -> StateOutcome {
    let mut changes = Map::new();
    for desired in &plan.targets {
        let new = candidates.newest(&desired.name).unwrap_or("installed");
        let old = plan.before.version(&desired.name).unwrap_or_default();
        changes.insert(desired.name.as_str().into(), old_new(old, new));
    }
    let mut names: Vec<&str> = plan
        .targets
        .iter()
        .map(|desired| desired.name.as_str())
        .collect();
    names.sort_unstable();
    let mut comment = format!(
        "The following packages would be installed/upgraded: {}",
        names.join(", ")
    );
    let mut same: Vec<String> = plan
        .all_desired
        .iter()
        .filter(|desired| !names.contains(&desired.name.as_str()))
        .map(|desired| {
            let version = plan.before.version(&desired.name).unwrap_or_default();
            format!("{} ({version})", desired.name)
        })
        .collect();
    same.sort();
    if !same.is_empty() {
        let same = same.join(", ");
        comment = format!("{comment}\nThe following packages are already up-to-date: {same}");
    }
    StateOutcome::would_change(changes, comment)
}

fn up_to_date_comment(all_desired: &[DesiredPackage]) -> String {
    let mut names: Vec<&str> = all_desired
        .iter()
        .map(|desired| desired.name.as_str())
        .collect();
    names.sort_unstable();
    match names.as_slice() {
        [only] => format!("Package {only} is already up-to-date"),
        many if many.len() > 10 => format!("All {} packages are up-to-date.", many.len()),
        many => format!("All packages are up-to-date ({}).", many.join(", ")),
    }
}
