//! Jobs in pipelines: logs of GitHub and GitLab, events as JSON, the summary in Markdown, and the replay of
//! finished jobs.

use std::io::{Read as _, Write as _};
use std::num::NonZero;
use std::process::Command;

use nix::pty::{OpenptyResult, Winsize, openpty};
use serde_json::Value as Json;
use unfurl::testing::ops::schema::SchemaKind;

use super::schemas::complaints;
use super::support::{Run, TestEnv};

/// An ensemble whose task `db` writes commands to the runners of pipelines, and whose task `web` fails.
const ENSEMBLE: &str = r#"apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    topology_template:
      outputs:
        url: {value: 'http://a|b'}
        password: {value: {eval: {sensitive: hunter2hunter2}}}
      node_templates:
        db:
          type: tosca.nodes.Root
          interfaces:
            Standard:
              configure: "printf '::error::x\\n  ::set-env name=A::b\\n##[error]y\\n'; printf 'section_end:1:unfurl_1\\r\\033[0K\\n' >&2"
        web:
          type: tosca.nodes.Root
          requirements: [{dependency: db}]
          interfaces:
            Standard:
              create: "echo ::warning::from web; echo no space left >&2; exit 3"
              configure: echo never
"#;

fn env() -> TestEnv {
    TestEnv::with_ensemble(ENSEMBLE)
}

fn deploy(env: &TestEnv) -> Run {
    env.unfurl(["deploy", "--approve"]).exits(64)
}

fn github(env: TestEnv) -> TestEnv {
    let work = env.work().display().to_string();
    env.variable("GITHUB_ACTIONS", "true")
        .variable("GITHUB_WORKSPACE", &work)
}

/// Returns the id of the only job.
fn job_id(env: &TestEnv) -> String {
    let jobs = env.unfurl(["history", "--output", "json"]).json();
    jobs["jobs"][0]["id"].as_str().unwrap().to_owned()
}

/// Returns the lines of a log that GitHub's runner executes.
fn executed(log: &str) -> Vec<&str> {
    let mut stopped: Option<&str> = None;
    let mut commands = Vec::new();
    for line in log.split(['\n', '\r']) {
        match stopped {
            Some(token)
                if line.strip_prefix("::").and_then(|it| it.strip_suffix("::")) == Some(token) =>
            {
                stopped = None;
            }
            None if line.starts_with("::stop-commands::") => stopped = line.get(17..),
            None if line.trim_start().starts_with("::") || line.contains("##[") => {
                commands.push(line);
            }
            Some(_) | None => {}
        }
    }
    assert_eq!(stopped, None, "{log}");
    commands
}

/// Asserts that the lines are documents of the schema, and returns them.
fn events(lines: &str) -> Vec<Json> {
    let parse =
        |line: &str| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"));
    let events: Vec<Json> = lines.lines().map(parse).collect();
    for (complaints, event) in complaints(SchemaKind::Progress, &events)
        .iter()
        .zip(&events)
    {
        assert!(complaints.is_empty(), "{event}: {complaints:?}");
    }
    events
}

fn names(events: &[Json]) -> Vec<&str> {
    events
        .iter()
        .map(|event| event["event"].as_str().unwrap())
        .collect()
}

#[test]
fn github_shows_a_summary_with_failures_first_and_no_secret() {
    let env = github(env());
    let page = env.work().join("page.md");
    std::fs::write(&page, "before\n").unwrap();
    let env = env.variable("GITHUB_STEP_SUMMARY", page.to_str().unwrap());
    deploy(&env);
    let page = env.read("page.md");
    let id = job_id(&env);
    assert!(
        page.starts_with("before\n### <code>deploy</code>: <code>error</code>\n"),
        "{page}"
    );
    assert!(
        page.contains("1 failed, 1 created · ") && page.contains(&id),
        "{page}"
    );
    let rows: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("| <code>"))
        .collect();
    assert!(
        rows[0].starts_with("| <code>web</code> | + create | **failed** | create&#58; "),
        "{page}"
    );
    assert_eq!(rows[1], "| <code>db</code> | + create | ok | configure |");
    assert_eq!(
        rows[2],
        "| <code>url</code> | <code>http&#58;//a&#124;b</code> |"
    );
    assert!(
        rows[3].contains("REDACTED") && !page.contains("hunter2"),
        "{page}"
    );
}

