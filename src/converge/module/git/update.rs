//! A repository that is there is brought to the newest commit.

use std::collections::BTreeSet;

use super::desired::{Desired, Force, Upstream, joined, short, step};
use super::repository::{Kind, Local, Remote, Repository, Revision, git, submodules};
use crate::converge::module::command::{
    act_on_outputs, done, failure, old_new, one, texts, unchanged,
};
use crate::converge::{Facts, Halt, Outcome, Verdict};
use crate::host::change::Change;
use crate::text::{quoted, with_login_redacted};
use crate::value::Map;

/// The exit code of a script that finds that something would be lost.
const NO_FAST_FORWARD: i32 = 93;

/// How it gets to the wanted commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// It is there.
    Stay,
    /// The wanted commit comes after its own.
    Forward,
    /// What stands in the way is thrown away.
    Reset,
    /// It is not known before something is fetched.
    Unknown,
}

/// What becomes of the remote's address.
enum Url {
    Stays,
    New,
    /// It was this.
    Changes(String),
}

/// What is done, and what is said of it.
struct Plan {
    way: Way,
    fetches: bool,
    url: Url,
    new_tags: Vec<String>,
    old_tags: Vec<String>,
    upstream: Option<(String, String)>,
    /// What is said once the steps have run.
    comments: Vec<String>,
}

/// Commands, and what is said once they have run.
#[derive(Default)]
struct Script {
    commands: Vec<String>,
    comments: Vec<String>,
}

/// Brings it to the newest commit.
pub(super) fn update(
    desired: Desired,
    wanted: Option<Revision>,
    remote: &Remote,
    local: &Repository,
) -> Result<Verdict, Halt> {
    let Some(wanted) = wanted else {
        return update_bare(desired, remote, local);
    };
    let is_there = local
        .commit
        .as_ref()
        .is_some_and(|commit| commit.starts_with(&wanted.commit));
    if local.is_dirty && is_there && desired.force_reset != Force::Always {
        return unchanged(format!(
            "Repository {} is up-to-date, but with uncommitted changes. Set 'force_reset' to True to purge uncommitted changes.",
            desired.target
        ));
    }
    let mut plan = match plan(&desired, &wanted, remote, local) {
        Ok(plan) => plan,
        Err(outcome) => return done(*outcome),
    };
    let (steps, comments) = steps(&desired, &wanted, local, &plan);
    plan.comments = comments;
    if steps.is_empty() {
        let comment = format!("Repository {} is up-to-date", desired.target);
        return unchanged(comment);
    }
    let predicted = predicted(&desired, &wanted, local, &plan);
    let refusal = desired.no_fast_forward(local, &wanted, remote);
    let before = local.clone();
    act_on_outputs(predicted, steps, move |ended, facts| {
        if ended.code() == Some(NO_FAST_FORWARD) {
            return Ok(Outcome::failed(refusal.clone()));
        }
        if let Some(why) = &ended.complaint {
            return Ok(Outcome::failed(why.clone()));
        }
        judge(&desired, &wanted, &before, &plan, facts)
    })
}

/// Whether the wanted commit is there, under the name that it has on the other side; or why it
/// may not be put there.
fn has_wanted(desired: &Desired, wanted: &Revision, local: &Repository) -> Result<bool, String> {
    if !local.has_wanted {
        return Ok(false);
    }
    Ok(match wanted.kind {
        Kind::Commit => true,
        Kind::Branch => local.tracked.as_ref() == Some(&wanted.commit),
        Kind::Tag => {
            let is_moved = local.tag.as_ref().is_some_and(|tag| *tag != wanted.commit);
            if is_moved && desired.force_reset == Force::Never {
                return Err(format!(
                    "'{}' is a tag, but the remote SHA1 for this tag ({}) doesn't match the local SHA1 ({}). Set 'force_reset' to True to force this update.",
                    desired.rev,
                    short(&wanted.commit),
                    short(local.tag.as_deref().unwrap_or_default())
                ));
            }
            local.tag.as_ref() == Some(&wanted.commit)
        }
    })
}

