//! Connections of environments in tasks: variables of commands, expressions, secrets and errors.

use super::super::support::TestEnv;
use super::{At as _, attribute, deployed, printing, project};

const TWO_ACCOUNTS: &str = "  defaults:
    variables: {AWS_ACCESS_KEY_ID: of-variables, AWS_PROFILE: of-variables}
    connections:
      primary_provider:
        type: unfurl.relationships.ConnectsTo.AWSAccount
        properties: {AWS_DEFAULT_REGION: first, AWS_PROFILE: of-connection}
      second:
        type: unfurl.relationships.ConnectsTo.AWSAccount
        properties: {AWS_DEFAULT_REGION: second}
      for-host:
        type: unfurl.relationships.ConnectsTo.AWSAccount
        default_for: h
        properties: {AWS_DEFAULT_REGION: of-host}
";

#[test]
fn the_credentials_of_the_environment_go_before_those_of_the_shell() {
    let env = project(
        "  defaults:
    connections:
      primary_provider:
        type: unfurl.relationships.ConnectsTo.AWSAccount
        properties: {AWS_ACCESS_KEY_ID: AKIA, AWS_DEFAULT_REGION: us-west-2}
",
        &printing("^AWS_[AD]"),
    );
    let env = env.variable("AWS_ACCESS_KEY_ID", "FROM_SHELL");
    assert_eq!(
        deployed(&env),
        "AWS_ACCESS_KEY_ID=AKIA\nAWS_DEFAULT_REGION=us-west-2"
    );
    let again = env.unfurl(["deploy", "--approve"]).succeeds();
    assert!(again.stdout.contains("Nothing to do"), "{again}");
}

#[test]
fn of_one_type_the_connection_of_the_nearest_host_counts_and_then_the_last_one() {
    let shows = "          type: tosca.nodes.Root
          interfaces:
            Standard:
              configure:
                implementation: Shell
                inputs:
                  command: echo $AWS_DEFAULT_REGION $AWS_ACCESS_KEY_ID $AWS_PROFILE
                  resultTemplate: {attributes: {o: '{{ stdout | trim }}', names: '{{ connections | list | join }}'}}
";
    let env = project(
        TWO_ACCOUNTS,
        &format!(
            "        h:\n{shows}        free:\n{shows}        on:\n{shows}          requirements: [host: h]\n"
        ),
    );
    env.unfurl(["deploy", "--approve"]).succeeds();
    let ensemble = env.ensemble();
    let instances = &ensemble["status"]["instances"];
    let seen = |node: &serde_json::Value| {
        let of = |name: &str| node["attributes"][name].as_str().unwrap().to_owned();
        (of("o"), of("names"))
    };
    // A property without a value leaves the variable of the environment's rules alone.
    let on_host = (
        "of-host of-variables of-variables".to_owned(),
        "for-hostsecondprimary_provider".to_owned(),
    );
    assert_eq!(seen(&instances["h"]), on_host);
    assert_eq!(seen(&instances["h"]["instances"]["on"]), on_host);
    let free = seen(&instances["free"]);
    assert_eq!(free.1, "secondprimary_provider");
    assert!(free.0.starts_with("second of-variables"), "{free:?}");
}

