//! Packages: which revision is used, how it gets into the project, and the section `lock`.

mod documentation;
mod hostile;
mod lock;
mod login;
mod selection;

use std::fs;
use std::path::PathBuf;

use crate::support::{Run, TestEnv};

/// An environment in which `https://example.test/NAME.git` is the repository `NAME` in the folder `origins`, and
/// `proj` holds a project with a repository of its own.
pub(crate) fn world() -> TestEnv {
    let env = TestEnv::new();
    let origins = env.work().join("origins");
    fs::create_dir(&origins).unwrap();
    let settings = format!(
        "[user]\n\tname = t\n\temail = t@example.com\n[url \"file://{}/\"]\n\tinsteadOf = https://example.test/\n",
        origins.display()
    );
    let env = env.git_settings(&settings);
    env.write(
        "proj/unfurl.yaml",
        "apiVersion: unfurl/v1.0.0\nkind: Project\n",
    );
    env.git(&["init", "-q", "-b", "main", "proj"]);
    env
}

/// Commits files to a repository in `origins`, and tags the commit.
pub(crate) fn publish(env: &TestEnv, name: &str, files: &[(&str, &str)], tag: &str) -> String {
    let folder = format!("origins/{name}.git");
    if !env.work().join(&folder).exists() {
        env.git(&["init", "-q", "-b", "main", &folder]);
    }
    for (path, text) in files {
        env.write(&format!("{folder}/{path}"), text);
    }
    env.git(&["-C", &folder, "add", "-A"]);
    env.git(&[
        "-C",
        &folder,
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "change",
    ]);
    if !tag.is_empty() {
        env.git(&["-C", &folder, "tag", "-f", tag]);
    }
    env.git(&["-C", &folder, "rev-parse", "HEAD"])
}

/// A library with a node type whose operation prints a word.
pub(crate) fn types(word: &str) -> String {
    format!(
        "tosca_definitions_version: tosca_simple_unfurl_1_0_0\nnode_types:\n  Speaker:\n    derived_from: \
         tosca.nodes.Root\n    interfaces:\n      Standard: {{configure: echo {word} > said}}\n"
    )
}

/// Writes an ensemble that uses `types.yaml` of the repository `lib`.
pub(crate) fn use_library(env: &TestEnv, repository: &str) {
    let text = format!(
        "apiVersion: unfurl/v1.0.0\nkind: Ensemble\nspec:\n  service_template:\n    repositories:\n      lib: \
         {repository}\n    imports:\n    - {{file: types.yaml, repository: lib}}\n    topology_template:\n      \
         node_templates:\n        it: {{type: Speaker}}\n"
    );
    env.write("proj/ensemble/ensemble.yaml", &text);
}

pub(crate) fn deploy(env: &TestEnv, words: &[&str]) -> Run {
    let all = [&["deploy", "proj/ensemble", "--approve"], words].concat();
    env.unfurl(all)
}

/// Asserts that a command was refused: `validate` exits with 1, and jobs that cannot be loaded with 64.
#[track_caller]
pub(crate) fn refused(run: Run) -> Run {
    assert!(run.code == 1 || run.code == 64, "{run}");
    run
}

/// The word that the library of the last deployment has printed.
pub(crate) fn said(env: &TestEnv) -> String {
    let file = find(&env.work().join("proj/ensemble"), "said");
    fs::read_to_string(file.expect("no operation has run"))
        .unwrap()
        .trim()
        .to_owned()
}

fn find(folder: &std::path::Path, name: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.filter_map(Result::ok);
    entries.map(|entry| entry.path()).find_map(|path| {
        if path.is_dir() {
            find(&path, name)
        } else {
            path.ends_with(name).then_some(path)
        }
    })
}

/// The commit that a clone has checked out.
pub(crate) fn head(env: &TestEnv, clone: &str) -> String {
    env.git(&["-C", clone, "rev-parse", "HEAD"])
}

pub(crate) fn locked_entry(env: &TestEnv) -> serde_json::Value {
    let ensemble: serde_json::Value =
        serde_yaml::from_str(&env.read("proj/ensemble/ensemble.yaml")).unwrap();
    ensemble["lock"]["repositories"][0].clone()
}

pub(crate) const ALLOWED: [&str; 2] = ["--allow", "network"];
