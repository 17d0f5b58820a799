//! Requisites `watch` of modules that have no function for watched changes: they count as `require` (S23).

use crate::states::{Chunk, Requisite, RequisiteLink, RunOrdering, find};

/// The modules of Salt with a function for watched changes that this program lacks.
const OTHER_WATCHING_MODULES: [&str; 3] = ["at", "etcd", "event"];

/// Returns true if the module has a function for watched changes.
fn watches(module: &str) -> bool {
    match find(module, "").0 {
        Some(module) => module.watch.is_some(),
        None => OTHER_WATCHING_MODULES.contains(&module),
    }
}

/// Returns the kind of a requisite in effect.
pub(super) fn effective_kind(chunk: &Chunk, kind: Requisite) -> Requisite {
    kind.effective(|| watches(&chunk.state))
}

/// Turns `watch` into `require` where the module cannot watch, as Salt 3008 does when it compiles. Such requisites
/// come after those that are written as `require`.
pub(super) fn require_what_cannot_be_watched(chunk: &mut Chunk, ordering: RunOrdering) {
    if ordering == RunOrdering::Classic || watches(&chunk.state) {
        return;
    }
    let links = std::mem::take(&mut chunk.links);
    let is_watch = |link: &RequisiteLink| effective_kind(chunk, link.kind) != link.kind;
    let (watched, mut kept): (Vec<_>, Vec<_>) = links.into_iter().partition(is_watch);
    let required = watched.into_iter().map(|link| RequisiteLink {
        kind: effective_kind(chunk, link.kind),
        ..link
    });
    kept.extend(required);
    chunk.links = kept;
}
