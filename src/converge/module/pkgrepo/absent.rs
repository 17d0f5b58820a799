//! A repository is removed.

use super::desired::Desired;
use super::files::{files, write};
use crate::converge::module::command::{act_or_fail, one, run, unchanged};
use crate::converge::module::step;
use crate::converge::{Call, Facts, Halt, Outcome, Verdict};
use crate::host::fact::Domain;

/// Removes a repository.
pub(super) fn absent(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let name = call.name;
    let desired = Desired::of(call)?;
    let files = files(facts)?;
    let mut steps = Vec::new();
    for file in &files {
        let mut left = file.clone();
        let places: Vec<usize> = file
            .entries()
            .filter(|(_, entry)| !entry.is_disabled && entry.is_place_of(&desired.entry))
            .map(|(place, _)| place)
            .collect();
        for place in places.iter().rev() {
            left.remove(*place);
        }
        if places.is_empty() {
            continue;
        }
        let is_own = file.path.starts_with("/etc/apt/sources.list.d/");
        steps.push(if left.text().trim().is_empty() && is_own {
            step::remove(&file.path)
        } else {
            write(&file.path, left.text())
        });
    }
    if steps.is_empty() {
        return unchanged(format!("Package repo {name} is absent"));
    }
    let lists = Domain::Path("/var/lib/apt".to_owned());
    steps.push(run("true", [Domain::Packages, lists]));
    let predicted = Outcome::planned(format!(
        "Package repo '{name}' will be removed. This may cause pkg states to behave differently than stated if this action is repeated without test=True, due to the differences in the configured repositories."
    ));
    let name = name.to_owned();
    let outcome = Outcome::changed(one("repo", name.as_str()), format!("Removed repo {name}"));
    let complaint = format!("Failed to remove repo {name}: ");
    act_or_fail(predicted, steps, outcome, complaint)
}
