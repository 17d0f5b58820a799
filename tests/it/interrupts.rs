//! Ctrl-C and SIGTERM: an interrupted job ends in order, leaves a true record, and leaves no process behind.
//!
//! The loop is short; `UNFURL_LOOPS=full` makes it long.

use std::fs;
use std::io::Read as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value as Json;

use super::drafts::{self, text};
use super::support::{Run, Started, TestEnv, is_full};

/// The text of a node template with a command and, optionally, a requirement.
fn node(name: &str, command: &str, requires: Option<&str>) -> String {
    let draft = text(
        "
        <name>:
          type: tosca.nodes.Root
          <requires>
          interfaces:
            Standard:
              configure:
                implementation: Shell
                inputs: {command: <command>}
        ",
    );
    let required = text("requirements: [{dependency: <it>}]");
    let required = requires.map(|it| required.with("it", it).build());
    let draft = draft.with("requires", required.unwrap_or_default());
    let draft = draft.with("name", name);
    draft.with("command", format!("{command:?}")).build()
}

/// An ensemble with three nodes in a chain. Only the command of the second is given.
fn three(command: &str) -> TestEnv {
    let nodes = [
        node("first", "echo first", None),
        node("second", command, Some("first")),
        node("third", "echo third > third", Some("second")),
    ];
    drafts::nodes(&nodes.concat()).env()
}

fn status(env: &TestEnv, name: &str) -> Json {
    env.ensemble()["status"]["instances"][name]["readyState"]["local"].clone()
}

/// Waits for a job that has received a signal, and asserts that it did not panic.
fn end(job: Started) -> Run {
    job.ends().does_not_panic()
}

fn has_no_lock(env: &TestEnv) {
    assert!(!env.names().iter().any(|name| name.contains(".lock")));
}

#[test]
fn the_first_signal_lets_what_runs_end_and_starts_nothing_else() {
    for (signal, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        let env = three("echo > runs; while test -e runs; do sleep 0.01; done; echo end > ended");
        let job = env.start(["deploy", "--approve", "--output", "json"]);
        env.wait_for("runs");
        job.signal(signal);
        job.wait_until_it_says("interrupted: no further task is started");
        fs::remove_file(env.work().join("runs")).unwrap();
        let run = end(job);
        assert_eq!(run.code, code, "{run}");
        assert_eq!(env.read("ended"), "end\n");
        assert!(!env.names().contains(&"third".to_owned()));
        for name in ["first", "second"] {
            assert_eq!(status(&env, name), "ok", "{run}");
        }
        assert_ne!(status(&env, "third"), "ok", "{run}");
        let warning = "warning: interrupted: no further task is started; running tasks have 30 s to \
                       end, a second signal kills them: Standard.configure of `second`";
        assert!(run.stderr.contains(warning), "{run}");
        has_no_lock(&env);
        env.unfurl(["deploy", "--approve"]).succeeds();
        assert_eq!(status(&env, "third"), "ok");
    }
}

