//! Packages are installed, or brought to a version.

use std::collections::BTreeSet;

use super::hold;
use super::machine::{Candidates, Packages};
use super::source;
use super::version::{Wanted, compare};
use super::wish::{Wish, apt, apt_change, install_error, options, refresh, wishes};
use crate::converge::module::command::{act, done, failure, old_new, unchanged};
use crate::converge::{Call, Facts, Halt, Outcome, Verdict};
use crate::host::change::Change;
use crate::value::{Map, Value};

/// Brings packages to be installed.
pub(super) fn installed(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    if matches!(call.arg("pkgs"), Some(Value::List(items)) if items.is_empty()) {
        return unchanged("No packages to install provided");
    }
    if call.arg("sources").is_some() {
        return source::installed(call, facts);
    }
    let wishes = wishes(call)?;
    let before = Packages::of(facts)?;
    let ignore_epoch = call.flag("ignore_epoch", false);
    let reinstall = call.flag("reinstall", false);
    let needs_candidate = |wish: &&Wish| {
        reinstall || wish.wanted == Wanted::Latest || !wish.is_met(&before, ignore_epoch)
    };
    let asked: Vec<&Wish> = wishes.iter().filter(needs_candidate).collect();
    let names = asked.iter().map(|wish| wish.name.as_str());
    let candidates = Candidates::of(facts, names, call.text("fromrepo")?.as_deref())?;
    let is_target = |wish: &Wish| {
        reinstall
            || !wish.is_met(&before, ignore_epoch)
            || (wish.wanted == Wanted::Latest && can_rise(wish, &before, &candidates))
    };
    let targets: Vec<Wish> = wishes
        .iter()
        .filter(|wish| is_target(wish))
        .cloned()
        .collect();
    if targets.is_empty() {
        return already(call, facts, &wishes);
    }
    let mut steps = match unknown(call, &targets, &candidates) {
        Ok(true) => vec![refresh(call)?],
        Ok(false) => Vec::new(),
        Err(outcome) => return done(*outcome),
    };
    steps.push(install_step(call, &targets, &before, &candidates)?);
    let holding = hold::wished(call);
    if let Some(wanted) = holding {
        steps.push(hold::step(
            wanted,
            wishes.iter().map(|wish| wish.name.as_str()),
        ));
    }
    let plan = Plan {
        wishes,
        targets,
        before,
        ignore_epoch,
        holding,
        reinstall,
    };
    let predicted = predicted(&plan, &candidates);
    act(predicted, steps, move |complaint, facts| {
        Ok(judge(&plan, complaint, &Packages::of(facts)?))
    })
}

/// Whether the lists of packages are fetched first: if that is asked, or apt has not heard of a
/// package. If it is forbidden, the unknown ones cannot be.
fn unknown(
    call: &Call<'_>,
    targets: &[Wish],
    candidates: &Candidates,
) -> Result<bool, Box<Outcome>> {
    let is_unknown = |wish: &&Wish| !candidates.knows(&wish.name);
    let unknown: BTreeSet<&str> = targets
        .iter()
        .filter(is_unknown)
        .map(|wish| wish.name.as_str())
        .collect();
    let refreshes = call.arg("refresh").map(Value::is_truthy);
    if unknown.is_empty() || refreshes != Some(false) {
        return Ok(refreshes == Some(true) || !unknown.is_empty());
    }
    let unknown: Vec<&str> = unknown.into_iter().collect();
    Err(Box::new(Outcome::failed(format!(
        "The following package(s) were not found, and no possible matches were found in the package db: {}",
        unknown.join(", ")
    ))))
}

/// What is to be installed, and what was there before.
struct Plan {
    wishes: Vec<Wish>,
    targets: Vec<Wish>,
    before: Packages,
    ignore_epoch: bool,
    holding: Option<bool>,
    reinstall: bool,
}

fn can_rise(wish: &Wish, before: &Packages, candidates: &Candidates) -> bool {
    let installed = before.version(&wish.name);
    let newest = candidates.newest(&wish.name);
    matches!((installed, newest), (Some(installed), Some(newest))
        if compare(newest, installed).is_gt())
}

/// All is installed; at most holds change.
fn already(call: &Call<'_>, facts: &Facts, wishes: &[Wish]) -> Result<Verdict, Halt> {
    let has_versions = wishes.iter().any(|wish| wish.version.is_some());
    let comment = format!(
        "All specified packages are already installed{}",
        if has_versions {
            " and are at the desired version"
        } else {
            ""
        }
    );
    match hold::wished(call) {
        None => unchanged(comment),
        Some(wanted) => {
            let names = wishes.iter().map(|wish| wish.name.as_str());
            hold::after_install(facts, names, wanted, &comment)
        }
    }
}

