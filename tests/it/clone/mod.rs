//! `unfurl clone`: projects, ensembles, blueprints and CSARs.

mod archives;
mod ensembles;
mod projects;
mod safety;

use crate::packages::world;
use crate::support::{Run, TestEnv};

/// A committed project `origins/app.git` with an ensemble whose operation writes a file.
pub(crate) fn with_project() -> TestEnv {
    let env = world();
    env.write(
        "origins/app.git/unfurl.yaml",
        "apiVersion: unfurl/v1.0.0\nkind: Project\n",
    );
    env.write(
        "origins/app.git/ensemble/ensemble.yaml",
        &crate::repos::ensemble(&["a"]),
    );
    commit(&env, "origins/app.git");
    env
}

/// A committed project `origins/plan.git` with a service template and no ensemble.
pub(crate) fn with_blueprint() -> TestEnv {
    let env = world();
    env.write(
        "origins/plan.git/unfurl.yaml",
        "apiVersion: unfurl/v1.0.0\nkind: Project\n",
    );
    env.write("origins/plan.git/service_template.yaml", SERVICE_TEMPLATE);
    commit(&env, "origins/plan.git");
    env
}

pub(crate) const SERVICE_TEMPLATE: &str = "tosca_definitions_version: tosca_simple_unfurl_1_0_0\ntopology_template:\n  \
    node_templates:\n    it: {type: tosca.nodes.Root, interfaces: {Standard: {configure: echo hi}}}\n";

/// Makes a folder a repository, if it is none, and commits everything.
pub(crate) fn commit(env: &TestEnv, folder: &str) {
    if !env.work().join(folder).join(".git").exists() {
        env.git(&["init", "-q", "-b", "main", folder]);
    }
    env.git(&["-C", folder, "add", "-A"]);
    env.git(&["-C", folder, "commit", "-q", "-m", "files"]);
}

/// The last line of the result.
pub(crate) fn last_line(run: &Run) -> &str {
    run.stdout.lines().last().unwrap_or_default()
}

/// A path in the working folder, as messages show it.
pub(crate) fn shown(env: &TestEnv, path: &str) -> String {
    env.work()
        .canonicalize()
        .unwrap()
        .join(path)
        .display()
        .to_string()
}
