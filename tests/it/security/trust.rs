//! Security of projects: S7 and S8, only the user grants trust, and settings of a repository run nothing.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use unfurl::testing::project::{record_cloned, record_created};

use crate::repos::{deploy, ensemble, files_of, hook, with_clones, with_repository};
use crate::support::{Run, TestEnv};

/// An ensemble whose plan runs a program, if it may.
const PIPE: &str = "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    topology_template:
      node_templates:
        a:
          type: unfurl.nodes.Generic
          properties: {p: '{{ lookup(\"pipe\", \"touch ran; echo x\") }}'}
          interfaces: {Standard: {configure: 'echo {{ SELF.p }}'}}
";

/// Creates a home project and sets it for all calls.
fn with_home(env: TestEnv, more: &str) -> TestEnv {
    let home = home(&env);
    fs::create_dir_all(&home).unwrap();
    let text = format!("apiVersion: unfurl/v1.0.0\nkind: Project\n{more}");
    fs::write(home.join("unfurl.yaml"), text).unwrap();
    let home = home.to_str().unwrap().to_owned();
    env.variable("UNFURL_HOME", &home)
}

fn home(env: &TestEnv) -> PathBuf {
    env.work().join("../home/project")
}

/// A program that leaves a mark with its name and then does what `cat` does.
fn marker(env: &TestEnv, name: &str) -> String {
    let file = env.work().join("../tmp").join(name);
    let marks = marks(env);
    fs::create_dir_all(&marks).unwrap();
    let text = format!("#!/bin/sh\ntouch {}/{name}\ncat\nexit 0\n", marks.display());
    fs::write(&file, text).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    file.canonicalize().unwrap().to_str().unwrap().to_owned()
}

fn marks(env: &TestEnv) -> PathBuf {
    env.work().join("../tmp/marks")
}

/// Asserts that no program of [`marker`] has run.
#[track_caller]
fn nothing_ran(env: &TestEnv, after: &Run) {
    let found: Vec<_> = fs::read_dir(marks(env)).map_or(Vec::new(), |marks| {
        marks.map(|mark| mark.unwrap().file_name()).collect()
    });
    assert!(found.is_empty(), "{found:?} ran\n{after}");
}

/// Settings that run programs, or nearly do.
const DANGEROUS: [&str; 24] = [
    "core.fsmonitor",
    "core.sshCommand",
    "core.pager",
    "core.editor",
    "core.askPass",
    "core.gitProxy",
    "core.alternateRefsCommand",
    "credential.helper",
    "credential.https://h.helper",
    "diff.external",
    "diff.x.command",
    "diff.x.textconv",
    "filter.x.clean",
    "filter.x.smudge",
    "filter.x.process",
    "merge.x.driver",
    "gpg.program",
    "gpg.ssh.defaultKeyCommand",
    "remote.origin.uploadpack",
    "remote.origin.receivepack",
    "sequence.editor",
    "alias.status",
    "lfs.customtransfer.x.path",
    "trailer.x.command",
];

/// Writes every dangerous setting, with a program that leaves a mark, into a file of settings.
fn write_dangerous(env: &TestEnv, file: &str) {
    for key in DANGEROUS {
        let name = key.replace(['.', '/', ':'], "_");
        env.git(&["config", "-f", file, key, &marker(env, &name)]);
    }
    let hooks = env.work().join("../tmp/hooks");
    fs::create_dir_all(&hooks).unwrap();
    for name in [
        "post-index-change",
        "reference-transaction",
        "pre-push",
        "pre-commit",
    ] {
        fs::copy(marker(env, name), hooks.join(name)).unwrap();
        fs::create_dir_all(env.work().join(".git/hooks")).unwrap();
        fs::copy(marker(env, name), env.work().join(".git/hooks").join(name)).unwrap();
    }
    let hooks = hooks.canonicalize().unwrap();
    env.git(&[
        "config",
        "-f",
        file,
        "core.hooksPath",
        hooks.to_str().unwrap(),
    ]);
    env.git(&["config", "-f", file, "unfurl.hooks", "true"]);
}

