//! Limits of the process that a shell sets with `ulimit`: each ends in a message, and nothing is lost.

use super::support::{Run, TestEnv, is_full};

/// An ensemble whose two tasks append a line to `effects`.
const ENSEMBLE: &str = "apiVersion: unfurl/v1alpha1
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    topology_template:
      node_templates:
        a: {type: tosca.nodes.Root, interfaces: {Standard: {configure: 'echo a >> effects'}}}
        b: {type: tosca.nodes.Root, interfaces: {Standard: {configure: 'echo b >> effects'}}, requirements: [{dependency: a}]}
";

fn effects(env: &TestEnv) -> String {
    std::fs::read_to_string(env.work().join("effects")).unwrap_or_default()
}

/// Deploys with a limit, and then without: each task has run once, or a second time after a doubt that was named.
#[track_caller]
fn deploy_with(limit: &str) -> Run {
    let env = TestEnv::with_ensemble(ENSEMBLE);
    let run = env.unfurl_after(limit, &["deploy", "--approve"]);
    let before = effects(&env);
    let again = env
        .unfurl(["deploy", "--approve", "--redo-in-doubt"])
        .succeeds();
    let after = effects(&env);
    for task in ["a\n", "b\n"] {
        let (before, after) = (before.matches(task).count(), after.matches(task).count());
        let in_doubt = again.stderr.contains("in doubt");
        assert!(
            after == 1 || (after == 2 && in_doubt && before == 1),
            "{limit}\n{run}\n{again}"
        );
    }
    let left = env.names();
    assert!(!left.iter().any(|name| name.contains(".lock")), "{left:?}");
    env.unfurl(["deploy", "--approve"]).succeeds();
    assert_eq!(effects(&env), after, "{limit}");
    run
}

/// D9: with six descriptors, the library for signals panicked.
#[test]
fn too_few_descriptors_end_in_a_message() {
    for number in 3..=40 {
        if !is_full() && ![4, 6, 13, 24, 34, 40].contains(&number) {
            continue;
        }
        let run = deploy_with(&format!("ulimit -n {number}"));
        // With fewer, the system cannot load the libraries of the program.
        if number <= 4 || run.code == 127 {
            continue;
        }
        let run = run.does_not_panic();
        assert!(
            run.code == 0 || run.stderr.contains("ulimit -n"),
            "{number} {run}"
        );
        assert!(run.code != 0 || number > 30, "{number} {run}");
    }
}

/// D9: SIGXFSZ ended the program without a message.
#[test]
fn a_limit_for_the_size_of_files_ends_in_a_message_and_loses_nothing() {
    for blocks in [0, 1, 2, 4, 6, 8, 12, 16, 64] {
        if !is_full() && blocks % 4 > 1 {
            continue;
        }
        let run = deploy_with(&format!("ulimit -f {blocks}"));
        let run = run.does_not_panic();
        assert!(
            run.code == 0 || run.stderr.contains("ulimit -f"),
            "{blocks} {run}"
        );
    }
}

/// D9: the program handles SIGXFSZ and does not ignore it, because tasks inherit that.
#[test]
fn a_task_has_the_default_effect_of_the_signal_for_large_files() {
    const SIGXFSZ: u32 = 25;
    let text = ENSEMBLE.replace("echo a >> effects", "cat /proc/self/status > status");
    for limit in ["true", "ulimit -f 1000"] {
        let env = TestEnv::with_ensemble(&text);
        env.unfurl_after(limit, &["deploy", "--approve"]).succeeds();
        let status = env.read("status");
        for name in ["SigIgn:", "SigBlk:"] {
            let bits = status
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .unwrap();
            let bits = u64::from_str_radix(bits.trim(), 16).unwrap();
            assert_eq!(bits >> (SIGXFSZ - 1) & 1, 0, "{limit} {name}");
        }
    }
    // A task that writes too much is ended by the signal, as without this program.
    let text = ENSEMBLE.replace(
        "echo a >> effects",
        "exec head -c 4000000 /dev/zero > large",
    );
    let env = TestEnv::with_ensemble(&text);
    let run = env.unfurl_after("ulimit -f 2000", &["deploy", "--approve"]);
    assert!(run.code > 0 && run.stderr.contains("signal"), "{run}");
}

/// D9: a program or a thread cannot be started.
#[test]
fn a_limit_for_processes_ends_in_a_message_and_a_record() {
    requires!("root", "setpriv", "prlimit");
    for limit in 1..=9 {
        if !is_full() && ![1, 6, 7].contains(&limit) {
            continue;
        }
        let env = TestEnv::with_ensemble(ENSEMBLE);
        // Each round has a user of its own, whose other processes would count.
        let user = 300_000 + std::process::id() * 10 + limit;
        let root = env.work().parent().unwrap().to_owned();
        for folder in [
            root.clone(),
            root.join("home"),
            root.join("tmp"),
            env.work(),
        ] {
            std::os::unix::fs::chown(folder, Some(user), Some(user)).unwrap();
        }
        let file = env.work().join("ensemble.yaml");
        std::os::unix::fs::chown(file, Some(user), Some(user)).unwrap();
        let start = format!("exec setpriv --reuid {user} --regid {user} --clear-groups ");
        let line = |limit: &str| format!("{start}{limit} \"$0\" \"$@\"");
        let run = env.unfurl_after(
            &line(&format!("prlimit --nproc={limit}")),
            &["deploy", "--approve"],
        );
        if run.stderr.contains("setpriv") || run.stderr.contains("failed to execute") {
            left_out!(&format!(
                "another user cannot run the program here: {}",
                run.stderr
            ));
        }
        let run = run.does_not_panic();
        let named = run.stderr.contains("ulimit -u") || run.stderr.contains("annot fork");
        assert!(run.code == 0 || named, "{limit} {run}");
        let again = env
            .unfurl_after(&line(""), &["deploy", "--approve"])
            .succeeds();
        assert!(effects(&env).ends_with("b\n"), "{run} {again}");
    }
}

/// D9: a job that was aborted because no memory was left is reported by the next command, and nothing is lost.
#[test]
fn a_job_without_memory_loses_nothing() {
    for kibibytes in (50_000..=300_000).step_by(10_000) {
        if !is_full() && ![60_000, 80_000, 100_000].contains(&kibibytes) {
            continue;
        }
        deploy_with(&format!("ulimit -c 0; ulimit -v {kibibytes}"));
    }
}

/// D9: the abort itself is reported.
#[test]
fn a_job_that_was_aborted_is_reported_by_the_next_command() {
    let text = ENSEMBLE.replace(
        "echo b >> effects",
        "kill -ABRT $PPID; sleep 1; echo b >> effects",
    );
    let env = TestEnv::with_ensemble(&text);
    let run = env.unfurl_after("ulimit -c 0", &["deploy", "--approve"]);
    assert_eq!(run.code, -1, "{run}");
    env.unfurl(["status"]).says(&["a job crashed"]);
    env.unfurl(["recover"])
        .succeeds()
        .prints(&["crashed: the task that had finished is recorded"]);
    assert_eq!(effects(&env), "a\n");
}
