//! What has changed, as the views that `ui` shows.

use std::collections::HashMap;

use crate::diagnostic::Places;
use crate::job::{Comparison, Difference, Side};
use crate::ui::{ChangeView, PlanTask};

/// Adds to a task of a plan what has changed since its operation ran last.
pub(super) fn add(comparison: &Comparison, places: &Places<'_>, task: &mut PlanTask) {
    task.changes = changes(comparison, places);
    task.candidates.clone_from(&comparison.candidates);
    let told = |difference: &Difference| difference.old != Side::Unknown;
    if !comparison.differences.iter().any(told) {
        task.unknown.clone_from(&comparison.unknown);
    }
}

fn changes(comparison: &Comparison, places: &Places<'_>) -> Vec<ChangeView> {
    let all = &comparison.differences;
    let names: HashMap<&str, &str> = all
        .iter()
        .map(|difference| (difference.key.as_str(), difference.name.as_str()))
        .collect();
    let view = |difference: &Difference| ChangeView {
        kind: difference.kind,
        key: difference.key.clone(),
        name: difference.name.clone(),
        of: difference.of.clone(),
        old: difference.old.clone(),
        new: difference.new.clone(),
        secret: difference.secret,
        place: places.of(difference.place),
        follows: difference
            .follows
            .iter()
            .map(|key| (*names.get(key.as_str()).unwrap_or(&key.as_str())).to_owned())
            .collect(),
    };
    all.iter().map(view).collect()
}
