//! The filters `vault` and `unvault`.

use std::process::Command;

use crate::drafts::nodes;
use crate::requires::target;
use crate::support::TestEnv;

fn rendered(template: &str) -> TestEnv {
    nodes(
        "
        app:
          type: tosca.nodes.Root
          interfaces:
            Standard:
              operations:
                configure:
                  implementation: printf %s \"$TEXT\" > written
                  environment:
                    TEXT: \"<template>\"
        ",
    )
    .with("template", template)
    .env()
}

#[track_caller]
fn written(template: &str) -> String {
    let env = rendered(template);
    env.unfurl(["deploy", "--approve"]).succeeds();
    env.read("written")
}

#[test]
fn a_text_is_encrypted_and_decrypted_again() {
    let sealed = written("{{ 'clear' | vault('pw') }}");
    assert!(
        sealed.starts_with("$ANSIBLE_VAULT;1.2;AES256;filter_default\n"),
        "{sealed}"
    );
    let opened = written("{{ 'clear' | vault('pw', vault_id='web') | unvault('pw') }}");
    assert_eq!(opened, "clear");
    assert_eq!(written("{{ 'open' | unvault('pw') }}"), "open");
}

#[test]
fn a_decrypted_text_is_not_shown() {
    let env = rendered("{{ 'clear' ~ 'text' | vault('pw') | unvault('pw') }}");
    let run = env.unfurl(["deploy", "--approve", "-v"]);
    assert!(!(run.stdout + &run.stderr + &env.read("ensemble.yaml")).contains("cleartext"));
}

#[test]
fn wrong_arguments_are_reported() {
    for (template, reason) in [
        ("{{ 'x' | vault }}", "`vault`: needs the argument `secret`"),
        ("{{ 'x' | vault(1) }}", "`vault`: takes texts, not"),
        (
            "{{ 'x' | vault('p', salt='') }}",
            "the salt must not be empty",
        ),
        ("{{ 'x' | vault('p', wrap_object=true) }}", "`wrap_object`"),
        (
            "{{ 'x' | vault('p') | unvault('q') }}",
            "the password does not open it",
        ),
        (
            "{{ '$ANSIBLE_VAULT;9' | unvault('q') }}",
            "other than 1.1 and 1.2",
        ),
    ] {
        let run = rendered(template).unfurl(["deploy", "--approve"]);
        assert_ne!(run.code, 0, "{run}");
        let said = run.stdout + &run.stderr;
        assert!(said.contains(reason), "{template}: {said}");
    }
}

#[test]
fn the_filters_give_the_bytes_of_ansible() {
    requires!("target/unfurl-py");
    let script = "from ansible.plugins.filter.encryption import do_vault, do_unvault\n\
                  import sys\n\
                  print(do_vault('a text', 'pw', salt='s' * 32), end='|')\n\
                  print(do_vault('a text', 'pw', salt='s', vault_id='default'), end='|')\n\
                  print(do_vault('a text', 'pw', salt='s', vaultid='old'), end='|')\n\
                  print(do_unvault(sys.argv[1], 'pw'), end='')\n";
    let ours = written("{{ 'mine' | vault('pw') }}");
    let output = Command::new(target().join("unfurl-py/bin/python3"))
        .args(["-c", script, &ours])
        .env("HOME", target())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let theirs = String::from_utf8(output.stdout).unwrap();
    let theirs: Vec<&str> = theirs.split('|').collect();
    let salt = "s".repeat(32);
    for (template, expected) in [
        (
            format!("{{{{ 'a text' | vault('pw', salt='{salt}') }}}}"),
            theirs[0],
        ),
        (
            "{{ 'a text' | vault('pw', 's', vault_id='default') }}".into(),
            theirs[1],
        ),
        (
            "{{ 'a text' | vault('pw', 's', vaultid='old') }}".into(),
            theirs[2],
        ),
    ] {
        assert_eq!(
            written(&template).trim_end(),
            expected.trim_end(),
            "{template}"
        );
    }
    assert_eq!(theirs[3], "mine");
}
