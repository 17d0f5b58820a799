//! The lock of an ensemble: one job at a time, tested with real processes that compete for it.
//!
//! The loops are short; `UNFURL_LOOPS=full` makes them long.

use std::fs::{self, OpenOptions};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::Value as Json;
use unfurl::testing::lock::{Lock, LockError};

use super::requires::target;
use super::support::{Started, TestEnv, is_full, wait_for};

const ENSEMBLE: &str = "apiVersion: unfurl/v1alpha1
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    topology_template:
      node_templates:
        a:
          type: tosca.nodes.Root
";

/// Environment variables that pass the arguments to a child process of these tests.
const MANIFEST: &str = "UNFURL_TEST_MANIFEST";
const STARTS: &str = "UNFURL_TEST_STARTS";

fn world() -> TestEnv {
    TestEnv::with_ensemble(ENSEMBLE)
}

/// Starts a job that holds the lock until it is killed or interrupted.
fn holder(env: &TestEnv) -> Started {
    let command = "echo $$ > held; exec sleep 90";
    let job = env.start(["run", "-a", "--", "sh", "-c", command]);
    env.wait_for("held");
    fs::remove_file(env.work().join("held")).unwrap();
    job
}

/// Sends a signal twice, which kills the job at once.
///
/// The second signal waits until the job has reported the first, because the system may merge two pending
/// signals into one.
fn signal_twice(job: &Started, signal: Signal) {
    job.signal(signal);
    job.wait_until_it_says("a second signal kills them");
    job.signal(signal);
}

