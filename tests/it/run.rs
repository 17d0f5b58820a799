//! `unfurl run` from the user's view: commands, operations and workflows.

use serde_json::Value as Json;

use super::drafts::{Draft, ensemble};
use super::support::TestEnv;

const TYPES: &str = "
    interface_types:
      Ops: {operations: {backup: {}, note: {}, change: {}}}
      More: {operations: {backup: {}}}
    node_types:
      Db:
        derived_from: tosca.nodes.Root
        properties:
          port: {type: integer, default: 80}
          password: {type: string, default: hunter2hunter2, metadata: {sensitive: true}}
        attributes:
          told: {type: string}
        interfaces:
          Ops:
            type: Ops
            operations:
              backup: echo \"backup of {{ '.name' | eval }}\" >> backups
              note: echo \"note of {{ '.name' | eval }}\" >> notes
              change:
                implementation: Template
                inputs: {resultTemplate: {attributes: {told: changed}}}
          Standard:
            configure: echo {{ SELF.port }} >> configured
            delete: echo {{ '.name' | eval }} >> deleted
    topology_template:
      <topology>
";

fn with_types(topology: &str) -> Draft {
    ensemble(TYPES).with("topology", topology)
}

/// An ensemble with two databases, of which the second requires the first.
fn two() -> TestEnv {
    with_types(
        "
            node_templates:
              db: {type: Db}
              app: {type: Db, properties: {port: 90}, requirements: [{dependency: db}]}
            workflows:
              greet:
                steps:
                  one: {target: app, activities: [{call_operation: Ops.note}]}
            ",
    )
    .env()
}

fn deployed() -> TestEnv {
    let env = two();
    env.unfurl(["deploy", "--approve"]).succeeds();
    env
}

fn instance(env: &TestEnv, name: &str) -> Json {
    env.ensemble()["status"]["instances"][name].clone()
}

#[test]
fn a_command_runs_in_the_folder_of_the_ensemble_and_leaves_the_record_alone() {
    let env = deployed();
    let before = env.tracked();
    let run = env.unfurl(["run", "--approve", "--output", "json", "--", "touch", "a b"]);
    let summary = run.succeeds().json();
    assert_eq!(summary["tasks"][0]["target"], "root");
    assert_eq!(summary["tasks"][0]["operation"], "run");
    assert!(env.names().contains(&"a b".to_owned()));
    std::fs::remove_file(env.work().join("a b")).unwrap();
    std::fs::remove_dir_all(env.work().join("active/tasks/root")).unwrap();
    assert_eq!(env.tracked(), before);
    let left = std::fs::read_dir(env.work().join("jobs")).unwrap();
    let journals = left.filter(|entry| {
        let path = entry.as_ref().unwrap().path();
        path.extension().is_some_and(|end| end == "journal")
    });
    assert_eq!(journals.count(), 0);
}

#[test]
fn a_command_is_a_template_in_the_context_of_each_instance() {
    let env = two();
    let run = env.unfurl([
        "run",
        "-a",
        "--parallel",
        "1",
        "-i",
        "app",
        "-i",
        "db",
        "-i",
        "app",
        "--",
        "sh",
        "-c",
        "echo {{ '.name' | eval }} {{ SELF.port }} >> seen",
    ]);
    run.succeeds();
    assert_eq!(env.read("seen"), "app 90\ndb 80\n");
    assert!(env.ensemble()["status"].is_null());
}

#[test]
fn a_saved_run_is_in_the_history_and_the_next_deployment_does_nothing() {
    let env = deployed();
    env.unfurl(["run", "-a", "--save", "-i", "db", "--", "true"])
        .succeeds();
    env.unfurl(["run", "-a", "--save", "--", "true"]).succeeds();
    let lines = env.read("jobs.tsv");
    assert!(lines.contains("target=::db\toperation=run\t"), "{lines}");
    assert!(lines.contains("target=::root\toperation=run\t"), "{lines}");
    let before = env.tracked();
    let run = env.unfurl(["deploy", "--approve"]).succeeds();
    assert!(run.stdout.contains("Nothing to do"), "{run}");
    assert_eq!(env.tracked(), before);
    assert_eq!(env.read("configured"), "80\n90\n");
}

