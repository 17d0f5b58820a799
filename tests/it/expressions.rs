//! Expressions and templates from the command line: the data they read, and the effects they may have.

use serde_json::Value as Json;

use super::drafts::{ensemble, topology};
use super::support::TestEnv;

/// An ensemble with one node whose `configure` prints an input.
fn one_node(input: &str) -> TestEnv {
    topology(
        "
            node_templates:
              node:
                type: tosca.nodes.Root
                interfaces:
                  Standard:
                    configure:
                      implementation: Shell
                      inputs:
                        command: 'echo {{ inputs.value }}'
                        value: <input>
            ",
    )
    .with("input", input)
    .env()
}

/// Deploys and returns the number of tasks that ran.
fn deployed(env: &TestEnv) -> u64 {
    let run = env
        .unfurl(["deploy", "--approve", "--output", "json"])
        .succeeds();
    let summary: Json = serde_json::from_str(&run.stdout).unwrap();
    summary["job"]["total"].as_u64().unwrap() - summary["job"]["skipped"].as_u64().unwrap()
}

#[test]
fn a_task_runs_again_when_a_file_it_read_has_changed() {
    let reads = [
        "{eval: {file: data/a.txt}, select: contents}",
        "{eval: {abspath: data/a.txt}}",
        "{eval: {abspath: data}}",
        "'{{ \"data\" | abspath }}'",
        "'{{ lookup(\"file\", \"data/a.txt\") }}'",
        "'{{ lookup(\"ini\", \"k section=s file=data/a.txt\") }}'",
    ];
    for read in reads {
        let env = one_node(read);
        env.write("data/a.txt", "[s]\nk=one\n");
        assert_eq!(deployed(&env), 1, "{read}");
        assert_eq!(deployed(&env), 0, "{read}");
        env.write("data/a.txt", "[s]\nk=two\n");
        assert_eq!(deployed(&env), 1, "{read}");
        assert_eq!(deployed(&env), 0, "{read}");
    }
}

#[test]
fn a_task_runs_again_when_a_file_whose_path_is_part_of_a_text_has_changed() {
    let reads = [
        "'-f {{ \"data/a.txt\" | abspath }}'",
        "'-f {{ {\"file\": \"data/a.txt\", \"select\": \"path\"} | eval }}'",
        "'-f {{ {\"eval\": {\"file\": \"data/a.txt\"}, \"select\": \"path\"} | eval }}'",
        "{concat: ['-f ', {eval: {abspath: data/a.txt}}]}",
        "'-d {{ \"data\" | abspath }}'",
    ];
    for read in reads {
        let env = one_node(read);
        env.write("data/a.txt", "one");
        assert_eq!(deployed(&env), 1, "{read}");
        assert_eq!(deployed(&env), 0, "{read}");
        env.write("data/a.txt", "two");
        let plan = env.unfurl(["plan"]).succeeds();
        assert!(plan.stdout.contains("file data"), "{read}: {}", plan.stdout);
        assert_eq!(deployed(&env), 1, "{read}");
        assert_eq!(deployed(&env), 0, "{read}");
    }
}

#[test]
fn a_file_that_a_task_itself_writes_does_not_make_it_run_again() {
    let env = one_node("'x >> {{ \"log.txt\" | abspath }}'");
    assert_eq!(deployed(&env), 1);
    assert_eq!(deployed(&env), 0);
    let env = one_node("'x >> {{ \"log.txt\" | abspath }}'");
    env.write("log.txt", "before");
    assert_eq!(deployed(&env), 1);
    assert_eq!(deployed(&env), 0);
}

