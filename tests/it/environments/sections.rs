//! Sections of environments: each key has an effect or is reported with its place.

use super::super::support::TestEnv;
use super::{At as _, attribute, deployed, printing, project};

#[test]
fn keys_without_effect_are_reported_with_their_places() {
    let env = project(
        "  defaults:
    conections: {}
    cloudmaps: {repositories: {x: {url: u}}}
    instances: {shared: {type: unfurl.nodes.Generic}, known: {imported: 'x:y'}}
    external:
      other: {manifest: {file: other/ensemble.yaml, branch: main}, instances: '*'}
",
        &printing("x"),
    );
    env.write(
        "other/ensemble.yaml",
        "apiVersion: unfurl/v1.0.0\nkind: Ensemble\nspec: {}\n",
    );
    let run = env.unfurl(["deploy", "--approve"]).succeeds();
    run.says_at(&[
        (
            "an environment has no key `conections`, so it has no effect",
            "5:5",
        ),
        ("`cloudmaps` of the environment has no effect", "6:5"),
        (
            "the instance `shared` of the environment takes no part in jobs",
            "7:17",
        ),
        (
            "`manifest` of the external ensemble `other` has no key `branch`",
            "9:53",
        ),
        (
            "the external ensemble `other` has no key `instances`",
            "9:68",
        ),
    ]);
    assert!(run.stderr.contains("did you mean `connections`?"), "{run}");
    assert!(!run.stderr.contains("`known`"), "{run}");
}

#[test]
fn values_of_a_wrong_kind_are_errors_with_their_places() {
    let wrong = [
        ("connections: [a]", "`connections` must be a map"),
        ("imports: {a: b}", "`imports` must be a list"),
        ("instances: 5", "`instances` must be a map"),
        (
            "external: {x: [1]}",
            "the external ensemble `x` must be a map",
        ),
        (
            "external: {x: {connections: all}}",
            "`connections` must be a list",
        ),
        (
            "deployment_blueprint: [x]",
            "`deployment_blueprint` must be a text",
        ),
        ("defaultProject: {a: b}", "`defaultProject` must be a text"),
        ("variables: x", "`variables` must be a map"),
        ("lfs_lock: {lock: maybe}", "lock"),
    ];
    for (text, expected) in wrong {
        let env = project(&format!("  defaults:\n    {text}\n"), &printing("x"));
        let run = env.unfurl(["deploy", "--approve"]);
        assert!(
            run.code != 0 && run.stderr.contains(expected),
            "{text}\n{run}"
        );
        assert!(run.stderr.contains("unfurl.yaml:5:"), "{run}");
        // The section of the manifest is checked in the same way.
        let env = TestEnv::with_ensemble(&format!(
            "apiVersion: unfurl/v1.0.0\nkind: Ensemble\nenvironment:\n  {text}\nspec: {{service_template: {{}}}}\n"
        ));
        let run = env.unfurl(["deploy", "--approve"]);
        assert!(
            run.code != 0 && run.stderr.contains(expected),
            "{text}\n{run}"
        );
    }
}

#[test]
fn imports_count_from_the_file_that_states_them_and_prefixes_select_them() {
    let env = project(
        "  defaults:
    imports:
      - types/plain.yaml
      - {file: types/cloud.yaml, namespace_prefix: cloud}
      - {file: types/broken.yaml, namespace_prefix: other}
    connections:
      own: {type: cloud.Own, properties: {OWN_TOKEN: t}}
",
        &printing("^OWN_").replace("tosca.nodes.Root", "Plain"),
    );
    env.write(
        "types/plain.yaml",
        "node_types: {Plain: {derived_from: tosca.nodes.Root}}\n",
    );
    env.write("types/broken.yaml", "node_types: [\n");
    env.write(
        "types/cloud.yaml",
        "relationship_types:
  Own:
    derived_from: tosca.relationships.ConnectsTo
    properties: {OWN_TOKEN: {type: unfurl.datatypes.EnvVar}}
",
    );
    // The ensemble is in another folder than the project.
    let text = env.read("ensemble.yaml");
    env.write("e/ensemble.yaml", &text);
    env.unfurl(["deploy", "--approve", "e"]).succeeds();
    let ensemble: serde_json::Value = serde_yaml::from_str(&env.read("e/ensemble.yaml")).unwrap();
    let seen = &ensemble["status"]["instances"]["a"]["attributes"]["o"];
    assert_eq!(seen, "OWN_TOKEN=t");
    let used = env
        .read("unfurl.yaml")
        .replace("own: {type: cloud.Own", "own: {type: other.Own");
    env.write("unfurl.yaml", &used);
    let run = env.unfurl(["deploy", "--approve", "e"]);
    assert!(
        run.code == 64 && run.stderr.contains("broken.yaml"),
        "{run}"
    );
}

/// An ensemble with a connection in its environment and one that a requirement states.
fn other_ensemble() -> &'static str {
    "apiVersion: unfurl/v1.0.0
kind: Ensemble
metadata: {uri: 'https://example.com/other.git#:ensemble.yaml', aliases: [other]}
environment:
  connections:
    cloud: {type: unfurl.relationships.ConnectsTo.AWSAccount, properties: {AWS_PROFILE: of-other, AWS_SESSION_TOKEN: hush-other}}
    hidden: {type: unfurl.relationships.ConnectsTo.Azure, properties: {AZURE_TENANT: of-other}}