#[test]
fn expressions_find_connections_by_name_by_type_and_by_node() {
    let env = project(
        TWO_ACCOUNTS,
        "        h: {type: unfurl.nodes.Generic}
        a:
          type: unfurl.nodes.Generic
          properties: {}
          requirements: [dependency: h]
          interfaces:
            Standard:
              configure:
                implementation: Template
                inputs:
                  run: x
                  resultTemplate:
                    attributes:
                      name: {eval: $connections::second::AWS_DEFAULT_REGION}
                      type: {eval: $connections::AWSAccount::AWS_DEFAULT_REGION}
                      base: {eval: $connections::unfurl.relationships.ConnectsTo.CloudAccount::.name}
                      all: \"{{ '$connections::*::.name' | eval }}\"
                      dot: '{{ connections.second.AWS_DEFAULT_REGION }} {{ connections.AWSAccount.region }}'
                      missing: {eval: $connections::K8sCluster::context}
                      root: \"{{ '::root::.requirements::.name' | eval | join(' ') }}\"
                      found: {eval: {find_connection: {eval: '::h'}, relation: unfurl.relationships.ConnectsTo.AWSAccount}, select: .name}
                      none: {eval: {find_connection: {eval: '::h'}, relation: unfurl.relationships.ConnectsTo.Azure}, select: .name}
                      variable: {get_env: AWS_DEFAULT_REGION}
                      key: {eval: $connections::second::.key}
",
    );
    env.unfurl(["deploy", "--approve"]).succeeds();
    let ensemble = env.ensemble();
    insta::assert_snapshot!(
        serde_yaml::to_string(&ensemble["status"]["instances"]["a"]["attributes"]).unwrap(),
        @r#"
    name: second
    type: second
    base: second
    all:
    - second
    - primary_provider
    dot: second second
    missing: null
    root: primary_provider second for-host
    found: primary_provider
    none: null
    variable: of-host
    key: "::.requirements::[.name=second]"
    "#
    );
    // Connections are not part of the record.
    assert!(!env.read("ensemble.yaml").contains("requirements:\n"));
}

const SECRETS: &str = "  defaults:
    secrets: {token: hush-token-1}
    connections:
      primary_provider:
        type: unfurl.relationships.ConnectsTo.AWSAccount
        properties:
          AWS_ACCESS_KEY_ID: {eval: {secret: token}}
          AWS_SECRET_ACCESS_KEY: hush-key-2
";

