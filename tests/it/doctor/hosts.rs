//! Checks of the machines on which operations run.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;

use crate::hosts::sshd::Sshd;
use crate::support::TestEnv;

use super::{checks, doctor, find, is_fixed_by_its_command};

/// An ensemble whose operation runs on a host with an address.
fn on_host(port: u16, key: &str) -> TestEnv {
    TestEnv::with_ensemble(&format!(
        "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    node_types:
      Machine:
        derived_from: tosca.nodes.Root
        capabilities:
          endpoint: {{type: unfurl.capabilities.Endpoint.SSH}}
    topology_template:
      node_templates:
        server:
          type: Machine
          capabilities:
            endpoint:
              properties: {{host: 127.0.0.1, port: {port}, user: ada{key}}}
          interfaces:
            Standard:
              configure:
                implementation: uptime
                operation_host: SELF
"
    ))
}

#[test]
fn a_host_needs_a_key_and_a_known_host_key() {
    let env = on_host(2222, "");
    let run = doctor(&env, &[]).exits(1);
    let key = find(
        &checks(&run),
        "host-key",
        "the host key of `127.0.0.1` is not known",
    )
    .unwrap();
    let fix = key["fix"].as_str().unwrap();
    assert!(fix.contains("ssh-keyscan -p 2222 127.0.0.1 >> "), "{run}");
    let found = find(&checks(&run), "key", "no private key was found").unwrap();
    assert_eq!(found["state"], "warning", "{run}");
    let ssh = env.work().with_file_name("home").join(".ssh");
    fs::create_dir(&ssh).unwrap();
    let line = "[127.0.0.1]:2222 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIO0b7FhwXKFcGMlcbIwHY7Ya3MlWbDcYBQbKbjOVGMvt\n";
    fs::write(ssh.join("known_hosts"), line).unwrap();
    let run = doctor(&env, &[]).succeeds();
    assert_eq!(find(&checks(&run), "host-key", ""), None, "{run}");
}

#[test]
fn a_key_that_the_model_names_must_be_there_and_closed() {
    requires!("ssh-keygen");
    let env = on_host(2222, ", hostvars: {ansible_ssh_private_key_file: id}");
    let run = doctor(&env, &[]).exits(1);
    let found = find(&checks(&run), "key", "does not exist").unwrap();
    let fix = format!("{} -N '' -q", found["fix"].as_str().unwrap());
    assert_eq!(super::shell(&env, &fix).code, 0);
    let file = env.work().join("id");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    is_fixed_by_its_command(&env, &[], ("warning", "key", "other users can use"));
}

#[test]
fn the_host_key_of_a_server_is_added_by_the_command() {
    requires!("sshd");
    requires!("ssh-keygen");
    let sshd = Sshd::start();
    let env = on_host(sshd.port, "");
    is_fixed_by_its_command(&env, &[], ("error", "host-key", "is not known"));
}

#[test]
fn a_host_is_asked_only_online() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let env = on_host(port, "");
    let run = doctor(&env, &["--online"]);
    assert_eq!(
        find(&checks(&run), "host", "does not answer"),
        None,
        "{run}"
    );
    drop(listener);
    let run = doctor(&env, &["--online"]);
    let found = find(&checks(&run), "host", "does not answer").unwrap();
    assert_eq!(found["state"], "error", "{run}");
    let run = doctor(&env, &[]);
    assert_eq!(
        find(&checks(&run), "host", "does not answer"),
        None,
        "{run}"
    );
}

#[test]
fn the_ssh_settings_of_the_user_run_no_program() {
    let env = on_host(2222, "");
    let ssh = env.work().with_file_name("home").join(".ssh");
    fs::create_dir(&ssh).unwrap();
    let canary = env.work().join("canary");
    let text = format!("Match exec \"touch {}\"\n  User eve\n", canary.display());
    fs::write(ssh.join("config"), text).unwrap();
    doctor(&env, &[]);
    assert!(!canary.exists());
}
