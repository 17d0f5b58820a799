//! The task order of a job: dependencies, waiting, and consequences of results.

use serde_json::Value as Json;

use super::drafts::{ensemble, topology};
use super::support::{Run, TestEnv};

/// Node types whose instances log the value they read and pass it on.
const TYPES: &str = "    node_types:
      D:
        derived_from: tosca.nodes.Root
        properties: {src: {type: string, required: false}}
        attributes: {out: {type: string}}
        interfaces:
          Standard:
            configure:
              implementation: printf '%s' '{{ SELF.src }}+'
              inputs: {resultTemplate: {attributes: {out: '{{ stdout }}'}}}
            delete: echo gone
      Kid:
        derived_from: tosca.nodes.Root
        interfaces:
          Install: {check: echo looked}
          Standard: {create: echo kid >> made, delete: echo gone}
";

fn with_types(topology: &str) -> TestEnv {
    let text = "
        <types>
        topology_template:
          <topology>
        ";
    let draft = ensemble(text).with("types", TYPES);
    draft.with("topology", topology).env()
}

fn deploy(env: &TestEnv, more: &[&str]) -> Run {
    let mut arguments = vec!["deploy", "--approve", "--output", "json", "--parallel", "1"];
    arguments.extend(more);
    env.unfurl(&arguments)
}

/// The tasks of a job, each as `target.operation status reason`.
fn tasks(run: &Run) -> Vec<String> {
    let summary = run.json();
    let word = |task: &Json, key: &str| task[key].as_str().unwrap_or("none").to_owned();
    let line = |task: &Json| {
        let (target, operation) = (word(task, "target"), word(task, "operation"));
        let (status, reason) = (word(task, "status"), word(task, "reason"));
        format!("{target}.{operation} {status} {reason}")
    };
    let tasks = summary["tasks"].as_array().unwrap();
    tasks.iter().map(line).collect()
}

fn instance(env: &TestEnv, name: &str) -> Json {
    env.ensemble()["status"]["instances"][name].clone()
}

#[test]
fn deferred_tasks_run_in_the_order_in_which_they_read_each_other() {
    let env = with_types(
        "      node_templates:
        d4: {type: D, properties: {src: {eval: '::d3::out'}}}
        d3: {type: D, properties: {src: {eval: '::d2::out'}}}
        d2: {type: D, properties: {src: {eval: '::d1::out'}}}
        d1: {type: D, properties: {src: start}}
",
    );
    let run = deploy(&env, &[]).succeeds();
    let expected = ["d1", "d2", "d3", "d4"].map(|name| format!("{name}.configure ok add"));
    assert_eq!(tasks(&run), expected);
    assert_eq!(instance(&env, "d4")["attributes"]["out"], "start++++");

    let before = env.tracked();
    deploy(&env, &[]).succeeds();
    assert_eq!(env.tracked(), before);
}

#[test]
fn a_task_sees_what_tasks_before_it_set_on_its_own_instance() {
    let env = with_types(
        "      node_templates:
        a:
          type: D
          interfaces:
            Standard:
              create: {implementation: printf fresh, inputs: {resultTemplate: {attributes: {out: '{{ stdout }}'}}}}
              configure: printf '%s' '{{ SELF.out }}' > seen
",
    );
    let run = deploy(&env, &[]).succeeds();
    assert_eq!(tasks(&run), ["a.create ok add", "a.configure ok add"]);
    assert_eq!(env.read("seen"), "fresh");
}

#[test]
fn a_declared_attribute_without_a_value_is_null_and_no_error() {
    let env = with_types(
        "      node_templates:
        a:
          type: D
          interfaces:
            Standard:
              configure: printf '%s' '{{ SELF.out | default(\"nothing\", true) }}' > seen
",
    );
    deploy(&env, &[]).succeeds();
    assert_eq!(env.read("seen"), "nothing");
}

