//! Locks after a restart of the machine: the job that held the lock has ended, although its process id may belong
//! to another process now.

use std::fs;

use nix::sys::signal::Signal;

use super::support::{Run, TestEnv, is_full};

const ENSEMBLE: &str = "apiVersion: unfurl/v1alpha1
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    topology_template:
      node_templates:
        a:
          type: tosca.nodes.Root
          interfaces:
            Standard:
              operations:
                configure: 'echo $$ >> begun; test -e done || exec sleep 90'
                delete: 'echo gone > gone'
";

/// A key of the owner file with its new value; without one, the line is removed.
type Change<'a> = (&'a str, Option<&'a str>);

const LOCK: &str = "ensemble.yaml.lock";
const OWNER: &str = "ensemble.yaml.owner.lock";

/// Whether this machine has an id. Without one, nothing proves that an earlier boot was on the same machine.
fn has_machine_id() -> bool {
    let id = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    !id.trim().is_empty() && id.trim() != "uninitialized"
}

/// Replaces the values of keys in the owner file.
fn change_owner(env: &TestEnv, changes: &[Change]) {
    let text = env.read(OWNER);
    let changed = |line: &str| {
        let key = line.split(':').next().unwrap();
        match changes.iter().find(|(changed, _)| *changed == key) {
            Some((_, Some(value))) => format!("{key}: '{value}'\n"),
            Some((_, None)) => String::new(),
            None => format!("{line}\n"),
        }
    };
    env.write(OWNER, &text.lines().map(changed).collect::<String>());
}

/// An ensemble whose job was killed within its task. The owner file is changed, and the process id in the lock
/// belongs to a process that runs.
fn killed_job(changes: &[Change]) -> TestEnv {
    let env = TestEnv::with_ensemble(ENSEMBLE);
    let job = env.start(["deploy", "--approve"]);
    env.wait_for("begun");
    job.signal(Signal::SIGKILL);
    drop(job);
    let pid = std::process::id().to_string();
    env.write(LOCK, &pid);
    let text = env.read(OWNER);
    let changed = text.lines().map(|line| {
        if line.starts_with("pid: ") {
            format!("pid: {pid}\n")
        } else {
            format!("{line}\n")
        }
    });
    env.write(OWNER, &changed.collect::<String>());
    change_owner(&env, changes);
    env.write("done", "");
    env
}

const OTHER_BOOT: Change = ("boot_id", Some("00000000-0000-0000-0000-000000000000"));

const DEPLOY: [&str; 3] = ["deploy", "--approve", "--redo-in-doubt"];

/// Runs the command that a hint names.
#[track_caller]
pub(crate) fn run_hint(env: &TestEnv, refused: &Run) -> Run {
    let mut words = refused.stderr.rsplit('`');
    let command = words.find(|it| it.starts_with("unfurl ") || it.starts_with("mv "));
    let command = command.unwrap_or_else(|| panic!("no hint: {refused}"));
    let lines = format!("unfurl() {{ \"$0\" \"$@\"; }}\n{command}\nexit $?");
    env.unfurl_after(&lines, &[])
}

/// D1: after a restart during a job, every job was refused for ever.
#[test]
fn after_a_restart_the_lock_of_a_job_of_an_earlier_boot_blocks_no_command() {
    if !has_machine_id() {
        left_out!("this machine has no id in /etc/machine-id");
    }
    let waiting = [&DEPLOY[..], &["--lock-timeout", "30s"]].concat();
    let commands = [
        &DEPLOY[..],
        &["teardown", "--approve", "--redo-in-doubt"],
        &["recover"],
        &["lock", "break"],
        &waiting,
    ];
    for command in commands {
        let env = killed_job(&[OTHER_BOOT]);
        let run = env.unfurl(command).succeeds();
        assert!(run.time.as_secs() < 10, "{run}");
        if command[0] == "deploy" {
            run.says(&[
                "note: took over the lock of process",
                "which no longer runs",
            ]);
        }
        env.unfurl(DEPLOY).succeeds();
        let left: Vec<_> = env.names();
        assert!(!left.iter().any(|name| name.contains(".lock")), "{left:?}");
    }
}

