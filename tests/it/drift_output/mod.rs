//! The face of `unfurl drift`: its text, its formats, its exit codes, its record and its ignore rules, on small
//! ensembles of this machine.

mod codes;
mod formats;
mod notes;
mod record;
mod rules;
mod text;

use crate::support::{Run, TestEnv};

/// An ensemble with a file and three processes. A process is a file with its status.
const SHOP: &str = r#"apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    node_types:
      File:
        derived_from: tosca.nodes.Root
        properties:
          text: {type: string}
        interfaces:
          Standard:
            configure:
              implementation: Template
              inputs:
                run:
                  eval: {file: out/shop.conf, contents: {eval: ".::text"}}
      Process:
        derived_from: tosca.nodes.Root
        properties:
          file: {type: string}
        interfaces:
          Install:
            check:
              implementation: Shell
              inputs:
                command: "cat {{ SELF.file }}"
                resultTemplate:
                  readyState:
                    local: "{{ stdout | trim }}"
          Standard:
            create: 'true'
    topology_template:
      node_templates:
        # This comment says why there is a file.
        conf:
          type: File
          properties:
            text: |
              listen 80
              root /srv
              workers 4
        web1: {type: Process, properties: {file: web1.status}}
        web2: {type: Process, properties: {file: web2.status}}
        web3: {type: Process, properties: {file: web3.status}}
"#;

/// The ensemble, deployed.
fn shop() -> TestEnv {
    let env = TestEnv::with_ensemble(SHOP);
    for name in ["web1", "web2", "web3"] {
        set_status(&env, name, "ok");
    }
    deploy(&env, &[]);
    env
}

fn set_status(env: &TestEnv, name: &str, status: &str) {
    env.write(&format!("{name}.status"), &format!("{status}\n"));
}

/// Edits the file of the ensemble by hand.
fn edit_file(env: &TestEnv) {
    let text = env.read("out/shop.conf").replace("listen 80", "listen 81");
    env.write("out/shop.conf", &text);
}

fn deploy(env: &TestEnv, more: &[&str]) -> Run {
    let words = ["deploy", "--approve", "--output", "none"];
    env.unfurl(words.iter().chain(more)).succeeds()
}

fn drift(env: &TestEnv, more: &[&str]) -> Run {
    env.unfurl(["drift"].iter().chain(more)).does_not_panic()
}

/// Returns a text with all ids, times and commits replaced.
fn without_ids(text: &str) -> String {
    let mut shown = String::new();
    for (place, word) in text.split(' ').enumerate() {
        if place > 0 {
            shown.push(' ');
        }
        let core = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_digits = |c: char| c.is_ascii_digit() || matches!(c, '-' | ':');
        let is_job = core.len() == 12 && core.chars().all(|c| c.is_ascii_alphanumeric());
        let is_time = core.len() >= 5 && core.chars().all(is_digits);
        let has_digit = core.chars().any(|c| c.is_ascii_digit());
        if has_digit && (is_job || is_time) {
            shown.push_str(&word.replace(core, "..."));
        } else {
            shown.push_str(word);
        }
    }
    shown
}
