//! Operations on other machines, over a real `sshd`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value as Json;

use super::drafts::{Draft, ensemble, text};
use super::hosts::sshd::{Sshd, make_key, user};
use super::support::TestEnv;

const TYPES: &str = "
    node_types:
      Machine:
        derived_from: tosca.nodes.Root
        attributes:
          public_ip: {type: string}
          told: {type: string}
        capabilities:
          endpoint: {type: unfurl.capabilities.Endpoint.SSH}
      App:
        derived_from: tosca.nodes.Root
        properties:
          password: {type: string, default: hunter2hunter2, metadata: {sensitive: true}}
        attributes:
          told: {type: string}
        requirements:
          - host: {node: Machine, relationship: tosca.relationships.HostedOn}
    topology_template:
      <topology>
";

fn with_types(topology: &str) -> Draft {
    ensemble(TYPES).with("topology", topology)
}

/// The endpoint of the node `machine`, with or without a host.
fn endpoint(sshd: &Sshd, key: &str, host: &str) -> String {
    let key = fs::read_to_string(sshd.path(key)).unwrap();
    let id = sshd.path("id");
    format!(
        "capabilities: {{endpoint: {{properties: {{{host}port: {}, user: {}, hostvars: \
         {{ansible_ssh_private_key_file: {}, host_key: \"{}\"}}}}}}}}",
        sshd.port,
        user(),
        id.display(),
        key.trim()
    )
}

/// An ensemble with an application on a machine. `operations` are those of the application.
fn app_on(sshd: &Sshd, operations: &str) -> TestEnv {
    let endpoint = endpoint(sshd, "host_ed25519.pub", "host: 127.0.0.1, ");
    with_types(
        "
            node_templates:
              machine: {type: Machine, <endpoint>}
              app:
                type: App
                requirements: [{host: machine}]
                interfaces:
                  Standard:
                    <operations>
            ",
    )
    .with("endpoint", endpoint)
    .with("operations", operations)
    .env()
}

/// The attribute that the operation of an instance has set.
fn attribute_of(env: &TestEnv, name: &str) -> String {
    let ensemble = env.ensemble();
    let instances = &ensemble["status"]["instances"];
    let nested = &instances["machine"]["instances"][name];
    let instance = if nested.is_null() {
        &instances[name]
    } else {
        nested
    };
    let told = &instance["attributes"]["told"];
    assert!(!told.is_null(), "{instance}");
    told.as_str()
        .map_or_else(|| told.to_string(), str::to_owned)
}

/// Asserts that a second deploy has nothing to do: no task runs, no machine is contacted, no file changes.
#[track_caller]
fn nothing_is_done_again(env: &TestEnv, sshd: &Sshd) {
    let logins = || sshd.log().matches("Accepted").count();
    let before = (env.tracked(), logins());
    let again = env.unfurl(["deploy", "--approve"]).succeeds();
    assert!(again.stdout.contains("Nothing to do"), "{again}");
    let again = env.unfurl(["deploy", "--approve", "--output", "json"]);
    let summary = again.succeeds().json();
    let tasks = summary["tasks"].as_array().cloned().unwrap_or_default();
    // Skipped tasks are listed, as for operations on this machine.
    assert_eq!(summary["job"]["skipped"], tasks.len(), "{summary:#}");
    assert!(
        tasks.iter().all(|task| task["status"].is_null()),
        "{summary:#}"
    );
    assert!((env.tracked(), logins()) == before, "{summary:#}");
}

