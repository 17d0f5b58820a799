//! The git merge driver, which `unfurl git-setup` sets up: it merges two users' records of one ensemble.

use crate::repos::{deploy, is_whole, try_git, with_repository};
use crate::support::TestEnv;

/// A repository with the branches `left` and `right`. On each, the given instance was deployed.
fn branches(left: &str, right: &str) -> TestEnv {
    let env = with_repository(&["a", "b", "c"]);
    env.unfurl(["git-setup"]).succeeds();
    deploy(&env, ".", &["--commit", "--instance", "c"]).succeeds();
    for (branch, instance) in [("left", left), ("right", right)] {
        env.git(&["checkout", "-q", "-b", branch, "main"]);
        deploy(&env, ".", &["--commit", "--force", "--instance", instance]).succeeds();
    }
    env
}

#[test]
fn git_setup_tells_git_how_records_are_merged_without_touching_a_tracked_file() {
    let env = with_repository(&["a"]);
    let run = env.unfurl(["git-setup"]).succeeds();
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert!(
        lines[0].starts_with("The merge driver is set up in `"),
        "{run}"
    );
    assert!(lines[1].ends_with("/.git/config`"), "{run}");
    assert!(lines[2].ends_with("/.git/info/attributes`"), "{run}");
    deploy(&env, ".", &["--commit"]).succeeds();
    let attributes = env.read(".git/info/attributes");
    insta::assert_snapshot!(attributes, @r"
    ensemble.yaml merge=unfurl
    **/*jobs.tsv merge=union
    **/drift.tsv merge=union
    ");
    let driver = env.git(&["config", "merge.unfurl.driver"]);
    assert!(
        driver.ends_with("unfurl' merge-driver -- %O %A %B %P"),
        "{driver}"
    );
    let config = env.read(".git/config");
    let run = env.unfurl(["git-setup", "--output", "json"]).succeeds();
    assert_eq!(run.json()["changed"], serde_json::json!([]));
    assert_eq!(env.read(".git/config"), config);
    assert_eq!(env.read(".git/info/attributes"), attributes);
    assert_eq!(
        env.git(&["config", "--get-all", "merge.unfurl.driver"])
            .lines()
            .count(),
        1
    );
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}

/// D2: a job rewrote `.git/config` for the merge driver, and a power failure left it empty.
#[test]
fn a_job_writes_no_settings_of_git_and_names_the_command_that_does_once() {
    let env = with_repository(&["a"]);
    let config = env.read(".git/config");
    let run = deploy(&env, ".", &["--commit"]).succeeds();
    assert!(
        run.stderr.contains("`unfurl git-setup` sets it up"),
        "{run}"
    );
    let run = deploy(&env, ".", &["--commit", "--force"]).succeeds();
    assert!(!run.all().contains("git-setup"), "{run}");
    assert_eq!(env.read(".git/config"), config);
    assert!(!env.work().join(".git/info/attributes").exists());
    // Bytes that are not about the merge driver stay.
    let own = format!("{config}# mine\n[a \"b\"]\n\tc = d ; e");
    env.write(".git/config", &own);
    env.unfurl(["git-setup"]).succeeds();
    assert!(env.read(".git/config").starts_with(&own));
}

#[test]
fn records_of_different_instances_are_merged() {
    let env = branches("a", "b");
    let spec = env.read("ensemble.yaml").replace("echo c", "echo see");
    env.write("ensemble.yaml", &spec);
    env.git(&["commit", "-q", "-am", "spec"]);
    env.git(&["merge", "-q", "-m", "both", "left"]);
    let ensemble = env.ensemble();
    let instances = ensemble["status"]["instances"].as_object().unwrap();
    let mut names: Vec<&String> = instances.keys().collect();
    names.sort();
    assert_eq!(names, ["a", "b", "c"]);
    let text = env.read("ensemble.yaml");
    assert!(
        text.contains("echo see") && !text.contains("<<<<"),
        "{text}"
    );
    let jobs = env.read("jobs.tsv");
    let ids: Vec<&str> = jobs
        .lines()
        .filter_map(|line| line.split('\t').next())
        .collect();
    assert_eq!(
        ids.iter().filter(|id| id.ends_with("0000")).count(),
        3,
        "{jobs}"
    );
    let last = ids.iter().filter(|id| id.ends_with("0000")).max().unwrap();
    assert_eq!(ensemble["lastJob"]["changeId"], **last);
    // The merged ensemble works like any other.
    let run = deploy(&env, ".", &["--output", "json"]).succeeds();
    assert_eq!(run.json()["job"]["ok"], 1, "{run}");
    is_whole(&env, ".");
}

#[test]
fn records_of_the_same_instance_stay_both_between_markers() {
    let env = branches("c", "c");
    let (code, said) = try_git(&env.work(), &["merge", "-m", "both", "left"]);
    assert_eq!(code, 1, "{said}");
    assert!(
        said.contains("both sides have changed the instance `c` in `ensemble.yaml`"),
        "{said}"
    );
    let text = env.read("ensemble.yaml");
    for part in ["<<<<<<< ours", "=======", ">>>>>>> theirs"] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(
        env.git(&["diff", "--name-only", "--diff-filter=U"]),
        "ensemble.yaml"
    );
    deploy(&env, ".", &["--commit", "--dirty", "ok"]).exits(64);
    env.git(&["merge", "--abort"]);
    assert!(!env.read("ensemble.yaml").contains("<<<<<<<"));
}

#[test]
fn what_is_no_ensemble_is_a_conflict() {
    let env = TestEnv::new();
    for (name, text) in [("o", "a: 1\n"), ("a", "a: [\n"), ("b", "a: 2\n")] {
        env.write(name, text);
    }
    env.unfurl(["merge-driver", "o", "a", "b", "x/ensemble.yaml"])
        .exits(1)
        .says(&["not a readable ensemble in `x/ensemble.yaml`"]);
    assert!(env.read("a").contains("<<<<<<<"));
    env.unfurl(["merge-driver", "nowhere", "a", "b"]).exits(70);
}