#[test]
fn the_summary_for_github_counts_what_did_not_run_apart() {
    let after = "        after:\n          type: tosca.nodes.Root\n          requirements: [{dependency: web}]\n          \
                 interfaces: {Standard: {configure: echo never}}\n";
    let env = github(TestEnv::with_ensemble(&format!("{ENSEMBLE}{after}")));
    let page = env.work().join("page.md");
    let env = env.variable("GITHUB_STEP_SUMMARY", page.to_str().unwrap());
    let run = deploy(&env);
    let page = env.read("page.md");
    let counts = "1 failed, 1 not run, 1 created";
    assert!(page.contains(&format!("\n{counts} · ")), "{page}");
    assert!(run.stdout.contains(counts), "{run}");
    let row = "| <code>after</code> | + create | **not run** | configure";
    assert!(page.contains(row), "{page}");
}

#[test]
fn a_summary_that_cannot_be_written_is_a_warning() {
    let env =
        github(TestEnv::with_example("hello")).variable("GITHUB_STEP_SUMMARY", "/nowhere/page.md");
    let run = env.unfurl(["deploy", "--approve"]).succeeds();
    run.says(&["the summary for GitHub is not written"]);
}

#[test]
fn a_finished_job_is_replayed_in_a_pipeline() {
    let env = github(env());
    deploy(&env);
    let id = job_id(&env);
    let run = env
        .unfurl(["history", "replay", &id, "--speed", "0"])
        .succeeds();
    let commands = executed(&run.stderr);
    assert_eq!(commands.len(), 3, "{run}");
    assert!(commands[0].starts_with("::group::db: configure ("), "{run}");
    assert_eq!(commands[1], "::endgroup::");
    assert!(
        commands[2].starts_with("::error title=web%3A create failed::"),
        "{run}"
    );
    run.says(&[
        "::error::x\n",
        "no space left",
        "web: configure was blocked",
    ])
    .prints(&[&format!("Job {id}, deploy, "), ": error; 3 tasks: "]);
}

#[test]
fn a_replay_refuses_ids_and_speeds_that_are_not_there() {
    let env = env();
    deploy(&env);
    let id = job_id(&env);
    let wrong = format!("{}1", &id[..id.len() - 1]);
    let similar = format!("did you mean `{id}`?");
    for text in [wrong.as_str(), "x"] {
        let run = env.unfurl(["history", "replay", text]);
        // The number 1 is that of a task, which can be replayed alone.
        if text == "x" {
            run.exits(1).says(&["no job or task `x`"]);
        } else {
            run.succeeds();
        }
    }
    let wrong = format!("{}Z0000", &id[..id.len() - 5]);
    env.unfurl(["history", "replay", &wrong])
        .exits(1)
        .says(&[&similar]);
    env.unfurl(["history", &wrong]).exits(1).says(&[&similar]);
    env.unfurl(["history", "replay", &id, "--speed", "-1"])
        .exits(2);
    env.unfurl(["history", "replay"]).exits(2);
}

#[test]
fn every_line_of_the_error_output_is_a_document() {
    requires!("target/unfurl-py");
    let env = env().variable("UNFURL_PROGRESS", "json");
    let asked = env.unfurl(["deploy"]).does_not_panic();
    let refused = env.unfurl(["deploy", "--approve", "none"]).exits(1);
    let unread = env.unfurl(["validate"]);
    env.write(
        "broken/ensemble.yaml",
        "apiVersion: unfurl/v1.0.0\nkind: Ensemble\nspec: []\n",
    );
    let invalid = env.unfurl(["validate", "broken"]);
    assert_ne!(invalid.code, 0, "{invalid}");
    let text = [&asked, &refused, &unread, &invalid]
        .map(|run| run.stderr.as_str())
        .concat();
    let all = events(&text);
    assert!(
        names(&all).contains(&"message") && names(&all).contains(&"problem"),
        "{text}"
    );
    let place = &all
        .iter()
        .find(|it| it["problem"]["labels"][0].is_object())
        .unwrap()["problem"]["labels"][0];
    assert_eq!(place["file"], "broken/ensemble.yaml", "{text}");
}

