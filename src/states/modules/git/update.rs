//! The update of an existing repository for `git.latest`.
//!
//! [`update_repository`] compares the repository with the remote, and plans fetch, checkout, merge or
//! reset. It refuses to lose local changes unless the state forces the update.

use std::collections::BTreeSet;

use super::bare::update_bare;
use super::desired::{
    DesiredRepository, ForceReset, Upstream, join_comments, repository_change, short_commit,
};
use super::repository::{
    LocalTarget, RemoteRefs, Repository, Revision, RevisionKind, git_command,
    update_submodules_command,
};
use crate::host::change::Change;
use crate::states::modules::decision::{
    act_on_outputs, done, old_new, single_change, text_list, unchanged,
};
use crate::states::{FactCache, Halt, StateDecision, StateOutcome};
use crate::text::{quote_word, with_login_redacted};
use crate::value::Map;

/// The exit code of the update script if the update is no fast-forward and may not be forced.
const EXIT_NO_FAST_FORWARD: i32 = 93;

/// The way from the current to the desired commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UpdateMethod {
    /// The desired commit is checked out.
    AlreadyThere,
    /// The desired commit is a descendant of the current one.
    FastForward,
    /// The branch is reset, which discards local commits and changes.
    Reset,
    /// Unknown before the fetch, because the desired commit is not local.
    Unknown,
}

/// The change of the remote's URL.
enum RemoteUrlChange {
    Unchanged,
    Add,
    /// The remote has this URL, which differs.
    Replace(String),
}

/// The planned update and the comments about it.
struct UpdatePlan {
    method: UpdateMethod,
    fetches: bool,
    url: RemoteUrlChange,
    new_tags: Vec<String>,
    old_tags: Vec<String>,
    upstream: Option<(String, String)>,
    /// The comments for a successful update.
    comments: Vec<String>,
}

/// A list of commands, and the comments for their success.
#[derive(Default)]
struct CommandScript {
    commands: Vec<String>,
    comments: Vec<String>,
}

/// Decides the update of an existing repository.
pub(super) fn update_repository(
    desired: DesiredRepository,
    revision: Option<Revision>,
    remote: &RemoteRefs,
    local: &Repository,
) -> Result<StateDecision, Halt> {
    let Some(revision) = revision else {
        return update_bare(desired, remote, local);
    };
    let is_there = local
        .commit
        .as_ref()
        .is_some_and(|commit| commit.starts_with(&revision.commit));
    if local.is_dirty && is_there && desired.force_reset != ForceReset::Always {
        return unchanged(format!(
            "Repository {} is up-to-date, but with uncommitted changes. Set 'force_reset' to True to purge uncommitted changes.",
            desired.target
        ));
    }
    let mut plan = match plan_update(&desired, &revision, remote, local) {
        Ok(plan) => plan,
        Err(outcome) => return done(*outcome),
    };
    let (steps, comments) = update_steps(&desired, &revision, local, &plan);
    plan.comments = comments;
    if steps.is_empty() {
        let comment = format!("Repository {} is up-to-date", desired.target);
        return unchanged(comment);
    }
    let predicted = dry_run_outcome(&desired, &revision, local, &plan);
    let refusal = desired.refusal_comment(local, &revision, remote);
    let before = local.clone();
    act_on_outputs(predicted, steps, move |ended, facts| {
        if ended.code() == Some(EXIT_NO_FAST_FORWARD) {
            return Ok(StateOutcome::failed(refusal.clone()));
        }
        if let Some(why) = &ended.error {
            return Ok(StateOutcome::failed(why.clone()));
        }
        evaluate_result(&desired, &revision, &before, &plan, facts)
    })
}

