//! The options of job commands: the commands that accept them, and their effects.

use serde_json::Value as Json;

use super::drafts::{Draft, ensemble};
use super::support::TestEnv;

const TYPES: &str = "
    node_types:
      Service:
        derived_from: tosca.nodes.Root
        properties:
          port: {type: integer, default: 80}
        interfaces:
          Install:
            operations:
              check:
                implementation: Template
                inputs: {done: {status: ok}}
              discover:
                implementation: Template
                inputs: {done: {status: ok}}
              connect: echo {{ '.name' | eval }} >> connected
          Standard:
            configure: echo {{ '.name' | eval }} {{ SELF.port }} >> configured
            start: echo {{ '.name' | eval }} >> started
            stop: echo {{ '.name' | eval }} >> stopped
            delete: echo {{ '.name' | eval }} >> deleted
      Plain:
        derived_from: tosca.nodes.Root
        interfaces:
          Standard:
            configure: echo {{ '.name' | eval }} >> configured
            delete: echo {{ '.name' | eval }} >> deleted
    topology_template:
      <topology>
";

fn with_types(topology: &str) -> Draft {
    ensemble(TYPES).with("topology", topology)
}

fn nodes(nodes: &str) -> Draft {
    let text = "
        node_templates:
          <nodes>
        ";
    with_types(text).with("nodes", nodes)
}

/// An ensemble with three nodes in a chain, each of which requires the one before.
fn chain() -> TestEnv {
    nodes(
        "
            one: {type: Service}
            two: {type: Service, requirements: [{dependency: one}]}
            three: {type: Service, requirements: [{dependency: two}]}
            ",
    )
    .env()
}

fn status(env: &TestEnv, name: &str) -> Json {
    env.ensemble()["status"]["instances"][name]["readyState"]["local"].clone()
}

fn tasks(summary: &Json) -> Vec<String> {
    let tasks = summary["tasks"].as_array().unwrap();
    let words = tasks.iter().map(|task| {
        let word = |key: &str| task[key].as_str().unwrap_or("").to_owned();
        format!("{} {}", word("operation"), word("target"))
    });
    words.collect()
}

#[test]
fn each_command_takes_the_options_that_mean_something_to_it() {
    let env = chain();
    for arguments in [
        &["check", "--prune"][..],
        &["check", "--repair", "none"],
        &["check", "--check"],
        &["discover", "--destroyunmanaged"],
        &["discover", "--upgrade"],
        &["stop", "--skip-new"],
        &["stop", "--prune"],
        &["teardown", "--skip-new"],
        &["teardown", "--change-detection", "skip"],
        &["teardown", "--workflow", "deploy"],
        &["plan", "--approve"],
        &["plan", "--dirty", "ok"],
        &["plan", "--jobexitcode", "maybe"],
        &["run", "--force", "--", "ls"],
        &["run", "--prune", "--", "ls"],
        &["deploy", "--save"],
        &["deploy", "--dirty", "maybe"],
        &["deploy", "--trace", "x"],
    ] {
        let wrong = arguments[1];
        env.unfurl(arguments).exits(2).says(&[wrong]);
    }
    assert_eq!(env.names(), ["ensemble.yaml"]);
}

#[test]
fn excluded_instances_are_left_out_and_what_needs_them_is_blocked() {
    let env = chain();
    let run = env.unfurl(["deploy", "-a", "--exclude", "two", "--output", "json"]);
    assert_eq!(run.code, 64, "{run}");
    assert_eq!(status(&env, "one"), "ok", "{run}");
    assert_ne!(status(&env, "two"), "ok", "{run}");
    assert_eq!(run.json()["job"]["blocked"], 2, "{run}");
    assert_eq!(env.read("configured"), "one 80\n");

    env.unfurl(["deploy", "-a"]).succeeds();
    assert_eq!(env.read("configured"), "one 80\ntwo 80\nthree 80\n");
    let before = env.tracked();
    env.unfurl(["deploy", "-a", "--exclude", "two"]).succeeds();
    assert_eq!(env.tracked(), before);
}

