//! Takeover of ensembles that the real Unfurl created or deployed.

use super::support::TestEnv;

/// Creates a project in `work` and its ensemble in a separate repository, laid out like `unfurl init` does.
fn project_with_an_ensemble(project: &str, template_in: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write(
        "project/unfurl.yaml",
        "apiVersion: unfurl/v1alpha1\nkind: Project\n",
    );
    env.write(
        &format!("project/{template_in}/ensemble-template.yaml"),
        "spec:
  service_template:
    topology_template:
      node_templates:
        a: {type: unfurl.nodes.Generic, interfaces: {Standard: {configure: 'true'}}}
",
    );
    env.git(&["init", "--quiet", project]);
    env.git(&[
        "-C",
        project,
        "commit",
        "--quiet",
        "--allow-empty",
        "-m",
        "one",
    ]);
    let commit = env.git(&["-C", project, "rev-parse", "HEAD"]);
    env.git(&[
        "-C",
        project,
        "commit",
        "--quiet",
        "--allow-empty",
        "-m",
        "two",
    ]);
    env.write(
        "project/ensemble/ensemble.yaml",
        &format!(
            "apiVersion: unfurl/v1alpha1
kind: Ensemble
+include:
  file: ensemble-template.yaml
  repository: spec
spec:
  service_template:
    repositories:
      spec:
        url: git-local://{commit}:/.
"
        ),
    );
    env
}

#[test]
fn a_repository_is_found_by_its_first_commit_around_the_ensemble() {
    let env = project_with_an_ensemble("project", "");
    env.unfurl(["deploy", "--approve", "project/ensemble"])
        .succeeds();
    assert!(
        env.read("project/ensemble/ensemble.yaml")
            .contains("state: configured")
    );
}

#[test]
fn a_repository_is_found_by_its_first_commit_around_that_of_the_ensemble() {
    let env = project_with_an_ensemble("project", "");
    env.git(&["init", "--quiet", "project/ensemble"]);
    env.unfurl(["validate", "project/ensemble"]).succeeds();
}

#[test]
fn a_repository_is_found_by_its_first_commit_within_the_project() {
    let env = project_with_an_ensemble("project/parts/model", "parts/model");
    env.unfurl(["validate", "project/ensemble"]).succeeds();
}

#[test]
fn a_repository_that_begins_with_no_such_commit_is_not_here() {
    let env = project_with_an_ensemble("project", "");
    let text = env.read("project/ensemble/ensemble.yaml");
    let second = env.git(&["-C", "project", "rev-parse", "HEAD"]);
    let first = env.git(&["-C", "project", "rev-parse", "HEAD~1"]);
    env.write(
        "project/ensemble/ensemble.yaml",
        &text.replace(&first, &second),
    );
    env.unfurl(["validate", "project/ensemble"])
        .exits(1)
        .says(&["is not on this machine"]);
}
