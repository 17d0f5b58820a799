//! The guard process: processes that a job started do not outlive the job if it is killed, except daemons
//! that its tasks left behind on purpose.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use unfurl::testing::system::machine::is_running;

use super::support::{TestEnv, wait_for, wait_until_gone};

/// An ensemble with a node that leaves a daemon, and a node that requires it. The second starts processes
/// that ignore signals: one in its process group, and one that left the group.
const ENSEMBLE: &str = r#"apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    topology_template:
      node_templates:
        daemon:
          type: tosca.nodes.Root
          interfaces:
            Standard:
              configure:
                implementation: Shell
                inputs: {command: "setsid sleep 300 > /dev/null 2>&1 & echo $! > daemon"}
        stubborn:
          type: tosca.nodes.Root
          requirements: [{dependency: daemon}]
          interfaces:
            Standard:
              configure:
                implementation: Shell
                inputs:
                  command: >-
                    trap '' TERM INT HUP;
                    setsid sh -c 'trap "" TERM; sh -c "echo \$\$ > far; sleep 300; sleep 300" &' &
                    env -i sh -c 'echo $$ > bare; sleep 300' &
                    echo $$ > near;
                    sleep 300;
                    sleep 300
"#;

fn pid(env: &TestEnv, file: &str) -> u32 {
    let text = env.wait_for(file);
    let pid = text.trim().parse();
    pid.unwrap_or_else(|error| panic!("{file}: {text:?}: {error}"))
}

fn end(pid: u32) {
    kill(Pid::from_raw(pid.try_into().unwrap()), Signal::SIGKILL).unwrap();
}

/// The process id of the job's guard, the child process with that name.
fn guard_of(job: u32) -> u32 {
    wait_for("the guard", || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let pids = processes.filter_map(|it| it.file_name().to_str()?.parse::<u32>().ok());
        pids.into_iter().find(|pid| {
            let read = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}"));
            let line = read("cmdline").unwrap_or_default();
            let stat = read("stat").unwrap_or_default();
            let parent = stat
                .rsplit(')')
                .next()
                .and_then(|it| it.split_whitespace().nth(1));
            line.contains("guard-tasks") && parent == Some(&job.to_string())
        })
    })
}

/// Whether a signal is pending in a process, or ignored by it.
fn holds_back(pid: u32, signal: Signal) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    ["ShdPnd:", "SigIgn:"].iter().any(|name| {
        let bits = status.lines().find_map(|line| line.strip_prefix(name));
        let bits = u64::from_str_radix(bits.unwrap().trim(), 16).unwrap();
        bits >> (signal as i32 - 1) & 1 == 1
    })
}

#[test]
fn the_guard_ends_what_a_killed_job_left_wherever_it_went() {
    let env = TestEnv::with_ensemble(ENSEMBLE);
    let job = env.start(["deploy", "--approve"]);
    let left = ["near", "far", "bare"].map(|file| pid(&env, file));
    let daemon = pid(&env, "daemon");
    assert!(left.iter().all(|pid| is_running(*pid)));
    let guard = guard_of(job.pid());
    drop(job);
    wait_until_gone(&left);
    wait_until_gone(&[guard]);
    assert!(is_running(daemon));
    end(daemon);
}

#[test]
fn the_next_job_ends_first_what_neither_job_nor_guard_could() {
    let env = TestEnv::with_ensemble(ENSEMBLE);
    let job = env.start(["deploy", "--approve"]);
    let left = ["near", "far"].map(|file| pid(&env, file));
    let (bare, daemon) = (pid(&env, "bare"), pid(&env, "daemon"));
    end(guard_of(job.pid()));
    drop(job);
    assert!(left.iter().all(|pid| is_running(*pid)));
    // The check may fail or succeed; this test is about the cleanup that comes before it.
    let run = env.unfurl(["check"]).does_not_panic();
    assert!(left.iter().all(|pid| !is_running(*pid)), "{run}");
    assert!(!is_running(bare), "{run}");
    assert!(is_running(daemon), "{run}");
    end(daemon);
    run.says(&[
        "took over the lock of process",
        "processes that tasks of the crashed job had left running: `sh` (",
    ]);
}

#[test]
fn the_next_job_that_starts_at_once_finds_nothing_running() {
    for _ in 0..3 {
        let env = TestEnv::with_ensemble(ENSEMBLE);
        let job = env.start(["deploy", "--approve"]);
        let left = ["near", "far", "bare"].map(|file| pid(&env, file));
        let daemon = pid(&env, "daemon");
        drop(job);
        let run = env.unfurl(["check"]).does_not_panic();
        assert!(left.iter().all(|pid| !is_running(*pid)), "{run}");
        assert!(is_running(daemon), "{run}");
        end(daemon);
    }
}

#[test]
fn breaking_the_lock_of_a_killed_job_ends_what_it_left() {
    let env = TestEnv::with_ensemble(ENSEMBLE);
    let job = env.start(["deploy", "--approve"]);
    let left = ["near", "far"].map(|file| pid(&env, file));
    let daemon = pid(&env, "daemon");
    end(guard_of(job.pid()));
    drop(job);
    let run = env.unfurl(["lock", "break"]).succeeds();
    assert!(run.stdout.contains("had left running"), "{run}");
    assert!(left.iter().all(|pid| !is_running(*pid)), "{run}");
    assert!(is_running(daemon), "{run}");
    end(daemon);
}

#[test]
fn the_guard_goes_with_a_job_that_ends_and_leaves_daemons_alone() {
    let (before, _) = ENSEMBLE.split_once("        stubborn:").unwrap();
    let (daemon, until) = (
        "> daemon",
        "> daemon; until test -e end; do sleep 0.01; done",
    );
    let env = TestEnv::with_ensemble(&before.replace(daemon, until));
    let job = env.start(["deploy", "--approve"]);
    let daemon = pid(&env, "daemon");
    let guard = guard_of(job.pid());
    env.write("end", "");
    job.ends().succeeds();
    wait_until_gone(&[guard]);
    assert!(is_running(daemon));
    env.unfurl(["check"]).succeeds();
    assert!(is_running(daemon));
    end(daemon);
}

#[test]
fn the_guard_outlives_what_a_terminal_and_a_service_manager_send() {
    let env = TestEnv::with_ensemble(ENSEMBLE);
    let job = env.start(["deploy", "--approve"]);
    let left = ["near", "far", "bare"].map(|file| pid(&env, file));
    let daemon = pid(&env, "daemon");
    let guard = guard_of(job.pid());
    let own = Pid::from_raw(guard.try_into().unwrap());
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        kill(own, signal).unwrap();
        assert!(holds_back(guard, signal), "{signal}");
    }
    let group = nix::unistd::getpgid(Some(own)).unwrap();
    assert_eq!(group, own, "it is in the group of its job");
    assert!(is_running(guard));
    drop(job);
    wait_until_gone(&left);
    end(daemon);
}