#[test]
fn problems_are_annotations_in_a_github_workflow() {
    let env = github(TestEnv::new());
    env.write(
        "sub/ensemble.yaml",
        "apiVersion: unfurl/v1.0.0\nkind: Ensemble\nspec: []\n",
    );
    let run = env.unfurl_in("sub", &[], &["validate"]);
    let commands = executed(&run.stderr);
    let annotation = commands
        .iter()
        .find(|line| line.starts_with("::error file=sub/ensemble.yaml,line=3,col="));
    assert!(annotation.is_some(), "{run}");
    // A text that looks like a command is none, on both streams.
    env.write(
        "text/ensemble.yaml",
        &ENSEMBLE.replace("http://a|b", "::set-output name=a::b"),
    );
    let run = env.unfurl_in("text", &[], &["deploy", "--approve"]);
    assert_eq!(executed(&run.stdout), [""; 0], "{run}");
    let run = env.unfurl_in("text", &[], &["deploy", "--approve", "--output", "json"]);
    assert!(
        run.stdout.starts_with('{') && serde_json::from_str::<Json>(&run.stdout).is_ok(),
        "{run}"
    );
}

/// An ensemble with two tasks that take 0.3 s each.
const SLOW: &str = r"apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    topology_template:
      node_templates:
        db:
          type: tosca.nodes.Root
          interfaces: {Standard: {configure: 'sleep 0.3; echo made'}}
        web:
          type: tosca.nodes.Root
          requirements: [{dependency: db}]
          interfaces: {Standard: {configure: 'sleep 0.3; echo same; echo other >&2'}}
";

#[test]
fn a_job_streams_its_events_with_estimates_from_earlier_jobs() {
    requires!("target/unfurl-py");
    let env = TestEnv::with_ensemble(SLOW).variable("UNFURL_PROGRESS", "json");
    let first = env.unfurl(["deploy", "--approve"]).succeeds();
    let forced = ["deploy", "--approve", "--force", "--output", "json"];
    let second = env.unfurl(forced).succeeds();
    assert!(
        second.stdout.starts_with('{') && second.json()["job"].is_object(),
        "{second}"
    );
    let (first, second) = (events(&first.stderr), events(&second.stderr));
    let of = |events: &[Json], name: &str| -> Vec<Json> {
        events
            .iter()
            .filter(|event| event["event"] == name)
            .cloned()
            .collect()
    };
    assert!(
        of(&first, "task-started")
            .iter()
            .all(|event| event["usual"].is_null())
    );
    assert!(of(&first, "remaining").is_empty());
    for event in of(&second, "task-started") {
        let usual = event["usual"].as_f64().unwrap();
        assert!((0.3..5.0).contains(&usual), "{event}");
    }
    let left = of(&second, "remaining");
    let left = left[0]["remaining"].as_f64().unwrap();
    assert!((0.6..10.0).contains(&left), "{left}");
    let names = names(&second);
    let wanted = [
        "job-started",
        "task-started",
        "output",
        "task-finished",
        "task-started",
        "output",
        "output",
        "task-finished",
        "job-finished",
    ];
    let shown: Vec<&str> = names
        .into_iter()
        .filter(|name| wanted.contains(name))
        .collect();
    assert_eq!(shown, wanted);
    let output = of(&second, "output");
    assert_eq!(
        (&output[0]["text"], &output[0]["task"]),
        (&"made\n".into(), &1.into())
    );
    assert_eq!(of(&second, "task-finished")[1]["end"], "ok");
}

