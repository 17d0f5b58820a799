//! Executors around tasks and commands over hosts, from files and from the command line.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::support::TestEnv;

use super::task::env;

/// Writes an executor into the folder `executors`.
fn executor(env: &TestEnv, name: &str, text: &str) {
    let path = format!("executors/{name}");
    env.write(&path, text);
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(env.work().join(&path), mode).unwrap();
}

#[test]
fn the_executor_of_the_documentation_decides_over_commands() {
    requires!("python3");
    let document = include_str!("../../../docs/executors.md");
    let (_, rest) = document.split_once("```python\n").unwrap();
    let (program, _) = rest.split_once("```").unwrap();
    let env =
        env("executors: [working-hours, direct]\ntasks: {a: {hosts: '@local', run: 'echo ran'}}\n");
    executor(&env, "working-hours", program);
    let run = env.unfurl(["task", "a", "--executor-opts", "{hour: 12}"]);
    assert_eq!(run.succeeds().stdout, "[@local] ran\n");
    let run = env.unfurl(["task", "a", "--executor-opts", "{hour: 3}"]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr
            .contains("refuses with exit code 7: not at 3 o'clock"),
        "{run}"
    );
    assert!(run.stdout.is_empty(), "{run}");
    // A copy has no output, which would show the reason.
    let copy = env.work().join("copy").display().to_string();
    let mut words = vec!["put", "-H", "@local", "--executor-opts", "{hour: 3}"];
    words.extend([
        "--executors",
        "[working-hours, direct]",
        "tasks.yaml",
        &copy,
    ]);
    env.unfurl(words).exits(1).says(&["not at 3 o'clock"]);
    assert!(!env.work().join("copy").exists());
}

