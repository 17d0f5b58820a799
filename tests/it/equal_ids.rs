//! Clones that start jobs at the same moment choose the same change ids (D6). The clone that pushes later renames
//! its own.

use std::collections::BTreeSet;
use std::thread;

use crate::repos::{deploy, ensemble, is_whole, with_clones};
use crate::support::{Run, TestEnv};

const START: &str = "2026-03-04-05-06-07-000008";

/// Deploys one instance with a fixed start.
fn deploy_one(env: &TestEnv, clone: &str, node: &str, words: &[&str]) -> Run {
    let fixed = ["--starttime", START, "--instance", node];
    deploy(env, clone, &[&fixed, words].concat())
}

/// The ids of all jobs and tasks according to the remote repository. Fails if an id occurs twice.
#[track_caller]
fn ids(env: &TestEnv) -> BTreeSet<String> {
    let text = env.git(&["-C", "origin.git", "show", "main:jobs.tsv"]);
    let mut ids = BTreeSet::new();
    for line in text.lines() {
        let id = line.split('\t').next().unwrap_or_default();
        assert!(ids.insert(id.to_owned()), "{id} occurs twice:\n{text}");
    }
    ids
}

/// Asserts that each change record contains only ids that no other one contains, and that the ensemble refers only
/// to ids that `jobs.tsv` contains.
#[track_caller]
fn check_references(env: &TestEnv) {
    let known = ids(env);
    let files = env.git(&[
        "-C",
        "origin.git",
        "ls-tree",
        "--name-only",
        "main",
        "changes/",
    ]);
    let mut seen = BTreeSet::new();
    let id = regex::Regex::new(r"\bA[0-9A-Za-z]{7}[0-9a-f]{4}\b").unwrap();
    for file in files.lines() {
        let text = env.git(&["-C", "origin.git", "show", &format!("main:{file}")]);
        let lines = text.lines().filter(|line| !line.contains("previousId"));
        let own: BTreeSet<&str> = lines
            .flat_map(|line| id.find_iter(line).map(|found| found.as_str()))
            .collect();
        let prefixes: BTreeSet<&str> = own.iter().map(|id| &id[..8]).collect();
        assert_eq!(prefixes.len(), 1, "{file}: {own:?}");
        let prefix = prefixes.first().unwrap();
        assert!(
            file.ends_with(&format!("-{prefix}.yaml")),
            "{file}: {own:?}"
        );
        assert!(text.contains(&format!("changelog: {file}\n")), "{text}");
        assert!(own.iter().all(|id| known.contains(*id)), "{file}: {own:?}");
        assert!(seen.insert((*prefix).to_owned()), "{file}");
    }
    let text = env.git(&["-C", "origin.git", "show", "main:ensemble.yaml"]);
    for found in id.find_iter(&text) {
        assert!(
            known.contains(found.as_str()),
            "{}:\n{text}",
            found.as_str()
        );
    }
}

