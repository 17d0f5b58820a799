//! What must hold after a crash, and after the next commands.

use std::path::Path;

use super::world::{Checked, NODES, USER_STATUS, UserWork, World};

/// The next job after a crash.
pub(super) const NEXT: [&str; 9] = [
    "deploy",
    "--approve",
    "--parallel",
    "4",
    "--dirty",
    "ok",
    "--commit",
    "--push",
    "--redo-in-doubt",
];

/// How a loop goes on after a crash.
#[derive(Debug, Clone, Copy)]
pub(super) struct After {
    /// The commands to run, each of which must succeed.
    pub(super) commands: &'static [&'static [&'static str]],
    /// The operation whose effects are counted.
    pub(super) operation: &'static str,
    /// Whether a fresh clone of the remote is deployed too, which takes longer.
    pub(super) with_clone: bool,
}

/// Checks a state right after a crash, runs the next commands, and checks the state that they leave.
pub(super) fn check(world: &World, user: &UserWork, after: After) -> Checked {
    is_intact(world, user)?;
    git_finds_no_error(world)?;
    let mut said = String::new();
    for words in after.commands {
        let run = world.unfurl(words);
        if run.code != 0 {
            return Err(format!("the next command fails: {run}"));
        }
        said += &run.stderr;
        // `recover` prints the tasks in doubt as its result.
        said += &run.stdout;
    }
    is_intact(world, user)?;
    no_leftovers(world)?;
    effects_are_right(world, after, &said)?;
    git_finds_no_error(world)?;
    equal(
        "the commit of the remote",
        &head(world, "origin.git")?,
        &head(world, "a")?,
    )?;
    equal(
        "`git status`",
        &world.try_git(&["status", "--porcelain"])?,
        USER_STATUS,
    )?;
    the_users_commit_is_his_own(world)?;
    if after.with_clone {
        a_fresh_clone_runs_nothing(world)?;
    }
    Ok(())
}

fn git_finds_no_error(world: &World) -> Checked {
    let words = ["fsck", "--strict", "--no-progress", "--no-dangling"];
    world.try_git(&words).map(drop)
}

/// The commit of the branch `main` of a repository.
fn head(world: &World, repository: &str) -> Result<String, String> {
    let commit = || {
        let repository = git2::Repository::open(world.env.work().join(repository))?;
        repository.refname_to_id("refs/heads/main")
    };
    let id = commit().map_err(|error: git2::Error| error.to_string())?;
    Ok(id.to_string())
}

/// Checks that the ensemble parses and that the work of the user is untouched.
fn is_intact(world: &World, user: &UserWork) -> Checked {
    let text = std::fs::read_to_string(world.clone_folder().join("ens/ensemble.yaml"));
    let text = text.map_err(|error| format!("ensemble.yaml: {error}"))?;
    let ensemble: Result<serde_json::Value, _> = serde_yaml::from_str(&text);
    if !ensemble.is_ok_and(|ensemble| ensemble["kind"] == "Ensemble") {
        return Err(format!("ensemble.yaml does not parse:\n{text}"));
    }
    let now = world.user_work()?;
    if now != *user {
        return Err(format!(
            "the work of the user differs: {now:?}, not {user:?}"
        ));
    }
    Ok(())
}

fn no_leftovers(world: &World) -> Checked {
    let signs = [
        ".tmp.",
        ".journal",
        ".lock",
        ".rescue",
        "tmp_object",
        "tmp_obj_",
    ];
    let left: Vec<String> = world
        .tree()
        .keys()
        .map(|path| path.display().to_string())
        .filter(|path| signs.iter().any(|sign| path.contains(sign)))
        // Unreachable temporary objects harm nobody: `git gc` removes them.
        .filter(|path| !path.contains("objects/"))
        .collect();
    if left.is_empty() {
        return Ok(());
    }
    Err(format!("left over: {left:?}"))
}

/// Checks that each task had its effect once, or twice if a message named it as in doubt.
fn effects_are_right(world: &World, after: After, said: &str) -> Checked {
    let effects = world.effects();
    for node in NODES {
        let task = format!("{node} {}", after.operation);
        let doubted = said
            .lines()
            .any(|line| line.contains("doubt") && line.contains(&format!("::{node}")));
        let count = effects.get(&task).copied().unwrap_or_default();
        if count != 1 && !(count == 2 && doubted) {
            return Err(format!(
                "`{task}` ran {count} times, in doubt: {doubted}\n{said}"
            ));
        }
    }
    Ok(())
}

/// The user commits what is staged: that commit has no other changes, and deletes no record.
fn the_users_commit_is_his_own(world: &World) -> Checked {
    world.try_git(&["commit", "-q", "-m", "mine"])?;
    let changed = || {
        let repository = world
            .repository()
            .map_err(|error| git2::Error::from_str(&error))?;
        let commit = repository.head()?.peel_to_commit()?;
        let (new, old) = (commit.tree()?, commit.parent(0)?.tree()?);
        let diff = repository.diff_tree_to_tree(Some(&old), Some(&new), None)?;
        let line = |delta: git2::DiffDelta<'_>| {
            let path = delta.new_file().path().unwrap_or(Path::new("?"));
            format!("{:?} {}", delta.status(), path.display())
        };
        Ok(diff.deltas().map(line).collect::<Vec<_>>().join(", "))
    };
    let changed = changed().map_err(|error: git2::Error| error.to_string())?;
    equal(
        "the user's commit",
        &changed,
        "Modified one, Added staged-new",
    )
}

fn a_fresh_clone_runs_nothing(world: &World) -> Checked {
    let before = world.effects();
    world.try_git(&["clone", "-q", "../origin.git", "../fresh"])?;
    let words = ["deploy", "--approve", "--dirty", "ok"];
    let removed = before.keys().any(|task| task.ends_with("delete"));
    let words: &[&str] = if removed {
        &["teardown", "--approve", "--dirty", "ok"]
    } else {
        &words
    };
    let run = world.unfurl_with("fresh", &[], words);
    if run.code != 0 || world.effects() != before {
        return Err(format!(
            "a fresh clone ran tasks: {:?}\n{run}",
            world.effects()
        ));
    }
    Ok(())
}

pub(super) fn equal(what: &str, found: &str, wanted: &str) -> Checked {
    if found == wanted {
        return Ok(());
    }
    Err(format!("{what} is\n{found}\ninstead of\n{wanted}"))
}