/// A repository with an ensemble, files with attributes, and a remote over SSH and one on this computer.
fn hostile() -> TestEnv {
    let env = with_repository(&["a"]);
    env.git(&["clone", "-q", "--bare", ".", "../origin.git"]);
    let origin = env.work().join("../origin.git");
    env.git(&["remote", "add", "origin", origin.to_str().unwrap()]);
    env.git(&["fetch", "-q"]);
    env.git(&["branch", "-q", "-u", "origin/main"]);
    env.write(".gitattributes", "note filter=x diff=x merge=x\n");
    env.write("note", "1\n");
    env.git(&["add", "-A"]);
    env.git(&["commit", "-q", "-m", "note"]);
    // The same size as before: git must read the file to see the change.
    env.write("note", "2\n");
    env
}

/// Commands that read, and those that use git.
const COMMANDS: &[&[&str]] = &[
    &["git-status"],
    &["git", "diff"],
    &["deploy", "--approve", "--dirty", "ok", "--check-upstream"],
    &["deploy", "--approve", "--force", "--push", "--dirty", "ok"],
    &["commit", "-m", "x", "--push"],
    &["plan"],
    &["validate"],
    &["status"],
    &["history"],
    &["export"],
    &["explain", "a"],
    &["git", "log", "-p"],
    &["git", "fetch"],
    &["git", "ls-remote"],
];

/// Calls the commands, and asserts that no program ran and that each reports the ignored settings once.
fn call_commands(env: &TestEnv, commands: &[&[&str]]) {
    for command in commands {
        let run = env.unfurl(*command).does_not_panic();
        nothing_ran(env, &run);
        if ["git-status", "git", "plan", "deploy", "export"].contains(&command[0]) {
            assert_eq!(run.stderr.matches("are ignored").count(), 1, "{run}");
            let run = run.says(&["`core.fsmonitor`", "unfurl trust "]);
            assert!(!run.stderr.contains("tmp/core_fsmonitor"), "{run}");
        }
    }
}

/// V6: settings in `.git/config` run no program.
#[test]
fn s8_local_settings_run_no_program() {
    let env = hostile();
    write_dangerous(&env, ".git/config");
    call_commands(&env, COMMANDS);
    // The record was committed all the same: none of its files has a filter.
    assert!(files_of(&env, ".", "HEAD").contains(&"jobs.tsv".to_owned()));
}

/// V6: the same for files that `.git/config` includes, and for the settings of a working tree.
#[test]
fn s8_included_settings_and_those_of_a_worktree_run_no_program() {
    let env = hostile();
    write_dangerous(&env, ".git/more");
    env.git(&["config", "include.path", "more"]);
    call_commands(&env, &COMMANDS[..5]);
    env.git(&["config", "--unset", "include.path"]);
    let place = format!("includeIf.gitdir:{}/.path", env.work().display());
    env.git(&["config", &place, "more"]);
    let run = env.unfurl(["git-status"]).succeeds();
    nothing_ran(&env, &run);
    env.git(&["config", "--remove-section", &place[..place.len() - 5]]);
    env.git(&["config", "extensions.worktreeConfig", "true"]);
    fs::rename(
        env.work().join(".git/more"),
        env.work().join(".git/config.worktree"),
    )
    .unwrap();
    call_commands(&env, &COMMANDS[..5]);
}

/// V6: the upstream check before a job neither runs the SSH program nor the server's program of the repository.
#[test]
fn s8_the_upstream_check_runs_no_program_of_the_repository() {
    let env = hostile();
    let own = marker(&env, "ssh");
    env.git(&["config", "core.sshCommand", &own]);
    for url in [
        "ssh://nobody@127.0.0.1:1/x",
        "ext::sh -c 'touch ../tmp/marks/ext'",
        "fd::3",
        "nobody@127.0.0.1:x",
        "ssh://$(touch ../tmp/marks/url)/x",
    ] {
        env.git(&["config", "remote.origin.url", url]);
        for words in [&[][..], &["--allow", "pipe"]] {
            let words = [&["deploy", "--approve", "--check-upstream"][..], words].concat();
            let run = env.unfurl(words).does_not_panic();
            nothing_ran(&env, &run);
        }
    }
    env.git(&["config", "remote.origin.vcs", "x"]);
    let run = env.unfurl(["deploy", "--approve", "--check-upstream"]);
    nothing_ran(&env, &run);
    // With trust, the program runs, but dangerous protocols stay off.
    let env = with_home(env, "trusted: [../../work]\n");
    env.git(&["config", "--unset", "remote.origin.vcs"]);
    env.git(&["config", "remote.origin.url", "ext::touch ../tmp/marks/ext"]);
    env.git(&["config", "protocol.ext.allow", "always"]);
    let run = env.unfurl(["deploy", "--approve", "--check-upstream"]);
    nothing_ran(&env, &run);
    env.git(&["config", "remote.origin.url", "ssh://nobody@127.0.0.1:1/x"]);
    env.unfurl(["deploy", "--approve", "--check-upstream"]);
    assert!(marks(&env).join("ssh").exists());
}