#[test]
fn a_job_in_a_github_workflow_obeys_no_line_of_its_tasks() {
    let env = github(env());
    let run = deploy(&env);
    let commands = executed(&run.stderr);
    let groups: Vec<&&str> = commands
        .iter()
        .filter(|line| line.starts_with("::group::"))
        .collect();
    assert!(
        groups.len() == 1 && groups[0].starts_with("::group::db: configure ("),
        "{run}"
    );
    let errors: Vec<&&str> = commands
        .iter()
        .filter(|line| line.starts_with("::error "))
        .collect();
    let place = "::error file=ensemble.yaml,line=20,col=";
    assert!(
        errors
            .iter()
            .any(|line| line.starts_with(place) && line.contains("title=web%3A create failed::")),
        "{run}"
    );
    let own = ["::group::", "::endgroup::", "::error ", "::warning "];
    assert!(
        commands
            .iter()
            .all(|line| own.iter().any(|it| line.starts_with(it))),
        "{commands:?}"
    );
    assert_eq!(executed(&run.stdout), [""; 0], "{run}");
    run.says(&["::error::x\n", "\n::warning::from web\n"]);
}

#[test]
fn a_job_in_a_gitlab_pipeline_has_a_section_for_each_success() {
    let env = env().variable("GITLAB_CI", "true");
    let run = deploy(&env);
    let markers: Vec<&str> = run
        .stderr
        .split("\x1b[0K")
        .filter(|it| it.starts_with("section_"))
        .collect();
    assert_eq!(markers.len(), 2, "{run}");
    let id = job_id(&env);
    assert!(
        markers[0].contains(&format!(":unfurl_{id}_1[collapsed=true]\r")),
        "{run}"
    );
    assert!(
        markers[1].starts_with("section_end:")
            && markers[1].ends_with(&format!(":unfurl_{id}_1\r")),
        "{run}"
    );
    run.says(&["web: create failed", "no space left"]);
}

#[test]
fn a_replay_without_a_terminal_prints_each_line_of_the_tasks_once() {
    let env = env();
    deploy(&env);
    let id = job_id(&env);
    let run = env
        .unfurl(["history", "replay", &id, "--speed", "0"])
        .succeeds();
    for line in ["::error::x", "no space left", "::warning::from web"] {
        assert_eq!(
            run.stderr.lines().filter(|shown| *shown == line).count(),
            1,
            "{line}\n{run}"
        );
    }
    run.says(&["web: create failed"])
        .prints(&[&format!("Job {id}, deploy, "), ": error; 3 tasks: "]);
    let shown = events_of_replay(&env, &id);
    assert_eq!(shown[0]["event"], "job-started");
    assert_eq!(shown[0]["tasks"], 3);
    assert!(
        !shown[0]["time"].as_str().unwrap().starts_with("1970"),
        "{}",
        shown[0]
    );
    assert_eq!(shown[shown.len() - 1]["status"], "error");
}

fn events_of_replay(env: &TestEnv, id: &str) -> Vec<Json> {
    let run = env.unfurl([
        "history",
        "replay",
        id,
        "--progress",
        "json",
        "--speed",
        "1000",
    ]);
    let parse =
        |line: &str| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"));
    run.succeeds().stderr.lines().map(parse).collect()
}

#[test]
fn a_record_without_times_is_replayed_at_once() {
    let env = env();
    deploy(&env);
    let id = job_id(&env);
    // Records of Unfurl have no times of tasks.
    for folder in ["changes", "jobs"] {
        for entry in std::fs::read_dir(env.work().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|it| it == "yaml") {
                let text = std::fs::read_to_string(&path).unwrap();
                let (head, tasks) = text.split_once("\nchanges:").unwrap();
                let kept = tasks.lines().filter(|line| {
                    !line.starts_with("  startTime") && !line.starts_with("  endTime")
                });
                let tasks: Vec<&str> = kept.collect();
                std::fs::write(&path, format!("{head}\nchanges:{}\n", tasks.join("\n"))).unwrap();
            }
        }
    }
    let run = env.unfurl(["history", "replay", &id]).succeeds();
    run.says(&["the record has no times", "no space left"])
        .prints(&[": error"]);
    for folder in ["changes", "jobs"] {
        std::fs::remove_dir_all(env.work().join(folder)).unwrap();
    }
    env.unfurl(["history", "replay", &id])
        .succeeds()
        .says(&["the record has no times"]);
    env.write("jobs.tsv", &format!("{id}\tstatus=ok\n"));
    env.unfurl(["history", "replay", &id])
        .exits(1)
        .says(&[&format!("no task of the job {id} is recorded")]);
}

