//! The states `pkg.held` and `pkg.unheld`, and the argument `hold` of installations.
//!
//! A held package keeps its version in upgrades (`apt-mark hold`).

use super::desired::{DesiredPackage, parse_desired};
use super::package_database::InstalledPackages;
use crate::host::change::Change;
use crate::host::fact::Domain;
use crate::states::modules::decision::{act_or_fail, old_new, run_change, unchanged};
use crate::states::{FactCache, Halt, StateCall, StateDecision, StateOutcome};
use crate::text::quote_words;
use crate::value::{Map, Value};

/// Returns whether the state holds (true) or unholds (false) its packages; None without the argument
/// `hold`.
pub(super) fn desired_hold(call: &StateCall<'_>) -> Option<bool> {
    call.arg("hold").map(Value::is_truthy)
}

/// Returns the change that holds or unholds packages.
pub(super) fn hold_change<'a>(hold: bool, names: impl IntoIterator<Item = &'a str>) -> Change {
    let word = if hold { "hold" } else { "unhold" };
    let text = format!("apt-mark {word} {}", quote_words(names));
    run_change(text, [Domain::Packages])
}

fn hold_value(hold: bool) -> Value {
    if hold {
        old_new("install", "hold")
    } else {
        old_new("hold", "install")
    }
}

fn hold_comment(name: &str, hold: bool, is_new: bool) -> String {
    match (hold, is_new) {
        (true, true) => format!("Package {name} is now being held."),
        (true, false) => format!("Package {name} is already set to be held."),
        (false, true) => format!("Package {name} is no longer being held."),
        (false, false) => format!("Package {name} is already set to be unheld."),
    }
}

/// Adds the effect of holding or unholding to the changes and comments of an installation.
pub(super) fn add_hold_changes(
    hold: bool,
    before: &InstalledPackages,
    all_desired: &[DesiredPackage],
    into: &mut Map,
    comments: &mut Vec<String>,
) {
    for desired in all_desired {
        let is_new = before.held.contains(before.native_name(&desired.name)) != hold;
        comments.push(hold_comment(&desired.name, hold, is_new));
        if !is_new {
            continue;
        }
        let (old, new) = if hold {
            ("install", "hold")
        } else {
            ("hold", "install")
        };
        let joined = match into.get(desired.name.as_str()) {
            None => hold_value(hold),
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

/// Decides the hold changes of a state that has nothing to install.
pub(super) fn hold_after_install<'a>(
    facts: &FactCache,
    names: impl IntoIterator<Item = &'a str>,
    hold: bool,
    installed: &str,
) -> Result<StateDecision, Halt> {
    let packages = InstalledPackages::probe(facts)?;
    let mut all = Map::new();
    let (mut text, mut planned) = (installed.to_owned(), installed.to_owned());
    let mut steps = Vec::new();
    for name in names {
        let is_new = packages.held.contains(packages.native_name(name)) != hold;
        let comment = hold_comment(name, hold, is_new);
        text = format!("{text}.\n{comment}");
        if is_new {
            let word = if hold { "held" } else { "unheld" };
            planned = format!("{planned}.\nPackage {name} is set to be {word}.");
        } else {
            planned = format!("{planned}.\n{comment}");
        }
        if is_new {
            all.insert(name.into(), hold_value(hold));
            steps.push(name.to_owned());
        }
    }
    if steps.is_empty() {
        return unchanged(text);
    }
    let steps = vec![hold_change(hold, steps.iter().map(String::as_str))];
    let predicted = StateOutcome::planned(planned);
    let outcome = StateOutcome::changed(all, text);
    let complaint = "An error was encountered while holding/unholding package(s): ";
    act_or_fail(predicted, steps, outcome, complaint)
}

/// Decides `pkg.held`. With `replace`, all other packages are unheld.
pub(super) fn held(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let all_desired = parse_desired(call)?;
    let packages = InstalledPackages::probe(facts)?;
    let is_held = |name: &str| packages.held.contains(packages.native_name(name));
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
                    .all(|desired| packages.native_name(&desired.name) != *name)
            })
            .collect()
    } else {
        Vec::new()
    };
    hold_decision(&to_hold, &to_free)
}

/// Decides `pkg.unheld`. With `all`, every held package is unheld.
pub(super) fn unheld(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let packages = InstalledPackages::probe(facts)?;
    let all = call.flag("all", false);
    let all_desired = if all {
        Vec::new()
    } else {
        parse_desired(call)?
    };
    let is_named = |name: &str| {
        all_desired
            .iter()
            .any(|desired| packages.native_name(&desired.name) == name)
    };
    let held = packages.held.iter().map(String::as_str);
    let to_free: Vec<&str> = held.filter(|name| all || is_named(name)).collect();
    hold_decision(&[], &to_free)
}

fn hold_decision(to_hold: &[&str], to_free: &[&str]) -> Result<StateDecision, Halt> {
    if to_hold.is_empty() && to_free.is_empty() {
        return unchanged("No changes made");
    }
    let mut steps = Vec::new();
    let mut would = Vec::new();
    let mut was = Vec::new();
    let mut all = Map::new();
    for (hold, names) in [(true, to_hold), (false, to_free)] {
        if names.is_empty() {
            continue;
        }
        steps.push(hold_change(hold, names.iter().copied()));
        for name in names {
            let word = if hold { "held" } else { "unheld" };
            would.push(format!("The following package would be {word}: {name}"));
            was.push(if hold {
                format!("Package {name} is now being held")
            } else {
                hold_comment(name, false, true)
            });
            let entry = Value::map([
                ("name", Value::from(*name)),
                ("changes", hold_value(hold)),
                ("result", true.into()),
                ("comment", hold_comment(name, hold, true).into()),
            ]);
            all.insert((*name).into(), entry);
        }
    }
    let predicted = StateOutcome::planned(would.join("\n"));
    let outcome = StateOutcome::changed(all, was.join("\n"));
    let complaint = "An error was encountered while holding/unholding package(s): ";
    act_or_fail(predicted, steps, outcome, complaint)
}