#[test]
fn secrets_of_connections_reach_commands_and_are_shown_nowhere() {
    let env = project(
        SECRETS,
        "        a:
          type: unfurl.nodes.Generic
          properties: {p: {get_env: AWS_SECRET_ACCESS_KEY}}
          interfaces:
            Standard:
              configure:
                implementation: Shell
                inputs:
                  command: 'echo to-$AWS_ACCESS_KEY_ID-$AWS_SECRET_ACCESS_KEY; echo {{ SELF.p }} | wc -c; case $AWS_SECRET_ACCESS_KEY in h?sh-key-2) ;; *) exit 1;; esac'
                  read: {eval: $connections::primary_provider::AWS_SECRET_ACCESS_KEY}
                  resultTemplate: {attributes: {o: '{{ stdout }}', e: {get_env: AWS_ACCESS_KEY_ID}, x: \"{{ '$AWS_SECRET_ACCESS_KEY' | expandvars }}\"}}
",
    );
    let run = env.unfurl(["-vvv", "deploy", "--approve"]).succeeds();
    assert!(!run.all().contains("hush-"), "{run}");
    for (path, bytes) in env.files() {
        let is_source = path.ends_with("unfurl.yaml");
        let text = String::from_utf8_lossy(&bytes);
        assert!(
            is_source || !text.contains("hush-token-1"),
            "{path}: {text}"
        );
        assert!(is_source || !text.contains("hush-key-2"), "{path}: {text}");
    }
    for command in [
        vec!["export", "--format", "model-json"],
        vec!["export", "--format", "deployment"],
        vec!["status"],
        vec!["plan"],
    ] {
        let run = env.unfurl(&command);
        assert!(!run.all().contains("hush-"), "{run}");
    }
}

#[test]
fn a_new_credential_is_used_and_only_tasks_that_read_it_run_again() {
    let env = project(
        SECRETS,
        "        a:
          type: unfurl.nodes.Generic
          interfaces:
            Standard:
              configure:
                implementation: Shell
                inputs:
                  command: 'test -n \"$AWS_SECRET_ACCESS_KEY\" && echo $AWS_SECRET_ACCESS_KEY | cksum > key-a'
        b:
          type: unfurl.nodes.Generic
          interfaces:
            Standard:
              configure:
                implementation: Shell
                inputs:
                  command: 'echo $AWS_SECRET_ACCESS_KEY | cksum > key-b'
                  read: {eval: $connections::primary_provider::AWS_SECRET_ACCESS_KEY}
                  shown: '{{ inputs.read }}'
                  arguments: [x]
",
    );
    env.unfurl(["deploy", "--approve"]).succeeds();
    let before = (env.read("key-a"), env.read("key-b"));
    let project = env.read("unfurl.yaml").replace("hush-key-2", "hush-key-3");
    env.write("unfurl.yaml", &project);
    let run = env.unfurl(["deploy", "--approve", "--force"]).succeeds();
    assert!(run.code == 0);
    let after = (env.read("key-a"), env.read("key-b"));
    assert_ne!(before.0, after.0);
    assert_ne!(before.1, after.1);
}

#[test]
fn an_input_that_reads_a_connection_decides_about_a_new_run() {
    let connections = "  defaults:
    connections:
      cloud:
        type: unfurl.relationships.ConnectsTo.AWSAccount
        properties: {AWS_DEFAULT_REGION: north, AWS_PROFILE: p}
";
    let env = project(
        connections,
        "        a:
          type: unfurl.nodes.Generic
          interfaces:
            Standard:
              configure:
                implementation: Shell
                inputs: {command: 'echo {{ inputs.region }}', region: {eval: $connections::cloud::AWS_DEFAULT_REGION}}
",
    );
    env.unfurl(["deploy", "--approve"]).succeeds();
    let tasks = |env: &TestEnv| {
        let run = env
            .unfurl(["deploy", "--approve", "--output", "json"])
            .succeeds();
        let job = run.json()["job"].clone();
        job["total"].as_u64().unwrap() - job["skipped"].as_u64().unwrap()
    };
    assert_eq!(tasks(&env), 0);
    env.write(
        "unfurl.yaml",
        &env.read("unfurl.yaml").replace("PROFILE: p", "PROFILE: q"),
    );
    assert_eq!(tasks(&env), 0);
    env.write(
        "unfurl.yaml",
        &env.read("unfurl.yaml").replace("north", "south"),
    );
    assert_eq!(tasks(&env), 1);
    // As in Unfurl, the connection is no key of the digest.
    assert!(!env.read("jobs.tsv").contains("AWS_DEFAULT_REGION"));
}

#[test]
fn wrong_connections_are_errors_with_their_places_before_anything_runs() {
    let env = project(
        "  defaults:
    connections:
      one: {type: unfurl.relationships.ConnectsTo.AWS}
      two: {properties: {}}
      three:
        type: unfurl.relationships.ConnectsTo.Packet
        properties: {PACKET_API_TOKEN: [hush]}
      four: nowhere
      five:
        type: unfurl.relationships.ConnectsTo.AWSAccount
        properties: {AWS_REGION: x}
",
        &printing("x"),
    );
    let run = env.unfurl(["deploy", "--approve"]);
    assert_eq!(run.code, 64, "{run}");
    run.says_at(&[
        (
            "there is no relationship type `unfurl.relationships.ConnectsTo.AWS`",
            "6:19",
        ),
        ("connection `two` has no `type`", "7:12"),
        ("connection `three` has no property `project`", "9:9"),
        (
            "the value <<REDACTED>> of property `PACKET_API_TOKEN` in connection `three` is a list",
            "10:40",
        ),
        (
            "the connection `four` is an alias of `nowhere`, which does not exist",
            "11:13",
        ),
        ("property `AWS_REGION` is not declared", "14:22"),
    ]);
    assert!(!run.stderr.contains("hush"), "{run}");
    assert!(!env.work().join("jobs").exists());
}

#[test]
fn an_operation_of_a_connection_that_would_run_is_refused() {
    let env = project(
        "  defaults:
    connections:
      primary_provider:
        type: unfurl.relationships.ConnectsTo.AWSAccount
        interfaces: {Install: {check: echo checked}}
",
        &printing("x"),
    );
    let run = env.unfurl(["deploy", "--approve"]);
    assert_eq!(run.code, 64, "{run}");
    let expected = "the connection `primary_provider` has the operation `Install.check`, which is not supported";
    run.says_at(&[(expected, "6:7")]);
}

#[test]
fn the_type_of_the_primary_provider_chooses_imports() {
    let env = TestEnv::with_ensemble(
        "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    imports:
      - {file: gcp.yaml, when: '.primary_provider[type=unfurl.relationships.ConnectsTo.GoogleCloudProject]'}
      - {file: aws.yaml, when: '.primary_provider[type=unfurl.relationships.ConnectsTo.AWSAccount]'}
    topology_template:
      node_templates: {a: {type: Machine}}
",
    );
    for cloud in ["aws", "gcp"] {
        let machine = format!(
            "node_types:
  Machine:
    derived_from: tosca.nodes.Root
    interfaces: {{Standard: {{configure: {{implementation: Shell, inputs: {{command: 'echo', resultTemplate: {{attributes: {{o: {cloud}}}}}}}}}}}}}
"
        );
        env.write(&format!("{cloud}.yaml"), &machine);
    }
    env.write(
        "unfurl.yaml",
        "apiVersion: unfurl/v1.0.0
kind: Project
environments:
  one: {connections: {primary_provider: {type: unfurl.relationships.ConnectsTo.AWSAccount}}}
  two: {connections: {primary_provider: other, other: {type: unfurl.relationships.ConnectsTo.GoogleCloudProject}}}
  none: {}
",
    );
    let deploy = |environment: &str| {
        env.unfurl([
            "deploy",
            "--approve",
            "--force",
            "--use-environment",
            environment,
        ])
    };
    deploy("one").succeeds();
    assert_eq!(attribute(&env, "a", "o"), "aws");
    deploy("two").succeeds();
    assert_eq!(attribute(&env, "a", "o"), "gcp");
    let run = deploy("none");
    assert_eq!(run.code, 64, "{run}");
    assert!(
        run.stderr.contains("there is no node type `Machine`"),
        "{run}"
    );
}

#[test]
fn a_connection_that_reads_an_instance_is_evaluated_when_a_task_uses_it() {
    let env = project(
        "  defaults:
    connections:
      service:
        type: Service
        properties: {SERVICE_URL: {eval: '::server::url'}}
    imports: [types.yaml]
",
        "        server:
          type: unfurl.nodes.Generic
          attributes: {}
          interfaces:
            Standard:
              configure:
                implementation: Shell
                inputs: {command: 'echo http://${SERVICE_URL:-none}', resultTemplate: {attributes: {url: '{{ stdout | trim }}'}}}
        a:
          type: unfurl.nodes.Generic
          requirements: [dependency: server]
          interfaces:
            Standard:
              configure:
                implementation: Shell
                inputs: {command: 'echo $SERVICE_URL', resultTemplate: {attributes: {o: '{{ stdout | trim }}'}}}
",
    );
    env.write(
        "types.yaml",
        "relationship_types:
  Service:
    derived_from: tosca.relationships.ConnectsTo
    properties: {SERVICE_URL: {type: unfurl.datatypes.EnvVar, required: false}}
",
    );
    assert_eq!(deployed(&env), "http://none");
}

#[test]
fn relationship_templates_with_default_for_are_connections_as_well() {
    let env = TestEnv::with_ensemble(
        "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    topology_template:
      relationship_templates:
        here:
          type: unfurl.relationships.ConnectsTo.AWSAccount
          default_for: tosca.nodes.Compute
          properties: {AWS_PROFILE: of-template}
      node_templates:
        a:
          type: tosca.nodes.Compute
          interfaces:
            Standard:
              configure:
                implementation: {primary: Shell, environment: {AWS_CONFIG_FILE: of-operation}}
                inputs:
                  command: echo $AWS_PROFILE $AWS_CONFIG_FILE
                  resultTemplate: {attributes: {o: '{{ stdout | trim }}'}}
",
    );
    assert_eq!(deployed(&env), "of-template of-operation");
}
