//! Which revision of a package is used, and when it is fetched.

use super::{ALLOWED, deploy, head, publish, refused, said, types, use_library, world};
use crate::support::TestEnv;

const URL: &str = "{url: 'https://example.test/lib.git'}";

fn with_library(repository: &str) -> TestEnv {
    let env = world();
    publish(&env, "lib", &[("types.yaml", &types("one"))], "v1.0.0");
    publish(&env, "lib", &[("types.yaml", &types("two"))], "v1.2.0");
    publish(&env, "lib", &[("types.yaml", &types("tip"))], "");
    use_library(&env, repository);
    env
}

#[test]
fn a_missing_repository_is_reported_with_the_command_that_gets_it_and_nothing_is_fetched() {
    let env = with_library(URL);
    for words in [
        &["validate", "proj/ensemble"][..],
        &["plan", "proj/ensemble"],
        &["deploy", "proj/ensemble", "--approve"],
    ] {
        refused(env.unfurl(words)).says(&[
            "the repository `https://example.test/lib.git` is not on this machine",
            "ensemble.yaml:8",
            "unfurl validate --allow network",
            "unfurl trust",
        ]);
    }
    assert!(!env.work().join("proj/lib").exists());
    assert!(!env.work().join("proj/tosca_repositories").exists());
}

#[test]
fn the_latest_tag_is_cloned_into_the_project_and_git_leaves_the_clone_out() {
    let env = with_library(URL);
    deploy(&env, &ALLOWED)
        .succeeds()
        .says(&["was cloned to", "at v1.2.0"]);
    assert_eq!(said(&env), "two");
    assert_eq!(
        head(&env, "proj/lib"),
        env.git(&["-C", "origins/lib.git", "rev-parse", "v1.2.0"])
    );
    let origin = env.git(&["-C", "proj/lib", "config", "remote.origin.url"]);
    assert_eq!(origin, "https://example.test/lib.git");
    let status = env.git(&["-C", "proj", "status", "--porcelain"]);
    assert!(!status.contains("lib"), "{status}");
    assert!(
        env.work()
            .join("proj/tosca_repositories/lib/types.yaml")
            .exists()
    );
    // Without any network, everything works on.
    std::fs::rename(env.work().join("origins"), env.work().join("gone")).unwrap();
    deploy(&env, &[]).succeeds();
    env.unfurl(["validate", "proj/ensemble"]).succeeds();
}

#[test]
fn a_trusted_project_needs_no_option() {
    let env = with_library(URL).trusted();
    refused(env.unfurl(["plan", "proj/ensemble"]));
    deploy(&env, &[]).succeeds();
    assert_eq!(said(&env), "two");
}

#[test]
fn a_version_a_branch_and_a_commit_can_be_asked_for() {
    for (revision, word) in [("v1.0.0", "one"), ("1.0.0", "one"), ("main", "tip")] {
        let env = with_library(&format!(
            "{{url: 'https://example.test/lib.git', revision: '{revision}'}}"
        ));
        deploy(&env, &ALLOWED).succeeds();
        assert_eq!(said(&env), word, "{revision}");
    }
    let env = with_library(URL);
    let commit = env.git(&["-C", "origins/lib.git", "rev-parse", "v1.0.0"]);
    use_library(&env, &format!("'https://example.test/lib.git#{commit}'"));
    deploy(&env, &ALLOWED).succeeds();
    assert_eq!(said(&env), "one");
}

#[test]
fn a_wrong_tag_is_reported_with_those_that_exist() {
    let env = with_library("'https://example.test/lib.git#v1.9.0'");
    refused(deploy(&env, &ALLOWED)).says(&["has no branch, tag or commit `v1.9.0`", "v1.2.0"]);
    assert!(!env.work().join("proj/lib").exists());
}

/// Two libraries that need the package `base` in these versions.
fn with_diamond(first: &str, second: &str) -> TestEnv {
    let env = world();
    for (word, tag) in [("b1", "v1.0.0"), ("b2", "v1.4.0"), ("b3", "v2.0.0")] {
        publish(&env, "base", &[("types.yaml", &types(word))], tag);
    }
    for (name, version) in [("x", first), ("y", second)] {
        let text = format!(
            "tosca_definitions_version: tosca_simple_unfurl_1_0_0\nrepositories:\n  base_{name}: \
             {{url: 'https://example.test/base.git', revision: {version}}}\nimports:\n- {{file: types.yaml, repository: base_{name}}}\n"
        );
        publish(&env, name, &[("all.yaml", &text)], "v1.0.0");
    }
    let text = "apiVersion: unfurl/v1.0.0\nkind: Ensemble\nspec:\n  service_template:\n    repositories:\n      \
                x: 'https://example.test/x.git'\n      y: 'https://example.test/y.git'\n    imports:\n    - {file: \
                all.yaml, repository: x}\n    - {file: all.yaml, repository: y}\n    topology_template:\n      \
                node_templates:\n        it: {type: Speaker}\n";
    env.write("proj/ensemble/ensemble.yaml", text);
    env
}

