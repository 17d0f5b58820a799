//! Approval: questions before jobs and states, their answers, and their refusal where nobody can be asked.

use std::os::fd::OwnedFd;
use std::process::Command;

use nix::pty::openpty;
use serde_json::Value as Json;

use crate::support::{Run, TestEnv, binary};

const ENSEMBLE: &str = "
apiVersion: unfurl/v1alpha1
kind: Ensemble
spec:
  service_template:
    topology_template:
      node_templates:
        db: &node
          type: tosca.nodes.Root
          interfaces:
            Standard:
              operations:
                configure: {implementation: Cmd, inputs: {cmd: echo done >> log}}
                delete: {implementation: Cmd, inputs: {cmd: echo gone >> log}}
        cache: *node
";

/// Calls the binary with these lines as its standard input.
fn with_input(env: &TestEnv, input: &str, words: &[&str]) -> Run {
    let mut line = vec!["-c", "printf '%b' \"$0\" | \"$@\"", input];
    let program = binary();
    line.push(program.to_str().unwrap());
    line.extend(words);
    env.start_command(Command::new("/bin/sh"), line).ends()
}

/// Calls the binary with a terminal as its standard input, at which somebody types an answer.
fn at_terminal(env: &TestEnv, answer: &str, question: &str, words: &[&str]) -> Run {
    let pty = openpty(None, None).unwrap();
    let path = nix::unistd::ttyname(&pty.slave).unwrap();
    let program = binary();
    let mut line = vec!["-c", "exec \"$@\" < \"$0\"", path.to_str().unwrap()];
    line.push(program.to_str().unwrap());
    line.extend(words);
    let started = env.start_command(Command::new("/bin/sh"), line);
    started.wait_until_it_says(question);
    nix::unistd::write(&pty.master, answer.as_bytes()).unwrap();
    let run = started.ends();
    drop::<OwnedFd>(pty.slave);
    run
}

fn status(run: &Run) -> Json {
    run.json()["job"]["status"].clone()
}

#[test]
fn a_job_that_nobody_approves_exits_with_1_and_is_declined() {
    let env = TestEnv::with_ensemble(ENSEMBLE);
    let never = ["--jobexitcode", "never", "--output", "json"];
    for command in ["deploy", "discover", "stop", "teardown"] {
        let words = [&[command][..], &never].concat();
        if command == "teardown" {
            env.unfurl(["deploy", "--approve"]).succeeds();
        }
        let before = env.read("ensemble.yaml");
        for input in ["", "n\n", "\n", "yep\n"] {
            let run = with_input(&env, input, &words);
            if ["discover", "stop"].contains(&command) && run.code == 0 {
                // The workflow has nothing to do, so it asks nothing.
                assert_ne!(status(&run), "declined", "{run}");
                continue;
            }
            let run = run.exits(1);
            assert_eq!(status(&run), "declined", "{run}");
            let names_option = run
                .stderr
                .contains("`--approve` runs the job without asking");
            assert_eq!(names_option, input.is_empty(), "{run}");
        }
        assert_eq!(env.read("ensemble.yaml"), before);
    }
    let run = env.unfurl(["deploy", "--force"]).exits(1);
    assert_eq!(
        run.stdout, "Nothing was done: the plan was not approved.\n",
        "{run}"
    );
}

#[test]
fn an_unapproved_command_on_an_instance_exits_with_1() {
    let address = "type: tosca.nodes.Root\n          attributes: {public_ip: 192.0.2.1}";
    let env = TestEnv::with_ensemble(&ENSEMBLE.replace("type: tosca.nodes.Root", address));
    env.unfurl(["deploy", "--approve"]).succeeds();
    for option in ["--host", "--instance"] {
        let run = env.unfurl(["run", option, "db", "--", "echo", "ran"]);
        run.exits(1).says(&["run 1 in `work`? [yes/no]"]);
    }
    let line = ["run", "--instance", "db", "--", "echo", "ran"];
    let run = with_input(&env, "y\n", &line).succeeds();
    assert!(!run.stderr.contains("has no answer"), "{run}");
}

#[test]
fn a_piped_yes_is_an_answer() {
    for answer in ["y\n", "YES\n", "Yes"] {
        let env = TestEnv::with_ensemble(ENSEMBLE);
        let run = with_input(&env, answer, &["deploy"]).succeeds();
        run.says(&["create 2 in `work`? [yes/no] \n"]);
        assert_eq!(env.read("log"), "done\ndone\n");
        let run = with_input(&env, answer, &["teardown"]).succeeds();
        run.says(&["delete 2 (", ") in `work`? [yes/no] \n"]);
    }
}