#[test]
fn an_operation_runs_on_the_instances_named_or_on_all_that_have_it() {
    let env = deployed();
    for operation in ["Ops.backup", "backup"] {
        env.unfurl(["run", "-a", "--parallel", "1", "--operation", operation])
            .succeeds();
    }
    env.unfurl(["run", "-a", "-i", "app", "--operation", "Ops.backup"])
        .succeeds();
    env.unfurl(["run", "-a", "--exclude", "app", "--operation", "backup"])
        .succeeds();
    let of = |name: &str| format!("backup of {name}\n");
    let both = of("db") + &of("app");
    assert_eq!(
        env.read("backups"),
        format!("{both}{both}{}{}", of("app"), of("db"))
    );
}

#[test]
fn a_standard_operation_needs_no_interface() {
    let env = deployed();
    env.unfurl(["run", "-a", "-i", "db", "--operation", "configure"])
        .succeeds();
    assert_eq!(env.read("configured"), "80\n90\n80\n");
}

#[test]
fn an_operation_that_two_interfaces_have_must_be_named_in_full() {
    let text = with_types(
        "
            node_templates:
              db: {type: Db}
            ",
    )
    .build()
    .replace(
        "          Standard:\n",
        "          More: {type: More, operations: {backup: echo more}}\n          Standard:\n",
    );
    let env = TestEnv::with_ensemble(&text);
    env.unfurl(["deploy", "-a"]).succeeds();
    env.unfurl(["run", "-a", "--operation", "backup"])
        .exits(64)
        .says(&["`Ops.backup`", "`More.backup`", "add the interface"]);
    env.unfurl(["run", "-a", "--operation", "More.backup"])
        .succeeds();
}

#[test]
fn an_unknown_operation_is_reported_with_a_similar_one() {
    let env = deployed();
    let run = env.unfurl(["run", "-a", "--output", "json", "--operation", "Ops.backp"]);
    let run = run
        .exits(64)
        .says(&["`Ops.backp`", "did you mean `Ops.backup`?"]);
    let problems = run.json()["errors"].to_string();
    assert!(problems.contains("Ops.backp"), "{problems}");
    env.unfurl(["run", "-a", "--operation", "backp"])
        .exits(64)
        .says(&["did you mean `backup`?"]);
}

#[test]
fn changes_that_a_run_does_not_save_are_reported() {
    let env = deployed();
    let before = env.read("ensemble.yaml");
    let run = env.unfurl([
        "run",
        "-a",
        "-i",
        "db",
        "--operation",
        "Ops.change",
        "--output",
        "json",
    ]);
    let run = run.succeeds().says(&["the run changed `db`", "--save"]);
    assert!(run.json()["problems"].to_string().contains("`db`"), "{run}");
    assert_eq!(env.read("ensemble.yaml"), before);
    let run = env.unfurl([
        "run",
        "-a",
        "-i",
        "db",
        "--operation",
        "Ops.change",
        "--save",
    ]);
    let run = run.succeeds();
    assert!(!run.stderr.contains("the run changed"), "{run}");
    assert_eq!(instance(&env, "db")["attributes"]["told"], "changed");
}

#[test]
fn a_life_cycle_operation_that_is_not_saved_is_reported() {
    let env = two();
    let args = ["run", "--approve", "--instance", "db", "--operation"];
    let run = env.unfurl(args.into_iter().chain(["configure"])).succeeds();
    assert!(run.all().contains("the run changed `db`"), "{run}");
    let run = env.unfurl(args.into_iter().chain(["note"])).succeeds();
    assert!(!run.all().contains("the run changed"), "{run}");
}