/// V6: variables of the project's environments do not reach git.
#[test]
fn s8_variables_of_the_project_do_not_reach_git() {
    let env = hostile();
    let program = marker(&env, "variable");
    env.git(&["config", "remote.origin.url", "ssh://nobody@127.0.0.1:1/x"]);
    let project = format!(
        "apiVersion: unfurl/v1.0.0\nkind: Project\nensembles: [{{file: ensemble.yaml}}]\n\
         environments:\n  defaults:\n    variables:\n      GIT_SSH_COMMAND: {program}\n      \
         GIT_EXTERNAL_DIFF: {program}\n      GIT_CONFIG_COUNT: '1'\n      \
         GIT_CONFIG_KEY_0: core.fsmonitor\n      GIT_CONFIG_VALUE_0: {program}\n"
    );
    env.write("unfurl.yaml", &project);
    for command in [
        &["git-status"][..],
        &["git", "diff"],
        &[
            "deploy",
            "--approve",
            "--commit",
            "--dirty",
            "ok",
            "--check-upstream",
        ],
    ] {
        let run = env.unfurl(command).does_not_panic();
        nothing_ran(&env, &run);
    }
}

/// V6: a submodule has settings of its own.
#[test]
fn s8_settings_of_a_submodule_run_no_program() {
    let env = hostile();
    env.git(&["init", "-q", "sub"]);
    env.git(&["-C", "sub", "commit", "-q", "--allow-empty", "-m", "x"]);
    env.write(
        ".gitmodules",
        "[submodule \"s\"]\n\tpath = sub\n\turl = ./sub\n\tignore = none\n",
    );
    env.git(&["add", "sub", ".gitmodules"]);
    env.git(&["config", "submodule.s.ignore", "none"]);
    let program = marker(&env, "fsmonitor");
    env.git(&["-C", "sub", "config", "core.fsmonitor", &program]);
    for command in [&["git-status"][..], &["git", "status"], &["git", "diff"]] {
        let run = env.unfurl(command).succeeds();
        nothing_ran(&env, &run);
    }
}

/// V6: `unfurl.hooks` counts only at the user's level, and hooks need trust as well.
#[test]
fn s8_hooks_need_a_setting_of_the_user_and_trust() {
    let env = with_repository(&["a"]);
    hook(&env, ".git/hooks/pre-commit", "touch hooked");
    env.git(&["config", "unfurl.hooks", "true"]);
    let is_hooked = |env: &TestEnv| {
        deploy(env, ".", &["--commit", "--force"]).succeeds();
        fs::remove_file(env.work().join("hooked")).is_ok()
    };
    assert!(!is_hooked(&env));
    let env = with_home(env, "trusted: [../../work]\n");
    assert!(!is_hooked(&env));
    let env = env.git_settings("[unfurl]\n\thooks = true\n");
    assert!(is_hooked(&env));
    let env = env.variable("UNFURL_HOME", "");
    assert!(!is_hooked(&env));
}

/// V6: a push to a repository on this computer would run its hooks here.
#[test]
fn s8_a_push_runs_no_hook_of_a_delivered_remote() {
    let env = with_clones(&["a"]);
    hook(&env, "origin.git/hooks/post-receive", "touch received");
    let run = deploy(&env, "a", &["--push"]).exits(1);
    run.says(&["`post-receive`", "is not trusted"]);
    assert!(!env.work().join("a/jobs.tsv").exists());
    assert!(!env.work().join("origin.git/received").exists());
    deploy(&env, "a", &["--push", "--allow", "git-config"]).succeeds();
    assert!(env.work().join("origin.git/received").exists());
}

