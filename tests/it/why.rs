//! Explanations: `plan`, `explain` and `history` say why a job would run a task or not, and what jobs have
//! done.

use serde_json::Value as Json;

use super::support::{Run, TestEnv};

const FIRST: &str = "2024-05-06-07-08-09-000000";
const SECOND: &str = "2024-05-06-07-08-10-000000";

const ENSEMBLE: &str = "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  inputs: {greeting: hello}
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    node_types:
      Db:
        derived_from: tosca.nodes.Root
        properties:
          port: {type: integer, default: 70}
          title: {type: string, default: {get_input: greeting}}
          password: {type: string, default: hunter2hunter2, metadata: {sensitive: true}}
        attributes:
          url: {type: string}
    topology_template:
      inputs:
        greeting: {type: string}
      node_templates:
        db:
          type: Db
          properties:
            port: 80
          interfaces:
            Standard:
              configure:
                implementation: Shell
                inputs:
                  command: 'echo {{ SELF.port }} {{ SELF.title }} {{ inputs.extra }}'
                  extra: 1
                  resultTemplate: {attributes: {url: 'http://x:{{ SELF.port }}'}}
              delete: echo gone
        web:
          type: tosca.nodes.Root
          requirements: [{dependency: db}]
          interfaces:
            Standard:
              configure: 'echo {{ \"::db::port\" | eval }}'
              delete: echo gone
";

fn deploy(env: &TestEnv, start: &str) -> Run {
    env.unfurl(["deploy", "--approve", "--starttime", start])
}

fn deployed() -> TestEnv {
    let env = TestEnv::with_ensemble(ENSEMBLE);
    deploy(&env, FIRST).succeeds();
    env
}

fn edit(env: &TestEnv, from: &str, to: &str) {
    let text = env.read("ensemble.yaml");
    assert!(text.contains(from), "{from}");
    env.write("ensemble.yaml", &text.replacen(from, to, 1));
}