#[test]
fn excluded_instances_stay_and_so_does_what_they_need() {
    let env = chain();
    env.unfurl(["deploy", "-a"]).succeeds();
    env.unfurl(["teardown", "-a", "--exclude", "two"])
        .succeeds();
    assert_eq!(env.read("deleted"), "three\n");
    assert_eq!(status(&env, "two"), "ok");
    assert_eq!(status(&env, "one"), "ok");
    env.unfurl(["stop", "-a", "--exclude", "one"]).succeeds();
    // An instance that is absent is not stopped.
    assert_eq!(env.read("stopped"), "three\ntwo\n");
}

#[test]
fn prune_leaves_excluded_instances() {
    let env = chain();
    env.unfurl(["deploy", "-a"]).succeeds();
    // The last node is not wanted any more, because a node that it requires does not exist now.
    let text = env.read("ensemble.yaml");
    let types = "    node_types:
      Nowhere: {derived_from: tosca.nodes.Root}
      Lost:
        derived_from: Service
        requirements: [{nowhere: {capability: tosca.capabilities.Node, node: Nowhere}}]
";
    let text = text.replacen("    node_types:\n", types, 1).replacen(
        "three: {type: Service, requirements: [{dependency: two}]}",
        "three: {type: Lost, directives: [conditional]}",
        1,
    );
    env.write("ensemble.yaml", &text);
    env.unfurl(["deploy", "-a", "--prune", "--exclude", "three"])
        .succeeds();
    assert!(!env.names().contains(&"deleted".to_owned()));
    env.unfurl(["deploy", "-a", "--prune"]).succeeds();
    assert_eq!(env.read("deleted"), "three\n");
}

