//! Recovery after an interrupted job: its results are recorded, and no ended task runs again.

use super::support::{Run, TestEnv};

/// An ensemble with two instances. Each is created in three steps that append a line to `world`. The step
/// named in the file `fatal` kills its job, once.
const ENSEMBLE: &str = "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    node_types:
      Made:
        derived_from: tosca.nodes.Root
        interfaces:
          Standard:
            operations:
              create: exec sh ./step.sh create {{ SELF['.name'] }}
              configure: exec sh ./step.sh configure {{ SELF['.name'] }}
              start: exec sh ./step.sh start {{ SELF['.name'] }}
              stop: exec sh ./step.sh stop {{ SELF['.name'] }}
              delete: exec sh ./step.sh delete {{ SELF['.name'] }}
    topology_template:
      node_templates:
        a: {type: Made}
        b: {type: Made, requirements: [{dependency: a}]}
";

/// The script of a step. `fatal` selects a step and a time: `early` kills the job before the step writes its
/// line, `late` after it.
const STEP: &str = "#!/bin/sh
if [ -e fatal ] && [ \"$(cat fatal)\" = \"early $1 $2\" ]; then rm fatal; kill -9 $PPID; sleep 1; exit; fi
echo \"$1 $2 $_UNFURL_IDEMPOTENCY_KEY\" >> world
if [ -e fatal ] && [ \"$(cat fatal)\" = \"late $1 $2\" ]; then rm fatal; kill -9 $PPID; sleep 1; fi
";

fn made(fatal: &str) -> TestEnv {
    let env = TestEnv::with_ensemble(ENSEMBLE);
    env.write("step.sh", STEP);
    env.write("fatal", fatal);
    env
}

fn world(env: &TestEnv) -> Vec<String> {
    let text = env.read("world");
    let steps = text.lines().map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        format!("{} {}", words[0], words[1])
    });
    steps.collect()
}

fn ready(env: &TestEnv, name: &str) -> String {
    let state = &env.ensemble()["status"]["instances"][name]["readyState"];
    format!("{} {}", state["local"], state["state"]).replace('"', "")
}

fn cut(env: &TestEnv, arguments: &[&str]) -> Run {
    let run = env.unfurl(arguments);
    assert_ne!(run.code, 0, "{run}");
    run
}

const ALL: [&str; 6] = [
    "create a",
    "configure a",
    "start a",
    "create b",
    "configure b",
    "start b",
];

#[test]
fn what_ended_before_a_job_was_killed_is_on_record_and_not_done_again() {
    for fatal in ALL {
        let env = made(&format!("early {fatal}"));
        cut(&env, &["deploy", "--approve"]);
        let again = env.unfurl(["deploy", "--approve", "--redo-in-doubt"]);
        again.succeeds().says(&["crashed", "in doubt"]);
        assert_eq!(world(&env), ALL, "killed before {fatal}");
        for name in ["a", "b"] {
            assert_eq!(ready(&env, name), "ok started");
        }
        let third = env.unfurl(["deploy", "--approve"]).succeeds();
        assert!(third.all().contains("Nothing to do"), "{third}");
    }
}

#[test]
fn read_only_commands_report_an_interrupted_job() {
    let env = made("early create b");
    cut(&env, &["deploy", "--approve"]);
    for look in [&["status"][..], &["plan"], &["history"], &["explain", "a"]] {
        env.unfurl(look)
            .says(&["a job crashed", "not recorded yet"]);
    }
    env.unfurl(["deploy", "--approve", "--redo-in-doubt"])
        .succeeds();
    let run = env.unfurl(["status"]).succeeds();
    assert!(!run.stderr.contains("crashed"), "{run}");
}

#[test]
fn what_is_in_doubt_is_not_run_again_unless_somebody_says_so() {
    let env = made("late create b");
    cut(&env, &["deploy", "--approve"]);
    let refused = env.unfurl(["deploy", "--approve"]).exits(1);
    refused.says(&["`create` of `b`", "--redo-in-doubt"]);
    assert_eq!(ready(&env, "a"), "ok started");
    assert_eq!(ready(&env, "b"), "unknown creating");
    assert_eq!(world(&env).len(), 4);
    env.unfurl(["deploy", "--approve", "--redo-in-doubt"])
        .succeeds();
    let again: Vec<String> = world(&env).split_off(4);
    assert_eq!(again, ["create b", "configure b", "start b"]);
}

