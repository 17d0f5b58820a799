//! The update of a bare repository for `git.latest`.

use super::desired::{DesiredRepository, repository_change};
use super::repository::{LocalTarget, RemoteRefs, Repository, git_command};
use crate::states::modules::decision::{
    act_on_outputs, failure, old_new, single_change, unchanged,
};
use crate::states::{Halt, StateDecision, StateOutcome};
use crate::value::Map;

/// Decides the update of a bare repository: it is fetched if a ref of the remote is missing or differs.
pub(super) fn update_bare(
    desired: DesiredRepository,
    remote: &RemoteRefs,
    local: &Repository,
) -> Result<StateDecision, Halt> {
    let target = desired.target.clone();
    if !desired.is_bare {
        if local.commit.is_some() {
            return failure(
                "Remote repository is empty, cannot update from a non-empty to an empty repository",
            );
        }
        return unchanged(format!("Repository {target} is up-to-date"));
    }
    if remote.is_mirrored_in(local, &desired.remote) {
        return unchanged(format!("Repository {target} is up-to-date"));
    }
    let mut words = vec!["fetch", "-q"];
    if desired.forces_fetch {
        words.push("--force");
    }
    words.push(&desired.remote);
    if !desired.is_mirror {
        words.extend(["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"]);
    }
    let steps = vec![repository_change(&desired, git_command(&target, words))];
    let predicted = StateOutcome::planned(format!("Bare repository at {target} would be fetched"));
    let before = local.clone();
    act_on_outputs(predicted, steps, move |ended, facts| {
        if let Some(why) = &ended.error {
            return Ok(StateOutcome::failed(format!(
                "Fetch failed. Set 'force_fetch' to True to force the fetch if the failure was due to not being able to fast-forward. Output of the fetch command follows:\n\n{why}"
            )));
        }
        let text = format!("Bare repository at {target} was fetched, resulting in updated refs");
        let local = desired.query(None).probe(&desired.access, facts)?;
        let mut changes = Map::new();
        if let LocalTarget::Repository(after) = local
            && after.commit != before.commit
        {
            changes = single_change("revision", old_new(before.commit.clone(), after.commit));
        }
        Ok(StateOutcome::changed(changes, text))
    })
}
