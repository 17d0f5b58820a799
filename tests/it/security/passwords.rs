//! Security of passwords: S4 and S19, passwords that a host prints or that files contain.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::hosts::login::Person;
use crate::hosts::sshd::Sshd;
use crate::support::{Run, TestEnv};

fn set_mode(env: &TestEnv, path: &str, mode: u32) {
    let path = env.work().join(path);
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// A host that knows a password, and an environment whose hosts file has the password.
fn host_with_a_leak(person: &Person) -> (Sshd, TestEnv) {
    let sshd = Sshd::with(1, &["PasswordAuthentication yes"]);
    let env = TestEnv::new();
    let (user, password) = (&person.0, Person::PASSWORD);
    let hosts = format!(
        "hosts: {{web1: {{host: 127.0.0.1, port: {}, user: {user}, password: \"{password}\"}}}}",
        sshd.port
    );
    env.write("hosts.yaml", &hosts);
    set_mode(&env, "hosts.yaml", 0o600);
    fs::write(sshd.path("leak"), format!("it is {password}\n")).unwrap();
    (sshd, env)
}

fn on_web1(env: &TestEnv, sshd: &Sshd, command: &str, more: &[&str]) -> Run {
    let known = sshd.path("known_hosts").display().to_string();
    let mut words: Vec<&str> = command.split(' ').collect();
    words.extend("--hosts-file hosts.yaml -H web1 -a -k --no-ssh-config".split(' '));
    words.extend(["--known-hosts", &known]);
    words.extend(more);
    env.unfurl(words)
}

/// V14: a host that prints the password of the login does not bring it into output and logs.
#[test]
fn s4_a_password_that_a_host_prints_is_hidden() {
    requires!("root", "sshd");
    let person = Person::new();
    let (sshd, env) = host_with_a_leak(&person);
    let leak = sshd.path("leak");
    let leak = leak.display();
    for (command, format) in [
        (format!("cat {leak}"), "text"),
        (format!("cat {leak} >&2; exit 3"), "text"),
        (format!("printf %s \"$(cat {leak})\" >&2; exit 3"), "json"),
        (
            format!("head -c 9 {leak}; sleep 0.1; tail -c +10 {leak}"),
            "json",
        ),
        (format!("base64 {leak}"), "text"),
        (format!("base64 {leak} >&2; exit 3"), "json"),
        (format!("od -An -tx1 {leak}"), "text"),
        (format!("tr a-z A-Z <{leak} >&2; exit 3"), "text"),
    ] {
        let more = ["--output", format, "--", &command];
        let run = on_web1(&env, &sshd, "run", &more);
        assert!(run.all().contains("<<REDACTED>>"), "{run}");
        assert!(
            !super::canary::is_leaked(Person::PASSWORD, run.all().as_bytes()),
            "{run}"
        );
    }
    let tasks = format!(
        "tasks: {{t: {{steps: [{{run: cat {leak}, register: r, quiet: true}}, \
         {{echo: \"told: {{{{ r.stdout }}}}\"}}, {{run: 'echo \"{{{{ r.stdout | trim }}}}\"'}}, \
         {{abort: \"{{{{ r.stdout }}}}\"}}]}}}}"
    );
    env.write("tasks.yaml", &tasks);
    let run = on_web1(&env, &sshd, "task", &["t"]).exits(1);
    assert!(!run.all().contains(Person::PASSWORD), "{run}");
    assert!(run.all().contains("told: <<REDACTED>>"), "{run}");
}

/// V14: the same for outputs of operations, which a record keeps.
#[test]
fn s4_a_password_that_a_host_prints_is_in_no_record() {
    requires!("root", "sshd");
    let person = Person::new();
    let (sshd, env) = host_with_a_leak(&person);
    let key = fs::read_to_string(sshd.path("host_ed25519.pub")).unwrap();
    let ensemble = format!(
        "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    node_types:
      Machine:
        derived_from: tosca.nodes.Root
        attributes: {{told: {{type: string}}}}
        capabilities:
          endpoint: {{type: unfurl.capabilities.Endpoint.SSH}}
    topology_template:
      node_templates:
        vm:
          type: Machine
          capabilities:
            endpoint:
              properties:
                host: 127.0.0.1
                port: {}
                user: {}
                hostvars: {{ansible_password: !sensitive \"{}\", host_key: \"{}\"}}
          interfaces:
            Standard:
              configure:
                implementation: cat {}
                operation_host: SELF
                inputs:
                  resultTemplate: {{attributes: {{told: '{{{{ stdout }}}}'}}}}
",
        sshd.port,
        person.0,
        Person::PASSWORD,
        key.trim(),
        sshd.path("leak").display()
    );
    env.write("ensemble.yaml", &ensemble);
    let run = env.unfurl(["deploy", "--approve"]).succeeds();
    assert!(!run.all().contains(Person::PASSWORD), "{run}");
    let template = env.read("ensemble.yaml").matches(Person::PASSWORD).count();
    assert_eq!(template, 1, "{}", env.read("ensemble.yaml"));
    for (name, bytes) in env.files() {
        let text = String::from_utf8_lossy(&bytes);
        let is_own = name.ends_with("ensemble.yaml") || name.ends_with("hosts.yaml");
        assert!(is_own || !text.contains(Person::PASSWORD), "{name}: {text}");
    }
}

/// V14: passwords in hosts files that others can read, or that git tracks, are reported.
#[test]
fn s19_a_hosts_file_with_a_password_that_others_can_read_is_reported() {
    let env = TestEnv::new();
    let warnings = |file: &str, count: usize| {
        let run = env.unfurl(["run", "-H", "@local", "--hosts-file", file, "--", "true"]);
        let run = run.succeeds();
        let found = run.stderr.matches("contains the password of").count();
        assert_eq!(found, count, "{run}");
        assert!(!run.all().contains("hunter"), "{run}");
        run
    };
    let own = "hosts: {a: {password: hunter2}, b: {password: hunter3}}\n";
    env.write("own.yaml", own);
    let other_user = "hosts: {a: {become: {user: b, password: hunter2}}}\n";
    env.write("become.yaml", other_user);
    env.write("ansible.ini", "[all]\na ansible_ssh_pass=hunter2\nb\n");
    env.write("ansible.yaml", "all: {vars: {ansible_password: hunter2}}\n");
    for file in ["own.yaml", "become.yaml", "ansible.ini", "ansible.yaml"] {
        set_mode(&env, file, 0o640);
        let run = warnings(file, 1);
        assert!(run.stderr.contains(&format!("chmod 600 {file}")), "{run}");
        set_mode(&env, file, 0o600);
        warnings(file, 0);
    }
    env.write(
        "plain.yaml",
        "hosts: {a: {user: u}, b: {password: \"{{ x }}\"}}\n",
    );
    set_mode(&env, "plain.yaml", 0o644);
    warnings("plain.yaml", 0);
    env.git(&["init", "-q"]);
    env.git(&["add", "own.yaml"]);
    let run = warnings("own.yaml", 1);
    assert!(run.stderr.contains("git tracks the file"), "{run}");
    env.git(&["rm", "-q", "--cached", "own.yaml"]);
    warnings("own.yaml", 0);
}

/// V14: the same for the connections of a project.
#[test]
fn s19_a_project_with_a_password_that_others_can_read_is_reported() {
    let env = TestEnv::new();
    let project = |password: &str| {
        format!(
            "apiVersion: unfurl/v1.0.0\nkind: Project\nenvironments:\n  defaults:\n    connections:\n      \
             c:\n        type: unfurl.relationships.ConnectsTo.Ansible\n        default_for: ANY\n        \
             properties: {{credential: {{user: u, token: {password}}}}}\n"
        )
    };
    let ensemble = "apiVersion: unfurl/v1.0.0\nkind: Ensemble\nspec:\n  service_template:\n    \
        tosca_definitions_version: tosca_simple_unfurl_1_0_0\n    topology_template: {}\n";
    env.write("ensemble.yaml", ensemble);
    for (password, mode, count) in [
        ("hunter2", 0o644, 1),
        ("!sensitive hunter2", 0o644, 1),
        ("hunter2", 0o600, 0),
        ("{get_env: PW}", 0o644, 0),
        ("\"{{ lookup('env', 'PW') }}\"", 0o644, 0),
    ] {
        env.write("unfurl.yaml", &project(password));
        set_mode(&env, "unfurl.yaml", mode);
        let run = env.unfurl(["validate"]);
        let found = run.stderr.matches("contains a password").count();
        assert_eq!(found, count, "{password} {mode:o}: {run}");
        assert!(!run.all().contains("hunter2"), "{run}");
    }
}

/// V14: the files that a project includes, and values of `secrets`.
#[test]
fn s19_files_with_secrets_of_a_project_are_reported_once_each() {
    let env = TestEnv::new();
    let head = "apiVersion: unfurl/v1.0.0\nkind: Project\n";
    let defaults = |text: &str| format!("{head}environments: {{defaults: {{{text}}}}}\n");
    let includes = "+?include-local: local/unfurl.yaml\n+?include-secret: secrets/secrets.yaml\n";
    env.write("unfurl.yaml", &format!("{head}{includes}"));
    env.write(
        "local/unfurl.yaml",
        &defaults("secrets: {x: 'hunter2 here'}"),
    );
    let vault = "secrets: {vault_secrets: {default: hunter3}}";
    env.write("secrets/secrets.yaml", &defaults(vault));
    env.write(
        "ensemble.yaml",
        "apiVersion: unfurl/v1.0.0\nkind: Ensemble\nspec: {service_template: \
        {tosca_definitions_version: tosca_simple_unfurl_1_0_0, topology_template: {}}}\n",
    );
    env.git(&["init", "-q"]);
    let warnings = |expected: &[&str]| {
        for command in [&["validate"][..], &["plan"], &["deploy", "--approve"]] {
            let run = env.unfurl(command).succeeds();
            let found = run.stderr.matches("contains a password").count();
            assert_eq!(found, expected.len(), "{run}");
            assert!(!run.all().contains("hunter"), "{run}");
            run.says(expected);
        }
    };
    for (files, mode) in [(["local/unfurl.yaml", "secrets/secrets.yaml"], 0o644)] {
        for file in files {
            set_mode(&env, file, mode);
        }
    }
    warnings(&[
        "local/unfurl.yaml` contains a password (`x`, line 3), and other users can read the file (mode 644)",
        "secrets/secrets.yaml` contains a password (`default`, line 3), and other users can read the file",
    ]);
    set_mode(&env, "local/unfurl.yaml", 0o600);
    set_mode(&env, "secrets/secrets.yaml", 0o600);
    warnings(&[]);
    env.git(&["add", "-f", "secrets/secrets.yaml", "local/unfurl.yaml"]);
    warnings(&["git tracks the file", "git rm --cached"]);
    let run = env.unfurl(["doctor"]);
    assert!(
        run.stdout.contains("git tracks `") && run.stdout.contains("which can hold secrets"),
        "{run}"
    );
    env.git(&["rm", "-q", "--cached", "-r", "secrets", "local"]);
    // Expressions are no secrets.
    env.write(
        "local/unfurl.yaml",
        &defaults("secrets: {x: {get_env: HOME}, y: '{{ 1 }}'}"),
    );
    env.write("secrets/secrets.yaml", head);
    set_mode(&env, "local/unfurl.yaml", 0o644);
    set_mode(&env, "secrets/secrets.yaml", 0o644);
    warnings(&[]);
}
