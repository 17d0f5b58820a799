//! The command `unfurl task` from the user's view.

use std::process::{Command, Stdio};

use crate::hosts::sshd::{Sshd, user};
use crate::support::TestEnv;

pub(super) fn env(tasks: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write("tasks.yaml", tasks);
    env
}

#[test]
fn the_tasks_are_listed_with_the_first_line_of_what_they_are_for() {
    let env = env(
        "tasks:\n  up:\n    description: |\n      Starts it.\n      In detail.\n    args: {who: null, how: fast}\n    roles: web\n    run: start\n  down: stop\n",
    );
    let run = env.unfurl(["task", "-l"]).succeeds();
    insta::assert_snapshot!(run.stdout, @r"
    down
    up    Starts it.
    ");
    let run = env.unfurl(["task", "-d", "up"]).succeeds();
    insta::assert_snapshot!(run.stdout, @r"
    Task `up` in tasks.yaml:3
      Starts it.
      In detail.
      arguments: who, how=fast
      roles: web
      steps: 1
    ");
}

#[test]
fn no_task_and_no_default_shows_the_help() {
    let run = env("tasks: {a: 'true'}").unfurl(["task"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("Usage: unfurl task"), "{run}");
}

#[test]
fn a_message_shows_a_template_as_it_was_written() {
    let env = env("env: {vars: {m: {a: 1}}}\ntasks: {show: {echo: 'in {{ m.nope }}'}}");
    let run = env.unfurl(["task", "show"]).exits(1);
    run.says(&["in the template `in {{ m.nope }}`"]);
}

#[test]
fn all_invalid_calls_are_reported_before_anything_runs() {
    let env = env("tasks: {deploy: {args: {version: null}, local: touch ran}}");
    let run = env.unfurl([
        "task",
        "deploy:1",
        "deplyo",
        "deploy",
        "deploy:1,2",
        "deploy:1,to=x",
    ]);
    assert_eq!(run.code, 1);
    insta::assert_snapshot!(run.stderr, @r"
    error: there is no task `deplyo`
     = hint: did you mean `deploy`?

    error: task `deploy` needs the argument `version`

    error: task `deploy` gets too many arguments: 2, but at most 1 are allowed

    error: task `deploy` has no argument `to`
    ");
    assert!(!env.work().join("ran").exists());
    assert_eq!(env.unfurl(["task", "deploy"]).code, 2);
}

#[test]
fn all_errors_of_the_file_are_reported_together_with_their_positions() {
    let env = env(
        "env: {host: a}\ntasks:\n  a:\n    steps:\n      - {run: x, local: y}\n      - {rnu: x}\n      - put: {src: a, dest: b, mode: 420}\n  'b c': x\n",
    );
    let run = env.unfurl(["task", "a"]);
    assert_eq!(run.code, 64);
    insta::assert_snapshot!(run.stderr, @r#"
    error: `env` has no key `host`
     --> tasks.yaml:1:7
      |
    1 | env: {host: a}
      |       ^^^^
      |
      = hint: did you mean `hosts`?

    error: a step can have only one action, but this one has `run` and `local`
     --> tasks.yaml:5:9
      |
    5 |       - {run: x, local: y}
      |         ^^^^^^^^^^^^^^^^^^
      |
      = hint: write a separate step for each action

    error: `step` has no key `rnu`
     --> tasks.yaml:6:10
      |
    6 |       - {rnu: x}
      |          ^^^
      |
      = hint: did you mean `run`?

    error: `mode` is not a file mode
     --> tasks.yaml:7:38
      |
    7 |       - put: {src: a, dest: b, mode: 420}
      |                                      ^^^
      |
      = hint: write octal digits in quotes, such as `"0644"`

    error: `b c` cannot be the name of a task
     --> tasks.yaml:8:3
      |
    8 |   'b c': x
      |   ^^^^^
      |
      = hint: a name must not contain spaces, `:`, `,` or `=`, and must not begin with `-`
    "#);
}

#[test]
fn files_are_included_with_a_namespace_and_found_from_below() {
    let env = env("include:\n  - db: sub/db.yaml\ntasks: {all: {execute: db.up}}\n");
    env.write(
        "sub/db.yaml",
        "tasks:\n  up: {default: true, steps: [{execute: own}, {local: pwd}]}\n  own: {echo: 'own of {{ task }}'}\n",
    );
    let run = env.unfurl(["task", "all", "db"]).succeeds();
    assert_eq!(run.stdout.matches("own of db.own").count(), 2, "{run}");
    let sub = env.work().join("sub").canonicalize().unwrap();
    let line = format!("{}\n", sub.display());
    assert_eq!(run.stdout.matches(&line).count(), 2, "{run}");
}

#[test]
fn outputs_name_their_host_and_a_table_says_how_it_went() {
    let env =
        env("tasks: {a: {hosts: [h1, h2], local: 'echo on {{ host }}; test {{ host }} = h1'}}");
    let run = env.unfurl(["task", "-P", "a"]);
    assert_eq!(run.code, 1);
    let mut lines: Vec<&str> = run.stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["[h1] on h1", "[h2] on h2"]);
    assert!(
        run.stderr.contains("error: [h2] `a` failed: exit code 1"),
        "{run}"
    );
    assert!(run.stderr.contains("2 hosts: 1 failed, 1 ok."), "{run}");
}

#[test]
fn a_person_is_asked_and_the_answer_is_checked() {
    let env = env(
        "tasks:\n  a:\n    steps:\n      - {prompt: {text: 'Which?', default: two, validate: 'o\\w+|t\\w+'}, register: which}\n      - echo: 'it is {{ which }}'\n",
    );
    let ask = |answer: &str| {
        let script = format!("printf '{answer}' | \"$0\" task a");
        let mut shell = Command::new("/bin/sh");
        shell
            .args(["-c", &script])
            .arg(env!("CARGO_BIN_EXE_unfurl"));
        let output = shell
            .current_dir(env.work())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(ask("x\\none\\n"), "[<local-only>] it is one\n");
    assert_eq!(ask("\\n"), "[<local-only>] it is two\n");
    assert_eq!(ask(""), "");
}

#[test]
fn a_signal_ends_what_runs_and_begins_nothing_more() {
    let env = env("tasks: {a: {hosts: [h1, h2], local: 'echo $$ > pid-{{ host }}; sleep 60'}}");
    let started = env.start(["task", "a"]);
    env.wait_for("pid-h1");
    started.signal(nix::sys::signal::Signal::SIGINT);
    let run = started.ends();
    assert_eq!(run.code, 130, "{run}");
    assert!(run.stderr.contains("1 failed, 1 skipped."), "{run}");
    assert!(!env.work().join("pid-h2").exists());
}

#[test]
fn the_example_runs() {
    let env = TestEnv::with_example("tasks");
    let run = env.unfurl(["task", "deploy:2.0"]).succeeds();
    let mut lines: Vec<&str> = run.stdout.lines().collect();
    lines[1..3].sort_unstable();
    insta::assert_snapshot!(lines.join("\n"), @r"
    [db1] db1 has schema 2.0
    [web1] installing 2.0
    [web2] installing 2.0
    [<local-only>] 2.0 is there, and the databases say: db1 has schema 2.0
    ");
}

#[test]
fn tasks_run_on_real_hosts() {
    requires!("sshd");
    let sshd = Sshd::with(3, &[]);
    let env = env(
        "tasks:\n  a:\n    steps:\n      - {run: 'cat; echo from {{ host }}', stdin: 'hello ', cd: /, register: said}\n      - {put: {src: tasks.yaml, dest: '{{ vars.to }}/{{ host }}'}}\n      - {get: {src: '{{ vars.to }}/{{ host }}'}}\n    returns: '{{ said.stdout }}'\n  b: {hosts: [127.0.0.1], run: exit 3}\n",
    );
    let (port, id) = (sshd.port.to_string(), sshd.path("id").display().to_string());
    let known = sshd.path("known_hosts").display().to_string();
    let to = env.work().join("there");
    std::fs::create_dir(&to).unwrap();
    let set = format!("to={}", to.display());
    let user = user();
    let options = [
        "task",
        "--no-ssh-config",
        "-a",
        "-k",
        "--port",
        &port,
        "-i",
        &id,
        "--known-hosts",
        &known,
        "-u",
        &user,
        "--set",
        &set,
    ];
    let call = |more: &[&str]| env.unfurl(options.iter().chain(more));
    let run = call(&["-P", "-H", "127.0.0.1,127.0.0.2,127.0.0.3", "a"]).succeeds();
    for host in ["127.0.0.1", "127.0.0.2", "127.0.0.3"] {
        assert!(
            run.stdout
                .contains(&format!("[{host}] hello from {host}\n")),
            "{run}"
        );
        let brought = env
            .work()
            .join(host)
            .join(to.strip_prefix("/").unwrap())
            .join(host);
        assert!(brought.is_file(), "{}", brought.display());
    }
    let run = call(&["b"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("exit code 3"), "{run}");
    let run = call(&["-H", "127.0.0.1,127.0.0.2", "--", "echo", "plain"]).succeeds();
    assert_eq!(run.stdout, "[127.0.0.1] plain\n[127.0.0.2] plain\n");
}