fn has_no_lock(env: &TestEnv) {
    let names = env.names();
    let left: Vec<_> = names.iter().filter(|it| it.contains(".lock")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_job_says_whose_its_lock_is_and_leaves_nothing_of_it() {
    let env = world();
    let job = holder(&env);
    assert_eq!(env.read("ensemble.yaml.lock"), job.pid().to_string());
    let owner = env.read("ensemble.yaml.owner.lock");
    for line in [
        format!("pid: {}", job.pid()),
        "command: unfurl run".to_owned(),
    ] {
        assert!(owner.lines().any(|it| it == line), "{line}\n{owner}");
    }
    for key in ["host", "boot_id", "pid_namespace", "start_time", "token"] {
        assert!(owner.contains(&format!("\n{key}: ")) || owner.starts_with(key));
    }
    signal_twice(&job, Signal::SIGINT);
    assert_eq!(job.ends().code, 130);
    has_no_lock(&env);
}

#[test]
fn the_lock_goes_if_the_user_declines_or_the_ensemble_is_wrong() {
    let env = TestEnv::with_example("hello");
    let run = env.unfurl(["deploy"]).exits(1);
    assert!(run.stdout.contains("Nothing was done: "), "{run}");
    has_no_lock(&env);
    env.write("ensemble.yaml", "apiVersion: unfurl/v1alpha1\nkind: [");
    env.unfurl(["deploy", "--approve"]).exits(64);
    has_no_lock(&env);
}

#[test]
fn a_second_job_is_refused_with_the_name_of_the_lock_holder() {
    let env = world();
    let job = holder(&env);
    let run = env.unfurl(["deploy", "--approve"]).exits(1);
    let named = format!("is locked by process {} on host ", job.pid());
    run.says(&[
        &named,
        "(`unfurl run`)",
        "--lock-timeout",
        "unfurl lock break",
    ]);
}

#[test]
fn the_file_of_a_living_process_is_respected_though_nobody_says_whose_it_is() {
    let env = world();
    let pid = std::process::id().to_string();
    env.write("ensemble.yaml.lock", &pid);
    let run = env.unfurl(["deploy", "--approve"]).exits(1);
    run.says(&[&format!("is locked by process {pid}")]);
    assert_eq!(env.read("ensemble.yaml.lock"), pid);
    assert_eq!(env.names(), ["ensemble.yaml", "ensemble.yaml.lock"]);
}

#[test]
fn two_paths_to_one_ensemble_lead_to_one_lock() {
    let env = world();
    std::os::unix::fs::symlink("ensemble.yaml", env.work().join("link.yaml")).unwrap();
    std::os::unix::fs::symlink(".", env.work().join("folder")).unwrap();
    let job = holder(&env);
    for path in ["link.yaml", "folder/ensemble.yaml", "folder/link.yaml"] {
        let run = env.unfurl(["deploy", "--approve", path]).exits(1);
        run.says(&["is locked by process"]);
    }
    drop(job);
    // The lock exists at both paths, so a program that looks only beside the link is kept out, too.
    let look = "cat link.yaml.lock > seen; cat ensemble.yaml.lock >> seen";
    let arguments = [
        "run",
        "-a",
        "--ensemble",
        "link.yaml",
        "--",
        "sh",
        "-c",
        look,
    ];
    env.unfurl(arguments).succeeds();
    let seen = env.read("seen");
    let (first, second) = seen.split_at(seen.len() / 2);
    assert!(!first.is_empty() && first == second, "{seen}");
    has_no_lock(&env);
}

#[test]
fn a_folder_that_cannot_be_written_is_reported_and_can_be_planned() {
    let env = world();
    // The file system is read-only for this call only. This needs the privilege to mount.
    let lines = "exec unshare -m /bin/sh -c 'mount --bind . . && mount -o remount,bind,ro \"$PWD\" \
                 && cd \"$PWD\" && exec \"$0\" \"$@\"' \"$0\" \"$@\"";
    let run = env.unfurl_after(lines, &["deploy", "--approve"]);
    if run.stderr.contains("unshare") || run.stderr.contains("mount:") {
        left_out!(&format!(
            "no file system can be mounted here: {}",
            run.stderr.trim()
        ));
    }
    run.exits(1)
        .says(&["could not lock `", "ensemble.yaml.lock`: ", "read-only"]);
    env.unfurl_after(lines, &["plan"]).succeeds();
}

#[test]
fn a_job_waits_for_the_lock_as_long_as_asked() {
    let env = world();
    let job = holder(&env);
    let arguments = ["deploy", "--approve", "--lock-timeout", "300ms"];
    let run = env.unfurl(arguments).exits(1);
    assert!(run.time >= Duration::from_millis(300), "{run}");
    let waits = format!("is locked by process {}", job.pid());
    run.says(&["note: waiting up to ", &waits]);

    let patient = env.start(["deploy", "--approve", "--lock-timeout", "1m"]);
    patient.wait_until_it_says("note: waiting up to 60 s for the lock");
    signal_twice(&job, Signal::SIGTERM);
    job.ends();
    patient.ends().succeeds();
    has_no_lock(&env);
}

#[test]
fn the_variable_asks_for_waiting_as_well() {
    let env = world().variable("UNFURL_LOCK_TIMEOUT", "0.2");
    env.write("ensemble.yaml.lock", &std::process::id().to_string());
    let run = env.unfurl(["check"]).exits(1);
    assert!(run.time >= Duration::from_millis(200), "{run}");
}

#[test]
fn who_waits_for_the_lock_can_be_interrupted() {
    let env = world();
    let pid = std::process::id().to_string();
    env.write("ensemble.yaml.lock", &pid);
    let job = env.start(["deploy", "--approve", "--lock-timeout", "5m"]);
    job.wait_until_it_says("note: waiting up to 300 s for the lock");
    job.signal(Signal::SIGINT);
    // The signal ends the wait at once, long before the lock timeout.
    let run = job.ends().exits(130);
    run.says(&["interrupted before anything was done"]);
    assert_eq!(env.read("ensemble.yaml.lock"), pid);
}

#[test]
fn locks_are_listed_with_their_holders_and_broken_if_those_are_gone() {
    let env = world();
    let state = || {
        let run = env.unfurl(["lock", "list", "--output", "json"]).succeeds();
        run.json()[0].clone()
    };
    let free = serde_json::json!({"ensemble": "ensemble.yaml", "state": "free"});
    assert_eq!(state(), free);
    let job = holder(&env);
    let held = state();
    assert_eq!(
        (&held["state"], &held["pid"]),
        (&"held".into(), &job.pid().into())
    );
    assert_eq!(held["owner"]["command"], "unfurl run");
    env.unfurl(["lock", "break"])
        .exits(1)
        .says(&["is locked by"]);
    let pid = job.pid();
    drop(job);
    assert_eq!(state()["state"], "stale");
    let run = env.unfurl(["lock", "list"]).succeeds();
    let text: Vec<_> = run.stdout.split_whitespace().collect();
    assert!(text.join(" ").contains("which no longer runs"), "{run}");
    let run = env.unfurl(["lock", "break"]).succeeds();
    let told = format!("the lock is broken; it was held by process {pid} on host ");
    assert!(run.stdout.starts_with(&told), "{run}");
    assert_eq!(state(), free);
    let run = env.unfurl(["lock", "break"]).succeeds();
    assert_eq!(run.stdout, "there was no lock\n");
}

#[test]
fn a_living_holder_loses_its_lock_by_force_only_and_then_saves_nothing() {
    let env = TestEnv::with_ensemble(&format!(
        "{ENSEMBLE}          interfaces: {{Standard: {{configure: 'echo > held; while test -e held; do sleep 0.01; done'}}}}\n"
    ));
    let job = env.start(["deploy", "--approve"]);
    let before = env.read("ensemble.yaml");
    env.wait_for("held");
    env.unfurl(["lock", "break", "--force"]).succeeds();
    fs::remove_file(env.work().join("held")).unwrap();
    let run = job.ends().exits(70);
    run.says(&["the lock was broken while the job ran"]);
    assert_eq!(env.read("ensemble.yaml"), before);
}

#[test]
fn the_real_unfurl_and_this_program_respect_each_others_lock() {
    requires!("target/unfurl-py");
    let python = target().join("unfurl-py/bin/python3");
    let wait = "echo $$ > held; while test -e held; do sleep 0.01; done";
    let text = format!("{ENSEMBLE}          interfaces: {{Standard: {{configure: '{wait}'}}}}\n");
    let theirs = |env: &TestEnv| {
        let arguments = [
            "-m",
            "unfurl",
            "--home",
            "",
            "deploy",
            "--approve",
            "ensemble.yaml",
        ];
        env.start_command(Command::new(&python), arguments)
    };
    let env = TestEnv::with_ensemble(&text);
    let job = env.start(["deploy", "--approve"]);
    env.wait_for("held");
    let refused = theirs(&env).ends();
    assert_eq!(refused.code, 1, "{refused}");
    let all = refused.all();
    assert!(
        all.contains(&format!("created by another process {}", job.pid())),
        "{refused}"
    );
    fs::remove_file(env.work().join("held")).unwrap();
    job.ends().succeeds();

    let env = TestEnv::with_ensemble(&text);
    let job = theirs(&env);
    // The real Unfurl runs operations in another folder.
    let (held, _) = wait_for("the lock of the real unfurl", || {
        let mut files = env.files().into_iter();
        files.find(|(path, _)| path.ends_with("/held"))
    });
    let named = format!("is locked by process {}", env.read("ensemble.yaml.lock"));
    env.unfurl(["deploy", "--approve"]).exits(1).says(&[&named]);
    fs::remove_file(held).unwrap();
    let run = job.ends();
    assert_eq!(run.code, 0, "{run}");
    env.unfurl(["deploy", "--approve"]).succeeds();
}

/// Runs one of the tests below in a separate process.
fn process(test: &str, manifest: &Path, starts: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            &format!("locking::{test}"),
            "--nocapture",
            "--ignored",
        ])
        .env(MANIFEST, manifest)
        .env(STARTS, starts.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn child_arguments() -> Option<(PathBuf, usize)> {
    let manifest = std::env::var_os(MANIFEST)?;
    let starts = std::env::var(STARTS).ok()?.parse().ok()?;
    Some((manifest.into(), starts))
}

/// Tries to acquire the lock `starts` times and returns the number of successes. Panics if another process
/// holds the lock at the same time.
fn contend(manifest: &Path, starts: usize) -> usize {
    let inside = manifest.with_file_name("inside");
    let mut entered = 0;
    for _ in 0..starts {
        let acquired = match Lock::acquire(manifest, "contender") {
            Ok(acquired) => acquired,
            Err(error) => {
                let is_refusal = error.is_temporary() || matches!(error, LockError::Ours { .. });
                assert!(is_refusal, "{error}");
                continue;
            }
        };
        let alone = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&inside);
        alone.expect("two processes hold the lock");
        assert!(acquired.lock.is_ours());
        fs::remove_file(&inside).unwrap();
        entered += 1;
        acquired.lock.release().unwrap();
    }
    entered
}

#[test]
#[ignore = "runs inside of the processes that another test starts"]
fn contender() {
    if let Some((manifest, starts)) = child_arguments() {
        println!("\nENTERED {}", contend(&manifest, starts));
    }
}

#[test]
fn of_contended_starts_never_two_hold_the_lock() {
    let starts = if is_full() { 10_000 } else { 400 };
    let env = world();
    let manifest = env.work().join("ensemble.yaml");
    let began = Instant::now();
    let each = starts / 8;
    let processes: Vec<_> = (0..4)
        .map(|_| process("contender", &manifest, each))
        .collect();
    let entered: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| contend(&manifest, each)))
            .collect();
        threads.into_iter().map(|it| it.join().unwrap()).sum()
    });
    let mut all = entered;
    for child in processes {
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}");
        let count = text.lines().find_map(|line| line.strip_prefix("ENTERED "));
        all += count.unwrap().parse::<usize>().unwrap();
    }
    println!("{starts} starts, {all} got in, in {:?}", began.elapsed());
    assert!(all > 0);
    assert_eq!(env.names(), ["ensemble.yaml"]);
}

