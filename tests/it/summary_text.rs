//! Texts about finished jobs: summary, status, explanations of failures, commit messages.

use crate::repos::{deploy, subjects, with_repository};
use crate::support::TestEnv;

const FAILING: &str = "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    topology_template:
      outputs:
        late: {value: {eval: '::web::late'}}
      node_templates:
        web:
          type: unfurl.nodes.Generic
          interfaces: {Standard: {configure: {implementation: Shell, inputs: {command: echo hi}}}}
        bad:
          type: unfurl.nodes.Generic
          interfaces:
            Standard:
              configure:
                implementation: Shell
                inputs: {command: \"echo out; echo 'connection refused: db:5432' >&2; exit 3\"}
        after:
          type: unfurl.nodes.Generic
          requirements: [{dependency: bad}]
          interfaces: {Standard: {configure: {implementation: Shell, inputs: {command: echo hi}}}}
";

fn failing() -> TestEnv {
    let env = TestEnv::new();
    env.write("ensemble.yaml", FAILING);
    env
}

#[test]
fn a_failed_job_ends_with_cause_place_next_commands_and_counts() {
    let env = failing();
    let run = env.unfurl(["deploy", "--approve"]).exits(64).prints(&[
        "  not run  after  because `bad` failed\n",
        "configure of bad failed   ensemble.yaml:",
        "exit code 3: connection refused: db:5432\n",
        "    connection refused: db:5432\n",
        "  unfurl explain bad ",
        "  unfurl deploy ",
        "  late: (no value)\n",
    ]);
    let last = run.stdout.lines().last().unwrap();
    assert!(
        last.starts_with("Deploy failed: 1 failed, 1 not run, 1 created in "),
        "{run}"
    );
    assert!(!run.stdout.contains("{'"), "{run}");
}

#[test]
fn a_failure_is_explained_later() {
    let env = failing();
    env.unfurl(["deploy", "--approve"]).exits(64);
    env.unfurl(["explain", "bad"]).succeeds().prints(&[
        "  failed: configure (job ",
        "connection refused: db:5432\n",
        "ensemble.yaml:",
    ]);
    env.unfurl(["explain", "after"])
        .succeeds()
        .prints(&["  not run: configure because `bad` failed (job "]);
    env.unfurl(["status"]).succeeds().prints(&[
        "configure failed: ",
        "connection refused: db:5432",
        "not run because `bad` failed\n",
        "\n1 ok, 1 pending, 1 unknown\n",
    ]);
    let explained = env
        .unfurl(["explain", "bad", "--output", "json"])
        .succeeds();
    assert_eq!(explained.json()["failure"]["operation"], "configure");
}

#[test]
fn a_dry_run_shows_what_would_run_and_no_outputs() {
    let env = failing();
    let run = env
        .unfurl(["deploy", "--dryrun", "--approve"])
        .succeeds()
        .prints(&["Dry run: create 3; nothing was changed"]);
    assert!(!run.stdout.contains("Nothing to do"), "{run}");
    assert!(!run.stdout.contains("Outputs:"), "{run}");
    assert!(!env.work().join("jobs.tsv").exists(), "{run}");
}

#[test]
fn the_format_of_unfurl_has_its_table_and_tree() {
    let env = failing();
    let run = env
        .unfurl(["deploy", "--approve", "--format", "unfurl"])
        .exits(64)
        .prints(&[
            ": error. 3 tasks (2 changed, 1 ok, 1 failed, 1 blocked, 0 unknown, 0 skipped):\n    \n",
            " Output: {",
        ]);
    assert!(run.stdout.starts_with("Job "), "{run}");
    let status = env.unfurl(["status", "--format", "unfurl"]).succeeds();
    assert!(
        status.stdout.starts_with(
            "TopologyInstance('root')  computed \n    NodeInstance('web') ok configured created on "
        ),
        "{status}"
    );
}

#[test]
fn unfurls_commit_message_comes_with_its_format() {
    let env = with_repository(&["a"]);
    deploy(&env, ".", &["--commit", "--format", "unfurl"]).succeeds();
    assert_eq!(
        subjects(&env, ".", "HEAD"),
        ["Updating status for job ID", "ensemble"]
    );
}
