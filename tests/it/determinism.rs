//! Rules B7 and B8: the same ensemble gives the same plan and the same record, whatever the order of threads
//! and of entries in hash maps. A second deploy repeats nothing.

use std::fmt::Write as _;

use super::support::TestEnv;

const NODES: usize = 40;

/// The number of repetitions: 8, or 100 with `UNFURL_LOOPS=full`.
fn rounds() -> usize {
    match std::env::var("UNFURL_LOOPS") {
        Ok(word) if word == "full" => 100,
        _ => 8,
    }
}

/// An ensemble with chains of four nodes. Each node sets an attribute that the next one reads.
fn ensemble() -> String {
    let mut text = "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    node_types:
      Link:
        derived_from: tosca.nodes.Root
        properties: {read: {type: string, default: none}}
        interfaces:
          Standard:
            operations:
              create: echo {{ SELF.read }}
              configure:
                implementation: Template
                inputs: {resultTemplate: {attributes: {made: \"{{ SELF.read }}+\"}}}
    topology_template:
      node_templates:
"
    .to_owned();
    for node in 0..NODES {
        let before = node.wrapping_sub(1);
        let rest = if node % 4 == 0 {
            "}".to_owned()
        } else {
            format!(
                ", properties: {{read: {{eval: '::n{before}::made'}}}}, \
                 requirements: [{{dependency: n{before}}}]}}"
            )
        };
        writeln!(text, "        n{node}: {{type: Link{rest}").unwrap();
    }
    text
}

/// The text without the lines that hold a time.
fn timeless(text: &str) -> String {
    let moments = ["startTime:", "endTime:"];
    let kept = text
        .lines()
        .filter(|line| !moments.iter().any(|key| line.contains(key)));
    kept.collect::<Vec<_>>().join("\n")
}

/// The text without times and without the ids that depend on the order in which tasks ended.
fn orderless(text: &str) -> String {
    let ids = ["lastConfigChange:", "created:"];
    let text = timeless(text);
    let kept = text
        .lines()
        .filter(|line| !ids.iter().any(|key| line.contains(key)));
    kept.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_same_text_gives_the_same_plan_and_record_each_time() {
    let start = ["--starttime", "2026-03-04-05-06-07-000008"];
    let mut seen: Option<(String, String, String)> = None;
    for round in 0..rounds() {
        let env = TestEnv::with_ensemble(&ensemble());
        let plan = env.unfurl(["plan", "--output", "json"]).succeeds().stdout;
        let plan = plan.replace(&*env.work().to_string_lossy(), "");
        let one = ["deploy", "--approve", "--parallel", "1"];
        env.unfurl(one.iter().chain(&start)).succeeds();
        let record = timeless(&env.read("ensemble.yaml"));
        let many = TestEnv::with_ensemble(&ensemble());
        let args = ["deploy", "--approve", "--parallel", "16"];
        many.unfurl(args.iter().chain(&start)).succeeds();
        let parallel = orderless(&many.read("ensemble.yaml"));
        assert_eq!(orderless(&env.read("ensemble.yaml")), parallel, "{round}");
        let now = (plan, record, parallel);
        let first = seen.get_or_insert_with(|| now.clone());
        assert!(*first == now, "round {round} differs from the first");
    }
}

#[test]
fn what_is_deployed_is_left_alone_to_the_last_byte() {
    let env = TestEnv::with_ensemble(&ensemble());
    env.unfurl(["deploy", "--approve"]).succeeds();
    let before = env.tracked();
    for round in 0..rounds() {
        let run = env.unfurl(["deploy", "--approve"]).succeeds();
        assert!(run.stdout.contains("Nothing to do"), "{round}: {run}");
        assert_eq!(env.tracked(), before, "{round}");
    }
}