/// Standard output, with paths, times and other varying parts replaced by constants.
fn shown(env: &TestEnv, run: &Run) -> String {
    let work = env.work().display().to_string();
    let lines = run.stdout.lines().map(|line| {
        let line = line.replace(&work, "WORK");
        match line.find(" UTC") {
            Some(end) => format!("{}TIME{}", &line[..end - 19], &line[end + 4..]),
            None => line,
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_plan_says_what_has_changed_from_what_to_what_and_where() {
    let env = deployed();
    edit(&env, "port: 80\n", "port: 8080\n");
    edit(&env, "greeting: hello", "greeting: bye");
    edit(&env, "extra: 1", "extra: 2");
    let run = env.unfurl(["plan"]).succeeds();
    let text = shown(&env, &run);
    let (heading, text) = text.split_once("\n\n").unwrap();
    assert!(heading.starts_with("Plan for deploy of "), "{heading}");
    insta::assert_snapshot!(text, @r#"
    ~ change db (Db)   ensemble.yaml:20:9
        configure: values have changed
          $ echo 8080 bye 2
          topology input greeting: "hello" -> "bye"   ensemble.yaml:4:22
          property port: 80 -> 8080   ensemble.yaml:23:19
          input extra: 1 -> 2   ensemble.yaml:30:26
          property title: "hello" -> "bye" (follows from greeting)   ensemble.yaml:12:42

    ~ change web (tosca.nodes.Root)   ensemble.yaml:33:9
        configure: values have changed
          $ echo 8080
          property port of db: 80 -> 8080   ensemble.yaml:23:19

    Changes to inputs:
      ~ greeting: "hello" -> "bye"   spec.inputs, ensemble.yaml:4:22

    Plan: change 2.
    "#);
}

#[test]
fn the_plan_for_machines_has_reasons_where_they_are_asked_for() {
    let env = deployed();
    edit(&env, "port: 80\n", "port: 8080\n");
    let plain = env.unfurl(["plan", "--output", "json"]).succeeds().json();
    let task = &plain[1]["plan"][0];
    let keys: Vec<&String> = task.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["operation", "reason", "rendered"]);
    let run = env.unfurl(["plan", "--output", "json", "--why"]).succeeds();
    let changes = run.json()[1]["plan"][0]["changes"].clone();
    assert_eq!(
        changes[0],
        serde_json::json!({
            "kind": "property",
            "key": "::db::port",
            "name": "port",
            "instance": "db",
            "old": 80,
            "new": 8080,
            "place": {"file": "ensemble.yaml", "line": 23, "column": 19},
        })
    );
    assert_eq!(changes[1]["kind"], "input");
    assert_eq!(changes[1]["followsFrom"], serde_json::json!(["port"]));
}

#[test]
fn every_reason_is_explained_in_words() {
    let env = deployed();
    let plan = |options: &[&str]| env.unfurl([&["plan"], options].concat()).succeeds().stdout;
    assert!(plan(&["--force"]).contains("    configure: `--force`\n"));
    env.unfurl(["teardown", "--approve", "--starttime", SECOND])
        .succeeds();
    let text = plan(&[]);
    assert!(
        text.contains("    configure: status is absent since A45678A"),
        "{text}"
    );

    let env = TestEnv::with_ensemble(&ENSEMBLE.replace(
        "resultTemplate: {",
        "done: {modified: true, success: false}\n                  resultTemplate: {",
    ));
    deploy(&env, FIRST).exits(64);
    let text = env.unfurl(["plan"]).succeeds().stdout;
    assert!(
        text.contains("    configure: status is error since A456789"),
        "{text}"
    );
    assert!(text.contains("    configure: does not exist yet"), "{text}");
}

#[test]
fn a_removal_says_what_it_leaves_alone() {
    let env = TestEnv::with_ensemble(&ENSEMBLE.replace(
        "        web:\n",
        "        web:\n          directives: [protected]\n",
    ));
    deploy(&env, FIRST).succeeds();
    let run = env.unfurl(["plan", "--workflow", "undeploy"]).succeeds();
    assert_eq!(run.stdout, "Nothing to do: 2 left alone (`-v` says why).\n");
    let run = env
        .unfurl(["-v", "plan", "--workflow", "undeploy"])
        .succeeds();
    insta::assert_snapshot!(run.stdout, @r#"
    Nothing to do: 2 left alone.

    Left alone:
    - web: instance with "protected" directive
    - db: required instances depend on it (use --force to override)
    "#);
}

#[test]
fn where_a_digest_alone_tells_of_a_change_the_plan_says_so() {
    let env = deployed();
    edit(&env, "port: 80\n", "port: 8080\n");
    let changes = std::fs::read_dir(env.work().join("changes")).unwrap();
    for file in changes {
        std::fs::remove_file(file.unwrap().path()).unwrap();
    }
    let run = env.unfurl(["plan"]).succeeds();
    assert!(run.stdout.contains("one of `command`, "), "{run}");
    assert!(run.stdout.contains(" or `extra` has changed"), "{run}");
    assert!(
        run.stdout
            .contains("what it was is not known: could not read"),
        "{run}"
    );
    assert!(!run.stdout.contains("->"), "{run}");
}

#[test]
fn a_file_that_changed_is_named() {
    let env = TestEnv::with_ensemble(&ENSEMBLE.replace("extra: 1", "extra: {eval: {abspath: a}}"));
    env.write("a", "x");
    deploy(&env, FIRST).succeeds();
    env.write("a", "y");
    let run = env.unfurl(["plan"]).succeeds();
    assert!(
        run.stdout
            .contains("file a: contents changed   ensemble.yaml:30:26"),
        "{run}"
    );
}

#[test]
fn missing_and_failing_values_are_explained() {
    let env = deployed();
    edit(&env, "{{ inputs.extra }}", "");
    edit(&env, "                  extra: 1\n", "");
    edit(&env, "\"::db::port\" | eval", "1 / 0");
    edit(
        &env,
        "port: 80",
        "port: {eval: {file: nonesuch, select: contents}}",
    );
    let run = env.unfurl(["plan"]);
    assert!(run.stdout.contains("input extra: 1 -> removed"), "{run}");
    assert!(run.stdout.contains("-> cannot be evaluated: "), "{run}");
}

#[test]
fn secrets_are_in_no_answer() {
    let secret = "hunter2hunter2";
    let text = ENSEMBLE.replace("SELF.port }} {{", "SELF.port }} {{ SELF.password }} {{");
    let env = TestEnv::with_ensemble(&text);
    deploy(&env, FIRST).succeeds();
    edit(&env, "port: 80\n", "port: 8080\n");
    edit(&env, secret, "hunter3hunter3");
    for arguments in [
        &["plan"][..],
        &["plan", "--output", "json", "--why"],
        &["explain", "db"],
        &["explain", "db", "--output", "json"],
        &["history", "A456789"],
        &["history", "A45678900001", "--output", "json"],
    ] {
        let run = env.unfurl(arguments).succeeds();
        let all = run.all();
        assert!(!all.contains(secret) && !all.contains("hunter3"), "{run}");
    }
}

#[test]
fn explain_says_what_an_instance_is_and_why_it_would_change() {
    let env = deployed();
    edit(&env, "port: 80\n", "port: 8080\n");
    let (names, tracked) = (env.names(), env.tracked());
    let run = env.unfurl(["explain", "web"]).succeeds();
    insta::assert_snapshot!(shown(&env, &run), @r#"
    web: template `web`, type tosca.nodes.Root   ensemble.yaml:33:9
      status: ok
      state: configured
      created by: the task A45678900002

    The workflow `deploy` would run:
    - configure (reason: reconfigure)
       property port of db: 80 -> 8080   ensemble.yaml:23:19
       input command: "echo 80" -> "echo 8080" (follows from port)   ensemble.yaml:38:15

    Depends on:
    - db (ok): requirement `dependency`; reads `port`

    Needed by: nothing

    Last change: A45678900002, configure (reason: add), TIME, job A45678900000
    "#);
    let run = env.unfurl(["explain", "::db"]).succeeds();
    assert!(
        run.stdout
            .contains("Needed by:\n- web (ok): requirement `dependency`; reads `port`")
    );
    assert!(run.stdout.contains("- set url to \"http://x:80\""), "{run}");
    assert_eq!((env.names(), env.tracked()), (names, tracked));
}

#[test]
fn explain_says_why_nothing_would_be_done() {
    let env = deployed();
    let why = |options: &[&str]| {
        let run = env.unfurl([&["explain", "db", "--output", "json"], options].concat());
        let json = run.succeeds().json();
        assert_eq!(json["inPlan"], false);
        json["whyNot"][0].as_str().unwrap().to_owned()
    };
    let compared = why(&[]);
    insta::assert_snapshot!(compared, @r"its status is ok, and nothing that `configure` read has changed (4 values compared)");
    insta::assert_snapshot!(why(&["--change-detection", "skip"]), @r"nothing is compared with the model: `--change-detection skip`");
    insta::assert_snapshot!(why(&["--workflow", "check"]), @r"no operation is implemented that the workflow `check` would run now");

    let env = TestEnv::with_ensemble(ENSEMBLE);
    let run = env.unfurl(["explain", "db", "--skip-new"]).succeeds();
    insta::assert_snapshot!(run.stdout, @r"
    db: does not exist; template `db`, type Db   ensemble.yaml:20:9
      status: none

    The workflow `deploy` would do nothing to it:
    - it does not exist yet, and `--skip-new` is given

    Depends on: nothing

    Needed by: nothing
    ");
}

#[test]
fn explain_suggests_a_name_and_refuses_what_is_not_there() {
    let env = deployed();
    env.unfurl(["explain", "wbe"])
        .exits(1)
        .says(&["did you mean `web`?"]);
    let run = env
        .unfurl(["explain", "nothing", "--output", "json"])
        .exits(1);
    assert!(
        run.json()["errors"][0]["message"]
            .as_str()
            .unwrap()
            .contains("`nothing`")
    );
    env.unfurl(["explain"]).exits(2);
    env.unfurl(["explain", "db", "--ensemble", "nowhere"])
        .exits(1);
}

#[test]
fn explain_blames_the_dependency_for_a_status() {
    let env = deployed();
    edit(&env, "        local: ok\n", "        local: error\n");
    let run = env.unfurl(["explain", "web"]).succeeds();
    let blamed = "status: error (own status: ok), because `db` is error (requirement `dependency`)";
    assert!(run.stdout.contains(blamed), "{run}");
}

#[test]
fn explain_answers_machines() {
    let env = deployed();
    let json = env
        .unfurl(["explain", "web", "--output", "json"])
        .succeeds()
        .json();
    let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
    insta::assert_snapshot!(format!("{keys:?}"), @r#"["name", "key", "template", "type", "place", "exists", "status", "effective", "statusBecause", "state", "workflow", "inPlan", "tasks", "whyNot", "dependsOn", "dependents", "failure", "lastChange", "created"]"#);
    assert_eq!(json["created"], "A45678900002");
    assert_eq!(json["lastChange"]["job"], "A45678900000");
    assert_eq!(json["dependsOn"][0]["reads"], serde_json::json!(["port"]));
}

#[test]
fn history_lists_jobs_newest_first() {
    let env = deployed();
    edit(&env, "port: 80\n", "port: 8080\n");
    env.unfurl(["deploy", "--approve", "--force", "--starttime", SECOND])
        .succeeds();
    let run = env.unfurl(["history"]).succeeds();
    insta::assert_snapshot!(run.stdout.replace('\t', "|"), @r"
    Job|Started|Workflow|Status|Tasks|Options
    A45678A00000|2024-05-06 07:08:10 UTC|deploy|ok|2 tasks: 1 changed, 2 ok|starttime = 2024-05-06-07-08-10-000000, force
    A45678900000|2024-05-06 07:08:09 UTC|deploy|ok|2 tasks: 2 changed, 2 ok|starttime = 2024-05-06-07-08-09-000000
    ");
    let run = env.unfurl(["history", "--limit", "1"]).succeeds();
    assert_eq!(run.stdout.lines().count(), 2, "{run}");
    run.says(&["and 1 earlier job; `--limit 0` shows all"]);
    let json = env
        .unfurl(["history", "--output", "json"])
        .succeeds()
        .json();
    assert_eq!(json["total"], 2);
    assert_eq!(json["jobs"][1]["id"], "A45678900000");
    assert_eq!(json["jobs"][0]["options"]["force"], true);
}

#[test]
fn history_shows_what_a_job_changed() {
    let env = deployed();
    edit(&env, "port: 80\n", "port: 8080\n");
    deploy(&env, SECOND).succeeds();
    let run = env.unfurl(["history", "A45678A0"]).succeeds();
    insta::assert_snapshot!(shown(&env, &run).replace('\t', "|"), @r#"
    Job A45678A00000, deploy, TIME: ok
      tasks: 2 tasks (1 changed, 2 ok, 0 failed, 0 blocked, 0 unknown, 0 skipped)
      options: starttime = 2024-05-06-07-08-10-000000
      job before: A45678900000
      record: changes/job2024-05-06-07-08-10-A45678A0.yaml

    Task|Target|Operation|Reason|Status|Instance|Changed|Ended
    A45678A00001|db|configure|reconfigure|ok|ok|Yes|TIME
    A45678A00002|web|configure|reconfigure|ok|ok|No|TIME

    A45678A00001: configure of db
    - attribute url: "http://x:80" -> "http://x:8080"
    "#);
    let one = env.unfurl(["history", "A45678A00001"]).succeeds();
    assert!(one.stdout.contains("- input extra: 1\n"), "{one}");
    assert!(one.stdout.contains("- read ::db::port: 8080\n"), "{one}");
    assert!(!one.stdout.contains("A45678A00002"), "{one}");
    let json = env
        .unfurl(["history", "A45678A00000", "--output", "json"])
        .succeeds()
        .json();
    let change = &json["tasks"][0]["changes"][0];
    assert_eq!(
        (&change["old"], &change["new"]),
        (&"http://x:80".into(), &"http://x:8080".into())
    );
    assert_eq!(json["tasks"][0]["targetStatus"], "ok");
}

#[test]
fn history_refuses_ids_and_names_that_are_not_there() {
    let env = deployed();
    deploy(&env, SECOND).succeeds();
    edit(&env, "extra: 1", "extra: 2");
    deploy(&env, SECOND).succeeds();
    env.unfurl(["history", "A4"])
        .exits(1)
        .says(&["several jobs", "A45678900000"]);
    for none in ["B", "", "A4567890ffff", "::db", "A4567890000é"] {
        env.unfurl(["history", none])
            .exits(1)
            .says(&["no job or task", "--ensemble"]);
    }
    env.unfurl(["history", "--instance", "wbe"])
        .exits(1)
        .says(&["did you mean `web`?"]);
    let run = env
        .unfurl(["history", "--instance", "web", "--output", "json"])
        .succeeds();
    assert_eq!(run.json()["total"], 1, "{run}");
    env.unfurl(["history", "--limit", "x"]).exits(2);
}

#[test]
fn history_needs_no_model_and_tells_what_it_cannot_read() {
    let env = TestEnv::with_ensemble(ENSEMBLE);
    let run = env.unfurl(["history"]).succeeds();
    assert_eq!(run.stdout, "No jobs are recorded.\n");
    deploy(&env, FIRST).succeeds();
    edit(&env, "type: Db", "type: [");
    for folder in ["changes", "jobs"] {
        for file in std::fs::read_dir(env.work().join(folder)).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|end| end == "yaml") {
                std::fs::write(path, "a: [").unwrap();
            }
        }
    }
    let run = env
        .unfurl(["history"])
        .succeeds()
        .says(&["warning: `changes/job2024"]);
    assert!(run.stdout.contains("A45678900000"), "{run}");
    let run = env.unfurl(["history", "A45678900000"]).succeeds();
    assert!(run.stdout.contains("A45678900002"), "{run}");
}

#[test]
fn history_reads_the_changes_that_an_ensemble_keeps_itself() {
    let env = TestEnv::with_ensemble(&format!("{ENSEMBLE}changes: []\n"));
    deploy(&env, FIRST).succeeds();
    edit(&env, "port: 80\n", "port: 8080\n");
    let plan = env.unfurl(["plan"]).succeeds();
    assert!(plan.stdout.contains("property port: 80 -> 8080"), "{plan}");
    deploy(&env, SECOND).succeeds();
    let json = env
        .unfurl(["history", "--output", "json"])
        .succeeds()
        .json();
    assert_eq!(json["total"], 2, "{json}");
    assert_eq!(json["jobs"][0]["workflow"], "deploy");
    let run = env
        .unfurl(["history", "A45678A0", "--output", "json"])
        .succeeds();
    let changes: &Json = &run.json()["tasks"][0]["changes"][0];
    assert_eq!(changes["old"], "http://x:80", "{run}");
}

#[test]
fn a_changed_secret_is_named_and_not_shown() {
    let text = ENSEMBLE.replace("extra: 1\n", "extra: {eval: '.::password'}\n");
    let env = TestEnv::with_ensemble(&text);
    deploy(&env, FIRST).succeeds();
    edit(&env, "hunter2hunter2", "hunter3hunter3");
    let run = env.unfurl(["plan"]).succeeds();
    let one_of = ["one of `", "`::db::password`", "`extra`", " has changed"];
    assert!(one_of.iter().all(|part| run.stdout.contains(part)), "{run}");
    assert!(!run.all().contains("hunter"), "{run}");
}

#[test]
fn the_values_that_create_read_are_explained_too() {
    let text = ENSEMBLE.replace(
        "              configure:\n",
        "              create: 'echo {{ SELF.title }}'\n              configure:\n",
    );
    let env = TestEnv::with_ensemble(&text);
    deploy(&env, FIRST).succeeds();
    edit(&env, "greeting: hello", "greeting: bye");
    let run = env.unfurl(["plan"]).succeeds();
    let create = run.stdout.split("ensemble.yaml:20:9\n").nth(1).unwrap();
    assert!(
        create.starts_with("    create: values have changed\n"),
        "{run}"
    );
    assert!(
        create.contains("property title: \"hello\" -> \"bye\" (follows from greeting)"),
        "{run}"
    );
    let run = env.unfurl(["explain", "db"]).succeeds();
    assert!(
        run.stdout.contains("- create (reason: reconfigure)"),
        "{run}"
    );
}

#[test]
fn a_changed_environment_is_explained() {
    let text = ENSEMBLE.replace(
        "implementation: Shell\n",
        "implementation: {primary: Shell, environment: {MODE: fast}}\n",
    );
    let env = TestEnv::with_ensemble(&text);
    deploy(&env, FIRST).succeeds();
    edit(&env, "MODE: fast", "MODE: slow");
    let run = env.unfurl(["plan"]).succeeds();
    assert!(
        run.stdout
            .contains("environment of the commands: changed, now {\"MODE\":\"slow\"}"),
        "{run}"
    );
}