#[test]
fn the_summary_counts_what_was_done_and_what_was_not() {
    let env = three("kill -INT $PPID; sleep 0.1");
    let run = env
        .unfurl(["deploy", "--approve", "--output", "json"])
        .exits(130);
    let summary = run.json();
    let job = &summary["job"];
    let counts = ["total", "ok", "error", "blocked"].map(|key| job[key].clone());
    assert_eq!(counts, [3, 2, 0, 1].map(Json::from), "{run}");
    let third = summary["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["target"] == "third");
    let output = third.unwrap()["output"].to_string();
    assert!(
        output.is_empty() || output == "null" || output.contains("interrupted"),
        "{output}"
    );
}

#[test]
fn the_text_summary_names_what_never_ran() {
    let env = three("kill -TERM $PPID; sleep 0.1");
    let run = env.unfurl(["deploy", "--approve"]).exits(143);
    assert!(run.stdout.contains("  not run  third\n"), "{run}");
    assert!(
        run.all()
            .contains("interrupted: no further task is started"),
        "{run}"
    );
}

#[test]
fn what_runs_is_ended_once_the_grace_is_over() {
    let env = three("echo > runs; sleep 300");
    let job = env.start(["deploy", "--approve", "--grace", "200ms"]);
    env.wait_for("runs");
    let began = Instant::now();
    job.signal(Signal::SIGTERM);
    let run = end(job);
    assert_eq!(run.code, 143, "{run}");
    assert!(began.elapsed() >= Duration::from_millis(200), "{run}");
    assert_eq!(status(&env, "first"), "ok");
    assert_eq!(status(&env, "second"), "unknown", "{run}");
    has_no_lock(&env);
}

#[test]
fn the_second_signal_kills_at_once_and_the_record_says_so() {
    let command = "trap '' INT TERM; setsid sh -c 'trap \"\" INT TERM; echo $$ > far; sleep 150; sleep 150' & \
                   echo $$ > near; sleep 150; sleep 150";
    let env = three(command);
    // The grace period is longer than the test, so only the second signal can end the command.
    let job = env.start(["deploy", "--approve", "--grace", "5m"]);
    let pids = [env.wait_for("near"), env.wait_for("far")];
    job.signal(Signal::SIGINT);
    job.wait_until_it_says("a second signal kills them");
    job.signal(Signal::SIGINT);
    let run = end(job);
    assert_eq!(run.code, 130, "{run}");
    for pid in pids {
        assert!(!runs(pid.trim()), "{pid} {run}");
    }
    assert_eq!(status(&env, "first"), "ok", "{run}");
    assert_eq!(status(&env, "second"), "unknown", "{run}");
    assert_ne!(status(&env, "third"), "ok", "{run}");
}

fn runs(pid: &str) -> bool {
    unfurl::testing::system::machine::is_running(pid.parse().unwrap())
}

#[test]
fn a_job_that_waits_for_an_answer_is_interrupted_as_if_declined() {
    for (signal, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        let env = three("true");
        let before = env.read("ensemble.yaml");
        let job = env.start(["deploy"]);
        job.wait_until_it_says("create 3 in `work`? [yes/no]");
        assert!(env.names().contains(&"ensemble.yaml.lock".to_owned()));
        job.signal(signal);
        let run = job.ends_by_itself().exits(code);
        assert!(
            run.stdout
                .contains("Nothing was done: the plan was not approved."),
            "{run}"
        );
        assert_eq!(env.read("ensemble.yaml"), before);
        has_no_lock(&env);
    }
}

#[test]
fn a_job_is_interrupted_while_it_plans() {
    let asking = "echo {{ lookup('pipe', 'echo > asked; sleep 300') }}";
    let text = drafts::nodes(&node("a", asking, None)).build();
    for command in ["deploy", "plan"] {
        let env = TestEnv::with_ensemble(&text);
        let mut arguments = vec!["--allow", "pipe", command];
        arguments.extend((command == "deploy").then_some("--approve"));
        let job = env.start(arguments);
        env.wait_for("asked");
        job.signal(Signal::SIGINT);
        let run = job.ends().exits(130);
        run.says(&["interrupted before anything was done"]);
        has_no_lock(&env);
        assert_eq!(env.read("ensemble.yaml"), text);
    }
}

#[test]
fn a_command_that_holds_nothing_ends_as_any_other_program() {
    // The output is larger than a pipe's buffer, and nobody reads it, so the program blocks.
    let mut child = Command::new(env!("CARGO_BIN_EXE_unfurl"))
        .args(["schema", "ensemble"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let written = child.stdout.as_mut().unwrap();
    written.read_exact(&mut [0]).unwrap();
    assert!(child.try_wait().unwrap().is_none());
    let pid = Pid::from_raw(child.id().try_into().unwrap());
    kill(pid, Signal::SIGINT).unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(2));
}

#[test]
fn what_a_job_runs_takes_signals_as_usual() {
    let env = three("grep ^SigBlk /proc/self/status > blocked");
    env.unfurl(["deploy", "--approve"]).succeeds();
    let blocked = env.read("blocked");
    let bits = blocked.split_whitespace().nth(1).unwrap();
    assert_eq!(u64::from_str_radix(bits, 16), Ok(0), "{blocked}");
}

/// An ensemble with twenty tasks in four rows of five. Each row requires the row before.
fn twenty() -> String {
    let mut nodes = String::new();
    for row in 0..4 {
        for place in 0..5 {
            let name = format!("n{row}{place}");
            let command = format!("echo {name} >> ran; sleep 0.0{place}");
            let before = format!("n{}{place}", row - 1_i32);
            let before = (row > 0).then_some(before);
            nodes.push_str(&node(&name, &command, before.as_deref()));
        }
    }
    drafts::nodes(&nodes).build()
}

/// The ready state of each instance, without times, to compare deploys.
fn state(env: &TestEnv) -> Vec<(String, Json)> {
    let ensemble = env.ensemble();
    let instances = ensemble["status"]["instances"].as_object().unwrap();
    let mut state: Vec<_> = instances
        .iter()
        .map(|(name, it)| (name.clone(), it["readyState"].clone()))
        .collect();
    state.sort_by(|a, b| a.0.cmp(&b.0));
    state
}

/// Whether a process has its working directory in a folder.
fn has_process_in(folder: &Path) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut folders = processes.filter_map(|it| fs::read_link(it.path().join("cwd")).ok());
    folders.any(|it| it.starts_with(folder))
}

#[test]
fn signals_at_any_time_leave_a_record_from_which_the_next_job_goes_on() {
    let rounds = if is_full() { 500 } else { 12 };
    let undisturbed = TestEnv::with_ensemble(&twenty());
    let whole = undisturbed.unfurl(["deploy", "--approve"]).succeeds().time;
    let wanted = state(&undisturbed);
    let mut interrupted = 0;
    for round in 0..rounds {
        let env = TestEnv::with_ensemble(&twenty());
        let (signal, code) = match round % 2 {
            0 => (Signal::SIGINT, 130),
            _ => (Signal::SIGTERM, 143),
        };
        let job = env.start(["deploy", "--approve"]);
        // A different time in each round.
        std::thread::sleep(Duration::from_millis(15) + whole * (round * 37 % 101) / 101);
        job.signal(signal);
        let run = job.ends();
        // A signal that arrives before the handler is installed ends the program like any other.
        let early = run.code < 0 && env.read("ensemble.yaml") == twenty();
        assert!([code, 0].contains(&run.code) || early, "{round} {run}");
        interrupted += u32::from(run.code == code);
        assert!(!has_process_in(&env.work()), "{round} {run}");
        has_no_lock(&env);
        env.unfurl(["deploy", "--approve"]).succeeds();
        assert_eq!(state(&env), wanted, "{round} {run}");
        let ran = env.read("ran");
        let mut ran: Vec<_> = ran.lines().collect();
        let count = ran.len();
        ran.sort_unstable();
        ran.dedup();
        // No ended task runs again.
        assert_eq!((ran.len(), count), (20, 20), "{round} {run}");
    }
    println!("{interrupted} of {rounds} jobs were interrupted");
    assert!(interrupted > 0);
}