/// Whether the desired commit exists locally under the remote's name for it.
///
/// The error is the comment of the failed state: a tag has moved, and the update is not forced.
fn has_revision(
    desired: &DesiredRepository,
    revision: &Revision,
    local: &Repository,
) -> Result<bool, String> {
    if !local.has_desired_commit {
        return Ok(false);
    }
    Ok(match revision.kind {
        RevisionKind::Commit => true,
        RevisionKind::Branch => local.remote_branch_commit.as_ref() == Some(&revision.commit),
        RevisionKind::Tag => {
            let is_moved = local
                .tag_commit
                .as_ref()
                .is_some_and(|tag| *tag != revision.commit);
            if is_moved && desired.force_reset == ForceReset::Never {
                return Err(format!(
                    "'{}' is a tag, but the remote SHA1 for this tag ({}) doesn't match the local SHA1 ({}). Set 'force_reset' to True to force this update.",
                    desired.rev,
                    short_commit(&revision.commit),
                    short_commit(local.tag_commit.as_deref().unwrap_or_default())
                ));
            }
            local.tag_commit.as_ref() == Some(&revision.commit)
        }
    })
}

fn plan_update(
    desired: &DesiredRepository,
    revision: &Revision,
    remote: &RemoteRefs,
    local: &Repository,
) -> Result<UpdatePlan, Box<StateOutcome>> {
    let fail = |text: String| Err(Box::new(StateOutcome::failed(text)));
    let has_it = has_revision(desired, revision, local);
    let has_it = has_it.map_err(|why| Box::new(StateOutcome::failed(why)))?;
    let target_branch = desired.branch_to_check_out(local);
    let base = match target_branch {
        Some(branch) if !local.branches.contains(branch) => Some(&revision.commit),
        Some(_) => local.base.as_ref(),
        None => local.commit.as_ref(),
    };
    let is_at = base.is_some_and(|base| base.starts_with(&revision.commit));
    if !desired.updates_head && !is_at && target_branch.is_none() && has_it {
        let label = desired.revision_label(revision);
        return Err(Box::new(StateOutcome::unchanged(format!(
            "{label} is already present and local HEAD ({}) does not match, but update_head=False. HEAD has not been updated locally.",
            short_commit(local.commit.as_deref().unwrap_or_default())
        ))));
    }
    let method = update_method(desired, local, has_it, is_at, base.is_some());
    if method == UpdateMethod::Reset && desired.force_reset == ForceReset::Never {
        return fail(desired.refusal_comment(local, revision, remote));
    }
    if target_branch.is_some() && local.is_dirty && !desired.forces_checkout {
        return fail(format!(
            "Local branch '{}' has uncommitted changes. Set 'force_checkout' to True to discard them and proceed.",
            local.branch.as_deref().unwrap_or("None")
        ));
    }
    let theirs = if desired.fetches_tags && desired.depth.is_none() {
        remote.tags()
    } else {
        local.tags.clone()
    };
    let minus =
        |one: &BTreeSet<String>, other: &BTreeSet<String>| one.difference(other).cloned().collect();
    let new_tags: Vec<String> = minus(&theirs, &local.tags);
    Ok(UpdatePlan {
        method,
        fetches: !has_it || !new_tags.is_empty(),
        url: match &local.url {
            None => RemoteUrlChange::Add,
            Some(url) if *url == desired.url => RemoteUrlChange::Unchanged,
            Some(url) => RemoteUrlChange::Replace(url.clone()),
        },
        new_tags,
        old_tags: if desired.removes_tags {
            minus(&local.tags, &theirs)
        } else {
            Vec::new()
        },
        upstream: upstream_option(desired, revision, local),
        comments: Vec::new(),
    })
}

fn update_method(
    desired: &DesiredRepository,
    local: &Repository,
    has_it: bool,
    is_at: bool,
    has_base: bool,
) -> UpdateMethod {
    let throws_away = local.is_dirty && desired.force_reset != ForceReset::RemoteChanges;
    match () {
        () if throws_away => UpdateMethod::Reset,
        () if is_at => UpdateMethod::AlreadyThere,
        () if !has_base => UpdateMethod::FastForward,
        () if !has_it => UpdateMethod::Unknown,
        () if local.is_fast_forward => UpdateMethod::FastForward,
        () => UpdateMethod::Reset,
    }
}

