//! Repositories that try to write elsewhere or to run programs, and a cache that others could have written.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::{ALLOWED, deploy, publish, refused, types, use_library, world};
use crate::support::TestEnv;

fn with_library() -> TestEnv {
    let env = world();
    publish(&env, "lib", &[("types.yaml", &types("one"))], "v1.0.0");
    use_library(&env, "'https://example.test/lib.git'");
    env
}

/// Commits a tree that git itself would not make: entries of mode, content and name.
fn publish_tree(env: &TestEnv, entries: &[(&str, &str, &str)]) {
    let folder = "origins/lib.git";
    let mut lines = String::new();
    for (mode, content, name) in entries {
        env.write("blob", content);
        let blob = env.work().join("blob");
        let id = env.git(&["-C", folder, "hash-object", "-w", blob.to_str().unwrap()]);
        lines += &format!("{mode} blob {id}\t{name}\n");
    }
    let id = env.git(&["-C", folder, "rev-parse", "HEAD:types.yaml"]);
    lines += &format!("100644 blob {id}\ttypes.yaml\n");
    env.write("tree", &lines);
    let script = format!("git -C {folder} mktree < tree");
    let output = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(env.work())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let tree = String::from_utf8(output.stdout).unwrap();
    let commit = env.git(&["-C", folder, "commit-tree", "-m", "x", tree.trim()]);
    env.git(&["-C", folder, "tag", "v1.1.0", &commit]);
}

#[test]
fn links_out_of_the_repository_are_not_checked_out() {
    for target in ["/etc", "../../../..", "a/../../../x", ".git/hooks"] {
        let env = with_library();
        publish_tree(&env, &[("120000", target, "way")]);
        refused(deploy(&env, &ALLOWED)).says(&["`way`"]);
        assert!(!env.work().join("proj/lib").exists(), "{target}");
    }
}

#[test]
fn names_that_could_be_the_folder_of_git_are_refused() {
    for name in [".GIT", "git~1", ".git "] {
        let env = with_library();
        publish_tree(&env, &[("100644", "x", name)]);
        refused(deploy(&env, &ALLOWED));
        assert!(!env.work().join("proj/lib").exists(), "{name}");
    }
    let env = with_library();
    publish_tree(&env, &[("120000", "x", "Way"), ("100644", "x", "way")]);
    refused(deploy(&env, &ALLOWED)).says(&["differs only in case"]);
}

#[test]
fn hooks_filters_and_submodules_of_a_repository_have_no_effect() {
    let env = world();
    let modules = "[submodule \"s\"]\n\tpath = s\n\turl = ./payload\n";
    let files = [
        ("types.yaml", &*types("one")),
        (".gitmodules", modules),
        (".gitattributes", "* filter=evil\n"),
    ];
    publish(&env, "lib", &files, "");
    let folder = "origins/lib.git";
    let own = env.git(&["-C", folder, "rev-parse", "HEAD"]);
    env.git(&[
        "-C",
        folder,
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{own},s"),
    ]);
    env.git(&["-C", folder, "commit", "-q", "-m", "submodule"]);
    env.git(&["-C", folder, "tag", "v1.0.0"]);
    let touch = format!("touch {}", env.work().join("evil").display());
    env.git(&["-C", folder, "config", "filter.evil.smudge", &touch]);
    env.git(&["-C", folder, "config", "uploadpack.packObjectsHook", &touch]);
    for hook in ["post-checkout", "post-merge", "reference-transaction"] {
        let path = env.work().join(folder).join(".git/hooks").join(hook);
        fs::write(&path, format!("#!/bin/sh\n{touch}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    use_library(&env, "'https://example.test/lib.git'");
    deploy(&env, &ALLOWED)
        .succeeds()
        .says(&["its submodules were not fetched: s"]);
    assert!(!env.work().join("evil").exists());
}

#[test]
fn dangerous_addresses_are_refused() {
    for url in [
        "ext::sh -c 'touch evil'",
        "https://example.test/../x",
        "ssh://-oProxyCommand=touch evil/x",
        "fd::17/x",
    ] {
        let env = with_library();
        use_library(&env, &format!("\"{url}\""));
        refused(deploy(&env, &ALLOWED));
        assert!(
            !env.work().join("evil").exists() && !env.work().join("proj/evil").exists(),
            "{url}"
        );
    }
}

#[test]
fn a_cache_that_others_could_have_written_is_not_used() {
    let env = with_library();
    let cache = env.work().join("cache");
    fs::create_dir(&cache).unwrap();
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o777)).unwrap();
    let env = env.variable("UNFURL_CLONE_ROOT", cache.to_str().unwrap());
    refused(deploy(&env, &ALLOWED)).says(&["is not used: other users can write it"]);
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o755)).unwrap();
    deploy(&env, &ALLOWED).succeeds();
    fs::remove_dir_all(env.work().join("proj/lib")).unwrap();
    let mirrors = fs::read_dir(&cache)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mirror = mirrors.filter(|path| path.is_dir()).last().unwrap();
    let set = |key: &str, value: &str| {
        env.git(&["--git-dir", mirror.to_str().unwrap(), "config", key, value])
    };
    set("remote.x.uploadpack", "touch evil");
    refused(deploy(&env, &ALLOWED)).says(&["is not used", "delete it"]);
    set("unfurl.address", "https://example.test/other.git");
    refused(deploy(&env, &ALLOWED)).says(&["it is a copy of another repository"]);
    assert!(!env.work().join("proj/lib").exists());
}

#[test]
fn a_submodule_whose_address_is_an_option_is_refused() {
    let env = world();
    let modules = "[submodule \"s\"]\n\tpath = s\n\turl = -u./payload\n";
    publish(
        &env,
        "lib",
        &[("types.yaml", &types("one")), (".gitmodules", modules)],
        "v1.0.0",
    );
    use_library(&env, "'https://example.test/lib.git'");
    refused(deploy(&env, &ALLOWED)).says(&["disallowed submodule url"]);
    assert!(!env.work().join("proj/lib").exists());
}
