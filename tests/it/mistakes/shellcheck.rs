//! Commands that the real `shellcheck` checks.

use crate::support::TestEnv;

const COMMANDS: &str = r#"
apiVersion: unfurl/v1alpha1
kind: Ensemble
spec:
  service_template:
    topology_template:
      node_templates:
        web:
          type: tosca.nodes.Root
          interfaces:
            Standard:
              configure:
                implementation: Shell
                inputs:
                  keeplines: true
                  command: |
                    name={{ SELF['.name'] }}
                    rm -rf "$name"/*
                    for file in `ls`; do echo $undefined "$file"; done
              start: cd /tmp && rm -rf "$TMPDIR/"*
"#;

#[test]
fn warnings_of_shellcheck_point_into_the_file() {
    requires!("shellcheck");
    let env = TestEnv::with_ensemble(COMMANDS);
    let run = env.unfurl(["validate"]).succeeds();
    let lines: Vec<_> = run
        .stderr
        .lines()
        .filter(|line| line.contains("shellcheck SC") || line.contains("-->"))
        .map(str::trim)
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    warning: shellcheck SC2115: Use "${var:?}" to ensure this never expands to /*
    --> ensemble.yaml:18:28
    warning: shellcheck SC2045: Iterating over ls output is fragile. Use globs
    --> ensemble.yaml:19:33
    warning: shellcheck SC2115: Use "${var:?}" to ensure this never expands to /*
    --> ensemble.yaml:20:40
    "#);
    let run = env.unfurl(["validate", "--no-shellcheck"]).succeeds();
    assert_eq!(run.stderr, "", "{run}");
}

#[test]
fn settings_of_a_project_have_no_effect_on_shellcheck() {
    requires!("shellcheck");
    let env = TestEnv::with_ensemble(COMMANDS);
    env.write(".shellcheckrc", "disable=SC2115,SC2045\n");
    let run = env.unfurl(["validate"]).succeeds();
    assert!(run.stderr.contains("SC2115"), "{run}");
}
