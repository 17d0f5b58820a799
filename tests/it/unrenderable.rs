//! Jobs with operations that cannot be rendered: they fail, what depends on them is blocked, and the rest runs.

use std::process::Command;

use crate::support::{Run, TestEnv, binary};

/// The configurator of one operation of `ENSEMBLE`.
const MISSING: &str = "{className: no.such.Configurator}";

/// `odd` has a configurator that does not exist. `after` requires it, and `free` does not.
const ENSEMBLE: &str = "
apiVersion: unfurl/v1alpha1
kind: Ensemble
spec:
  service_template:
    topology_template:
      node_templates:
        free:
          type: tosca.nodes.Root
          interfaces: &good
            Standard:
              operations:
                create: {implementation: Cmd, inputs: {cmd: 'echo create {{ SELF[\".name\"] }} >> log'}}
                delete: {implementation: Cmd, inputs: {cmd: 'echo delete {{ SELF[\".name\"] }} >> log'}}
        odd:
          type: tosca.nodes.Root
          interfaces:
            Standard:
              operations:
                create: {implementation: {className: no.such.Configurator}}
                configure: {implementation: Cmd, inputs: {cmd: 'echo configure odd >> log'}}
        after:
          type: tosca.nodes.Root
          requirements: [{dependency: odd}]
          interfaces: *good
";