#[test]
fn a_command_runs_on_the_machine_that_its_operation_names() {
    requires!("sshd");
    let sshd = Sshd::start();
    let env = app_on(
        &sshd,
        "              configure:
                implementation: echo $STATED:$UNSTATED:$SSH_CONNECTION:$(pwd)
                operation_host: HOST
                environment: {STATED: \"{{ '$OPERATION_HOST::.name' | eval }}\"}
                inputs: {resultTemplate: {attributes: {told: '{{ stdout | trim }}'}}}
",
    );
    let env = env.variable("UNSTATED", "here");
    env.unfurl(["deploy", "--approve"]).succeeds();
    let told = attribute_of(&env, "app");
    let parts: Vec<&str> = told.split(':').collect();
    assert_eq!((parts[0], parts[1]), ("machine", ""), "{told}");
    assert!(
        parts[2].ends_with(&format!("127.0.0.1 {}", sshd.port)),
        "{told}"
    );
    let home = nix::unistd::User::from_name(&user()).unwrap().unwrap().dir;
    assert_eq!(parts[3], home.to_str().unwrap());
    nothing_is_done_again(&env, &sshd);
}

/// D4: the output of another machine is whole too, or its use is an error.
#[test]
fn a_long_output_of_another_machine_is_kept_whole() {
    requires!("sshd");
    let sshd = Sshd::start();
    let env = app_on(
        &sshd,
        "              configure:
                implementation: yes xxxxxxxxx | head -c 2500000
                operation_host: HOST
                inputs: {resultTemplate: {attributes: {told: {eval: $stdout}}}}
",
    );
    env.unfurl(["-q", "deploy", "--approve", "--capture", "2M"])
        .exits(64)
        .says(&[
            "the output of 2500000 bytes was not kept whole",
            "`--capture 4M`",
        ]);
    env.unfurl(["-q", "deploy", "--approve"]).succeeds();
    assert!(attribute_of(&env, "app") == "xxxxxxxxx\n".repeat(250_000));
}

#[test]
fn a_script_of_the_ensemble_goes_there_and_leaves_nothing() {
    requires!("sshd");
    let sshd = Sshd::start();
    let env = app_on(
        &sshd,
        "              configure:
                implementation: scripts/make.sh one two
                operation_host: HOST
                inputs: {resultTemplate: {attributes: {told: '{{ stdout | trim }}'}}}
",
    );
    let text =
        "#!/bin/sh\necho \"$0 $* $(stat -c %a .) ${SSH_CONNECTION:+there}\"; pwd > ~/where\n";
    env.write("scripts/make.sh", text);
    let run = |path: &str| {
        let path = env.work().join(path);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        env.unfurl(["deploy", "--approve"])
    };
    run("scripts/make.sh").succeeds();
    assert_eq!(
        attribute_of(&env, "app"),
        "scripts/make.sh one two 700 there"
    );
    let place = fs::read_to_string(sshd.path("home/where")).unwrap();
    assert!(place.contains("/.cache/unfurl/"), "{place}");
    assert!(!fs::exists(place.trim()).unwrap());
    nothing_is_done_again(&env, &sshd);
}

#[test]
fn a_secret_goes_there_unseen() {
    requires!("sshd");
    let sshd = Sshd::start();
    let look = "tr '\\\\0' ' ' < /proc/$$/cmdline; cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\\\0' ' ' | grep -c 'hunter[2]hunter2'; echo $PASSWORD | wc -c";
    let env = app_on(
        &sshd,
        &text(
            r#"
                configure:
                  implementation: "<look>"
                  operation_host: HOST
                  environment: {PASSWORD: {eval: .::password}}
                  inputs: {resultTemplate: {attributes: {told: '{{ stdout.split() | last }}'}}}
                "#,
        )
        .with("look", look)
        .build(),
    );
    let run = env.unfurl(["deploy", "--approve"]).succeeds();
    assert!(!run.stdout.contains("hunter2hunter2") && !run.stderr.contains("hunter2hunter2"));
    assert_eq!(attribute_of(&env, "app"), "15");
    nothing_is_done_again(&env, &sshd);
}

#[test]
fn an_operation_waits_for_the_address_of_its_machine() {
    requires!("sshd");
    let sshd = Sshd::start();
    let endpoint = endpoint(&sshd, "host_ed25519.pub", "");
    let env = with_types("
            node_templates:
              machine:
                type: Machine
                <endpoint>
                interfaces:
                  Standard:
                    create: {implementation: Template, inputs: {resultTemplate: {attributes: {public_ip: 127.0.0.1}}}}
                    configure:
                      implementation: echo on $SSH_CONNECTION
                      operation_host: SELF
                      inputs: {resultTemplate: {attributes: {told: '{{ stdout | trim }}'}}}
            ").with("endpoint", endpoint).env();
    env.unfurl(["deploy", "--approve"]).succeeds();
    assert!(attribute_of(&env, "machine").starts_with("on 127.0.0.1"));
    nothing_is_done_again(&env, &sshd);
}

#[test]
fn a_machine_whose_key_is_another_is_not_talked_to() {
    requires!("sshd");
    let sshd = Sshd::start();
    make_key(&sshd.path("other"), "ed25519", "");
    let endpoint = endpoint(&sshd, "other.pub", "host: 127.0.0.1, ");
    let env = with_types("
            node_templates:
              machine: {type: Machine, <endpoint>, interfaces: {Standard: {configure: {implementation: 'echo hi', operation_host: SELF}}}}
            ").with("endpoint", endpoint).env();
    let run = env.unfurl(["deploy", "--approve"]).exits(64);
    run.says(&["key"]);
    let in_doubt = env.ensemble()["status"]["instances"]["machine"]["readyState"].clone();
    assert_ne!(in_doubt["local"], "ok");
    assert!(!sshd.log().contains("Accepted"), "{}", sshd.log());
}

#[test]
fn a_target_that_is_no_machine_is_reported() {
    let env = with_types("
            node_templates:
              one: {type: tosca.nodes.Root, interfaces: {Standard: {configure: {implementation: 'echo hi', operation_host: SELF}}}}
            ").env();
    env.unfurl(["deploy", "--approve"])
        .exits(64)
        .says(&["cannot connect to `one`"]);
}

#[test]
fn a_connection_that_is_lost_leaves_a_doubt() {
    requires!("sshd");
    let sshd = Sshd::start();
    let env = app_on(
        &sshd,
        "              configure:
                implementation: 'echo x >> ~/times; [ -e ~/calm ] || kill -9 $PPID; sleep 5'
                operation_host: HOST
",
    );
    let run = env.unfurl(["deploy", "--approve"]).exits(64);
    run.says(&["lost"]);
    assert_eq!(fs::read_to_string(sshd.path("home/times")).unwrap(), "x\n");
    let again = env.unfurl(["deploy", "--approve"]).exits(1);
    again.says(&["it is unknown whether"]);
    fs::write(sshd.path("home/calm"), "").unwrap();
    env.unfurl(["deploy", "--approve", "--redo-in-doubt"])
        .succeeds();
    assert_eq!(
        fs::read_to_string(sshd.path("home/times")).unwrap(),
        "x\nx\n"
    );
}

#[test]
fn a_command_of_the_user_runs_on_the_machine_of_an_instance() {
    requires!("sshd");
    let sshd = Sshd::start();
    let env = app_on(&sshd, "              create: 'true'\n");
    let run = env.unfurl([
        "run",
        "--approve",
        "--host",
        "machine",
        "--output",
        "json",
        "--",
        "sh",
        "-c",
        "echo {{ '.name' | eval }} $SSH_CONNECTION > ~/seen",
    ]);
    let summary: Json = run.succeeds().json();
    assert_eq!(summary["tasks"][0]["target"], "machine");
    let seen = fs::read_to_string(sshd.path("home/seen")).unwrap();
    assert!(seen.starts_with("machine 127.0.0.1"), "{seen}");
}

#[test]
fn executors_are_around_the_commands_of_operations() {
    requires!("sshd");
    let sshd = Sshd::start();
    let env = app_on(
        &sshd,
        "              configure:
                implementation: 'id -un; echo $SUDO_USER:$STATED'
                operation_host: HOST
                environment: {STATED: a b}
                inputs: {resultTemplate: {attributes: {told: '{{ stdout.split() | join(\" \") }}'}}}
",
    );
    let executors = "executors: {chain: [splay, direct], splaytime: 1, sudo_user: nobody}";
    let ensemble = env.read("ensemble.yaml") + "environment:\n  " + executors + "\n";
    env.write("ensemble.yaml", &ensemble);
    let run = env.unfurl(["-v", "deploy", "--approve"]).succeeds();
    run.says(&["`splay` waits 0 s", "`sudo` runs the action as `nobody`"]);
    assert_eq!(attribute_of(&env, "app"), format!("nobody {}:a b", user()));

    let opts = ["--executor-opts", "{sudo_user: root, splaytime: 2}"];
    let words = ["run", "--approve", "--host", "machine"];
    let command = [
        "--",
        "sh",
        "-c",
        "id -un > /tmp/$(basename ~)-$$ 2>/dev/null; id -un >&2; exit 3",
    ];
    let all: Vec<&str> = words.iter().chain(&opts).chain(&command).copied().collect();
    let run = env.unfurl(all).exits(64);
    run.says(&["the option `sudo_user` of executors is ignored", "nobody"]);
    // A single word with shell text is run by a shell, as with `-H`.
    let run = env.unfurl([&words[..], &["--", "true; exit 4"]].concat());
    run.exits(64).says(&["exit code 4"]);
}

#[test]
fn an_executor_of_ones_own_decides_over_a_command() {
    requires!("sshd");
    let sshd = Sshd::start();
    let env = app_on(&sshd, "              create: 'true'\n");
    env.write(
        "executors/never",
        "#!/bin/sh\necho '{\"error\": \"not today\"}'\n",
    );
    let file = env.work().join("executors/never");
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    let run = env.unfurl([
        "run",
        "-a",
        "--host",
        "machine",
        "--executors",
        "[never, direct]",
        "--",
        "touch",
        "x",
    ]);
    run.exits(64).says(&["not today"]);
    assert!(!sshd.log().contains("Accepted"));
}
