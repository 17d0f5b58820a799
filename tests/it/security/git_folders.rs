//! Security of `.git` folders that came with a project: links, pipes and pointers in them (S8, S10, S18).

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::support::{Run, TestEnv};

use super::links::{Outside, made};
use super::special_files::{Odd, ends_in_time, place};

/// An ensemble in a git repository with one commit.
fn committed() -> TestEnv {
    let env = made("true");
    env.git(&["init", "-q", "-b", "main"]);
    env.git(&["add", "."]);
    env.git(&["commit", "-qm", "first"]);
    env
}

fn deploy(env: &TestEnv) -> Run {
    env.unfurl(["deploy", "--approve", "--commit"])
        .does_not_panic()
}

/// V9, siblings: a commit appends to `logs/HEAD`, and writes `config`, `refs` and `info`.
#[test]
fn s10_a_link_in_the_git_folder_is_not_written_through() {
    for name in [
        "HEAD",
        "config",
        "index",
        "info",
        "info/exclude",
        "logs",
        "logs/HEAD",
        "logs/refs",
        "logs/refs/heads/main",
        "objects",
        "objects/pack",
        "refs",
        "refs/heads",
        "refs/heads/main",
        "packed-refs",
    ] {
        let outside = Outside::new();
        let before = outside.all();
        let env = committed();
        let path = env.work().join(".git").join(name);
        let target = if path.is_dir() {
            outside.path().to_owned()
        } else {
            outside.path().join("bashrc")
        };
        fs::remove_dir_all(&path).ok();
        fs::remove_file(&path).ok();
        symlink(target, &path).unwrap();
        let run = deploy(&env);
        assert_eq!(outside.all(), before, "{name}: {run}");
        env.unfurl(["commit", "-m", "x"]).does_not_panic();
        assert_eq!(outside.all(), before, "{name}: {run}");
    }
}

/// The user may link parts of a `.git` folder, as `repo` does.
#[test]
fn s10_a_link_in_the_git_folder_of_a_trusted_project_is_followed() {
    let env = committed();
    let logs = env.work().join(".git/logs");
    let elsewhere = env.work().with_file_name("logs");
    fs::rename(&logs, &elsewhere).unwrap();
    symlink(&elsewhere, &logs).unwrap();
    let refused = deploy(&env);
    refused
        .exits(1)
        .says(&["is a symbolic link", "unfurl trust"]);
    let arguments = ["deploy", "--approve", "--commit", "--allow", "git-config"];
    env.unfurl(arguments).succeeds();
    let log = fs::read_to_string(elsewhere.join("HEAD")).unwrap();
    assert_eq!(log.lines().count(), 2, "{log}");
}

/// A hostile `.git` file makes `--commit` write into a repository of the user.
#[test]
fn s8_the_git_folder_of_another_working_tree_is_not_used() {
    let mine = committed();
    let history = |git: &Path| fs::read_to_string(git.join("logs/HEAD")).unwrap();
    // One is the `.git` of a working tree, and one stands alone.
    let alone = mine.work().with_file_name("store");
    fs::rename(mine.work().join(".git"), &alone).unwrap();
    mine.git(&["init", "-q"]);
    mine.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    for git in [alone, mine.work().join(".git")] {
        let before = history(&git);
        let env = made("true");
        env.write(".git", &format!("gitdir: {}\n", git.display()));
        deploy(&env).exits(1);
        assert_eq!(history(&git), before);
        fs::remove_file(env.work().join(".git")).unwrap();
        symlink(&git, env.work().join(".git")).unwrap();
        deploy(&env).exits(1);
        assert_eq!(history(&git), before);
    }
    // A linked working tree shares the objects and branches of another git folder.
    let git = mine.work().join(".git");
    let before = history(&git);
    let env = made("true");
    env.write(".git", "gitdir: own\n");
    env.write("own/HEAD", "ref: refs/heads/new\n");
    env.write("own/commondir", &format!("{}\n", git.display()));
    let back = env.work().join(".git");
    env.write("own/gitdir", &format!("{}\n", back.display()));
    deploy(&env)
        .exits(1)
        .says(&["uses the git folder", "unfurl trust"]);
    assert_eq!(history(&git), before);
    assert!(!git.join("refs/heads/new").exists());
}