/// V6: a filter that only the repository defines stops the job before it runs, and nothing is committed unfiltered.
#[test]
fn s8_a_filter_of_the_repository_alone_refuses_the_job() {
    for attribute in [
        "changes/* filter=swap",
        "jobs.tsv filter=swap",
        "* filter=swap",
    ] {
        let env = with_repository(&["a"]);
        env.write(".gitattributes", &format!("{attribute}\n"));
        env.git(&["add", "-A"]);
        env.git(&["commit", "-q", "-m", "filter"]);
        env.git(&["config", "filter.swap.clean", "tr a-z A-Z"]);
        let run = deploy(&env, ".", &["--commit"]).exits(1);
        run.says(&["the filter `swap`", "unfurl trust"]);
        assert!(!env.work().join("jobs.tsv").exists());
        // A later commit is refused as well.
        deploy(&env, ".", &[]).succeeds();
        env.unfurl(["commit", "-m", "x"])
            .exits(1)
            .says(&["the filter `swap`"]);
        assert_eq!(env.git(&["rev-list", "--count", "HEAD"]), "2");
        // A filter of the user applies, whatever the repository says.
        let program = marker(&env, "clean");
        let env = env.git_settings("[filter \"swap\"]\n\tclean = tr a-z B-ZA\n");
        env.git(&["config", "filter.swap.clean", &program]);
        env.unfurl(["commit", "-m", "x"]).succeeds();
        let file = attribute
            .split(' ')
            .next()
            .unwrap()
            .replace("changes/*", "changes");
        let file = env.git(&["ls-files", if file == "*" { "jobs.tsv" } else { &file }]);
        let stored = env.git(&["cat-file", "-p", &format!("HEAD:{file}")]);
        assert_eq!(stored, stored.to_uppercase());
        nothing_ran(&env, &env.unfurl(["git-status"]));
        // A part of a filter that the user lacks could bypass the user's.
        env.git(&["config", "filter.swap.process", &program]);
        deploy(&env, ".", &["--commit", "--force"]).exits(1);
        nothing_ran(&env, &env.unfurl(["git-status"]));
    }
}

