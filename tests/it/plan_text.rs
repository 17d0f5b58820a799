//! The text of plans: the plan after a killed job, plans with errors, and plans of many instances.

use super::support::{Run, TestEnv};

/// Three instances, one after the other. `step.sh` kills its job where the file `fatal` says.
const STEPS: &str = "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  inputs: {size: 1}
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    node_types:
      Made:
        derived_from: tosca.nodes.Root
        attributes: {url: {type: string}}
        interfaces:
          Standard:
            operations:
              create: JOB=$PPID sh ./step.sh create {{ SELF['.name'] }}
              configure:
                implementation: Shell
                inputs:
                  command: JOB=$PPID sh ./step.sh configure {{ SELF['.name'] }} {{ TOPOLOGY.inputs.size }}
                  resultTemplate: {attributes: {url: 'http://{{ SELF[\".name\"] }}'}}
    topology_template:
      inputs: {size: {type: integer}}
      outputs:
        url: {value: {get_attribute: [a, url]}}
        last: {value: {get_attribute: [c, url]}}
      node_templates:
        a: {type: Made}
        b: {type: Made, requirements: [{dependency: a}]}
        c: {type: Made, requirements: [{dependency: b}]}
";

const STEP: &str = "if [ -e fatal ] && [ \"$(cat fatal)\" = \"$1 $2\" ]; then rm fatal; kill -9 $JOB; sleep 1; fi\n";

/// Returns the paragraphs of a plan, without the rest of the output.
fn plan_of(output: &str) -> String {
    let start = output
        .find("Plan for ")
        .unwrap_or_else(|| panic!("{output}"));
    let end = output[start..].find("\nPlan: ").unwrap() + start + 1;
    let length = output[end..]
        .find('\n')
        .map_or(output.len(), |length| end + length);
    output[start..length].to_owned()
}

fn killed(fatal: &str) -> TestEnv {
    let env = TestEnv::with_ensemble(STEPS);
    env.write("step.sh", STEP);
    env.write("fatal", fatal);
    assert_ne!(env.unfurl(["deploy", "--approve"]).code, 0);
    env
}

#[test]
fn the_plan_after_a_kill_is_the_plan_of_the_next_deploy() {
    for fatal in ["create a", "configure a", "create b", "configure c"] {
        let env = killed(fatal);
        let (names, tracked) = (env.names(), env.tracked());
        let planned = env.unfurl(["plan"]).succeeds();
        let planned = planned.says(&["a job crashed, and its results are not recorded yet"]);
        assert_eq!((env.names(), env.tracked()), (names, tracked), "{fatal}");
        let deployed = env
            .unfurl(["deploy", "--approve", "--redo-in-doubt"])
            .succeeds();
        assert_eq!(
            plan_of(&planned.stdout),
            plan_of(&deployed.stderr),
            "{fatal}"
        );
        let plan = env.unfurl(["plan"]).succeeds();
        assert_eq!(plan.stdout, "Nothing to do: 3 instances are as planned.\n");
    }
}

#[test]
fn the_plan_after_a_kill_compares_with_the_values_that_the_killed_job_read() {
    let env = killed("create c");
    let text = env.read("ensemble.yaml").replace("size: 1}", "size: 2}");
    env.write("ensemble.yaml", &text);
    let planned = env.unfurl(["plan"]).succeeds();
    assert!(
        planned.stdout.contains("topology input size: 1 -> 2"),
        "{planned}"
    );
    let explained = env.unfurl(["explain", "a"]).succeeds();
    assert!(explained.stdout.contains("status: ok"), "{explained}");
    let deployed = env
        .unfurl(["deploy", "--approve", "--redo-in-doubt"])
        .succeeds();
    assert_eq!(plan_of(&planned.stdout), plan_of(&deployed.stderr));
}

#[test]
fn the_plan_while_another_job_runs_does_not_count_its_journal() {
    let env = TestEnv::with_ensemble(&STEPS.replace(
        "create: JOB=$PPID sh ./step.sh create {{ SELF['.name'] }}",
        "create: 'unset UNFURL_APPROVE; \"$UNFURL_UNDER_TEST\" plan > other.txt 2>&1'",
    ));
    env.write("step.sh", STEP);
    let program = env!("CARGO_BIN_EXE_unfurl");
    env.unfurl_with(("UNFURL_UNDER_TEST", program), &["deploy", "--approve"])
        .succeeds();
    let other = env.read("other.txt");
    assert!(!other.contains("crashed"), "{other}");
    assert!(other.contains("Plan: create"), "{other}");
}

const BROKEN: &str = "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    topology_template:
      node_templates:
        good:
          type: tosca.nodes.Root
          interfaces: {Standard: {configure: echo fine}}
        bad:
          type: tosca.nodes.Root
          interfaces: {Standard: {configure: 'echo {{ 1 / 0 }}'}}
";