fn names(text: Option<String>) -> Vec<String> {
    let text = text.unwrap_or_default();
    let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

fn statuses(env: &TestEnv) -> String {
    let ensemble = env.ensemble();
    let all = ensemble["status"]["instances"].as_object().unwrap();
    let all = all.iter().map(|(name, it)| {
        let status = it["readyState"]["local"].as_str().unwrap_or("none");
        format!("{name} {status}")
    });
    all.collect::<Vec<_>>().join(", ")
}

fn answered(env: &TestEnv, answer: &str, words: &[&str]) -> Run {
    let program = binary();
    let mut line = vec!["-c", "printf '%b' \"$0\" | \"$@\"", answer];
    line.push(program.to_str().unwrap());
    line.extend(words);
    env.start_command(Command::new("/bin/sh"), line).ends()
}

#[test]
fn an_operation_without_a_configurator_stops_only_what_depends_on_it() {
    let env = TestEnv::with_ensemble(ENSEMBLE);
    let run = env.unfurl(["plan"]).exits(64);
    run.prints(&[
        "cannot be rendered:",
        "1 operation cannot be rendered; `--exclude NAME` leaves an instance out.",
    ]);
    let run = env.unfurl(["deploy", "--approve"]).exits(64);
    let run = run.says(&[
        "warning: cannot run: Standard.create of `odd`; the job runs everything that does not depend on it; \
         `--exclude odd` leaves the instance out",
    ]);
    run.prints(&[
        "failed   odd",
        "not run  after  because `odd` failed",
        "+ created  free",
    ]);
    assert_eq!(names(env.read_if("log")), ["create free"]);
    assert_eq!(statuses(&env), "free ok, odd pending, after pending");
    let text = env
        .unfurl(["history", "--output", "json"])
        .succeeds()
        .stdout;
    assert!(text.contains("error"), "{text}");
    // The cause is removed, and the next job runs the rest.
    env.write(
        "ensemble.yaml",
        &env.read("ensemble.yaml")
            .replace(MISSING, "Cmd, inputs: {cmd: echo create odd >> log}"),
    );
    env.unfurl(["deploy", "--approve"]).succeeds();
    assert_eq!(
        names(env.read_if("log")),
        ["configure odd", "create after", "create free", "create odd"]
    );
    let run = env.unfurl(["deploy", "--approve"]).succeeds();
    run.prints(&["Nothing to do"]);
}

#[test]
fn the_question_counts_the_operations_that_cannot_run() {
    let env = TestEnv::with_ensemble(ENSEMBLE);
    let run = answered(&env, "n\n", &["deploy"]).exits(1);
    run.says(&["create 3 in `work` (1 operation cannot run)? [yes/no]"]);
    assert_eq!(env.read_if("log"), None);
}

#[test]
fn a_job_none_of_whose_operations_can_run_is_refused() {
    let env = TestEnv::with_ensemble(ENSEMBLE);
    let before = env.read("ensemble.yaml");
    let odd = before.replace(
        "configure: {implementation: Cmd",
        "configure: {implementation: {className: no.such.Configurator}",
    );
    env.write("ensemble.yaml", &odd);
    let run = env
        .unfurl(["deploy", "--approve", "--instance", "odd"])
        .exits(64);
    let run = run.says(&["Aborting job", "`--exclude odd` leaves the instance out"]);
    run.prints(&["not run  odd"]);
    assert_eq!(env.read("ensemble.yaml"), odd);
}

#[test]
fn a_value_that_cannot_be_evaluated_stops_a_deploy_as_in_unfurl() {
    let bad = ENSEMBLE.replace(MISSING, "Cmd, inputs: {cmd: '{{ nope }}'}");
    let env = TestEnv::with_ensemble(&bad);
    let run = env.unfurl(["deploy", "--approve"]).exits(64);
    run.says(&["Aborting job", "`--exclude odd` leaves the instance out"]);
    assert_eq!(env.read_if("log"), None);
    env.unfurl(["deploy", "--approve", "--exclude", "odd"])
        .exits(64);
    assert_eq!(names(env.read_if("log")), ["create free"]);
}

/// `app` and `other` need `host`. The removal of `app` cannot be rendered.
const REMOVAL: &str = "
apiVersion: unfurl/v1alpha1
kind: Ensemble
spec:
  service_template:
    topology_template:
      node_templates:
        base:
          type: tosca.nodes.Root
          interfaces: &good
            Standard:
              operations:
                create: {implementation: Cmd, inputs: {cmd: 'true'}}
                delete: {implementation: Cmd, inputs: {cmd: 'echo {{ SELF[\".name\"] }} >> log'}}
        host:
          type: tosca.nodes.Root
          requirements: [{dependency: base}]
          interfaces: *good
        app:
          type: tosca.nodes.Root
          requirements: [{dependency: host}]
          interfaces:
            Standard:
              operations:
                create: {implementation: Cmd, inputs: {cmd: 'true'}}
                delete: {implementation: Cmd, inputs: {cmd: 'echo {{ nope }}'}}
        other:
          type: tosca.nodes.Root
          requirements: [{dependency: host}]
          interfaces: *good
";

#[test]
fn an_instance_whose_removal_cannot_be_rendered_stays_with_those_that_it_needs() {
    let env = TestEnv::with_ensemble(REMOVAL);
    env.unfurl(["deploy", "--approve"]).succeeds();
    let run = env.unfurl(["teardown", "--approve"]).exits(64);
    run.says(&["cannot run: Standard.delete of `app`"]);
    assert_eq!(names(env.read_if("log")), ["other"]);
    assert_eq!(statuses(&env), "base ok, host ok, app ok, other absent");
    env.unfurl(["teardown", "--approve", "--force"]).exits(64);
    assert_eq!(
        names(env.read_if("log")),
        ["base", "host", "other", "other"]
    );
}

#[test]
fn a_removal_that_cannot_be_rendered_stops_no_deploy_that_prunes() {
    let env = TestEnv::with_ensemble(REMOVAL);
    env.unfurl(["deploy", "--approve"]).succeeds();
    let text = env.read("ensemble.yaml");
    let start = text.find("        app:\n").unwrap();
    let end = text.find("        other:\n").unwrap();
    let mut without = text.clone();
    without.replace_range(start..end, "");
    env.write("ensemble.yaml", &without);
    env.unfurl(["deploy", "--approve", "--prune"]).exits(64);
    assert!(statuses(&env).contains("app ok"));
}
