//! What expressions and templates read and may do, from the command line.

use serde_json::Value as Json;

use super::support::TestEnv;

const HEAD: &str = "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    topology_template:
";

/// An ensemble with one node whose `configure` shows an input.
fn one_node(input: &str) -> TestEnv {
    TestEnv::with_ensemble(&format!(
        "{HEAD}      node_templates:
        node:
          type: tosca.nodes.Root
          interfaces:
            Standard:
              configure:
                implementation: Shell
                inputs:
                  command: 'echo {{{{ inputs.value }}}}'
                  value: {input}
"
    ))
}

/// How many tasks a deploy ran.
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
    let env = TestEnv::with_ensemble(&format!(
        "{HEAD}      inputs:
        maybe: {{type: string, required: false}}
      node_templates:
        node:
          type: test.Image
          properties:
            image: {{eval: {{container_image: 'busybox:1'}}}}
          interfaces:
            Standard:
              configure:
                implementation: Template
                inputs:
                  image: '{{{{ SELF.image }}}}'
                  done: {{status: ok}}
                  resultTemplate: {{attributes: {{path: {{eval: {{file: x.txt}}}}}}}}
      outputs:
        image: {{value: {{eval: '::node::image'}}}}
        files: {{value: [{{eval: {{file: x.txt}}}}]}}
        size: {{value: {{eval: {{scalar: 4 gb}}}}}}
        maybe: {{value: {{get_input: maybe}}}}
    node_types:
      test.Image:
        derived_from: tosca.nodes.Root
        properties:
          image: {{type: string}}
        attributes:
          path: {{type: string}}
"
    ));
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