#[test]
fn what_is_nested_in_an_excluded_template_is_left_out_too() {
    let env = TestEnv::with_ensemble(
        "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    imports: [nested.yaml]
    topology_template:
      node_templates:
        one: {type: Told}
        outer: {type: Outer, directives: [substitute]}
",
    );
    env.write(
        "nested.yaml",
        "tosca_definitions_version: tosca_simple_unfurl_1_0_0
node_types:
  Told:
    derived_from: tosca.nodes.Root
    interfaces:
      Standard: {configure: \"echo {{ '.name' | eval }} >> configured\"}
  Outer: {derived_from: Told}
topology_template:
  root: {node: within}
  node_templates:
    within: {type: Outer}
",
    );
    env.unfurl(["deploy", "-a", "--exclude", "outer"])
        .succeeds();
    assert_eq!(env.read("configured"), "one\n");
    env.unfurl(["deploy", "-a", "--exclude", "outer:within"])
        .succeeds();
    assert_eq!(env.read("configured"), "one\n");
    env.unfurl(["deploy", "-a"]).succeeds();
    assert_eq!(env.read("configured"), "one\nwithin\n");
}

#[test]
fn what_excludes_nothing_is_a_usage_error() {
    let env = chain();
    for command in ["deploy", "teardown", "plan", "check"] {
        env.unfurl([command, "--exclude", "thre"])
            .exits(2)
            .says(&["`--exclude thre`", "did you mean `three`?"]);
    }
    assert!(!env.names().contains(&"jobs.tsv".to_owned()));
}

#[test]
fn filters_that_select_nothing_are_errors_for_people_and_machines() {
    let env = chain();
    env.unfurl(["deploy", "-a"]).succeeds();
    for command in ["deploy", "teardown", "check", "discover", "stop"] {
        let run = env.unfurl([command, "-a", "-i", "thre", "--output", "json"]);
        let run = run
            .exits(64)
            .says(&["`--instance thre`", "did you mean `three`?"]);
        assert!(run.json()["errors"].to_string().contains("thre"), "{run}");
    }
}

#[test]
fn filters_hold_for_every_workflow() {
    let env = chain();
    env.unfurl(["deploy", "-a"]).succeeds();
    for (arguments, expected) in [
        (
            &["check"][..],
            &["check one", "check two", "check three"][..],
        ),
        (&["check", "-i", "two"], &["check two"]),
        (
            &["check", "--exclude", "two"],
            &["check one", "check three"],
        ),
        (&["check", "--template", "one"], &["check one"]),
        (
            &["discover", "-i", "one", "-i", "two"],
            &["discover one", "discover two"],
        ),
        (
            &["run", "--workflow", "connect", "-i", "two"],
            &["connect two"],
        ),
        (
            &["deploy", "--workflow", "connect"],
            &["connect one", "connect two", "connect three"],
        ),
        (&["stop", "--template", "three"], &["stop three"]),
        (&["stop", "-i", "two"], &["stop two"]),
    ] {
        let all = [arguments, &["-a", "--parallel", "1", "--output", "json"]].concat();
        let run = env.unfurl(all).succeeds();
        assert_eq!(tasks(&run.json()), expected, "{run}");
    }
    assert_eq!(env.read("connected"), "two\none\ntwo\nthree\n");
}

#[test]
fn a_workflow_of_the_model_called_connect_is_meant_by_that_name() {
    let env = with_types(
        "
            node_templates:
              one: {type: Service}
              two: {type: Service}
            workflows:
              connect:
                steps:
                  s: {target: two, activities: [{call_operation: Standard.stop}]}
            ",
    )
    .env();
    env.unfurl(["deploy", "-a"]).succeeds();
    let run = env.unfurl(["run", "-a", "--workflow", "connect", "--output", "json"]);
    assert_eq!(tasks(&run.succeeds().json()), ["stop two"]);
}

#[test]
fn an_upgrade_configures_customised_instances_whose_properties_are_others_now() {
    let env = chain();
    let creates = "            create: echo {{ SELF.port }} >> created\n            configure: ";
    let text = env.read("ensemble.yaml");
    env.write(
        "ensemble.yaml",
        &text.replacen("            configure: ", creates, 1),
    );
    env.unfurl(["deploy", "-a"]).succeeds();
    let text = env.read("ensemble.yaml");
    let customized = text.replace(
        "      template: two\n",
        "      template: two\n      customized: true\n",
    );
    assert_ne!(text, customized);
    env.write("ensemble.yaml", &customized);
    let before = env.tracked();
    // No property has changed yet.
    env.unfurl(["deploy", "-a", "--upgrade"]).succeeds();
    assert_eq!(env.tracked(), before);

    let edited = customized.replace(
        "two: {type: Service,",
        "two: {type: Service, properties: {port: 81},",
    );
    env.write("ensemble.yaml", &edited);
    let run = env.unfurl(["deploy", "-a", "--output", "json"]).succeeds();
    assert!(!env.read("configured").contains("two 81"), "{run}");
    let arguments = [
        "deploy",
        "-a",
        "--upgrade",
        "--change-detection",
        "skip",
        "--output",
        "json",
    ];
    let run = env.unfurl(arguments).succeeds();
    let upgraded: Vec<Json> = run.json()["tasks"].as_array().unwrap().clone();
    let reasons = upgraded.iter().filter(|task| task["status"] == "ok");
    let reasons: Vec<_> = reasons
        .map(|task| (&task["target"], &task["reason"]))
        .collect();
    assert_eq!(
        reasons,
        [(&Json::from("two"), &Json::from("upgrade"))],
        "{run}"
    );
    assert!(env.read("configured").ends_with("two 81\n"), "{run}");
    assert_eq!(env.read("created"), "80\n80\n80\n");

    let before = env.tracked();
    env.unfurl(["deploy", "-a", "--upgrade"]).succeeds();
    assert_eq!(env.tracked(), before);
}

fn git(env: &TestEnv, arguments: &[&str]) {
    let mut command = std::process::Command::new("git");
    command.args(["-c", "user.name=a", "-c", "user.email=a@b.c"]);
    let output = command
        .args(arguments)
        .current_dir(env.work())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_job_can_be_refused_where_something_is_not_committed() {
    let env = chain();
    env.write("notes.txt", "first");
    git(&env, &["init", "-q", "."]);
    git(&env, &["add", "-A"]);
    git(&env, &["commit", "-q", "-m", "x"]);
    env.write("notes.txt", "second");
    let run = env.unfurl(["deploy", "-a", "--dirty", "abort"]).exits(1);
    let run = run.says(&["`notes.txt`", "uncommitted", "--dirty ok"]);
    assert!(run.stderr.contains(env.work().to_str().unwrap()), "{run}");
    assert!(!env.names().contains(&"configured".to_owned()));

    git(&env, &["commit", "-q", "-a", "-m", "y"]);
    // The ensemble file itself may differ, and untracked files are not at risk.
    let text = env.read("ensemble.yaml");
    env.write("ensemble.yaml", &format!("# a remark\n{text}"));
    env.write("untracked.txt", "x");
    env.unfurl(["deploy", "-a", "--dirty", "abort"]).succeeds();
    env.write("notes.txt", "third");
    for choice in [&["--dirty", "ok"][..], &["--dirty", "auto"], &[]] {
        env.unfurl([&["deploy", "-a"], choice].concat()).succeeds();
    }
    env.unfurl(["run", "-a", "--dirty", "abort", "--", "ls"])
        .exits(1);
}

#[test]
fn a_query_is_answered_after_a_job_and_a_plan() {
    let env = chain();
    let run = env.unfurl(["deploy", "-a", "--query", "::two::port"]);
    let run = run.succeeds();
    assert!(
        run.stdout.contains("\nQuery: ::two::port\nResult:\n80\n"),
        "{run}"
    );
    let run = env.unfurl(["check", "--query", "::nope"]).succeeds();
    assert!(
        run.stdout.contains("\nQuery: ::nope\nNo results found\n"),
        "{run}"
    );
    let run = env.unfurl(["plan", "--query", "::two::port"]).succeeds();
    assert!(
        run.stdout.ends_with("Query: ::two::port\nResult:\n80\n"),
        "{run}"
    );
    let run = env.unfurl(["plan", "--query", "::*::port", "--output", "json"]);
    let answer = run.succeeds().json();
    assert_eq!(answer["result"], serde_json::json!([80, 80, 80]));
    assert!(answer["plan"].is_array());
}

#[test]
fn a_query_that_fails_does_not_hide_what_the_job_did() {
    let env = chain();
    env.unfurl(["deploy", "-a"]).succeeds();
    let run = env
        .unfurl(["check", "--query", "::a]", "--output", "json"])
        .exits(1);
    assert_eq!(run.json()["job"]["total"], 3, "{run}");
    assert!(run.json()["errors"].is_array(), "{run}");
}

#[test]
fn a_trace_tells_what_a_query_reads() {
    let env = nodes(
        "
            one: {type: Service, properties: {port: 7}}
            two: {type: Service, properties: {port: {eval: '::one::port'}}}
            ",
    )
    .env();
    let traced = |depth: &str| {
        let arguments = [
            "plan",
            "-i",
            "one",
            "--query",
            "::two::port",
            "--trace",
            depth,
        ];
        let run = env.unfurl(arguments).succeeds();
        let lines = run.stderr.lines().filter(|line| line.starts_with("trace:"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(traced("0"), Vec::<String>::new());
    assert_eq!(traced("1"), ["trace: ::two::port is 7"]);
    let mut deep = traced("2");
    deep.sort();
    assert_eq!(deep, ["trace: ::one::port is 7", "trace: ::two::port is 7"]);
}

#[test]
fn a_job_starts_at_the_requested_time() {
    let env = chain();
    let id = |time: &str| {
        let arguments = [
            "deploy",
            "-a",
            "--force",
            "--output",
            "json",
            "--starttime",
            time,
        ];
        let summary = env.unfurl(arguments).succeeds().json();
        summary["job"]["id"].as_str().unwrap().to_owned()
    };
    for time in ["nonsense", "24", "2036-01-01-00-00-00"] {
        let run = env.unfurl(["deploy", "-a", "--starttime", time]).exits(64);
        run.says(&[
            &format!("`{time}` is not a start time"),
            "an hour from 0 to 23",
        ]);
    }
    assert_eq!(id("1"), "A01110000000");
    assert_eq!(id("2020-03-04-05-06-07-000008"), "A03456700000");
    let help = env.unfurl(["deploy", "--help"]).succeeds();
    assert!(help.stdout.contains("--starttime"), "{help}");
}

#[test]
fn jobs_run_although_the_clock_is_behind_the_last_job() {
    let env = chain();
    let ahead = "2079-01-01T00:00:00Z";
    env.unfurl(["deploy", "-a", "--starttime", ahead])
        .succeeds();
    for command in ["deploy", "check", "teardown"] {
        let run = env.unfurl([command, "-a"]).succeeds();
        run.says(&[
            "the clock of this machine is",
            "behind the last recorded job",
        ]);
    }
    let history = env
        .unfurl(["history", "--output", "json"])
        .succeeds()
        .json();
    let jobs = history["jobs"].as_array().unwrap();
    let ids = jobs.iter().map(|job| job["id"].as_str().unwrap());
    let mut ids: Vec<&str> = ids.collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    // The second deploy had nothing to do, so it is not recorded.
    assert_eq!((ids.len(), count), (3, 3), "{history}");
    env.unfurl(["plan"]).succeeds().says(&["date -u"]);
}

/// An ensemble with an instance that adds another when it is configured.
fn adding(result: &str) -> TestEnv {
    nodes(
        "
            maker:
              type: Service
              interfaces:
                Standard:
                  configure:
                    implementation: Template
                    inputs: {resultTemplate: <result>}
                  start: echo maker >> started
            made: {type: Plain, directives: [dependent]}
            ",
    )
    .with("result", result)
    .env()
}

#[test]
fn what_tasks_add_without_a_status_is_deployed_in_the_same_job() {
    for parallel in ["1", "8"] {
        let env = adding("[{name: x, template: made}, {name: y, template: made, readyState: ok}]");
        let arguments = ["deploy", "-a", "--parallel", parallel, "--output", "json"];
        let run = env.unfurl(arguments).succeeds();
        assert_eq!(run.json()["job"]["status"], "ok", "{run}");
        assert_eq!(env.read("configured"), "x\n", "{run}");
        for name in ["x", "y"] {
            assert_eq!(status(&env, name), "ok", "{run}");
        }
        let before = env.tracked();
        env.unfurl(["deploy", "-a"]).succeeds();
        assert_eq!(env.tracked(), before);
        env.unfurl(["teardown", "-a"]).succeeds();
        assert_eq!(
            env.read("deleted")
                .trim_end()
                .lines()
                .filter(|line| *line == "x")
                .count(),
            1
        );
        assert_eq!(status(&env, "x"), "absent");
    }
}

#[test]
fn instances_that_add_instances_for_ever_are_stopped() {
    let env = nodes(
        r#"
            maker:
              type: tosca.nodes.Root
              interfaces:
                Standard:
                  configure:
                    implementation: Template
                    inputs:
                      resultTemplate: {name: "{{ '.name' | eval }}x", template: maker}
            "#,
    )
    .env();
    let run = env.unfurl(["deploy", "-a", "--output", "json"]);
    assert_eq!(run.code, 64, "{run}");
    run.says(&["more than"]);
}
