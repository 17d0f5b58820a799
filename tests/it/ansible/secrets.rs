//! Secrets of playbooks: they are on no command line and in no file, log or record in clear.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::playbooks::attributes;
use crate::drafts::ensemble;
use crate::support::TestEnv;

const CANARY: &str = "c4n4ry-in-the-playbook";
const OF_FILE: &str = "c4n4ry-of-the-file";
const VAULT_PASSWORD: &str = "c4n4ry-of-the-vault";

const MODEL: &str = r#"
    node_types:
      App:
        derived_from: tosca.nodes.Root
        properties: {password: {type: string, metadata: {sensitive: true}}}
    topology_template:
      node_templates:
        app:
          type: App
          properties: {password: {get_env: CANARY}}
          interfaces:
            Standard:
              configure:
                implementation:
                  primary: Ansible
                  environment: {OF_ENVIRONMENT: '{{ SELF.password }}'}
                inputs:
                  playbook: {q: [{vars_files: [<folder>/vaulted.yml], tasks: [
                    {name: look, shell: "cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -c 'c4n4[r]y'; echo ${#OF_ENVIRONMENT}", register: seen, failed_when: false},
                    {name: use, copy: {dest: <folder>/used, mode: '0600', content: '{{ secret }} {{ vaulted }} {{ SELF.password }}'}, no_log: true},
                    {name: show, debug: {msg: 'leaks {{ secret }}'}},
                    {name: tell, set_fact: {lines: '{{ seen.stdout_lines }}', leaked: '{{ secret }}'}}]}]}
                  arguments: {secret: '{{ SELF.password }}'}
                outputs: {lines: lines, leaked: leaked}
    "#;

/// An ensemble whose playbook uses a secret property, and a file of variables that the project's vault encrypts.
fn env() -> TestEnv {
    let env = TestEnv::new();
    let folder = env.work().display().to_string();
    env.write(
        "ensemble.yaml",
        &ensemble(MODEL).with("folder", folder).build(),
    );
    let password = env.work().join("password");
    fs::write(&password, VAULT_PASSWORD).unwrap();
    env.write("vaulted.yml", &format!("vaulted: {OF_FILE}\n"));
    let mut sealing = Command::new("ansible-vault");
    sealing.args(["encrypt", "--vault-id"]);
    sealing.arg(format!("default@{}", password.display()));
    sealing
        .arg(env.work().join("vaulted.yml"))
        .env("HOME", env.work());
    let sealed = sealing.output().unwrap();
    assert!(sealed.status.success(), "{sealed:?}");
    fs::remove_file(&password).unwrap();
    let env = env.variable("CANARY", CANARY);
    env.variable("UNFURL_VAULT_DEFAULT_PASSWORD", VAULT_PASSWORD)
}

/// Returns the files below a folder that contain a text in clear.
fn files_with(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_with(&path, text));
        } else if let Ok(bytes) = fs::read(&path)
            && bytes
                .windows(text.len())
                .any(|part| part == text.as_bytes())
        {
            found.push(path.display().to_string());
        }
    }
    found
}

#[track_caller]
fn nothing_leaks(env: &TestEnv, said: &str) {
    let root = env.work();
    for canary in [CANARY, OF_FILE, VAULT_PASSWORD] {
        assert_eq!(
            files_with(root.parent().unwrap(), canary),
            [""; 0],
            "{said}"
        );
        assert!(!said.contains(canary), "{canary}: {said}");
    }
}

#[test]
fn secrets_reach_the_playbook_and_stay_out_of_everything_else() {
    requires!("ansible-playbook");
    let env = env();
    let run = env.unfurl(["-vv", "deploy", "--approve"]).succeeds();
    assert_eq!(
        env.read("used"),
        format!("{CANARY} {OF_FILE} {CANARY}"),
        "{run}"
    );
    fs::remove_file(env.work().join("used")).unwrap();
    // No command line had the secret, and the task's environment did.
    let lines = attributes(&env)["lines"].to_string();
    assert_eq!(lines, format!(r#"["0","{}"]"#, CANARY.len()), "{run}");
    nothing_leaks(&env, &run.all());
    let again = env.unfurl(["deploy", "--approve"]).succeeds();
    assert!(again.all().contains("Nothing to do"), "{again}");
}

#[test]
fn a_secret_in_the_message_of_a_failure_is_redacted() {
    requires!("ansible-playbook");
    let env = env();
    let model = env.read("ensemble.yaml");
    env.write(
        "ensemble.yaml",
        &model.replace("debug: {msg: 'leaks", "fail: {msg: 'leaks"),
    );
    let run = env.unfurl(["-vv", "deploy", "--approve"]).exits(64);
    assert!(
        run.all()
            .contains("task `show`: failed: leaks <<REDACTED>>"),
        "{run}"
    );
    fs::remove_file(env.work().join("used")).unwrap();
    nothing_leaks(&env, &run.all());
}