#[test]
fn of_jobs_that_start_at_once_never_two_run() {
    let rounds = if is_full() { 100 } else { 4 };
    let env = world();
    let command = "mkdir inside || echo two >> two; sleep 0.01; rmdir inside; echo in >> ins";
    let mut entered = 0;
    for _ in 0..rounds {
        let jobs: Vec<_> = (0..8)
            .map(|_| env.start(["run", "-a", "--", "sh", "-c", command]))
            .collect();
        for job in jobs {
            let run = job.ends();
            assert!([0, 1].contains(&run.code), "{run}");
            entered += usize::from(run.code == 0);
        }
        assert!(!env.names().contains(&"two".to_owned()));
    }
    println!("{} starts, {entered} got in", 8 * rounds);
    assert_eq!(env.read("ins").lines().count(), entered);
    has_no_lock(&env);
}

#[test]
#[ignore = "runs inside of the processes that another test starts"]
fn victim() {
    let Some((manifest, _)) = child_arguments() else {
        return;
    };
    // The parent kills this process while it takes, holds or releases the lock.
    println!("\nSTARTED");
    loop {
        if let Ok(acquired) = Lock::acquire(&manifest, "victim") {
            let until = Instant::now() + Duration::from_micros(200);
            while Instant::now() < until {
                std::hint::spin_loop();
            }
            acquired.lock.release().unwrap();
        }
    }
}