#[test]
fn a_key_is_the_same_where_an_operation_is_run_again_for_doubt_and_else_another() {
    let env = made("late create b");
    cut(&env, &["deploy", "--approve"]);
    env.unfurl(["deploy", "--approve", "--redo-in-doubt"])
        .succeeds();
    env.unfurl(["deploy", "--approve", "--force"]).succeeds();
    let text = env.read("world");
    let keys: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("create b "))
        .collect();
    assert_eq!(keys.len(), 3, "{text}");
    assert_eq!(keys[0], keys[1]);
    assert_ne!(keys[1], keys[2]);
    assert!(keys[0].len() > 40, "{text}");
}

/// The ensemble with an additional check operation that reports the status in the file `found`.
fn with_check(fatal: &str, found: &str) -> TestEnv {
    let env = made(fatal);
    let check = "          Install:\n            operations:\n              check:\n                \
                 implementation: Template\n                inputs: {done: {status: \
                 '{{ lookup(\"file\", \"found\") }}'}}\n";
    let at = "          Standard:\n";
    env.write(
        "ensemble.yaml",
        &ENSEMBLE.replace(at, &format!("{check}{at}")),
    );
    env.write("found", found);
    env
}

#[test]
fn a_check_settles_what_is_in_doubt() {
    for (found, runs) in [("ok", 4), ("absent", 7)] {
        let env = with_check("late create b", found);
        cut(&env, &["deploy", "--approve"]);
        env.unfurl(["deploy", "--approve"]).succeeds();
        assert_eq!(world(&env).len(), runs, "found {found}: {:?}", world(&env));
        assert!(ready(&env, "b").starts_with("ok"));
        // This ensemble started to create the instance, so its teardown removes it.
        env.unfurl(["teardown", "--approve"]).succeeds();
        assert!(
            world(&env).contains(&"delete b".to_owned()),
            "found {found}"
        );
    }
}

#[test]
fn where_a_check_cannot_tell_what_is_in_doubt_is_not_run_again() {
    for found in ["unknown", "error"] {
        let env = with_check("late create b", found);
        cut(&env, &["deploy", "--approve"]);
        env.unfurl(["deploy", "--approve"])
            .exits(64)
            .says(&["--redo-in-doubt"]);
        assert_eq!(world(&env).len(), 4, "found {found}: {:?}", world(&env));
        env.unfurl(["deploy", "--approve", "--redo-in-doubt"])
            .succeeds();
        assert_eq!(ready(&env, "b"), "ok started");
    }
}

#[test]
fn a_check_settles_whether_a_removal_was_done() {
    for (found, again) in [("absent", 0), ("ok", 1)] {
        let env = with_check("", found);
        env.unfurl(["deploy", "--approve"]).succeeds();
        env.write("fatal", "late delete b");
        cut(&env, &["teardown", "--approve"]);
        env.unfurl(["teardown", "--approve"]).succeeds();
        let deletes = world(&env).into_iter().filter(|step| step == "delete b");
        assert_eq!(deletes.count(), 1 + again, "found {found}");
        assert_eq!(ready(&env, "b").split(' ').next(), Some("absent"));
    }
}

#[test]
fn a_teardown_after_a_cut_off_deploy_removes_all_that_may_exist() {
    for fatal in ALL {
        let env = made(&format!("late {fatal}"));
        cut(&env, &["deploy", "--approve"]);
        env.unfurl(["teardown", "--approve"]).succeeds();
        let world = world(&env);
        for name in ["a", "b"] {
            let created = world.contains(&format!("create {name}"));
            let deleted = world.contains(&format!("delete {name}"));
            assert_eq!(created, deleted, "killed in {fatal}: {world:?}");
        }
    }
}

#[test]
fn a_teardown_that_was_cut_off_goes_on_where_it_was() {
    for fatal in ["stop b", "delete b", "stop a", "delete a"] {
        let env = made("");
        env.unfurl(["deploy", "--approve"]).succeeds();
        env.write("fatal", &format!("early {fatal}"));
        cut(&env, &["teardown", "--approve"]);
        env.unfurl(["teardown", "--approve", "--redo-in-doubt"])
            .succeeds();
        let world = world(&env).split_off(6);
        assert_eq!(
            world,
            ["stop b", "delete b", "stop a", "delete a"],
            "{fatal}"
        );
        for name in ["a", "b"] {
            assert_eq!(ready(&env, name), "absent deleted");
        }
    }
}

