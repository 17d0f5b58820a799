//! A repository is cloned, and brought to the newest commit.

use super::desired::{Desired, Upstream, joined};
use super::repository::{Local, Remote, Revision, git, submodules};
use super::update;
use crate::converge::module::command::{act, done, failure, old_new, one};
use crate::converge::{Call, Facts, Halt, Mode, Outcome, Verdict};
use crate::text::{quoted, with_login_redacted};
use crate::value::{Map, Value};

/// Brings a repository to be there, at the newest commit.
pub(super) fn latest(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let desired = Desired::of(call)?;
    let remote = match Remote::of(&desired.access, facts, &desired.url)? {
        Ok(remote) => remote,
        // git itself may come with a package of the same run.
        Err(why) if call.mode == Mode::Test && why.contains("git: not found") => {
            return done(would_clone(&desired));
        }
        Err(why) => {
            return failure(format!("Failed to check remote refs: {why}"));
        }
    };
    let wanted = if desired.is_bare {
        None
    } else {
        remote.find(&desired.rev)
    };
    if wanted.is_none() && desired.rev != "HEAD" {
        return failure(format!(
            "No revision matching '{}' exists in the remote repository",
            desired.rev
        ));
    }
    let is_named = wanted
        .as_ref()
        .is_some_and(|it| it.kind != super::repository::Kind::Commit);
    if desired.depth.is_some() && !is_named {
        return failure(
            "When 'depth' is used, 'rev' must be set to the name of a branch or tag on the remote repository",
        );
    }
    let target = &desired.target;
    match desired
        .question(wanted.as_ref())
        .ask(&desired.access, facts)?
    {
        Local::File => failure(format!(
            "Target '{target}' exists and is a regular file, cannot proceed"
        )),
        Local::Other if !desired.forces_clone => failure(format!(
            "Target '{target}' exists, is non-empty and is not a git repository. Set the 'force_clone' option to True to remove this directory's contents and proceed with cloning the remote repository"
        )),
        Local::Other => clone(desired, wanted, &remote, true),
        Local::Nothing => clone(desired, wanted, &remote, false),
        Local::Repository(local) => update::update(desired, wanted, &remote, &local),
    }
}

fn would_clone(desired: &Desired) -> Outcome {
    let (url, target) = (with_login_redacted(&desired.url), &desired.target);
    Outcome::would(
        one("new", format!("{url} => {target}")),
        format!("Repository {url} would be cloned to {target}"),
    )
}

/// Empties a folder, but leaves the folder itself.
pub(super) fn emptied(target: &str) -> String {
    format!("find {} -mindepth 1 -delete", quoted(target))
}

fn clone(
    desired: Desired,
    wanted: Option<Revision>,
    remote: &Remote,
    is_forced: bool,
) -> Result<Verdict, Halt> {
    let (url, target) = (with_login_redacted(&desired.url), desired.target.clone());
    let mut predicted = would_clone(&desired);
    let mut steps = Vec::new();
    if is_forced {
        predicted.changes.insert("forced clone".into(), true.into());
        predicted.comment = format!(
            "Target directory {target} exists. Since force_clone=True, the contents of {target} would be deleted, and {url} would be cloned into this directory."
        );
        steps.push(desired.access.run(emptied(&target), &target));
    }
    let kind = match (desired.is_mirror, desired.is_bare) {
        (true, _) => " as mirror",
        (_, true) => " as bare repository",
        _ => "",
    };
    let mut comments = vec![format!("{url} cloned to {target}{kind}")];
    steps.push(desired.access.run(clone_command(&desired), &target));
    if let Some(wanted) = &wanted {
        let more = after_clone(&desired, wanted, remote, &mut comments);
        if !more.is_empty() {
            steps.push(desired.access.run(more.join(" && "), &target));
        }
    }
    act(predicted, steps, move |complaint, facts| {
        if let Some(why) = complaint {
            return Ok(Outcome::failed(format!("Clone failed: {why}")));
        }
        let local = desired
            .question(wanted.as_ref())
            .ask(&desired.access, facts)?;
        let mut changes = Map::new();
        if is_forced {
            changes.extend(one("forced clone", true));
        }
        changes.extend(one("new", format!("{url} => {target}")));
        if let Local::Repository(local) = local
            && let Some(commit) = local.commit
        {
            changes.extend(one("revision", old_new(Value::Null, commit)));
        }
        Ok(Outcome::changed(changes, joined(&comments)))
    })
}

fn clone_command(desired: &Desired) -> String {
    let mut text = String::from("git clone -q");
    if desired.is_mirror {
        text.push_str(" --mirror");
    } else if desired.is_bare {
        text.push_str(" --bare");
    }
    if desired.remote != "origin" {
        text = format!("{text} --origin {}", quoted(&desired.remote));
    }
    if let Some(depth) = desired.depth {
        text = format!("{text} --depth {depth} --branch {}", quoted(&desired.rev));
    }
    format!(
        "{text} -- {} {}",
        quoted(&desired.url),
        quoted(&desired.target)
    )
}

/// What brings a fresh clone to the wanted branch and commit.
fn after_clone(
    desired: &Desired,
    wanted: &Revision,
    remote: &Remote,
    comments: &mut Vec<String>,
) -> Vec<String> {
    let target = desired.target.as_str();
    let mut commands = Vec::new();
    let default = remote.default_branch();
    let place = desired.place(wanted);
    let upstream = desired.upstream(Some(wanted));
    let named = match &upstream {
        Upstream::Branch(branch) => Some(branch.clone()),
        Upstream::AsIs | Upstream::Nothing => None,
    };
    let mut head = remote.head().map(str::to_owned);
    let mut follows = default.map(|branch| format!("{}/{branch}", desired.remote));
    if desired.depth.is_some() {
        head = Some(wanted.commit.clone());
        follows.clone_from(&named);
    }
    if let Some(branch) = desired
        .branch
        .as_deref()
        .filter(|branch| Some(*branch) != default)
    {
        let start = match (&named, desired.rev.as_str()) {
            (_, "HEAD") => wanted.commit.clone(),
            (Some(upstream), _) => upstream.clone(),
            (None, rev) => rev.to_owned(),
        };
        commands.push(git(target, ["checkout", "-q", "-b", branch, &start]));
        comments.push(format!(
            "Branch '{branch}' checked out, with {place} as a starting point"
        ));
        head = Some(wanted.commit.clone());
        follows.clone_from(&named);
    }
    let is_there = head.is_some_and(|head| head.starts_with(&wanted.commit));
    if !is_there {
        commands.push(git(target, ["reset", "-q", "--hard", &wanted.commit]));
        comments.push(format!("Repository was reset to {place}"));
    }
    match upstream {
        Upstream::Branch(wanted) if follows.as_ref() != Some(&wanted) => {
            commands.push(git(target, ["branch", "-q", "--set-upstream-to", &wanted]));
            let word = if follows.is_some() { "updated" } else { "set" };
            comments.push(format!("Tracking branch was {word} to {wanted}"));
        }
        Upstream::Nothing if follows.is_some() => {
            commands.push(git(target, ["branch", "--unset-upstream"]));
            comments.push("Tracking branch was unset".to_owned());
        }
        _ => {}
    }
    if desired.has_submodules {
        commands.push(submodules(target));
    }
    commands
}