/// Returns the option of `git branch` that sets or removes the upstream, and its comment.
fn upstream_option(
    desired: &DesiredRepository,
    revision: &Revision,
    local: &Repository,
) -> Option<(String, String)> {
    let branch = desired.branch.as_ref().or(local.branch.as_ref())?;
    let is_new = !local.branches.contains(branch);
    let is = local.upstream.as_ref().filter(|_| !is_new);
    match (desired.desired_upstream(Some(revision)), is) {
        // `git checkout -b` sets the upstream when it creates the branch.
        (Upstream::Branch(_), None) if is_new => None,
        (Upstream::Branch(revision), None) => Some((
            format!("--set-upstream-to={revision}"),
            format!("Tracking branch was set to {revision}"),
        )),
        (Upstream::Branch(revision), Some(is)) if *is != revision => Some((
            format!("--set-upstream-to={revision}"),
            format!("Tracking branch was updated to {revision}"),
        )),
        (Upstream::Unset, Some(_)) => Some((
            "--unset-upstream".to_owned(),
            "Tracking branch was unset".to_owned(),
        )),
        _ => None,
    }
}

/// Returns the command that fetches branches and, if desired, tags.
fn fetch_command(desired: &DesiredRepository) -> String {
    let heads = format!("refs/heads/*:refs/remotes/{}/*", desired.remote);
    let mut words = vec!["fetch", "-q"];
    if desired.forces_fetch {
        words.push("--force");
    }
    let depth = desired.depth.map(|depth| format!("--depth={depth}"));
    words.extend(depth.as_deref());
    words.push(&desired.remote);
    if desired.fetches_tags {
        words.extend([heads.as_str(), "+refs/tags/*:refs/tags/*"]);
    }
    git_command(&desired.target, words)
}

fn update_steps(
    desired: &DesiredRepository,
    revision: &Revision,
    local: &Repository,
    plan: &UpdatePlan,
) -> (Vec<Change>, Vec<String>) {
    let target = desired.target.as_str();
    let mut script = CommandScript::default();
    add_remote_command(desired, &plan.url, &mut script);
    let CommandScript { commands, comments } = &mut script;
    if !plan.old_tags.is_empty() {
        let tags = plan.old_tags.iter().map(String::as_str);
        commands.push(format!(
            "{} >/dev/null",
            git_command(target, ["tag", "-d"].into_iter().chain(tags))
        ));
        comments.push(format!(
            "The following tags were removed from the local checkout: {}",
            plan.old_tags.join(", ")
        ));
    }
    if plan.fetches {
        commands.push(fetch_command(desired));
        let url = with_login_redacted(&desired.url);
        comments.push(format!("{url} was fetched, resulting in updated refs"));
    }
    add_branch_commands(desired, revision, local, plan, &mut script);
    let CommandScript {
        mut commands,
        comments,
    } = script;
    if desired.has_submodules
        && (local.has_stale_submodules || plan.method != UpdateMethod::AlreadyThere)
    {
        commands.push(update_submodules_command(target));
    }
    let steps = commands
        .into_iter()
        .map(|text| repository_change(desired, text))
        .collect();
    (steps, comments)
}

/// Adds the command that sets the URL of the remote.
fn add_remote_command(
    desired: &DesiredRepository,
    change: &RemoteUrlChange,
    script: &mut CommandScript,
) {
    let CommandScript { commands, comments } = script;
    let target = desired.target.as_str();
    let url = with_login_redacted(&desired.url);
    match change {
        RemoteUrlChange::Unchanged => {}
        RemoteUrlChange::Add => {
            commands.push(git_command(
                target,
                ["remote", "add", &desired.remote, &desired.url],
            ));
            comments.push(format!("Remote '{}' set to {url}", desired.remote));
        }
        RemoteUrlChange::Replace(old) => {
            commands.push(git_command(
                target,
                ["remote", "set-url", &desired.remote, &desired.url],
            ));
            let old = with_login_redacted(old);
            comments.push(format!(
                "Remote '{}' changed from {old} to {url}",
                desired.remote
            ));
        }
    }
}