#[test]
fn after_each_killed_holder_the_next_start_gets_in_at_its_first_try() {
    let kills = if is_full() { 1_000 } else { 40 };
    let env = world();
    let manifest = env.work().join("ensemble.yaml");
    let mut stale = 0;
    for round in 0..kills {
        let mut child = process("victim", &manifest, 0);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == "STARTED"));
        // A different time in each round.
        std::thread::sleep(Duration::from_micros(500 + 137 * (round % 50)));
        child.kill().unwrap();
        child.wait().unwrap();
        stale += usize::from(manifest.with_file_name("ensemble.yaml.lock").exists());
        let acquired =
            Lock::acquire(&manifest, "next").unwrap_or_else(|it| panic!("{round}: {it}"));
        acquired.lock.release().unwrap();
        assert_eq!(env.names(), ["ensemble.yaml"], "{round}");
    }
    println!("{kills} killed, {stale} held the lock; the next was in at its first try");
    assert!(stale > 0);
}

#[test]
fn after_a_killed_job_the_next_one_gets_in_at_its_first_try() {
    let kills = if is_full() { 100 } else { 5 };
    let env = world();
    for _ in 0..kills {
        let job = holder(&env);
        let pid = job.pid();
        drop(job);
        let run = env.unfurl(["run", "-a", "--", "true"]).succeeds();
        let told = format!("note: took over the lock of process {pid} on host ");
        run.says(&[&told, "which no longer runs"]);
    }
    has_no_lock(&env);
    let listed: Json = env.unfurl(["lock", "list", "--output", "json"]).json();
    assert_eq!(listed[0]["state"], "free");
}