#[test]
fn packages_of_packages_are_fetched_and_the_highest_minimal_version_is_used() {
    let env = with_diamond("v1.4.0", "v1.0.0");
    deploy(&env, &ALLOWED).succeeds();
    assert_eq!(said(&env), "b2");
    let env = with_diamond("v1.0.0", "v1.4.0");
    deploy(&env, &ALLOWED).succeeds();
    assert_eq!(said(&env), "b2");
    assert_eq!(
        head(&env, "proj/base"),
        env.git(&["-C", "origins/base.git", "rev-parse", "v1.4.0"])
    );
}

#[test]
fn versions_that_exclude_each_other_are_reported_with_both_places() {
    let env = with_diamond("v1.0.0", "v2.0.0");
    let run = refused(deploy(&env, &ALLOWED));
    let run = run.says(&[
        "cannot have the revisions `v1.0.0` and `v2.0.0`",
        "proj/x/all.yaml:3",
        "proj/y/all.yaml:3",
    ]);
    assert!(
        super::find(&env.work().join("proj/ensemble"), "said").is_none(),
        "{run}"
    );
}

#[test]
fn a_clone_with_another_revision_is_reported_and_corrected_unless_it_has_changes() {
    let env = with_library("'https://example.test/lib.git#v1.0.0'");
    deploy(&env, &ALLOWED).succeeds();
    use_library(&env, "'https://example.test/lib.git#v1.2.0'");
    env.unfurl(["validate", "proj/ensemble"])
        .exits(1)
        .says(&["is at v1.0.0", "but v1.2.0 is needed"]);
    env.unfurl(["validate", "proj/ensemble", "--allow", "network"])
        .succeeds();
    assert_eq!(
        head(&env, "proj/lib"),
        env.git(&["-C", "origins/lib.git", "rev-parse", "v1.2.0"])
    );
    use_library(&env, "'https://example.test/lib.git#v1.0.0'");
    env.write("proj/lib/types.yaml", &types("mine"));
    deploy(&env, &ALLOWED)
        .succeeds()
        .says(&["it has uncommitted changes"]);
    assert_eq!(said(&env), "mine");
}

#[test]
fn rules_of_the_environment_and_of_a_variable_replace_packages() {
    let env = with_library("'https://example.test/lib.git#v1.0.0'");
    publish(&env, "fork", &[("types.yaml", &types("fork"))], "v1.0.0");
    let rules = "example.test/lib https://example.test/fork.git";
    let words = ["deploy", "proj/ensemble", "--approve", "--allow", "network"];
    env.unfurl_with(("UNFURL_PACKAGE_RULES", rules), &words)
        .succeeds();
    assert_eq!(said(&env), "fork");
    let env = with_library("example.test/lib");
    env.write(
        "proj/unfurl.yaml",
        "apiVersion: unfurl/v1.0.0\nkind: Project\nenvironments:\n  defaults:\n    repositories:\n      \
         example.test/*: {revision: main}\n",
    );
    deploy(&env, &ALLOWED).succeeds();
    assert_eq!(said(&env), "tip");
    env.write(
        "proj/unfurl.yaml",
        "apiVersion: unfurl/v1.0.0\nkind: Project\nenvironments:\n  defaults:\n    repositories:\n      \
         example.test/*: {}\n",
    );
    env.unfurl(["validate", "proj/ensemble"])
        .exits(1)
        .says(&["sets neither a package", "unfurl.yaml:6"]);
}

#[test]
fn a_package_in_a_folder_has_tags_of_its_own() {
    let env = world();
    publish(
        &env,
        "lib",
        &[("sub/types.yaml", &types("one"))],
        "sub/v1.0.0",
    );
    publish(
        &env,
        "lib",
        &[("sub/types.yaml", &types("other"))],
        "v9.0.0",
    );
    use_library(&env, "example.test/lib.git/sub");
    deploy(&env, &ALLOWED).succeeds().says(&["at sub/v1.0.0"]);
    assert_eq!(said(&env), "one");
}

#[test]
fn two_commands_at_the_same_time_share_the_cache() {
    let env = with_library(URL);
    env.write(
        "proj2/unfurl.yaml",
        "apiVersion: unfurl/v1.0.0\nkind: Project\n",
    );
    env.write(
        "proj2/ensemble/ensemble.yaml",
        &env.read("proj/ensemble/ensemble.yaml"),
    );
    let runs = ["proj", "proj2"].map(|project| {
        let ensemble = format!("{project}/ensemble");
        env.start(["deploy", &ensemble, "--approve", "--allow", "network"])
    });
    for run in runs {
        run.ends().succeeds();
    }
    assert_eq!(head(&env, "proj/lib"), head(&env, "proj2/lib"));
}

#[test]
fn the_repository_of_the_project_itself_is_used_as_it_is() {
    let env = world();
    env.write("proj/types.yaml", &types("own"));
    use_library(&env, "'https://example.test/proj.git#v9.0.0'");
    env.git(&[
        "-C",
        "proj",
        "remote",
        "add",
        "origin",
        "https://example.test/proj.git",
    ]);
    env.git(&["-C", "proj", "add", "-A"]);
    env.git(&["-C", "proj", "commit", "-q", "-m", "all"]);
    let before = head(&env, "proj");
    deploy(&env, &["--locked", "--skip-upstream-check"]).succeeds();
    assert_eq!((said(&env), head(&env, "proj")), ("own".to_owned(), before));
    assert!(!env.read("proj/ensemble/ensemble.yaml").contains("lock:"));
}