#[test]
fn a_plan_with_a_task_that_cannot_be_rendered_shows_the_rest_and_exits_64() {
    let env = TestEnv::with_ensemble(BROKEN);
    let run = env.unfurl(["plan"]).exits(64);
    let plan = run.stdout.split_once("\n\n").unwrap().1;
    insta::assert_snapshot!(plan, @r"
    + create good (tosca.nodes.Root)   ensemble.yaml:8:9
        configure: does not exist yet
          $ echo fine

    + create bad (tosca.nodes.Root)   ensemble.yaml:11:9
        configure: does not exist yet
          cannot be rendered: cannot render the template `echo {{ 1 / 0 }}`: unable to calculate 1 / 0
          $ echo {{ 1 / 0 }}

    1 operation cannot be rendered; `--exclude NAME` leaves an instance out.
    Plan: create 2.
    ");
    run.says(&["unable to calculate 1 / 0", "ensemble.yaml:13:46"]);
    let run = env.unfurl(["plan", "--output", "json"]).exits(64);
    assert_eq!(run.json().as_array().unwrap().len(), 2);
    env.unfurl(["plan", "--exclude", "bad"]).succeeds();
}

/// An ensemble with many instances.
fn many(count: usize) -> TestEnv {
    let nodes =
        (0..count).map(|n| format!("        n{n}: {{type: N, properties: {{size: {n}}}}}\n"));
    let nodes: String = nodes.collect();
    TestEnv::with_ensemble(&format!(
        "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    node_types:
      N:
        derived_from: tosca.nodes.Root
        properties: {{size: {{type: integer}}}}
        interfaces:
          Standard:
            configure: {{implementation: Template}}
            delete: {{implementation: Template}}
    topology_template:
      node_templates:
{nodes}"
    ))
}

fn last_lines(run: &Run, count: usize) -> String {
    let lines: Vec<&str> = run.stdout.lines().collect();
    lines[lines.len() - count..].join("\n")
}

#[test]
fn the_plan_of_many_instances_is_readable() {
    let env = many(3000);
    let run = env.unfurl(["plan"]).succeeds();
    insta::assert_snapshot!(last_lines(&run, 5), @r"
        size = 19

    + create 2,980 more: n20, n21, n22, n23, n24, n25, n26, n27 and 2,972 more (`--detail` shows each)

    Plan: create 3,000.
    ");
    assert!(run.stdout.lines().count() < 120, "{run}");
    let full = env.unfurl(["plan", "--detail"]).succeeds();
    assert!(full.stdout.contains("+ create n2999 (N)"));
    env.unfurl(["deploy", "--approve"]).succeeds();
    let run = env.unfurl(["plan"]).succeeds();
    assert_eq!(
        run.stdout,
        "Nothing to do: 3,000 instances are as planned.\n"
    );
}

#[test]
fn instances_without_a_template_are_deleted_first_and_named_again() {
    let env = many(4);
    env.unfurl(["deploy", "--approve"]).succeeds();
    let text = env.read("ensemble.yaml");
    let kept = text
        .replace("        n1: {type: N, properties: {size: 1}}\n", "")
        .replace("size: 3}}", "size: 4}}");
    env.write("ensemble.yaml", &kept);
    let run = env.unfurl(["plan"]).succeeds();
    assert!(
        run.stdout
            .ends_with("(2 unchanged, 1 without a template).\n")
            || run
                .stdout
                .starts_with("Nothing to do: 3 instances are as planned, 1 without"),
        "{run}"
    );
    let run = env.unfurl(["plan", "--prune"]).succeeds();
    assert!(
        run.stdout.contains("\n\n- delete n1 (N)   changes/"),
        "{run}"
    );
    assert!(run.stdout.contains("\nDeletes `n1`.\nPlan: "), "{run}");
}

#[test]
fn a_secret_in_a_command_is_masked_and_the_rest_is_shown() {
    let env = TestEnv::with_ensemble(
        "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    topology_template:
      node_templates:
        db:
          type: unfurl.nodes.Generic
          properties:
            config: {user: app, password: {eval: {sensitive: hunter2hunter2}}}
          interfaces:
            Standard:
              configure: 'mysql -p{{ SELF.config.password }} -u app'
              start:
                implementation: Cmd
                inputs: {command: [mysql, '{{ SELF.config.password }}', app]}
",
    );
    let run = env.unfurl(["plan"]).succeeds();
    assert!(
        run.stdout.contains("$ mysql -p<<REDACTED>> -u app\n"),
        "{run}"
    );
    assert!(
        run.stdout
            .contains(r#"config = {"user":"app","password":"<<REDACTED>>"}"#),
        "{run}"
    );
    assert!(!run.all().contains("hunter2"), "{run}");
    env.unfurl(["deploy", "--approve"]);
    let text = env.read("ensemble.yaml");
    let text =
        text.replacen("user: app", "user: web", 1)
            .replacen("hunter2hunter2", "hunter3hunter3", 1);
    env.write("ensemble.yaml", &text);
    for options in [
        &["plan"][..],
        &["plan", "--detail"],
        &["deploy", "--dryrun", "--approve"],
    ] {
        let run = env.unfurl(options);
        assert!(!run.all().contains("hunter"), "{run}");
    }
}
