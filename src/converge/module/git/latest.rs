//! A repository is cloned, and brought to the newest commit.

use super::repository::{Local, Remote, Revision, git, submodules};
use super::update;
use super::wish::{Upstream, Wish, joined};
use crate::converge::module::command::{act, done, failure, old_new, one};
use crate::converge::{Call, Facts, Halt, Mode, Outcome, Verdict};
use crate::text::{quoted, with_login_redacted};
use crate::value::{Map, Value};

/// Brings a repository to be there, at the newest commit.
pub(super) fn latest(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let wish = Wish::of(call)?;
    let remote = match Remote::of(&wish.access, facts, &wish.url)? {
        Ok(remote) => remote,
        // git itself may come with a package of the same run.
        Err(why) if call.mode == Mode::Test && why.contains("git: not found") => {
            return done(would_clone(&wish));
        }
        Err(why) => {
            return failure(format!("Failed to check remote refs: {why}"));
        }
    };
    let wanted = if wish.is_bare {
        None
    } else {
        remote.find(&wish.rev)
    };
    if wanted.is_none() && wish.rev != "HEAD" {
        return failure(format!(
            "No revision matching '{}' exists in the remote repository",
            wish.rev
        ));
    }
    let is_named = wanted
        .as_ref()
        .is_some_and(|it| it.kind != super::repository::Kind::Commit);
    if wish.depth.is_some() && !is_named {
        return failure(
            "When 'depth' is used, 'rev' must be set to the name of a branch or tag on the remote repository",
        );
    }
    let target = &wish.target;
    match wish.question(wanted.as_ref()).ask(&wish.access, facts)? {
        Local::File => failure(format!(
            "Target '{target}' exists and is a regular file, cannot proceed"
        )),
        Local::Other if !wish.forces_clone => failure(format!(
            "Target '{target}' exists, is non-empty and is not a git repository. Set the 'force_clone' option to True to remove this directory's contents and proceed with cloning the remote repository"
        )),
        Local::Other => clone(wish, wanted, &remote, true),
        Local::Nothing => clone(wish, wanted, &remote, false),
        Local::Repository(local) => update::update(wish, wanted, &remote, &local),
    }
}

fn would_clone(wish: &Wish) -> Outcome {
    let (url, target) = (with_login_redacted(&wish.url), &wish.target);
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
    wish: Wish,
    wanted: Option<Revision>,
    remote: &Remote,
    is_forced: bool,
) -> Result<Verdict, Halt> {
    let (url, target) = (with_login_redacted(&wish.url), wish.target.clone());
    let mut predicted = would_clone(&wish);
    let mut steps = Vec::new();
    if is_forced {
        predicted.changes.insert("forced clone".into(), true.into());
        predicted.comment = format!(
            "Target directory {target} exists. Since force_clone=True, the contents of {target} would be deleted, and {url} would be cloned into this directory."
        );
        steps.push(wish.access.run(emptied(&target), &target));
    }
    let kind = match (wish.is_mirror, wish.is_bare) {
        (true, _) => " as mirror",
        (_, true) => " as bare repository",
        _ => "",
    };
    let mut comments = vec![format!("{url} cloned to {target}{kind}")];
    steps.push(wish.access.run(clone_command(&wish), &target));
    if let Some(wanted) = &wanted {
        let more = after_clone(&wish, wanted, remote, &mut comments);
        if !more.is_empty() {
            steps.push(wish.access.run(more.join(" && "), &target));
        }
    }
    act(predicted, steps, move |complaint, facts| {
        if let Some(why) = complaint {
            return Ok(Outcome::failed(format!("Clone failed: {why}")));
        }
        let local = wish.question(wanted.as_ref()).ask(&wish.access, facts)?;
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

fn clone_command(wish: &Wish) -> String {
    let mut text = String::from("git clone -q");
    if wish.is_mirror {
        text.push_str(" --mirror");
    } else if wish.is_bare {
        text.push_str(" --bare");
    }
    if wish.remote != "origin" {
        text = format!("{text} --origin {}", quoted(&wish.remote));
    }
    if let Some(depth) = wish.depth {
        text = format!("{text} --depth {depth} --branch {}", quoted(&wish.rev));
    }
    format!("{text} -- {} {}", quoted(&wish.url), quoted(&wish.target))
}

/// What brings a fresh clone to the wanted branch and commit.
fn after_clone(
    wish: &Wish,
    wanted: &Revision,
    remote: &Remote,
    comments: &mut Vec<String>,
) -> Vec<String> {
    let target = wish.target.as_str();
    let mut commands = Vec::new();
    let default = remote.default_branch();
    let place = wish.place(wanted);
    let upstream = wish.upstream(Some(wanted));
    let named = match &upstream {
        Upstream::Branch(branch) => Some(branch.clone()),
        Upstream::AsIs | Upstream::Nothing => None,
    };
    let mut head = remote.head().map(str::to_owned);
    let mut follows = default.map(|branch| format!("{}/{branch}", wish.remote));
    if wish.depth.is_some() {
        head = Some(wanted.commit.clone());
        follows.clone_from(&named);
    }
    if let Some(branch) = wish
        .branch
        .as_deref()
        .filter(|branch| Some(*branch) != default)
    {
        let start = match (&named, wish.rev.as_str()) {
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
    if wish.has_submodules {
        commands.push(submodules(target));
    }
    commands
}
