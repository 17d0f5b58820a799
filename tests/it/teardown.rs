//! Teardown: the instances that it removes, their order, the instances that it keeps and why; and that a
//! second deploy restores all of them.

use serde_json::Value as Json;

use super::drafts::{ensemble, text};
use super::support::{Run, TestEnv};

/// Node types whose operations write a line to the file `order`.
const TYPES: &str = "    node_types:
      Told:
        derived_from: tosca.nodes.Root
        interfaces:
          Standard:
            configure: 'echo make {{ \".name\" | eval }} >> \"$DONE\"'
            delete: 'echo drop {{ \".name\" | eval }} >> \"$DONE\"'
";

fn with_nodes(nodes: &str) -> TestEnv {
    let env = TestEnv::new();
    let done = env.work().join("order").to_string_lossy().into_owned();
    let env = env.variable("DONE", &done);
    let text = ensemble(
        "
            <types>
            topology_template:
              node_templates:
                <nodes>
            ",
    )
    .with("types", TYPES)
    .with("nodes", nodes)
    .build();
    env.write("ensemble.yaml", &text);
    env
}

fn job(env: &TestEnv, arguments: &[&str]) -> Run {
    let fixed = ["--approve", "--output", "json"];
    env.unfurl(["-v"].iter().chain(arguments).chain(&fixed))
}

fn teardown(env: &TestEnv, arguments: &[&str]) -> Run {
    std::fs::remove_file(env.work().join("order")).ok();
    job(env, &[&["teardown"][..], arguments].concat()).succeeds()
}