#[test]
fn a_question_names_the_environment_in_use() {
    let env = TestEnv::with_ensemble(ENSEMBLE);
    env.write(
        "unfurl.yaml",
        "apiVersion: unfurl/v1alpha1\nkind: Project\nenvironments: {prod: {}}\n",
    );
    let ask = |words: &[&str]| env.unfurl(words).exits(1);
    ask(&["deploy", "--use-environment", "prod"]).says(&["create 2 in `prod`? [yes/no]"]);
    ask(&["deploy", "--use-environment", "defaults"]).says(&["create 2 in `work`? [yes/no]"]);
}

#[test]
fn a_job_asks_at_a_terminal() {
    let env = TestEnv::with_ensemble(ENSEMBLE);
    let question = "create 2 in `work`? [yes/no]";
    at_terminal(&env, "no\n", question, &["deploy"])
        .exits(1)
        .prints(&["Nothing was done: the plan was not approved.\n"]);
    // The end of the input, typed as Ctrl-D.
    at_terminal(&env, "\u{4}", question, &["deploy"])
        .exits(1)
        .says(&["`--approve` runs the job without asking"]);
    at_terminal(&env, "yes\n", question, &["deploy"]).succeeds();
}

#[test]
fn states_need_a_target_and_approval() {
    let env = TestEnv::new();
    env.write(
        "states/main.sls",
        "here:\n  test.succeed_with_changes: []\n",
    );
    let op: &[&str] = &["op", "test.succeed_with_changes", "here"];
    let apply: &[&str] = &["state", "apply", "main"];
    for words in [op, apply] {
        let with = |more: &[&str]| env.unfurl([words, more].concat());
        let (command, _) = words.split_at(words.len() - 1 - usize::from(words[0] == "op"));
        let command = command.join(" ");
        let says = format!("`{command}` changes hosts, so name them with `-H` or `-R`");
        with(&["--approve"])
            .exits(2)
            .says(&[&says, "`-H @local` is this machine"]);
        let says = format!("`{command}` changes hosts and needs approval");
        let run = with(&["-H", "@local"]).exits(1);
        run.says(&[&says, "`--approve` runs without asking; `--dryrun` shows"]);
        // A pipe is no terminal.
        let line = [words, &["-H", "@local"]].concat();
        with_input(&env, "yes\n", &line).exits(1).says(&[&says]);
        let run = with(&["-H", "@local", "--output", "json"]).exits(1);
        assert!(run.json()["errors"][0]["message"].is_string(), "{run}");
        for approved in [
            &["-H", "@local", "--approve"][..],
            &["--dryrun"],
            &["--test"],
        ] {
            with(approved)
                .succeeds()
                .prints(&["local:", "Succeeded: 1"]);
        }
        env.unfurl_with(("UNFURL_APPROVE", "1"), &line).succeeds();
    }
    env.unfurl(["state", "test", "main"]).succeeds();
    env.unfurl(["state", "show-order", "main"]).succeeds();
    env.unfurl(["fact", "os_family"]).succeeds();
}

#[test]
fn states_ask_at_a_terminal_and_name_their_targets() {
    let env = TestEnv::new();
    env.write("states/main.sls", "here:\n  test.nop: []\n");
    let op = ["op", "test.nop", "here", "-H", "@local"];
    let question = "run test.nop here on @local? [yes/no]";
    at_terminal(&env, "yes\n", question, &op)
        .succeeds()
        .prints(&["Succeeded: 1"]);
    let run = at_terminal(&env, "no\n", question, &op).exits(1);
    assert_eq!(run.stdout, "Nothing was done: the run was not approved.\n");
    let apply = ["state", "apply", "main", "-H", "web1,web2"];
    let json = [&apply[..], &["--output", "json"]].concat();
    let run = at_terminal(&env, "\n", "apply main on web1, web2? [yes/no]", &json).exits(1);
    assert_eq!(run.json(), serde_json::json!({"status": "declined"}));
    let many = ["state", "apply", "-H", "w1,w2,w3,w4,w5,w6"];
    at_terminal(
        &env,
        "n\n",
        "apply the states of the top file on 6 hosts?",
        &many,
    )
    .exits(1);
}

