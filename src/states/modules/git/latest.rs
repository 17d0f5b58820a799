//! The state `git.latest`: clones a repository, and updates it to the newest commit of a revision.
//!
//! [`latest`] reads the remote and the local repository, and clones; `update` handles an existing
//! repository.

use super::desired::{DesiredRepository, Upstream, join_comments};
use super::repository::{
    LocalTarget, RemoteRefs, Revision, git_command, update_submodules_command,
};
use super::update;
use crate::states::modules::decision::{act, done, failure, old_new, single_change};
use crate::states::{FactCache, Halt, Mode, StateCall, StateDecision, StateOutcome};
use crate::text::{quote_word, with_login_redacted};
use crate::value::{Map, Value};

/// Decides `git.latest`: clones or updates a repository.
pub(super) fn latest(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let desired = DesiredRepository::from_call(call)?;
    let remote = match RemoteRefs::probe(&desired.access, facts, &desired.url)? {
        Ok(remote) => remote,
        // An earlier state of the same run may install git.
        Err(why) if call.mode == Mode::Test && why.contains("git: not found") => {
            return done(clone_dry_run_outcome(&desired));
        }
        Err(why) => {
            return failure(format!("Failed to check remote refs: {why}"));
        }
    };
    let revision = if desired.is_bare {
        None
    } else {
        remote.find_revision(&desired.rev)
    };
    if revision.is_none() && desired.rev != "HEAD" {
        return failure(format!(
            "No revision matching '{}' exists in the remote repository",
            desired.rev
        ));
    }
    let is_named = revision
        .as_ref()
        .is_some_and(|it| it.kind != super::repository::RevisionKind::Commit);
    if desired.depth.is_some() && !is_named {
        return failure(
            "When 'depth' is used, 'rev' must be set to the name of a branch or tag on the remote repository",
        );
    }
    let target = &desired.target;
    match desired
        .query(revision.as_ref())
        .probe(&desired.access, facts)?
    {
        LocalTarget::File => failure(format!(
            "Target '{target}' exists and is a regular file, cannot proceed"
        )),
        LocalTarget::OtherFolder if !desired.forces_clone => failure(format!(
            "Target '{target}' exists, is non-empty and is not a git repository. Set the 'force_clone' option to True to remove this directory's contents and proceed with cloning the remote repository"
        )),
        LocalTarget::OtherFolder => clone_repository(desired, revision, &remote, true),
        LocalTarget::Empty => clone_repository(desired, revision, &remote, false),
        LocalTarget::Repository(local) => {
            update::update_repository(desired, revision, &remote, &local)
        }
    }
}

fn clone_dry_run_outcome(desired: &DesiredRepository) -> StateOutcome {
    let (url, target) = (with_login_redacted(&desired.url), &desired.target);
    StateOutcome::would_change(
        single_change("new", format!("{url} => {target}")),
        format!("Repository {url} would be cloned to {target}"),
    )
}

/// Returns the command that removes the content of a folder but keeps the folder.
pub(super) fn empty_folder_command(target: &str) -> String {
    format!("find {} -mindepth 1 -delete", quote_word(target))
}

fn clone_repository(
    desired: DesiredRepository,
    revision: Option<Revision>,
    remote: &RemoteRefs,
    is_forced: bool,
) -> Result<StateDecision, Halt> {
    let (url, target) = (with_login_redacted(&desired.url), desired.target.clone());
    let mut predicted = clone_dry_run_outcome(&desired);
    let mut steps = Vec::new();
    if is_forced {
        predicted.changes.insert("forced clone".into(), true.into());
        predicted.comment = format!(
            "Target directory {target} exists. Since force_clone=True, the contents of {target} would be deleted, and {url} would be cloned into this directory."
        );
        steps.push(
            desired
                .access
                .change(empty_folder_command(&target), &target),
        );
    }
    let kind = match (desired.is_mirror, desired.is_bare) {
        (true, _) => " as mirror",
        (_, true) => " as bare repository",
        _ => "",
    };
    let mut comments = vec![format!("{url} cloned to {target}{kind}")];
    steps.push(desired.access.change(clone_command(&desired), &target));
    if let Some(revision) = &revision {
        let more = after_clone_commands(&desired, revision, remote, &mut comments);
        if !more.is_empty() {
            steps.push(desired.access.change(more.join(" && "), &target));
        }
    }
    act(predicted, steps, move |complaint, facts| {
        if let Some(why) = complaint {
            return Ok(StateOutcome::failed(format!("Clone failed: {why}")));
        }
        let local = desired
            .query(revision.as_ref())
            .probe(&desired.access, facts)?;
        let mut changes = Map::new();
        if is_forced {
            changes.extend(single_change("forced clone", true));
        }
        changes.extend(single_change("new", format!("{url} => {target}")));
        if let LocalTarget::Repository(local) = local
            && let Some(commit) = local.commit
        {
            changes.extend(single_change("revision", old_new(Value::Null, commit)));
        }
        Ok(StateOutcome::changed(changes, join_comments(&comments)))
    })
}

