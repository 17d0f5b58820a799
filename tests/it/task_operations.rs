//! Operations implemented by tasks of `tasks.yaml`, on this machine and over a real `sshd`.

use std::fs;

use super::drafts::ensemble;
use super::hosts::sshd::{Sshd, user};
use super::support::TestEnv;

/// An ensemble with an instance whose operation is a task with these inputs.
fn app_with(inputs: &str, more: &str) -> TestEnv {
    ensemble("
            node_types:
              App:
                derived_from: tosca.nodes.Root
                properties: {secret: {type: string, default: hunter2hunter2, metadata: {sensitive: true}}}
                attributes: {told: {type: string}}
              Machine:
                derived_from: tosca.nodes.Root
                capabilities: {endpoint: {type: unfurl.capabilities.Endpoint.SSH}}
            topology_template:
              <more>
              node_templates:
                app:
                  type: App
                  interfaces:
                    Standard:
                      configure:
                        implementation: Task
                        inputs: {<inputs>}
            ").with("more", more).with("inputs", inputs).env()
}

/// The templates of two machines, `one` and `two`, on addresses of one server.
fn machines(sshd: &Sshd) -> String {
    let key = fs::read_to_string(sshd.path("host_ed25519.pub")).unwrap();
    let machine = |name: &str, last: u8| {
        format!(
            "        {name}: {{type: Machine, capabilities: {{endpoint: {{properties: {{host: 127.0.0.{last}, \
             port: {}, user: {}, hostvars: {{ansible_ssh_private_key_file: {}, host_key: \"{}\"}}}}}}}}}}\n",
            sshd.port,
            user(),
            sshd.path("id").display(),
            key.trim()
        )
    };
    format!("{}{}", machine("one", 1), machine("two", 2))
}

/// An ensemble with an instance and two machines.
fn over(sshd: &Sshd, inputs: &str) -> TestEnv {
    let env = app_with(inputs, "");
    let text = env.read("ensemble.yaml");
    let machines = machines(sshd);
    let at = "      node_templates:\n";
    env.write(
        "ensemble.yaml",
        &text.replace(at, &format!("{at}{machines}")),
    );
    env
}

/// The change record of the last job.
fn record(env: &TestEnv) -> String {
    let ensemble = env.ensemble();
    let file = ensemble["lastJob"]["changelog"].as_str().unwrap();
    env.read(file)
}

#[track_caller]
fn nothing_is_done_again(env: &TestEnv) {
    let before = env.tracked();
    let again = env.unfurl(["deploy", "--approve"]).succeeds();
    assert!(again.stdout.contains("Nothing to do"), "{again}");
    assert!(env.tracked() == before, "{again}");
}

#[test]
fn a_task_without_hosts_is_an_operation() {
    let env = app_with(
        "task: greet, arguments: {who: you, secret: {eval: .::secret}}, \
         resultTemplate: {attributes: {told: \"{{ results['<local-only>'] }}\"}}",
        "",
    );
    env.write(
        "tasks.yaml",
        "tasks:
  greet:
    args: {who: , secret: }
    steps:
      - local: echo hello {{ who }} >> said; printf '%s' '{{ secret }}' | wc -c
        register: size
    returns: '{{ who }} {{ size.stdout | trim }}'
",
    );
    let run = env.unfurl(["deploy", "--approve"]).succeeds();
    assert!(!run.all().contains("hunter2hunter2"), "{run}");
    assert_eq!(env.read("said"), "hello you\n");
    let record = record(&env);
    assert!(
        record.contains("unfurl.configurators.task.TaskConfigurator"),
        "{record}"
    );
    assert!(record.contains("tasks.yaml: sha256:"), "{record}");
    assert!(!record.contains("hunter2hunter2"), "{record}");
    let told = &env.ensemble()["status"]["instances"]["app"]["attributes"]["told"];
    assert_eq!(told, "you 14");
    nothing_is_done_again(&env);
    assert_eq!(env.read("said"), "hello you\n");

    // A change of the task's text is detected.
    let text = env.read("tasks.yaml").replace("hello", "bye");
    env.write("tasks.yaml", &text);
    env.unfurl(["deploy", "--approve"]).succeeds();
    assert_eq!(env.read("said"), "hello you\nbye you\n");
    nothing_is_done_again(&env);

    // So is a change of a file with variables.
    env.write("more.yaml", "greeting: ciao\n");
    let text = env.read("tasks.yaml").replace("bye", "{{ greeting }}");
    env.write(
        "tasks.yaml",
        &format!("env: {{vars_files: [more.yaml]}}\n{text}"),
    );
    env.unfurl(["deploy", "--approve"]).succeeds();
    nothing_is_done_again(&env);
    env.write("more.yaml", "greeting: hola\n");
    env.unfurl(["deploy", "--approve"]).succeeds();
    assert_eq!(env.read("said"), "hello you\nbye you\nciao you\nhola you\n");
}

#[test]
fn a_task_goes_to_the_machines_of_instances() {
    requires!("sshd");
    let sshd = Sshd::with(2, &[]);
    let env = over(
        &sshd,
        "task: 'mark:x', hosts: [one, two], resultTemplate: {attributes: {told: '{{ results.one }}, {{ results.two }}'}}",
    );
    env.write(
        "tasks.yaml",
        &"tasks:
  mark:
    args: {what: }
    parallel: true
    steps:
      - run: echo {{ host_string }} {{ what }} $SSH_CONNECTION >> ~/marks
      - put: {src: tasks.yaml, dest: 'FOLDER/taken-{{ host_string }}'}
      - sudo: id -un
        user: nobody
        register: who
    returns: '{{ who.stdout }} on {{ host_string }}'
"
        .replace("FOLDER", &sshd.path("").display().to_string()),
    );
    env.unfurl(["deploy", "--approve"]).succeeds();
    let marks = fs::read_to_string(sshd.path("home/marks")).unwrap();
    let mut marks: Vec<&str> = marks.lines().collect();
    marks.sort_unstable();
    let went_to = |line: &str, host: &str, last: u8| {
        let is_of = line.starts_with(&format!("{host} x "));
        is_of && line.ends_with(&format!(" 127.0.0.{last} {}", sshd.port))
    };
    assert!(
        marks.len() == 2 && went_to(marks[0], "one", 1) && went_to(marks[1], "two", 2),
        "{marks:?}"
    );
    let told = &env.ensemble()["status"]["instances"]["app"]["attributes"]["told"];
    assert_eq!(told, "nobody on one, nobody on two");
    for name in ["taken-one", "taken-two"] {
        let taken = fs::read(sshd.path(name)).unwrap();
        assert_eq!(taken, env.read("tasks.yaml").into_bytes());
    }
    let record = record(&env);
    assert!(record.contains("task: mark:x"), "{record}");
    let logins = sshd.log().matches("Accepted").count();
    nothing_is_done_again(&env);
    assert_eq!(sshd.log().matches("Accepted").count(), logins);
}

#[test]
fn a_task_that_fails_on_a_host_fails_the_operation() {
    requires!("sshd");
    let sshd = Sshd::with(2, &[]);
    let env = over(&sshd, "task: break, hosts: one;two");
    env.write(
        "tasks.yaml",
        "tasks:
  break:
    steps:
      - run: echo x >> ~/tries; echo no disk >&2; exit 3
",
    );
    let run = env.unfurl(["deploy", "--approve"]).exits(64);
    run.says(&["task `break` on `one`: exit code 3: no disk"]);
    assert_eq!(fs::read_to_string(sshd.path("home/tries")).unwrap(), "x\n");
    assert!(record(&env).contains("exit code 3"), "{}", record(&env));
}

#[test]
fn a_task_has_nobody_to_ask() {
    let env = app_with("task: ask", "");
    env.write(
        "tasks.yaml",
        "tasks:\n  ask:\n    steps:\n    - prompt: Really?\n    - local: touch done\n",
    );
    let run = env.unfurl(["deploy", "--approve"]).exits(64);
    run.says(&["the question of the step was not answered"]);
    assert!(!env.work().join("done").exists());
}

#[test]
fn a_missing_task_is_reported_before_anything_runs() {
    let env = app_with("task: gret", "");
    env.unfurl(["deploy", "--approve"])
        .exits(64)
        .says(&["no `tasks.yaml` was found"]);
    env.write(
        "tasks.yaml",
        "tasks:\n  greet:\n    steps:\n    - local: touch done\n",
    );
    env.unfurl(["deploy", "--approve"])
        .exits(64)
        .says(&["there is no task `gret`"]);
    env.unfurl(["deploy", "--dryrun", "--approve"])
        .prints(&["nothing was changed"]);
    assert!(!env.work().join("done").exists());
    for (step, says) in [
        (
            "execute: greet",
            "tasks.yaml:4: task `gret` executes `greet`, which does not exist",
        ),
        ("put: {src: nowhere, dest: x}", "tasks.yaml:4: "),
        ("execute: {task: gret, roles: none}", "tasks.yaml:4: "),
        ("echo: '{{ nothing }}'", "tasks.yaml:4: "),
    ] {
        env.write(
            "tasks.yaml",
            &format!("tasks:\n  gret:\n    steps:\n    - {step}\n    - local: touch done\n"),
        );
        env.unfurl(["deploy", "--approve"]).exits(64).says(&[says]);
    }
    assert!(!env.work().join("done").exists());
}

#[test]
fn a_step_of_a_workflow_calls_a_task() {
    let more = "      workflows:
        deploy:
          steps:
            sweep:
              target: app
              activities: [{call_operation: Standard.configure}]
";
    let env = app_with("task: sweep, file: ops/tasks.yaml", more);
    env.write(
        "ops/tasks.yaml",
        "tasks:\n  sweep:\n    steps:\n    - local: touch swept; pwd\n",
    );
    env.unfurl(["deploy", "--approve"]).succeeds();
    assert!(env.work().join("ops/swept").exists());
    assert!(
        record(&env).contains("TaskConfigurator"),
        "{}",
        record(&env)
    );
}