#[test]
fn commands_on_named_hosts_do_not_ask() {
    let env = TestEnv::new();
    env.write("file", "text");
    let file = env.work().join("file").display().to_string();
    env.write("tasks.yaml", "tasks: {t: {steps: [{run: echo ran}]}}\n");
    for words in [
        &["run", "-H", "@local", "--", "true"][..],
        &["put", "-H", "@local", "file", "put"],
        &["get", "-H", "@local", &file, "got"],
        &["task", "t", "-H", "@local"],
    ] {
        let run = env.unfurl(words).succeeds();
        assert!(!run.stderr.contains("[yes/no]"), "{run}");
    }
}

#[test]
fn misspelt_names_of_states_and_facts_have_a_hint_at_the_whole_word() {
    let env = TestEnv::new();
    for (wrong, right) in [
        ("pkg.instaled", "pkg.installed"),
        ("pkgg.installed", "pkg.installed"),
        ("servce.runing", "service.running"),
        ("file.managd", "file.managed"),
    ] {
        let hint = format!("did you mean `{right}`?");
        let run = env.unfurl(["op", wrong, "x", "--dryrun"]).exits(2);
        run.says(&[&format!("`{wrong}` does not exist"), &hint]);
        env.write("states/main.sls", &format!("x:\n  {wrong}: []\n"));
        let run = env.unfurl(["state", "test", "main"]).exits(1);
        run.says(&[&hint]);
    }
    let run = env.unfurl(["op", "wholly.unknown"]).exits(2);
    assert!(!run.stderr.contains("did you mean"), "{run}");
    let fact = |name: &str| env.unfurl(["fact", name]);
    fact("os_famly")
        .exits(1)
        .says(&["did you mean `os_family`?"]);
    fact("server.Userss")
        .exits(2)
        .says(&["did you mean `server.Users`?"]);
    let run = env.unfurl(["fact", "kernl", "--output", "json"]).exits(1);
    let error = run.json()["error"].as_str().unwrap().to_owned();
    assert!(error.ends_with("did you mean `kernel`?"), "{error}");
}

#[test]
fn all_commands_answer_in_json_also_in_error() {
    let env = TestEnv::new();
    let error = |words: &[&str], code| {
        let run = env.unfurl(words).exits(code);
        assert!(run.stdout.starts_with("{\n"), "{run}");
        let answer = run.json();
        assert!(answer["errors"][0]["message"].is_string(), "{run}");
    };
    error(&["git", "--output", "json", "status"], 1);
    error(&["git-status", "--output", "json"], 1);
    error(&["lock", "break", "--output", "json"], 1);
    error(&["recover", "--output", "json"], 1);
    error(&["export", "--output", "json"], 1);
    error(&["export", "--output", "json", "--format", "model-yaml"], 2);
    let answer = |words: &[&str]| env.unfurl(words).succeeds().json();
    let version = answer(&["version", "--output", "json"]);
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(version["compatibleWith"], "1.2.0");

    env.write("ensemble.yaml", ENSEMBLE);
    env.git(&["init", "-q"]);
    let git = answer(&[
        "git",
        "--output",
        "json",
        "rev-parse",
        "--is-inside-work-tree",
    ]);
    assert_eq!(git[0]["path"], ".");
    assert_eq!(git[0]["stdout"], "true\n");
    let run = env.unfurl(["git", "--output=json", "rev-parse", "--verify", "none"]);
    let git = run.exits(128).json();
    assert_eq!(git[0]["exitCode"], 128);
    assert!(
        git[0]["stderr"].as_str().unwrap().contains("fatal"),
        "{git}"
    );
    let lock = answer(&["lock", "break", "--output", "json"]);
    assert_eq!(lock["state"], "free");
    assert_eq!(lock["messages"][0], "there was no lock");
    let recovered = answer(&["recover", "--output", "json"]);
    assert_eq!(recovered["recovered"], false);
    let model = answer(&["export", "--format", "model-json", "--output", "json"]);
    assert!(model.is_object());
    let file = [
        "export",
        "--format",
        "model-yaml",
        "--file",
        "m.yaml",
        "--output",
        "json",
    ];
    assert_eq!(answer(&file)["written"], true);
}