/// V6: commits are signed as every level says, and never with a program of the repository.
#[test]
fn s8_a_program_for_signatures_comes_from_the_user() {
    requires!("ssh-keygen");
    let env = with_repository(&["a"]);
    let key = env.work().join(".git/key");
    let mut keygen = Command::new("ssh-keygen");
    keygen
        .args(["-q", "-t", "ed25519", "-N", "", "-f"])
        .arg(&key);
    assert!(keygen.status().unwrap().success());
    let program = marker(&env, "gpg");
    for (name, value) in [
        ("gpg.format", "ssh"),
        ("user.signingkey", key.to_str().unwrap()),
        ("commit.gpgsign", "true"),
        // This program belongs to another format.
        ("gpg.program", &program),
    ] {
        env.git(&["config", name, value]);
    }
    deploy(&env, ".", &["--commit"]).succeeds();
    let is_signed = |env: &TestEnv| {
        let commit = env.git(&["cat-file", "commit", "HEAD"]);
        commit.contains("-----BEGIN SSH SIGNATURE-----")
    };
    assert!(is_signed(&env));
    env.git(&["config", "gpg.ssh.program", &program]);
    let head = env.git(&["rev-parse", "HEAD"]);
    let jobs = env.read("jobs.tsv");
    let run = deploy(&env, ".", &["--commit", "--force"]).exits(1);
    nothing_ran(&env, &run);
    run.says(&["gpg.ssh.program", "unfurl trust"]);
    env.write("new", "");
    env.unfurl(["commit", "-m", "x"])
        .exits(1)
        .says(&["gpg.ssh.program"]);
    assert_eq!(env.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(env.read("jobs.tsv"), jobs);
    // The user's setting counts although the repository has one, too.
    env.git(&["config", "--unset", "gpg.ssh.program"]);
    let user = "[commit]\n\tgpgsign = true\n[gpg \"ssh\"]\n\tprogram = ssh-keygen\n";
    let env = env.git_settings(user);
    env.git(&["config", "--unset", "commit.gpgsign"]);
    env.unfurl(["commit", "-m", "x"]).succeeds();
    assert!(is_signed(&env));
}

/// V6: a real `gpg` signs with the user's settings.
#[test]
fn s8_gnupg_signs_although_the_repository_names_another_program_for_ssh() {
    requires!("gpg");
    let env = with_repository(&["a"]);
    let gnupg = env.work().join("../home/gnupg");
    fs::create_dir(&gnupg).unwrap();
    fs::set_permissions(&gnupg, fs::Permissions::from_mode(0o700)).unwrap();
    let mut gpg = Command::new("gpg");
    gpg.env("GNUPGHOME", &gnupg)
        .args(["--batch", "--quiet", "--passphrase", ""]);
    gpg.args([
        "--quick-generate-key",
        "tester <tester@example.com>",
        "ed25519",
        "sign",
    ]);
    assert!(gpg.output().unwrap().status.success());
    let env = env.variable("GNUPGHOME", gnupg.to_str().unwrap());
    env.git(&["config", "commit.gpgsign", "true"]);
    let program = marker(&env, "ssh-program");
    env.git(&["config", "gpg.ssh.program", &program]);
    deploy(&env, ".", &["--commit"]).succeeds();
    let commit = env.git(&["cat-file", "commit", "HEAD"]);
    assert!(commit.contains("-----BEGIN PGP SIGNATURE-----"), "{commit}");
    env.git(&["config", "gpg.program", &program]);
    let run = deploy(&env, ".", &["--commit", "--force"]).exits(1);
    nothing_ran(&env, &run);
    Command::new("gpgconf")
        .env("GNUPGHOME", &gnupg)
        .args(["--kill", "all"])
        .output()
        .ok();
}

/// S8: a repository of another user is refused, as git does, with the user's exceptions.
#[test]
fn s8_a_repository_of_another_user_is_refused() {
    requires!("root", "chown");
    for part in [".", ".git"] {
        let env = with_repository(&["a"]);
        env.git(&["config", "core.fsmonitor", &marker(&env, "fsmonitor")]);
        let part = env.work().join(part);
        std::os::unix::fs::chown(&part, Some(12345), None).unwrap();
        for command in [
            &["plan"][..],
            &["deploy", "--approve"],
            &["git-status"],
            &["git", "status"],
            &["commit", "-m", "x"],
            &["trust", "."],
        ] {
            let run = env.unfurl(command).exits(1);
            nothing_ran(&env, &run);
            if command[0] != "trust" {
                run.says(&["belongs to 12345", "safe.directory"]);
            }
        }
        let work = env.work().canonicalize().unwrap();
        let env = env.git_settings(&format!("[safe]\n\tdirectory = {}\n", work.display()));
        let run = env.unfurl(["git-status"]).succeeds();
        nothing_ran(&env, &run);
        let env = env.git_settings("[safe]\n\tdirectory = *\n");
        env.unfurl(["plan"]).succeeds();
        let env = env.git_settings("").variable("SUDO_UID", "12345");
        env.unfurl(["plan"]).succeeds();
    }
}

/// S8: a repository cannot claim another folder as its working tree.
#[test]
fn s8_a_repository_keeps_to_its_own_folder() {
    let env = TestEnv::new();
    env.write("inner/ensemble.yaml", &ensemble(&["a"]));
    env.write("private", "x");
    env.git(&["init", "-q", "inner"]);
    env.git(&["-C", "inner", "config", "core.worktree", "../.."]);
    let run = env.unfurl(["git-status", "inner"]).exits(1);
    run.says(&["names another working tree", "core.worktree"]);
    env.unfurl(["deploy", "inner", "--approve", "--commit"])
        .exits(1);
}

/// V3: the URL in the project's own `.git/config` grants no trust.
#[test]
fn s8_a_url_alone_grants_no_trust() {
    let env = TestEnv::with_ensemble(PIPE);
    env.git(&["init", "-q", "."]);
    env.git(&["remote", "add", "origin", "https://h/o/r.git"]);
    let env = with_home(env, "trusted: ['https://h/o/r']\n");
    let ran = |env: &TestEnv| {
        env.unfurl(["plan"]);
        fs::remove_file(env.work().join("ran")).is_ok()
    };
    assert!(!ran(&env));
    // A clone that this program has recorded is covered.
    record_cloned(&home(&env), &env.work()).unwrap();
    assert!(ran(&env));
    env.git(&["remote", "set-url", "origin", "https://h/o/other"]);
    assert!(!ran(&env));
    env.git(&["remote", "set-url", "origin", "https://h/o/r.git"]);
    assert!(ran(&env));
    let env = with_home(env, "");
    assert!(!ran(&env));
    record_created(&home(&env), &env.work()).unwrap();
    assert!(ran(&env));
}

/// `unfurl trust` grants, lists and revokes.
#[test]
fn s8_trust_is_granted_listed_and_revoked_by_the_user() {
    let env = with_home(TestEnv::with_ensemble(PIPE), "");
    env.git(&["init", "-q", "."]);
    let ssh = marker(&env, "fsmonitor");
    env.git(&["config", "core.fsmonitor", &ssh]);
    let ran = || {
        env.unfurl(["plan"]);
        fs::remove_file(env.work().join("ran")).is_ok()
    };
    assert!(!ran());
    let run = env.unfurl(["trust"]).succeeds();
    let run = run.prints(&["trusted: `", "without origin", "core.fsmonitor"]);
    assert!(ran(), "{run}");
    env.unfurl(["git-status"]).succeeds();
    assert!(marks(&env).join("fsmonitor").exists());
    let file = home(&env).join("local/trust.yaml");
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
    let listed = env
        .unfurl(["trust", "--list", "--output", "json"])
        .succeeds();
    let entry = &listed.json()[0];
    let work = env.work().canonicalize().unwrap();
    assert_eq!(entry["folder"], work.to_str().unwrap());
    assert_eq!(entry["valid"], true);
    assert_eq!(entry["inode"], fs::metadata(&work).unwrap().ino());
    env.unfurl(["trust", "--revoke"]).succeeds();
    assert!(!ran());
    assert_eq!(
        env.unfurl(["trust", "--list", "--output", "json"]).json(),
        serde_json::json!([])
    );
    // Without a home project, there is no place for it.
    let env = env.variable("UNFURL_HOME", "");
    env.unfurl(["trust"])
        .exits(1)
        .says(&["no home project", "--allow"]);
}

/// A folder that takes the place of a trusted one is not trusted.
#[test]
fn s8_a_replaced_folder_loses_trust() {
    let env = with_home(TestEnv::new(), "");
    env.write("p/ensemble.yaml", PIPE);
    env.unfurl(["trust", "p"]).succeeds();
    let ran = || {
        let run = env.unfurl(["plan", "p"]);
        (fs::remove_file(env.work().join("p/ran")).is_ok(), run)
    };
    assert!(ran().0);
    let at = |name: &str| env.work().join(name);
    fs::rename(at("p"), at("old")).unwrap();
    env.write("p/ensemble.yaml", PIPE);
    let (has_run, run) = ran();
    assert!(!has_run, "{run}");
    let run = run.says(&["has been replaced since you trusted it", "unfurl trust"]);
    assert_eq!(run.stderr.matches("has been replaced").count(), 1, "{run}");
    // A link to the trusted folder is the trusted folder; a link in its place is not.
    fs::remove_dir_all(at("p")).unwrap();
    env.write("evil/ensemble.yaml", PIPE);
    std::os::unix::fs::symlink("evil", at("p")).unwrap();
    ran();
    assert!(!at("evil/ran").exists());
    fs::remove_file(at("p")).unwrap();
    fs::rename(at("old"), at("p")).unwrap();
    assert!(ran().0);
}

/// A repository in a trusted folder needs a grant of its own.
#[test]
fn s8_a_repository_unpacked_in_a_trusted_folder_is_not_trusted() {
    let env = with_home(TestEnv::with_ensemble(PIPE), "");
    env.git(&["init", "-q", "."]);
    env.write("own/ensemble.yaml", PIPE);
    env.git(&["init", "-q", "own"]);
    env.write("other/ensemble.yaml", PIPE);
    env.git(&["init", "-q", "other"]);
    env.git(&["-C", "other", "remote", "add", "origin", "https://h/x"]);
    env.unfurl(["trust", "."]).succeeds().prints(&[
        "/own`",
        "not trusted: the repository `",
        "/other`",
    ]);
    env.write("late/ensemble.yaml", PIPE);
    env.git(&["init", "-q", "late"]);
    for (folder, is_trusted) in [("own", true), ("other", false), ("late", false)] {
        env.unfurl(["plan", folder]);
        let ran = env.work().join(folder).join("ran").exists();
        assert_eq!(ran, is_trusted, "{folder}");
    }
}

/// A home project that others can write grants nothing.
#[test]
fn s8_a_home_project_that_others_can_write_grants_nothing() {
    requires!("root");
    let env = with_home(TestEnv::with_ensemble(PIPE), "trusted: [../../work]\n");
    let ran = || {
        let run = env.unfurl(["plan"]);
        (fs::remove_file(env.work().join("ran")).is_ok(), run)
    };
    assert!(ran().0);
    let place = home(&env);
    for path in [place.clone(), place.join("unfurl.yaml")] {
        let mode = fs::metadata(&path).unwrap().permissions();
        for bits in [0o020, 0o002] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode.mode() | bits)).unwrap();
            let (has_run, run) = ran();
            assert!(!has_run, "{run}");
            run.says(&["other users can write", "grants no trust"]);
            env.unfurl(["trust"])
                .exits(1)
                .says(&["other users can write"]);
        }
        fs::set_permissions(&path, mode).unwrap();
        std::os::unix::fs::chown(&path, Some(12345), None).unwrap();
        let (has_run, run) = ran();
        assert!(!has_run, "{run}");
        run.says(&["belongs to 12345"]);
        std::os::unix::fs::chown(&path, Some(0), None).unwrap();
    }
    assert!(ran().0);
}

