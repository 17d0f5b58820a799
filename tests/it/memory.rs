//! The memory of the program, which holds keys and passwords: other processes of the user cannot read it, and
//! programs that it starts are not affected.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::Path;

use crate::support::{Run, TestEnv, wait_for};

/// A user without rights, who owns the environment.
const USER: u32 = 65_534;

const ENSEMBLE: &str = "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    topology_template:
      node_templates:
        app:
          type: tosca.nodes.Root
          interfaces:
            Standard:
              configure:
                implementation: Shell
                inputs: {command: sh script}
";

/// An environment of a user without rights, whose task runs lines of shell.
fn env_of_user(script: &str) -> TestEnv {
    let env = TestEnv::with_ensemble(ENSEMBLE);
    env.write("script", script);
    give_to_user(&env);
    env
}

fn give_to_user(env: &TestEnv) {
    fn give(path: &Path) {
        chown(path, Some(USER), Some(USER)).unwrap();
        if path.is_dir() {
            for entry in fs::read_dir(path).unwrap() {
                give(&entry.unwrap().path());
            }
        }
    }
    give(env.work().parent().unwrap());
}

/// Lines of shell that become the user.
fn as_user() -> String {
    format!("exec setpriv --reuid {USER} --regid {USER} --clear-groups \"$0\" \"$@\"")
}

/// Calls the binary as the user without rights. None if that user cannot run it here.
fn unfurl_as_user(env: &TestEnv, arguments: &[&str]) -> Option<Run> {
    let run = env.unfurl_after(&as_user(), arguments);
    let cannot = run.stderr.contains("setpriv") || run.stderr.contains("failed to execute");
    (!cannot).then_some(run)
}

macro_rules! as_user {
    ($env:expr, $($word:expr),+) => {
        match unfurl_as_user($env, &[$($word),+]) {
            Some(run) => run,
            None => left_out!("another user cannot run the program here"),
        }
    };
}

#[test]
fn the_memory_is_protected_and_that_of_children_is_as_usual() {
    requires!("root", "setpriv");
    // The owner of a file in `/proc` is root if the process is protected.
    let env = env_of_user(
        "p=$PPID
        until [ \"$(cat /proc/$p/comm)\" = unfurl ]; do p=$(cut -d' ' -f4 /proc/$p/stat); done
        stat -c %u /proc/$p/environ > program
        stat -c %u /proc/$$/environ > own
        cat /proc/$$/environ > readable
        cat /proc/$p/environ > stolen || true
        ulimit -c > soft; ulimit -Hc > hard
        readlink /proc/$$/exe > exe",
    );
    let run = env.unfurl_after(
        &format!("ulimit -c 100; {}", as_user()),
        &["deploy", "--approve"],
    );
    if run.stderr.contains("setpriv") {
        left_out!("another user cannot run the program here");
    }
    run.succeeds();
    assert_eq!(env.read("program"), "0\n");
    assert_eq!(env.read("own"), format!("{USER}\n"));
    assert!(env.read("readable").contains("HOME="));
    assert_eq!(env.read("stolen"), "");
    assert_eq!(env.read("soft"), "100\n");
    assert_eq!(env.read("hard"), "100\n");
}

#[test]
fn a_crash_writes_no_memory_to_a_file() {
    let env = TestEnv::with_ensemble(ENSEMBLE);
    env.write(
        "script",
        "p=$PPID
        until [ \"$(cat /proc/$p/comm)\" = unfurl ]; do p=$(cut -d' ' -f4 /proc/$p/stat); done
        kill -ABRT $p; sleep 5",
    );
    let run = env.unfurl_after("ulimit -c unlimited", &["deploy", "--approve"]);
    assert_ne!(run.code, 0, "{run}");
    assert!(!run.all().contains("core dumped"), "{run}");
    assert_eq!(
        env.names().into_iter().find(|name| name.contains("core")),
        None
    );
}

#[test]
fn a_user_without_rights_can_use_all_commands() {
    requires!("root", "setpriv");
    let env = env_of_user("echo ran >> ran");
    for command in ["validate", "plan", "doctor", "status"] {
        as_user!(&env, command).does_not_panic();
    }
    as_user!(&env, "deploy", "--approve").succeeds();
    as_user!(&env, "deploy", "--approve", "--dryrun").succeeds();
    as_user!(&env, "deploy", "--approve", "--force").succeeds();
    as_user!(&env, "run", "-H", "@local", "--", "true").succeeds();
    assert_eq!(env.read("ran"), "ran\nran\n");
    let plain = TestEnv::with_ensemble(ENSEMBLE);
    plain.write("script", "echo ran >> ran");
    // The same checks succeed and fail as for root, whose rights the protection does not limit.
    let doctor = |run: Run| {
        run.stdout
            .lines()
            .map(str::to_owned)
            .collect::<Vec<_>>()
            .len()
    };
    assert!(doctor(as_user!(&env, "doctor")) > 0);
    assert_eq!(fs::metadata(env.work().join("ran")).unwrap().uid(), USER);
}

/// The holder of a lock is found alive, and a killed one dead, although nobody can look into its memory.
#[test]
fn locks_and_recovery_of_a_user_without_rights_work() {
    requires!("root", "setpriv");
    let env = env_of_user("echo $PPID > pid; echo now > begun; exec sleep 30");
    if unfurl_as_user(&env, &["validate"]).is_none() {
        left_out!("another user cannot run the program here");
    }
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", &as_user()]).arg(crate::support::binary());
    let job = env.start_command(shell, ["deploy", "--approve"]);
    env.wait_for("begun");
    let refused = as_user!(&env, "deploy", "--approve");
    assert_ne!(refused.code, 0, "{refused}");
    refused.says(&["lock", "process"]);
    let pid: i32 = env.read("pid").trim().parse().unwrap();
    job.signal(nix::sys::signal::Signal::SIGKILL);
    job.ends();
    assert!(pid > 0);
    // The guard ends the command of the killed job.
    wait_for("the end of the command", || {
        let found = fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let path = entry.ok()?.path();
            let environ = fs::read(path.join("environ")).ok()?;
            let work = env.work().display().to_string();
            let is_its = String::from_utf8_lossy(&environ).contains(&work);
            let line = fs::read(path.join("cmdline")).ok()?;
            (is_its && line.starts_with(b"sleep")).then_some(())
        });
        (found.count() == 0).then_some(())
    });
    env.write("script", "echo ran > ran");
    give_to_user(&env);
    let next = as_user!(&env, "deploy", "--approve", "--redo-in-doubt");
    next.succeeds();
    assert_eq!(env.read("ran"), "ran\n");
}