#[test]
fn a_job_with_the_id_of_another_clone_gets_a_new_id_before_its_push() {
    let env = with_clones(&["a", "b", "c"]);
    deploy_one(&env, "a", "a", &["--push"]).succeeds();
    let run = deploy_one(&env, "b", "b", &["--push"]).succeeds().says(&[
        "another clone has used the id A63456700000 at the same time",
        "the job of this clone has the id A63456710000 now",
    ]);
    check_references(&env);
    let jobs: Vec<String> = ids(&env)
        .into_iter()
        .filter(|id| id.ends_with("0000"))
        .collect();
    assert_eq!(jobs, ["A63456700000", "A63456710000"], "{run}");
    let message = env.git(&["-C", "origin.git", "log", "-1", "--format=%s", "main"]);
    assert_eq!(message, "deploy: create 1 (b) [job A63456710000]");
    for folder in ["b", "origin.git"] {
        is_whole(&env, folder);
    }
    assert_eq!(env.git(&["-C", "b", "status", "--porcelain"]), "");
    // The local log and record of the job have the new id as well.
    let names: Vec<String> = std::fs::read_dir(env.work().join("b/jobs"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(
        names.iter().all(|name| name.contains("-A6345671.")),
        "{names:?}"
    );
    let history = env.unfurl(["history", "--ensemble", "b"]).succeeds();
    history.prints(&["A63456700000", "A63456710000"]);
    // Nothing is left to do, and the next job continues the ids.
    let run = deploy(&env, "b", &["--push", "--instance", "a"]).succeeds();
    run.prints(&["Nothing to do"]);
    deploy(&env, "b", &["--push", "--instance", "c"]).succeeds();
    check_references(&env);
}

#[test]
fn several_jobs_of_a_clone_keep_their_order_when_their_ids_change() {
    let env = with_clones(&["a", "b", "c", "d"]);
    deploy_one(&env, "a", "a", &["--push"]).succeeds();
    for (node, start) in [
        ("b", START),
        ("c", START),
        ("d", "2026-03-04-05-06-07-017000"),
    ] {
        // The second and third job start at the next free ids.
        let words = ["--commit", "--starttime", start, "--instance", node];
        deploy(&env, "b", &words).succeeds();
    }
    let run = env.unfurl(["commit", "b", "--push"]).succeeds();
    check_references(&env);
    let jobs: Vec<String> = ids(&env)
        .into_iter()
        .filter(|id| id.ends_with("0000"))
        .collect();
    assert_eq!(jobs.len(), 4, "{run}");
    let record: serde_json::Value =
        serde_yaml::from_str(&env.git(&["-C", "origin.git", "show", "main:ensemble.yaml"]))
            .unwrap();
    let change = |node: &str| record["status"]["instances"][node]["lastConfigChange"].clone();
    let changes = ["a", "b", "c", "d"].map(|node| change(node).as_str().unwrap().to_owned());
    assert!(changes.is_sorted(), "{changes:?}");
    assert_eq!(record["lastJob"]["changeId"], serde_json::json!(jobs[3]));
    assert_eq!(record["lastJob"]["previousId"], serde_json::json!(jobs[2]));
}

#[test]
fn text_of_tasks_that_looks_like_an_id_stays() {
    let env = with_clones(&["a"]);
    let node = "        tagged:\n          type: unfurl.nodes.Generic\n          interfaces: {Standard: {configure: \
                {implementation: Cmd, inputs: {cmd: echo A63456700001, resultTemplate: {attributes: {created: \
                \"{{ stdout | trim }}\"}}}}}}\n";
    env.write("a/ensemble.yaml", &format!("{}{node}", ensemble(&["a"])));
    env.git(&["-C", "a", "commit", "-qam", "tagged"]);
    env.git(&["-C", "a", "push", "-q"]);
    env.git(&["-C", "b", "pull", "-q"]);
    deploy_one(&env, "a", "a", &["--push"]).succeeds();
    deploy_one(&env, "b", "tagged", &["--push"]).succeeds();
    let record: serde_json::Value =
        serde_yaml::from_str(&env.git(&["-C", "origin.git", "show", "main:ensemble.yaml"]))
            .unwrap();
    let tagged = &record["status"]["instances"]["tagged"];
    assert_eq!(tagged["attributes"]["created"], "A63456700001", "{tagged}");
    assert_eq!(tagged["created"], "A63456710001", "{tagged}");
}

#[test]
fn five_clones_that_start_together_all_push() {
    let nodes: Vec<String> = (0..5).map(|node| format!("n{node}")).collect();
    let names: Vec<&str> = nodes.iter().map(String::as_str).collect();
    let env = with_clones(&names);
    let clones = ["a", "b", "c", "d", "e"];
    for clone in &clones[2..] {
        env.git(&["clone", "-q", "origin.git", clone]);
    }
    thread::scope(|scope| {
        for (clone, node) in clones.into_iter().zip(&names) {
            let env = &env;
            scope.spawn(move || deploy_one(env, clone, node, &["--push"]).succeeds());
        }
    });
    check_references(&env);
    let jobs = ids(&env).into_iter().filter(|id| id.ends_with("0000"));
    assert_eq!(jobs.count(), 5);
    is_whole(&env, "origin.git");
}
