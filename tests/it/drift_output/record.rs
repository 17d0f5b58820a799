//! The drift record: rows, coalesced answers, git.

use std::process::Command;

use super::{SHOP, deploy, drift, set_status, shop};
use crate::support::TestEnv;

#[test]
fn equal_answers_are_one_row_and_changes_are_rows() {
    let env = shop();
    for _ in 0..3 {
        drift(&env, &[]).exits(0);
    }
    let record = env.read("drift.tsv");
    assert_eq!(record.lines().count(), 1, "{record}");
    assert!(
        record.contains("answer=clean") && record.contains("count=3"),
        "{record}"
    );
    set_status(&env, "web1", "error");
    for _ in 0..2 {
        drift(&env, &[]).exits(3);
    }
    set_status(&env, "web1", "ok");
    drift(&env, &[]).exits(0);
    let log = drift(&env, &["--log"]).succeeds();
    let events: Vec<&str> = log
        .stdout
        .lines()
        .skip(1)
        .map(|line| line.split('\t').nth(1).unwrap())
        .collect();
    assert_eq!(
        events,
        ["clean", "gone", "drifted", "new", "clean"],
        "{log}"
    );
    drift(&env, &["--log", "-n", "1"]).prints(&["clean\t-\tonce, 4 of 4 looked at"]);
    let before = env.read("drift.tsv");
    drift(&env, &["--log"]);
    assert_eq!(env.read("drift.tsv"), before);
}

#[test]
fn a_line_that_is_not_readable_is_named_and_kept() {
    let env = shop();
    drift(&env, &[]).exits(0);
    let record = format!("broken\n{}", env.read("drift.tsv"));
    env.write("drift.tsv", &record);
    drift(&env, &["--log"])
        .succeeds()
        .says(&["drift.tsv:1: the line is not readable"]);
    drift(&env, &[]).exits(0);
    assert!(env.read("drift.tsv").starts_with("broken\n"));
    std::fs::remove_file(env.work().join("drift.tsv")).unwrap();
    drift(&env, &["--log"])
        .succeeds()
        .prints(&["work: no look for drift is recorded"]);
}

/// A repository whose environment says whether jobs commit the record.
fn repository(settings: &str) -> TestEnv {
    let env = TestEnv::with_ensemble(&format!("{SHOP}environment: {{drift: {settings}}}\n"));
    for name in ["web1", "web2", "web3"] {
        set_status(&env, name, "ok");
    }
    env.git(&["init", "-q", "-b", "main"]);
    env.git(&["add", "."]);
    env.git(&["commit", "-qm", "model"]);
    deploy(&env, &["--commit"]);
    env
}

#[test]
fn the_record_stays_out_of_git_unless_the_environment_says_so() {
    let env = repository("{on_drift: report}");
    drift(&env, &[]).exits(0);
    assert_eq!(env.git(&["status", "--porcelain", "--", "drift.tsv"]), "");
    deploy(&env, &["--commit", "--force", "-i", "web1"]);
    assert_eq!(env.git(&["ls-files", "drift.tsv"]), "");

    let env = repository("{commit: true}");
    drift(&env, &[]).exits(0);
    deploy(&env, &["--commit", "--force", "-i", "web1"]);
    assert_eq!(env.git(&["ls-files", "drift.tsv"]), "drift.tsv");
}

#[test]
fn records_of_two_clones_are_merged_without_a_conflict() {
    let env = repository("{commit: true}");
    env.write("out/shop.conf", "listen 81\n");
    drift(&env, &[]).exits(3);
    env.git(&["add", "-A"]);
    env.git(&["commit", "-qm", "drift"]);
    let clone = env.work().join("clone");
    env.git(&["clone", "-q", ".", clone.to_str().unwrap()]);
    env.unfurl_in("clone", &[], &["git-setup"]).succeeds();
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"];
        let output = Command::new("git")
            .args(identity)
            .args(arguments)
            .current_dir(&clone)
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    };
    for (folder, name) in [("", "web1"), ("clone/", "web2")] {
        env.write(&format!("{folder}{name}.status"), "error\n");
    }
    drift(&env, &[]).exits(3);
    env.git(&["add", "drift.tsv"]);
    env.git(&["commit", "-qm", "here"]);
    drift(&env, &["clone"]).exits(3);
    git(&["add", "drift.tsv"]);
    git(&["commit", "-qm", "there"]);
    git(&["pull", "-q", "--no-rebase", "--no-edit"]);
    let record = env.read("clone/drift.tsv");
    assert!(!record.contains("<<<<"), "{record}");
    for name in ["web1", "web2", "conf"] {
        let new = record
            .lines()
            .filter(|line| line.contains("\tnew=") && line.contains(&format!("instance={name}\t")));
        assert_eq!(new.count(), 1, "{name}: {record}");
    }
    // The history of what both have seen goes on.
    let json = drift(&env, &["clone", "--output", "json"]).json();
    let findings = json["ensembles"][0]["findings"].as_array().unwrap().clone();
    let file = findings.iter().find(|it| it["instance"] == "conf").unwrap();
    assert!(file["count"].as_u64().unwrap() >= 3, "{file}");
}
