//! `--push`: records are pushed, and if another user has pushed first, both records are kept.

use std::fs;
use std::thread;

use crate::repos::{deploy, hook, is_whole, masked, subjects, try_git, with_clones};
use crate::support::{TestEnv, wait_for};

/// The deployed instances according to the remote repository.
fn instances(env: &TestEnv) -> Vec<String> {
    let text = env.git(&["-C", "origin.git", "show", "main:ensemble.yaml"]);
    let ensemble: serde_json::Value = serde_yaml::from_str(&text).unwrap();
    let instances = ensemble["status"]["instances"].as_object();
    let deployed = instances
        .into_iter()
        .flatten()
        .filter(|(_, record)| record["readyState"]["local"] == "ok");
    deployed.map(|(name, _)| name.clone()).collect()
}

/// The jobs according to `jobs.tsv` in the remote repository.
fn jobs(env: &TestEnv) -> Vec<String> {
    let text = env.git(&["-C", "origin.git", "show", "main:jobs.tsv"]);
    let jobs = text.lines().filter_map(|line| line.split('\t').next());
    jobs.filter(|id| id.ends_with("0000"))
        .map(str::to_owned)
        .collect()
}

/// The number of rounds of a loop: `few`, or `full` with `UNFURL_LOOPS=full`.
fn rounds(few: usize, full: usize) -> usize {
    match std::env::var("UNFURL_LOOPS") {
        Ok(word) if word == "full" => full,
        _ => few,
    }
}

#[test]
fn a_record_is_committed_and_pushed() {
    let env = with_clones(&["a"]);
    let run = deploy(&env, "a", &["--push", "--output", "json"]).succeeds();
    assert_eq!(run.json()["commits"][0]["pushed"], "origin/main");
    assert_eq!(
        subjects(&env, "origin.git", "main"),
        ["deploy: create 1 (a) [job ID]", "ensemble"]
    );
    assert_eq!(
        env.git(&["-C", "a", "status", "--porcelain", "--branch"]),
        "## main...origin/main"
    );
    // A second job has nothing to push.
    let run = deploy(&env, "a", &["--push", "--output", "json"]).succeeds();
    assert_eq!(run.json()["commits"], serde_json::json!([]));
    is_whole(&env, "origin.git");
}