fn clone_command(desired: &DesiredRepository) -> String {
    let mut text = String::from("git clone -q");
    if desired.is_mirror {
        text.push_str(" --mirror");
    } else if desired.is_bare {
        text.push_str(" --bare");
    }
    if desired.remote != "origin" {
        text = format!("{text} --origin {}", quote_word(&desired.remote));
    }
    if let Some(depth) = desired.depth {
        text = format!(
            "{text} --depth {depth} --branch {}",
            quote_word(&desired.rev)
        );
    }
    format!(
        "{text} -- {} {}",
        quote_word(&desired.url),
        quote_word(&desired.target)
    )
}

/// Returns the commands that bring a fresh clone to the desired branch and commit.
fn after_clone_commands(
    desired: &DesiredRepository,
    revision: &Revision,
    remote: &RemoteRefs,
    comments: &mut Vec<String>,
) -> Vec<String> {
    let target = desired.target.as_str();
    let mut commands = Vec::new();
    let default = remote.default_branch();
    let label = desired.revision_label(revision);
    let upstream = desired.desired_upstream(Some(revision));
    let named = match &upstream {
        Upstream::Branch(branch) => Some(branch.clone()),
        Upstream::Unchanged | Upstream::Unset => None,
    };
    let mut head = remote.head().map(str::to_owned);
    let mut follows = default.map(|branch| format!("{}/{branch}", desired.remote));
    if desired.depth.is_some() {
        head = Some(revision.commit.clone());
        follows.clone_from(&named);
    }
    if let Some(branch) = desired
        .branch
        .as_deref()
        .filter(|branch| Some(*branch) != default)
    {
        let start = match (&named, desired.rev.as_str()) {
            (_, "HEAD") => revision.commit.clone(),
            (Some(upstream), _) => upstream.clone(),
            (None, rev) => rev.to_owned(),
        };
        commands.push(git_command(
            target,
            ["checkout", "-q", "-b", branch, &start],
        ));
        comments.push(format!(
            "Branch '{branch}' checked out, with {label} as a starting point"
        ));
        head = Some(revision.commit.clone());
        follows.clone_from(&named);
    }
    let is_there = head.is_some_and(|head| head.starts_with(&revision.commit));
    if !is_there {
        commands.push(git_command(
            target,
            ["reset", "-q", "--hard", &revision.commit],
        ));
        comments.push(format!("Repository was reset to {label}"));
    }
    if let Some((command, comment)) = upstream_command(target, &upstream, follows.as_deref()) {
        commands.push(command);
        comments.push(comment);
    }
    if desired.has_submodules {
        commands.push(update_submodules_command(target));
    }
    commands
}

/// Returns the command that sets the upstream of a fresh clone's branch, and its comment.
///
/// None means that the branch has the desired upstream already.
fn upstream_command(
    target: &str,
    upstream: &Upstream,
    follows: Option<&str>,
) -> Option<(String, String)> {
    match upstream {
        Upstream::Branch(wanted) if follows != Some(wanted.as_str()) => {
            let words = ["branch", "-q", "--set-upstream-to", wanted.as_str()];
            let verb = if follows.is_some() { "updated" } else { "set" };
            Some((
                git_command(target, words),
                format!("Tracking branch was {verb} to {wanted}"),
            ))
        }
        Upstream::Unset if follows.is_some() => Some((
            git_command(target, ["branch", "--unset-upstream"]),
            "Tracking branch was unset".to_owned(),
        )),
        _ => None,
    }
}
