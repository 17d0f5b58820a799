//! Secrets of playbooks: they are on no command line and in no file, log or record in clear.

use std::fs;
use std::path::Path;

use super::playbooks::attributes;
use crate::drafts::nodes;
use crate::support::TestEnv;

const CANARY: &str = "c4n4ry-in-the-playbook";

/// An ensemble whose playbook uses a secret property, and a file of variables that the vault encrypts.
fn env() -> TestEnv {
    let look = "tr '\\0' ' ' < /proc/[0-9]*/cmdline 2>/dev/null";
    let look = look.replace("< /proc/[0-9]*/cmdline", "");
    let env = nodes(
        "
        app:
          type: tosca.nodes.Root
          properties:
            password: {eval: {sensitive: <canary>}}
          interfaces:
            Standard:
              configure:
                implementation:
                  primary: Ansible
                  environment: {OF_ENVIRONMENT: '{{ SELF.password }}'}
                inputs:
                  playbook:
                    - vars_files: ['{{ \"vaulted.yml\" | abspath }}']
                      tasks:
                        - name: look
                          shell: {eval: {q: \"cat /proc/[0-9]*/cmdline | tr '\\\\0' '\\\\n' | grep -c '[c]4n4ry-in'; cat /proc/[0-9]*/environ 2>/dev/null | grep -c x; true\"}}
                          register: seen
                        - name: use
                          copy:
                            dest: '{{ \".\" | abspath }}/used'
                            mode: '0600'
                            content: {q: '{{ secret }} {{ vaulted }} {{ lookup(\"env\", \"OF_ENVIRONMENT\") | length }}'}
                          no_log: true
                        - name: show
                          debug: {msg: {q: 'leaks {{ secret }}'}}
                        - set_fact: {lines: {q: '{{ seen.stdout_lines[0] }}'}, leaked: {q: '{{ secret }}'}}
                  arguments: {secret: '{{ SELF.password }}'}
                outputs: {lines: lines, leaked: leaked}
        ",
    )
    .with("canary", CANARY)
    .env();
    let _ = look;
    env.write(
        "unfurl.yaml",
        "apiVersion: unfurl/v1.0.0\nkind: Project\nensembles: [{file: ensemble.yaml}]\n",
    );
    env.variable("UNFURL_VAULT_DEFAULT_PASSWORD", "v4ult-p4ssw0rd")
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

#[test]
fn secrets_reach_the_playbook_and_stay_out_of_everything_else() {
    requires!("ansible-playbook");
    let env = env();
    env.write("vaulted.yml", "vaulted: v4ulted-c4n4ry\n");
    let vaulted = env.work().join("vaulted.yml");
    let password = env.work().join("password");
    env.write("password", "v4ult-p4ssw0rd");
    let sealed = std::process::Command::new("ansible-vault")
        .args(["encrypt", "--vault-id"])
        .arg(format!("default@{}", password.display()))
        .arg(&vaulted)
        .output()
        .unwrap();
    assert!(sealed.status.success(), "{sealed:?}");
    fs::remove_file(&password).unwrap();
    let run = env.unfurl(["-vv", "deploy", "--approve"]).succeeds();
    assert_eq!(
        env.read("used"),
        format!("{CANARY} v4ulted-c4n4ry {}", CANARY.len()),
        "{run}"
    );
    fs::remove_file(env.work().join("used")).unwrap();
    assert_eq!(attributes(&env)["lines"], "0", "{run}");
    let root = env.work();
    let root = root.parent().unwrap();
    for canary in [CANARY, "v4ulted-c4n4ry", "v4ult-p4ssw0rd"] {
        let mut files = files_with(root, canary);
        // The model itself has the first one.
        files.retain(|file| !(canary == CANARY && file.ends_with("work/ensemble.yaml")));
        assert_eq!(files, [""; 0], "{canary}: {run}");
        assert!(!run.all().contains(canary), "{canary}: {run}");
    }
}