#[test]
fn tasks_that_wait_for_each_other_end_with_an_error() {
    let env = with_types(
        "      node_templates:
        a:
          type: D
          interfaces: {Standard: {create: {implementation: printf va, inputs: {resultTemplate: {attributes: {out: x}}}}, configure: \"echo {{ '::b::out' | eval }}\"}}
        b:
          type: D
          interfaces: {Standard: {create: {implementation: printf vb, inputs: {resultTemplate: {attributes: {out: y}}}}, configure: \"echo {{ '::a::out' | eval }}\"}}
",
    );
    let run = deploy(&env, &[]).exits(64);
    let expected = [
        "a.create ok add",
        "b.create ok add",
        "a.configure error add",
        "b.configure error add",
    ];
    assert_eq!(tasks(&run), expected);
    assert_eq!(instance(&env, "b")["readyState"]["state"], "created");
}

#[test]
fn an_operation_of_a_relationship_does_not_wait_for_the_target_to_work() {
    let env = ensemble("
            relationship_types:
              R:
                derived_from: tosca.relationships.Root
                interfaces: {Configure: {pre_configure_target: echo before}}
            topology_template:
              node_templates:
                a: {type: tosca.nodes.Root, interfaces: {Standard: {configure: echo a}}}
                b: {type: tosca.nodes.Root, requirements: [{dep: {node: a, relationship: R}}], interfaces: {Standard: {configure: echo b}}}
            ").env();
    let run = deploy(&env, &[]).succeeds();
    let expected = [
        "dep.pre_configure_target ok add",
        "a.configure ok add",
        "b.configure ok add",
    ];
    assert_eq!(tasks(&run), expected);
}

#[test]
fn instances_that_a_task_adds_are_deployed_by_the_same_job() {
    let env = with_types(
        "      node_templates:
        a:
          type: tosca.nodes.Root
          interfaces:
            Standard:
              configure:
                implementation: echo a
                inputs:
                  resultTemplate:
                  - {name: k1, template: {type: Kid}}
                  - {name: k2, template: k1}
                  - {name: k3, template: {type: Kid}, readyState: ok}
              delete: echo gone
        z: {type: tosca.nodes.Root, interfaces: {Standard: {configure: echo z, delete: echo gone}}}
",
    );
    let run = deploy(&env, &[]).succeeds();
    let deployed: Vec<_> = tasks(&run);
    let expected = [
        "a.configure ok add",
        "z.configure ok add",
        "k1.check ok check",
        "k1.create ok missing",
        "k2.check ok check",
        "k2.create ok missing",
    ];
    assert_eq!(deployed, expected);
    assert_eq!(env.read("made"), "kid\nkid\n");
    // An instance that was added with a status is managed by the instance that added it.
    assert_eq!(instance(&env, "k3")["created"], "::a");

    let before = env.tracked();
    deploy(&env, &[]).succeeds();
    assert_eq!(env.tracked(), before);
    env.unfurl(["teardown", "--approve"]).succeeds();
    assert_eq!(instance(&env, "k2")["readyState"]["local"], "absent");
}

#[test]
fn a_check_creates_nothing_that_its_tasks_add() {
    let env = with_types(
        "      node_templates:
        a:
          type: tosca.nodes.Root
          interfaces:
            Install:
              check:
                implementation: echo a
                inputs: {resultTemplate: [{name: k1, template: {type: Kid}}]}
",
    );
    let run = env.unfurl(["check", "--output", "json"]).succeeds();
    assert_eq!(tasks(&run), ["a.check ok check", "k1.check ok check"]);
    assert!(!env.names().contains(&"made".to_owned()));
}

#[test]
fn a_subtask_has_the_inputs_of_the_task_that_asks_for_it() {
    let env = with_types(
        "      node_templates:
        a:
          type: tosca.nodes.Root
          interfaces:
            Standard: {configure: {implementation: Delegate, inputs: {operation: Install.restart, word: given}}}
            Install: {restart: \"printf '%s' '{{ inputs.word }}' > seen\"}
",
    );
    let run = deploy(&env, &[]).succeeds();
    let expected = [
        "a.configure ok add",
        "a.restart ok subtask: for add: Standard.configure",
    ];
    assert_eq!(tasks(&run), expected);
    assert_eq!(env.read("seen"), "given");
}

#[test]
fn preconditions_of_an_operation_are_compared_with_the_attributes_of_its_target() {
    let env = topology("
            node_templates:
              a: &node
                type: unfurl.nodes.Generic
                properties: {mode: fast}
                interfaces:
                  Standard:
                    configure:
                      implementation: {className: Shell, preConditions: {properties: {mode: {const: fast}}}}
                      inputs: {command: echo done}
              b: {<<: *node, properties: {mode: slow}}
            ").env();
    let run = deploy(&env, &[]).exits(64);
    assert_eq!(tasks(&run), ["a.configure ok add", "b.configure error add"]);
}

#[test]
fn a_mock_stands_in_under_a_dry_run_and_changes_no_file() {
    let env = topology("
            node_templates:
              a:
                type: tosca.nodes.Root
                interfaces:
                  Mock: {configure: {implementation: Template, inputs: {dryrun: true, run: {}}}}
                  Standard: {configure: {implementation: Shell, inputs: {command: touch made}}, start: touch made}
            ").env();
    let before = env.tracked();
    let run = deploy(&env, &["--dryrun"]).succeeds();
    assert_eq!(tasks(&run), ["a.configure ok add"]);
    assert_eq!(env.tracked(), before);
    assert!(!env.names().contains(&"made".to_owned()));
    deploy(&env, &[]).succeeds();
    assert!(env.names().contains(&"made".to_owned()));
}

fn workflow(steps: &str) -> TestEnv {
    topology("
            node_templates:
              a:
                type: tosca.nodes.Root
                properties: {}
                interfaces: {Standard: {create: echo c, configure: 'test -e ok', start: echo s, stop: 'echo undone >> undone'}}
              b:
                type: tosca.nodes.Root
                interfaces: {Standard: {configure: 'echo {{ inputs.word | default(0) }}', start: echo s}}
            groups:
              both: {type: tosca.groups.Root, members: [a, b]}
            workflows:
              deploy:
                steps:
                  <steps>
            ").with("steps", steps).env()
}

#[test]
fn steps_named_on_failure_run_once_and_those_on_success_do_not() {
    let env = workflow(
        "            s1: {target: a, activities: [{call_operation: Standard.create}, {call_operation: Standard.configure}], on_success: [s2], on_failure: [undo]}
            s2: {target: a, activities: [{call_operation: Standard.start}], on_failure: [undo]}
            undo: {target: a, activities: [{call_operation: Standard.stop}, {set_state: stopped}]}
",
    );
    for parallel in ["1", "8"] {
        let run = env
            .unfurl([
                "deploy",
                "--approve",
                "--output",
                "json",
                "--parallel",
                parallel,
            ])
            .exits(64);
        let expected = [
            "a.create ok step:s1",
            "a.configure error step:s1",
            "a.start error step:s2",
            "a.stop ok step:undo",
        ];
        let done = tasks(&run);
        let done: Vec<_> = done.iter().filter(|task| task.starts_with("a.")).collect();
        assert_eq!(done, expected);
    }
    assert_eq!(env.read("undone"), "undone\nundone\n");
    assert_eq!(instance(&env, "a")["readyState"]["local"], "error");
    assert_eq!(instance(&env, "a")["readyState"]["state"], "stopped");

    env.write("ok", "");
    let run = deploy(&env, &[]).succeeds();
    let expected = [
        "a.create ok step:s1",
        "a.configure ok step:s1",
        "a.start ok step:s2",
    ];
    let done = tasks(&run);
    let done: Vec<_> = done.iter().filter(|task| task.starts_with("a.")).collect();
    assert_eq!(done, expected);
    assert_eq!(env.read("undone"), "undone\nundone\n");
}

#[test]
fn the_plan_says_which_steps_run_on_failure_only() {
    let env = workflow(
        "            s1: {target: a, activities: [{call_operation: Standard.configure}], on_failure: [undo]}
            undo: {target: a, activities: [{call_operation: Standard.stop}]}
",
    );
    let run = env.unfurl(["plan", "--instance", "a"]).succeeds();
    assert!(run.all().contains("if step `s1` fails"), "{run}");
}

#[test]
fn a_step_applies_to_the_members_of_a_group_with_inputs_of_its_own() {
    let env = workflow(
        "            s1: {target: both, activities: [{call_operation: {operation: Standard.configure, inputs: {word: hello}}}], on_success: [s2]}
            s2: {target: a, activities: [{call_operation: Standard.start}]}
",
    );
    env.write("ok", "");
    let run = deploy(&env, &[]).succeeds();
    let expected = [
        "a.configure ok step:s1",
        "a.start ok step:s2",
        "b.configure ok step:s1",
        "b.start ok step:s2",
    ];
    assert_eq!(tasks(&run), expected);
}

#[test]
fn a_workflow_runs_only_where_its_conditions_hold() {
    let nodes = |mode: &str| {
        topology("
                node_templates:
                  a: {type: unfurl.nodes.Generic, properties: {mode: <mode>}, interfaces: {Standard: {configure: echo a, start: echo s}}}
                workflows:
                  deploy:
                    preconditions: [{target: a, condition: [{mode: [{valid_values: [fast, slow]}]}]}]
                    steps:
                      s1: {target: a, filter: [{mode: [{equal: fast}]}], activities: [{call_operation: Standard.start}]}
                ").with("mode", mode).build()
    };
    let fast = TestEnv::with_ensemble(&nodes("fast"));
    assert_eq!(tasks(&deploy(&fast, &[])), ["a.start ok step:s1"]);
    let slow = TestEnv::with_ensemble(&nodes("slow"));
    assert_eq!(tasks(&deploy(&slow, &[])).len(), 0);
    let other = TestEnv::with_ensemble(&nodes("other"));
    let run = deploy(&other, &[]);
    assert_eq!(tasks(&run), ["a.configure ok add", "a.start ok add"]);
}

#[test]
fn a_step_that_sets_an_unknown_state_is_reported_with_its_position() {
    let env = workflow("            s1: {target: a, activities: [{set_state: bogus}]}\n");
    deploy(&env, &[])
        .succeeds()
        .says(&["warning: `bogus` in step `s1`", "ensemble.yaml:"]);
}