fn install_step(
    call: &Call<'_>,
    targets: &[Wish],
    before: &Packages,
    candidates: &Candidates,
) -> Result<Change, Halt> {
    let ignore_epoch = call.flag("ignore_epoch", false);
    let mut words = Vec::new();
    let mut falls = false;
    for wish in targets {
        let best = candidates.best(&wish.name, |it| wish.wanted.takes(it, ignore_epoch));
        let version = match &wish.wanted {
            Wanted::Any | Wanted::Latest => None,
            // apt says which versions there are if there is none like this.
            Wanted::Exact(version) => Some(best.unwrap_or(version).to_owned()),
            Wanted::All(_) => best.map(str::to_owned),
        };
        let installed = before.version(&wish.name);
        falls |=
            matches!((installed, &version), (Some(old), Some(new)) if compare(new, old).is_lt());
        words.push(match version {
            Some(version) => format!("{}={version}", wish.name),
            None => wish.name.clone(),
        });
    }
    let options = options(call, falls)?;
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    Ok(apt_change(apt(
        "install",
        &options,
        words.iter().map(String::as_str),
    )))
}

/// What a dry run says.
fn predicted(plan: &Plan, candidates: &Candidates) -> Outcome {
    let mut changes = Map::new();
    for wish in &plan.targets {
        let takes = |version: &str| wish.wanted.takes(version, plan.ignore_epoch);
        let new = candidates.best(&wish.name, takes).unwrap_or("installed");
        changes.insert(wish.name.as_str().into(), old_new("", new));
    }
    let names: Vec<&str> = plan.targets.iter().map(|wish| wish.name.as_str()).collect();
    let verb = if plan.reinstall {
        "reinstalled"
    } else {
        "installed/updated"
    };
    let comment = format!(
        "The following packages would be {verb}: {}",
        names.join(", ")
    );
    Outcome::would(changes, comment)
}

fn judge(plan: &Plan, complaint: Option<&str>, after: &Packages) -> Outcome {
    let mut changes = plan.before.changes_to(after);
    if let Some(complaint) = complaint {
        return Outcome::failed_with(changes, install_error(complaint));
    }
    let is_met = |wish: &&Wish| wish.is_met(after, plan.ignore_epoch);
    let is_target = |wish: &Wish| plan.targets.iter().any(|target| target.name == wish.name);
    let failed: Vec<String> = plan
        .targets
        .iter()
        .filter(|wish| !is_met(wish))
        .map(Wish::shown)
        .collect();
    let good: Vec<&Wish> = plan.wishes.iter().filter(is_met).collect();
    let (modified, same): (Vec<&Wish>, Vec<&Wish>) =
        good.into_iter().partition(|wish| is_target(wish));
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
                .map(|wish| format!("Package {} was reinstalled.", wish.shown())),
        );
    } else if !modified.is_empty() {
        comments.push(installed_comment(&modified));
    }
    if let Some(wanted) = plan.holding {
        hold::add(
            wanted,
            &plan.before,
            &plan.wishes,
            &mut changes,
            &mut comments,
        );
    }
    if !same.is_empty() {
        comments.push(same_comment(&same));
    }
    Outcome {
        result: Some(failed.is_empty()),
        ..Outcome::changed(changes, comments.join("\n"))
    }
}

/// Few packages are named; many are counted.
fn installed_comment(modified: &[&Wish]) -> String {
    let summary: Vec<String> = modified.iter().map(|wish| wish.shown()).collect();
    let summary = summary.join(", ");
    if summary.len() < 20 {
        return format!("The following packages were installed/updated: {summary}");
    }
    let (plural, were) = plural(modified.len());
    let count = modified.len();
    format!("{count} targeted package{plural} {were} installed/updated.")
}

