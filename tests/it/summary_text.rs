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
    let place = ", ensemble.yaml:";
    env.unfurl(["status"]).succeeds().prints(&[
        "configure failed: ",
        "connection refused: db:5432",
        place,
        "not run because `bad` failed\n",
        "\n1 ok, 1 pending, 1 unknown\n",
    ]);
    let explained = env
        .unfurl(["explain", "bad", "--output", "json"])
        .succeeds();
    assert_eq!(explained.json()["failure"]["operation"], "configure");
}

#[test]
fn the_history_of_a_failed_job_has_causes_and_places() {
    let env = failing();
    let failed = env.unfurl(["deploy", "--approve", "--output", "json"]);
    let id = failed.json()["job"]["id"].as_str().unwrap().to_owned();
    let shown = env.unfurl(["history", &id]).succeeds().prints(&[
        ": configure of bad   ensemble.yaml:",
        "connection refused: db:5432\n",
        ": configure of after\n- not run: required dependencies not ready: bad is unknown\n",
    ]);
    assert!(!shown.stdout.contains("of web "), "{shown}");
    let json = env.unfurl(["history", &id, "--output", "json"]).json();
    let tasks = json["tasks"].as_array().unwrap();
    let bad = tasks.iter().find(|task| task["target"] == "::bad").unwrap();
    assert_eq!(bad["place"]["file"], "ensemble.yaml", "{json}");
    // Without the model, the record is shown all the same.
    env.write("ensemble.yaml", "spec: [");
    let shown = env.unfurl(["history", &id]).succeeds();
    assert!(shown.stdout.contains(": configure of bad\n"), "{shown}");
}

/// An instance whose command and property follow from an input.
const WITH_INPUT: &str = "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    topology_template:
      inputs: {port: {type: integer, default: 80}}
      outputs: {url: {value: {eval: '::web::url'}}}
      node_templates:
        web:
          type: unfurl.nodes.Generic
          properties: {url: \"http://a:{{ '::root::inputs::port' | eval }}\"}
          interfaces:
            Standard:
              configure: {implementation: Shell, inputs: {command: 'echo {{ SELF.url }}'}}
";

#[test]
fn a_dry_run_shows_the_plan_that_the_command_plan_shows() {
    let env = TestEnv::with_ensemble(WITH_INPUT);
    env.unfurl(["deploy", "--approve"]).succeeds();
    let words = ["--var", "input_port", "81"];
    let plan = env.unfurl(["plan"].iter().chain(&words)).succeeds();
    let dry = ["deploy", "--dryrun"];
    let dry = env.unfurl(dry.iter().chain(&words)).succeeds();
    assert!(plan.stdout.contains("$ echo http://a:81\n"), "{plan}");
    assert!(dry.stdout.starts_with(&plan.stdout), "{plan}{dry}");
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
    let query = ["status", "--query", "::web::.status"];
    let unfurl = env.unfurl(query.iter().chain(&["--format", "unfurl"]));
    let unfurl = unfurl.succeeds();
    assert!(unfurl.stdout.ends_with("Result:\nStatus.ok\n"), "{unfurl}");
    let words = env.unfurl(query).succeeds();
    assert!(words.stdout.ends_with("Result:\nok\n"), "{words}");
    let none = env.unfurl(["status", "--query", "::web::nothing"]);
    assert!(
        none.stdout.ends_with("nothing\nNo results found\n"),
        "{none}"
    );
    let all = env.unfurl(["status", "--query", "::*::.state"]).succeeds();
    assert!(all.stdout.contains("configured"), "{all}");
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