/// An ensemble with one node whose `configure` is as given.
fn with_configure(configure: &str) -> TestEnv {
    let env = topology(
        "
            node_templates:
              node:
                type: tosca.nodes.Root
                artifacts:
                  bash: {type: tosca.artifacts.Implementation.Bash, file: scripts/run.sh}
                  python: {type: tosca.artifacts.Implementation.Python, file: scripts/run.py}
                interfaces:
                  Standard:
                    configure: <configure>
            ",
    )
    .with("configure", configure)
    .env();
    env.write("scripts/run.py", "print('ran 1')\n");
    env.write("scripts/run.sh", "#!/bin/sh\necho ran 1\n");
    env
}

#[test]
fn a_task_runs_again_when_the_script_that_it_runs_has_changed() {
    for configure in [
        "sh ./scripts/run.sh",
        "{implementation: Shell, inputs: {command: [sh, scripts/run.sh, x]}}",
        "bash",
    ] {
        let env = with_configure(configure);
        assert_eq!(deployed(&env), 1, "{configure}");
        assert_eq!(deployed(&env), 0, "{configure}");
        env.write("scripts/run.sh", "#!/bin/sh\necho ran 2\n");
        let plan = env.unfurl(["plan"]).succeeds();
        assert!(
            plan.stdout.contains("file scripts/run.sh"),
            "{}",
            plan.stdout
        );
        assert_eq!(deployed(&env), 1, "{configure}");
        assert_eq!(deployed(&env), 0, "{configure}");
    }
}

#[test]
fn a_script_artifact_runs_as_a_program_or_with_its_interpreter() {
    for name in ["bash", "python"] {
        let inputs = "inputs: {resultTemplate: {attributes: {said: '{{ stdout | trim }}'}}}";
        let env = with_configure(&format!("{{implementation: {name}, {inputs}}}"));
        assert_eq!(deployed(&env), 1, "{name}");
        let said = &env.ensemble()["status"]["instances"]["node"]["attributes"]["said"];
        assert_eq!(said, "ran 1", "{name}");
        let file = if name == "bash" {
            "scripts/run.sh"
        } else {
            "scripts/run.py"
        };
        let changes = env
            .unfurl(["history", "--output", "json"])
            .succeeds()
            .stdout;
        assert!(!changes.is_empty());
        let record = env.read("jobs.tsv");
        assert!(record.contains(&format!(",.file::{file}\t")), "{record}");
        assert!(record.contains("digestKeys=command\t"), "{record}");
    }
}

#[test]
fn the_parts_of_an_expression_stand_beside_its_function() {
    let env = one_node("'x'");
    env.write("a.txt", "contents of a");
    let query = |expression: &str| {
        let text = format!("{{{{ {expression} | eval }}}}");
        let run = env.unfurl(["plan", "--query", &text]).succeeds();
        run.stdout.trim().to_owned()
    };
    let contents = query("{'file': 'a.txt', 'select': 'contents'}");
    assert!(contents.contains("contents of a"), "{contents}");
    let name = query("{'if': true, 'then': '$of::.name', 'vars': {'of': {'eval': '::node'}}}");
    assert!(name.contains("node"), "{name}");
}

#[test]
fn an_instance_in_a_text_has_its_name_and_no_internal_number() {
    let env = one_node(
        "'{{ \"::node\" | eval }} {{ {\"get_nodes_of_type\": \"tosca.nodes.Root\"} | eval }}'",
    );
    let plan = env.unfurl(["plan"]).succeeds();
    let text = "echo NodeInstance('node') NodeInstance('node')";
    assert!(plan.stdout.contains(text), "{}", plan.stdout);
    let env = topology(
        "
            node_templates:
              node:
                type: tosca.nodes.Root
                interfaces:
                  Standard:
                    configure:
                      implementation: Template
                      inputs:
                        run: {type: {eval: '::node::.template::type'}, name: {eval: '.template::name'}}
                        resultTemplate:
                          attributes: {type: '{{ type }}', name: '{{ name }}', of: {eval: '::node'}}
            outputs: {node: {value: {eval: '::node'}}}
            ",
    )
    .env();
    assert_eq!(deployed(&env), 1);
    assert_eq!(deployed(&env), 0);
    let status = &env.ensemble()["status"];
    let expected = serde_json::json!({
        "type": "tosca.nodes.Root", "name": "node", "of": {"ref": "::node"}
    });
    assert_eq!(status["instances"]["node"]["attributes"], expected);
    assert_eq!(
        status["outputs"]["node"],
        serde_json::json!({"ref": "::node"})
    );
}

