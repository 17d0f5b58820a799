//! The section `lock`, and `--locked`.

use std::fs;

use super::{
    ALLOWED, deploy, head, locked_entry, publish, refused, said, types, use_library, world,
};
use crate::support::TestEnv;

fn deployed(repository: &str) -> TestEnv {
    let env = world();
    publish(&env, "lib", &[("types.yaml", &types("one"))], "v1.0.0");
    use_library(&env, repository);
    deploy(&env, &ALLOWED).succeeds();
    env
}

fn remove_clone(env: &TestEnv) {
    fs::remove_dir_all(env.work().join("proj/lib")).unwrap();
}

#[test]
fn a_job_writes_the_commits_and_trees_of_its_packages() {
    let env = deployed("'https://example.test/lib.git'");
    let entry = locked_entry(&env);
    let commit = head(&env, "proj/lib");
    assert_eq!(entry["url"], "https://example.test/lib.git");
    assert_eq!(entry["package_id"], "example.test/lib");
    assert_eq!(entry["commit"], commit);
    assert_eq!(
        entry["tree"],
        env.git(&["-C", "proj/lib", "rev-parse", "HEAD^{tree}"])
    );
    assert_eq!(entry["discovered_revision"], "1.0.0");
    assert_eq!(
        (&entry["tag"], entry.get("branch")),
        (&"v1.0.0".into(), None)
    );
    // The next job changes nothing in it.
    let before = env.read("proj/ensemble/ensemble.yaml");
    deploy(&env, &["--locked"]).succeeds();
    assert_eq!(env.read("proj/ensemble/ensemble.yaml"), before);
}

#[test]
fn an_ensemble_without_packages_gets_no_lock() {
    let env = TestEnv::with_ensemble(&crate::repos::ensemble(&["a"]));
    env.unfurl(["deploy", "--approve", "--locked"]).succeeds();
    assert!(!env.read("ensemble.yaml").contains("lock:"));
}

#[test]
fn locked_commits_win_over_newer_and_moved_tags() {
    let env = deployed("'https://example.test/lib.git#v1.0.0'");
    let commit = head(&env, "proj/lib");
    // The tag is forced to another commit, and a newer one exists; the old commit is in no branch any more.
    env.git(&[
        "-C",
        "origins/lib.git",
        "checkout",
        "-q",
        "--orphan",
        "other",
    ]);
    publish(&env, "lib", &[("types.yaml", &types("evil"))], "v1.0.0");
    env.git(&["-C", "origins/lib.git", "branch", "-q", "-D", "main"]);
    publish(&env, "lib", &[("types.yaml", &types("new"))], "v1.1.0");
    remove_clone(&env);
    deploy(&env, &["--allow", "network", "--force"]).succeeds();
    assert_eq!(head(&env, "proj/lib"), commit);
    assert_eq!(said(&env), "one");
    // Without the cache, the commit is asked for by its id; the moved tag is reported.
    remove_clone(&env);
    fs::remove_dir_all(env.work().parent().unwrap().join("home/.cache")).unwrap();
    env.git(&[
        "-C",
        "origins/lib.git",
        "config",
        "uploadpack.allowAnySHA1InWant",
        "true",
    ]);
    deploy(&env, &["--allow", "network", "--locked"]).succeeds();
    env.unfurl(["validate", "proj/ensemble"])
        .succeeds()
        .says(&["the tag `v1.0.0`", "names the commit"]);
    assert_eq!(head(&env, "proj/lib"), commit);
}

#[test]
fn a_lock_that_asks_for_less_than_the_model_is_replaced() {
    let env = deployed("'https://example.test/lib.git#v1.0.0'");
    publish(&env, "lib", &[("types.yaml", &types("two"))], "v1.2.0");
    use_library_again(&env, "'https://example.test/lib.git#v1.2.0'");
    refused(env.unfurl(["plan", "proj/ensemble", "--locked"]))
        .says(&["`--locked`", "is not locked"]);
    deploy(&env, &ALLOWED).succeeds();
    assert_eq!(
        (said(&env), &locked_entry(&env)["revision"]),
        ("two".to_owned(), &"v1.2.0".into())
    );
}

fn use_library_again(env: &TestEnv, repository: &str) {
    let text = env.read("proj/ensemble/ensemble.yaml");
    let lines = text.lines().map(|line| {
        let is_library = line.trim_start().starts_with("lib: ");
        if is_library {
            format!("      lib: {repository}")
        } else {
            line.to_owned()
        }
    });
    env.write(
        "proj/ensemble/ensemble.yaml",
        &(lines.collect::<Vec<_>>().join("\n") + "\n"),
    );
}

