//! Connections of an environment to the machines that operations run on.

use std::fs;

use super::super::hosts::sshd::{Sshd, user};
use super::super::support::TestEnv;
use super::{PROJECT, attribute};

/// An ensemble whose node `a` runs a command on the machine `m`. `connections` are those of the environment.
fn on_machine(connections: &str) -> TestEnv {
    let env = TestEnv::with_ensemble(
        "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    node_types:
      Machine:
        derived_from: tosca.nodes.Root
        capabilities: {endpoint: {type: unfurl.capabilities.Endpoint.SSH}}
    topology_template:
      node_templates:
        m: {type: Machine, capabilities: {endpoint: {properties: {host: 127.0.0.1}}}}
        a:
          type: tosca.nodes.Root
          requirements: [dependency: m]
          interfaces:
            Standard:
              configure:
                implementation: echo $SSH_CONNECTION
                operation_host: m
                inputs: {resultTemplate: {attributes: {o: '{{ stdout | trim }}'}}}
",
    );
    let text = format!("{PROJECT}environments:\n  defaults:\n    connections:\n{connections}");
    env.write("unfurl.yaml", &text);
    env
}

fn connection(sshd: &Sshd, name: &str, selector: &str, port: u16) -> String {
    let key = fs::read_to_string(sshd.path("host_ed25519.pub")).unwrap();
    format!(
        "      {name}:
        type: unfurl.relationships.ConnectsTo.Ansible
        default_for: {selector}
        properties:
          credential: {{user: {}, token: '', keys: {{ssh_private_key_file: {}}}}}
          hostvars: {{ansible_port: {port}, host_key: \"{}\"}}
",
        user(),
        sshd.path("id").display(),
        key.trim()
    )
}

#[test]
fn the_environments_connection_to_a_host_says_how_an_operation_reaches_it() {
    requires!("sshd");
    let sshd = Sshd::start();
    for selector in [
        "ANY",
        "m",
        "Machine",
        "unfurl.capabilities.Endpoint.SSH",
        "endpoint",
    ] {
        let env = on_machine(&connection(&sshd, "c", selector, sshd.port));
        env.unfurl(["deploy", "--approve"]).succeeds();
        let seen = attribute(&env, "a", "o");
        assert!(
            seen.ends_with(&format!("127.0.0.1 {}", sshd.port)),
            "{selector}: {seen}"
        );
    }
    // The connection for this machine goes before that for all, and one for another machine is not used.
    let both = connection(&sshd, "all", "ANY", 1) + &connection(&sshd, "own", "m", sshd.port);
    let env = on_machine(&both);
    env.unfurl(["deploy", "--approve"]).succeeds();
    let env = on_machine(&connection(&sshd, "c", "a", sshd.port));
    let run = env.unfurl(["deploy", "--approve"]);
    assert_ne!(run.code, 0, "{run}");
}