#[test]
fn a_folder_that_a_task_writes_to_does_not_make_it_run_again() {
    let env = one_node("{eval: {get_dir: [artifacts, true]}}");
    let text = env.read("ensemble.yaml");
    env.write(
        "ensemble.yaml",
        &text.replace("'echo ", "'date > x; touch "),
    );
    assert_eq!(deployed(&env), 1);
    assert_eq!(deployed(&env), 0);
}

#[test]
fn what_runs_a_program_while_planning_is_refused_unless_it_is_allowed() {
    let env = one_node("'{{ lookup(\"pipe\", \"echo made; touch made\") }}'");
    let run = env.unfurl(["plan"]);
    let told = format!("{}{}", run.stdout, run.stderr);
    assert!(told.contains("`pipe` runs a program"), "{run}");
    assert!(told.contains("--allow pipe"), "{run}");
    assert!(!env.work().join("made").exists(), "{run}");

    let run = env
        .unfurl(["deploy", "--approve", "--allow", "url,pipe"])
        .succeeds();
    assert!(env.work().join("made").exists(), "{run}");
}

#[test]
fn a_project_that_the_home_project_trusts_may_do_what_it_asks_for() {
    let env = one_node("'{{ lookup(\"pipe\", \"touch made\") }}'");
    let work = env.work();
    let home = work.parent().unwrap().join("home/project");
    std::fs::create_dir_all(&home).unwrap();
    let trust = |folder: &str| {
        let text = format!("apiVersion: unfurl/v1.0.0\nkind: Project\ntrusted: [{folder}]\n");
        std::fs::write(home.join("unfurl.yaml"), text).unwrap();
    };
    let home_text = home.to_str().unwrap().to_owned();
    let deploy = || env.unfurl(["--home", &home_text, "deploy", "--approve"]);
    trust("../elsewhere");
    deploy();
    assert!(!work.join("made").exists());
    trust("../../work");
    deploy().succeeds();
    assert!(work.join("made").exists());
}