/// An ensemble in which `create` of `a` fails until the file `ready` exists, and then sets the state to
/// `started`, so that `configure` is skipped.
const SHORT_TURN: &str = "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    node_types:
      Made:
        derived_from: tosca.nodes.Root
        interfaces:
          Standard: {operations: {create: exec sh ./step.sh create b}}
      Started:
        derived_from: tosca.nodes.Root
        interfaces:
          Standard:
            operations:
              create:
                implementation: test -e ready
                inputs:
                  resultTemplate: '{% if success %}readyState: {state: started}{% endif %}'
              configure: 'true'
    topology_template:
      node_templates:
        a: {type: Started}
        b: {type: Made, requirements: [{dependency: a}]}
";

#[test]
fn a_task_that_completes_a_turn_after_its_end_is_on_record_so_when_the_job_is_cut_off() {
    let env = TestEnv::with_ensemble(SHORT_TURN);
    env.write("step.sh", STEP);
    env.unfurl(["deploy", "--approve"]).exits(64);
    let failed = &env.ensemble()["status"]["instances"]["a"]["lastConfigChange"];
    let failed = failed.as_str().unwrap().to_owned();
    env.write("ready", "");
    env.write("fatal", "early create b");
    cut(&env, &["deploy", "--approve"]);
    env.unfurl(["deploy", "--approve"]).exits(1);
    let files = env.files().into_iter();
    let records = files.filter(|(path, _)| path.contains("changes/"));
    let records = records.map(|(_, bytes)| String::from_utf8(bytes).unwrap());
    let records: Vec<String> = records.collect();
    let is_of_cut_off = |record: &&String| record.contains("cutOff: ::b");
    let record = records.iter().find(is_of_cut_off).unwrap();
    let mut tasks = record.split("- changeId").skip(1);
    let created = tasks.find(|task| task.contains("target: ::a")).unwrap();
    assert!(
        created.contains(&format!("previousId: {failed}\n")),
        "{record}"
    );
}

#[test]
fn a_deploy_after_a_teardown_that_is_cut_off_is_not_forgotten() {
    let env = made("");
    env.unfurl(["deploy", "--approve"]).succeeds();
    env.unfurl(["teardown", "--approve"]).succeeds();
    env.write("fatal", "early configure a");
    cut(&env, &["deploy", "--approve"]);
    env.unfurl(["teardown", "--approve"]).succeeds();
    let last: Vec<String> = world(&env).split_off(10);
    assert_eq!(last, ["create a", "delete a"]);
}

#[test]
fn a_redeploy_of_what_changed_goes_on_after_it_was_cut_off() {
    let env = made("");
    let text = ENSEMBLE.replace("create {{", "create ${X:-} {{");
    env.write("ensemble.yaml", &text);
    env.unfurl(["deploy", "--approve"]).succeeds();
    let changed = env
        .read("ensemble.yaml")
        .replace("create ${X:-} {{", "create ${Y:-} {{");
    env.write("ensemble.yaml", &changed);
    env.write("fatal", "early configure a");
    cut(&env, &["deploy", "--approve"]);
    env.unfurl(["deploy", "--approve", "--redo-in-doubt"])
        .succeeds();
    let world = world(&env).split_off(6);
    assert_eq!(world, ALL);
    for name in ["a", "b"] {
        assert_eq!(ready(&env, name), "ok started");
    }
}

#[test]
fn resume_goes_on_with_the_plan_of_the_job_that_was_cut_off() {
    let env = made("");
    env.unfurl(["deploy", "--approve"]).succeeds();
    env.write("fatal", "early start a");
    cut(&env, &["deploy", "--approve", "--force"]);
    let resumed = env.unfurl(["deploy", "--approve", "--resume", "--redo-in-doubt"]);
    resumed.succeeds();
    let world = world(&env).split_off(6);
    // `--force` does not configure instances that already run.
    let forced = ["create a", "start a", "create b", "start b"];
    assert_eq!(world, forced, "each step of the forced job ran once");
    env.unfurl(["deploy", "--approve", "--resume"])
        .exits(1)
        .says(&["no interrupted job"]);
}

#[test]
fn resume_refuses_another_command_and_a_changed_ensemble() {
    let env = made("early create b");
    cut(&env, &["deploy", "--approve"]);
    env.unfurl(["teardown", "--approve", "--resume"])
        .exits(1)
        .says(&["`deploy`", "unfurl deploy --resume"]);
    let text = env
        .read("ensemble.yaml")
        .replace("exec sh ./step.sh stop", "exec  sh ./step.sh stop");
    env.write("ensemble.yaml", &text);
    env.unfurl(["deploy", "--approve", "--resume"])
        .exits(1)
        .says(&["was changed"]);
}

