//! `--check-upstream`: before it starts, a job looks whether others have pushed.

use unfurl::testing::system::machine::is_running;

use crate::repos::{deploy, hook, is_whole, subjects, with_clones};
use crate::support::{TestEnv, wait_for};

const CHECK: &str = "--check-upstream";

fn head(env: &TestEnv, repository: &str) -> String {
    env.git(&["-C", repository, "rev-parse", "main"])
}

#[test]
fn a_checkout_that_is_behind_is_brought_up_to_date_before_the_job() {
    let env = with_clones(&["a"]);
    deploy(&env, "a", &["--push"]).succeeds();
    env.write("b/mine", "new");
    let run = deploy(&env, "b", &[CHECK, "--output", "json"]).succeeds();
    let run = run.says(&["was updated to `origin/main`, which was 1 commit ahead"]);
    // The other user's record is known now, so no task runs twice.
    assert_eq!(run.json()["job"]["ok"], 0, "{run}");
    assert_eq!(head(&env, "b"), head(&env, "origin.git"));
    assert_eq!(env.git(&["-C", "b", "status", "--porcelain", "-uno"]), "");
    assert_eq!(env.read("b/mine"), "new");
    is_whole(&env, "b");
}

#[test]
fn one_that_has_diverged_is_refused_with_the_commits_of_both() {
    let env = with_clones(&["a"]);
    deploy(&env, "a", &["--push"]).succeeds();
    env.write("b/own", "");
    env.git(&["-C", "b", "add", "own"]);
    env.git(&["-C", "b", "commit", "-q", "-m", "own work"]);
    let before = head(&env, "b");
    let run = deploy(&env, "b", &[CHECK]).exits(1).says(&[
        "have diverged: only local: ",
        "own work; only remote: ",
        "deploy: ",
        "git pull --rebase",
        "--skip-upstream-check",
    ]);
    assert!(!env.work().join("b/jobs.tsv").exists(), "{run}");
    assert_eq!(head(&env, "b"), before);
    deploy(&env, "b", &["--skip-upstream-check"]).succeeds();
}

#[test]
fn what_is_changed_here_is_never_overwritten() {
    let env = with_clones(&["a"]);
    deploy(&env, "a", &["--push"]).succeeds();
    let text = format!("{}# mine\n", env.read("b/ensemble.yaml"));
    env.write("b/ensemble.yaml", &text);
    let run = deploy(&env, "b", &[CHECK]).exits(1).says(&[
        "newer commits would overwrite uncommitted changes",
        "`ensemble.yaml`",
        "git stash",
    ]);
    assert_eq!(env.read("b/ensemble.yaml"), text, "{run}");
    assert_eq!(subjects(&env, "b", "main"), ["ensemble"]);
}

#[test]
fn a_remote_that_cannot_be_reached_is_a_warning() {
    let env = with_clones(&["a"]);
    env.git(&[
        "-C",
        "a",
        "remote",
        "set-url",
        "origin",
        "/nowhere/at-all.git",
    ]);
    let run = deploy(&env, "a", &[CHECK]).succeeds();
    run.says(&[
        "warning: the remote `origin`",
        "cannot be reached",
        "continues with the local commits",
    ]);
}

#[test]
fn remotes_that_do_not_answer_are_waited_for_ten_seconds_together() {
    let env = with_clones(&["a"]);
    env.write(
        "b/unfurl.yaml",
        "apiVersion: unfurl/v1.0.0\nkind: Project\nensembles:\n- file: e/ensemble.yaml\n",
    );
    env.git(&["clone", "-q", "origin.git", "b/e"]);
    env.write("b/.git/info/exclude", "e/\n");
    let begun = env.work().join("begun");
    for clone in ["b", "b/e"] {
        env.git(&[
            "-C",
            clone,
            "remote",
            "set-url",
            "origin",
            "ssh://nobody@127.0.0.1/x",
        ]);
        let asks = format!("echo $$ >> {}; sleep 1000; true", begun.display());
        env.git(&["-C", clone, "config", "core.sshCommand", &asks]);
    }
    let job = env.start(["deploy", "b/e", "--approve", CHECK, "--allow", "git-config"]);
    // The second remote is asked before the first has answered.
    let pids = wait_for("the second question", || {
        let text = std::fs::read_to_string(&begun).ok()?;
        let pids: Vec<u32> = text.lines().map_while(|pid| pid.parse().ok()).collect();
        (text.ends_with('\n') && pids.len() >= 2).then_some(pids)
    });
    assert!(pids.iter().all(|pid| is_running(*pid)), "{pids:?}");
    let run = job.ends().succeeds();
    assert_eq!(
        run.stderr.matches("`git` did not end within 10 s").count(),
        2,
        "{run}"
    );
}

#[test]
fn without_a_remote_no_program_is_started() {
    let env = crate::repos::with_repository(&["a"]);
    hook(
        &env,
        "bin/git",
        "touch \"$(dirname \"$0\")/called\"; exit 1",
    );
    let path = format!("{}/bin:/usr/bin:/bin", env.work().display());
    let env = env.variable("PATH", &path);
    deploy(&env, ".", &[CHECK]).succeeds();
    assert!(!env.work().join("bin/called").exists());
}

#[test]
fn plans_status_and_dry_runs_do_not_ask() {
    let env = with_clones(&["a"]);
    deploy(&env, "a", &["--push"]).succeeds();
    for words in [
        &["plan", "b"][..],
        &["status", "b"],
        &["deploy", "b", "-a", "--dryrun"],
    ] {
        env.unfurl([words, &[CHECK]].concat()).succeeds();
        assert_eq!(subjects(&env, "b", "main"), ["ensemble"], "{words:?}");
    }
}

#[test]
fn the_environment_turns_it_off_and_a_branch_without_upstream_is_left_alone() {
    let env = with_clones(&["a"]).variable("UNFURL_SKIP_UPSTREAM_CHECK", "");
    deploy(&env, "a", &["--push"]).succeeds();
    deploy(&env, "b", &[]).succeeds().says(&["was updated to"]);
    env.git(&["-C", "b", "checkout", "-q", "-b", "other"]);
    deploy(&env, "b", &[]).succeeds();
    env.git(&["-C", "b", "checkout", "-q", "--detach"]);
    deploy(&env, "b", &[]).succeeds();
    let env = env.variable("UNFURL_SKIP_UPSTREAM_CHECK", "yes");
    env.git(&["-C", "b", "checkout", "-q", "main"]);
    env.git(&["-C", "b", "reset", "-q", "--hard", "HEAD~1"]);
    let run = deploy(&env, "b", &["--dryrun"]).succeeds();
    assert!(!run.stderr.contains("was updated to"), "{run}");
}