fn plan(
    desired: &Desired,
    wanted: &Revision,
    remote: &Remote,
    local: &Repository,
) -> Result<Plan, Box<Outcome>> {
    let fail = |text: String| Err(Box::new(Outcome::failed(text)));
    let has_it = has_wanted(desired, wanted, local);
    let has_it = has_it.map_err(|why| Box::new(Outcome::failed(why)))?;
    let target_branch = desired.other_branch(local);
    let base = match target_branch {
        Some(branch) if !local.branches.contains(branch) => Some(&wanted.commit),
        Some(_) => local.base.as_ref(),
        None => local.commit.as_ref(),
    };
    let is_at = base.is_some_and(|base| base.starts_with(&wanted.commit));
    if !desired.updates_head && !is_at && target_branch.is_none() && has_it {
        let place = desired.place(wanted);
        return Err(Box::new(Outcome::same(format!(
            "{place} is already present and local HEAD ({}) does not match, but update_head=False. HEAD has not been updated locally.",
            short(local.commit.as_deref().unwrap_or_default())
        ))));
    }
    let way = way(desired, local, has_it, is_at, base.is_some());
    if way == Way::Reset && desired.force_reset == Force::Never {
        return fail(desired.no_fast_forward(local, wanted, remote));
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
    Ok(Plan {
        way,
        fetches: !has_it || !new_tags.is_empty(),
        url: match &local.url {
            None => Url::New,
            Some(url) if *url == desired.url => Url::Stays,
            Some(url) => Url::Changes(url.clone()),
        },
        new_tags,
        old_tags: if desired.removes_tags {
            minus(&local.tags, &theirs)
        } else {
            Vec::new()
        },
        upstream: upstream(desired, wanted, local),
        comments: Vec::new(),
    })
}

fn way(desired: &Desired, local: &Repository, has_it: bool, is_at: bool, has_base: bool) -> Way {
    let throws_away = local.is_dirty && desired.force_reset != Force::RemoteChanges;
    match () {
        () if throws_away => Way::Reset,
        () if is_at => Way::Stay,
        () if !has_base => Way::Forward,
        () if !has_it => Way::Unknown,
        () if local.is_ahead => Way::Forward,
        () => Way::Reset,
    }
}

/// What the branch is to follow, as a command's option, and the remark on it.
fn upstream(desired: &Desired, wanted: &Revision, local: &Repository) -> Option<(String, String)> {
    let branch = desired.branch.as_ref().or(local.branch.as_ref())?;
    let is_new = !local.branches.contains(branch);
    let is = local.upstream.as_ref().filter(|_| !is_new);
    match (desired.upstream(Some(wanted)), is) {
        // A branch that starts at another follows it.
        (Upstream::Branch(_), None) if is_new => None,
        (Upstream::Branch(wanted), None) => Some((
            format!("--set-upstream-to={wanted}"),
            format!("Tracking branch was set to {wanted}"),
        )),
        (Upstream::Branch(wanted), Some(is)) if *is != wanted => Some((
            format!("--set-upstream-to={wanted}"),
            format!("Tracking branch was updated to {wanted}"),
        )),
        (Upstream::Nothing, Some(_)) => Some((
            "--unset-upstream".to_owned(),
            "Tracking branch was unset".to_owned(),
        )),
        _ => None,
    }
}

/// Fetches branches, and tags if they are wanted.
fn fetch(desired: &Desired) -> String {
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
    git(&desired.target, words)
}

fn steps(
    desired: &Desired,
    wanted: &Revision,
    local: &Repository,
    plan: &Plan,
) -> (Vec<Change>, Vec<String>) {
    let target = desired.target.as_str();
    let mut script = Script::default();
    let Script { commands, comments } = &mut script;
    let url = with_login_redacted(&desired.url);
    match &plan.url {
        Url::Stays => {}
        Url::New => {
            commands.push(git(
                target,
                ["remote", "add", &desired.remote, &desired.url],
            ));
            comments.push(format!("Remote '{}' set to {url}", desired.remote));
        }
        Url::Changes(old) => {
            commands.push(git(
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
    if !plan.old_tags.is_empty() {
        let tags = plan.old_tags.iter().map(String::as_str);
        commands.push(format!(
            "{} >/dev/null",
            git(target, ["tag", "-d"].into_iter().chain(tags))
        ));
        comments.push(format!(
            "The following tags were removed from the local checkout: {}",
            plan.old_tags.join(", ")
        ));
    }
    if plan.fetches {
        commands.push(fetch(desired));
        comments.push(format!("{url} was fetched, resulting in updated refs"));
    }
    move_there(desired, wanted, local, plan, &mut script);
    let Script {
        mut commands,
        comments,
    } = script;
    if desired.has_submodules && (local.has_stale_modules || plan.way != Way::Stay) {
        commands.push(submodules(target));
    }
    let steps = commands
        .into_iter()
        .map(|text| step(desired, text))
        .collect();
    (steps, comments)
}

/// The command that checks another branch out, and the remark on it.
fn check_out(
    desired: &Desired,
    wanted: &Revision,
    local: &Repository,
    branch: &str,
) -> (String, String) {
    let mut words = vec!["checkout", "-q"];
    if desired.forces_checkout {
        words.push("-f");
    }
    let start = match desired.upstream(Some(wanted)) {
        Upstream::Branch(upstream) => upstream,
        _ if desired.rev == "HEAD" => wanted.commit.clone(),
        _ => desired.rev.clone(),
    };
    let comment = if local.branches.contains(branch) {
        words.push(branch);
        format!("'{branch}' was checked out")
    } else {
        words.extend(["-b", branch, &start]);
        let place = desired.place(wanted);
        format!("New branch '{branch}' was checked out, with {place} as a starting point")
    };
    (git(&desired.target, words), comment)
}

/// The commands that move the branch.
fn move_there(
    desired: &Desired,
    wanted: &Revision,
    local: &Repository,
    plan: &Plan,
    script: &mut Script,
) {
    let Script { commands, comments } = script;
    let target = desired.target.as_str();
    let place = desired.place(wanted);
    let is_kept = !desired.updates_head && desired.other_branch(local).is_none();
    if let Some(branch) = desired.other_branch(local) {
        let (command, comment) = check_out(desired, wanted, local, branch);
        commands.push(command);
        comments.push(comment);
    }
    let reset = git(target, ["reset", "-q", "--hard", &wanted.commit]);
    let is_followed = wanted.kind == Kind::Branch || desired.rev == "HEAD";
    let forward = if is_followed && (local.branch.is_some() || desired.branch.is_some()) {
        git(target, ["merge", "-q", "--ff-only", &wanted.commit])
    } else {
        reset.clone()
    };
    let discards = local.is_dirty && plan.way != Way::Stay;
    if discards {
        comments.push("Uncommitted changes were discarded".to_owned());
        if plan.way != Way::Reset {
            commands.push(git(target, ["reset", "-q", "--hard"]));
        }
    }
    match plan.way {
        Way::Stay => {}
        _ if is_kept => {}
        Way::Reset => {
            commands.push(reset);
            comments.push(format!("Repository was hard-reset to {place}"));
        }
        Way::Forward => {
            commands.push(forward);
            comments.push(format!("Repository was fast-forwarded to {place}"));
        }
        Way::Unknown => {
            let otherwise = if desired.force_reset == Force::Never {
                format!("exit {NO_FAST_FORWARD}")
            } else {
                reset
            };
            let commit = quoted(&wanted.commit);
            commands.push(format!(
                "if git -C {} merge-base --is-ancestor HEAD {commit}; then {forward}; else {otherwise}; fi",
                quoted(target)
            ));
            comments.push(format!("Repository was fast-forwarded to {place}"));
        }
    }
    if let Some((option, comment)) = &plan.upstream {
        commands.push(git(target, ["branch", "-q", option]));
        comments.push(comment.clone());
    }
}

/// What a dry run says.
fn predicted(desired: &Desired, wanted: &Revision, local: &Repository, plan: &Plan) -> Outcome {
    let mut changes = Map::new();
    let mut actions = Vec::new();
    let url = with_login_redacted(&desired.url);
    let change = |old: &str| {
        let remote = &desired.remote;
        format!("Remote '{remote}' would be changed from {old} to {url}")
    };
    match &plan.url {
        Url::Stays => {}
        Url::New => actions.push(change("None")),
        Url::Changes(old) => actions.push(change(&with_login_redacted(old))),
    }
    if plan.fetches {
        actions.push(format!("Remote '{}' would be fetched", desired.remote));
    }
    let (old, new) = (
        short(local.commit.as_deref().unwrap_or("None")),
        short(&wanted.commit),
    );
    let is_kept = !desired.updates_head && desired.other_branch(local).is_none();
    let moves = local
        .commit
        .as_ref()
        .is_none_or(|it| !it.starts_with(&wanted.commit));
    if moves && !is_kept {
        let commit = local.commit.as_deref();
        changes.extend(one("revision", old_new(commit, wanted.commit.as_str())));
    }
    let verb = match plan.way {
        Way::Forward => "fast-forwarded",
        Way::Reset => "hard-reset",
        Way::Stay | Way::Unknown => "updated",
    };
    if let Some(branch) = desired.other_branch(local) {
        actions.push(if local.branches.contains(branch) {
            format!("Branch '{branch}' would be checked out and {verb} to {new}")
        } else {
            let place = desired.place(wanted);
            format!("New branch '{branch}' would be checked out, with {place} as a starting point")
        });
    } else if plan.way != Way::Stay && !is_kept {
        actions.push(format!("Repository would be {verb} from {old} to {new}"));
    }
    if plan.way == Way::Reset {
        changes.extend(one("forced update", true));
    }
    if let Some((_, comment)) = &plan.upstream {
        actions.push(comment.replacen(" was ", " would be ", 1));
    }
    if changes.is_empty() {
        let actions = joined(&actions);
        let text = format!(
            "Repository {} is up-to-date\n\nChanges that would be made: {actions}",
            desired.target
        );
        return Outcome::same(text);
    }
    Outcome::would(changes, joined(&actions))
}

fn judge(
    desired: &Desired,
    wanted: &Revision,
    before: &Repository,
    plan: &Plan,
    facts: &Facts,
) -> Result<Outcome, Halt> {
    let local = desired.question(Some(wanted)).ask(&desired.access, facts)?;
    let Local::Repository(after) = local else {
        return Ok(Outcome::failed("Failed to update repository"));
    };
    let mut changes = Map::new();
    let target = &desired.target;
    if matches!(plan.url, Url::New) {
        let url = with_login_redacted(&desired.url);
        changes.extend(one("new", format!("{url} => {}", desired.remote)));
    }
    for (key, tags) in [
        ("new_tags", &plan.new_tags),
        ("deleted_tags", &plan.old_tags),
    ] {
        if !tags.is_empty() {
            changes.extend(one(key, texts(tags.iter().map(String::as_str))));
        }
    }
    if plan.way == Way::Reset {
        changes.extend(one("forced update", true));
    }
    let is_there = after
        .commit
        .as_ref()
        .is_some_and(|it| it.starts_with(&wanted.commit));
    let is_kept = !desired.updates_head && desired.other_branch(before).is_none();
    if !is_there && !is_kept {
        return Ok(Outcome::failed_with(
            changes,
            format!(
                "Failed to update repository\n\nChanges already made: {}",
                joined(&plan.comments)
            ),
        ));
    }
    if before.commit == after.commit {
        let mut text = format!("Repository {target} is up-to-date");
        if !plan.comments.is_empty() {
            text = format!("{text}\n\nChanges made: {}", joined(&plan.comments));
        }
        return Ok(Outcome::changed(changes, text));
    }
    changes.extend(one(
        "revision",
        old_new(before.commit.clone(), after.commit),
    ));
    Ok(Outcome::changed(changes, joined(&plan.comments)))
}

/// A bare repository is fetched if it lacks something.
fn update_bare(desired: Desired, remote: &Remote, local: &Repository) -> Result<Verdict, Halt> {
    let target = desired.target.clone();
    if !desired.is_bare {
        if local.commit.is_some() {
            return failure(
                "Remote repository is empty, cannot update from a non-empty to an empty repository",
            );
        }
        return unchanged(format!("Repository {target} is up-to-date"));
    }
    if remote.is_in(local, &desired.remote) {
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
    let steps = vec![step(&desired, git(&target, words))];
    let predicted = Outcome::planned(format!("Bare repository at {target} would be fetched"));
    let before = local.clone();
    act_on_outputs(predicted, steps, move |ended, facts| {
        if let Some(why) = &ended.complaint {
            return Ok(Outcome::failed(format!(
                "Fetch failed. Set 'force_fetch' to True to force the fetch if the failure was due to not being able to fast-forward. Output of the fetch command follows:\n\n{why}"
            )));
        }
        let text = format!("Bare repository at {target} was fetched, resulting in updated refs");
        let local = desired.question(None).ask(&desired.access, facts)?;
        let mut changes = Map::new();
        if let Local::Repository(after) = local
            && after.commit != before.commit
        {
            changes = one("revision", old_new(before.commit.clone(), after.commit));
        }
        Ok(Outcome::changed(changes, text))
    })
}