/// D1: without a proof, the job is refused, and the hint named a command that did not help.
#[test]
fn without_proof_of_a_restart_the_hint_says_why_and_names_a_command_that_works() {
    let cases: [(&[Change], &str); 5] = [
        (&[("host", Some("elsewhere"))], "another host"),
        (
            &[
                OTHER_BOOT,
                ("machine_id", Some("11111111111111111111111111111111")),
            ],
            "another machine with the same host name",
        ),
        (&[OTHER_BOOT, ("machine_id", None)], "machine id"),
        (&[("boot_id", None)], "boot id"),
        (&[("pid_namespace", Some("pid:[1]"))], "another container"),
    ];
    for (changes, reason) in cases {
        let commands = [&DEPLOY[..], &["recover"], &["lock", "break"]];
        let all = is_full() || reason == "another host";
        for command in commands.into_iter().take(if all { 3 } else { 1 }) {
            if reason == "machine id" && !has_machine_id() {
                continue;
            }
            let env = killed_job(changes);
            let refused = env.unfurl(command).exits(1);
            let refused = refused.says(&[reason, "cannot be proved here", "lock break --force "]);
            assert_eq!(
                refused.stderr.contains("--lock-timeout"),
                command[0] == "deploy",
                "{refused}"
            );
            run_hint(&env, &refused).succeeds();
            env.unfurl(DEPLOY).succeeds();
        }
    }
}

/// D1: the hint for the lock of a process that runs, and of a lock without a process id.
#[test]
fn the_hint_of_every_held_lock_names_a_command_that_works() {
    let env = TestEnv::with_ensemble(ENSEMBLE);
    env.write("done", "");
    env.write("other name/ensemble.yaml", ENSEMBLE);
    for content in ["1", "", "garbage", "-4"] {
        for manifest in ["ensemble.yaml", "other name/ensemble.yaml"] {
            env.write("other name/done", "");
            env.write(&format!("{manifest}.lock"), content);
            for command in [
                &["deploy", "--approve", manifest][..],
                &["recover", manifest],
            ] {
                env.unfurl(command).exits(1);
            }
            let refused = env.unfurl(["deploy", "--approve", manifest]).exits(1);
            run_hint(&env, &refused).succeeds();
            env.unfurl(["deploy", "--approve", manifest]).succeeds();
        }
    }
}

/// An owner file that an older version of this program wrote has no machine id.
#[test]
fn an_owner_file_of_an_older_version_is_read() {
    let env = TestEnv::with_ensemble(ENSEMBLE);
    let job = env.start(["deploy", "--approve"]);
    env.wait_for("begun");
    change_owner(&env, &[("machine_id", None)]);
    env.unfurl(["lock", "break"])
        .exits(1)
        .says(&["(`unfurl deploy`)"]);
    job.signal(Signal::SIGKILL);
    drop(job);
    env.write("done", "");
    let run = env.unfurl(DEPLOY).succeeds();
    run.says(&["note: took over the lock of process"]);
}

/// D1: two lock files that were removed without a sync were back after a loss of power.
#[test]
#[cfg(feature = "fault-injection")]
fn the_removal_of_a_lock_is_made_durable_with_one_sync() {
    let env = TestEnv::with_ensemble(ENSEMBLE);
    env.write("done", "");
    env.unfurl(DEPLOY).succeeds();
    let list = env.work().join("calls");
    let count = format!("count:{}", list.display());
    let fault = ("UNFURL_TEST_FAULT", &*count);
    env.unfurl_with(fault, &["deploy", "--approve"]).succeeds();
    let calls = env.read("calls");
    let after: Vec<_> = calls
        .lines()
        .skip_while(|line| !line.ends_with(OWNER))
        .collect();
    let removed = after.iter().rposition(|line| line.ends_with(LOCK)).unwrap();
    let rest = &after[removed + 1..];
    assert_eq!(rest.len(), 1, "{calls}");
    assert!(rest[0].contains("sync"), "{calls}");

    fs::remove_file(&list).unwrap();
    env.write(LOCK, "garbage");
    env.unfurl_with(fault, &["lock", "break"]).succeeds();
    let calls = env.read("calls");
    assert!(calls.lines().last().unwrap().contains("sync"), "{calls}");
}
