//! Environments: connections, precedence, and what each section of an environment has an effect on.

mod connections;
mod documentation;
mod endpoints;
mod precedence;
mod providers;
mod sections;

use super::support::{Run, TestEnv};

/// The head of a project file.
pub(crate) const PROJECT: &str = "apiVersion: unfurl/v1.0.0\nkind: Project\n";

/// An ensemble in a project with these environments. `nodes` are its node templates, indented by eight.
fn project(environments: &str, nodes: &str) -> TestEnv {
    let env = TestEnv::with_ensemble(&format!(
        "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    topology_template:
      node_templates:
{nodes}"
    ));
    env.write(
        "unfurl.yaml",
        &format!("{PROJECT}environments:\n{environments}"),
    );
    env
}

/// A node whose task prints the variables whose names contain the pattern, and keeps them in `o`.
fn printing(pattern: &str) -> String {
    format!(
        "        a:
          type: tosca.nodes.Root
          interfaces:
            Standard:
              configure:
                implementation: Shell
                inputs:
                  command: \"env | grep -E '{pattern}' | LC_ALL=C sort\"
                  resultTemplate: {{attributes: {{o: '{{{{ stdout | trim }}}}'}}}}
"
    )
}

/// Deploys and returns the attribute `o` of the node `a`.
#[track_caller]
fn deployed(env: &TestEnv) -> String {
    env.unfurl(["deploy", "--approve"]).succeeds();
    attribute(env, "a", "o")
}

#[track_caller]
fn attribute(env: &TestEnv, node: &str, name: &str) -> String {
    let ensemble = env.ensemble();
    let value = &ensemble["status"]["instances"][node]["attributes"][name];
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// Assertions about messages with places.
trait At {
    /// Asserts that each message is followed by its place, `line:column` of the project file.
    fn says_at(&self, expected: &[(&str, &str)]);
}

impl At for Run {
    #[track_caller]
    fn says_at(&self, expected: &[(&str, &str)]) {
        for (message, place) in expected {
            let Some((_, after)) = self.stderr.split_once(message) else {
                panic!("{message}\n{self}");
            };
            let found = after.lines().nth(1).unwrap_or_default();
            assert_eq!(
                found.trim(),
                format!("--> unfurl.yaml:{place}"),
                "{message}\n{self}"
            );
        }
    }
}