#[test]
fn locked_refuses_what_differs_before_anything_runs() {
    let env = world();
    publish(&env, "lib", &[("types.yaml", &types("one"))], "v1.0.0");
    use_library(&env, "'https://example.test/lib.git'");
    env.unfurl(["validate", "proj/ensemble", "--allow", "network"])
        .succeeds();
    for words in [
        &["deploy", "proj/ensemble", "--approve"][..],
        &["plan", "proj/ensemble"],
        &["validate", "proj/ensemble"],
    ] {
        let words = [words, &["--locked"]].concat();
        refused(env.unfurl(words)).says(&[
            "`--locked`: the repository `https://example.test/lib.git` is not locked",
            "ensemble.yaml:6",
        ]);
    }
    assert!(super::find(&env.work().join("proj/ensemble"), "said").is_none());
    deploy(&env, &[]).succeeds();
    deploy(&env, &["--locked"]).succeeds();
    env.write("proj/lib/more", "");
    refused(deploy(&env, &["--locked"])).says(&["has uncommitted changes"]);
    env.git(&["-C", "proj/lib", "add", "-A"]);
    env.git(&["-C", "proj/lib", "commit", "-q", "-m", "mine"]);
    refused(deploy(&env, &["--locked"])).says(&["is at ", "is locked"]);
}

#[test]
fn locked_refuses_another_tree_and_folders_of_this_machine() {
    let env = deployed("'https://example.test/lib.git'");
    let tree = locked_entry(&env)["tree"].as_str().unwrap().to_owned();
    let text = env
        .read("proj/ensemble/ensemble.yaml")
        .replace(&tree, &"a".repeat(40));
    env.write("proj/ensemble/ensemble.yaml", &text);
    refused(deploy(&env, &["--locked"])).says(&["has other files than those that are locked"]);
    let env = world();
    publish(&env, "lib", &[("types.yaml", &types("one"))], "");
    use_library(&env, "'file:../../origins/lib.git'");
    let words = ["validate", "proj/ensemble", "--allow", "read", "--locked"];
    env.unfurl(words)
        .exits(1)
        .says(&["is a folder of this machine, which no lock contains"]);
}

#[test]
fn a_lock_of_unfurl_is_read() {
    let env = deployed("'https://example.test/lib.git#v1.0.0'");
    let commit = head(&env, "proj/lib");
    publish(&env, "lib", &[("types.yaml", &types("evil"))], "v1.0.0");
    use_library(&env, "'https://example.test/lib.git#v1.0.0'");
    let lock = format!(
        "lock:\n  runtime: {{unfurl: {{version: 1.2.0, digest: 3ea02871}}}}\n  package_rules: []\n  repositories:\n  - \
         url: 'https://example.test/lib.git#v1.0.0:'\n    commit: {commit}\n    discovered_revision: ''\n    package_id: \
         example.test/lib\n    revision: v1.0.0\n    tag: v1.0.0\n"
    );
    let text = env.read("proj/ensemble/ensemble.yaml") + &lock;
    env.write("proj/ensemble/ensemble.yaml", &text);
    remove_clone(&env);
    deploy(&env, &["--allow", "network", "--locked"]).succeeds();
    assert_eq!(
        (head(&env, "proj/lib"), said(&env)),
        (commit, "one".to_owned())
    );
}

#[test]
fn changes_that_an_index_hides_are_found() {
    let env = deployed("'https://example.test/lib.git'");
    deploy(&env, &["--locked"]).succeeds();
    env.git(&[
        "-C",
        "proj/lib",
        "update-index",
        "--assume-unchanged",
        "types.yaml",
    ]);
    env.write("proj/lib/types.yaml", &types("evil"));
    assert_eq!(env.git(&["-C", "proj/lib", "status", "--porcelain"]), "");
    refused(deploy(&env, &["--locked"])).says(&["has uncommitted changes"]);
}

#[test]
fn locked_names_each_repository_that_is_not_locked_also_missing_ones() {
    let env = world();
    use_library(&env, "'https://example.test/lib.git'");
    let words = [
        "validate",
        "proj/ensemble",
        "--locked",
        "--allow",
        "network",
    ];
    let run = refused(env.unfurl(words));
    run.says(&["is not on this machine", "is not locked"]);
    assert!(!env.work().join("proj/lib").exists());
}
