//! Jobs from the user's view: output, exit codes, and the files they leave.

use serde_json::Value as Json;

use super::drafts::{self, text, topology};
use super::support::TestEnv;

/// An ensemble with the nodes `before` and `after`. `after` requires `before` and runs the given command.
fn two_nodes(command: &str) -> String {
    topology(
        r#"
            node_templates:
              before:
                type: tosca.nodes.Root
                interfaces:
                  Standard:
                    configure: touch "$OLDPWD/before" || touch before
                    delete: rm -f before
              after:
                type: tosca.nodes.Root
                requirements: [{dependency: before}]
                interfaces:
                  Standard:
                    configure:
                      implementation: Shell
                      inputs: {command: <command>}
                    delete: echo gone
            "#,
    )
    .with("command", format!("{command:?}"))
    .build()
}

fn status(env: &TestEnv, name: &str) -> Json {
    env.ensemble()["status"]["instances"][name]["readyState"]["local"].clone()
}

#[test]
fn an_interrupted_job_records_what_it_made_and_can_be_torn_down() {
    let env = TestEnv::with_ensemble(&two_nodes("kill -INT $PPID; sleep 300"));
    let run = env.unfurl(["deploy", "--approve", "--grace", "0", "--output", "json"]);
    assert_eq!(run.code, 130, "{run}");
    assert_eq!(status(&env, "before"), "ok", "{run}");
    assert_ne!(status(&env, "after"), "ok", "{run}");
    assert!(!env.names().contains(&"ensemble.yaml.lock".to_owned()));

    env.unfurl(["teardown", "--approve"]).succeeds();
    assert_eq!(status(&env, "before"), "absent");
}

