//! Playbooks on other machines, over a real `sshd`.

use std::fs;

use super::playbooks::status;
use crate::drafts::{Draft, ensemble};
use crate::hosts::sshd::{Sshd, user};

const TYPES: &str = "
    node_types:
      Machine:
        derived_from: tosca.nodes.Root
        capabilities:
          endpoint: {type: tosca.capabilities.Endpoint.Admin}
      App:
        derived_from: tosca.nodes.Root
        attributes: {told: {type: string}}
        requirements:
          - host: {node: Machine, relationship: tosca.relationships.HostedOn}
    topology_template:
      node_templates:
        machine:
          type: Machine
          capabilities:
            endpoint:
              type: unfurl.capabilities.Endpoint.SSH
              properties:
                host: 127.0.0.1
                connection: ssh
                port: <port>
                user: <user>
                hostvars:
                  ansible_ssh_private_key_file: <id>
                  host_key: \"<key>\"
                  ansible_python_interpreter: auto_silent
        app:
          type: App
          requirements: [{host: machine}]
          interfaces:
            Standard:
              configure:
                implementation: Ansible
                inputs:
                  <inputs>
                outputs: {told: told}
      groups:
        web:
          type: unfurl.groups.AnsibleInventoryGroup
          members: [machine]
          properties: {hostvars: {word: of-the-group}}
";

fn app_on(sshd: &Sshd, inputs: &str) -> Draft {
    let key = fs::read_to_string(sshd.path("host_ed25519.pub")).unwrap();
    ensemble(TYPES)
        .with("port", sshd.port)
        .with("user", user())
        .with("id", sshd.path("id").display())
        .with("key", key.trim())
        .with("inputs", inputs)
}

#[test]
fn a_play_without_hosts_runs_on_the_machine_of_its_node() {
    requires!("ansible-playbook", "sshd");
    let sshd = Sshd::start();
    let env = app_on(
        &sshd,
        "
        playbook:
          q:
            - shell: echo \"{{ inventory_hostname }} {{ word }} ${SSH_CONNECTION##* }\"
              register: said
            - set_fact: {told: '{{ said.stdout }}'}
        ",
    )
    .env();
    let run = env.unfurl(["deploy", "--approve"]).succeeds();
    let told =
        &env.ensemble()["status"]["instances"]["machine"]["instances"]["app"]["attributes"]["told"];
    assert_eq!(
        *told,
        format!("machine of-the-group {}", sshd.port),
        "{run}"
    );
    assert!(sshd.log().contains("Accepted publickey"));
    let again = env.unfurl(["deploy", "--approve"]).succeeds();
    assert!(again.all().contains("Nothing to do"), "{again}");
}

#[test]
fn failures_of_several_hosts_are_reported_by_host() {
    requires!("ansible-playbook", "sshd");
    let sshd = Sshd::start();
    let env = app_on(
        &sshd,
        "
        inventory:
          all:
            vars:
              ansible_port: '{{ \"::machine::.capabilities::[.name=endpoint]::port\" | eval }}'
              ansible_ssh_private_key_file: '{{ \"::machine::.capabilities::[.name=endpoint]::hostvars::ansible_ssh_private_key_file\" | eval }}'
              ansible_ssh_common_args: -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null
              ansible_host: 127.0.0.1
              ansible_python_interpreter: auto_silent
            hosts:
              good: {}
              bad: {}
              gone: {ansible_port: 1}
        playbook:
          q:
            - hosts: all
              gather_facts: false
              tasks:
                - {name: check, command: 'true'}
                - {name: fail on one, fail: {msg: 'no space'}, when: inventory_hostname == 'bad'}
        ",
    )
    .env();
    let run = env.unfurl(["deploy", "--approve"]).exits(64);
    let text = run.all();
    assert!(
        text.contains("bad: task `fail on one`: failed: no space"),
        "{run}"
    );
    assert!(
        text.contains("gone: task `check`: the host is unreachable"),
        "{run}"
    );
    assert!(!text.contains("good: task"), "{run}");
    let _ = status;
}