fn order(env: &TestEnv) -> Vec<String> {
    let path = env.work().join("order");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn status(env: &TestEnv, name: &str) -> Json {
    env.ensemble()["status"]["instances"][name]["readyState"]["local"].clone()
}

/// An environment in which the nodes are deployed.
fn deployed(nodes: &str) -> TestEnv {
    let env = with_nodes(nodes);
    job(&env, &["deploy"]).succeeds();
    env
}

#[test]
fn a_protected_instance_stays_with_all_that_it_needs() {
    let env = deployed(
        "        a: {type: Told}
        b: {type: Told, directives: [protected], requirements: [{dependency: a}]}
        c: {type: Told}
",
    );
    let run = teardown(&env, &[]);
    assert_eq!(order(&env), ["drop c"], "{run}");
    run.says(&[
        "`b` is not changed: instance with \"protected\" directive",
        "`a` is not changed: required instances depend on it (use --force to override)",
    ]);
    let plan = env
        .unfurl(["-v", "plan", "--workflow", "undeploy"])
        .succeeds();
    assert!(
        plan.stdout.contains("Left alone:\n- b: instance with"),
        "{plan}"
    );

    // `--force` removes the instances that a protected one requires, but not the protected one itself.
    let run = teardown(&env, &["--force"]);
    assert!(order(&env).contains(&"drop a".to_owned()), "{run}");
    assert_eq!(status(&env, "b"), "ok", "{run}");
}

#[test]
fn an_instance_that_is_protected_on_record_stays() {
    let env = deployed("        a: {type: Told}\n");
    let text = env.read("ensemble.yaml").replace(
        "      template: a\n",
        "      template: a\n      protected: true\n",
    );
    env.write("ensemble.yaml", &text);
    let run = teardown(&env, &[]).says(&["`a` is not changed: protected instance"]);
    assert!(order(&env).is_empty(), "{run}");
}

#[test]
fn what_others_created_stays_unless_the_user_says_otherwise() {
    for (created, why) in [
        (
            "false",
            "instance wasn't created by this ensemble (use --destroyunmanaged to override)",
        ),
        (
            "::boss",
            "creation and deletion is managed by another instance ::boss (use --destroyunmanaged to override)",
        ),
    ] {
        let env = deployed("        a: {type: Told}\n");
        let text = env.read("ensemble.yaml");
        let at = text.find("created: ").unwrap() + "created: ".len();
        let end = at + text[at..].find('\n').unwrap();
        let text = format!("{}{created}{}", &text[..at], &text[end..]);
        env.write("ensemble.yaml", &text);
        let run = teardown(&env, &[]).says(&[&format!("`a` is not changed: {why}")]);
        assert!(order(&env).is_empty(), "{run}");
        let run = teardown(&env, &["--destroyunmanaged"]);
        assert_eq!(order(&env), ["drop a"], "{run}");
        assert_eq!(status(&env, "a"), "absent");
        teardown(&env, &["--destroyunmanaged"])
            .says(&["`a` is not changed: instance doesn't exist"]);
    }
}

#[test]
fn what_stands_for_another_is_read_only() {
    let env = TestEnv::new();
    let done = env.work().join("order").to_string_lossy().into_owned();
    let env = env.variable("DONE", &done);
    let other = ensemble(
        "
            <types>
            topology_template:
              node_templates:
                shared: {type: Told}
            ",
    )
    .with("types", TYPES)
    .build();
    env.write("other/ensemble.yaml", &other);
    job(&env, &["deploy", "other"]).succeeds();
    let own = ensemble(
        "
            <types>
            topology_template:
              node_templates:
                it: {type: Told, imported: 'other:shared'}
                own: {type: Told, requirements: [{dependency: it}]}
            ",
    )
    .with("types", TYPES)
    .build()
        + "environment: {external: {other: {manifest: {file: other/ensemble.yaml}}}}\n";
    env.write("ensemble.yaml", &own);
    job(&env, &["deploy"]).succeeds();
    let run =
        teardown(&env, &["--destroyunmanaged"]).says(&["`it` is not changed: read-only instance"]);
    assert_eq!(order(&env), ["drop own"], "{run}");
}

#[test]
fn an_instance_without_operations_is_reported_as_virtual() {
    let env = deployed(
        "        box: {type: tosca.nodes.Compute}
        app: {type: tosca.nodes.SoftwareComponent, requirements: [{host: box}],
              interfaces: {Standard: {configure: echo, delete: 'echo drop app >> \"$DONE\"'}}}
",
    );
    let run = teardown(&env, &[]).says(&["`box` is not changed: virtual instance"]);
    assert_eq!(order(&env), ["drop app"], "{run}");
}

#[test]
fn filters_leave_the_others_and_what_the_others_need() {
    let nodes = "        a: {type: Told}
        b: {type: Told, requirements: [{dependency: a}]}
        c: {type: Told}
";
    for (option, left, done) in [
        (["--template", "b"], ["ok", "absent", "ok"], &["drop b"][..]),
        (["--template", "a"], ["ok", "ok", "ok"], &[]),
        (["--instance", "c"], ["ok", "ok", "absent"], &["drop c"]),
    ] {
        let env = deployed(nodes);
        let run = teardown(&env, &option);
        assert_eq!(order(&env), done, "{run}");
        assert_eq!(
            ["a", "b", "c"].map(|name| status(&env, name)),
            left,
            "{run}"
        );
    }
}

#[test]
fn an_instance_whose_create_failed_is_removed() {
    // A task that ran may have created a resource, even if it did not report one; a task that never ran has
    // not.
    for (command, expected) in [
        ("'exit 1'", &["drop"][..]),
        (
            "{implementation: 'exit 1', inputs: {done: {modified: true}}}",
            &["drop"],
        ),
        (
            "{implementation: 'exit 1', inputs: {done: {status: error}}}",
            &["drop"],
        ),
        (
            "{implementation: 'exit 1', inputs: {done: {modified: false}}}",
            &[],
        ),
    ] {
        for operation in ["create", "configure", "start"] {
            let env = with_nodes(&text(r#"
                    a:
                      type: tosca.nodes.Root
                      interfaces: {Standard: {<operation>: <command>, delete: 'echo drop >> "$DONE"'}}
                    "#).with("operation", operation).with("command", command).build());
            job(&env, &["deploy"]).exits(64);
            let run = teardown(&env, &[]);
            assert_eq!(order(&env), expected, "{operation}: {command}: {run}");
            if !expected.is_empty() {
                assert_eq!(status(&env, "a"), "absent", "{operation}: {command}: {run}");
                let again = teardown(&env, &[]);
                assert!(order(&env).is_empty(), "{again}");
            }
        }
    }
}

#[test]
fn what_was_created_before_a_later_operation_failed_is_removed() {
    let env = with_nodes(
        "        a:
          type: tosca.nodes.Root
          interfaces: {Standard: {create: echo made, configure: 'exit 1', delete: 'echo drop >> \"$DONE\"'}}
        b:
          type: tosca.nodes.Root
          requirements: [{dependency: a}]
          interfaces: {Standard: {create: echo made, delete: 'echo drop b >> \"$DONE\"'}}
",
    );
    job(&env, &["deploy"]).exits(64);
    let run = teardown(&env, &[]);
    assert_eq!(order(&env), ["drop"], "{run}");
    assert_eq!(status(&env, "a"), "absent", "{run}");
}

#[test]
fn what_a_check_found_is_not_removed_when_its_configuration_fails() {
    let nodes = "        a:
          type: tosca.nodes.Root
          properties: {x: {get_input: x}}
          metadata: {additionalProperties: true}
          interfaces:
            Install: {check: {implementation: echo, inputs: {done: {status: ok}}}}
            Standard: {configure: '{{ SELF.x }}', delete: 'echo drop >> \"$DONE\"'}
";
    let env = with_nodes(nodes);
    let (before, after) = (
        "node_templates:",
        "inputs: {x: {type: string, default: 'true'}}",
    );
    let text = env.read("ensemble.yaml");
    let text = text.replace(before, &format!("{after}\n      {before}"));
    env.write("ensemble.yaml", &text);
    job(&env, &["deploy", "--check"]).succeeds();
    job(&env, &["deploy", "--force", "--var", "input_x", "exit 1"]);
    let run = teardown(&env, &[]);
    assert!(order(&env).is_empty(), "{run}");
}

/// Runs deploy, teardown and deploy, and returns the operations of the two deploys.
fn deploy_teardown_deploy(env: &TestEnv) -> [Vec<String>; 2] {
    job(env, &["deploy"]).succeeds();
    let first = order(env);
    teardown(env, &[]);
    let instances = env.ensemble()["status"]["instances"].clone();
    for (name, instance) in instances.as_object().unwrap() {
        let local = &instance["readyState"]["local"];
        assert!(
            local != "ok" || instance["protected"] == true,
            "{name}: {instance}"
        );
    }
    std::fs::remove_file(env.work().join("order")).ok();
    job(env, &["deploy"]).succeeds();
    let second = order(env);
    let again = job(env, &["deploy"]).succeeds();
    assert_eq!(again.json()["job"]["changed"], 0, "{again}");
    let instances = env.ensemble()["status"]["instances"].clone();
    for (name, instance) in instances.as_object().unwrap() {
        let ready = &instance["readyState"];
        let seen = if ready["effective"].is_null() {
            &ready["local"]
        } else {
            &ready["effective"]
        };
        assert_eq!(seen, "ok", "{name}: {instance}");
    }
    [first, second]
}

#[test]
fn a_deploy_after_a_teardown_does_all_that_the_first_one_did() {
    let say = |word: &str| format!("'echo {word} >> \"$DONE\"'");
    let delete = "delete: echo";
    let operations = ["create", "configure", "start"];
    for picks in 1..8_usize {
        for ends in ["", ", delete: echo", ", stop: echo, delete: echo"] {
            let chosen = (0..3).filter(|place| picks >> place & 1 == 1);
            let chosen: Vec<String> = chosen
                .map(|place| format!("{}: {}", operations[place], say(operations[place])))
                .collect();
            // An instance without an operation that removes it stays, and is not created again.
            if ends.is_empty() {
                continue;
            }
            let env = with_nodes(&format!(
                "        a: {{type: tosca.nodes.Root, interfaces: {{Standard: {{{}{ends}}}}}}}\n",
                chosen.join(", ")
            ));
            let [first, second] = deploy_teardown_deploy(&env);
            assert_eq!(first, second, "{chosen:?} {delete}");
            assert!(!first.is_empty());
        }
    }
}

#[test]
fn relationships_come_back_too() {
    let env = with_nodes(
        "        a: {type: Told}
        b:
          type: Told
          requirements:
          - dependency:
              node: a
              relationship:
                type: tosca.relationships.DependsOn
                interfaces:
                  Configure:
                    pre_configure_source: 'echo before >> \"$DONE\"'
                    post_configure_source: 'echo after >> \"$DONE\"'
                    remove_source: 'echo removed >> \"$DONE\"'
",
    );
    let [first, second] = deploy_teardown_deploy(&env);
    assert_eq!(first, ["make a", "before", "make b", "after"]);
    assert_eq!(first, second);
}

#[test]
fn what_stands_in_for_a_template_comes_back_too() {
    let env = TestEnv::new();
    let done = env.work().join("order").to_string_lossy().into_owned();
    let env = env.variable("DONE", &done);
    let types: Vec<String> = TYPES
        .lines()
        .map(|line| format!("{}\n", &line[4..]))
        .collect();
    let types = types.concat();
    env.write(
        "inner.yaml",
        &text(
            "
                tosca_definitions_version: tosca_simple_unfurl_1_0_0
                <types>
                  Outer: {derived_from: Told}
                topology_template:
                  root: {node: two}
                  node_templates:
                    one: {type: Told}
                    two: {type: Outer, requirements: [{dependency: one}]}
                ",
        )
        .with("types", types)
        .build(),
    );
    env.write(
        "ensemble.yaml",
        &ensemble(
            "
                imports: [{file: inner.yaml}]
                topology_template:
                  node_templates:
                    it: {type: Outer, directives: [substitute]}
                ",
        )
        .build(),
    );
    job(&env, &["deploy"]).succeeds();
    let first = order(&env);
    assert_eq!(first, ["make one", "make two"]);
    let run = teardown(&env, &[]);
    assert_eq!(order(&env), ["drop two", "drop one"], "{run}");
    std::fs::remove_file(env.work().join("order")).unwrap();
    job(&env, &["deploy"]).succeeds();
    assert_eq!(order(&env), first);
}

#[test]
fn a_protected_instance_is_not_made_again() {
    let env = with_nodes(
        "        a: {type: Told, directives: [protected]}
        b: {type: Told, requirements: [{dependency: a}]}
",
    );
    job(&env, &["deploy"]).succeeds();
    teardown(&env, &[]);
    assert_eq!(order(&env), ["drop b"]);
    job(&env, &["deploy"]).succeeds();
    assert_eq!(order(&env), ["drop b", "make b"]);
}

#[test]
fn what_is_discovered_is_discovered_again() {
    let env = with_nodes(
        "        a:
          type: tosca.nodes.Root
          directives: [discover]
          interfaces:
            Install: {discover: {implementation: 'echo found >> \"$DONE\"', inputs: {resultTemplate: {readyState: ok}}}}
            Standard: {delete: 'echo drop a >> \"$DONE\"'}
",
    );
    job(&env, &["deploy"]).succeeds();
    assert_eq!(order(&env), ["found"]);
    // The instance was found, not created.
    teardown(&env, &[]);
    assert!(order(&env).is_empty());
    teardown(&env, &["--destroyunmanaged"]);
    assert_eq!(order(&env), ["drop a"]);
    job(&env, &["deploy"]).succeeds();
    assert_eq!(order(&env), ["drop a", "found"]);
}

#[test]
fn instances_that_a_task_adds_go_with_it_and_come_back() {
    let nodes = "        boss:
          type: tosca.nodes.Root
          interfaces:
            Standard:
              configure:
                implementation: 'echo make boss >> \"$DONE\"'
                inputs:
                  resultTemplate:
                  - name: part
                    parent: SELF
                    template: part
                    readyState: ok
              delete:
                implementation: 'echo drop boss >> \"$DONE\"'
                inputs:
                  resultTemplate: [{name: part, readyState: absent}]
        part: {type: Told, directives: [dependent]}
";
    let env = with_nodes(nodes);
    job(&env, &["deploy"]).succeeds();
    let first = order(&env);
    assert_eq!(first, ["make boss"]);
    let part = |env: &TestEnv| {
        env.ensemble()["status"]["instances"]["boss"]["instances"]["part"]["readyState"]["local"]
            .clone()
    };
    assert_eq!(part(&env), "ok");
    let run = teardown(&env, &["--force"]);
    assert_eq!(order(&env), ["drop boss"], "{run}");
    assert_eq!(part(&env), "absent", "{run}");
    std::fs::remove_file(env.work().join("order")).ok();
    let run = job(&env, &["deploy"]).succeeds();
    assert_eq!(order(&env), first, "{run}");
    assert_eq!(part(&env), "ok", "{run}");
}

/// A random acyclic graph: for each node the earlier nodes that it requires.
fn graph(nodes: usize, mut seed: u64) -> Vec<Vec<usize>> {
    let mut next = |below: usize| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % below
    };
    let mut needs = Vec::new();
    for node in 0..nodes {
        let count = if node == 0 { 0 } else { next(4) };
        let mut on: Vec<usize> = (0..count).map(|_| next(node)).collect();
        on.sort_unstable();
        on.dedup();
        needs.push(on);
    }
    needs
}

#[test]
fn dependents_go_first_and_independent_ones_at_the_same_time() {
    let needs = graph(200, 7);
    let nodes: Vec<String> = needs
        .iter()
        .enumerate()
        .map(|(node, on)| {
            let on: Vec<String> = on.iter().map(|on| format!("{{dependency: n{on}}}")).collect();
            let say = |word: &str| {
                format!("'echo start {word} {node} >> \"$DONE\"; sleep 0.02; echo end {word} {node} >> \"$DONE\"'")
            };
            format!(
                "        n{node}: {{type: tosca.nodes.Root, requirements: [{}], interfaces: {{Standard: {{start: echo, stop: {}, delete: {}}}}}}}\n",
                on.join(", "),
                say("stop"),
                say("delete")
            )
        })
        .collect();
    let env = with_nodes(&nodes.concat());
    job(&env, &["deploy", "--parallel", "16"]).succeeds();
    for (command, word) in [("stop", "stop"), ("teardown", "delete")] {
        job(&env, &[command, "--parallel", "16"]).succeeds();
        let lines = order(&env);
        let place = |text: String| lines.iter().position(|line| *line == text).unwrap();
        for (node, on) in needs.iter().enumerate() {
            let ended = place(format!("end {word} {node}"));
            for on in on {
                let began = place(format!("start {word} {on}"));
                assert!(ended < began, "{word}: n{node} needs n{on}");
            }
        }
        let pairs = lines.windows(2);
        let overlaps =
            pairs.filter(|pair| pair[0].starts_with("start") && pair[1].starts_with("start"));
        assert!(overlaps.count() > 20, "{lines:?}");
    }
    let instances = env.ensemble()["status"]["instances"].clone();
    for (name, instance) in instances.as_object().unwrap() {
        assert_eq!(instance["readyState"]["local"], "absent", "{name}");
    }
}