/// Returns the command that checks out another branch, and its comment.
fn checkout_command(
    desired: &DesiredRepository,
    revision: &Revision,
    local: &Repository,
    branch: &str,
) -> (String, String) {
    let mut words = vec!["checkout", "-q"];
    if desired.forces_checkout {
        words.push("-f");
    }
    let start = match desired.desired_upstream(Some(revision)) {
        Upstream::Branch(upstream) => upstream,
        _ if desired.rev == "HEAD" => revision.commit.clone(),
        _ => desired.rev.clone(),
    };
    let comment = if local.branches.contains(branch) {
        words.push(branch);
        format!("'{branch}' was checked out")
    } else {
        words.extend(["-b", branch, &start]);
        let label = desired.revision_label(revision);
        format!("New branch '{branch}' was checked out, with {label} as a starting point")
    };
    (git_command(&desired.target, words), comment)
}

/// Adds the commands that check out, merge or reset the branch.
fn add_branch_commands(
    desired: &DesiredRepository,
    revision: &Revision,
    local: &Repository,
    plan: &UpdatePlan,
    script: &mut CommandScript,
) {
    let CommandScript { commands, comments } = script;
    let target = desired.target.as_str();
    let label = desired.revision_label(revision);
    let keeps_head = !desired.updates_head && desired.branch_to_check_out(local).is_none();
    if let Some(branch) = desired.branch_to_check_out(local) {
        let (command, comment) = checkout_command(desired, revision, local, branch);
        commands.push(command);
        comments.push(comment);
    }
    let reset = git_command(target, ["reset", "-q", "--hard", &revision.commit]);
    let is_followed = revision.kind == RevisionKind::Branch || desired.rev == "HEAD";
    let forward = if is_followed && (local.branch.is_some() || desired.branch.is_some()) {
        git_command(target, ["merge", "-q", "--ff-only", &revision.commit])
    } else {
        reset.clone()
    };
    let discards = local.is_dirty && plan.method != UpdateMethod::AlreadyThere;
    if discards {
        comments.push("Uncommitted changes were discarded".to_owned());
        if plan.method != UpdateMethod::Reset {
            commands.push(git_command(target, ["reset", "-q", "--hard"]));
        }
    }
    match plan.method {
        UpdateMethod::AlreadyThere => {}
        _ if keeps_head => {}
        UpdateMethod::Reset => {
            commands.push(reset);
            comments.push(format!("Repository was hard-reset to {label}"));
        }
        UpdateMethod::FastForward => {
            commands.push(forward);
            comments.push(format!("Repository was fast-forwarded to {label}"));
        }
        UpdateMethod::Unknown => {
            let otherwise = if desired.force_reset == ForceReset::Never {
                format!("exit {EXIT_NO_FAST_FORWARD}")
            } else {
                reset
            };
            let commit = quote_word(&revision.commit);
            commands.push(format!(
                "if git -C {} merge-base --is-ancestor HEAD {commit}; then {forward}; else {otherwise}; fi",
                quote_word(target)
            ));
            comments.push(format!("Repository was fast-forwarded to {label}"));
        }
    }
    if let Some((option, comment)) = &plan.upstream {
        commands.push(git_command(target, ["branch", "-q", option]));
        comments.push(comment.clone());
    }
}

/// Returns the outcome of a dry run.
fn dry_run_outcome(
    desired: &DesiredRepository,
    revision: &Revision,
    local: &Repository,
    plan: &UpdatePlan,
) -> StateOutcome {
    let mut changes = Map::new();
    let mut actions = Vec::new();
    let url = with_login_redacted(&desired.url);
    let change = |old: &str| {
        let remote = &desired.remote;
        format!("Remote '{remote}' would be changed from {old} to {url}")
    };
    match &plan.url {
        RemoteUrlChange::Unchanged => {}
        RemoteUrlChange::Add => actions.push(change("None")),
        RemoteUrlChange::Replace(old) => actions.push(change(&with_login_redacted(old))),
    }
    if plan.fetches {
        actions.push(format!("Remote '{}' would be fetched", desired.remote));
    }
    let keeps_head = !desired.updates_head && desired.branch_to_check_out(local).is_none();
    let moves = local
        .commit
        .as_ref()
        .is_none_or(|it| !it.starts_with(&revision.commit));
    if moves && !keeps_head {
        let commit = local.commit.as_deref();
        changes.extend(single_change(
            "revision",
            old_new(commit, revision.commit.as_str()),
        ));
    }
    actions.extend(branch_action(desired, revision, local, plan));
    if plan.method == UpdateMethod::Reset {
        changes.extend(single_change("forced update", true));
    }
    if let Some((_, comment)) = &plan.upstream {
        actions.push(comment.replacen(" was ", " would be ", 1));
    }
    if changes.is_empty() {
        let actions = join_comments(&actions);
        let text = format!(
            "Repository {} is up-to-date\n\nChanges that would be made: {actions}",
            desired.target
        );
        return StateOutcome::unchanged(text);
    }
    StateOutcome::would_change(changes, join_comments(&actions))
}

