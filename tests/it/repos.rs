//! Real git repositories for the tests: an ensemble in one, bare ones to push to.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use crate::support::{Run, TestEnv};

/// An ensemble with nodes `a`, `b` and so on, each of which prints something.
pub(crate) fn ensemble(nodes: &[&str]) -> String {
    let mut text = "apiVersion: unfurl/v1.0.0\nkind: Ensemble\nspec:\n  service_template:\n    \
                    topology_template:\n      node_templates:\n"
        .to_owned();
    for node in nodes {
        writeln!(
            text,
            "        {node}: {{type: unfurl.nodes.Generic, interfaces: {{Standard: {{configure: \
             echo {node}}}}}}}"
        )
        .unwrap();
    }
    text
}

/// A world in which `work` is a repository with an ensemble that is committed.
pub(crate) fn with_repository(nodes: &[&str]) -> TestEnv {
    let env = TestEnv::with_ensemble(&ensemble(nodes));
    env.git(&["init", "-q", "-b", "main"]);
    env.git(&["add", "-A"]);
    env.git(&["commit", "-q", "-m", "ensemble"]);
    env
}

/// A world in which `a` and `b` are clones of the bare `origin.git` with an ensemble in it.
pub(crate) fn with_clones(nodes: &[&str]) -> TestEnv {
    let env = TestEnv::new();
    env.git(&["init", "-q", "--bare", "-b", "main", "origin.git"]);
    env.git(&["init", "-q", "-b", "main", "a"]);
    env.write("a/ensemble.yaml", &ensemble(nodes));
    env.git(&["-C", "a", "add", "-A"]);
    env.git(&["-C", "a", "commit", "-q", "-m", "ensemble"]);
    let origin = env.work().join("origin.git");
    env.git(&[
        "-C",
        "a",
        "remote",
        "add",
        "origin",
        origin.to_str().unwrap(),
    ]);
    env.git(&["-C", "a", "push", "-q", "-u", "origin", "main"]);
    env.git(&["clone", "-q", origin.to_str().unwrap(), "b"]);
    env
}

/// Deploys the ensemble of a clone.
pub(crate) fn deploy(env: &TestEnv, clone: &str, words: &[&str]) -> Run {
    env.unfurl([&["deploy", clone, "--approve"], words].concat())
}

/// Fails the test unless git finds the repository whole.
#[track_caller]
pub(crate) fn is_whole(env: &TestEnv, repository: &str) {
    env.git(&["-C", repository, "fsck", "--strict", "--no-progress"]);
}

/// What a commit changes, by name.
pub(crate) fn files_of(env: &TestEnv, repository: &str, commit: &str) -> Vec<String> {
    let words = ["-C", repository, "show", "--format=", "--name-only", commit];
    env.git(&words).lines().map(masked).collect()
}

/// The subjects of the history, the newest first, ids masked.
pub(crate) fn subjects(env: &TestEnv, repository: &str, of: &str) -> Vec<String> {
    let words = ["-C", repository, "log", "--format=%s", of];
    env.git(&words).lines().map(masked).collect()
}

/// The text with ids of jobs, and the times before them, masked.
pub(crate) fn masked(text: &str) -> String {
    let id = regex::Regex::new(r"(job[-\d]+-)?\bA[0-9A-Za-z]{7}([0-9a-f]{4})?\b").unwrap();
    id.replace_all(text, "ID").into_owned()
}

/// Writes a hook.
pub(crate) fn hook(env: &TestEnv, path: &str, script: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    env.write(path, &format!("#!/bin/sh\n{script}\n"));
    let path = env.work().join(path);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs git where it may fail; gives its exit code and all it said.
pub(crate) fn try_git(folder: &Path, words: &[&str]) -> (i32, String) {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
        .args(words)
        .current_dir(folder)
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    (
        output.status.code().unwrap_or(-1),
        String::from_utf8_lossy(&said).into_owned(),
    )
}