#[test]
fn files_configure_executors_and_the_command_line_replaces_them() {
    let env = env(
        "executors: {chain: [note], splaytime: 30}\ntasks: {a: {hosts: '@local', run: 'echo ran'}}\n",
    );
    executor(&env, "note", "#!/bin/sh\ncat >> seen\necho null\n");
    let run = env.unfurl(["task", "a"]).succeeds();
    assert!(run.stderr.contains("no executor ran the function"), "{run}");
    assert!(env.read("seen").contains("\"splaytime\":30"));
    assert!(env.read("seen").contains("\"function\":\"cmd.run\""));
    let run = env
        .unfurl(["task", "a", "--executors", "direct"])
        .succeeds();
    assert_eq!(run.stdout, "[@local] ran\n");

    env.write(
        "hosts.yaml",
        "executors: {chain: [deny, direct]}\nhosts: {web1: {}}\n",
    );
    executor(
        &env,
        "deny",
        "#!/bin/sh\necho '{\"result\": {\"code\": 7, \"stdout\": \"\", \"stderr\": \"denied by policy\"}}'\n",
    );
    let words = ["run", "--hosts-file", "hosts.yaml", "-H", "@local"];
    let run = env.unfurl(words.iter().chain(&["--", "echo ran"]));
    assert_eq!((run.code, &*run.stdout), (1, ""), "{run}");
    assert!(run.stderr.contains("denied by policy"), "{run}");
    let run = env.unfurl(
        words
            .iter()
            .chain(&["--executors", "direct", "--", "echo ran"]),
    );
    assert_eq!(run.succeeds().stdout, "[@local] ran\n");

    let run = env.unfurl(["run", "-H", "@local", "--executors", "docker", "--", "true"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr
            .contains("of `tasks.yaml`, of a hosts file or of the environment"),
        "{run}"
    );
}

#[test]
fn an_executor_performs_a_function_that_is_missing_here_if_the_configuration_says_so() {
    let env = TestEnv::new();
    executor(
        &env,
        "own",
        "#!/bin/sh\ncat >> seen\necho '{\"result\": \"pruned\"}'\n",
    );
    let configure = |options: &str| {
        let text = format!("executors: {{{options}}}\nhosts: {{web1: {{}}}}\n");
        env.write("hosts.yaml", &text);
    };
    let op = ["op", "docker.prune", "all", "age=3", "-H", "@local"];
    let op = op
        .iter()
        .chain(&["--hosts-file", "hosts.yaml", "--approve"]);
    let unknown = "the state function `docker.prune` does not exist";
    // Salt's names of the option are `allow_missing_func` and, in its documentation, `all_missing_func`.
    for allowed in ["true", "['docker.*', cert.renew]", "docker.prune"] {
        for name in ["allow_missing_func", "all_missing_func"] {
            configure(&format!("chain: [own], {name}: {allowed}"));
            let run = env.unfurl(op.clone()).succeeds();
            assert!(run.stderr.contains("answers: pruned"), "{run}");
        }
    }
    let seen = env.read("seen");
    let request: serde_json::Value = serde_json::Deserializer::from_str(&seen)
        .into_iter()
        .next()
        .unwrap()
        .unwrap();
    assert_eq!(request["function"], "docker.prune");
    let call = serde_json::json!({
        "function": "docker.prune", "arguments": ["all"], "keywords": {"age": 3},
    });
    assert_eq!(request["action"]["call"], call);

    for refused in ["false", "[cert.renew]"] {
        configure(&format!("chain: [own], allow_missing_func: {refused}"));
        env.unfurl(op.clone()).exits(2).says(&[unknown]);
    }
    // A request must not decide about it, and built-in executors take no such function.
    configure("chain: [own]");
    let words = ["--executor-opts", "{allow_missing_func: true}"];
    env.unfurl(op.clone().chain(&words))
        .exits(2)
        .says(&[unknown, "is ignored"]);
    configure("chain: [direct], allow_missing_func: true");
    env.unfurl(op.clone()).exits(2).says(&[unknown]);
    assert_eq!(env.read("seen"), seen);
}

#[test]
fn a_missing_function_that_every_executor_leaves_is_not_available() {
    let env = TestEnv::new();
    executor(&env, "own", "#!/bin/sh\necho null\n");
    let op = [
        "op",
        "docker.prune",
        "-H",
        "@local",
        "--hosts-file",
        "hosts.yaml",
    ];
    let configure = |chain: &str| {
        let text = format!(
            "executors: {{chain: {chain}, allow_missing_func: true}}\nhosts: {{web1: {{}}}}\n"
        );
        env.write("hosts.yaml", &text);
    };
    let approved = op.iter().chain(&["--approve"]);
    for last in ["direct", "sudo", "container"] {
        configure(&format!("[own, {last}], sudo_user: root, container: app"));
        env.unfurl(approved.clone())
            .exits(1)
            .says(&["'docker.prune' is not available"]);
    }
    configure("[own]");
    env.unfurl(approved)
        .succeeds()
        .says(&["no executor ran the function"]);
    // Nobody can be asked, and nothing can be said about the effects.
    env.unfurl(op).exits(1).says(&["needs approval"]);
    env.unfurl(op.iter().chain(&["--dryrun"]))
        .exits(2)
        .says(&["`--dryrun` cannot tell"]);
    env.unfurl(op.iter().chain(&["--limit", "web*"]))
        .exits(2)
        .says(&["`--limit` is not available"]);
}

#[test]
fn states_pass_through_the_executors_too() {
    let env = TestEnv::new();
    env.write(
        "states/a.sls",
        "made:\n  file.touch: [{name: {{ pillar.path }}}]\n",
    );
    let path = env.work().join("made");
    let pillar = format!("{{path: {}}}", path.display());
    executor(
        &env,
        "deny",
        "#!/bin/sh\necho '{\"error\": \"denied by policy\"}'\n",
    );
    let words = [
        "state",
        "apply",
        "a",
        "-H",
        "@local",
        "--approve",
        "--pillar",
        &pillar,
    ];
    let run = env.unfurl(words.iter().chain(&["--executors", "[deny, direct]"]));
    assert_ne!(run.code, 0, "{run}");
    assert!(run.all().contains("denied by policy"), "{run}");
    assert!(!path.exists());
    env.unfurl(words.iter().chain(&["--executors", "direct"]))
        .succeeds();
    assert!(path.exists());
}

#[test]
fn a_transaction_is_around_the_commands_of_delegated_modules_only() {
    let env = env(
        "executors: {chain: transactional_update}\ntasks: {a: {hosts: '@local', run: 'echo ran in $T'}}\n",
    );
    let run = env.unfurl(["task", "a"]);
    assert_eq!(run.code, 1);
    assert!(
        run.all()
            .contains("needs the program `transactional-update`"),
        "{run}"
    );
    // A stand-in for the program, which exists on SUSE's transactional systems only.
    let script = "#!/bin/sh\necho \"$*\" > words\nwhile [ \"$1\" != run ]; do shift; done\nshift\nT=snapshot exec \"$@\"\n";
    executor(&env, "transactional-update", script);
    let path = format!("{}:/usr/bin:/bin", env.work().join("executors").display());
    let run = env.unfurl_with(("PATH", &path), &["task", "a"]).succeeds();
    assert_eq!(run.stdout, "[@local] ran in snapshot\n");
    let words = env.read("words");
    assert!(
        words.starts_with("--non-interactive --drop-if-no-change --no-selfupdate --continue"),
        "{words}"
    );
    env.write("tasks.yaml", "executors: {chain: transactional_update, delegated_modules: [pkg]}\ntasks: {a: {hosts: '@local', run: 'echo ran in $T'}}\n");
    let run = env.unfurl(["task", "a"]).succeeds();
    assert_eq!(run.stdout, "[@local] ran in\n");
}