/// Returns the dry-run comment about the branch; None if it stays where it is.
fn branch_action(
    desired: &DesiredRepository,
    revision: &Revision,
    local: &Repository,
    plan: &UpdatePlan,
) -> Option<String> {
    let new = short_commit(&revision.commit);
    let verb = match plan.method {
        UpdateMethod::FastForward => "fast-forwarded",
        UpdateMethod::Reset => "hard-reset",
        UpdateMethod::AlreadyThere | UpdateMethod::Unknown => "updated",
    };
    if let Some(branch) = desired.branch_to_check_out(local) {
        return Some(if local.branches.contains(branch) {
            format!("Branch '{branch}' would be checked out and {verb} to {new}")
        } else {
            let label = desired.revision_label(revision);
            format!("New branch '{branch}' would be checked out, with {label} as a starting point")
        });
    }
    if plan.method == UpdateMethod::AlreadyThere || !desired.updates_head {
        return None;
    }
    let old = short_commit(local.commit.as_deref().unwrap_or("None"));
    Some(format!("Repository would be {verb} from {old} to {new}"))
}

fn evaluate_result(
    desired: &DesiredRepository,
    revision: &Revision,
    before: &Repository,
    plan: &UpdatePlan,
    facts: &FactCache,
) -> Result<StateOutcome, Halt> {
    let local = desired
        .query(Some(revision))
        .probe(&desired.access, facts)?;
    let LocalTarget::Repository(after) = local else {
        return Ok(StateOutcome::failed("Failed to update repository"));
    };
    let mut changes = planned_changes(desired, plan);
    let target = &desired.target;
    let is_there = after
        .commit
        .as_ref()
        .is_some_and(|it| it.starts_with(&revision.commit));
    let keeps_head = !desired.updates_head && desired.branch_to_check_out(before).is_none();
    if !is_there && !keeps_head {
        return Ok(StateOutcome::failed_with(
            changes,
            format!(
                "Failed to update repository\n\nChanges already made: {}",
                join_comments(&plan.comments)
            ),
        ));
    }
    if before.commit == after.commit {
        let mut text = format!("Repository {target} is up-to-date");
        if !plan.comments.is_empty() {
            text = format!("{text}\n\nChanges made: {}", join_comments(&plan.comments));
        }
        return Ok(StateOutcome::changed(changes, text));
    }
    changes.extend(single_change(
        "revision",
        old_new(before.commit.clone(), after.commit),
    ));
    Ok(StateOutcome::changed(
        changes,
        join_comments(&plan.comments),
    ))
}

/// Returns the changes that follow from the plan alone: the remote's URL, tags and a forced update.
fn planned_changes(desired: &DesiredRepository, plan: &UpdatePlan) -> Map {
    let mut changes = Map::new();
    if matches!(plan.url, RemoteUrlChange::Add) {
        let url = with_login_redacted(&desired.url);
        changes.extend(single_change("new", format!("{url} => {}", desired.remote)));
    }
    for (key, tags) in [
        ("new_tags", &plan.new_tags),
        ("deleted_tags", &plan.old_tags),
    ] {
        if !tags.is_empty() {
            changes.extend(single_change(
                key,
                text_list(tags.iter().map(String::as_str)),
            ));
        }
    }
    if plan.method == UpdateMethod::Reset {
        changes.extend(single_change("forced update", true));
    }
    changes
}