spec:
  service_template:
    topology_template:
      node_templates:
        base:
          type: unfurl.nodes.Generic
          requirements:
            - account:
                relationship:
                  type: unfurl.relationships.ConnectsTo.GoogleCloudProject
                  default_for: SELF
                  properties: {CLOUDSDK_CORE_PROJECT: of-base}
  instances: {base: {template: base}}
"
}

fn with_external(entry: &str) -> TestEnv {
    let env = project(
        &format!(
            "  defaults:\n    external:\n      other: {{manifest: {{file: other/ensemble.yaml}}, {entry}}}\n"
        ),
        &printing("^(AWS_P|AZURE|ARM|CLOUDSDK)"),
    );
    env.write("other/ensemble.yaml", other_ensemble());
    env
}

#[test]
fn listed_connections_of_other_ensembles_are_available() {
    let env = with_external("connections: [cloud, 'base::account']");
    let run = env.unfurl(["deploy", "--approve"]).succeeds();
    assert!(!run.all().contains("hush"), "{run}");
    assert_eq!(
        attribute(&env, "a", "o"),
        "AWS_PROFILE=of-other\nCLOUDSDK_CORE_PROJECT=of-base"
    );
    assert_eq!(deployed(&with_external("")), "");
    let run = with_external("connections: [cluod]").unfurl(["deploy", "--approve"]);
    assert_eq!(run.code, 64);
    run.says_at(&[(
        "the external ensemble `other` has no connection `cluod`",
        "6:68",
    )]);
}

#[test]
fn an_external_ensemble_must_have_the_uri_that_is_stated() {
    for uri in ["'https://example.com/other.git#:ensemble.yaml'", "other"] {
        with_external(&format!("uri: {uri}"))
            .unfurl(["deploy", "--approve"])
            .succeeds();
    }
    let run =
        with_external("uri: 'https://me:hush-pw@example.com/x'").unfurl(["deploy", "--approve"]);
    let expected = "its URI is `https://example.com/other.git#:ensemble.yaml`, `other`, but `https://example.com/x` is required";
    assert!(run.code == 64 && run.stderr.contains(expected), "{run}");
}

#[test]
fn secret_variables_of_an_environment_are_redacted() {
    let env = project(
        "  defaults:
    secrets: {pw: hush-hush-1}
    variables: {PW: {eval: {secret: pw}}, OTHER: \"x-{{ {'eval': {'secret': 'pw'}} | eval }}\"}
",
        "        a:
          type: unfurl.nodes.Generic
          properties: {p: {get_env: PW}, all: {get_env: }}
          interfaces: {Standard: {configure: {implementation: Shell, inputs: {command: 'echo $PW $OTHER {{ SELF.p }}; case $PW in h?sh-h?sh-1) ;; *) exit 1;; esac', resultTemplate: {attributes: {o: '{{ stdout }}', p: '{{ lookup(\"env\", \"PW\") }}'}}}}}}
",
    );
    let run = env.unfurl(["-vv", "deploy", "--approve"]).succeeds();
    assert!(!run.all().contains("hush-"), "{run}");
    for (path, bytes) in env.files() {
        let text = String::from_utf8_lossy(&bytes);
        assert!(
            path.ends_with("unfurl.yaml") || !text.contains("hush-"),
            "{path}: {text}"
        );
    }
}

#[test]
fn nodes_that_need_a_connection_are_deployed_if_the_environment_has_one() {
    let node = "        a:
          type: Needs
        b: {type: tosca.nodes.Root, interfaces: {Standard: {configure: echo}}}
";
    let env = project(
        "  yes: {connections: {c: {type: unfurl.relationships.ConnectsTo.AWSAccount}}, imports: [t.yaml]}\n  no: {imports: [t.yaml]}\n",
        node,
    );
    env.write(
        "t.yaml",
        "node_types:
  Needs:
    derived_from: tosca.nodes.Root
    interfaces:
      Standard:
        requirements: [unfurl.relationships.ConnectsTo.AWSAccount]
        operations: {configure: echo}
",
    );
    let planned = |environment: &str| {
        let run = env.unfurl(["plan", "--output", "json", "--use-environment", environment]);
        let steps = run.succeeds().json();
        let names = steps
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["instance"].to_string());
        names.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(planned("yes"), "\"a\" \"b\"");
    assert_eq!(planned("no"), "\"b\"");
}

#[test]
fn templates_that_require_each_other_are_planned_and_not_deployed() {
    let node = |name: &str, other: &str| {
        format!(
            "        {name}:
          type: unfurl.nodes.Generic
          interfaces: {{Standard: {{configure: echo}}}}
          requirements: [dependency: {other}]
"
        )
    };
    let env = project(
        "  x: {}\n",
        &format!("{}{}", node("a", "b"), node("b", "a")),
    );
    let run = env.unfurl(["plan", "--output", "json"]).succeeds();
    assert_eq!(run.json().as_array().unwrap().len(), 2);
    let problem = "templates require each other, so none can be deployed first";
    assert!(
        run.stderr.contains("warning") && run.stderr.contains(problem),
        "{run}"
    );
    let run = env.unfurl(["deploy", "--approve"]);
    assert!(run.code == 64 && run.stderr.contains(problem), "{run}");
    assert!(!env.work().join("jobs").exists());
}
