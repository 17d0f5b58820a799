//! Places and options for which nothing is created.

use super::{call, git, run_next, without_identity};
use crate::support::TestEnv;

#[test]
fn nothing_is_written_where_something_is() {
    let env = TestEnv::new();
    env.write("full/a", "1");
    env.write("file", "2");
    std::os::unix::fs::symlink("nowhere", env.work().join("dangling")).unwrap();
    let before = env.names();
    for (words, texts) in [
        (
            &["init", "full"][..],
            &[
                "`",
                "/full` is not empty: it has `a`",
                "unfurl init my-project",
            ][..],
        ),
        (&["init", "--bare", "full"], &["is not empty"]),
        (&["init", "file"], &["is a file"]),
        (&["init", "file/x"], &["is a file"]),
        (
            &["init", "dangling"],
            &["is a symbolic link that leads nowhere"],
        ),
        (
            &["init", "dangling/x"],
            &["is a symbolic link that leads nowhere"],
        ),
        (&["init", "a\nb"], &["has a control character"]),
        (
            &["init", "x", "../y"],
            &["cannot be the folder of an ensemble"],
        ),
        (
            &["init", "x", "/y"],
            &["cannot be the folder of an ensemble"],
        ),
        (
            &["init", "x", "local/y"],
            &["cannot be the folder of an ensemble"],
        ),
        (
            &["init", "x", ".git"],
            &["cannot be the folder of an ensemble"],
        ),
        (
            &["init", "--template", "helo", "x"],
            &["no template `helo`", "`hello`", "`webapp`"],
        ),
        (
            &["init", "--skeleton", "awz", "x"],
            &["no skeleton `awz`", "`aws`"],
        ),
        (&["init", "--existing", "x"], &["is in no git repository"]),
        (&["init", "/proc/x"], &["could not create"]),
    ] {
        env.unfurl(words).exits(1).says(texts);
        assert_eq!(env.names(), before, "{words:?}");
    }
    assert_eq!(env.read("full/a"), "1");
    assert_eq!(env.read("file"), "2");
}

#[test]
fn options_that_contradict_each_other_create_nothing() {
    let env = TestEnv::new();
    for words in [
        &["init", "x", "--var", "a", "1", "--var", "a", "2"][..],
        &["init", "x", "--mono", "--submodule"],
        &["init", "x", "--template", "hello", "--bare"],
        &["init", "x", "y", "--bare"],
        &["init", "x", "--bare", "--empty"],
        &["init", "x", "--use-deployment-blueprint", "b"],
    ] {
        env.unfurl(words).exits(2);
        assert_eq!(env.names(), [""; 0], "{words:?}");
    }
}

#[test]
fn links_in_a_project_lead_no_ensemble_out_of_it() {
    let env = TestEnv::new();
    env.unfurl(["init", "--mono", "proj"]).succeeds();
    std::fs::create_dir(env.work().join("outside")).unwrap();
    std::os::unix::fs::symlink("../outside", env.work().join("proj/link")).unwrap();
    call(&env, "proj", &["init", ".", "link/second"])
        .exits(1)
        .says(&["symbolic link"]);
    let entries = std::fs::read_dir(env.work().join("outside")).unwrap();
    assert_eq!(entries.count(), 0);
}

#[test]
fn a_submodule_needs_a_commit_and_leaves_nothing_without_one() {
    let env = without_identity();
    env.unfurl(["init", "--submodule", "x"]).exits(1).says(&[
        "a submodule needs a commit",
        "git config --global user.name",
    ]);
    assert_eq!(env.names(), [""; 0]);
}

#[test]
fn the_repository_around_a_new_project_leaves_it_out() {
    let env = TestEnv::new();
    env.git(&["init", "-q", "."]);
    env.unfurl(["init", "sub/my proj*"])
        .succeeds()
        .prints(&[".git/info/exclude"]);
    env.unfurl(["init", "--bare", "small"]).succeeds();
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    env.write("sub/my projects", "");
    assert_eq!(env.git(&["status", "--porcelain"]), "?? sub/");
}

#[test]
fn neither_git_nor_a_home_folder_is_needed() {
    let env = TestEnv::new().variable("PATH", "/nonexistent");
    env.unfurl(["init", "proj"]).succeeds();
    assert_eq!(git(&env, "proj", &["log", "--format=%s"]).len(), 2);
    for home in [None, Some("")] {
        let env = without_identity().without("UNFURL_HOME");
        let env = match home {
            Some(home) => env.variable("HOME", home),
            None => env.without("HOME"),
        };
        env.unfurl(["init", "--template", "hello", "hi"]).succeeds();
        call(&env, "hi", &["deploy", "--approve"]).succeeds();
    }
}

#[test]
fn odd_names_work_and_the_printed_command_quotes_them() {
    for name in [
        "my proj", "-x", "it's", "ünï", "a;b", "#x", "1e5", "..x", "null",
    ] {
        let env = TestEnv::new();
        let run = env.unfurl(["init", "--mono", "--", name]).succeeds();
        run_next(&env, &run, "--approve").succeeds();
        assert_eq!(
            git(&env, name, &["status", "--porcelain"]),
            [""; 0],
            "{name}"
        );
    }
    let env = TestEnv::new();
    env.unfurl(["init", "proj", "it's: odd"]).succeeds();
    call(&env, "proj", &["deploy", "--approve"]).succeeds();
}

#[test]
fn an_empty_folder_is_filled_and_stays_the_same_folder() {
    use std::os::unix::fs::MetadataExt as _;
    let env = TestEnv::new();
    let inode = |name: &str| std::fs::metadata(env.work().join(name)).unwrap().ino();
    std::fs::create_dir(env.work().join("here")).unwrap();
    let before = inode("here");
    let run = call(&env, "here", &["init"]).succeeds();
    assert_eq!(inode("here"), before);
    assert!(run.stdout.ends_with("Next: unfurl deploy\n"), "{run}");
    call(&env, "here", &["deploy", "--approve"]).succeeds();
    std::fs::create_dir(env.work().join("there")).unwrap();
    std::os::unix::fs::symlink("there", env.work().join("link")).unwrap();
    env.unfurl(["init", "link"]).succeeds();
    assert!(env.work().join("link").is_symlink());
    call(&env, "there", &["deploy", "--approve"]).succeeds();
    env.unfurl(["init", "deep/er/proj"]).succeeds();
    assert_eq!(env.names(), ["deep", "here", "link", "there"]);
}
