//! Packages are held at their version, or no longer.

use super::desired::{Desired, all_desired};
use super::machine::Packages;
use crate::converge::module::command::{act_or_fail, old_new, run, unchanged};
use crate::converge::{Call, Facts, Halt, Outcome, Verdict};
use crate::host::change::Change;
use crate::host::fact::Domain;
use crate::text::quoted_all;
use crate::value::{Map, Value};

/// Whether `hold` is asked for, or its end.
pub(super) fn desired(call: &Call<'_>) -> Option<bool> {
    call.arg("hold").map(Value::is_truthy)
}

/// Holds packages, or ends that.
pub(super) fn step<'a>(wanted: bool, names: impl IntoIterator<Item = &'a str>) -> Change {
    let word = if wanted { "hold" } else { "unhold" };
    let text = format!("apt-mark {word} {}", quoted_all(names));
    run(text, [Domain::Packages])
}

fn changes(wanted: bool) -> Value {
    if wanted {
        old_new("install", "hold")
    } else {
        old_new("hold", "install")
    }
}

fn comment(name: &str, wanted: bool, is_new: bool) -> String {
    match (wanted, is_new) {
        (true, true) => format!("Package {name} is now being held."),
        (true, false) => format!("Package {name} is already set to be held."),
        (false, true) => format!("Package {name} is no longer being held."),
        (false, false) => format!("Package {name} is already set to be unheld."),
    }
}

/// Adds to the result of an installation what became of holding.
pub(super) fn add(
    wanted: bool,
    before: &Packages,
    all_desired: &[Desired],
    into: &mut Map,
    comments: &mut Vec<String>,
) {
    for desired in all_desired {
        let is_new = before.held.contains(before.normal(&desired.name)) != wanted;
        comments.push(comment(&desired.name, wanted, is_new));
        if !is_new {
            continue;
        }
        let (old, new) = if wanted {
            ("install", "hold")
        } else {
            ("hold", "install")
        };
        let joined = match into.get(desired.name.as_str()) {
            None => changes(wanted),
            Some(change) => {
                let join = |key: &str, word: &str| {
                    let text = change.get(key).map(ToString::to_string).unwrap_or_default();
                    format!("{text}\n{word}").trim_start().to_owned()
                };
                old_new(join("old", old), join("new", new))
            }
        };
        into.insert(desired.name.as_str().into(), joined);
    }
}

/// Changes holds where nothing had to be installed.
pub(super) fn after_install<'a>(
    facts: &Facts,
    names: impl IntoIterator<Item = &'a str>,
    wanted: bool,
    installed: &str,
) -> Result<Verdict, Halt> {
    let packages = Packages::of(facts)?;
    let mut all = Map::new();
    let mut text = installed.to_owned();
    let mut steps = Vec::new();
    for name in names {
        let is_new = packages.held.contains(packages.normal(name)) != wanted;
        text = format!("{text}.\n{}", comment(name, wanted, is_new));
        if is_new {
            all.insert(name.into(), changes(wanted));
            steps.push(name.to_owned());
        }
    }
    if steps.is_empty() {
        return unchanged(text);
    }
    let steps = vec![step(wanted, steps.iter().map(String::as_str))];
    let predicted = Outcome::would(all.clone(), text.clone());
    let outcome = Outcome::changed(all, text);
    let complaint = "An error was encountered while holding/unholding package(s): ";
    act_or_fail(predicted, steps, outcome, complaint)
}

/// Brings packages to be held.
pub(super) fn held(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let all_desired = all_desired(call)?;
    let packages = Packages::of(facts)?;
    let is_held = |name: &str| packages.held.contains(packages.normal(name));
    let to_hold: Vec<&str> = all_desired
        .iter()
        .map(|desired| desired.name.as_str())
        .filter(|name| !is_held(name))
        .collect();
    let to_free: Vec<&str> = if call.flag("replace", false) {
        let others = packages.held.iter().map(String::as_str);
        others
            .filter(|name| {
                all_desired
                    .iter()
                    .all(|desired| packages.normal(&desired.name) != *name)
            })
            .collect()
    } else {
        Vec::new()
    };
    verdict(&to_hold, &to_free)
}

/// Brings packages to be held no longer.
pub(super) fn unheld(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let packages = Packages::of(facts)?;
    let all = call.flag("all", false);
    let all_desired = if all { Vec::new() } else { all_desired(call)? };
    let is_named = |name: &str| {
        all_desired
            .iter()
            .any(|desired| packages.normal(&desired.name) == name)
    };
    let held = packages.held.iter().map(String::as_str);
    let to_free: Vec<&str> = held.filter(|name| all || is_named(name)).collect();
    verdict(&[], &to_free)
}

fn verdict(to_hold: &[&str], to_free: &[&str]) -> Result<Verdict, Halt> {
    if to_hold.is_empty() && to_free.is_empty() {
        return unchanged("No changes made");
    }
    let mut steps = Vec::new();
    let mut would = Vec::new();
    let mut was = Vec::new();
    let mut all = Map::new();
    for (wanted, names) in [(true, to_hold), (false, to_free)] {
        if names.is_empty() {
            continue;
        }
        steps.push(step(wanted, names.iter().copied()));
        for name in names {
            let word = if wanted { "held" } else { "unheld" };
            would.push(format!("The following package would be {word}: {name}"));
            was.push(if wanted {
                format!("Package {name} is now being held")
            } else {
                comment(name, false, true)
            });
            let entry = Value::map([
                ("name", Value::from(*name)),
                ("changes", changes(wanted)),
                ("result", true.into()),
                ("comment", comment(name, wanted, true).into()),
            ]);
            all.insert((*name).into(), entry);
        }
    }
    let predicted = Outcome::planned(would.join("\n"));
    let outcome = Outcome::changed(all, was.join("\n"));
    let complaint = "An error was encountered while holding/unholding package(s): ";
    act_or_fail(predicted, steps, outcome, complaint)
}