#[test]
fn the_lock_of_a_running_job_is_broken_with_the_command_that_the_hint_names() {
    let env =
        TestEnv::with_ensemble(&ENSEMBLE.replace("echo done", "echo begun; sleep 300; echo done"));
    let job = env.start(["deploy", "--approve", "--grace", "0s"]);
    env.wait_for("ensemble.yaml.lock");
    let run = env.unfurl(["lock", "break", "--output", "json"]).exits(1);
    let path = env.work().join("ensemble.yaml");
    let command = format!("`unfurl lock break --force {}`", path.display());
    let run = run.says(&[&command]);
    assert!(
        run.json()["errors"][0]["help"]
            .as_str()
            .unwrap()
            .contains(&command)
    );
    let path = path.to_str().unwrap();
    let forced = ["lock", "break", "--force", path, "--output", "json"];
    assert_eq!(env.unfurl(forced).succeeds().json()["state"], "held");
    job.signal(nix::sys::signal::Signal::SIGINT);
    job.ends();
    env.unfurl(["help", "lock", "break"])
        .succeeds()
        .prints(&["two jobs may change the same instances"]);
}

#[test]
fn idle_runs_leave_no_logs() {
    let env = TestEnv::with_ensemble(ENSEMBLE);
    let logs = |folder: &str| {
        let entries = std::fs::read_dir(env.work().join(folder));
        let names = entries.into_iter().flatten().flatten();
        let is_log = |name: &std::ffi::OsString| name.to_string_lossy().ends_with(".log");
        names.map(|entry| entry.file_name()).filter(is_log).count()
    };
    // The log of a plan is kept, as in Unfurl, and is not empty.
    env.unfurl(["plan"]).succeeds();
    assert_eq!(logs("planned"), 1);
    env.unfurl(["deploy", "--approve"]).succeeds();
    assert_eq!(logs("jobs"), 1);
    for words in [
        &["deploy", "--approve"][..],
        &["plan"],
        &["deploy", "--force"],
    ] {
        env.unfurl(words);
    }
    assert_eq!((logs("jobs"), logs("planned")), (1, 2));
    for (path, bytes) in env.files() {
        let is_log = std::path::Path::new(&path)
            .extension()
            .is_some_and(|it| it == "log");
        assert!(!is_log || !bytes.is_empty(), "{path}");
    }
    env.unfurl(["deploy", "--approve", "--logfile", "own.log"])
        .succeeds();
    assert!(env.work().join("own.log").exists());
}

#[test]
fn the_shown_order_is_the_order_of_the_run() {
    let env = TestEnv::new();
    // The requisites of the example for nginx in docs/states.md.
    let tree = "
nginx:
  test.nop: []
  cmd.run:
    - name: 'true'
    - watch:
      - file: /conf

/conf:
  file.exists:
    - name: /
    - require:
      - test: nginx
";
    env.write("states/nginx.sls", tree);
    for ordering in ["classic", "dag"] {
        let words = ["state", "show-order", "nginx", "--ordering", ordering];
        let shown = env.unfurl([&words[..], &["--output", "json"]].concat());
        let shown = shown.succeeds().json();
        let shown: Vec<&str> = shown
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["function"].as_str().unwrap())
            .collect();
        assert_eq!(shown, ["test.nop", "file.exists", "cmd.run"], "{ordering}");
        let run = env.unfurl(["state", "test", "nginx", "--ordering", ordering]);
        let ran = run
            .stdout
            .lines()
            .filter_map(|line| line.trim().strip_prefix("Function: "));
        assert_eq!(ran.collect::<Vec<_>>(), shown, "{run}");
    }
}

#[test]
fn a_missing_top_file_and_an_unsuitable_host_are_explained() {
    let env = TestEnv::new();
    env.write("states/main.sls", "a: {test.nop: []}\n");
    let run = env.unfurl(["state", "test"]).exits(1);
    run.prints(&["No states are assigned to this host: there is no top file (`top.sls`)"]);
    env.unfurl(["forward", "@local", "-L", "1:x:1"])
        .exits(1)
        .says(&[
            "this command logs in to a host over SSH, but `@local` is not reached over SSH",
            "`unfurl run -H @local -- COMMAND` runs a command there",
        ]);
    let run = env
        .unfurl(["state", "test", "nginx.tuned", "-H", "@local"])
        .exits(1);
    run.says(&["no matching SLS found for `nginx.tuned`"]);
}