#[test]
fn records_of_different_instances_come_together() {
    let env = with_clones(&["a", "b", "c"]);
    deploy(&env, "a", &["--push", "--instance", "a"]).succeeds();
    env.write("b/mine", "not committed");
    let run = deploy(&env, "b", &["--push", "--instance", "b"]).succeeds();
    assert!(
        masked(&run.stderr).contains("pushed to `origin/main`"),
        "{run}"
    );
    assert_eq!(instances(&env), ["a", "b"]);
    assert_eq!(jobs(&env).len(), 2);
    assert_eq!(subjects(&env, "origin.git", "main").len(), 3);
    for folder in ["b", "origin.git"] {
        is_whole(&env, folder);
    }
    assert_eq!(env.git(&["-C", "b", "status", "--porcelain"]), "?? mine");
    assert_eq!(env.read("b/mine"), "not committed");
    // The combined ensemble works like any other: only `c` is still to be deployed.
    let run = deploy(&env, "b", &["--output", "json"]).succeeds();
    let targets: Vec<String> = run.json()["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|task| task["status"] == "ok")
        .map(|task| task["target"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(targets, ["c"]);
}

#[test]
fn records_of_the_same_instance_both_stay_and_the_push_is_refused() {
    let env = with_clones(&["a"]);
    deploy(&env, "a", &["--push"]).succeeds();
    let theirs = env.git(&["-C", "origin.git", "rev-parse", "main"]);
    let run = deploy(&env, "b", &["--push"]).exits(64);
    let run = run.says(&[
        "the record is saved, but could not be pushed",
        "`origin/main` contain conflicting changes: `ensemble.yaml`",
        "nothing is lost",
    ]);
    assert_eq!(
        env.git(&["-C", "origin.git", "rev-parse", "main"]),
        theirs,
        "{run}"
    );
    assert_eq!(env.git(&["-C", "b", "rev-parse", "origin/main"]), theirs);
    assert_eq!(
        subjects(&env, "b", "main"),
        ["deploy: create 1 (a) [job ID]", "ensemble"]
    );
    assert_eq!(env.git(&["-C", "b", "status", "--porcelain"]), "");
    let text = env.read("b/ensemble.yaml");
    assert!(!text.contains("<<<<<<<"), "{text}");
    // Git shows both versions with the merge driver.
    env.unfurl(["git-setup", "b"]).succeeds();
    let (code, said) = try_git(&env.work().join("b"), &["pull", "--rebase", "-q"]);
    assert_ne!(code, 0);
    assert!(
        said.contains("both sides have changed the instance `a`"),
        "{said}"
    );
    assert!(env.read("b/ensemble.yaml").contains("<<<<<<<"));
    is_whole(&env, "b");
}

#[test]
fn commits_that_are_no_records_are_not_moved() {
    let env = with_clones(&["a", "b"]);
    deploy(&env, "a", &["--push", "--instance", "a"]).succeeds();
    env.write("b/own", "");
    env.git(&["-C", "b", "add", "own"]);
    env.git(&["-C", "b", "commit", "-q", "-m", "own work"]);
    let run = deploy(&env, "b", &["--push", "--instance", "b"]).exits(64);
    run.says(&[
        "a local commit is not a job's record",
        "own work",
        "git pull --rebase",
    ]);
    assert_eq!(subjects(&env, "b", "main")[1..], ["own work", "ensemble"]);
    // Follow the hint: the merge driver merges the records, and then the push succeeds.
    env.unfurl(["git-setup", "b"]).succeeds();
    env.git(&["-C", "b", "pull", "-q", "--rebase"]);
    let run = env
        .unfurl(["commit", "b", "--no-edit", "--push"])
        .succeeds();
    assert!(run.stderr.contains("to `origin/main`"), "{run}");
    assert_eq!(instances(&env), ["a", "b"]);
    assert_eq!(jobs(&env).len(), 2);
}

#[test]
fn files_that_are_changed_here_are_not_overwritten_by_what_others_pushed() {
    let env = with_clones(&["a", "b"]);
    env.write("a/notes", "theirs");
    env.git(&["-C", "a", "add", "notes"]);
    env.git(&["-C", "a", "commit", "-q", "-m", "notes"]);
    env.git(&["-C", "a", "push", "-q"]);
    env.write("b/notes", "mine");
    let run = deploy(&env, "b", &["--push"]).exits(64);
    run.says(&[
        "newer commits would overwrite uncommitted changes",
        "`notes`",
        "git stash",
    ]);
    assert_eq!(env.read("b/notes"), "mine");
    fs::remove_file(env.work().join("b/notes")).unwrap();
    env.unfurl(["commit", "b", "--no-edit", "--push"])
        .succeeds();
    assert_eq!(env.read("b/notes"), "theirs");
    assert_eq!(instances(&env), ["a", "b"]);
}

#[test]
fn a_remote_that_does_not_take_it_leaves_a_commit_that_can_be_pushed() {
    let env = with_clones(&["a"]);
    hook(
        &env,
        "origin.git/hooks/pre-receive",
        "echo 'the branch is protected' >&2; exit 1",
    );
    let run = deploy(&env, "a", &["--push", "--allow", "git-config"]).exits(64);
    run.says(&[
        "rejected the push",
        "the branch is protected",
        "run `unfurl commit --push` to try again",
    ]);
    fs::remove_file(env.work().join("origin.git/hooks/pre-receive")).unwrap();
    // Case 2: the remote is gone for a while.
    fs::rename(env.work().join("origin.git"), env.work().join("away.git")).unwrap();
    let run = env.unfurl(["commit", "a", "--push", "--output", "json"]);
    let run = run.exits(64).says(&["cannot be reached"]);
    let message = run.json()["errors"][0]["message"].to_string();
    assert!(message.contains("cannot be reached"), "{run}");
    fs::rename(env.work().join("away.git"), env.work().join("origin.git")).unwrap();
    env.unfurl(["commit", "a", "--push"]).succeeds();
    assert_eq!(instances(&env), ["a"]);
}

#[test]
fn a_password_in_the_url_of_a_remote_is_not_shown() {
    let env = with_clones(&["a"]);
    let url = "https://me:s3cret-word@127.0.0.1:1/x.git";
    env.git(&["-C", "a", "remote", "set-url", "origin", url]);
    let run = deploy(&env, "a", &["--push"]).exits(64);
    assert!(!run.all().contains("s3cret-word"), "{run}");
}

#[test]
fn a_push_that_was_cut_off_is_made_up_for() {
    let env = with_clones(&["a", "b"]);
    // The remote has accepted the push, but its answer was lost.
    deploy(&env, "a", &["--commit", "--instance", "a"]).succeeds();
    env.git(&["-C", "a", "push", "-q"]);
    env.git(&[
        "-C",
        "a",
        "update-ref",
        "refs/remotes/origin/main",
        "HEAD~1",
    ]);
    deploy(&env, "b", &["--push", "--instance", "b"]).succeeds();
    env.unfurl(["commit", "a", "--push"]).succeeds();
    assert_eq!(instances(&env), ["a", "b"]);
    assert_eq!(
        env.git(&["-C", "a", "rev-parse", "HEAD"]),
        env.git(&["-C", "origin.git", "rev-parse", "main"])
    );
}

#[test]
fn a_rebase_that_was_cut_off_is_made_up_for() {
    let env = with_clones(&["a", "b"]);
    deploy(&env, "a", &["--push", "--instance", "a"]).succeeds();
    // The rebase cannot lock the branch, so it changes nothing.
    let lock = "b/.git/refs/heads/main.lock";
    let script = "grep -q refs/unfurl && touch .git/refs/heads/main.lock; exit 0";
    hook(&env, "b/.git/hooks/reference-transaction", script);
    deploy(
        &env,
        "b",
        &["--push", "--instance", "b", "--allow", "git-config"],
    )
    .exits(64)
    .says(&["could not be pushed", ".git/refs/heads/main.lock` exists"]);
    for file in [lock, "b/.git/hooks/reference-transaction"] {
        fs::remove_file(env.work().join(file)).unwrap();
    }
    assert_eq!(env.git(&["-C", "b", "status", "--porcelain"]), "");
    env.unfurl(["commit", "b", "--no-edit", "--push"])
        .succeeds();
    assert_eq!(instances(&env), ["a", "b"]);
    assert_eq!(jobs(&env).len(), 2);
    assert_eq!(env.git(&["-C", "b", "status", "--porcelain"]), "");
    for folder in ["b", "origin.git"] {
        is_whole(&env, folder);
    }
}

/// Both clones deploy and push at the same time. `UNFURL_LOOPS=full` runs more rounds.
#[test]
fn no_update_is_lost_where_two_push_at_the_same_time() {
    let rounds = rounds(4, 100);
    let nodes: Vec<String> = (0..2 * rounds).map(|node| format!("n{node}")).collect();
    let names: Vec<&str> = nodes.iter().map(String::as_str).collect();
    let env = with_clones(&names);
    for round in 0..rounds {
        thread::scope(|scope| {
            for (place, clone) in ["a", "b"].into_iter().enumerate() {
                let (env, node) = (&env, names[2 * round + place]);
                scope.spawn(move || deploy_and_push(env, clone, node));
            }
        });
        let mut on_record = instances(&env);
        on_record.sort();
        let mut expected: Vec<&str> = names[..2 * (round + 1)].to_vec();
        expected.sort_unstable();
        assert_eq!(on_record, expected, "round {round}");
        assert_eq!(jobs(&env).len(), 2 * (round + 1));
    }
    for folder in ["a", "b", "origin.git"] {
        is_whole(&env, folder);
    }
}

/// Kills a job at moments spread over its whole duration, including commit and push. `UNFURL_LOOPS=full` runs
/// more rounds.
#[test]
fn a_kill_at_any_moment_leaves_what_the_next_job_commits_and_pushes() {
    let rounds = u64::try_from(rounds(8, 200)).unwrap();
    let nodes: Vec<String> = (0..rounds).map(|node| format!("n{node}")).collect();
    let names: Vec<&str> = nodes.iter().map(String::as_str).collect();
    let env = with_clones(&names);
    let whole = deploy(&env, "a", &["--push", "--force", "--instance", "n0"]).succeeds();
    let time = u64::try_from(whole.time.as_millis()).unwrap() + 20;
    for (round, node) in names.iter().enumerate() {
        let words = ["deploy", "a", "-a", "--push", "--force", "--instance", node];
        let after = time * u64::try_from(round).unwrap() / rounds;
        env.killed_after(std::time::Duration::from_millis(after), &words);
        is_whole(&env, "a");
        // A push that git had started continues after the kill, and its objects arrive one by one.
        wait_for("the end of a push", || {
            let (code, _) = try_git(&env.work().join("origin.git"), &["fsck", "--strict"]);
            (code == 0).then_some(())
        });
        is_whole(&env, "origin.git");
        // The program reports leftover locks of git, but users have to remove them.
        for lock in ["index.lock", "HEAD.lock", "refs/heads/main.lock"] {
            fs::remove_file(env.work().join("a/.git").join(lock)).ok();
        }
        let words = ["--push", "--redo-in-doubt", "--instance", node];
        deploy(&env, "a", &words).succeeds();
        assert!(
            instances(&env).contains(&(*node).to_owned()),
            "{node} after {after} ms"
        );
        let left = env.git(&["-C", "a", "status", "--porcelain"]);
        assert_eq!(left, "", "after {after} ms");
        let head = |folder: &str| env.git(&["-C", folder, "rev-parse", "main"]);
        assert_eq!(head("a"), head("origin.git"), "after {after} ms");
    }
    assert_eq!(instances(&env).len(), names.len());
}

fn deploy_and_push(env: &TestEnv, clone: &str, node: &str) {
    let words = ["--push", "--check-upstream", "--instance", node];
    deploy(env, clone, &words).succeeds();
}

#[test]
fn an_index_that_a_kill_left_behind_its_commit_is_brought_up_to_date() {
    let env = with_clones(&["n0"]);
    deploy(&env, "a", &["--commit"]).succeeds();
    // Imitate a job that was killed between its commit and the update of the index.
    env.git(&["-C", "a", "read-tree", "HEAD~1"]);
    assert_ne!(env.git(&["-C", "a", "status", "--porcelain"]), "");
    let head = env.git(&["-C", "a", "rev-parse", "HEAD"]);
    deploy(&env, "a", &["--commit"]).succeeds();
    assert_eq!(env.git(&["-C", "a", "status", "--porcelain"]), "");
    assert_eq!(env.git(&["-C", "a", "rev-parse", "HEAD"]), head);
}
