//! Wrong inputs and wrong programs: a message says what happened, and the status what is left.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::playbooks::{node, status};
use crate::support::TestEnv;

/// An ensemble whose program for playbooks is a script with this text.
fn with_program(script: &str) -> TestEnv {
    let env = node("playbook: {q: [{debug: }]}\ncommand: ./tool", "{}").env();
    env.write("tool", &format!("#!/bin/sh\n[ \"$1\" = --version ] && echo 'ansible-playbook [core 2.9.1]' && exit\n{script}\n"));
    fs::set_permissions(env.work().join("tool"), fs::Permissions::from_mode(0o755)).unwrap();
    env
}

#[test]
fn a_missing_program_is_named_with_advice() {
    let env = node("playbook: {q: [{debug: }]}\ncommand: no-such-ansible", "{}").env();
    let run = env.unfurl(["deploy", "--approve"]).exits(64);
    run.says(&[
        "`no-such-ansible` was not found",
        "install ansible-core 2.14 or newer",
    ]);
    assert_eq!(status(&env), "pending");
}

#[test]
fn a_program_that_prints_nonsense_is_reported_with_its_version_and_last_lines() {
    let env = with_program("echo '{\"unfurl\": 3'; echo odd; exit 0");
    let run = env.unfurl(["deploy", "--approve"]).exits(64);
    run.says(&[
        "`./tool` (ansible-playbook [core 2.9.1])",
        "did not report the end of the playbook",
        "  odd",
        "this version is too old",
    ]);
    assert_eq!(status(&env), "unknown");
}

#[test]
fn a_program_that_dies_by_a_signal_leaves_what_it_reported() {
    let task = "{\"unfurl\": \"task\", \"name\": \"x\"}";
    let changed = "{\"unfurl\": \"result\", \"status\": \"ok\", \"host\": \"a\", \"task\": \"x\", \"changed\": true}";
    let env = with_program(&format!(
        "echo '{task}'; echo '{changed}'; echo 'segfault' >&2; kill -9 $$"
    ));
    let run = env.unfurl(["deploy", "--approve"]).exits(64);
    run.says(&["ended by signal 9", "  segfault"]);
    assert_eq!(status(&env), "error");
    let env = with_program(&format!("echo '{task}'; kill -9 $$"));
    env.unfurl(["deploy", "--approve"]).exits(64);
    assert_eq!(status(&env), "unknown");
}

#[test]
fn an_exit_code_of_0_with_failed_hosts_is_a_failure() {
    let failed = "{\"unfurl\": \"result\", \"status\": \"failed\", \"host\": \"a\", \"task\": \"x\", \"message\": \"broken\"}";
    let end = "{\"unfurl\": \"end\", \"hosts\": {\"a\": {\"failures\": 1}}}";
    let env = with_program(&format!("echo '{failed}'; echo '{end}'"));
    let run = env.unfurl(["deploy", "--approve"]).exits(64);
    run.says(&["a: task `x`: failed: broken"]);
    assert_eq!(status(&env), "pending");
}

#[test]
fn wrong_inputs_are_refused_before_anything_runs() {
    for (inputs, said) in [
        (
            "playbook: none.yml",
            "the playbook `none.yml` does not exist",
        ),
        ("playbook: []", "the input `playbook` is missing or empty"),
        ("playbook: [1]", "must be a list of plays or tasks"),
        (
            "playbook: {q: [{debug: }]}\ninventory: [a]",
            "`inventory` must be",
        ),
        (
            "playbook: {q: [{debug: }]}\ninventory: 'a,b'",
            "has no `hosts`",
        ),
        (
            "playbook: {q: [{debug: }]}\narguments: {a-b: 1}",
            "no name of a variable",
        ),
        (
            "playbook: {q: [{debug: }]}\nplaybookArgs: [-K]",
            "nobody can type a password",
        ),
        (
            "playbook: {q: [{debug: }]}\nplaybookArgs: [{eval: {sensitive: hunter2hunter2}}]",
            "would be visible to all users",
        ),
    ] {
        let env = node(inputs, "{}").env();
        let run = env.unfurl(["deploy", "--approve"]).does_not_panic();
        assert_ne!(run.code, 0, "{inputs}: {run}");
        assert!(run.all().contains(said), "{inputs}: {said}: {run}");
        assert!(!run.all().contains("hunter2hunter2"), "{run}");
    }
}

#[test]
fn a_playbook_with_an_error_changes_nothing_and_shows_the_lines_of_ansible() {
    requires!("ansible-playbook");
    let env = node("playbook: play.yml", "{}").env();
    env.write(
        "play.yml",
        "- hosts: localhost\n  tasks:\n    - nonsense_of_a_task: {}\n      debug: {}\n",
    );
    let run = env.unfurl(["deploy", "--approve"]).exits(64);
    run.says(&["exit code 4", "ERROR! conflicting action statements"]);
    assert_eq!(status(&env), "pending");
    env.write("play.yml", "- hosts: nobody\n  tasks: [{debug: }]\n");
    let run = env.unfurl(["deploy", "--approve"]).exits(64);
    run.says(&["no host matches the `hosts` of the playbook"]);
}