/// Runs the binary at a terminal of 80 columns until it ends, and returns its screen with everything above.
/// After a text appears, the key is pressed.
pub(crate) fn at_terminal(
    env: &TestEnv,
    arguments: &[&str],
    typed: (&str, &[u8]),
) -> (String, i32) {
    let binary = super::support::binary();
    with_terminal(env, &[binary.to_str().unwrap()], arguments, typed)
}

/// Like [`at_terminal`], with a file as the standard input of the binary.
pub(crate) fn at_terminal_with(
    env: &TestEnv,
    input: &str,
    arguments: &[&str],
    typed: (&str, &[u8]),
) -> (String, i32) {
    let binary = super::support::binary();
    let line = format!("exec \"$0\" \"$@\" < {input}");
    with_terminal(
        env,
        &["sh", "-c", &line, binary.to_str().unwrap()],
        arguments,
        typed,
    )
}

/// Runs a program at a terminal.
fn with_terminal(
    env: &TestEnv,
    program: &[&str],
    arguments: &[&str],
    (text, key): (&str, &[u8]),
) -> (String, i32) {
    let size = Winsize {
        ws_row: 24,
        ws_col: 80,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let OpenptyResult { master, slave } = openpty(&size, None).unwrap();
    let mut shell = Command::new("setsid");
    shell.args(["--ctty", "--wait"]).args(program);
    let mut command = env.command(shell, arguments);
    command.env("TERM", "xterm");
    command
        .stdin(slave.try_clone().unwrap())
        .stdout(slave.try_clone().unwrap())
        .stderr(slave);
    let mut child = command.spawn().unwrap();
    drop(command);
    let mut terminal =
        vt100::Parser::new(NonZero::new(24).unwrap(), NonZero::new(80).unwrap(), 1000);
    let mut master = std::fs::File::from(master);
    let mut buffer = [0; 4096];
    let mut is_pressed = false;
    // The end of the process is an error on Linux.
    while let Ok(count @ 1..) = master.read(&mut buffer) {
        terminal.process(&buffer[..count]);
        if !is_pressed && terminal.screen().contents().contains(text) {
            is_pressed = true;
            master.write_all(key).unwrap();
        }
    }
    let code = child.wait().unwrap().code().unwrap();
    assert!(!terminal.screen().hide_cursor(), "the cursor stays hidden");
    (terminal.screen().contents(), code)
}

#[test]
fn a_replay_at_a_terminal_leaves_its_lines_and_nothing_else() {
    requires!("setsid");
    let env = env();
    deploy(&env);
    let id = job_id(&env);
    let replay = ["history", "replay", id.as_str(), "--speed", "0"];
    let (screen, code) = at_terminal(&env, &replay, ("never", b""));
    assert_eq!(code, 0, "{screen}");
    for line in [
        "[db] ::error::x",
        "[web] no space left",
        "[web] ::warning::from web",
    ] {
        assert_eq!(screen.matches(line).count(), 1, "{line}\n{screen}");
    }
    assert!(
        screen
            .trim_end()
            .lines()
            .last()
            .unwrap()
            .starts_with(&format!("Job {id}, deploy, ")),
        "{screen}"
    );
}

#[test]
fn ctrl_c_ends_a_replay_at_once() {
    requires!("setsid");
    let env = TestEnv::with_ensemble(SLOW);
    env.unfurl(["deploy", "--approve"]).succeeds();
    let id = job_id(&env);
    let replay = ["history", "replay", id.as_str(), "--speed", "0.2"];
    let (screen, code) = at_terminal(&env, &replay, ("db configured", b"\x03"));
    assert_eq!(code, 130, "{screen}");
    assert!(!screen.contains("web configured"), "{screen}");
}
