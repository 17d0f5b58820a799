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

/// An ensemble with a command on another machine, as Unfurl 1.2 has deployed it.
const REMOTE_COMMAND: &str = "\
apiVersion: unfurl/v1alpha1
kind: Ensemble
spec:
  service_template:
    topology_template:
      node_templates:
        here:
          type: tosca:Compute
          capabilities:
            endpoint:
              type: unfurl.capabilities.Endpoint.Ansible
              properties: {connection: local, host: localhost}
        app:
          type: tosca:Root
          interfaces:
            Standard:
              configure:
                implementation: {primary: Cmd, operation_host: here}
                inputs: {cmd: echo bar}
status:
  instances:
    here: {template: here, readyState: {effective: ok, local: pending}}
    app:
      template: app
      readyState: {local: ok, state: configured}
      lastConfigChange: A6BSHtdx0001
      created: A6BSHtdx0001
lastJob: {changeId: A6BSHtdx0000, startTime: 2026-11-28-17-55-39-959720, workflow: deploy, readyState: {local: ok}}
jobsLog: jobs.tsv
";

const JOBS_OF_REMOTE_COMMAND: &str = "\
A6BSHtdx0000\tstatus=ok\tstartTime=2026-11-28-17-55-39-959720\tchangelog=changes/job2026-11-28-17-55-39-A6BSHtdx.yaml
A6BSHtdx0001\tpreviousId=\tstatus=ok\ttarget=::app\toperation=configure\tdigestKeys=playbook,::here::.capabilities::[.name=endpoint]::host,::here::.capabilities::[.name=endpoint]::connection\tdigestValue=19db9072c03e4c13ebf6fa78bb9e553b5a11522f\tdigestPut=\tsummary=configure
";

#[test]
fn a_command_that_unfurl_ran_on_another_machine_does_not_run_again() {
    let env = TestEnv::with_ensemble(REMOTE_COMMAND);
    env.write("jobs.tsv", JOBS_OF_REMOTE_COMMAND);
    let plan = env.unfurl(["plan"]).succeeds();
    assert!(plan.all().contains("Nothing to do"), "{plan}");
    let changed = REMOTE_COMMAND.replace("echo bar", "echo baz");
    env.write("ensemble.yaml", &changed);
    let plan = env.unfurl(["plan"]).succeeds();
    assert!(plan.all().contains("echo baz"), "{plan}");
}