#[test]
fn files_and_images_are_recorded_as_expressions_in_properties_and_as_text_elsewhere() {
    let env = ensemble(
        "
            topology_template:
              inputs:
                maybe: {type: string, required: false}
              node_templates:
                node:
                  type: test.Image
                  properties:
                    image: {eval: {container_image: 'busybox:1'}}
                  interfaces:
                    Standard:
                      configure:
                        implementation: Template
                        inputs:
                          image: '{{ SELF.image }}'
                          done: {status: ok}
                          resultTemplate: {attributes: {path: {eval: {file: x.txt}}}}
              outputs:
                image: {value: {eval: '::node::image'}}
                files: {value: [{eval: {file: x.txt}}]}
                size: {value: {eval: {scalar: 4 gb}}}
                maybe: {value: {get_input: maybe}}
            node_types:
              test.Image:
                derived_from: tosca.nodes.Root
                properties:
                  image: {type: string}
                attributes:
                  path: {type: string}
            ",
    )
    .env();
    env.unfurl(["deploy", "--approve"]).succeeds();
    let record = env.read("ensemble.yaml");
    let status = record.split_once("\nstatus:").unwrap().1;
    let status = status.split_once("      priority").unwrap().0;
    insta::assert_snapshot!(status, @"
    inputs:
      maybe:
    outputs:
      image: busybox:1
      files:
      - x.txt
      size:
        eval:
          scalar: 4 GB
      maybe:
    instances:
      node:
        template: node
        attributes:
          path: x.txt
        properties:
          image:
            eval:
              container_image: busybox:1
    ");
}

/// An ensemble in which `::db::url` fails to evaluate.
fn broken(inputs: &str) -> TestEnv {
    ensemble(
        "
            topology_template:
              inputs:
                size: {type: integer, default: {eval: {div: [1, 0]}}}
              node_templates:
                db:
                  type: test.Any
                  properties:
                    secret: {eval: {sensitive: hush}}
                    url: '{{ SELF.secret }}-{{ SELF.nope }}'
                web:
                  type: test.Any
                  properties:
                    url:
                      eval: ::db::url
                  interfaces:
                    Standard:
                      configure:
                        implementation: {primary: Shell, environment: {SIZE: {get_input: none}}}
                        inputs: <inputs>
              outputs:
                size:
                  value: {get_input: size}
            node_types:
              test.Any:
                derived_from: tosca.nodes.Root
                properties:
                  secret: {type: string, required: false}
                  url: {type: string, required: false}
            ",
    )
    .with("inputs", inputs)
    .env()
}

#[test]
fn an_input_that_cannot_be_evaluated_is_shown_with_the_properties_that_it_reads() {
    let env = broken("{command: 'curl {{ SELF.url }}'}");
    let run = env.unfurl(["deploy", "--approve"]).exits(64);
    assert!(!run.all().contains("hush-"), "{}", run.all());
    insta::assert_snapshot!(run.stderr, @"
    error: variable `SIZE` of operation `Standard.configure` of node template `web` reads the input `none`, which is not declared
      --> ensemble.yaml:23:82
       |
    23 |                 implementation: {primary: Shell, environment: {SIZE: {get_input: none}}}
       |                                                                                  ^^^^
       |
       = hint: declare `none` under `topology_template.inputs`

    error: Standard.configure of `web`: `nope` is not defined on `::db` in the template `{{ SELF.secret }}-{{ SELF.nope }}`
      --> ensemble.yaml:14:18
       |
    14 |             url: '{{ SELF.secret }}-{{ SELF.nope }}'
       |                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ evaluated here
    ...
    19 |               eval: ::db::url
       |               --------------- needed by `url` of `::web`
    ...
    24 |                 inputs: {command: 'curl {{ SELF.url }}'}
       |                                   --------------------- needed by the input `command` of the task
       |
       = hint: define the name, or supply a default value with `| default(…)`

    error: Aborting job: there were errors during rendering: Standard.configure of `web`: `nope` is not defined on `::db` in the template `{{ SELF.secret }}-{{ SELF.nope }}`; `--exclude web` leaves the instance out
    error: output `size` cannot be evaluated: `div`: cannot divide by zero
      --> ensemble.yaml:8:40
       |
     8 |         size: {type: integer, default: {eval: {div: [1, 0]}}}
       |                                        ^^^^^^^^^^^^^^^^^^^^^ evaluated here
    ...
    26 |         size:
       |         ---- needed by the output `size`
    ");
}

#[test]
fn an_expression_that_is_wrong_by_itself_is_shown_where_it_stands() {
    let env = broken("{command: {eval: {concat: [a, b], sep: {eval: '::a['}}}}");
    let run = env.unfurl(["plan"]).exits(64);
    insta::assert_snapshot!(run.stderr, @"
    error: property `url` of node template `db` reads `nope`, which node template `db` of type `test.Any` does not declare
      --> ensemble.yaml:14:45
       |
    14 |             url: '{{ SELF.secret }}-{{ SELF.nope }}'
       |                                             ^^^^

    error: variable `SIZE` of operation `Standard.configure` of node template `web` reads the input `none`, which is not declared
      --> ensemble.yaml:23:82
       |
    23 |                 implementation: {primary: Shell, environment: {SIZE: {get_input: none}}}
       |                                                                                  ^^^^
       |
       = hint: declare `none` under `topology_template.inputs`

    error: Standard.configure of `web`: `::a[` is not an expression: a `]` is missing at character 5
      --> ensemble.yaml:24:35
       |
    24 |                 inputs: {command: {eval: {concat: [a, b], sep: {eval: '::a['}}}}
       |                                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ evaluated here
    ");
}

#[test]
fn what_has_no_place_of_its_own_is_shown_at_its_operation() {
    let env = broken("{command: echo}");
    let run = env.unfurl(["--quiet", "deploy", "--approve"]).exits(64);
    insta::assert_snapshot!(run.stderr, @"
    error: property `url` of node template `db` reads `nope`, which node template `db` of type `test.Any` does not declare
      --> ensemble.yaml:14:45
       |
    14 |             url: '{{ SELF.secret }}-{{ SELF.nope }}'
       |                                             ^^^^

    error: Standard.configure of `web`: undefined input `none`
      --> ensemble.yaml:23:33
       |
    23 |                 implementation: {primary: Shell, environment: {SIZE: {get_input: none}}}
       |                                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ in this operation
       |
       = hint: declare the input, or supply a default value: `get_input: [none, …]`

    error: Aborting job: there were errors during rendering: Standard.configure of `web`: undefined input `none`; `--exclude web` leaves the instance out
    error: output `size` cannot be evaluated: `div`: cannot divide by zero
      --> ensemble.yaml:8:40
       |
     8 |         size: {type: integer, default: {eval: {div: [1, 0]}}}
       |                                        ^^^^^^^^^^^^^^^^^^^^^ evaluated here
    ...
    26 |         size:
       |         ---- needed by the output `size`
    ");
}

#[test]
fn json_output_has_the_positions_of_problems_as_well() {
    let env = broken("{command: 'curl {{ SELF.url }}'}");
    let run = env
        .unfurl(["--quiet", "deploy", "--approve", "--output", "json"])
        .exits(64);
    let problems = run.json()["problems"].clone();
    let labels: Vec<_> = problems
        .as_array()
        .unwrap()
        .iter()
        .map(|problem| {
            problem["labels"]
                .as_array()
                .unwrap()
                .iter()
                .map(|label| {
                    format!(
                        "{}:{}:{} {}",
                        label["file"], label["line"], label["column"], label["text"]
                    )
                })
                .collect::<Vec<_>>()
                .join(", ")
        })
        .collect();
    insta::assert_snapshot!(labels.join("\n"), @r#"
    "ensemble.yaml":8:40 "evaluated here", "ensemble.yaml":26:9 "needed by the output `size`"
    "ensemble.yaml":14:18 "evaluated here", "ensemble.yaml":19:15 "needed by `url` of `::web`", "ensemble.yaml":24:35 "needed by the input `command` of the task"
    "#);
}

#[test]
fn a_query_that_fails_is_shown_with_the_property_that_it_reads() {
    let env = broken("{command: echo}");
    let text = env
        .read("ensemble.yaml")
        .replace("environment: {SIZE: {get_input: none}}", "timeout: 5");
    env.write(
        "ensemble.yaml",
        &text.replace("value: {get_input: size}", "value: 1"),
    );
    env.unfurl(["deploy", "--approve"]).succeeds();
    let run = env.unfurl(["status", "--query", "::web::url"]).exits(1);
    insta::assert_snapshot!(run.stderr, @"
    error: `nope` is not defined on `::db` in the template `{{ SELF.secret }}-{{ SELF.nope }}`
      --> ensemble.yaml:14:18
       |
    14 |             url: '{{ SELF.secret }}-{{ SELF.nope }}'
       |                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ evaluated here
    ...
    19 |               eval: ::db::url
       |               --------------- needed by `url` of `::web`
       |
       = hint: define the name, or supply a default value with `| default(…)`
    ");
    let run = env.unfurl(["status", "--query", "{{ nope }}"]).exits(1);
    insta::assert_snapshot!(run.stderr, @"
    error: `nope` is not defined in the template `{{ nope }}`
     = hint: define the name, or supply a default value with `| default(…)`
    ");
}
