//! What goes wrong while looking: locks, checks without end, records that cannot be read or written.

use nix::sys::signal::Signal;

use super::{drift, finding, findings, look};
use crate::support::{Run, TestEnv, wait_for};

/// An ensemble with one instance whose check runs the script `check.sh`.
fn checked(check: &str) -> TestEnv {
    let env = TestEnv::with_ensemble(
        "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    topology_template:
      node_templates:
        server:
          type: tosca:Root
          interfaces:
            Standard: {operations: {configure: 'true'}}
            Install:
              operations:
                check:
                  implementation: {primary: Shell, timeout: 1}
                  inputs:
                    command: sh check.sh
                    resultTemplate: {readyState: \"{{ 'ok' if success else 'error' }}\"}
        other:
          type: tosca:Root
          interfaces:
            Standard: {operations: {configure: 'true'}}
            Install: {operations: {check: 'true'}}
",
    );
    env.write("check.sh", check);
    env.unfurl(["deploy", "--approve"]).succeeds();
    env
}

/// A check that says that it runs and then has no end.
const ENDLESS: &str = "echo $$ > running\nexec sleep 1000\n";

fn without_limit(env: &TestEnv) {
    let text = env.read("ensemble.yaml");
    env.write("ensemble.yaml", &text.replace(", timeout: 1", ""));
}

#[test]
fn a_check_that_never_ends_is_ended_at_its_limit_and_the_others_are_looked_at() {
    let env = checked(ENDLESS);
    let (code, document) = drift(&env, &[]);
    assert_eq!(code, 1, "{document:#}");
    assert_eq!(findings(&document), ["cannot-tell server status: - → -"]);
    let reason = finding(&document, "status")["reason"].as_str().unwrap();
    assert!(
        reason.contains("ran longer than its limit of 1 s"),
        "{reason}"
    );
    let answer = &document["ensembles"][0];
    assert_eq!(
        (&answer["looked_at"], &answer["total"]),
        (&1.into(), &2.into())
    );
}

/// Starts a look whose check has no end, and waits until the check runs. Returns the process of the check.
fn endless(env: &TestEnv) -> (crate::support::Started, u32) {
    without_limit(env);
    let started = env.start(["drift", "--grace", "100ms"]);
    let pid = wait_for("a running check", || {
        env.read_if("running")?.trim().parse().ok()
    });
    (started, pid)
}

#[test]
fn a_signal_ends_a_look_in_order_and_leaves_nothing_running() {
    let env = checked(ENDLESS);
    let record = env.files();
    let (started, check) = endless(&env);
    started.signal(Signal::SIGINT);
    started.ends_by_itself().exits(130);
    crate::support::wait_until_gone(&[check]);
    env.unfurl(["lock", "list"]).succeeds().prints(&["free"]);
    let changed: Vec<_> = env
        .files()
        .into_iter()
        .filter(|file| !record.contains(file) && !file.0.ends_with("running"))
        .filter(|file| !file.0.ends_with("ensemble.yaml"))
        .collect();
    assert!(changed.is_empty(), "{changed:?}");
}

#[test]
fn an_ensemble_that_another_command_holds_is_an_answer_with_a_problem() {
    let env = checked(ENDLESS);
    let (started, _) = endless(&env);
    let (code, document) = drift(&env, &[]);
    assert_eq!(code, 1, "{document:#}");
    let problem = &document["ensembles"][0]["problem"];
    assert_eq!(problem["kind"], "locked");
    let message = problem["message"].as_str().unwrap();
    assert!(message.contains("is locked by process"), "{message}");
    started.signal(Signal::SIGTERM);
    started.ends_by_itself().exits(143);
}

#[test]
fn an_ensemble_that_cannot_be_loaded_is_an_answer_and_the_others_are_looked_at() {
    let env = checked("exit 1\n");
    env.write(
        "bad/ensemble.yaml",
        "apiVersion: unfurl/v1.0.0\nkind: Ensemble\nspec: [\n",
    );
    let (code, document) = drift(&env, &["bad", "."]);
    assert_eq!(code, 3, "{document:#}");
    let problem = &document["ensembles"][0]["problem"];
    assert_eq!(problem["kind"], "invalid");
    assert_eq!(findings(&document), ["outside server status: ok → error"]);
    assert_eq!(drift(&env, &["bad"]).0, 64);
    let (code, document) = drift(&env, &["--use-environment", "nowhere"]);
    assert_eq!(code, 64);
    assert_eq!(document["ensembles"][0]["name"], "work");
}

/// Returns the run of a look that finds one difference.
#[track_caller]
fn drifted(env: &TestEnv) -> Run {
    let run = look(env, &[]).exits(3);
    assert_eq!(findings(&run.json()), ["outside server status: ok → error"]);
    run
}

#[test]
fn a_record_that_cannot_be_read_is_a_message_and_stays_as_it_is() {
    let env = checked("exit 1\n");
    std::fs::create_dir(env.work().join("drift.tsv")).unwrap();
    let run = drifted(&env);
    assert!(run.stderr.contains("the drift record"), "{run}");
    assert!(run.stderr.contains("cannot be read"), "{run}");
    assert!(env.work().join("drift.tsv").is_dir());
    std::fs::remove_dir(env.work().join("drift.tsv")).unwrap();
    env.write("drift.tsv", "no line of a record\n");
    let run = drifted(&env);
    assert!(
        run.stderr.contains("drift.tsv:1: the line is not readable"),
        "{run}"
    );
    assert!(env.read("drift.tsv").starts_with("no line of a record\n"));
}

#[cfg(feature = "fault-injection")]
#[test]
fn a_full_disk_keeps_the_record_as_it_was_and_the_answer_is_given() {
    let env = checked("exit 1\n");
    drifted(&env);
    let record = env.read("drift.tsv");
    for call in ["write=drift.tsv", "rename=drift.tsv"] {
        let fault = format!("fail-from:ENOSPC:{call}");
        let words = ["drift", "--output", "json"];
        let run = env
            .unfurl_with(("UNFURL_TEST_FAULT", &fault), &words)
            .exits(3);
        assert!(
            run.stderr.contains("the answer is not in the drift record"),
            "{run}"
        );
        assert!(run.stderr.contains("o space left"), "{run}");
        assert_eq!(env.read("drift.tsv"), record);
    }
    drifted(&env);
    assert_ne!(env.read("drift.tsv"), record);
}

#[test]
fn a_record_that_changes_during_a_look_keeps_both() {
    let env = checked("exit 1\n");
    drifted(&env);
    // Another clone's lines, as `git merge` would add them while the check runs.
    env.write(
        "check.sh",
        "printf '2020-01-01T00:00:00Z\\tanswer=clean\\tlast=2020-01-01T00:00:00Z\\tcount=1\\tlooked=2\\ttotal=2\\n' >> drift.tsv\nexit 1\n",
    );
    drifted(&env);
    let record = env.read("drift.tsv");
    assert!(
        record.contains("2020-01-01T00:00:00Z\tanswer=clean"),
        "{record}"
    );
    assert!(record.contains("answer=drifted"), "{record}");
}

#[test]
fn a_model_that_changes_during_a_look_does_not_harm() {
    let env = checked("exit 1\n");
    env.write("check.sh", "echo '# by hand' >> ensemble.yaml\nexit 1\n");
    drifted(&env);
    assert!(env.read("ensemble.yaml").ends_with("# by hand\n"));
}
