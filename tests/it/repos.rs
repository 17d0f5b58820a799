//! Fixtures with real git repositories: one with an ensemble, or clones with a bare remote.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use crate::support::{Run, TestEnv};

/// An ensemble with the given nodes, each of which prints a text.
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

/// An environment in which `work` is a repository with a committed ensemble.
pub(crate) fn with_repository(nodes: &[&str]) -> TestEnv {
    let env = TestEnv::with_ensemble(&ensemble(nodes));
    env.git(&["init", "-q", "-b", "main"]);
    env.git(&["add", "-A"]);
    env.git(&["commit", "-q", "-m", "ensemble"]);
    env
}

/// An environment in which `a` and `b` are clones of the bare `origin.git` with an ensemble.
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

pub(crate) fn deploy(env: &TestEnv, clone: &str, words: &[&str]) -> Run {
    env.unfurl([&["deploy", clone, "--approve"], words].concat())
}

/// Asserts that `git fsck` finds no error in the repository.
#[track_caller]
pub(crate) fn is_whole(env: &TestEnv, repository: &str) {
    env.git(&["-C", repository, "fsck", "--strict", "--no-progress"]);
}

/// The files that a commit changes, with ids masked.
pub(crate) fn files_of(env: &TestEnv, repository: &str, commit: &str) -> Vec<String> {
    let words = ["-C", repository, "show", "--format=", "--name-only", commit];
    env.git(&words).lines().map(masked).collect()
}

/// The subjects of the history with ids masked, newest first.
pub(crate) fn subjects(env: &TestEnv, repository: &str, of: &str) -> Vec<String> {
    let words = ["-C", repository, "log", "--format=%s", of];
    env.git(&words).lines().map(masked).collect()
}

/// The text with job ids, including their times, masked.
pub(crate) fn masked(text: &str) -> String {
    let id = regex::Regex::new(r"(job[-\d]+-)?\bA[0-9A-Za-z]{7}([0-9a-f]{4})?\b").unwrap();
    id.replace_all(text, "ID").into_owned()
}

pub(crate) fn hook(env: &TestEnv, path: &str, script: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    env.write(path, &format!("#!/bin/sh\n{script}\n"));
    let path = env.work().join(path);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs git, which may fail. Returns the exit code and the complete output.
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
