//! What a clone must not do: run programs of the source, grant trust, leave parts, keep passwords.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use super::{commit, with_project};

const URL: &str = "https://example.test/app.git";

#[test]
fn programs_of_the_source_do_not_run_and_its_expressions_stay_refused() {
    let env = with_project();
    let folder = "origins/app.git";
    let evil = env.work().join("evil");
    let touch = format!("touch {}", evil.display());
    env.write("origins/app.git/.gitattributes", "* filter=evil\n");
    let text = "apiVersion: unfurl/v1.0.0\nkind: Ensemble\nspec:\n  service_template:\n    topology_template:\n      \
                node_templates:\n        it:\n          type: tosca.nodes.Root\n          properties: {p: \"{{ 'x' | \
                mandatory }}{{ lookup('pipe', 'touch EVIL') }}\"}\n          interfaces: {Standard: {configure: \"echo {{ \
                SELF.p }}\"}}\n";
    let text = text.replace("EVIL", &evil.display().to_string());
    env.write("origins/app.git/ensemble/ensemble.yaml", &text);
    commit(&env, folder);
    for hook in ["post-checkout", "post-commit", "reference-transaction"] {
        let path = env.work().join(folder).join(".git/hooks").join(hook);
        fs::write(&path, format!("#!/bin/sh\n{touch}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    env.git(&["-C", folder, "config", "filter.evil.smudge", &touch]);
    env.git(&["-C", folder, "config", "core.fsmonitor", &touch]);
    for source in [URL, folder] {
        let name = if source == URL { "mine" } else { "copy" };
        env.unfurl(["clone", source, name]).succeeds();
        env.unfurl(["plan", name]);
        assert!(!evil.exists(), "{source}");
    }
}

#[test]
fn a_clone_is_trusted_only_if_the_user_lists_its_address() {
    let env = with_project();
    let home = env.work().join("trusting");
    let write = |trusted: &str| {
        let text = format!("apiVersion: unfurl/v1.0.0\nkind: Project\n{trusted}");
        env.write("trusting/unfurl.yaml", &text);
    };
    write("");
    let unfurl = |words: &[&str]| env.unfurl_with(("UNFURL_HOME", home.to_str().unwrap()), words);
    unfurl(&["clone", URL, "mine"]).succeeds();
    let listed = unfurl(&["trust", "--list", "--output", "json"])
        .succeeds()
        .json();
    assert_eq!(
        (&listed[0]["reason"], &listed[0]["origin"]),
        (&"cloned".into(), &URL.into())
    );
    let use_missing = |name: &str| {
        let text = env.read(&format!("{name}/ensemble/ensemble.yaml"));
        let text = text.replace("service_template:\n", "service_template:\n    repositories: {lib: 'https://example.test/lib.git'}\n    imports: [{file: types.yaml, repository: lib}]\n");
        env.write(&format!("{name}/ensemble/ensemble.yaml"), &text);
    };
    crate::packages::publish(
        &env,
        "lib",
        &[("types.yaml", &crate::packages::types("one"))],
        "",
    );
    use_missing("mine");
    crate::packages::refused(unfurl(&["deploy", "mine", "--approve"]));
    write(&format!("trusted: ['{URL}']\n"));
    unfurl(&["deploy", "mine", "--approve"])
        .succeeds()
        .says(&["was cloned to"]);
}

#[test]
fn a_clone_that_is_killed_leaves_all_or_nothing() {
    let env = with_project();
    for number in 0..200 {
        env.write(
            &format!("origins/app.git/files/{number}"),
            &"x".repeat(number),
        );
    }
    commit(&env, "origins/app.git");
    let whole = env.git(&["-C", "origins/app.git", "ls-files"]);
    for time in [5, 15, 30, 50, 80, 120, 180, 260] {
        let folder = format!("k{time}");
        env.killed_after(Duration::from_millis(time), &["clone", URL, &folder]);
        if env.work().join(&folder).exists() {
            assert_eq!(env.git(&["-C", &folder, "ls-files"]), whole, "{time}");
            assert_eq!(
                env.git(&["-C", &folder, "status", "--porcelain"]),
                "",
                "{time}"
            );
        }
    }
    // The cache works on.
    env.unfurl(["clone", URL, "last"]).succeeds();
    env.git(&["-C", "last", "fsck", "--strict", "--no-progress"]);
}

#[test]
fn sources_that_look_like_options_or_programs_are_refused() {
    let env = with_project();
    let before = env.names();
    for source in [
        "ext::sh -c 'touch evil'",
        "-uhttp://x",
        "ssh://-oProxyCommand=touch/x",
        "fd::7/x",
        "https://example.test/none.git",
    ] {
        let run = env.unfurl(["clone", "--", source, "mine"]);
        assert!(run.code == 1, "{run}");
    }
    assert_eq!(env.names(), before);
}

#[test]
fn a_password_in_the_address_of_a_clone_is_not_kept() {
    let env = with_project();
    let env = {
        let settings = format!(
            "[url \"file://{0}/origins/\"]\n\tinsteadOf = https://example.test/\n",
            env.work().display()
        );
        env.git_settings(&settings)
    };
    let run = env
        .unfurl(["clone", "https://me:s3cret@example.test/app.git", "mine"])
        .succeeds();
    assert!(!run.all().contains("s3cret"), "{run}");
    assert_eq!(env.git(&["-C", "mine", "config", "remote.origin.url"]), URL);
    let config = env.read("mine/.git/config");
    assert!(!config.contains("s3cret"), "{config}");
}

#[test]
fn a_repository_without_commits_is_refused_with_the_command_that_commits() {
    let env = crate::packages::world();
    env.git(&["init", "-q", "-b", "main", "origins/none.git"]);
    env.unfurl(["clone", "origins/none.git", "copy"])
        .exits(1)
        .says(&["has no commits", "git commit"]);
    assert!(!env.work().join("copy").exists());
}