#[test]
fn what_is_to_run_on_another_host_does_not_run_on_this_one() {
    for (implementation, ran) in [
        ("{primary: Cmd, operation_host: far.example.com}", false),
        ("touch ran, operation_host: far.example.com", false),
        ("{primary: Cmd, operation_host: ORCHESTRATOR}", true),
    ] {
        let env = with_types("
                node_templates:
                  a:
                    type: tosca.nodes.Root
                    interfaces:
                      Standard: {configure: {implementation: <implementation>, inputs: {cmd: touch ran}}}
                ").with("implementation", implementation).env();
        let job = env.unfurl(["deploy", "--approve"]);
        assert_eq!(
            env.work().join("ran").exists(),
            ran,
            "{implementation}: {job}"
        );
        let help = "Unfurl 1.2 runs such an operation on this computer and does not say so; add a node template \
                    `far.example.com` with an endpoint";
        assert_eq!(job.all().contains(help), !ran, "{job}");
        let words = [
            "run",
            "--approve",
            "--host",
            "far.example.com",
            "--",
            "touch",
            "other",
        ];
        let run = env.unfurl(words).exits(64);
        run.says(&[
            "instance not found: `far.example.com`",
            "Unfurl 1.2 runs such a command on this computer",
        ]);
        assert!(!env.work().join("other").exists());
    }
}

#[test]
fn a_workflow_of_any_name_runs_and_is_on_record() {
    let env = two();
    env.unfurl(["run", "-a", "--workflow", "deploy"]).succeeds();
    assert_eq!(instance(&env, "app")["readyState"]["local"], "ok");
    env.unfurl(["run", "-a", "--workflow", "greet"]).succeeds();
    assert_eq!(env.read("notes"), "note of app\n");
    env.unfurl(["run", "-a", "--workflow", "greet", "--exclude", "app"])
        .succeeds();
    env.unfurl(["run", "-a", "--workflow", "greet", "-i", "db"])
        .succeeds();
    assert_eq!(env.read("notes"), "note of app\n");
    env.unfurl(["run", "-a", "--workflow", "teardown"])
        .succeeds();
    assert_eq!(instance(&env, "db")["readyState"]["local"], "absent");
    env.unfurl(["run", "-a", "--workflow", "gret"])
        .exits(64)
        .says(&["did you mean `greet`?"]);
    env.unfurl(["run", "-a", "--workflow", "conect"])
        .exits(64)
        .says(&["did you mean `connect`?"]);
}

#[test]
fn the_ensemble_is_named_by_an_option() {
    let env = TestEnv::new();
    env.write(
        "deep/ensemble.yaml",
        &with_types(
            "
                node_templates:
                  db: {type: Db}
                ",
        )
        .build(),
    );
    env.unfurl(["run", "-a", "--ensemble", "deep", "--", "touch", "here"])
        .succeeds();
    assert!(env.work().join("deep/here").exists());
    env.unfurl(["run", "-a", "--ensemble", "nowhere", "--", "touch", "here"])
        .exits(1)
        .says(&["nowhere"]);
}

#[test]
fn a_run_asks_first() {
    let env = two();
    let run = env.unfurl(["run", "--", "touch", "made"]).exits(1);
    assert!(run.stderr.contains("? [yes/no]"), "{run}");
    assert!(!env.names().contains(&"made".to_owned()));
}

#[test]
fn what_cannot_be_meant_is_a_usage_error() {
    let env = two();
    for (arguments, said) in [
        (&["run"][..], "needs a command, an operation or a workflow"),
        (
            &["run", "-i", "db"],
            "needs a command, an operation or a workflow",
        ),
        (
            &["run", "--operation", "x", "--", "ls"],
            "cannot be used together",
        ),
        (
            &["run", "--workflow", "x", "--", "ls"],
            "cannot be used together",
        ),
        (
            &["run", "--workflow", "run"],
            "needs a command or an operation",
        ),
        (
            &["deploy", "--workflow", "run"],
            "needs a command or an operation",
        ),
        (
            &["run", "--host", "db"],
            "needs a command, an operation or a workflow",
        ),
        (
            &["run", "--host", "db", "--operation", "x"],
            "`--host` can only be used with a command",
        ),
        (
            &["run", "--executors", "[]", "--", "ls"],
            "`[]` is not a list of executors",
        ),
        (
            &["run", "--executors", "[splay, nosuch]", "--", "ls"],
            "executor `nosuch` is not available",
        ),
        (
            &["run", "--executor-opts", "{splaytim: 1}", "--", "ls"],
            "no executor has the option `splaytim`",
        ),
        (
            &["deploy", "--executors", "dryrun"],
            "record operations that never ran",
        ),
        (
            &["run", "--module", "ping", "--operation", "x"],
            "`--operation` and `--module` cannot be used together",
        ),
        (&["run", "--args", "x", "--", "ls"], "--module"),
        (&["run", "--nonsense", "--", "ls"], "--nonsense"),
        (&["run", "--template", "db", "--", "ls"], "--template"),
    ] {
        env.unfurl(arguments).exits(2).says(&[said]);
    }
    assert_eq!(env.names(), ["ensemble.yaml"]);
}

#[test]
fn an_unknown_instance_is_reported_with_a_similar_one() {
    let env = two();
    env.unfurl(["run", "-a", "-i", "dbb", "--", "ls"])
        .exits(64)
        .says(&["specified instance not found: `dbb`", "did you mean `db`?"]);
}

#[test]
fn there_must_be_an_ensemble() {
    let env = TestEnv::new();
    env.unfurl(["run", "-a", "--", "ls"])
        .exits(1)
        .says(&["ensemble"]);
}

#[test]
fn a_command_that_fails_or_is_not_there_is_a_failed_job() {
    let env = deployed();
    env.unfurl(["run", "-a", "--", "false"]).exits(64);
    env.unfurl(["run", "-a", "--jobexitcode", "never", "--", "false"])
        .succeeds();
    let run = env.unfurl(["run", "-a", "--output", "json", "--", "no-such-program"]);
    assert_eq!(run.code, 64, "{run}");
    let run = run.says(&[
        "error: root: run failed",
        "'no-such-program' is not executable",
    ]);
    assert_eq!(run.json()["job"]["error"], 1, "{run}");
    env.unfurl(["run", "-a", "--", "echo", "{{ SELF.nope"])
        .exits(64)
        .says(&["run of `root`"]);
    // `run` leaves no trace in the ensemble.
    let before = env.tracked();
    env.unfurl(["deploy", "-a"]).succeeds();
    assert_eq!(env.tracked(), before);
}

#[test]
fn an_interrupted_command_is_ended_and_leaves_nothing_behind() {
    let env = deployed();
    let command = "kill -INT $PPID; sleep 300";
    let run = env.unfurl(["run", "-a", "--grace", "0", "--", "sh", "-c", command]);
    assert_eq!(run.code, 130, "{run}");
    assert!(!env.names().contains(&"ensemble.yaml.lock".to_owned()));
    env.unfurl(["deploy", "-a"]).succeeds();
}

#[test]
fn a_secret_in_a_command_is_on_no_command_line_and_in_no_file() {
    let secret = "hunter2hunter2";
    let env = two();
    let command = [
        "-vvv",
        "run",
        "-a",
        "--save",
        "-i",
        "db",
        "--",
        "echo",
        "{{ SELF.password }}",
    ];
    let run = env.unfurl(command).succeeds();
    assert!(!run.all().contains(secret), "{run}");
    let look = "cat /proc/$$/cmdline > argv; : {{ SELF.password }}";
    env.unfurl(["run", "-a", "-i", "db", "--", "sh", "-c", look])
        .succeeds();
    assert!(env.read("argv").starts_with("sh\0"));
    for (path, bytes) in env.files() {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let own = path.ends_with("ensemble.yaml");
        let seen = text.matches(secret).count();
        // Only the ensemble file shows the secret, as the default of its input.
        assert_eq!(seen, usize::from(own), "{path}:\n{text}");
    }
}

#[test]
fn a_dry_run_runs_no_command() {
    let env = two();
    env.unfurl(["run", "-a", "--dryrun", "--", "touch", "made"])
        .succeeds()
        .prints(&["nothing was changed"]);
    assert!(!env.names().contains(&"made".to_owned()));
}
