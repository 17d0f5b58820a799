//! Caution with the record: a job does not act on values that it does not know, and does not forget instances
//! that exist.

use super::support::TestEnv;

const HEAD: &str = "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
";

const SECRET: &str = "    node_types:
      Maker:
        derived_from: tosca.nodes.Root
        attributes: {made: {type: string, metadata: {sensitive: true}}}
        interfaces:
          Standard:
            configure:
              implementation: Template
              inputs: {resultTemplate: {attributes: {made: hunter2hunter2}}}
    topology_template:
      node_templates:
        maker: {type: Maker}
        user:
          type: tosca.nodes.Root
          requirements: [{dependency: maker}]
          interfaces:
            Standard:
              configure: \"echo {{ '::maker::made' | eval }} 1 >> ran\"
";

#[test]
fn a_secret_that_the_record_does_not_hold_is_not_taken_for_changed() {
    let env = TestEnv::with_ensemble(&format!("{HEAD}{SECRET}"));
    env.unfurl(["deploy", "--approve"]).succeeds();
    assert_eq!(env.read("ran"), "hunter2hunter2 1\n");
    let record = env.read("ensemble.yaml");
    let again = env.unfurl(["deploy", "--approve"]).succeeds();
    assert!(again.all().contains("Nothing to do"), "{again}");
    assert_eq!(env.read("ensemble.yaml"), record);
}

#[test]
fn nothing_acts_on_a_secret_that_the_record_does_not_hold() {
    let env = TestEnv::with_ensemble(&format!("{HEAD}{SECRET}"));
    env.unfurl(["deploy", "--approve"]).succeeds();
    env.unfurl(["deploy", "--approve", "--force", "--instance", "user"])
        .exits(64)
        .says(&["`made` of `maker`", "--force --instance maker"]);
    assert_eq!(env.read("ran"), "hunter2hunter2 1\n");
    // With the instance that sets the secret there is a value, and the record shows it redacted as before.
    let both = ["--instance", "user", "--instance", "maker"];
    env.unfurl(["deploy", "--approve", "--force"].iter().chain(&both))
        .succeeds();
    assert_eq!(env.read("ran"), "hunter2hunter2 1\nhunter2hunter2 1\n");
    assert!(env.read("ensemble.yaml").contains("made: <<REDACTED>>"));
}

#[test]
fn a_status_that_is_not_one_is_refused_and_left_as_it_is() {
    let text = format!("{HEAD}    topology_template: {{}}\nstatus:\n  instances: [a, b]\n");
    let env = TestEnv::with_ensemble(&text);
    for command in ["validate", "plan", "deploy"] {
        let run = env.unfurl([command]);
        assert!(run.all().contains("ensemble.yaml:8:14"), "{run}");
    }
    assert_eq!(env.read("ensemble.yaml"), text);
}

#[test]
fn a_word_that_is_neither_yes_nor_no_approves_nothing() {
    let env =
        TestEnv::with_ensemble(&format!("{HEAD}{SECRET}")).variable("UNFURL_APPROVE", "maybe");
    env.unfurl(["deploy"]).exits(2);
    assert!(!env.work().join("ran").exists());
}

#[test]
fn jobs_may_follow_each_other_at_once() {
    let env = TestEnv::with_ensemble(&format!("{HEAD}{SECRET}"));
    let maker = ["--approve", "--force", "--instance", "maker"];
    for _ in 0..12 {
        env.unfurl(["deploy"].iter().chain(&maker)).succeeds();
    }
    // The log of each job is named by the job's id, and ids are unique.
    let jobs = std::fs::read_dir(env.work().join("jobs")).unwrap().count();
    assert!(jobs >= 24, "{jobs}");
}
