//! Executors around tasks and commands over hosts, from files and from the command line.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::support::TestEnv;

use super::task::env;

/// Writes an executor into the folder `executors`.
fn executor(env: &TestEnv, name: &str, text: &str) {
    let path = format!("executors/{name}");
    env.write(&path, text);
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(env.work().join(&path), mode).unwrap();
}

#[test]
fn the_executor_of_the_documentation_decides_over_commands() {
    requires!("python3");
    let document = include_str!("../../../docs/executors.md");
    let (_, rest) = document.split_once("```python\n").unwrap();
    let (program, _) = rest.split_once("```").unwrap();
    let env =
        env("executors: [working-hours, direct]\ntasks: {a: {hosts: '@local', run: 'echo ran'}}\n");
    executor(&env, "working-hours", program);
    let run = env.unfurl(["task", "a", "--executor-opts", "{hour: 12}"]);
    assert_eq!(run.succeeds().stdout, "[@local] ran\n");
    let run = env.unfurl(["task", "a", "--executor-opts", "{hour: 3}"]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr
            .contains("refuses with exit code 7: not at 3 o'clock"),
        "{run}"
    );
    assert!(run.stdout.is_empty(), "{run}");
    // A copy has no output, which would show the reason.
    let copy = env.work().join("copy").display().to_string();
    let mut words = vec!["put", "-H", "@local", "--executor-opts", "{hour: 3}"];
    words.extend([
        "--executors",
        "[working-hours, direct]",
        "tasks.yaml",
        &copy,
    ]);
    env.unfurl(words).exits(1).says(&["not at 3 o'clock"]);
    assert!(!env.work().join("copy").exists());
}

#[test]
fn files_configure_executors_and_the_command_line_replaces_them() {
    let env = env(
        "executors: {chain: [note], splaytime: 30}\ntasks: {a: {hosts: '@local', run: 'echo ran'}}\n",
    );
    executor(&env, "note", "#!/bin/sh\ncat >> seen\necho null\n");
    let run = env.unfurl(["task", "a"]).succeeds();
    assert!(run.stderr.contains("no executor ran the function"), "{run}");
    assert!(env.read("seen").contains("\"splaytime\":30"));
    assert!(env.read("seen").contains("\"function\":\"cmd.run\""));
    let run = env
        .unfurl(["task", "a", "--executors", "direct"])
        .succeeds();
    assert_eq!(run.stdout, "[@local] ran\n");

    env.write(
        "hosts.yaml",
        "executors: {chain: [deny, direct]}\nhosts: {web1: {}}\n",
    );
    executor(
        &env,
        "deny",
        "#!/bin/sh\necho '{\"result\": {\"code\": 7, \"stdout\": \"\", \"stderr\": \"denied by policy\"}}'\n",
    );
    let words = ["run", "--hosts-file", "hosts.yaml", "-H", "@local"];
    let run = env.unfurl(words.iter().chain(&["--", "echo ran"]));
    assert_eq!((run.code, &*run.stdout), (1, ""), "{run}");
    assert!(run.stderr.contains("denied by policy"), "{run}");
    let run = env.unfurl(
        words
            .iter()
            .chain(&["--executors", "direct", "--", "echo ran"]),
    );
    assert_eq!(run.succeeds().stdout, "[@local] ran\n");

    let run = env.unfurl(["run", "-H", "@local", "--executors", "docker", "--", "true"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr
            .contains("of `tasks.yaml`, of a hosts file or of the environment"),
        "{run}"
    );
}

#[test]
fn states_pass_through_the_executors_too() {
    let env = TestEnv::new();
    env.write(
        "states/a.sls",
        "made:\n  file.touch: [{name: {{ pillar.path }}}]\n",
    );
    let path = env.work().join("made");
    let pillar = format!("{{path: {}}}", path.display());
    executor(
        &env,
        "deny",
        "#!/bin/sh\necho '{\"error\": \"denied by policy\"}'\n",
    );
    let words = [
        "state",
        "apply",
        "a",
        "-H",
        "@local",
        "--approve",
        "--pillar",
        &pillar,
    ];
    let run = env.unfurl(words.iter().chain(&["--executors", "[deny, direct]"]));
    assert_ne!(run.code, 0, "{run}");
    assert!(run.all().contains("denied by policy"), "{run}");
    assert!(!path.exists());
    env.unfurl(words.iter().chain(&["--executors", "direct"]))
        .succeeds();
    assert!(path.exists());
}

#[test]
fn a_transaction_is_around_the_commands_of_delegated_modules_only() {
    let env = env(
        "executors: {chain: transactional_update}\ntasks: {a: {hosts: '@local', run: 'echo ran in $T'}}\n",
    );
    let run = env.unfurl(["task", "a"]);
    assert_eq!(run.code, 1);
    assert!(
        run.all()
            .contains("needs the program `transactional-update`"),
        "{run}"
    );
    // A stand-in for the program, which exists on SUSE's transactional systems only.
    let script = "#!/bin/sh\necho \"$*\" > words\nwhile [ \"$1\" != run ]; do shift; done\nshift\nT=snapshot exec \"$@\"\n";
    executor(&env, "transactional-update", script);
    let path = format!("{}:/usr/bin:/bin", env.work().join("executors").display());
    let run = env.unfurl_with(("PATH", &path), &["task", "a"]).succeeds();
    assert_eq!(run.stdout, "[@local] ran in snapshot\n");
    let words = env.read("words");
    assert!(
        words.starts_with("--non-interactive --drop-if-no-change --no-selfupdate --continue"),
        "{words}"
    );
    env.write("tasks.yaml", "executors: {chain: transactional_update, delegated_modules: [pkg]}\ntasks: {a: {hosts: '@local', run: 'echo ran in $T'}}\n");
    let run = env.unfurl(["task", "a"]).succeeds();
    assert_eq!(run.stdout, "[@local] ran in\n");
}
