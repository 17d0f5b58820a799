//! `unfurl doctor`: each problem is found, the printed command fixes it, and nothing is ever changed.

mod ensembles;
mod hosts;
mod machines;
mod repositories;

use std::process::Command;

use serde_json::Value as Json;

use crate::support::{Run, TestEnv, binary};

/// An ensemble without instances.
const EMPTY: &str = "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    topology_template:
      node_templates: {}
";

/// An ensemble with one operation, whose implementation and inputs are given.
fn with_operation(implementation: &str) -> String {
    format!(
        "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    topology_template:
      node_templates:
        web:
          type: tosca:Root
          interfaces:
            Standard:
              operations:
                configure: {implementation}
"
    )
}

/// Runs the command with `--output json` and returns its checks. The exit code and the verdict must fit them.
#[track_caller]
fn checks(run: &Run) -> Vec<Json> {
    let report = run.json();
    let checks = report["checks"].as_array().unwrap().clone();
    let has_error = checks.iter().any(|check| check["state"] == "error");
    assert_eq!(run.code, i32::from(has_error), "{run}");
    assert!(!checks.is_empty(), "{run}");
    for check in &checks {
        let state = check["state"].as_str().unwrap();
        let is_problem = state == "warning" || state == "error";
        let is_solved = check["fix"].is_string() || check["help"].is_string();
        assert!(!is_problem || is_solved, "no command: {check}");
    }
    checks
}

fn doctor(env: &TestEnv, more: &[&str]) -> Run {
    let words = ["doctor", "--output", "json"];
    env.unfurl(words.iter().chain(more)).does_not_panic()
}

/// Returns the first check with an id whose message contains a text.
fn find(checks: &[Json], id: &str, text: &str) -> Option<Json> {
    let mut found = checks.iter().filter(|check| check["id"] == id);
    let has_text = |check: &&Json| check["message"].as_str().unwrap().contains(text);
    found.find(has_text).cloned()
}

/// Runs a line of shell in the working folder, with the binary as `unfurl`.
#[track_caller]
fn shell(env: &TestEnv, line: &str) -> Run {
    let folder = env.work().with_file_name("bin");
    std::fs::create_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink(binary(), folder.join("unfurl")).ok();
    let mut command = Command::new("/bin/sh");
    let path = format!("PATH='{}':$PATH\n{line}", folder.display());
    command.args(["-c", &path]);
    env.start_command(command, [""; 0]).ends()
}

/// Asserts that a problem is found in a state, runs the printed command, and asserts that the problem is gone.
#[track_caller]
fn is_fixed_by_its_command(env: &TestEnv, more: &[&str], (state, id, text): (&str, &str, &str)) {
    let run = doctor(env, more);
    let found = find(&checks(&run), id, text);
    let found = found.unwrap_or_else(|| panic!("no `{id}` with `{text}`\n{run}"));
    assert_eq!(found["state"], state, "{run}");
    let fix = found["fix"].as_str().unwrap();
    let fixed = shell(env, fix);
    assert_eq!(fixed.code, 0, "{fixed}");
    let again = doctor(env, more);
    let left = find(&checks(&again), id, text);
    assert_eq!(left, None, "after `{fix}`\n{fixed}\n{again}");
}