#[test]
fn a_failed_task_blocks_what_needs_it_and_the_next_job_goes_on_from_there() {
    let env = TestEnv::with_ensemble(&two_nodes("test -e fixed"));
    let run = env.unfurl(["deploy", "--approve", "--output", "json"]);
    assert_eq!(run.exits(64).json()["job"]["error"], 1);

    let text = env
        .read("ensemble.yaml")
        .replace("test -e fixed", "echo fixed");
    env.write("ensemble.yaml", &text);
    let run = env.unfurl(["deploy", "--approve", "--output", "json"]);
    let summary = run.succeeds().json();
    let targets: Vec<&Json> = summary["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| &task["target"])
        .collect();
    assert_eq!(targets, ["after"]);
}

#[test]
fn a_dry_run_leaves_every_tracked_file_as_it_was() {
    let env = TestEnv::with_ensemble(&two_nodes("touch made"));
    let before = env.tracked();
    let run = env.unfurl(["deploy", "--approve", "--dryrun"]).succeeds();
    assert_eq!(env.tracked(), before, "{run}");
}

#[test]
fn a_workflow_of_the_model_runs_by_its_name() {
    let workflows = "      workflows:
        greet:
          steps:
            one: {target: after, activities: [{call_operation: Standard.configure}]}
";
    let env = TestEnv::with_ensemble(&(two_nodes("touch greeted") + workflows));
    env.unfurl(["deploy", "--approve"]).succeeds();
    let run = env.unfurl([
        "deploy",
        "--approve",
        "--workflow",
        "greet",
        "--output",
        "json",
    ]);
    let summary = run.succeeds().json();
    assert_eq!(summary["tasks"][0]["target"], "after");
    assert_eq!(summary["tasks"].as_array().unwrap().len(), 1);

    env.unfurl(["deploy", "--approve", "--workflow", "nope"])
        .exits(64)
        .says(&["nope"]);
    env.unfurl(["teardown", "--approve", "--workflow", "greet"])
        .exits(2)
        .says(&["--workflow"]);
}

#[test]
fn a_deploy_workflow_that_ends_by_setting_a_state_deploys() {
    let workflows = "      workflows:
        deploy:
          steps:
            one:
              target: after
              activities: [{call_operation: Standard.configure}, {set_state: started}]
";
    let env = TestEnv::with_ensemble(&(two_nodes("true") + workflows));
    env.unfurl(["deploy", "--approve"]).succeeds();
    let deployed = &env.ensemble()["status"]["instances"]["after"];
    assert_eq!(deployed["readyState"]["local"], "ok");
    assert_eq!(deployed["readyState"]["state"], "started");
    let again = env.unfurl(["deploy", "--approve"]).succeeds();
    assert!(again.all().contains("Nothing to do"), "{again}");
}

#[test]
fn a_secret_is_in_no_file_that_a_job_writes_and_not_on_the_screen() {
    let secret = "hunter2hunter2";
    let text = topology(r#"
            outputs:
              shown: {value: {eval: '::db::password'}}
            node_templates:
              db:
                type: Db
                properties: {password: {get_env: SECRET}}
                interfaces:
                  Standard:
                    configure:
                      implementation: {primary: Shell, environment: {PW: {eval: '.::password'}}}
                      inputs:
                        command: 'echo "it is {{ SELF.password }}"; echo "$PW" >&2; cat /proc/$$/cmdline > argv'
                        resultTemplate: {attributes: {seen: '{{ stdout }}'}}
            "#).build();
    let types = "    node_types:
      Db:
        derived_from: tosca.nodes.Root
        properties:
          password: {type: string, metadata: {sensitive: true}}
";
    let text = text.replace(
        "    topology_template:\n",
        &format!("{types}    topology_template:\n"),
    );
    let env = TestEnv::with_ensemble(&text).variable("SECRET", secret);
    for arguments in [
        &["-vvv", "deploy", "--approve"][..],
        &["deploy", "--approve", "--force", "--output", "json"],
        &["status"],
    ] {
        let run = env.unfurl(arguments).succeeds();
        assert!(!run.all().contains(secret), "{run}");
    }
    let files = env.files();
    assert!(files.len() > 4, "{files:?}");
    for (path, bytes) in files {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(secret), "{path}:\n{text}");
    }
}

#[test]
fn the_record_is_the_same_however_many_tasks_run_at_the_same_time() {
    let record = |parallel: &str| {
        let nodes: Vec<String> = (0..40)
            .map(|number| {
                let node =
                    "n<n>: {type: tosca.nodes.Root, interfaces: {Standard: {configure: echo <n>}}}";
                text(node).with("n", number).build()
            })
            .collect();
        let env = drafts::nodes(&nodes.concat()).env();
        let start = [
            "--starttime",
            "2024-05-06-07-08-09-000000",
            "--parallel",
            parallel,
        ];
        env.unfurl(["deploy", "--approve"].iter().chain(&start))
            .succeeds();
        let status = env.ensemble()["status"].clone();
        let mut ids = Vec::new();
        let mut others = Vec::new();
        for (name, instance) in status["instances"].as_object().unwrap() {
            ids.push(instance["created"].as_str().unwrap().to_owned());
            others.push((name.clone(), instance["readyState"].clone()));
        }
        // Ids depend on the order in which tasks end, so only the set of ids is compared.
        ids.sort();
        (ids, others)
    };
    assert_eq!(record("1"), record("8"));
}

/// An ensemble whose instances write their names to the file `order` when they are deleted.
fn logging_nodes(nodes: &[(&str, &str)]) -> String {
    let nodes = nodes.iter().map(|(name, more)| {
        text("
                <name>:
                  type: tosca.nodes.Root
                  interfaces: {Standard: {configure: echo made, delete: 'sleep 0.0$((RANDOM % 9)); echo <name> >> order'}}
                  <more>
                ").with("name", name).with("more", more).build()
    });
    let nodes: Vec<String> = nodes.collect();
    drafts::nodes(&nodes.concat()).build()
}

#[test]
fn what_is_created_on_a_host_without_operations_stays_on_record() {
    for (host, options) in [
        ("type: tosca.nodes.Compute", &["--check"][..]),
        ("type: tosca.nodes.Compute, directives: [virtual]", &[]),
        ("type: tosca.nodes.Compute, directives: [default]", &[]),
    ] {
        let text = topology(
            "
                node_templates:
                  box: {<host>}
                  app:
                    type: tosca.nodes.SoftwareComponent
                    requirements: [{host: box}]
                    interfaces: {Standard: {configure: touch app}}
                ",
        )
        .with("host", host)
        .build();
        let env = TestEnv::with_ensemble(&text);
        let deploy = ["deploy", "--approve", "--output", "json"];
        let run = env.unfurl(deploy.iter().chain(options)).succeeds();
        let instances = env.ensemble()["status"]["instances"].to_string();
        assert!(instances.contains("\"app\""), "{host}: {instances}\n{run}");
        let again = env.unfurl(deploy.iter().chain(options)).succeeds();
        assert_eq!(again.json()["job"]["changed"], 0, "{host}: {again}");
    }
}

#[test]
fn teardown_keeps_all_that_a_protected_instance_needs() {
    let env = TestEnv::with_ensemble(&logging_nodes(&[
        ("a", ""),
        ("b", ""),
        (
            "d",
            "directives: [protected]\nrequirements: [{dependency: a}, {dependency: b}]",
        ),
    ]));
    env.unfurl(["deploy", "--approve"]).succeeds();
    for _ in 0..2 {
        env.unfurl(["teardown", "--approve"]);
        assert!(!env.names().contains(&"order".to_owned()));
    }
}

#[test]
fn prune_removes_dependents_first_and_only_what_the_model_has_no_use_for() {
    let dependent = "directives: [dependent]";
    let env = TestEnv::with_ensemble(&logging_nodes(&[
        ("y", ""),
        ("x", "requirements: [{dependency: y}]"),
        ("stays", ""),
    ]));
    env.unfurl(["deploy", "--approve"]).succeeds();
    let text = env.read("ensemble.yaml");
    let text = text
        .replacen(
            "        y:\n",
            &format!("        y:\n          {dependent}\n"),
            1,
        )
        .replacen(
            "        x:\n",
            &format!("        x:\n          {dependent}\n"),
            1,
        );
    env.write("ensemble.yaml", &text);
    let plan = env.unfurl(["plan", "--prune"]).succeeds();
    assert!(!plan.stdout.contains("stays"), "{plan}");
    for refused in [
        &["stop", "--prune"][..],
        &["deploy", "--prune", "--template", "stays"],
    ] {
        env.unfurl(refused).exits(2).says(&["--prune"]);
    }
    env.unfurl(["teardown", "--prune", "--approve"]).succeeds();
    assert_eq!(env.read("order").lines().count(), 3);
    assert_eq!(status(&env, "y"), "absent");
}

#[test]
fn instances_that_read_each_other_do_not_hold_a_job_for_ever() {
    let node = |name: &str, other: &str| {
        text(
            "
                <name>:
                  type: tosca.nodes.Root
                  interfaces:
                    Install: {check: {implementation: Template, inputs: {done: {status: ok}}}}
                    Standard:
                      configure:
                        implementation: Template
                        inputs:
                          run: {eval: '::<other>::seen'}
                          resultTemplate: {attributes: {seen: yes}}
                ",
        )
        .with("name", name)
        .with("other", other)
        .build()
    };
    let nodes = node("a", "b") + &node("b", "a");
    let env = drafts::nodes(&nodes).env();
    for arguments in [
        &["deploy", "--approve"][..],
        &["deploy", "--approve", "--force"],
        &["check"],
    ] {
        env.unfurl(arguments);
    }
}

#[test]
fn a_dry_run_of_a_secret_command_is_one() {
    let text = topology(
        "
            node_templates:
              a:
                type: tosca.nodes.Root
                interfaces:
                  Standard:
                    configure:
                      implementation: Shell
                      inputs:
                        command: {eval: {sensitive: 'echo %dryrun% > ran'}}
                        dryrun: --dry-run
            ",
    )
    .build();
    let env = TestEnv::with_ensemble(&text);
    env.unfurl(["deploy", "--approve", "--dryrun"]).succeeds();
    assert_eq!(env.read("ran").trim(), "--dry-run");
}

#[test]
fn a_second_signal_ends_a_command_that_ignores_the_first() {
    let command = "trap '' INT TERM; kill -INT $PPID; sleep 0.3; kill -INT $PPID; sleep 300";
    let env = TestEnv::with_ensemble(&two_nodes(command));
    // The grace period is longer than the test, so only the second signal can end the command.
    let run = env.unfurl(["deploy", "--approve", "--grace", "5m"]);
    assert_eq!(run.code, 130, "{run}");
    assert_eq!(status(&env, "before"), "ok", "{run}");
}

#[test]
fn a_closed_terminal_ends_the_job_in_order() {
    let env = TestEnv::with_ensemble(&two_nodes("kill -HUP $PPID; sleep 50"));
    let run = env.unfurl(["deploy", "--approve", "--grace", "0"]);
    assert_eq!(run.code, 129, "{run}");
    assert_eq!(status(&env, "before"), "ok", "{run}");
}

#[test]
fn a_delegate_to_an_operation_that_is_not_there_fails() {
    let text = topology(
        "
            node_templates:
              a:
                type: tosca.nodes.Root
                interfaces:
                  Standard:
                    configure:
                      implementation: Delegate
                      inputs: {operation: Standard.nonesuch}
            ",
    )
    .build();
    let env = TestEnv::with_ensemble(&text);
    env.unfurl(["deploy", "--approve"])
        .exits(64)
        .says(&["nonesuch"]);
}

#[test]
fn values_of_options_are_not_in_the_lock() {
    let command = "cat ensemble.yaml.owner.lock > seen";
    let env = TestEnv::with_ensemble(&two_nodes(command));
    env.unfurl(["deploy", "--approve", "--var", "pw", "hunter2hunter2"])
        .succeeds();
    let seen = env.read("seen");
    assert!(seen.contains("unfurl deploy"), "{seen}");
    assert!(!seen.contains("hunter2"), "{seen}");
}

#[test]
fn a_damaged_id_of_the_last_job_is_no_obstacle() {
    let env = TestEnv::with_ensemble(&(two_nodes("echo") + "lastJob: {changeId: aéééééé}\n"));
    env.unfurl(["deploy", "--approve"]).succeeds();
    for name in ["before", "after"] {
        assert_eq!(status(&env, name), "ok");
    }
    let job = env.ensemble()["lastJob"]["changeId"].clone();
    assert!(job.as_str().unwrap().is_ascii(), "{job}");
}

#[test]
fn the_lock_of_a_living_process_is_broken_by_force_only() {
    let env = TestEnv::with_ensemble(&two_nodes("echo"));
    let mine = std::process::id().to_string();
    env.write("ensemble.yaml.lock", &mine);
    env.unfurl(["lock", "break"]).exits(1);
    assert_eq!(env.read("ensemble.yaml.lock"), mine);
    env.unfurl(["lock", "break", "--force"]).succeeds();
    assert!(!env.names().contains(&"ensemble.yaml.lock".to_owned()));
}

#[test]
fn the_record_goes_into_an_ensemble_that_was_edited_meanwhile() {
    let command = "sed -i 's/^kind: Ensemble/kind: Ensemble # edited/' ensemble.yaml";
    let env = TestEnv::with_ensemble(&two_nodes(command));
    let run = env.unfurl(["deploy", "--approve"]).succeeds();
    assert!(env.read("ensemble.yaml").contains("# edited"), "{run}");
    assert_eq!(status(&env, "before"), "ok", "{run}");

    let env = TestEnv::with_ensemble(&two_nodes("echo '- no ensemble' > ensemble.yaml"));
    let run = env.unfurl(["deploy", "--approve"]);
    run.exits(70).says(&["ensemble.yaml.rescued"]);
    assert_eq!(env.read("ensemble.yaml"), "- no ensemble\n");
    assert!(env.read("ensemble.yaml.rescued").contains("before"));
}

#[test]
fn an_operation_that_reads_an_input_of_the_topology_runs_once() {
    for command in [
        r#"{concat: ["echo ", {get_input: inp}]}"#,
        r#""echo {{ '::root::inputs::inp' | eval }}""#,
        "[echo, {get_input: inp}]",
        r#""echo {{ TOPOLOGY.inputs.inp }}""#,
    ] {
        let env = topology("
                inputs: {inp: {type: string, default: abc}, other: {type: string, default: x}}
                node_templates:
                  n:
                    type: tosca.nodes.Root
                    interfaces: {Standard: {configure: {implementation: Shell, inputs: {command: <command>}}}}
                ").with("command", command).env();
        let first = env.unfurl(["deploy", "--approve"]);
        assert_eq!(first.code, 0, "{command}: {first}");
        let record = env.read("ensemble.yaml");
        for arguments in [vec![], vec!["--var", "input_other", "y"]] {
            let run = env.unfurl([vec!["deploy", "--approve"], arguments].concat());
            assert_eq!(run.code, 0, "{command}: {run}");
            assert_eq!(env.read("ensemble.yaml"), record, "{command}: {run}");
        }
        env.unfurl(["deploy", "--approve", "--var", "input_inp", "new"]);
        assert_ne!(env.read("ensemble.yaml"), record, "{command}");
    }
}

#[test]
fn an_instance_waits_for_what_it_requires_also_where_that_waits_for_a_relationship_of_its_own() {
    let text = topology(
        "
            node_templates:
              low:
                type: tosca.nodes.Root
                interfaces: {Standard: {configure: sleep 0.2}}
              high:
                type: tosca.nodes.Root
                requirements: [{dependency: {node: low, relationship: Rel}}]
                interfaces: {Standard: {configure: 'true'}}
            ",
    )
    .build();
    let types = "    relationship_types:
      Rel:
        derived_from: tosca.relationships.DependsOn
        attributes: {tok: {type: string}}
        interfaces:
          Configure:
            operations:
              pre_configure_source:
                implementation: Template
                inputs: {resultTemplate: {attributes: {tok: x}}}
              post_configure_target: echo '{{ SELF.tok }}'
    topology_template:
";
    let text = text.replace("    topology_template:\n", types);
    let env = TestEnv::with_ensemble(&text);
    let job = env.unfurl(["deploy", "--approve"]).succeeds();
    assert!(job.all().contains("Deployed: "), "{job}");
    assert_eq!(status(&env, "high"), "ok");
}

#[test]
fn a_deferred_instance_that_requires_a_deferred_one_comes_after_it() {
    let text = topology("
            node_templates:
              told:
                type: Told
                interfaces:
                  Standard:
                    create: {implementation: Template, inputs: {resultTemplate: {attributes: {a: x}}}}
              low:
                type: Told
                interfaces:
                  Standard:
                    configure: {implementation: Template, inputs: {run: {get_attribute: [told, a]}}}
              high:
                type: Told
                requirements: [{dependency: low}]
                interfaces:
                  Standard:
                    create: Template
                    configure: {implementation: Template, inputs: {run: {get_attribute: [told, a]}}}
            ").build();
    let types = "    node_types:
      Told:
        derived_from: tosca.nodes.Root
        attributes: {a: {type: string}}
    topology_template:
";
    let text = text.replace("    topology_template:\n", types);
    let env = TestEnv::with_ensemble(&text);
    env.unfurl(["deploy", "--approve"]).succeeds();
    assert_eq!(status(&env, "high"), "ok");
}

#[test]
fn a_check_that_waits_for_what_it_reads_still_comes_before_the_creation_that_it_may_spare() {
    let text = topology(
        "
            node_templates:
              other:
                type: Told
                interfaces: {Standard: {create: Template}}
              there:
                type: Told
                directives: [check]
                interfaces:
                  Install:
                    check:
                      implementation: Template
                      inputs:
                        run: {get_attribute: [other, early]}
                        resultTemplate: {readyState: {local: ok}}
                  Standard: {create: Template}
            ",
    )
    .build();
    let types = "    node_types:
      Told:
        derived_from: tosca.nodes.Root
        attributes: {early: {type: string, default: soon}}
    topology_template:
";
    let text = text.replace("    topology_template:\n", types);
    let env = TestEnv::with_ensemble(&text);
    let run = env.unfurl(["deploy", "--approve", "--output", "json"]);
    let summary = run.succeeds().json();
    let tasks = summary["tasks"].as_array().unwrap();
    let ran = tasks
        .iter()
        .map(|task| (task["target"].as_str(), task["operation"].as_str()));
    let ran: Vec<_> = ran.collect();
    assert_eq!(
        ran,
        [
            (Some("other"), Some("create")),
            (Some("there"), Some("check"))
        ]
    );
}

#[test]
fn a_default_that_only_relationships_act_on_is_recorded_with_them() {
    let text = topology(
        "
            node_templates:
              low: {type: tosca.nodes.Root}
              between:
                type: tosca.nodes.Root
                directives: [default]
                requirements: [{dependency: {node: low, relationship: Told}}]
              high:
                type: tosca.nodes.Root
                requirements: [{dependency: between}]
            ",
    )
    .build();
    let types = "    relationship_types:
      Told:
        derived_from: tosca.relationships.DependsOn
        interfaces: {Configure: {operations: {pre_configure_source: Template}}}
    topology_template:
";
    let text = text.replace("    topology_template:\n", types);
    let env = TestEnv::with_ensemble(&text);
    env.unfurl(["deploy", "--approve"]).succeeds();
    let before = env.tracked();
    assert!(env.read("ensemble.yaml").contains("between~r~dependency"));
    env.unfurl(["deploy", "--approve"]).succeeds();
    assert_eq!(env.tracked(), before);
}

#[test]
fn what_requires_through_an_instance_without_operations_waits_all_the_same() {
    let text = topology(
        "
            node_templates:
              low:
                type: tosca.nodes.Root
                interfaces:
                  Standard: {create: sleep 0.3 && touch made}
              between:
                type: tosca.nodes.Root
                requirements: [{dependency: low}]
              high:
                type: tosca.nodes.Root
                requirements: [{dependency: between}]
                interfaces:
                  Standard: {create: test -e made}
            ",
    )
    .build();
    let env = TestEnv::with_ensemble(&text);
    env.unfurl(["deploy", "--approve", "--parallel", "4"])
        .succeeds();
}

#[test]
fn steps_keep_their_order_around_one_that_is_left_out() {
    let text = topology("
            node_templates:
              found:
                type: tosca.nodes.Root
                directives: [discover]
                interfaces:
                  Install:
                    operations:
                      discover: {implementation: sleep 0.2, inputs: {resultTemplate: {readyState: ok}}}
              base:
                type: tosca.nodes.Root
                interfaces: {Standard: {configure: Template}}
              middle:
                type: tosca.nodes.Root
                requirements:
                  - first: found
                  - second: {node: base, relationship: Rel}
                interfaces: {Standard: {create: sleep 0.1}}
              unused:
                type: tosca.nodes.Root
                directives: [default]
                requirements: [{third: {node: middle, relationship: Rel}}]
            ").build();
    let types = "    relationship_types:
      Rel:
        derived_from: tosca.relationships.DependsOn
        interfaces:
          Configure:
            operations:
              pre_configure_target: Template
              post_configure_source: Template
    topology_template:
";
    let text = text.replace("    topology_template:\n", types);
    let env = TestEnv::with_ensemble(&text);
    let job = env
        .unfurl(["deploy", "--approve", "--output", "json"])
        .succeeds();
    let tasks = job.json()["tasks"].clone();
    let at = |operation: &str| {
        let mut tasks = tasks.as_array().unwrap().iter();
        tasks.position(|task| task["operation"] == operation)
    };
    assert!(at("create") < at("post_configure_source"), "{job}");
    assert!(at("discover") < at("create"), "{job}");
}