fn same_comment(same: &[&Wish]) -> String {
    let count = same.len();
    if count <= 20 {
        let summary: Vec<String> = same.iter().map(|wish| wish.shown()).collect();
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

/// Brings packages to their newest version.
pub(super) fn latest(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    if matches!(call.arg("pkgs"), Some(Value::List(items)) if items.is_empty()) {
        return unchanged("No packages to install provided");
    }
    let wishes = wishes(call)?;
    let before = Packages::of(facts)?;
    let names = wishes.iter().map(|wish| wish.name.as_str());
    let candidates = Candidates::of(facts, names, call.text("fromrepo")?.as_deref())?;
    let mut targets = Vec::new();
    let mut unknown = Vec::new();
    for wish in &wishes {
        let is_there = before.version(&wish.name).is_some();
        match candidates.newest(&wish.name) {
            Some(_) if !is_there => targets.push(wish.clone()),
            Some(_) if can_rise(wish, &before, &candidates) => targets.push(wish.clone()),
            None if !is_there && !before.provides(&wish.name) => unknown.push(wish.clone()),
            _ => {}
        }
    }
    let refreshes = call.arg("refresh").map(Value::is_truthy);
    if !unknown.is_empty() && refreshes == Some(false) {
        let problems: Vec<String> = unknown
            .iter()
            .map(|wish| format!("No information found for '{}'.", wish.name))
            .collect();
        return failure(problems.join(" "));
    }
    let first = refreshes == Some(true) || !unknown.is_empty();
    targets.extend(unknown);
    if targets.is_empty() && !first {
        return unchanged(up_to_date(&wishes));
    }
    rise(
        call,
        Latest {
            wishes,
            targets,
            before,
        },
        first,
        &candidates,
    )
}

struct Latest {
    wishes: Vec<Wish>,
    targets: Vec<Wish>,
    before: Packages,
}

fn rise(
    call: &Call<'_>,
    plan: Latest,
    refresh_first: bool,
    candidates: &Candidates,
) -> Result<Verdict, Halt> {
    let mut steps = Vec::new();
    if refresh_first {
        steps.push(refresh(call)?);
    }
    // Fresh lists may have newer versions of all of them.
    let words = if refresh_first {
        &plan.wishes
    } else {
        &plan.targets
    };
    let options = options(call, false)?;
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let words = words.iter().map(|wish| wish.name.as_str());
    steps.push(apt_change(apt("install", &options, words)));
    let predicted = if plan.targets.is_empty() {
        Outcome::same(up_to_date(&plan.wishes))
    } else {
        would_rise(&plan, candidates)
    };
    let newest: Vec<(String, Option<String>)> = plan
        .targets
        .iter()
        .map(|wish| {
            let newest = candidates.newest(&wish.name).map(str::to_owned);
            (wish.name.clone(), newest)
        })
        .collect();
    act(predicted, steps, move |complaint, facts| {
        let after = Packages::of(facts)?;
        let changes = plan.before.changes_to(&after);
        if let Some(complaint) = complaint {
            let text = format!("An error was encountered while installing package(s): {complaint}");
            return Ok(Outcome::failed_with(changes, text));
        }
        Ok(risen(&plan, &newest, changes, &after))
    })
}

fn risen(
    plan: &Latest,
    newest: &[(String, Option<String>)],
    changes: Map,
    after: &Packages,
) -> Outcome {
    if changes.is_empty() && newest.is_empty() {
        return Outcome::same(up_to_date(&plan.wishes));
    }
    let is_risen =
        |(name, version): &&(String, Option<String>)| match (after.version(name), version) {
            (Some(installed), Some(newest)) => !compare(installed, newest).is_lt(),
            (installed, None) => installed.is_some() || after.provides(name),
            (None, Some(_)) => false,
        };
    let (mut good, bad): (Vec<_>, Vec<_>) = newest.iter().partition(is_risen);
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
        .wishes
        .iter()
        .map(|wish| wish.name.as_str())
        .filter(|name| newest.iter().all(|(target, _)| target != name))
        .collect();
    same.sort_unstable();
    if !same.is_empty() {
        comments.push(format!(
            "The following packages were already up-to-date: {}",
            same.join(", ")
        ));
    }
    Outcome {
        result: Some(bad.is_empty()),
        ..Outcome::changed(changes, comments.join(" "))
    }
}

fn would_rise(plan: &Latest, candidates: &Candidates) -> Outcome {
    let mut changes = Map::new();
    for wish in &plan.targets {
        let new = candidates.newest(&wish.name).unwrap_or("installed");
        let old = plan.before.version(&wish.name).unwrap_or_default();
        changes.insert(wish.name.as_str().into(), old_new(old, new));
    }
    let mut names: Vec<&str> = plan.targets.iter().map(|wish| wish.name.as_str()).collect();
    names.sort_unstable();
    let mut comment = format!(
        "The following packages would be installed/upgraded: {}",
        names.join(", ")
    );
    let mut same: Vec<String> = plan
        .wishes
        .iter()
        .filter(|wish| !names.contains(&wish.name.as_str()))
        .map(|wish| {
            let version = plan.before.version(&wish.name).unwrap_or_default();
            format!("{} ({version})", wish.name)
        })
        .collect();
    same.sort();
    if !same.is_empty() {
        let same = same.join(", ");
        comment = format!("{comment}\nThe following packages are already up-to-date: {same}");
    }
    Outcome::would(changes, comment)
}

fn up_to_date(wishes: &[Wish]) -> String {
    let mut names: Vec<&str> = wishes.iter().map(|wish| wish.name.as_str()).collect();
    names.sort_unstable();
    match names.as_slice() {
        [only] => format!("Package {only} is already up-to-date"),
        many if many.len() > 10 => format!("All {} packages are up-to-date.", many.len()),
        many => format!("All packages are up-to-date ({}).", many.join(", ")),
    }
}
