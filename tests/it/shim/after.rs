//! What must hold after a crash, and after the next commands.

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
    let mut said = String::new();
    for words in after.commands {
        let run = world.unfurl(words);
        if run.code != 0 {
            return Err(format!("the next command fails: {run}"));
        }
        said += &run.stderr;
    }
    is_intact(world, user)?;
    no_leftovers(world)?;
    effects_are_right(world, after, &said)?;
    let head = world.try_git(&["rev-parse", "main"])?;
    let remote = world.try_git(&["--git-dir=../origin.git", "rev-parse", "main"])?;
    equal("the commit of the remote", &remote, &head)?;
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

/// Checks that the ensemble parses, git finds no error and the work of the user is untouched.
fn is_intact(world: &World, user: &UserWork) -> Checked {
    let text = std::fs::read_to_string(world.clone_folder().join("ens/ensemble.yaml"));
    let text = text.map_err(|error| format!("ensemble.yaml: {error}"))?;
    let ensemble: Result<serde_json::Value, _> = serde_yaml::from_str(&text);
    if !ensemble.is_ok_and(|ensemble| ensemble["kind"] == "Ensemble") {
        return Err(format!("ensemble.yaml does not parse:\n{text}"));
    }
    world.try_git(&["fsck", "--strict", "--no-progress", "--no-dangling"])?;
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
    let changed = world.try_git(&["diff-tree", "-r", "--name-status", "HEAD~1", "HEAD"])?;
    equal("the user's commit", &changed, "M\tone\nA\tstaged-new")
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