/// Folders that hold everything cannot be trusted, and no project trusts itself.
#[test]
fn s8_trust_for_everything_and_from_a_project_is_refused() {
    let env = with_home(TestEnv::with_ensemble(PIPE), "");
    let user = env.work().join("../home");
    let all = [
        "/",
        "..",
        user.to_str().unwrap(),
        "nowhere",
        "ensemble.yaml",
    ];
    for folder in all {
        env.unfurl(["trust", folder]).exits(1);
    }
    env.write(
        "unfurl.yaml",
        "apiVersion: unfurl/v1.0.0\nkind: Project\ntrusted: [., /]\nensembles: [{file: ensemble.yaml}]\n",
    );
    let record = format!(
        "folders:\n- {{folder: {}, device: 1, inode: 1, owner: 0, reason: granted, time: now}}\n",
        env.work().display()
    );
    env.write("local/trust.yaml", &record);
    env.unfurl(["plan"]);
    assert!(!env.work().join("ran").exists());
    // A damaged list grants nothing and is not overwritten.
    let list = home(&env).join("local/trust.yaml");
    fs::create_dir_all(list.parent().unwrap()).unwrap();
    fs::write(&list, "folders: [1]\n").unwrap();
    env.unfurl(["plan"])
        .says(&["not a valid list of trusted folders"]);
    env.unfurl(["trust"]).exits(1).says(&["not a valid list"]);
    assert_eq!(fs::read_to_string(&list).unwrap(), "folders: [1]\n");
}

/// The list of trusted folders is not committed with the home project.
#[test]
fn s8_the_list_of_trusted_folders_is_kept_out_of_git() {
    let env = with_home(TestEnv::with_ensemble(PIPE), "");
    let home = home(&env);
    let home = home.to_str().unwrap();
    env.git(&["init", "-q", home]);
    env.unfurl(["trust"]).succeeds();
    env.git(&["-C", home, "add", "-A"]);
    assert_eq!(env.git(&["-C", home, "ls-files"]), "unfurl.yaml");
    assert!(Path::new(home).join("local/trust.yaml").exists());
}
