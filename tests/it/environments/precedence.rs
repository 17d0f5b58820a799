//! The order in which environments go before each other, and how their sections are merged.

use super::super::support::TestEnv;
use super::{PROJECT, deployed, printing};

/// The connections of a level. Each level sets a variable of its own name, and `AWS_PROFILE`.
fn connections(level: &str, more: &str) -> String {
    format!(
        "    variables: {{SET_BY: {level}, OF_{level}: x}}
    connections:
      cloud: {{type: unfurl.relationships.ConnectsTo.AWSAccount, properties: {{AWS_PROFILE: {level}}}}}
{more}"
    )
}

/// An ensemble with a project and a home project. `text` returns the sections of each level.
fn with_levels(text: &dyn Fn(&str) -> String) -> TestEnv {
    let env = TestEnv::with_ensemble(&format!(
        "apiVersion: unfurl/v1.0.0
kind: Ensemble
environment:
    lfs_lock: {{lock: 'no'}}
{}spec:
  service_template:
    topology_template:
      node_templates:
{}",
        text("manifest"),
        printing("^(AWS_|SET_BY|OF_)")
    ));
    env.write(
        "unfurl.yaml",
        &format!(
            "{PROJECT}default_environment: prod\nenvironments:\n  prod:\n{}  defaults:\n{}",
            text("named"),
            text("defaults")
        ),
    );
    env.write(
        "../home/project/unfurl.yaml",
        &format!(
            "{PROJECT}environments:\n  prod:\n{}  defaults:\n{}",
            text("home_named"),
            text("home_defaults")
        ),
    );
    let home = env.work().join("../home/project");
    env.variable("UNFURL_HOME", home.to_str().unwrap())
}

#[test]
fn the_named_environment_of_the_project_goes_first_and_the_manifest_last() {
    let levels = [
        "named",
        "home_named",
        "defaults",
        "home_defaults",
        "manifest",
    ];
    // Without the levels before it, each level counts.
    for first in 0..levels.len() {
        let text = |level: &str| {
            let place = levels.iter().position(|it| *it == level).unwrap();
            if place < first {
                return String::new();
            }
            let more = match level {
                "home_named" => {
                    "      from_home: {type: unfurl.relationships.ConnectsTo.AWSAccount, properties: {AWS_CONFIG_FILE: home}}\n"
                }
                _ => "",
            };
            connections(level, more)
        };
        let env = with_levels(&text);
        let seen = deployed(&env);
        let winner = levels[first];
        assert!(
            seen.contains(&format!("AWS_PROFILE={winner}\n")),
            "{winner}: {seen}"
        );
        assert!(
            seen.contains(&format!("SET_BY={winner}")),
            "{winner}: {seen}"
        );
        // Entries of other levels are merged.
        for level in &levels[first..] {
            assert!(seen.contains(&format!("OF_{level}=x")), "{level}: {seen}");
        }
        let inherits = first <= 1;
        assert_eq!(seen.contains("AWS_CONFIG_FILE=home"), inherits, "{seen}");
    }
}

#[test]
fn an_entry_is_replaced_as_a_whole_unless_it_says_merge_and_null_removes_it() {
    let home = "environments:
  defaults:
    connections:
      replaced: {type: unfurl.relationships.ConnectsTo.AWSAccount, properties: {AWS_PROFILE: home, AWS_CONFIG_FILE: home}}
      removed: {type: unfurl.relationships.ConnectsTo.Azure, properties: {AZURE_TENANT: home}}
      merged: {type: unfurl.relationships.ConnectsTo.GoogleCloudProject, properties: {CLOUDSDK_CORE_PROJECT: home, CLOUDSDK_COMPUTE_ZONE: home}}
";
    let own = "environments:
  defaults:
    connections:
      replaced: {type: unfurl.relationships.ConnectsTo.AWSAccount, properties: {AWS_PROFILE: own}}
      removed:
      merged: {+%: merge, properties: {CLOUDSDK_COMPUTE_ZONE: own}}
";
    let env = super::project("  x: {}\n", &printing("^(AWS_|AZURE|ARM|CLOUDSDK)"));
    env.write("unfurl.yaml", &format!("{PROJECT}{own}"));
    env.write("../home/project/unfurl.yaml", &format!("{PROJECT}{home}"));
    let folder = env.work().join("../home/project");
    let env = env.variable("UNFURL_HOME", folder.to_str().unwrap());
    assert_eq!(
        deployed(&env),
        "AWS_PROFILE=own\nCLOUDSDK_COMPUTE_ZONE=own\nCLOUDSDK_CORE_PROJECT=home"
    );
}

#[test]
fn connections_and_repositories_may_name_those_of_other_environments() {
    let env = super::project(
        "  prod:
    connections: {primary_provider: shared:cloud}
    repositories: {types: shared:lib}
    imports: [{repository: types, file: types.yaml}]
  shared:
    connections:
      cloud: {type: unfurl.relationships.ConnectsTo.AWSAccount, properties: {AWS_PROFILE: shared}}
    repositories: {lib: {url: 'file:lib'}}
",
        &printing("^AWS_").replace("tosca.nodes.Root", "Own"),
    );
    env.write(
        "lib/types.yaml",
        "node_types: {Own: {derived_from: tosca.nodes.Root}}\n",
    );
    env.unfurl(["deploy", "--approve", "--use-environment", "prod"])
        .succeeds();
    assert_eq!(super::attribute(&env, "a", "o"), "AWS_PROFILE=shared");
}