/// Linked working trees and submodules name their working tree.
#[test]
fn s8_linked_working_trees_and_submodules_commit_as_before() {
    let env = committed();
    env.git(&["worktree", "add", "-q", "tree"]);
    let url = env.work().display().to_string();
    let outer = TestEnv::new();
    outer.git(&["init", "-q"]);
    let words = ["-c", "protocol.file.allow=always", "submodule", "add", "-q"];
    outer.git(&[&words[..], &[&url, "part"]].concat());
    for (env, folder) in [(&env, "tree"), (&outer, "part")] {
        env.unfurl(["deploy", "--approve", "--commit", folder])
            .succeeds();
        let log = env.git(&["-C", folder, "log", "--format=%s"]);
        assert_eq!(log.lines().count(), 2, "{folder}: {log}");
    }
}

/// V10 b, siblings: libgit2 waits for ever for a pipe.
#[test]
fn s18_no_file_of_a_git_folder_makes_the_program_wait() {
    for name in [
        "config",
        "HEAD",
        "ORIG_HEAD",
        "index",
        "shallow",
        "packed-refs",
        "info/exclude",
        "info/attributes",
        "objects/info/alternates",
        "logs/HEAD",
        "logs/refs/heads/main",
        "refs/heads/main",
        "commondir",
        "../.gitignore",
        "../.gitattributes",
    ] {
        let env = committed();
        let _open = place(&env, &format!(".git/{name}"), Odd::Pipe);
        ends_in_time(&env, &["plan"]);
        ends_in_time(&env, &["deploy", "--approve", "--commit"]);
    }
}

/// V10 b, siblings: settings name files, and include files with settings.
#[test]
fn s18_no_file_that_a_setting_of_git_names_makes_the_program_wait() {
    for setting in [
        "core.excludesFile",
        "core.attributesFile",
        "include.path",
        "includeIf.gitdir:**.path",
        "user.signingKey",
    ] {
        for file in ["../pipe", "pipe", "/dev/zero", "indirect"] {
            let env = committed();
            let _open = place(&env, "pipe", Odd::Pipe);
            env.write(".git/indirect", "[include]\n path = ../pipe\n");
            env.git(&["config", "commit.gpgsign", "true"]);
            let text = env.read(".git/config");
            let (section, name) = setting.split_once('.').unwrap();
            let header = match name.split_once(".path").or(name.rsplit_once('.')) {
                Some((condition, _)) => format!("[{section} \"{condition}\"]\n path"),
                None => format!("[{section}]\n {name}"),
            };
            env.write(".git/config", &format!("{text}{header} = {file}\n"));
            ends_in_time(&env, &["plan"]);
            ends_in_time(&env, &["commit", "-m", "x"]);
        }
    }
}

/// V9, siblings: settings make git read any file.
#[test]
fn s9_settings_of_a_repository_name_no_foreign_file() {
    for (setting, inside) in [
        ("core.excludesFile", ".ignored"),
        ("core.attributesFile", "data/attributes"),
        ("include.path", "../more"),
        ("includeIf.gitdir:**.path", "../more"),
    ] {
        let env = committed();
        let foreign = env.work().with_file_name("foreign");
        for file in [
            foreign.clone(),
            env.work().join("more"),
            env.work().join(".ignored"),
        ] {
            fs::write(file, "").unwrap();
        }
        env.write("data/attributes", "");
        env.git(&["config", setting, inside]);
        env.unfurl(["commit", "-m", "x"]).succeeds();
        env.git(&["config", "--unset", setting]);
        env.git(&["config", setting, foreign.to_str().unwrap()]);
        let run = env.unfurl(["commit", "-m", "x"]).exits(1);
        run.says(&["lies outside of the repository", "git config --global"]);
    }
}

/// V10 b, siblings: a commit reads the files that have changed.
#[test]
fn s18_no_committed_file_makes_the_program_wait() {
    for name in ["ensemble.yaml", "jobs.tsv", "step.sh", "changes/job.yaml"] {
        let env = committed();
        let _open = place(&env, name, Odd::Pipe);
        ends_in_time(&env, &["commit", "-m", "x"]);
        ends_in_time(&env, &["deploy", "--approve", "--commit"]);
    }
}

/// V10, siblings: git reads its small files as a whole.
#[test]
fn s18_a_huge_file_of_git_is_refused() {
    let huge = |env: &TestEnv, name: &str| {
        let file = fs::File::create(env.work().join(name)).unwrap();
        file.set_len(8 << 30).unwrap();
        ends_in_time(env, &["plan"]);
        ends_in_time(env, &["commit", "-m", "x"]).says(&["is larger than"]);
    };
    huge(&made("true"), ".git");
    for name in ["config", "HEAD", "info/exclude", "../.gitattributes"] {
        huge(&committed(), &format!(".git/{name}"));
    }
}