#[test]
fn a_job_that_was_cut_off_is_recorded_as_others_are() {
    let env = made("early configure b");
    cut(&env, &["deploy", "--approve"]);
    env.unfurl(["deploy", "--approve"]).exits(1);
    let history = env.unfurl(["history", "--output", "json"]).succeeds();
    let jobs: serde_json::Value = serde_json::from_str(&history.stdout).unwrap();
    assert!(history.stdout.contains("1 unknown"), "{jobs:#}");
    let lines = env.read("jobs.tsv");
    assert_eq!(
        lines
            .lines()
            .filter(|line| line.contains("target="))
            .count(),
        5
    );
    assert!(lines.contains("status=unknown"), "{lines}");
    // Neither the journal nor half-written files are left.
    let names = env.files().into_iter().map(|(path, _)| path);
    let left: Vec<String> = names
        .filter(|name| name.contains(".journal") || name.contains(".tmp."))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_task_that_a_second_signal_has_killed_is_in_doubt() {
    let env = made("");
    env.write(
        "step.sh",
        "echo \"$1 $2 $_UNFURL_IDEMPOTENCY_KEY\" >> world\n\
         [ \"$1 $2\" != 'create b' ] || [ -e slow ] || { touch slow; sleep 20; }\n",
    );
    let signals = "p=$$; (while ! [ -e slow ]; do sleep 0.05; done; kill -TERM $p; sleep 0.3; \
                   kill -TERM $p) & ";
    let run = env.unfurl_after(signals, &["deploy", "--approve"]);
    assert_eq!(run.code, 143, "{run}");
    assert_eq!(ready(&env, "b"), "unknown creating");
    let refused = env.unfurl(["deploy", "--approve"]).exits(1);
    refused.says(&["`create` of `b`", "--redo-in-doubt"]);
    env.unfurl(["deploy", "--approve", "--redo-in-doubt"])
        .succeeds();
    let text = env.read("world");
    let keys = text.lines().filter(|line| line.starts_with("create b "));
    let keys: Vec<&str> = keys.collect();
    assert_eq!(keys.len(), 2, "{text}");
    assert_eq!(keys[0], keys[1]);
    assert_eq!(ready(&env, "b"), "ok started");
}

#[test]
fn a_job_that_was_cut_off_is_found_by_whatever_link_it_was_started() {
    let env = made("early create b");
    let real = env.work().join("ensemble.yaml");
    std::fs::create_dir(env.work().join("link")).unwrap();
    std::os::unix::fs::symlink(&real, env.work().join("link/ensemble.yaml")).unwrap();
    cut(&env, &["deploy", "--approve", "link"]);
    env.unfurl(["status"]).says(&["a job crashed"]);
    env.unfurl(["deploy", "--approve", "--redo-in-doubt"])
        .succeeds()
        .says(&["crashed"]);
    assert_eq!(world(&env), ALL);
}

#[test]
fn resume_goes_with_no_option_that_makes_another_plan() {
    let env = made("early create b");
    cut(&env, &["deploy", "--approve"]);
    for option in [&["--instance", "a"][..], &["--exclude", "b"], &["--force"]] {
        let resume = ["deploy", "--approve", "--resume"];
        env.unfurl(resume.iter().chain(option)).exits(2);
    }
    assert_eq!(world(&env).len(), 3);
}

#[test]
fn after_a_damaged_journal_people_look_before_anything_is_made() {
    let env = made("early create b");
    cut(&env, &["deploy", "--approve"]);
    let journal = env
        .files()
        .into_iter()
        .find(|(path, _)| path.ends_with(".journal"));
    let (path, bytes) = journal.unwrap();
    let mut text = String::from_utf8(bytes).unwrap();
    let end = text.rfind("started").unwrap();
    text.replace_range(end..end + 7, "stopped");
    env.write(&path, &text);
    let refused = env.unfurl(["deploy", "--approve"]).exits(1);
    refused.says(&["damaged", "may exist", ".journal.damaged"]);
    assert_eq!(world(&env).len(), 3);
    let again = ["deploy", "--approve", "--redo-in-doubt"];
    env.unfurl(again).succeeds();
}

#[test]
fn an_ensemble_that_cannot_be_read_is_not_taken_for_one_further_up() {
    let env = made("");
    std::fs::create_dir(env.work().join("inner")).unwrap();
    let gone = env.work().join("inner/ensemble.yaml");
    std::os::unix::fs::symlink("/nonexistent/ensemble.yaml", gone).unwrap();
    let script = "cd inner";
    let run = env.unfurl_after(script, &["deploy", "--approve"]);
    assert_ne!(run.code, 0, "{run}");
    assert!(!env.work().join("world").exists());
}
