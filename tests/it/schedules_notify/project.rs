//! A project whose schedules have a task or an ensemble that a file breaks.

use std::fs;

use serde_json::Value as Json;

use crate::support::{Started, TestEnv};

/// The task `look` fails while the file `broken` exists. The instance `app` drifts while the file `down` exists.
const TASKS: &str = "tasks:\n  look:\n    steps:\n      - local: test ! -e broken\n";
const ENSEMBLE: &str = r#"
apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    topology_template:
      node_templates:
        app:
          type: unfurl.nodes.Generic
          interfaces:
            Install:
              check:
                implementation: Shell
                inputs:
                  command: test -e down && echo error || echo ok
                  resultTemplate: {readyState: "{{ stdout | trim }}"}
            Standard: {configure: {implementation: Shell, inputs: {command: 'true'}}}
"#;

/// Returns a project with the section `schedules`, each line of which is a schedule.
pub(super) fn project(schedules: &str) -> TestEnv {
    let env = TestEnv::with_ensemble(ENSEMBLE);
    env.write("tasks.yaml", TASKS);
    set_schedules(&env, schedules);
    env
}

pub(super) fn set_schedules(env: &TestEnv, schedules: &str) {
    let lines = schedules.lines().map(|line| format!("  {line}\n"));
    let head = "apiVersion: unfurl/v1.0.0\nkind: Project\nschedules:\n";
    env.write(
        "unfurl.yaml",
        &format!("{head}{}", lines.collect::<String>()),
    );
}

/// Makes the task fail, or not.
pub(super) fn break_task(env: &TestEnv, is_broken: bool) {
    set_file(env, "broken", is_broken);
}

pub(super) fn set_file(env: &TestEnv, name: &str, is_there: bool) {
    if is_there {
        env.write(name, "x");
    } else {
        fs::remove_file(env.work().join(name)).ok();
    }
}

/// Starts the server and waits until it serves.
pub(super) fn serve(env: &TestEnv) -> Started {
    let server = env.start(["serve"]);
    server.wait_until_it_says("serves");
    server
}

/// Returns the notices that the command `cat >> notices` has taken.
pub(super) fn notices(env: &TestEnv) -> Vec<Json> {
    let text = fs::read_to_string(env.work().join("notices")).unwrap_or_default();
    let lines = text
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'));
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Returns the titles of the notices that the command `cat >> notices` has taken.
pub(super) fn titles(env: &TestEnv) -> Vec<String> {
    let notices = notices(env);
    let titles = notices
        .iter()
        .map(|notice| notice["title"].as_str().unwrap().to_owned());
    titles.collect()
}

/// Returns the log of a schedule.
pub(super) fn log(env: &TestEnv, name: &str) -> Json {
    let run = env.unfurl(["schedule", "log", name, "--output", "json"]);
    run.succeeds().json()[0].clone()
}

/// Returns the reasons of the notices that were not delivered, with the words for their states.
pub(super) fn undelivered(env: &TestEnv, name: &str) -> Vec<(String, String)> {
    let log = log(env, name);
    let all = log["undelivered"].as_array().unwrap();
    let text = |it: &Json, key: &str| it[key].as_str().unwrap().to_owned();
    all.iter()
        .map(|it| (text(it, "status"), text(it, "reason")))
        .collect()
}

/// Returns the number of runs in the log of a schedule that have ended.
pub(super) fn ended_runs(env: &TestEnv, name: &str) -> usize {
    let log = log(env, name);
    let rows = log["rows"].as_array().unwrap();
    let has_ended = |row: &&Json| row.get("ended").is_some_and(Json::is_string);
    rows.iter().filter(has_ended).count()
}
